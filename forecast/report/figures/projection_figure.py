"""The figure of a projection: its answers, the trajectories behind them, and what moves them.

What moves an answer is a tornado: the answer where each uncertain number is low and high, and by each choice.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from forecast.base import plot_style
from forecast.base.plot_style import BLACK, COLOURS, GREY
from forecast.errors import UnknownNameError, UsageError, printable
from forecast.projection.result import AnswerDistribution, DateAnswer, FirstAnswer, Projection, ValueAnswer
from forecast.report.brief import brief
from forecast.report.figures import fan_chart, interval_rows
from forecast.report.figures.interval_rows import LabelTable, ShareColumn, stand
from forecast.report.headline import Labels, driver_labels, event, on_date, opening_sentence, value_title
from forecast.report.rows import ReportRow, RowGroup, quantity_row, race_group, ranking_groups, scaled_group
from forecast.report.words.date_text import as_text
from forecast.report.words.number_text import in_signs, percent
from forecast.sensitivity.first_order import MIN_DRIVER_SHARE, first_order, uncertain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


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


#: What a figure is made of, in the order in which it stands: dates and values with their intervals, trajectories, what
#: moves the answer, and who is best or first.
PANELS = ("dates", "values", "path", "drivers", "ranking")
#: Points of an inch.
_POINTS_PER_INCH = 72.0
#: Inches: of the axis below rows, of its title, of what stands above them, and of a panel of trajectories.
_AXIS, _AXIS_TITLE, _TITLE_GAP, _FAN = 0.24, 0.14, 0.17, {1: 1.8, 2: 1.5, 3: 1.3}
#: Points: sizes of the title and of the sentence, and of their lines.
_TITLE, _SENTENCE, _LEAD = 9.0, 8.0, 1.3
#: Of the legend, in sizes of its letters: a mark, and what is between two columns.
_HANDLE, _LEGEND_GAP = 1.8, 0.8
#: A bar that is shorter, as a share of its axis, has its text beside it; and how thick bars are, in points.
_MIN_BAR_SHARE, _SHARE_BAR_POINTS = 0.5, 8.0


@dataclass(frozen=True, kw_only=True)
class _Layout:
    """What there is for a figure: its width in points, and so many panels of trajectories, some beside one another."""

    points: float
    most: int
    across: int


_ROOMS = {
    "column": _Layout(points=_POINTS_PER_INCH * plot_style.WIDTH_INCHES["column"], most=3, across=1),
    "page": _Layout(points=_POINTS_PER_INCH * plot_style.WIDTH_INCHES["page"], most=6, across=3),
}


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One piece of the figure, over its whole width, or a half.

    Parameters
    ----------
    kind : str
        One of `PANELS`.
    height : float
        Inches.
    draw : callable
        Draws it into a figure of its own, and returns its axes.
    half : bool
        Two of these stand side by side where there is room.
    marks : {"", "dots", "points", "ranges", "bands"}
        What the legend must explain of it.
    label : callable, optional
        Writes what must be measured, once all is laid out.
    """

    kind: str
    height: float
    draw: Callable[[SubFigure], list[Axes]]
    half: bool = False
    marks: str = ""
    label: Callable[[], None] | None = None


def plot_projection(
    run: Projection,
    path: str | os.PathLike[str],
    *,
    panel: str | None = None,
    width: str = "page",
    titled: bool = False,
) -> Path:
    """Draw a projection into a file.

    The answers first, as dots with their intervals in the order of the text, *already* and *never* as numbers beside
    them; then the trajectories of what the first question is about, cut to what it needs, a panel for each of its
    definitions; and what moves the answer. One legend says once what all of them share. What the figure is about is
    said by its caption, and stands on it only where it is asked for.

    Parameters
    ----------
    run : Projection
    path : path-like
        Ends in ``.svg``, ``.png`` or ``.pdf``.
    panel : str, optional
        One of `PANELS` alone.
    width : {"page", "column"}
        Of a journal: 183 mm, or 89 mm.
    titled : bool
        With the title of the scenario and the sentence of the answer.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    UsageError
        For another ending, and for a panel that the answer does not have.
    """
    plot_style.check_format(path)
    with plot_style.style():
        return plot_style.save_figure(compose(run, panel=panel, width=width, titled=titled), path)


