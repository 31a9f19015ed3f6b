"""What ``forecast run`` and ``forecast show`` print of a projection, and the files they write: one way for both."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from forecast.base.quantiles import QUANTILES
from forecast.cli import render
from forecast.cli.output_files import emit_files, figure_keywords
from forecast.errors import UnknownNameError, printable
from forecast.report.words.number_text import format_or_dash

#: By so much a forecast may lie behind a record, of which a table and a maker round differently.
RECORD_RTOL = 1e-3

if TYPE_CHECKING:
    from forecast.contract.specs import QuantitySpec, RivalForecast
    from forecast.projection.result import ProjectedAnswer, ProjectedQuantity, Projection


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


class Narrowing(NamedTuple):
    """How much of an answer is printed, as `NARROWING` says it."""

    section: str | None
    shown: tuple[str, ...]
    by: str | None
    every: int | None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Narrowing:
        """Return what options say."""
        return cls(*(options[name] for name in cls._fields))


class RivalAnswer(NamedTuple):
    """What another forecast of the quantity says, or why it has no answer."""

    forecast: RivalForecast
    answer: ProjectedAnswer | None
    failure: str = "it failed"


def show_projection(
    run: Projection,
    narrowing: Narrowing,
    *,
    level: float,
    files: Sequence[str | None],
    plots: Sequence[str],
    pages: Mapping[str, Callable[[], object]],
    as_json: bool,
    rivals: Sequence[RivalAnswer] = (),
    of: QuantitySpec | None = None,
    read_as: str = "",
    full: bool = True,
) -> bool:
    """Write the answer, and every requested file; tell whether something in it failed.

    Parameters
    ----------
    run : Projection
        A projection, new or loaded.
    narrowing : Narrowing
    level : float
        Of the interval that is told beside that of 90 %.
    files, plots : sequence of str
        As `forecast.cli.output_files.emit_files` takes them.
    pages : mapping of str to callable
        What writes each report.
    as_json : bool
    rivals : sequence of RivalAnswer
    of : QuantitySpec, optional
        The quantity of the world whose values it tells.
    read_as : str
        How a question in words was understood.
    full : bool
        Data has what is behind the answer, too; see `forecast.report.result_data.projection_data`.
    """
    from forecast.base.warning_lines import warning_lines
    from forecast.report import figures
    from forecast.report.quantity_bounds import bound_lines, width_lines
    from forecast.report.result_data import tidy_columns

    for name in narrowing.shown:
        if name not in run.numeric:
            raise UnknownNameError("quantity", name, run.numeric, where="--quantity")
    if narrowing.by is not None and narrowing.by not in run.choices:
        raise UnknownNameError("choice", narrowing.by, run.choices, where="--split")
    drawn = figure_keywords(plots)
    if drawn["panel"] is not None:
        figures.check_panel(run, drawn["panel"])
    failures = run.failures
    outside = [*([] if of is None else bound_lines(run, of)), *width_lines(run)]
    emit_files(
        functools.cache(partial(_result, run, level=level, rivals=rivals, only=None if full else narrowing.shown)),
        text=partial(_show, run, narrowing, rivals=rivals, read_as=read_as, level=level, of=of),
        table=partial(tidy_columns, run, only=narrowing.shown),
        draw=partial(figures.plot_projection, run, **drawn),
        save=run.save,
        pages=pages,
        files=files,
        plots=plots,
        as_json=as_json,
        warnings=[*failures, *map(str, run.warnings), *outside],
        told=[*([] if narrowing.section == "warnings" else warning_lines([*failures, *run.warnings])), *outside],
        provenance={**render.provenance(), **run.provenance},
        read=[*([read_as] if read_as and as_json else []), *run.read],  # people have read it above the answer
    )
    return bool(failures)


def _result(
    run: Projection, *, level: float, rivals: Sequence[RivalAnswer], only: Sequence[str] | None
) -> dict[str, Any]:
    """Return the answer as plain data."""
    from forecast.report.result_data import answer_data, projection_data

    rows = [
        {
            "name": forecast.name,
            "differs": forecast.differs,
            **({"failure": failure} if answer is None else {"answer": answer_data(answer, level)}),
        }
        for forecast, answer, failure in rivals
    ]
    return projection_data(run, only=only, level=level, full=only is None) | ({"rivals": rows} if rows else {})


def _rival_that_differs(run: Projection, rivals: Sequence[RivalAnswer], level: float) -> str:
    """Say what the first rival says whose median lies outside the middle half of the answer; nothing if none does.

    One whose interval begins behind today's record comes after the others: a part of it has been refuted.
    """
    from forecast.projection.result import ValueAnswer
    from forecast.projection.result.observed_values import last_observation
    from forecast.report.headline import name_in_words
    from forecast.report.rows import table_cells

    own = run.opening.headline if rivals and run.opening is not None else None
    if own is None or own.medians is not None:
        return ""
    seen = last_observation(run.opening) if isinstance(run.opening, ValueAnswer) else None
    texts = []
    for forecast, answer, _ in rivals:
        if answer is None or (found := answer.headline) is None or own.quantiles[1] <= found.median <= own.quantiles[3]:
            continue
        median, interval, *_ = table_cells(answer, found, level)
        within = f" ({level:.0%}: {interval})".replace("%:", " %:") if interval not in ("", "-") else ""
        behind = seen is not None and seen.stands and (
            found.quantiles[0] < seen.value * (1 - RECORD_RTOL) if seen.value <= own.median
            else found.quantiles[4] > seen.value * (1 + RECORD_RTOL)
        )  # fmt: skip
        other = f"Another forecast, {name_in_words(forecast.name)}, says {median}{within}: {forecast.differs}."
        texts.append((behind, other))
    return min(texts, key=lambda one: one[0], default=(False, ""))[1]


def _show_rivals(rivals: Sequence[RivalAnswer], level: float) -> None:
    """Write a row for each other forecast of the quantity, and why it differs."""
    from forecast.projection.result import ValueAnswer
    from forecast.report.headline import name_in_words, on_date
    from forecast.report.rows import COLUMNS, table_cells

    rows, columns, date = [], [*filter(None, COLUMNS["value"])], ""
    for forecast, answer, failure in rivals:
        if answer is None or answer.headline is None:
            rows.append([name_in_words(forecast.name), *[""] * len(columns), f"no answer: {failure}"])
            continue
        columns = [*filter(None, COLUMNS["date" if answer.kind == "when" else "value"])]
        date = f" {on_date(answer.date, short=True)}" if isinstance(answer, ValueAnswer) and not answer.undated else ""
        rows.append([name_in_words(forecast.name), *table_cells(answer, answer.headline, level), forecast.differs])
    render.write()
    render.write_table([f"other forecasts{date}", *columns, "how it differs"], rows)


def _show(
    run: Projection, narrowing: Narrowing, *, rivals: Sequence[RivalAnswer], read_as: str, level: float,
    of: QuantitySpec | None,
) -> None:  # fmt: skip
    """Write the answer on one screen, or one of its sections; then the quantities that were named, step by step."""
    from forecast.evaluation.ledger import parse_date
    from forecast.report.brief import brief, section as section_of
    from forecast.report.quantity_bounds import identity_line

    section, shown, by, every = narrowing
    today, name = parse_date("today", "today"), section or ("answers" if run.swept else None)
    if read_as:
        render.write(read_as)
        render.write()
    if name is None:
        told = brief(run, today=today, by=by or "", level=level)
        render.screen(replace(told, differs=_rival_that_differs(run, rivals, level)))
    else:
        render.screen(section_of(run, name, today=today))
    if rivals and section is None and not shown:
        _show_rivals(rivals, level)
    if of is not None and section is None and not shown:
        render.write()
        render.prose(printable(identity_line(of), 1000))
    if shown:
        render.write()
        for name in (each for each in run.numeric if each in shown):
            _show_quantity(run, run.quantities[name], every)


# --- Step by step -----------------------------------------------------------------------------------------------------
# Quantities step by step, as text.


#: Heads of the columns of the quantiles.
_PERCENT_LABELS = [f"{q:.0%}".replace("%", " %") for q in QUANTILES]


def _show_quantity(run: Projection, quantity: ProjectedQuantity, every: int | None) -> None:
    """Show quantiles step by step, in every combination of choices; a quantity that does not change is shown once."""
    from forecast.projection.result.combinations import finite_or_none, iso

    heads, count = [*quantity.cells[0]], len(run.time)
    rows = [([*each.values()], [*map(finite_or_none, quantity.quantiles(each).T)]) for each in quantity.cells]
    is_constant = [all(step == steps[0] for step in steps) for _, steps in rows]
    render.write(printable(f"{quantity.name} [{quantity.unit}]" if quantity.unit else quantity.name))
    if all(is_constant):
        is_certain = all(len({*steps[0]}) == 1 for _, steps in rows)
        labels, shown = (["value"], slice(1)) if is_certain else (_PERCENT_LABELS, slice(5))
        render.write_table([*heads, *labels], [[*values, *_level_cells(steps[0][shown])] for values, steps in rows])
    else:
        dates = [str(iso(stamp)) for stamp in run.time]
        ending = "-01" if all(date.endswith("-01-01") for date in dates[:3]) else ""  # all begin with a year
        lines = []
        for (values, steps), constant in zip(rows, is_constant, strict=True):
            for i in [0] if constant else sorted({*range(0, count, every or _stride(count)), count - 1}):
                when = "any" if constant else dates[i][:7].removesuffix(ending)
                lines.append([*values, when, *_level_cells(steps[i])])
        render.write_table([*heads, "time", *_PERCENT_LABELS], lines)
    render.write()


def _level_cells(levels: Sequence[float | None]) -> list[str]:
    return [format_or_dash(level, 3) for level in levels]


def _stride(steps: int) -> int:
    """Return a round number of steps between those shown, so that they are about a dozen."""
    return next((n for n in (1, 2, 5, 10, 20, 50, 100) if steps <= 13 * n), 250)
