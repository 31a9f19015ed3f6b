"""Commands of the ledger, which shows when it is changed: what is recorded, what became of it, and how good it was.

``forecast record`` adds a dated forecast, ``forecast resolve`` says what happened and scores it, and ``forecast
scorecard`` shows what was said of public statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from forecast.cli import render
from forecast.cli.ask.run import draw_options, merge_settings, parse_key_values
from forecast.cli.catalogue.listing import json_option, listing_warnings
from forecast.cli.reading_options import access_options
from forecast.errors import DataError, printable
from forecast.report.words.number_text import amount, percent


@click.command()
@click.argument("ledger", metavar="FILE.jsonl")
@click.option("--id", "name", default="", metavar="ID", help="The forecast, by the first digits of its hash.")
@click.option("--outcome", metavar="VALUE|DATE|never", help="What happened; never says: not by --on.")
@click.option(
    "--on",
    metavar="DATE",
    help="When the outcome was known; without one, list what is due by then. A date, or today; none later.",
)
@click.option(
    "--source", default="", metavar="TEXT", help="Where you read it, if not in the source that the forecast names."
)
@click.option(
    "--expect",
    multiple=True,
    metavar="HASH|N:HASH|FILE",
    help="Fail unless the ledger holds this published hash (as record N), or those in a file, one a line.",
)
@click.option("--statement", is_flag=True, help="It is the outcome of all forecasts of the same source and threshold.")
@click.option("--tables", is_flag=True, help="Say what the tables show of what is open.")
@access_options
@json_option
def resolve(ledger: str, name: str, as_json: bool, **outcome: Any) -> None:
    """Say what became of the forecasts in a ledger, and score them.

    Without --outcome it lists what is open, what is due on --on, and the scores so far. With it the outcome of one
    forecast is added; no line is ever changed, and the last outcome of a forecast counts. An event that has not come by
    --on is never until then: what the forecast says beyond that date is not scored yet. With --statement the outcome
    is that of every forecast in the ledger of the same statement, whoever made it. --tables looks up what the
    scenarios' tables show: which thresholds their rows have met, and how near the others are. It adds no line.

    --expect holds the ledger to hashes that were published, as `forecast record` prints them: a record whose hash is
    there is as it was, and so are all before it. Where one is not, the ledger was rewritten or cut off, and this exits
    with 1 and says which record differs. A hash alone tells only that one does, up to the record that had it; N:HASH
    says which record had it, and with the hashes of more records, or an earlier copy of the ledger as FILE, the first
    that differs is named.

    \b
    forecast resolve ledger.jsonl --on today --tables
    forecast resolve ledger.jsonl --id 1d7f834d --outcome 2026-06-15 --on 2026-07-01
    forecast resolve ledger.jsonl --id 1d7f834d --outcome never --on 2026-07-01 --source "TOP500 list of 2026-06"
    forecast resolve ledger.jsonl --expect published.txt --expect earlier.jsonl
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.api.past_forecasts import resolve as resolve_ledger

    result = resolve_ledger(ledger, name, **outcome)
    added, warned = result.get("scored", {}), []
    if added.get("replaces") is not None:
        warned = [f"forecast {added['id']}: the outcome {added['replaces']} stays in the ledger and counts no more"]
    render.emit(
        result, json=as_json, text=partial(_print_outcomes, result), warnings=warned,
        provenance=render.provenance(computed=True),
    )  # fmt: skip


def forecast_text(row: Mapping[str, Any]) -> str:
    """Say one forecast in a line: the question, the median, and the 90 % interval."""
    given = "".join(f", {key} = {value}" for key, value in row["choices"].items())
    at = f" on {row['at']}" if "at" in row else ""
    low, middle, high = (_format_value(row["quantiles"][q], row["unit"]) for q in ("p05", "p50", "p95"))
    return printable(f"{row['question']}: {row['asked']}{at}{given}: {middle} (90 %: {low} to {high})", 400)


def _format_value(value: object, unit: str) -> str:
    if value is None:
        return "never"
    if isinstance(value, (int, float)):
        return f"{value:.4g}{f' {unit}' if unit else ''}"
    return str(value)


