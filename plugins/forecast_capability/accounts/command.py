"""``forecast accounts``: every ratio between capital expenditure and the largest run, by year, the failing ones too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

import click

from forecast.base.dates import check_has_come
from forecast_capability.accounts.ratios import CLOSES_WITHIN, RATIOS, Ratio, accounts

__all__ = ["accounts_command"]


@click.command("accounts")
@click.option("--as-of", type=float, help="Rows dated before this year alone, such as 2025.5.")
@click.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object.")
def accounts_command(as_of: float | None, as_json: bool) -> None:
    """Print what ties capital expenditure to the largest training run, a ratio a link and a year.

    Spending buys chips, chips are shared among laboratories, a laboratory's between research and serving, research
    between runs. Where two ways lead to one figure their ratio says whether the accounts close; none is left out. The
    scenario model-money draws from these ratios.
    """
    if as_of is not None:
        check_has_come(as_of, "--as-of")
    found = accounts(as_of)
    if as_json:
        rows = [asdict(ratio) | {"closes": closes(ratio)} for ratio in found]
        told = {"command": "accounts", "result": rows, "warnings": [], "provenance": {"as_of": as_of}}
        click.echo(json.dumps(told, indent=2, allow_nan=False))
        return
    for line in _lines(found):
        click.echo(line)


def closes(ratio: Ratio) -> bool | None:
    """Tell whether two figures that should be one agree, or None where nothing is compared."""
    if not RATIOS[ratio.link].compares:
        return None
    return 1 / CLOSES_WITHIN <= ratio.value <= CLOSES_WITHIN


def _lines(found: list[Ratio]) -> Iterator[str]:
    compared = [closes(ratio) for ratio in found if closes(ratio) is not None]
    agree = sum(bool(each) for each in compared)
    yield f"Of {len(compared)} figures that can be had in two ways, {agree} agree within a factor of {CLOSES_WITHIN:g}."
    for link, about in RATIOS.items():
        mine = [ratio for ratio in found if ratio.link == link]
        if not mine:
            yield f"{about.title}: nothing known"
            continue
        yield f"{about.title}{f' [{about.unit}]' if about.unit else ''}"
        for ratio in mine:
            verdict = {True: "  closes", False: "  FAILS", None: ""}[closes(ratio)]
            plan = "  (a plan in it)" if ratio.plan else ""
            yield f"  {ratio.year}  {_number(ratio.value):>8}{verdict}  {ratio.over}{plan}"


def _number(value: float) -> str:
    return f"{100 * value:.3g} %" if value < 1e-2 else f"{value:.3g}"
