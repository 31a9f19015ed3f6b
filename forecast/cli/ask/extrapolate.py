"""``forecast extrapolate``: a curve or a series carried beyond its data, with the record of such forecasts."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from forecast.base.dates import from_decimal_year, iso_date_or_none
from forecast.cli import render
from forecast.cli.catalogue.listing import json_option
from forecast.cli.fit import fit_arguments
from forecast.cli.fit.fit_options import seed_option
from forecast.cli.output_files import TABLE_SUFFIXES, check_outputs, emit_files, out_option, plot_option, report_option
from forecast.cli.reading_options import access_options, level_option, reading_options, reduce_option, scale_options
from forecast.errors import DataError, ForecastError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from forecast.evaluation.extrapolate import Extrapolation
    from forecast.tables.columns import Columns


@click.command()
@click.argument("data", metavar="FILE|TABLE")
@click.option("--x", required=True, metavar="COLUMN", help="The column to go along: steps, tokens, compute, or dates.")
@click.option("--y", required=True, metavar="COLUMN", help="The column to extrapolate.")
@click.option("--to", metavar="PLACE[,PLACE...]", help="Where to: numbers; a year or a date where x is dates.")
@click.option("--threshold", "reach", metavar="NUMBER", help="Where x is dates: when is this level first met?")
@level_option("Of the interval: 80, or 0.8.")
@click.option("--where", multiple=True, metavar="CONDITION", help='Rows to keep: "steps > 100", "run is big".')
@click.option("--by", metavar="COLUMN", help="Extrapolate each series that this column names.")
@reduce_option
@scale_options
@reading_options
@seed_option("Equal seeds give equal draws, along dates.")
@out_option(TABLE_SUFFIXES, "Write the places and what is expected there.")
@plot_option
@report_option
@access_options
@json_option
def extrapolate(
    data: str,
    x: str,
    y: str,
    reach: str | None,
    where: tuple[str, ...],
    by: str | None,
    reading: dict[str, Any],
    out: str | None,
    plots: tuple[str, ...],
    report: str | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Extrapolate a column beyond its data: by a pool of laws, or by a shape of trends where x is dates.

    The pool is combined with the last value and a line through the last points, by how each would have forecast this
    curve. The interval is of an observation. It holds the doubt about the laws and their parameters, between the three
    forecasts, and the noise of a point.

    \b
    forecast extrapolate run.csv --x steps --y loss --to 1e9
    forecast extrapolate series.csv --x date --y flops --to 2035 --plot series.png
    forecast extrapolate series.csv --x date --y flops --threshold 1e20
    forecast extrapolate run.csv --x steps --y loss --to 1e9 --report run.html
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.report.figures.extrapolations import plot_extrapolation
    from forecast.tables.column_names import unquoted

    check_outputs(plots, {"--data": data}, out=out, report=report)
    columns, source = fit_arguments.data_of(data, "extrapolate", reading)
    x, y = (unquoted(name, columns) for name in (x, y))
    rows, note = fit_arguments.write_outputs(columns, where)
    threshold = None if reach is None else fit_arguments.parse_option_number(reach, "--threshold")
    one: Callable[..., Extrapolation] = partial(extrapolate_columns, names=(x, y), threshold=threshold, **how)
    seed = how["seed"]
    if by is not None:
        if plots or report:
            raise UsageError("--by: a figure and a page are of one series: keep one with --where")
        _extrapolate_each(rows, unquoted(by, columns), (x, y), one, seed, out, as_json, source)
        return
    answer = one(rows)
    result = extrapolation_data(answer)
    ask = shlex.join(["forecast", "ask", f"{data}:{y}" if y.isidentifier() else f'{data}:"{y}"', "--x", x])
    record = render.provenance(_plugins_used(answer), computed=True, seed=seed, data=source)
    warnings = [*([note] if note else []), *answer.warnings]
    said: dict[str, Any] = {"warnings": warnings, "provenance": record, "read": [answer.read]}
    emit_files(
        result,
        text=lambda: _print_extrapolation(result, ask),
        table=answer.columns,
        draw=partial(plot_extrapolation, answer),
        pages={} if report is None else {report: partial(_write_page, answer, report, data, result, said)},
        files=(out,),
        plots=plots,
        as_json=as_json,
        **said,
    )


def extrapolate_columns(
    rows: Columns, *, names: tuple[str, str], to: str | None, threshold: float | None, level: float, rule: str | None,
    bounds: dict[str, Any], seed: int,
) -> Extrapolation:  # fmt: skip
    """Extrapolate one column along another: of rows that have both, one at each place."""
    from dataclasses import replace

    from forecast.evaluation.extrapolate import extrapolate as extrapolate_points
    from forecast.tables.same_place import read_points

    x, y = names
    place, value, dated, read = read_points(rows, x, y, rule or "", f"extrapolate: {rows.label}")
    answer = extrapolate_points(
        from_decimal_year(place) if dated else place, value, _parse_places(to, dated=dated), level, reach=threshold,
        names=names, unit="percent" if rows.kind(y) == "percent" else rows.units.get(y, ""), seed=seed, **bounds,
    )  # fmt: skip
    return replace(answer, read=" ".join(filter(None, (read.notes.line(), answer.read))))


def _extrapolate_each(
    rows: Columns, by: str, names: tuple[str, str], one: Callable[[Columns], Extrapolation], seed: int,
    out: str | None, as_json: bool, source: dict[str, str],
) -> None:  # fmt: skip
    """Extrapolate each series that a column names."""
    rows.column(names[0])
    rows.numeric(names[1])
    rows = rows.complete(names)
    labels = rows.labels(by)
    answers, failed = {}, []
    for label in np.unique(labels):
        try:
            found = one(rows.take(labels == label))
        except ForecastError as problem:
            failed.append(f"{by} {label}: {problem}")
        else:
            answers[str(label)] = found
    if not answers:
        raise DataError(f"no series could be extrapolated; the first: {failed[0]}")
    series = [{by: label, **extrapolation_data(answer)} for label, answer in answers.items()]
    result = {"headline": f"{len(answers)} series, by {by}", "series": series}
    warnings = [*failed, *(f"{label}: {line}" for label, answer in answers.items() for line in answer.warnings)]
    plugins = [plugin for answer in answers.values() for plugin in _plugins_used(answer)]
    record = render.provenance(plugins, computed=True, seed=seed, data=source)

    def text() -> None:
        for label, answer in answers.items():
            render.write(f"{label}: {answer.sentence}")

    def table() -> dict[str, Any]:
        parts = [(label, answer.columns()) for label, answer in answers.items()]
        names = list(parts[0][1])
        keys = [label for label, part in parts for _ in part[names[0]]]
        return {by: keys, **{name: [v for _, part in parts for v in part[name]] for name in names}}

    emit_files(
        result, text=text, table=table, files=(out,), as_json=as_json, warnings=warnings, provenance=record,
        read=[rows.read_line],
    )  # fmt: skip


def _write_page(answer: Extrapolation, path: str, data: str, result: dict[str, Any], said: dict[str, Any]) -> None:
    """Write the page of an extrapolation, with the command that repeats it."""
    from pathlib import Path

    from forecast.report.page.extrapolation_page import write_extrapolation

    command = shlex.join(said["provenance"]["command"])
    write_extrapolation(answer, path, of=Path(data).name, repeat=command, record=render.json_envelope(result, **said))


def _parse_places(text: str | None, *, dated: bool) -> Any:
    """Read where to: numbers, or dates of which a bare year is its first day."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    return parts if dated else [fit_arguments.parse_option_number(part, "--to") for part in parts]


