"""``forecast published compare``: what published forecasts say to the questions that they share."""

from __future__ import annotations

import math
from typing import Any

import click

from forecast.cli import render
from forecast.cli.catalogue.listing import json_option, listing_warnings
from forecast.cli.reading_options import access_options
from forecast.contract.registry import get_registry
from forecast.errors import printable
from forecast.report.words.date_text import date_cell, fine_interval
from forecast.report.words.number_text import format_number, in_signs, percent, range_text

#: A probability below this of what has not happened is not worth a word.
_MIN_EARLY_PROBABILITY = 0.2


@click.group()
def published() -> None:
    """Set published forecasts, rebuilt as scenarios, side by side."""


@published.command("compare")
@click.argument("questions", metavar="[QUESTION]...", nargs=-1)
@click.option("--draws", type=click.IntRange(100, 10_000), default=2048, show_default=True, metavar="N", help="Worlds.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Equal seeds give equal bytes.")
@access_options
@json_option
def compare_published(questions: tuple[str, ...], draws: int, seed: int, as_json: bool) -> None:
    """Compare the answers of all scenarios to the questions they share.

    Without a name, a line a question: the earliest and the latest median, the ends of all 90 % intervals, what is
    known, and who came nearest to it. With names, a line a scenario: median, 90 % interval, the probability of never
    by the scenario's last year, and, where it is known what happened, a score: 0 is perfect. A forecast that was made
    after that is not scored.

    \b
    forecast published compare
    forecast published compare superhuman-coder horizon-167h-80
    """  # noqa: D301 - click reads the \\b as "do not rewrap"
    from forecast.evaluation.shared_questions import compare_scenarios as compared

    registry = get_registry().complete()
    with render.progress_bar("comparing") as report:
        found = compared(questions, draws=draws, seed=seed, progress=report)
    render.emit(
        found,
        json=as_json,
        text=lambda: _show(found) if questions else _print_questions(found),
        warnings=listing_warnings(registry, "scenario"),
        provenance=render.provenance(_plugins_of_scenarios(found), computed=True, draws=draws, seed=seed),
    )


def _plugins_of_scenarios(found: list[dict[str, Any]]) -> list[Any]:
    """Return the plugins that brought the scenarios."""
    registry = get_registry()
    scenarios = {answer["scenario"] for question in found for answer in question["answers"]}
    return [registry.find("scenario", name).plugin for name in sorted(scenarios)]


def _print_questions(found: list[dict[str, Any]]) -> None:
    """Write one screen: how far apart the scenarios are on each question, and who came nearest where it is known."""
    scenarios = {answer["scenario"] for question in found for answer in question["answers"]}
    shared = f"{len(found)} shared question{'s' if len(found) != 1 else ''}"
    render.write_headline(f"{len(scenarios)} models on {shared}, and who was right where it is known.")
    heads = ["question", "models", "medians", "90 % of any", "so far"]
    render.write_table(heads, [[*_question_row(question), _outcome_cell(question)] for question in found])
    told = [said for question in found if (said := _nearest_text(question))]
    early = [said for question in found if (said := _early_probability_text(question))]
    told += [f"Not yet: {'; '.join(early)}."] if early else []
    if told:
        render.write()
    for said in told:
        render.prose(said)
    render.write()
    render.prose("One of them, model by model: forecast published compare QUESTION.")


def _question_row(question: dict[str, Any]) -> list[str]:
    """Return a question's name, how many answer it, their earliest and latest median, and the ends of all intervals."""
    rows = question["answers"]
    medians = sorted(rows, key=lambda row: (_point_value(row, "p50"), row["until"]))
    low = min(rows, key=lambda row: _point_value(row, "p05"))
    high = max(rows, key=lambda row: (_point_value(row, "p95"), row["until"]))  # after the later of two last years
    middle = _format_interval((medians[0], "p50"), (medians[-1], "p50"))
    whole = _format_interval((low, "p05"), (high, "p95"), fine=False)
    return [printable(question["name"]), str(len(rows)), middle, whole]


def _outcome_cell(question: dict[str, Any]) -> str:
    if question["known_by"] is None:
        return "open"
    if question["outcome"] is not None:
        return format_number(question["outcome"])
    return str(question["happened"])[:7] if question["happened"] else "not yet"


def _early_probability_text(question: dict[str, Any]) -> str:
    """Say which model gave most to what had not happened when it was last known; nothing where it was little."""
    if question["happened"] or question["known_by"] is None:
        return ""
    scored = [row for row in question["answers"] if row["by_known"] is not None]
    most = max(scored, key=lambda row: row["by_known"], default=None)
    if most is None or most["by_known"] < _MIN_EARLY_PROBABILITY:
        return ""
    by = question["known_by"][:7]
    return f"{_short_name(most)} gave {printable(question['name'])} {percent(most['by_known'])} by {by}"


