"""``forecast sweep``: a scenario with something set to each of several values, side by side."""

from __future__ import annotations

from typing import Any

import click

from forecast.cli.ask.run import parse_key_values, project_and_write, scenario_options
from forecast.errors import UsageError, printable

__all__ = ["sweep"]


@click.command()
@scenario_options
@click.pass_context
def sweep(ctx: click.Context, /, settings: tuple[str, ...], **options: Any) -> None:
    """Run SCENARIO with something set to each of several values: what --set gives several of is swept.

    Each swept name is a dimension of the results; nothing is pooled over it, and everything else is drawn alike along
    it. Of a choice, * are all its values. A scenario may hold a sweep of its own, under [sweep].

    \b
    forecast sweep brain-parity --set brain=1e15,1e16,1e17
    forecast sweep brain-parity --set "trend=*" --set machine.growth=0.2,0.4 --set metric=hpcg
    forecast sweep brain-parity --set "brain=1e15..1e16,1e17..1e18" --out sweep.nc --json
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.projection.answers.sweeping import ALL_VALUES

    given = {key: _split_top_level(value) for key, value in parse_key_values(settings, "--set").items()}
    several = {
        key: ALL_VALUES if parts == [ALL_VALUES] else parts
        for key, parts in given.items()
        if len(parts) > 1 or ALL_VALUES in parts
    }
    for key, parts in given.items():
        if ALL_VALUES in parts and len(parts) > 1:
            raise UsageError(f"--set {printable(key, 60)}: '*' are all values: it stands alone")
        if not all(parts):
            raise UsageError(f"--set {printable(key, 60)}: expected values between commas, got an empty one")
    if not several and not _has_sweep(options["scenario"]):
        raise UsageError("sweep: expected something to sweep: --set NAME=A,B,C, or a [sweep] in the scenario")
    alone = {key: parts[0] for key, parts in given.items() if key not in several}
    project_and_write(ctx, settings=alone, sweep=several, **options)


def _has_sweep(scenario: str) -> bool:
    from forecast.scenarios.scenario import Scenario

    return bool(Scenario.load(scenario).swept)


def _split_top_level(text: str) -> list[str]:
    """Split at commas, but for those inside brackets: of distributions."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "[{(") - (sign in ")}]")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]
