"""``forecast scorecard``: what was said of public statements, and how good it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from forecast.cli import render
from forecast.cli.catalogue.listing import json_option, listing_warnings
from forecast.cli.reading_options import access_options
from forecast.errors import DataError, printable
from forecast.report.words.number_text import amount, percent

#: So many statements of each state are listed without --all.
MAX_STATEMENTS = 12


@click.command()
@click.argument("ledgers", metavar="[FILE.jsonl]...", nargs=-1)
@click.option("--on", default="today", metavar="DATE", help="What is due by then? A date, or today (the default).")
@click.option("--all", "every", is_flag=True, help="List every statement.")
@access_options
@json_option
def scorecard(ledgers: tuple[str, ...], on: str, every: bool, as_json: bool) -> None:
    """Show what was said of statements that somebody decides: which are due, which are open, and the scores so far.

    Without a FILE these are the ledgers that come with scenarios; a ledger of your own is one that `forecast record`
    writes. A statement is a threshold, a date and the source that decides; whoever forecast the same three stands
    beside each other: scenarios, published models, and people on public sites (the table public-questions). A hindcast
    was made later, from the data of its date, and is scored apart. `forecast resolve` adds what happened.

    \b
    forecast scorecard
    forecast scorecard --on 2026-12-31 --all
    forecast scorecard --json
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.contract.registry import get_registry
    from forecast.evaluation import ledger as lines, scorecard as card

    registry = get_registry().complete()
    day = lines.parse_date(on, "--on")
    paths = [Path(path) for path in ledgers] or list(card.shipped_ledgers(registry).values())
    if not paths:
        raise DataError("scorecard: no plugin brings a ledger; expected a FILE.jsonl, as forecast record writes it")
    read = {path: lines.read_ledger(path) for path in paths}
    people = card.public(registry)
    said = [each for records in read.values() for each in card.statements(records, partial(amount, digits=3))] + people
    result = {
        **card.scorecard(said, day),
        "ledgers": [
            {"ledger": printable(path.name, 200), "records": len(records), "head": records[-1]["sha256"]}
            for path, records in read.items()
            if records
        ],
    }
    render.emit(
        result, json=as_json, text=partial(_print_scorecard, result, every=every),
        warnings=listing_warnings(registry, "scenario"), provenance=render.provenance(computed=True),
    )  # fmt: skip


def _print_scorecard(result: dict[str, Any], *, every: bool) -> None:
    rows = result["statements"]
    states = {state: [row for row in rows if row["state"] == state] for state in ("due", "open", "resolved")}
    counts = ", ".join(f"{len(states[state])} {state}" for state in states)
    render.write_headline(f"{len(rows)} statement{'s' * (len(rows) != 1)} on {result['on']}: {counts}.")
    _print_scores(result)
    left = 0
    for state, found in states.items():
        shown = found if every else found[:MAX_STATEMENTS]
        left += len(found) - len(shown)
        if shown:
            render.write(f"{state}:")
            render.write_table(["by", "statement", "said", *(["came"] if state == "resolved" else [])],
                         [_statement_cells(row) for row in shown], indent=2)  # fmt: skip
            render.write()
    if left:
        render.prose(f"{left} more: --all. Who decides, and each probability with its date: --json.")
    for each in result["ledgers"]:
        render.write(f"{each['ledger']}: {each['records']} records, last line {each['head']}")


def _statement_cells(row: Mapping[str, Any]) -> list[str]:
    said = ", ".join(f"{_forecaster_text(each)} {percent(each['probability'])}" for each in row["forecasts"])
    came = [] if row["state"] != "resolved" else ["yes" if row["came"] else "no"]
    return [row["by"], printable(row["title"], 200), said, *came]


def _forecaster_text(each: Mapping[str, Any]) -> str:
    return printable(each["who"], 60) + (" (hindcast)" if each["kind"] == "hindcast" else "")


def _print_scores(result: Mapping[str, Any]) -> None:
    scored: Sequence[Mapping[str, Any]] = [row for row in result["scores"] if row["n"]]
    if not scored:
        render.write("No score yet: nothing that is decided was forecast.")
        return
    render.write("scores so far, less is better (Brier: 0.25 is a coin; log score: 0.69):")
    render.write_table(
        ["who", "decided", "of", "Brier", "log score"],
        [
            [_forecaster_text(row), row["n"], row["of"], f"{row['brier']:.3f}", f"{row['log_score']:.3f}"]
            for row in scored
        ],
        indent=2,
    )
    waiting = [f"{_forecaster_text(row)} ({row['of']})" for row in result["scores"] if not row["n"]]
    if waiting:
        render.prose(f"Nothing decided yet of: {', '.join(waiting)}.")
    for row in result["beside"]:
        two = " against ".join(f"{_forecaster_text(each)} {each['brier']:.3f}" for each in row["of"])
        render.prose(f"Brier on the {row['n']} that both answered: {two}.")
    render.write()
