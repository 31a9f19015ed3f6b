"""``forecast show``: a result that was saved, opened again: printed, drawn or written in another form."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from forecast.base.quantiles import DEFAULT_LEVEL
from forecast.cli import render
from forecast.cli.ask.result_output import NARROWING, Narrowing, show_projection
from forecast.cli.output_files import (
    RESULT_SUFFIXES,
    add_options,
    check_outputs,
    csv_option,
    figure_keywords,
    figure_option,
    out_option,
    reject_options,
    report_option,
    stated_options,
)
from forecast.cli.reading_options import level_option
from forecast.errors import ResultError, UsageError, printable


@click.command()
@click.argument("file", metavar="FILE.nc", type=click.Path(path_type=str))
@partial(add_options, NARROWING)
@level_option("Of intervals: 80, or 0.8.")
@csv_option
@out_option(RESULT_SUFFIXES, "Write it in another form.")
@figure_option
@report_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def show(
    file: str,
    level: float,
    csv: str | None,
    out: str | None,
    plots: tuple[str, ...],
    report: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Open FILE.nc, which 'run', 'sweep', 'fit' or 'compare' saved with --out, and print what it says.

    Nothing is drawn or fitted again: the answer is the one that was saved, in the words of this version. A file from
    somebody else is checked before it is believed.

    \b
    forecast show mine.nc
    forecast show mine.nc --show sources --csv mine.csv --plot mine.svg
    forecast show mine.nc --quantity machine --every 5
    forecast show families.nc --plot families.png --json
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    where = printable(file)
    if Path(file).suffix.lower() in (".json", ".csv", ".parquet"):
        raise UsageError(f"{where}: expected a .nc file; the other forms are for other programs")
    check_outputs(plots, {"FILE": file}, out=out, csv=csv, report=report)
    figure_keywords(plots)
    write = _writer_of_file(file, Narrowing.of(options), level, plots, report)
    try:
        write(files=(out, csv), as_json=as_json)
    except _DISAGREEMENTS as problem:  # parts of a stranger's file that no check compares
        what = printable(f"{type(problem).__name__}: {problem}", 120)
        raise ResultError(f"{where}: not a result of this version: {what}") from problem


#: What goes wrong where a file holds something else than it says.
_DISAGREEMENTS = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError)


def _writer_of_file(
    file: str, narrowing: Narrowing, level: float, plots: tuple[str, ...], report: str | None
) -> Callable[..., object]:
    """Open a file, check what it holds, and return what writes that; refuse options that say nothing of it."""
    from forecast.api.answer import Answer
    from forecast.api.save_and_load import load
    from forecast.cli.fit import fit_arguments
    from forecast.cli.fit.compare import show_comparison
    from forecast.cli.fit.fit_output import show_fit
    from forecast.fit.compare import Comparison
    from forecast.fit.fit import Fit, Fits
    from forecast.projection.result import Projection
    from forecast.report import page

    found = load(file)
    if isinstance(found, Answer):
        found = found.run
    of_answers = {f"--{key}": value for key, value in figure_keywords(plots).items() if key != "width"}
    stated = {**stated_options(click.get_current_context(), *Narrowing._fields), **of_answers}
    if isinstance(found, (Fit, Fits)):
        reject_options(
            {**stated, "--report": report},
            "the file holds a fit: only an answer is narrowed and reported, and has panels",
        )
        record = render.provenance(fit_arguments.plugins_of(found.law), computed=True)
        return partial(show_fit, found, level=level, provenance=record, plots=plots)
    if isinstance(found, Comparison):
        drawn = {"--plot": plots, "--level": None if level == DEFAULT_LEVEL else level, "--report": report}
        reject_options({**stated, **drawn}, "the file holds a comparison: it is a table, and is printed whole")
        return partial(show_comparison, found)
    if isinstance(found, Projection):
        pages = {} if report is None else {report: partial(page.write_page, found, report)}
        return partial(show_projection, found, narrowing, plots=plots, pages=pages, level=level)
    raise ResultError(f"{printable(file)}: holds no projection, fit or comparison")