def _print_outcomes(result: dict[str, Any]) -> None:
    rows = result["forecasts"]
    open_ = [row for row in rows if row["next"] is not None]
    due = [row for row in open_ if row["due"]]
    parts = [f"{len(rows) - len(open_)} decided", f"{len(open_)} open"]
    parts += [f"{len(due)} of them due"] if any(row["due"] is not None for row in rows) else []
    render.write_headline(f"{len(rows)} forecast{'s' * (len(rows) != 1)} in {result['ledger']}: {', '.join(parts)}.")
    if "published" in result:
        since = result["records"] - result["published"]
        added = f"{since} record{'s were' if since != 1 else ' was'} added since" if since else "none was added since"
        render.write(f"as published up to record {result['published']}; {added}.")
    if "scored" in result:
        _score_line(result["scored"])
    if open_:
        render.write("open:")
        cells = [
            [row["id"], row["on"], row["next"] + " (due)" * bool(row["due"]), forecast_text(row), row["resolves"]]
            for row in sorted(open_, key=lambda row: row["next"])
        ]
        render.write_table(["id", "made", "decides", "forecast", "source"], cells, indent=2)
        render.write()
    if "tables" in result:
        _print_table_outcomes(result["tables"])
    _print_scores(result["scores"])
    if result["head"]:
        render.write(f"last line: {result['head']}")


def _print_table_outcomes(rows: Sequence[Mapping[str, Any]]) -> None:
    """Say what the tables show, a line a statement, with one forecast of it: that which reads the newest rows."""
    if not rows:
        render.prose("The tables show nothing of what is open: nobody observes it there.")
        return
    newest = sorted(rows, key=lambda row: (row["newest"], row["value"]))
    statements = {(row["resolves"], row["threshold"], row["decides"]): row for row in newest}
    shown = sorted(statements.values(), key=lambda row: (row["met"] is None, row["decides"], row["statement"]))
    render.write("the tables show:")
    cells = [
        [
            row["id"],
            row["decides"],
            row["statement"],
            f"met on {row['met']}" if row["met"] else "not met",
            _format_observation(row),
        ]
        for row in shown
    ]
    render.write_table(
        ["id", "decides", "statement", "by the tables", "the first that did, or the best"], cells, indent=2
    )
    render.write()


def _format_observation(row: Mapping[str, Any]) -> str:
    named = f" ({printable(row['row'], 40)})" if row["row"] else ""
    return f"{amount(row['value'], row['unit'], digits=3)}{named}, rows to {row['newest']}"


def _score_line(score: Mapping[str, Any]) -> None:
    unit = "years" if score["asks"] == "when" else score["unit"]
    so_far = "" if score["final"] else f" so far, until {score['on']}"
    render.prose(f"{score['id']}  {printable(score['question'], 80)}: {_format_value(score['outcome'], score['unit'])}")
    for by in score["by"]:
        came = "came" if by["came"] else "did not come"
        render.prose(
            f"          by {by['date']}: said {100 * by['probability']:.1f} %, {came}: Brier {by['brier']:.3f}, "
            f"log score {by['log_loss']:.3g}",
            hanging=12,
        )
    kind = "" if score["wis"] is None else f", weighted interval score {score['wis']:.3g}"
    coverage = {None: "is still open", True: "held", False: "did not hold"}[score["held"]]
    if score["alike"]:
        render.prose(f"          the same for {score['alike']} more of this statement", hanging=12)
    render.prose(f"          CRPS {score['crps']:.3g} {unit}{kind}{so_far}; the 90 % interval {coverage}", hanging=12)
    render.write()