def check_panel(run: Projection, panel: str) -> None:
    """Refuse a panel that an answer does not have.

    Raises
    ------
    UsageError
        It names those that the answer has.
    """
    if panel not in PANELS:
        raise UnknownNameError("panel", panel, PANELS)
    parts = _figure_panels(run, _ROOMS["page"])
    if panel not in (kinds := [kind for kind in PANELS if any(part.kind == kind for part in parts)]):
        has = f"it has {', '.join(kinds)}" if kinds else "there is nothing to draw: a regime has no level"
        raise UsageError(f"panel '{panel}': the answer of '{printable(run.scenario, 60)}' has none; {has}")


def compose(run: Projection, *, panel: str | None = None, width: str = "page", titled: bool = False) -> Figure:
    """Return the figure of a projection, under `forecast.base.plot_style.style`."""
    if width not in plot_style.WIDTH_INCHES:
        raise UsageError(f"width: expected one of {', '.join(plot_style.WIDTH_INCHES)}, got '{printable(width, 40)}'")
    if panel is not None:
        check_panel(run, panel)
    parts = _figure_panels(run, _ROOMS[width], panel)
    if not parts:
        raise UsageError("nothing to draw: a regime has no level")
    rows, inches = _panel_rows(parts, width), plot_style.WIDTH_INCHES[width]
    head = _head(run, inches) if titled else []
    above = sum(size * _LEAD * (text.count("\n") + 1.4) for text, size, _ in head) / _POINTS_PER_INCH
    lettered = len(parts) > 1
    heights = [above, *(max(part.height for part in row) + _TITLE_GAP * lettered for row in rows), 0.2]
    figure = plot_style.sheet(inches, sum(heights))
    heights = heights if titled else heights[1:]
    grid = figure.add_gridspec(len(heights), 1, height_ratios=heights)
    pieces = [figure.add_subfigure(grid[place]) for place in range(len(heights))]
    top = 1.0
    for text, size, weight in head:
        pieces[0].text(
            4 / _POINTS_PER_INCH / inches, top, text, fontsize=size, weight=weight, va="top", linespacing=_LEAD
        )
        top -= size * _LEAD * (text.count("\n") + 1.4) / _POINTS_PER_INCH / above
    axes: list[Axes] = []
    letter = iter("abcdefghijklmnopqrstuvwxyz")
    for piece, row in zip(pieces[-1 - len(rows) : -1], rows, strict=True):
        cells = piece.subfigures(1, len(row), squeeze=False).ravel() if len(row) > 1 else [piece]
        for cell, part in zip(cells, row, strict=True):
            own = part.draw(cell)
            if lettered:
                if not own[0].get_title("left"):
                    own[0].set_title(" ")
                x = 2 / _POINTS_PER_INCH / inches * len(cells)
                cell.text(x, 1 - 1 / _POINTS_PER_INCH / part.height, next(letter), fontsize=8, weight="bold", va="top")
            axes += own
    heights[-1] = _add_shared_legend(pieces[-1], axes, {part.marks for part in parts}, inches * _POINTS_PER_INCH)
    grid.set_height_ratios(heights)
    figure.set_size_inches(inches, sum(heights))
    plot_style.lay_out(figure)
    for axis in axes:
        plot_style.thin(axis.xaxis)
    for part in parts:
        if part.label is not None:
            part.label()
    return figure


def _head(run: Projection, inches: float) -> list[tuple[str, float, str]]:
    """Return the title and the sentence, wrapped, with their sizes and weights."""
    texts = ((printable(run.title or run.scenario, 200), _TITLE, "bold"), (opening_sentence(run), _SENTENCE, "normal"))
    room = inches * _POINTS_PER_INCH - 8
    return [(plot_style.wrap_text(text, room, size, weight), size, weight) for text, size, weight in texts]


def draw_panel(run: Projection, panel: str, axis: Axes) -> None:
    """Draw one panel of an answer on axes of somebody's own: the first, where there are several of its kind."""
    check_panel(run, panel)
    figure = axis.get_figure(root=True)
    assert figure is not None
    room = _Layout(points=axis.get_window_extent().width / figure.dpi * _POINTS_PER_INCH, most=1, across=1)
    part = _figure_panels(run, room, panel)[0]
    part.draw(_GivenAxes(axis))  # type: ignore[arg-type]
    if part.label is not None:
        plot_style.laid_out(axis)
        part.label()


