"""``forecast claims``: published figures, recomputed."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import click

from forecast import claim_verdicts as machinery
from forecast.api.past_forecasts import claim_records, evaluated_claims
from forecast.cli import render
from forecast.cli.catalogue.listing import json_option, listing_warnings, plugins_of
from forecast.cli.output_files import TABLE_SUFFIXES, columns_of, emit_files, out_option
from forecast.cli.reading_options import access_options
from forecast.contract.registry import Record, Registry, get_registry
from forecast.errors import ForecastError, printable
from forecast.report.words.number_text import written

#: What is written stays whole on a terminal of this width.
MAX_LINE_WIDTH = 80


@click.command()
@click.argument("identifier", metavar="[ID]", required=False)
@click.option("--group", metavar="GROUP[,GROUP...]", help="Only the claims of these groups.")
@click.option("--forecasts", is_flag=True, help="Only dated forecasts, and how they have done, by kind.")
@out_option(TABLE_SUFFIXES, "Write the claims and their verdicts.")
@access_options
@json_option
def claims(identifier: str | None, group: str | None, forecasts: bool, out: str | None, as_json: bool) -> None:
    """Recompute published figures and judge them, and judge dated forecasts by what happened.

    ID is one claim, or the name that several claims of one statement share.
    """
    from forecast.base.files import safe_output

    if out is not None:
        safe_output(out)  # refuse before the work
    registry = get_registry().complete()
    records = claim_records(identifier or "", group=group, forecasts=forecasts)
    if isinstance(records, tuple):
        _show_claim(records[0], out, as_json)
    else:
        _print_claims(registry, records, forecasts, out, as_json)


def _print_claims(registry: Registry, records: list[Record], forecasts: bool, out: str | None, as_json: bool) -> None:
    with render.progress_bar("recomputing") as report:
        found = evaluated_claims(records, forecasts=forecasts, progress=report)
    evaluated, done, headline = list(found), found.by_kind, found.headline

    def text() -> None:
        _print_headline(headline)
        for row in done:
            _print_wrapped(_track_line(row), "  ")
        if done:
            render.write()
        for record, claim in zip(records, evaluated, strict=True):
            spec: Any = record.spec
            _print_wrapped(_verdict_line(spec, claim), "  ")
            ends = None if claim["computed"] is None else machinery.interval(spec)
            spread = f" (computed, 90 %: {ends[0]:.3g} to {ends[1]:.3g})" if ends else ""
            _print_wrapped(f"{claim['statement']}{spread}", "    ", "    ")

    failed = listing_warnings(registry, "claim")
    failed += [f"claim '{c['id']}' failed: {c['note']}" for c in evaluated if c["verdict"] == machinery.FAILED]
    whole = {"headline": headline, "kinds": done, "claims": evaluated} if forecasts else evaluated
    emit_files(
        whole, text=text, table=partial(_claim_columns, evaluated), files=(out,), as_json=as_json, warnings=failed,
        provenance=render.provenance(plugins_of(records)),
    )  # fmt: skip


def _claim_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return claims as columns: a row each, of what is one text or number."""
    nested = {key for row in rows for key, value in row.items() if isinstance(value, (Mapping, list, tuple))}
    return columns_of(rows, without=nested)


def _wrap_text(text: str, later: str = "", first: str = "") -> str:
    return textwrap.fill(
        printable(text, render.MAX_CELL_WIDTH), MAX_LINE_WIDTH, initial_indent=first, subsequent_indent=later,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _print_wrapped(text: str, later: str = "", first: str = "") -> None:
    render.write(_wrap_text(text, later, first))


def _print_headline(text: str) -> None:
    *first, last = _wrap_text(text).splitlines()
    for line in first:
        render.write(line)
    render.write_headline(last)


def _verdict_line(spec: Any, claim: dict[str, Any]) -> str:
    """Say in a line what was stated, what comes out and how it is judged."""
    unit = f" {claim['unit']}" if claim["unit"] not in ("", "date") else ""
    if spec.forecast is not None:
        unit = "" if spec.forecast.kind == "date" else unit
        outcome = (
            "no outcome yet" if claim["computed"] is None else f"outcome {_format_figure(claim['computed'])}{unit}"
        )
        return f"{claim['id']}: {claim['verdict']} (forecast {claim['stated']}, {outcome})"
    stated = f"stated {claim['stated']}, " if claim["stated"] else ""
    computed = (
        "nothing computed" if claim["computed"] is None else f"computed {_format_figure(claim['computed'])}{unit}"
    )
    return f"{claim['id']}: {claim['verdict']} ({stated}{computed})"


def _track_line(row: Mapping[str, Any]) -> str:
    """Say in a line how forecasts of a kind have done."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in row["verdicts"].items())
    measures = {
        "ratio": "outcome over forecast {:.3g} in the median",
        "years": "{:+.2f} years from forecast to outcome in the median",
        "brier": "Brier score {:.3f}",
    }
    apart = [said.format(row[key]) for key, said in measures.items() if row.get(key) is not None]
    share = (
        f"{row['hits']} of {row['decided']} came true ({row['low']:.0%} to {row['high']:.0%})" if row["decided"] else ""
    )
    intervals = f"{row['held']} of {row['intervals']} intervals held" if row["intervals"] else ""
    return f"{row['kind']}: {'; '.join(filter(None, [share, *apart, intervals, counts]))}"


def _format_figure(value: float | None) -> str:
    return "" if value is None else written(value, 6)


def _show_claim(record: Any, out: str | None, as_json: bool) -> None:
    spec = record.spec
    claim = machinery.evaluate(spec)
    warnings = []
    try:
        answer = machinery.required_value(spec)
    except ForecastError as problem:
        answer = None
        warnings.append(str(problem))
    if claim["verdict"] == machinery.FAILED:
        warnings.append(f"claim '{claim['id']}' failed: {claim['note']}")
    if answer is not None:
        claim["solved"] = answer
    ends = machinery.interval(spec) if claim["verdict"] != machinery.FAILED else None
    line = _verdict_line(spec, claim)
    if ends is not None:
        low, high = (end if math.isfinite(end) else None for end in ends)
        claim["interval"] = {"p05": low, "p95": high}

    def text() -> None:
        _print_headline(line)
        if answer is not None:
            _print_wrapped(str(answer["sentence"]))
            render.write()
        shown = {k: v for k, v in claim.items() if k not in ("computed", "solved", "interval")}
        shown["computed"] = _format_figure(claim["computed"])
        if ends is not None:
            shown["90 % interval"] = " to ".join(map(_format_figure, ends))
        shown |= {"hedge": spec.hedge, "alias": spec.alias, "scenario": spec.scenario, "formula": spec.formula}
        width = max(len(key) for key, value in shown.items() if value)
        for key, value in shown.items():
            if value:
                _print_wrapped(f"{key:<{width}}  {printable(value, render.MAX_CELL_WIDTH)}", " " * (width + 2))
        parts = {name: dict(getattr(spec, name)) for name in ("settings", "answers", "values", "facts")}
        render.write_details({key: value for key, value in parts.items() if value})

    emit_files(
        claim, text=text, table=partial(_claim_columns, [claim]), files=(out,), as_json=as_json, warnings=warnings,
        provenance=render.provenance([record.plugin]),
    )  # fmt: skip
