"""What moves an answer, as a tornado: the answer where each uncertain number is low and high, and by each choice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from forecast.base import plot_style
from forecast.projection.result import AnswerDistribution, Projection
from forecast.report.figures.interval_rows import LabelTable, ShareColumn, stand
from forecast.report.headline import driver_labels
from forecast.report.rows import ReportRow
from forecast.report.words.date_text import as_text
from forecast.report.words.number_text import in_signs, percent
from forecast.sensitivity.first_order import MIN_DRIVER_SHARE, first_order, uncertain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

#: Most drivers that are drawn.
_MAX_DRIVERS = 5
#: What is low and what is high of a number: so much of its worlds at either end.
_BAR_TAIL_SHARE = 0.2
#: Points of a page: of a bar.
_BAR_POINTS = 7.0


class TornadoBar(NamedTuple):
    """What the answer is where a driver is low and high: its label, and its share of the variance alone.

    `ends` are the answers where a number is low and high, or several that are correlated, from early to late; or the
    answer by every value of a choice.
    """

    label: str
    share: float
    ends: tuple[float, ...]
    is_choice: bool


@dataclass(frozen=True, kw_only=True)
class Tornado:
    """What the answer is where each driver is low and high.

    Parameters
    ----------
    bars : tuple of TornadoBar
    base : float
        The answer itself.
    dates : bool
        Answers are median dates; else they are probabilities.
    says : str
        What the answers are.
    most : float
        The last date.
    """

    bars: tuple[TornadoBar, ...]
    base: float
    dates: bool
    says: str
    most: float

    def table(self, width: float) -> LabelTable:
        """Return the labels and the shares beside them, in a panel of so many points."""
        shares = ShareColumn("share of variance", [in_signs(percent(bar.share)) for bar in self.bars])
        lines = tuple((bar.label, ReportRow(label=bar.label)) for bar in self.bars)
        return LabelTable(lines=lines, asides=(shares,), width=width)


def tornado(run: Projection, name: str) -> Tornado | None:
    """Return what moves the date of a question; None where nothing does.

    The answers are the median dates; where it is already so, or never, in most worlds, they are the probabilities that
    it is so by the first or by the last date.
    """
    moved = [row for row in first_order(run, name)[:_MAX_DRIVERS] if row["share"] >= MIN_DRIVER_SHARE]
    question = run.answer(name)
    own = question.headline
    if not moved or own is None or own.medians is not None:
        return None
    first, last = run.span
    dates = own.at_start < 0.5 and own.never < 0.5
    by = first if own.at_start >= 0.5 else last
    worlds, counts = question.pooled_draws(question.default)

    def answer(mask: NDArray[np.bool_]) -> float:
        found = question.of_worlds(worlds[mask], None if counts is None else counts[mask])
        return math.nan if found is None else _bar_end(found, by, first, dates)

    numbers, bars = uncertain(run), []
    for row, label in zip(moved, driver_labels(run, [row["name"] for row in moved]), strict=True):
        if is_choice := row["kind"] == "choice":
            found = [question.over({**question.default, row["name"]: v}) for v in question.values(row["name"])]
            ends = tuple(_bar_end(s, by, first, dates) for s in found if s is not None and s.medians is None)
        else:
            draws = [numbers[each].draws for each in row["name"].split(", ")]
            along = draws[0] if len(draws) == 1 else _rank_regression(draws, worlds)
            low, high = np.quantile(along, [_BAR_TAIL_SHARE, 1 - _BAR_TAIL_SHARE])
            ends = (answer(along <= low), answer(along >= high))
        bars.append(TornadoBar(label, row["share"], ends, is_choice))
    return Tornado(
        bars=tuple(bars), base=_bar_end(own, by, first, dates), dates=dates, most=last,
        says="median date" if dates else f"probability by {as_text(by, fine=True)}",
    )  # fmt: skip


def _rank_regression(draws: Sequence[Array], worlds: Array) -> Array:
    """Return what several correlated numbers say of the date together: the fit of its rank by theirs."""
    ranks = [np.argsort(np.argsort(each, kind="stable"), kind="stable").astype(float) for each in (worlds, *draws)]
    design = np.column_stack([np.ones(len(worlds)), *ranks[1:]])
    return np.asarray(design @ np.linalg.lstsq(design, ranks[0], rcond=None)[0])


def _bar_end(spread: AnswerDistribution, by: float, first: float, dates: bool) -> float:
    if dates:
        return spread.median
    return spread.at_start if by == first else 1 - spread.never


def plot_tornado(axis: Axes, chart: Tornado, table: LabelTable) -> None:
    """Draw a tornado: a bar from low (hatched) to high (filled) of a number, and a mark for each value of a choice."""
    every = [chart.base, *(end for bar in chart.bars for end in bar.ends)]
    finite = [end for end in every if math.isfinite(end)]
    low, high = (min(finite), max(finite)) if chart.dates else (0.0, 1.0)
    least = 0.5 if chart.dates else 0.0
    room = 0.08 * max(high - low, least)
    goes_on = any(map(math.isinf, every[1:]))
    edge = min(high + (2 if goes_on else 1) * room, chart.most) if chart.dates else high
    edge = max(edge, low + least)
    axis.set_xlim(low - (room if chart.dates else 0.0), edge)
    stand(axis, table)
    for entry, bar in zip(table.rows, chart.bars, strict=True):
        _plot_bar(axis, entry.place, bar, chart.base, edge)
    axis.axvline(chart.base, color=plot_style.BLACK, linewidth=0.9)
    axis.set_xlabel(chart.says)
    if chart.dates:
        plot_style.set_year_ticks(axis.xaxis)
    else:
        axis.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")


def _plot_bar(axis: Axes, place: float, bar: TornadoBar, base: float, edge: float) -> None:
    known = [min(end, edge) for end in bar.ends if not math.isnan(end)]
    if not known:
        return
    if bar.is_choice:
        axis.plot([min(known), max(known)], [place, place], color=plot_style.COLOURS[2], linewidth=1.2)
        axis.plot(known, [place] * len(known), "d", color=plot_style.COLOURS[2], mfc="white", ms=5, mew=1.2,
                  clip_on=False, label="values of a choice")  # fmt: skip
        return
    start = min(base, edge)
    for end, colour, hatch, label in (
        (known[0], "white", "////", "number: lowest fifth"),
        (known[-1], plot_style.COLOURS[0], "", "number: highest fifth"),
    ):
        axis.barh(place, end - start, left=start, height=_BAR_POINTS, color=colour, edgecolor=plot_style.COLOURS[0],
                  hatch=hatch, linewidth=0.8, label=label)  # fmt: skip