class _GivenAxes:
    """Axes of somebody's own, in the place of a part of a figure."""

    def __init__(self, axis: Axes) -> None:
        self._axis = axis

    def subplots(self, *_: int, squeeze: bool = True, **__: Any) -> Any:
        return self._axis if squeeze else np.array([[self._axis]])


def _panel_rows(parts: Sequence[Panel], width: str) -> list[list[Panel]]:
    """Put halves beside one another."""
    rows: list[list[Panel]] = []
    for part in parts:
        beside = rows and width == "page" and part.half and len(rows[-1]) == 1 and rows[-1][0].half
        if beside:
            rows[-1].append(part)
        else:
            rows.append([part])
    return rows


def _figure_panels(run: Projection, room: _Layout, panel: str | None = None) -> list[Panel]:
    """Return the pieces of a figure, in their order; of one kind, where one is asked for."""
    opening, words = run.opening, Labels(run)
    groups = [group for group in brief(run).groups if group.kind != "text" and group.body]
    called = [
        (_with_unchanged_median(run, group), title)
        for group, title in (_group_title(run, words, each) for each in groups)
    ]
    kinds = ["dates" if group.kind == "date" else "ranking" if group.title else "values" for group, _ in called]
    parts = [_group(group, title, kind, room) for (group, title), kind in zip(called, kinds, strict=True)]
    rankings = (group for answer in run.rankings for group in ranking_groups(answer, words))
    parts += [_share_panel(group, room) for group in rankings if group.kind == "text"]
    if isinstance(opening, FirstAnswer):  # a range is drawn up to its middle
        races = (race_group(each, words) for each in run.firsts[:3] if each.sentence_row is not None)
        parts = [*(_share_panel(group, room) for group in races), *parts]
    if isinstance(opening, (DateAnswer, ValueAnswer)):
        parts += _trajectory_panel(fan_chart.fan_panels(opening, room.most), room, half=panel is None, alike=True)
    if isinstance(opening, DateAnswer) and (moved := tornado(run, opening.name)) is not None:
        beside = panel is None and room.across > 1 and bool(parts) and parts[-1].half
        parts.append(_tornado(moved, room.points / (2 if beside else 1), half=beside))
    if not parts:
        names = [name for name in run.shown or () if name in run.numeric] or run.numeric
        over = fan_chart.lines_over_time(run, names, room.most)
        parts = _trajectory_panel(over, room, half=False, alike=False) or [
            _group(group, title, "values", room) for group, title in _last_value_groups(run, words, names)
        ]
    return [part for part in parts if panel in (None, part.kind)]


def _with_unchanged_median(run: Projection, group: RowGroup) -> RowGroup:
    """Put the median as it was without a change below the row of the answer that the change moves."""
    own = next((each for each in run.differences if each.answer is run.opening and each.moved), None)
    if own is None or not group.rows[0].leads or not math.isfinite(own.median[0]):
        return group
    was = AnswerDistribution(quantiles=(own.median[0],) * 5, never=own.never[0], already=own.already[0])
    row = replace(group.rows[0], label="its median", of="as it was", spread=was, leads=False)
    return replace(group, rows=(group.rows[0], row, *group.rows[1:]))


def _group_title(run: Projection, words: Labels, group: RowGroup) -> tuple[RowGroup, str]:
    """Return a group, and what its rows are about; the only row of a question without choices is called by that."""
    opening = run.opening
    if group.title or not group.rows[0].leads:
        return group, group.title
    if group.kind == "date" and not isinstance(opening, DateAnswer):
        return group, ""  # its own row is called by its question
    if isinstance(opening, DateAnswer):
        title, choices = event(opening, opening.default, words), opening.choices
    else:
        assert isinstance(opening, ValueAnswer)
        title = f"{value_title(opening, opening.default, words)}, {on_date(opening.date)}"
        choices = opening.choices
    if choices:
        return group, title
    return replace(group, rows=(replace(group.rows[0], label=title), *group.rows[1:])), ""


def _group(group: RowGroup, title: str, kind: str, room: _Layout) -> Panel:
    table = interval_rows.of_group(group, title, room.points)
    draw = partial(_draw_alone, interval_rows.plot_group, group, table)
    height, marks = _height(table, titled=group.kind != "date"), _mark_kinds(group.body)
    return Panel(kind=kind, height=height, draw=draw, marks=marks)


def _draw_alone(plot: Callable[..., None], of: Any, table: LabelTable, piece: SubFigure) -> list[Axes]:
    """Draw a table of rows on the only axes of a piece of the figure."""
    axis = piece.subplots()
    plot(axis, of, table)
    return [axis]


