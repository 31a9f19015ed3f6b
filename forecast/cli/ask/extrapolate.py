"""``forecast extrapolate``: a curve or a series carried beyond its data, with the record of such forecasts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from forecast.base.dates import iso_date_or_none
from forecast.cli import render
from forecast.cli.access_options import access_options
from forecast.cli.catalogue.listing import json_option
from forecast.cli.level_option import level_option
from forecast.cli.output_files import TABLE_SUFFIXES, emit_files, out_option, plot_option, report_option

if TYPE_CHECKING:
    from forecast.evaluation.extrapolate import Extrapolation

__all__ = ["extrapolate"]


@click.command()
@click.argument("data", metavar="FILE|TABLE")
@click.option("--x", required=True, metavar="COLUMN", help="The column to go along: steps, tokens, compute, or dates.")
@click.option("--y", required=True, metavar="COLUMN", help="The column to extrapolate.")
@click.option("--to", metavar="PLACE[,PLACE...]", help="Where to: numbers; a year or a date where x is dates.")
@click.option("--threshold", "reach", metavar="NUMBER", help="Where x is dates: when is this level first met?")
@level_option("Of the interval: 80, or 0.8.")
@click.option("--where", multiple=True, metavar="CONDITION", help='Rows to keep: "steps > 100", "run is big".')
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="N", help="Equal seeds give equal draws, along dates."
)
@out_option(TABLE_SUFFIXES, "Write the places and what is expected there.")
@plot_option
@report_option
@access_options
@json_option
def extrapolate(
    data: str,
    x: str,
    y: str,
    to: str | None,
    reach: str | None,
    level: float,
    where: tuple[str, ...],
    seed: int,
    out: str | None,
    plots: tuple[str, ...],
    report: str | None,
    as_json: bool,
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
    from forecast.cli.fit import fit_arguments
    from forecast.evaluation.extrapolate import extrapolate as carried
    from forecast.report.figures import check_format
    from forecast.report.figures.extrapolations import plot_extrapolation

    for path in plots:
        check_format(path)
    fit_arguments.check_outputs([("--out", out), ("--report", report), *(("--plot", path) for path in plots)], data)
    columns, source = fit_arguments.data_of(data, "extrapolate")
    rows, note = fit_arguments.write_outputs(columns, where)
    along = rows.column(x)
    answer = carried(
        along,
        rows.numeric(y),
        _parse_places(to, dated=along.dtype.kind in "MU"),
        level,
        reach=None if reach is None else fit_arguments.parse_option_number(reach, "--threshold"),
        names=(x, y),
        seed=seed,
    )
    result = _as_json_data(answer)
    record = render.provenance(_plugins_used(answer), computed=True, seed=seed, data=source)
    said: dict[str, Any] = {"warnings": [*([note] if note else []), *answer.warnings], "provenance": record}
    emit_files(
        result,
        text=lambda: _print_extrapolation(result),
        table=lambda: _as_columns(answer),
        draw=lambda path, width: plot_extrapolation(answer, path, width=width),
        pages={} if report is None else {report: partial(_write_page, answer, report, data, result, said)},
        files=(out,),
        plots=plots,
        as_json=as_json,
        **said,
    )


def _write_page(answer: Extrapolation, path: str, data: str, result: dict[str, Any], said: dict[str, Any]) -> None:
    """Write the page of an extrapolation, with the command that repeats it."""
    import shlex
    from pathlib import Path

    from forecast.report.page.extrapolation_page import write_extrapolation

    command = shlex.join(said["provenance"]["command"])
    write_extrapolation(answer, path, of=Path(data).name, repeat=command, record=render.json_envelope(result, **said))


def _parse_places(text: str | None, *, dated: bool) -> Any:
    """Read where to: numbers, or dates of which a bare year is its first day."""
    from forecast.cli.fit import fit_arguments

    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not dated:
        return [fit_arguments.parse_option_number(part, "--to") for part in parts]
    return [f"{part}-01-01" if part.isdigit() else part for part in parts]


def _plugins_used(answer: Extrapolation) -> list[Any]:
    from forecast.contract.registry import get_registry

    kind = "shape" if answer.dates else "law"
    return [get_registry().find(kind, row["name"]).plugin for row in answer.laws if "/" in row["name"]]


def _as_json_data(answer: Extrapolation) -> dict[str, Any]:
    from forecast.base.dates import from_decimal_year

    at = [str(d) for d in from_decimal_year(answer.to).astype("datetime64[D]")] if answer.dates else answer.to.tolist()
    columns = zip(at, answer.median.tolist(), answer.lower.tolist(), answer.upper.tolist(), strict=True)
    points = [dict(zip((answer.names[0], "median", "lower", "upper"), row, strict=True)) for row in columns]
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


def _as_columns(answer: Extrapolation) -> dict[str, Any]:
    from forecast.base.dates import from_decimal_year

    at = from_decimal_year(answer.to).astype("datetime64[D]").astype(str) if answer.dates else answer.to
    ends = {"median": answer.median, "lower": answer.lower, "upper": answer.upper}
    return {answer.names[0]: at.tolist(), **{name: column.tolist() for name, column in ends.items()}}


def _print_extrapolation(result: dict[str, Any]) -> None:
    render.write_headline(result["headline"])
    if len(result["points"]) > 1:
        names = list(result["points"][0])
        cells = [[v if isinstance(v, str) else f"{v:.5g}" for v in row.values()] for row in result["points"]]
        render.write_table(names, cells)
        render.write()
    render.write(f"what is pooled, and what each says of {result['of']} at the end:")
    rows = [[row["name"], f"{100 * row['weight']:.0f} %", f"{row['says']:.4g}"] for row in result["pooled"]]
    render.write_table(["name", "weight", "median"], rows, indent=2)
    if result["record"]:
        render.write()
        render.write("how such extrapolations have done:")
        for line in result["record"]:
            render.write(f"  {line}")