def _plugins_used(answer: Extrapolation) -> list[Any]:
    from forecast.contract.registry import get_registry

    kind = "shape" if answer.dates else "law"
    return [get_registry().find(kind, row["name"]).plugin for row in answer.laws if "/" in row["name"]]


def extrapolation_data(answer: Extrapolation) -> dict[str, Any]:
    """Return an extrapolation as plain data: what ``--json`` prints."""
    columns = answer.columns()
    points = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    when = {name: iso_date_or_none(v) if name[1:].isdigit() else v for name, v in answer.when.items()}
    return {
        "headline": answer.sentence,
        "level": answer.level,
        "points": points if answer.threshold is None else [],
        "when": when or None,
        "pooled": [dict(row) for row in answer.laws],
        "of": "the reciprocal of y, which rises" if answer.rises else "y",
        "beyond": {"years" if answer.dates else "decades": answer.beyond},
        "observations": int(answer.x.size),
        "record": list(answer.record),
        "on_these_points": dict(answer.hindcast) or None,
    }


def _print_extrapolation(result: dict[str, Any], ask: str) -> None:
    render.write_headline(result["headline"])
    if len(result["points"]) > 1:
        names = list(result["points"][0])
        cells = [[v if isinstance(v, str) else f"{v:.5g}" for v in row.values()] for row in result["points"]]
        render.write_table(names, cells)
        render.write()
    if "years" in result["beyond"]:
        render.write("The same with its shapes, and how such forecasts have done:")
        render.write(f"  {ask}")
        return
    # `fit` and `compare` have the best fit of a law alone, which few points may not settle
    render.prose(f"What is pooled, each law over all its exponents, and what it says of {result['of']} at the end:")
    rows = [[row["name"], f"{100 * row['weight']:.0f} %", f"{row['says']:.4g}"] for row in result["pooled"]]
    render.write_table(["name", "weight", "median"], rows, indent=2)
    if result["record"]:
        render.write()
        render.write("how such extrapolations have done:")
        for line in result["record"]:
            render.write(f"  {line}")
