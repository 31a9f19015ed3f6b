"""``forecast record``: a dated forecast, in a ledger that shows when it is changed."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from forecast.cli import render
from forecast.cli.ask.run import draw_options, merge_settings, parse_key_values
from forecast.cli.catalogue.listing import json_option
from forecast.cli.reading_options import access_options
from forecast.errors import printable


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
    from forecast.cli.ask.resolve import forecast_text

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
