"""What ``forecast run`` and ``forecast show`` print of a projection, and the files they write: one way for both."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from forecast.cli import render
from forecast.cli.ask.step_by_step import show_quantities
from forecast.cli.output_files import emit_files, figure_keywords
from forecast.errors import UnknownNameError

if TYPE_CHECKING:
    from forecast.contract.specs import QuantitySpec, RivalForecast
    from forecast.projection.result import Projection

    Rivals = Sequence[tuple[RivalForecast, Projection | str]]

__all__ = ["NARROWING", "show_projection"]

#: What says how much of an answer is printed.
NARROWING: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--show",
        "section",
        type=click.Choice(["answers", "quantities", "limits", "sources", "warnings"]),
        help="Print this section of the answer.",
    ),
    click.option(
        "--quantity",
        "shown",
        multiple=True,
        metavar="NAME",
        help="Print this quantity step by step; a table holds it alone.",
    ),
    click.option("--split", "by", metavar="CHOICE", help="Print the answer along this choice first."),
    click.option(
        "--every",
        type=click.IntRange(1),
        metavar="N",
        help="With --quantity: every Nth step.  [default: as many as leave a dozen]",
    ),
)


def show_projection(
    run: Projection,
    *,
    section: str | None,
    shown: tuple[str, ...],
    by: str | None,
    every: int | None,
    level: float,
    files: Sequence[str | None],
    plots: Sequence[str],
    pages: Mapping[str, Callable[[], object]],
    as_json: bool,
    rivals: Rivals = (),
    of: QuantitySpec | None = None,
    read_as: str = "",
) -> bool:
    """Write the answer, and every requested file; tell whether something in it failed.

    Parameters
    ----------
    run : Projection
        A projection, new or loaded.
    section, shown, by, every
        What `NARROWING` says.
    level : float
        Of the interval that is told beside that of 90 %.
    files, plots : sequence of str
        As `forecast.cli.output_files.emit_files` takes them.
    pages : mapping of str to callable
        What writes each report.
    as_json : bool
    rivals : sequence of (RivalForecast, Projection or str)
        Other forecasts of the quantity, or why they have none.
    of : QuantitySpec, optional
        The quantity of the world whose values it tells.
    read_as : str
        How a question in words was understood.
    """
    from forecast.base.warning_lines import warning_lines
    from forecast.report import figures, tidy
    from forecast.report.quantity_bounds import bound_lines

    _check_narrowed(run, shown, by)
    drawn = figure_keywords(plots)
    if drawn["panel"] is not None:
        figures.check_panel(run, drawn["panel"])
    failures = run.failures
    outside = [] if of is None else bound_lines(run, of)
    emit_files(
        functools.cache(partial(_result, run, everything=True, level=level, rivals=rivals)),
        text=partial(
            _show,
            run,
            rivals=rivals,
            read_as=read_as,
            section=section,
            shown=shown,
            by=by or "",
            every=every,
            level=level,
        ),
        table=partial(tidy.tidy_columns, run, only=shown),
        draw=lambda path, _: figures.plot_projection(run, path, **drawn),
        save=run.save,
        pages=pages,
        files=files,
        plots=plots,
        as_json=as_json,
        warnings=[*failures, *map(str, run.warnings), *outside],
        told=[*([] if section == "warnings" else warning_lines([*failures, *run.warnings])), *outside],
        provenance=_provenance(run),
        read=[*filter(None, [read_as]), *run.read],
    )
    return bool(failures)


def _provenance(run: Projection) -> dict[str, Any]:
    """Return what is needed to repeat the answer: as the projection has it, beside the command that was typed."""
    return {**render.provenance(), **run.provenance}


def _check_narrowed(run: Projection, shown: Sequence[str], by: str | None) -> None:
    """Refuse a quantity or a choice that the answer does not have."""
    for name in shown:
        if name not in run.numeric:
            raise UnknownNameError("quantity", name, run.numeric, where="--quantity")
    if by is not None and by not in run.choices:
        raise UnknownNameError("choice", by, run.choices, where="--split")


def _result(run: Projection, *, everything: bool, level: float, rivals: Rivals = ()) -> dict[str, Any]:
    """Return the answer as plain data; without `everything` only those quantities that are shown."""
    from forecast.report.result_data import answer_data, projection_data

    found = projection_data(run, only=None if everything else run.shown, level=level)
    if rivals:
        found["rivals"] = [
            {
                "name": each.name, "differs": each.differs,
                **({"failure": made} if isinstance(made, str) or made.opening is None else {
                    "answer": answer_data(made.opening, level)
                }),
            }
            for each, made in rivals
        ]  # fmt: skip
    return found


def _cell_heads(kind: str | None) -> list[str]:
    from forecast.report.rows import COLUMNS

    return [head for head in COLUMNS["date" if kind == "when" else "value"] if head]


def _rival_that_differs(run: Projection, rivals: Rivals, level: float) -> str:
    """Say what the first rival says whose median lies outside the middle half of the answer; nothing if none does."""
    from forecast.report.headline import table_cells

    own = run.opening.headline if rivals and run.opening is not None else None
    for each, made in rivals:
        answer = None if isinstance(made, str) else made.opening
        if own is None or own.medians is not None or answer is None or answer.headline is None:
            continue
        if not own.quantiles[1] <= answer.headline.median <= own.quantiles[3]:
            median, interval, *_ = table_cells(answer, answer.headline, level)
            within = f" ({level:.0%}: {interval})".replace("%:", " %:") if interval not in ("", "-") else ""
            return f"Another forecast, {each.name}, says {median}{within}: {each.differs}."
    return ""


def _show_rivals(rivals: Rivals, level: float) -> None:
    """Write a row for each other forecast of the quantity, and why it differs."""
    from forecast.projection.result import ValueAnswer
    from forecast.report.headline import on_date, table_cells

    rows, columns, date = [], _cell_heads(None), ""
    for each, made in rivals:
        answer = None if isinstance(made, str) else made.opening
        if answer is None or answer.headline is None:
            rows.append(
                [each.name, *[""] * len(columns), f"no answer: {made if isinstance(made, str) else 'it failed'}"]
            )
            continue
        columns, date = _cell_heads(answer.kind), f" {on_date(answer.date)}" if isinstance(answer, ValueAnswer) else ""
        rows.append([each.name, *table_cells(answer, answer.headline, level), each.differs])
    render.write()
    render.write_table([f"other forecasts{date}", *columns, "how it differs"], rows)


def _show(
    run: Projection,
    *,
    rivals: Rivals,
    read_as: str,
    section: str | None,
    shown: Sequence[str],
    by: str,
    every: int | None,
    level: float,
) -> None:
    """Write the answer on one screen, or one of its sections; then the quantities that were named, step by step."""
    from forecast.evaluation.ledger import parse_date
    from forecast.report import sections
    from forecast.report.brief import brief
    from forecast.report.result_data import quantity_rows

    today, name = parse_date("today", "today"), section or ("answers" if run.swept else None)
    if read_as:
        render.write(read_as)
        render.write()
    if name is None:
        told = brief(run, today=today, by=by, level=level)
        render.screen(replace(told, differs=_rival_that_differs(run, rivals, level)))
    else:
        render.screen(sections.section(run, name, today=today))
    if rivals and section is None and not shown:
        _show_rivals(rivals, level)
    if shown:
        render.write()
        show_quantities(quantity_rows(run, only=shown), shown, every)