def _print_scores(rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        render.write("No score yet: no forecast has an outcome.")
        return
    render.write("scores so far, less is better:")
    for row in rows:
        if row["of"] == "probabilities":
            render.write(f"  probabilities ({row['n']}): Brier {row['brier']:.3f}, log score {row['log_loss']:.3g}")
            continue
        crps = f"CRPS {row['crps']:.3g} years, " if "crps" in row else ""
        wis = "" if row["wis"] is None else f"weighted interval score {row['wis']:.3g}, "
        coverage = "no 90 % interval is decided"
        if row["intervals"]:
            coverage = f"{row['held']} of {row['intervals']} 90 % intervals held, "
            coverage += f"which leaves a share of {100 * row['low']:.0f} to {100 * row['high']:.0f} % possible"
        waiting = f", {row['open']} not over" if row["open"] else ""
        render.prose(f"  {row['of']} ({row['n']}{waiting}): {crps}{wis}{coverage}", hanging=4)
    render.write()


@click.command()
@draw_options
@click.option("--ledger", "to", required=True, metavar="FILE.jsonl", help="The ledger; a new one where there is none.")
@click.option("--as-of", "on", required=True, metavar="DATE", help="The date of the forecast, or today; none later.")
@click.option("--question", "questions", multiple=True, metavar="NAME", help="Only this one; may be given again.")
@click.option("--deadline", "by", multiple=True, metavar="DATE", help="How likely is it by then? May be given again.")
@click.option("--source", default="", metavar="TEXT", help="The table or page that will decide it.")
@access_options
@json_option
def record(
    scenario: str,
    settings: tuple[str, ...],
    swaps: tuple[str, ...],
    changes: tuple[str, ...],
    to: str,
    on: str,
    questions: tuple[str, ...],
    by: tuple[str, ...],
    source: str,
    as_json: bool,
    **drawn: Any,
) -> None:
    """Run SCENARIO and add what it says to a ledger of forecasts.

    A question goes in if somebody can decide it later: it has a threshold that is the same in every world, a date by
    which it is asked (dates = [...] in the scenario, or --deadline), and a source that decides (resolves = "..." in the
    scenario, or --source); or it asks for a value or growth at a date, and has a source. Each definition, and each date
    of a value, is a forecast of its own. `forecast resolve` scores them.

    \b
    forecast record brain-parity --ledger ledger.jsonl --as-of today --set brain=1e20 --deadline 2030-01-01
    forecast record mine.toml --ledger ledger.jsonl --as-of today --question revenue --source "annual report, page 3"
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.base.files import safe_output
    from forecast.evaluation import ledger, ledger_entries
    from forecast.projection.engine import project
    from forecast.scenarios.quantities.changes import parse_change

    safe_output(to)
    on = ledger.past(on, "--as-of")
    dates = [ledger.parse_date(date, "--deadline") for date in by]
    with render.progress_bar("drawing") as report:
        run = project(
            scenario,
            **drawn,
            keep=drawn["draws"],
            with_=merge_settings(parse_key_values(settings, "--set"), parse_key_values(swaps, "--swap")),
            what_if=[parse_change(text) for text in changes],
            progress=report,
        )
    added = ledger_entries.record(run, to, on=on, questions=questions, by=dates, source=source)
    rows = [{"id": line["sha256"][: ledger.SHORT_HASH_DIGITS], **line} for line in added]
    number = next(n for n, line in enumerate(ledger.read_ledger(to), 1) if line["sha256"] == rows[-1]["sha256"])
    result = {"to": printable(to, 200), "head": rows[-1]["sha256"], "records": number, "forecasts": rows}
    render.emit(
        result, json=as_json, text=partial(_print_recorded, result),
        warnings=list(map(str, run.warnings)),
        provenance={**render.provenance(computed=True, seed=drawn["seed"]), "plugins": run.provenance["plugins"]},
    )  # fmt: skip


def _print_recorded(result: dict[str, Any]) -> None:

    rows = result["forecasts"]
    render.write_headline(f"{len(rows)} forecast{'s' * (len(rows) != 1)} of {rows[0]['on']} in {result['to']}.")
    for row in rows:
        render.prose(f"{row['id']}  {forecast_text(row)}", hanging=10)
        for by in row.get("by", ()):
            render.write(f"          by {by['date']}: {100 * by['probability']:.1f} %")
        render.prose(f"          decided by: {printable(row['resolves'], 200)}", hanging=12)
    render.write()
    render.write(f"last line: {result['head']}")
    published = f"{result['records']}:{result['head'][:8]}..."
    render.prose(
        f"Publish that hash, and that it is of record {result['records']}: with it, forecast resolve --expect "
        f"{published} tells whoever asks whether anything up to there was changed."
    )


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
    _print_card_scores(result)
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


def _print_card_scores(result: Mapping[str, Any]) -> None:
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