def _nearest_text(question: dict[str, Any]) -> str:
    """Say who came nearest to what happened, and who was furthest from it; nothing where one alone was scored, or none.

    That something has not happened yet makes nobody right.
    """
    scored = sorted((row for row in question["answers"] if row["score"] is not None), key=lambda row: row["score"])
    if len(scored) < 2 or (question["outcome"] is None and question["happened"] is None):
        return ""
    first, last = (f"{_short_name(row)} ({_format_point(row, 'p50')})" for row in (scored[0], scored[-1]))
    return f"Nearest on {printable(question['name'])}: {first}; furthest: {last}."


def _show(found: list[dict[str, Any]]) -> None:
    """Write each question whole: a line a scenario."""
    for place, question in enumerate(found):
        if place:
            render.write()
        rows = sorted(question["answers"], key=lambda row: _point_value(row, "p50"))
        said = f"{printable(question['title'], 200)}: {_sentence(rows)}"
        render.write_headline(f"{said[:1].upper()}{said[1:]}{_outcome_suffix(question)}.")
        if question["differs"]:
            render.prose(f"They do not mean the same: {printable(question['differs'], 500)}.")
            render.write()
        never = any(_never_text(row) for row in rows)
        scored = question["known_by"] is not None
        heads = ["scenario", "made", "median", "90 %", *(["never"] if never else [])]
        heads += [rows[0]["measure"]] if scored else []
        render.write_table(heads, [_answer_row(row, never=never, scored=scored) for row in rows])
    if any(question["known_by"] is not None for question in found):
        render.write()
        render.prose("A score of 0 is perfect; seen: made when it was known already.")


def _sentence(rows: list[dict[str, Any]]) -> str:
    """Say how far apart models are; rows by their medians."""
    if len(rows) == 1:
        return f"one model, {_format_point(rows[0], 'p50')} in the median"
    return f"{len(rows)} models, {_format_interval((rows[0], 'p50'), (rows[-1], 'p50'))} in their medians"


def _outcome_suffix(question: dict[str, Any]) -> str:
    if question["known_by"] is None:
        return ""
    if question["outcome"] is not None:
        return f"; it was {format_number(question['outcome'])} ({question['known_by']})"
    return f"; it happened on {question['happened']}" if question["happened"] else f"; not by {question['known_by']}"


def _answer_row(row: dict[str, Any], *, never: bool, scored: bool) -> list[str]:
    same = row["p05"] == row["p95"]
    interval = "" if same else _format_interval((row, "p05"), (row, "p95"), fine=_fine(row))
    made = "" if row["made"] is None else str(row["made"])[:7]
    cells = [_short_name(row), made or "ours", _format_point(row, "p50", fine=_fine(row)), interval]
    score = "seen" if row["seen"] else "-" if row["score"] is None else f"{row['score']:.2f}"
    return [*cells, *([_never_text(row)] if never else []), *([score] if scored else [])]


def _never_text(row: dict[str, Any]) -> str:
    """Say how likely never is: of a model in which nothing is drawn it has no probability."""
    return in_signs(percent(row["never"])) if row["never"] is not None and row["uncertain"] else ""


def _short_name(row: dict[str, Any]) -> str:
    return printable(row["scenario"].rpartition("/")[2])


def _point_value(row: dict[str, Any], level: str) -> float:
    """Return a point of an answer; inside the never mass it is infinite."""
    return math.inf if row[level] is None else float(row[level])


def _fine(row: dict[str, Any]) -> bool:
    return row["kind"] == "date" and fine_interval(_point_value(row, "p05"), _point_value(row, "p95"))


def _format_point(row: dict[str, Any], level: str, *, fine: bool = False) -> str:
    """Write a point of an answer as the rows of every table do."""
    value = _point_value(row, level)
    if row["kind"] == "value":
        return format_number(value)
    return date_cell(value, row["until"], fine=fine, already=value <= row["start"])


def _format_interval(
    low: tuple[dict[str, Any], str], high: tuple[dict[str, Any], str], *, fine: bool | None = None
) -> str:
    """Write two points of answers, the lower one first: by the month where they are so close."""
    if fine is None:
        fine = low[0]["kind"] == "date" and fine_interval(_point_value(*low), _point_value(*high))
    return range_text([_format_point(*low, fine=fine), _format_point(*high, fine=fine)])