def _height(table: LabelTable, *, titled: bool = True) -> float:
    """Return the inches of a panel of rows: they, the names of their columns, and the axis with its title."""
    return table.height / _POINTS_PER_INCH + _TITLE_GAP * bool(table.asides) + _AXIS + _AXIS_TITLE * titled


def _mark_kinds(rows: Sequence[ReportRow]) -> str:
    """Tell whether there are intervals, ranges of medians, or mere points to be explained."""
    spreads = [row.spread for row in rows if row.spread is not None]
    if all(s.medians is not None for s in spreads):
        return "ranges"
    wide = any(s.medians is None and s.quantiles[0] < s.quantiles[4] for s in spreads)
    return "dots" if wide else "points"


def _trajectory_panel(fans: Sequence[fan_chart.Fan], room: _Layout, *, half: bool, alike: bool) -> list[Panel]:
    """Return one panel of trajectories; those that are alike are of one question, and share their axes."""
    if not fans:
        return []
    across = min(room.across, len(fans))
    down = -(-len(fans) // across)
    shared = alike and len({fan.unit for fan in fans}) == 1
    labels: list[Callable[[], None]] = []

    def label() -> None:
        for each in labels:
            each()

    def draw(piece: SubFigure) -> list[Axes]:
        axes = piece.subplots(down, across, squeeze=False, sharex=True, sharey=shared).ravel()
        spans = [fan.span for fan in fans]
        span = (min(s[0] for s in spans), max(s[1] for s in spans))
        windows = [fan.window(span) for fan in fans]
        if shared:
            log = all(w[2] for w in windows)
            low, high = min(w[0] for w in windows), max(w[1] for w in windows)
            windows = [(low, high, log)] * len(fans) if log or not any(w[2] for w in windows) else windows
        for place, (axis, fan) in enumerate(zip(axes, fans, strict=False)):
            labels.append(fan_chart.plot_fan(axis, fan, span=span, window=windows[place], width=room.points / across))
            if shared and place % across:
                axis.set_ylabel("")
        for place, axis in enumerate(axes[len(fans) :], len(fans)):
            axis.remove()
            axes[place - across].tick_params(labelbottom=True)
        return list(axes[: len(fans)])

    marks = "bands" if any(fan.spreads for fan in fans) else ""
    height = _FAN.get(down, _FAN[3]) * down + 0.15
    return [Panel(kind="path", height=height, draw=draw, half=half and len(fans) == 1, marks=marks, label=label)]


def _tornado(chart: Tornado, points: float, *, half: bool) -> Panel:
    table = chart.table(points)
    draw = partial(_draw_alone, plot_tornado, chart, table)
    return Panel(kind="drivers", height=_height(table), draw=draw, half=half)


# --- Shares -----------------------------------------------------------------------------------------------------------


def _share_panel(group: RowGroup, room: _Layout) -> Panel:
    """Draw the shares of the worlds of rows, each behind the name of what it is of where the row says that."""
    lines: list[tuple[str, ReportRow | None]] = [(group.title, None), *((row.label, row) for row in group.body)]
    table = LabelTable(lines=tuple(lines), width=room.points)
    return Panel(kind="ranking", height=_height(table), draw=partial(_draw_alone, _plot_shares, group, table))


def _plot_shares(axis: Axes, group: RowGroup, table: LabelTable) -> None:
    interval_rows.stand(axis, table)
    points = table.width - table.label_width  # of the axis, and of what is left and right of it
    bar: dict[str, Any] = {"height": _SHARE_BAR_POINTS, "color": "#a9cbe2", "edgecolor": COLOURS[0], "linewidth": 0.6}
    for entry, row in zip(table.rows, group.body, strict=True):
        axis.barh(entry.place, row.share, **bar)
        text = f"{row.cells[0]}, {percent(row.share)}" if len(group.columns) > 1 else percent(row.share)
        fits = row.share * points + plot_style.text_width(text, 7) < points
        beside = row.share if row.share < _MIN_BAR_SHARE and fits else 0.0  # a short bar holds no text
        axis.text(beside + 0.012, entry.place, text, fontsize=7, va="center", ha="left", color=BLACK)
    axis.set(xlim=(0.0, 1.0), xlabel=group.columns[-1])
    axis.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")


# --- Scenarios without a question -------------------------------------------------------------------------------------


def _last_value_groups(run: Projection, words: Labels, names: Sequence[str]) -> list[tuple[RowGroup, str]]:
    """Return the quantities at the last date, those of one unit on one axis, and what heads them."""
    by_unit: dict[str, list[ReportRow]] = {}
    for quantity in (run.quantities[name] for name in names):
        for cell in quantity.cells:
            label = ", ".join([words(quantity.name), *map(words, cell.values())])
            row = quantity_row(quantity, cell, label)
            if row.spread is not None and not math.isnan(row.spread.quantiles[0]):
                by_unit.setdefault(quantity.unit, []).append(row)
    return [(scaled_group(rows, unit), as_text(run.span[1])) for unit, rows in by_unit.items()]


# --- The legend -------------------------------------------------------------------------------------------------------


def _add_shared_legend(piece: SubFigure, axes: Sequence[Axes], marks: set[str], points: float) -> float:
    """Say once what the panels share, in as many columns as there is room for; return its inches."""
    named: dict[str, Any] = {}
    if marks & {"dots", "points"}:
        name = "median, 50, 90 % of worlds" if "dots" in marks else "median"
        named[name] = Mark(wide="dots" in marks)
    if "bands" in marks:
        named["50 and 90 % band"] = Mark(wide=True, band=True)
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    if not named:
        return 0.02
    labels = list(named)
    across = next(n for n in range(min(5, len(labels)), 0, -1) if n == 1 or _legend_width(labels, n) < points - 8)
    piece.legend(
        handles=list(named.values()), labels=labels, loc="center", ncols=across, handlelength=_HANDLE,
        columnspacing=_LEGEND_GAP, handler_map=legend_handlers(), borderpad=0.0, borderaxespad=0.0,
    )  # fmt: skip
    down = -(-len(labels) // across)
    columns = [part.tolist() for part in np.array_split(np.arange(len(labels)), across)]
    lines = [1 + max(labels[c[i]].count("\n") for c in columns if i < len(c)) for i in range(down)]
    return float(sum(lines) * 7.0 * 1.25 + down * 3.5 + 6.0) / _POINTS_PER_INCH


def _legend_width(labels: Sequence[str], across: int) -> float:
    """Return how wide a legend of so many columns is, in points; the first are the longest."""
    columns = [labels[part[0] : part[-1] + 1] for part in np.array_split(np.arange(len(labels)), across)]
    widths = [max(plot_style.text_width(label, 7.0) for label in column) for column in columns]
    return sum(widths) + 7.0 * (len(columns) * (_HANDLE + 0.8) + (len(columns) - 1) * _LEGEND_GAP)


# --- What the legend shows --------------------------------------------------------------------------------------------
# What a legend shows of a median with its intervals: one mark for the three that belong together.


@dataclass(frozen=True)
class Mark:
    """A median with its intervals of 50 and 90 %: a dot on two lines, or two bands.

    Parameters
    ----------
    wide : bool
        Whether there are intervals.
    band : bool
        Bands, and no dot.
    """

    wide: bool
    band: bool = False


def legend_handlers() -> dict[Any, Any]:
    """Return what draws a mark in a legend."""
    from matplotlib.legend_handler import HandlerBase
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    class Drawn(HandlerBase):
        def create_artists(
            self, legend: Any, orig_handle: Any, xdescent: float, ydescent: float, width: float, height: float,
            fontsize: float, trans: Any,
        ) -> list[Any]:  # fmt: skip
            middle = height / 2
            if orig_handle.band:
                whole = Rectangle((0, -0.1 * height), width, 1.2 * height, color=GREY, alpha=0.3, linewidth=0)
                half = Rectangle((0, 0.2 * height), width, 0.6 * height, color=GREY, alpha=0.5, linewidth=0)
                made: list[Any] = [whole, half]
            else:
                ends = ((0.0, width, 1.1), (0.22 * width, 0.78 * width, 3.6)) if orig_handle.wide else ()
                made = [
                    Line2D([low, high], [middle] * 2, color=BLACK, linewidth=thick, solid_capstyle="butt")
                    for low, high, thick in ends
                ]
                made.append(Line2D([width / 2], [middle], color=BLACK, marker="o", mfc="white", ms=4.4, linewidth=0))
            for each in made:
                each.set_transform(trans)
            return made

    return {Mark: Drawn()}
