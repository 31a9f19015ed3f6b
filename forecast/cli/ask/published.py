"""``forecast published compare``: what published forecasts say to the questions that they share."""

from __future__ import annotations

import textwrap
from typing import Any

import click

from forecast.cli import render
from forecast.cli.access_options import access_options
from forecast.cli.catalogue.listing import json_option, troubles
from forecast.errors import printable

__all__ = ["published"]

COMMAND = "published compare"
#: A table of this width fits beside another window.
WIDE = 80


@click.group()
def published() -> None:
    """Set published forecasts, rebuilt as scenarios, side by side."""


@published.command()
@click.argument("questions", metavar="[QUESTION]...", nargs=-1)
@click.option("--draws", type=click.IntRange(100, 10_000), default=2048, show_default=True, metavar="N", help="Worlds.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Equal seeds give equal bytes.")
@access_options
@json_option
def compare(questions: tuple[str, ...], draws: int, seed: int, as_json: bool) -> None:
    """Compare the answers of all scenarios to the questions they share.

    Each line is one scenario: the 10, 50 and 90 % points of the date or the value, the probability of never by the
    scenario's last year, and, where it is known what happened, a score: 0 is perfect. A forecast that was made after
    that is not scored.

    \b
    forecast published compare
    forecast published compare superhuman-coder horizon-167h
    """  # noqa: D301 - click reads the \\b as "do not rewrap"
    from forecast.contract.registry import get_registry
    from forecast.evaluation.shared_questions import compare as compared

    with render.progress("comparing") as report:
        found = compared(questions, draws=draws, seed=seed, progress=report)
    render.emit(
        found,
        json=as_json,
        command=COMMAND,
        text=lambda: _show(found),
        warnings=troubles(get_registry(), "scenario"),
        provenance=render.provenance(_plugins(found), computed=True, draws=draws, seed=seed),
    )


def _plugins(found: list[dict[str, Any]]) -> list[Any]:
    """Return the plugins that brought the scenarios."""
    from forecast.contract.registry import get_registry

    registry = get_registry()
    scenarios = {answer["scenario"] for question in found for answer in question["answers"]}
    return [registry.find("scenario", name).plugin for name in sorted(scenarios)]


def _show(found: list[dict[str, Any]]) -> None:
    scenarios = {answer["scenario"] for question in found for answer in question["answers"]}
    many = "s" if len(found) != 1 else ""
    render.headline(
        f"{len(scenarios)} scenarios on {len(found)} shared question{many}; "
        "where it is known what happened, the last column is a score: 0 is perfect."
    )
    for question in found:
        render.write(textwrap.fill(f"{printable(question['name'])}: {printable(question['title'], 200)}", WIDE))
        if said := _known(question):
            render.write(said)
        rows = question["answers"]
        scored = question["known_by"] is not None
        heads = ["scenario", "10 %", "median", "90 %", "never", *([rows[0]["measure"]] if scored else [])]
        render.table(heads, [_line(row, scored) for row in rows])
        render.write()


def _known(question: dict[str, Any]) -> str:
    if question["known_by"] is None:
        return ""
    if question["outcome"] is not None:
        return f"it was {question['outcome']:.4g} ({question['known_by']})"
    return f"it happened on {question['happened']}" if question["happened"] else f"not by {question['known_by']}"


def _line(row: dict[str, Any], scored: bool) -> list[str]:
    points = [_point(row, level) for level in ("p10", "p50", "p90")]
    never = "-" if row["never"] is None else f"{row['never']:.0%}"
    score = "seen" if row["seen"] else "-" if row["score"] is None else f"{row['score']:.2f}"
    return [printable(row["scenario"].rpartition("/")[2]), *points, never, *([score] if scored else [])]


def _point(row: dict[str, Any], level: str) -> str:
    value = row[level]
    if value is None:
        return "never"
    return f"{value:.1f}" if row["measure"] == "Brier" else f"{value:.3g}"
