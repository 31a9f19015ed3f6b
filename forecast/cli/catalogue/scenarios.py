"""``forecast scenarios``: choices, quantities and questions."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from forecast.cli import completion, render
from forecast.cli.catalogue.listing import catalogue, json_option
from forecast.cli.reading_options import access_options
from forecast.contract.registry import Record
from forecast.contract.specs import ScenarioSpec
from forecast.errors import ForecastError, ScenarioError, printable

__all__ = ["read_scenario", "scenarios"]

#: That a lever moves an answer shows in so many worlds.
_LEVER_DRAWS = 64
#: A scenario that runs as it is.
_NEW_SCENARIO = """\
title = "When does the fastest supercomputer reach 1e20 FLOP/s?"
until = 2045

[quantities.speed]
data = "datasets/supercomputers"   # or a file of yours beside this one: "mine.csv"
x = "date"
y = "rmax_top1"
unit = "FLOP/s"
shape = "trends/pool"
[questions.goal]
when = "speed >= 1e20 FLOP/s"
"""


def read_scenario(path: Path) -> dict[str, Any]:
    """Read the TOML as it stands; whether it can be run is `forecast run`'s business."""
    import tomllib

    from forecast.base.files import read_bytes
    from forecast.scenarios.registered import MAX_SCENARIO_BYTES

    label = printable(path.name)
    try:
        return tomllib.loads(read_bytes(path, limit=MAX_SCENARIO_BYTES, error=ScenarioError).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ScenarioError(f"{label}: not UTF-8 text") from None
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise ScenarioError(f"{label}: not TOML: {printable(problem)}") from problem


def _scenario_details(record: Record) -> dict[str, Any]:
    assert isinstance(record.spec, ScenarioSpec)
    path = Path(record.spec.path)
    raw = read_scenario(path)
    return {
        "question": raw.get("title"),
        **_levers_and_presets(record.full_name),
        "from": raw.get("start"),
        "until": raw.get("until"),
        "choices": [{"name": name, "options": value} for name, value in _mapping_at(raw, "choices", path).items()],
        "quantities": [{"name": name, "from": value} for name, value in _mapping_at(raw, "quantities", path).items()],
        "questions": [
            {"name": name, **(value if isinstance(value, Mapping) else {"when": value})}
            for name, value in _mapping_at(raw, "questions", path).items()
        ],
    }


def _levers_and_presets(name: str) -> dict[str, Any]:
    """Return what a reader may move, and presets, as they are typed; nothing of a scenario that cannot be read."""
    from forecast.scenarios.scenario import Scenario

    try:
        scenario = Scenario.load(name)
    except ForecastError:
        return {}
    levers = [
        {"lever": each.label, "from": each.span, "set": each.command(), **({"about": each.about} if each.about else {})}
        for each in scenario.levers
    ]
    presets = [each.plain for each in scenario.presets]
    return {**({"levers": levers} if levers else {}), **({"presets": presets} if presets else {})}


def _mapping_at(raw: Mapping[str, Any], key: str, path: Path) -> Mapping[str, Any]:
    value = raw.get(key, {})
    if not isinstance(value, Mapping):
        raise ScenarioError(f"{printable(path.name)}: {key}: expected a table, got {type(value).__name__}")
    return value


scenarios = catalogue("scenarios", "scenario", columns={}, describe=_scenario_details)


@scenarios.command("check")
@click.argument("scenario", shell_complete=completion.complete_names("scenario", files=True))
@click.option("--draws", type=int, default=512, show_default=True, metavar="N", help="Joint samples.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Equal seeds give equal numbers.")
@access_options
@json_option
@click.pass_context
def check_scenario(ctx: click.Context, scenario: str, draws: int, seed: int, as_json: bool) -> None:
    """Hold the answers of SCENARIO to its data and to one another.

    A row called pooled lies between its rows; the forecast begins at the last observation; what the newest observation
    meets is so already; questions that ask for more come later; what has risen does not fall in the median; each lever
    moves an answer. Exits with 1 where a number breaks a rule. Of a rebuilt publication only the levers are held to it:
    it prints what was published.

    \b
    forecast scenarios check brain-parity
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.conformance.answer_checks import RULES, find_breaches, lever_breaches
    from forecast.projection.engine import project
    from forecast.scenarios.scenario import Scenario

    loaded = Scenario.load(scenario)
    exempt = "published_on" in loaded.stated
    run = None if exempt else project(loaded, draws=draws, seed=seed)
    found = [
        *([] if run is None else find_breaches(run)),
        *lever_breaches(loaded, draws=min(draws, _LEVER_DRAWS), seed=seed),
    ]
    result = {"scenario": loaded.name, "exempt": exempt, "rules": list(RULES), "breaches": [b.plain for b in found]}

    def text() -> None:
        if exempt:
            text = "a rebuilt publication is exempt of all but its levers: it prints what was published"
            render.write(f"{printable(loaded.name)}: {text}.")
        elif not found:
            render.write(f"{printable(loaded.name)}: holds ({', '.join(RULES)}).")
        for each in found:
            render.write(f"{each.rule}: {printable(each.question, 60)}: {printable(each.message, 400)}")

    warned = [] if run is None else run.failures
    shown = {} if run is None else run.provenance
    render.emit(
        result, json=as_json, text=text, warnings=warned,
        provenance={**render.provenance(), **shown},
    )  # fmt: skip
    if found or warned:
        ctx.exit(1)


@scenarios.command("new")
@click.argument("name")
@json_option
def new(name: str, as_json: bool) -> None:
    """Write NAME.toml, a scenario of eleven lines that runs as it is: change its data and its question.

    \b
    forecast scenarios new outlook
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.base.files import write_atomic

    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    if path.exists():
        raise ScenarioError(f"{printable(path.name)}: is there already; give another name")
    write_atomic(path, _NEW_SCENARIO)

    def text() -> None:
        render.write_headline(f"Wrote {printable(path)}: a quantity with its data, and a question. It runs as it is:")
        render.write(f"  forecast run {shlex.quote(printable(path))}")

    render.emit({"file": str(path), "text": _NEW_SCENARIO}, json=as_json, text=text)
