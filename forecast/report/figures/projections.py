"""The figure of a projection: its answers, the trajectories behind them, and what moves them."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast.base import plot_style
from forecast.base.plot_style import BLACK, COLOURS, GREY
from forecast.errors import UsageError, printable
from forecast.projection.result import AnswerDistribution, DateAnswer, FirstAnswer, Projection, ValueAnswer
from forecast.report.brief import Group, Row, brief
from forecast.report.figures import fan_chart, interval_rows, tornado
from forecast.report.headline import Words, event, headline, value_title
from forecast.report.words.date_text import as_text
from forecast.report.words.number_text import percent, scale_of
from forecast.report.words.patterns import fill

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["compose", "plot"]

#: Inches: of a row of dots, of what stands around them, and of a panel of trajectories.
_ROW, _AROUND, _FAN = 0.17, 0.62, 1.75
_TITLE, _LEGEND = 0.17, 0.17
#: Lines of the sentence.
_SENTENCE = {"one": 8, "two": 4}
#: Inches: where a heading begins, behind the letter of its part.
_HEADING = 0.2
#: So many panels of trajectories, and of them beside one another.
_MOST = {"one": (3, 1), "two": (6, 3)}
#: Characters of a row's label.
_LABEL = {"one": 20, "two": 44}
#: A bar that is shorter, as a share of its axis, has its text beside it.
_SHORT = 0.3
#: Inches: of the bars beside a panel.
_BESIDE = 0.72
#: Characters of the title, of the heading of a part, and of the sentence.
_ACROSS = {"one": (40, 46, 54), "two": (84, 100, 120)}


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One piece of the figure, over its whole width, or a half.

    Parameters
    ----------
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

    height: float
    draw: Callable[[SubFigure], list[Axes]]
    half: bool = False
    marks: str = ""
    label: Callable[[], None] | None = None


def plot(run: Projection, path: str | os.PathLike[str], *, width: str = "two") -> Path:
    """Draw a projection into a file.

    The answers first, as dots with their intervals in the order of the text, *already* and *never* as bars beside them;
    then the trajectories of what the first question is about, cut to what it needs, a panel for each of its
    definitions; and what moves the answer. One legend says once what all of them share.

    Parameters
    ----------
    run : Projection
    path : path-like
        Ends in ``.svg``, ``.png`` or ``.pdf``.
    width : {"two", "one"}
        Columns of a page: 7.2 inches, or 3.5.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    UsageError
        For another ending.
    """
    plot_style.check_format(path)
    with plot_style.style():
        return plot_style.write(compose(run, width=width), path)


def compose(run: Projection, *, width: str = "two") -> Figure:
    """Return the figure of a projection, under `forecast.base.plot_style.style`."""
    if width not in plot_style.WIDTHS:
        raise UsageError(f"width: expected one of {', '.join(plot_style.WIDTHS)}, got '{printable(width, 40)}'")
    parts = _parts(run, width)
    if not parts:
        raise UsageError("nothing to draw: a regime has no level")
    rows = _in_rows(parts, width)
    title = textwrap.wrap(printable(run.title or run.scenario, 200), _ACROSS[width][0]) or [""]
    sentence = textwrap.wrap(headline(run), _ACROSS[width][2], max_lines=_SENTENCE[width], placeholder=" …")
    head = _TITLE * (len(title) + 0.85 * len(sentence)) + 0.16
    heights = [head, *(max(part.height for part in row) for row in rows), _LEGEND]
    figure = plot_style.sheet(plot_style.WIDTHS[width], sum(heights))
    grid = figure.add_gridspec(len(heights), 1, height_ratios=heights)
    pieces = [figure.add_subfigure(grid[place]) for place in range(len(heights))]
    left = 0.05 / plot_style.WIDTHS[width]
    pieces[0].text(left, 1 - 0.05 / head, "\n".join(title), fontsize=9, weight="bold", va="top")
    pieces[0].text(left, 1 - (0.1 + _TITLE * len(title)) / head, "\n".join(sentence), fontsize=7.5, va="top")
    drawn: list[Axes] = []
    letter = iter("abcdefghijklmnopqrstuvwxyz")
    for piece, row in zip(pieces[1:-1], rows, strict=True):
        cells = piece.subfigures(1, len(row), squeeze=False).ravel() if len(row) > 1 else [piece]
        for cell, part in zip(cells, row, strict=True):
            drawn += part.draw(cell)
            if len(parts) > 1:
                cell.text(0.004 if cell is piece else 0.008, 0.995, next(letter), fontsize=9, weight="bold", va="top")
    heights[-1] = _LEGEND * _legend(pieces[-1], drawn, {part.marks for part in parts}, width) + 0.1
    grid.set_height_ratios(heights)
    figure.set_size_inches(plot_style.WIDTHS[width], sum(heights))
    if labels := [part.label for part in parts if part.label is not None]:
        figure.draw_without_rendering()
        for label in labels:
            label()
    return figure


def _in_rows(parts: Sequence[Panel], width: str) -> list[list[Panel]]:
    """Put halves beside one another."""
    rows: list[list[Panel]] = []
    for part in parts:
        beside = rows and width == "two" and part.half and len(rows[-1]) == 1 and rows[-1][0].half
        if beside:
            rows[-1].append(part)
        else:
            rows.append([part])
    return rows


def _parts(run: Projection, width: str) -> list[Panel]:
    opening, words = run.opening, Words(run)
    drawn = [group for group in brief(run).groups if group.kind != "text" and interval_rows.rows_of(group)]
    parts = [_group(group, width, title=_called(run, words, group)) for group in drawn]
    parts += _winners(run, words, width)
    if isinstance(opening, FirstAnswer):
        parts = [*_races(run, words, width), *parts]
    most, across = _MOST[width]
    if isinstance(opening, (DateAnswer, ValueAnswer)):
        parts += _trajectories(fan_chart.fans(opening, most), across, half=True)
    if isinstance(opening, DateAnswer) and (moved := tornado.tornado(run, opening.name)) is not None:
        beside = width == "one" or (bool(parts) and parts[-1].half)
        parts.append(_tornado(moved, width, alone=not beside))
    if not parts:
        names = [name for name in run.shown or () if name in run.numeric] or run.numeric
        over = fan_chart.lines_over_time(run, names, most)
        parts = _trajectories(over, across, half=False) or [
            _group(group, width, title=_at(run, group)) for group in _at_the_end(run, words, names)
        ]
    return parts


def _called(run: Projection, words: Words, group: Group) -> str:
    """Say what the dots of a group are about."""
    opening = run.opening
    if group.kind == "date":
        return event(opening if isinstance(opening, DateAnswer) else run.dates[0], {}, words)
    if group.title:
        return group.title
    heading = next((row.label for row in group.rows if row.spread is None and not row.text), "")
    if heading:
        return heading.removesuffix(f" [{scale_of(interval_rows.middles(group.rows), group.unit)[1]}]")
    assert isinstance(opening, ValueAnswer)
    return value_title(opening, {}, words)


def _group(group: Group, width: str, *, title: str = "") -> Panel:
    heading = textwrap.wrap(title, _ACROSS[width][1], max_lines=2, placeholder=" …")
    rows = interval_rows.rows_of(group)
    label = min(_LABEL[width], max(len(f"{row.of}: {row.label}") for row in rows))
    row = _ROW * (1.4 if any("\n" in text for text in interval_rows.lines_of(rows, label)) else 1.0)
    height = row * max(len(rows), 2) + _AROUND + _TITLE * len(heading)

    def draw(piece: SubFigure) -> list[Axes]:
        axis, *beside = _with_bars(piece, interval_rows.asides(group), plot_style.WIDTHS[width])
        interval_rows.dots(axis, group, width=label)
        for each, shares in zip(beside, interval_rows.asides(group), strict=True):
            interval_rows.bars(each, shares, axis.get_ylim())
        if heading:
            piece.suptitle("\n".join(heading), fontsize=8, x=_HEADING / plot_style.WIDTHS[width], ha="left")
        return [axis]

    return Panel(height=height, draw=draw, marks=_marks(rows))


def _marks(rows: Sequence[Row]) -> str:
    """Tell whether there are intervals, ranges of medians, or mere points to be explained."""
    spreads = [row.spread for row in rows if row.spread is not None]
    if all(s.medians is not None for s in spreads):
        return "ranges"
    wide = any(s.medians is None and s.quantiles[0] < s.quantiles[4] for s in spreads)
    return "dots" if wide else "points"


def _with_bars(piece: SubFigure, asides: Sequence[interval_rows.Aside], inches: float) -> list[Axes]:
    """Return axes for a panel, and narrow ones beside it; what they show is no part of its data."""
    ratios = [inches - _BESIDE * (len(asides) + 1), *[_BESIDE] * len(asides)]
    return list(piece.subplots(1, len(ratios), squeeze=False, width_ratios=ratios).ravel())


def _trajectories(made: Sequence[fan_chart.Fan], across: int, *, half: bool) -> list[Panel]:
    if not made:
        return []
    across = min(across, len(made))
    down = -(-len(made) // across)
    shared = half and len({fan.unit for fan in made}) == 1
    labels: list[Callable[[], None]] = []

    def label() -> None:
        for each in labels:
            each()

    def draw(piece: SubFigure) -> list[Axes]:
        axes = piece.subplots(down, across, squeeze=False, sharex=True, sharey=shared).ravel()
        spans = [fan.span for fan in made]
        span = (min(s[0] for s in spans), max(s[1] for s in spans))
        windows = [fan.window(span) for fan in made]
        if shared:
            log = all(w[2] for w in windows)
            low, high = min(w[0] for w in windows), max(w[1] for w in windows)
            windows = [(low, high, log)] * len(made) if log or not any(w[2] for w in windows) else windows
        for place, (axis, fan) in enumerate(zip(axes, made, strict=False)):
            labels.append(fan_chart.draw(axis, fan, span=span, window=windows[place]))
            if shared and place % across:
                axis.set_ylabel("")
        for place, axis in enumerate(axes[len(made) :], len(made)):
            axis.remove()
            axes[place - across].tick_params(labelbottom=True)
        return list(axes[: len(made)])

    marks = "bands" if any(fan.spreads for fan in made) else ""
    return [Panel(height=_FAN * down + 0.15, draw=draw, half=half and len(made) == 1, marks=marks, label=label)]


def _tornado(made: tornado.Tornado, width: str, *, alone: bool) -> Panel:
    def draw(piece: SubFigure) -> list[Axes]:
        axis, beside = _with_bars(piece, [made.aside], plot_style.WIDTHS[width] / (1 if alone or width == "one" else 2))
        tornado.draw(axis, made, width=36 if alone else 18)
        interval_rows.bars(beside, made.aside, axis.get_ylim())
        return [axis]

    return Panel(height=0.26 * len(made.labels) + 0.85, draw=draw, half=True)


# --- Shares -----------------------------------------------------------------------------------------------------------


def _winners(run: Projection, words: Words, width: str) -> list[Panel]:
    """Plot a ranking in many combinations of choices: who is best in each, and how often."""
    parts = []
    for answer in run.rankings:
        if len(answer.table) < 3:
            continue
        told = [
            (words.given(row.choices), *((words(row.best.name), row.best.first) if row.best else ("none", 0.0)))
            for row in answer.table
        ]
        parts.append(_shares(told, words.title(answer.title or answer.text, {}), "best in", width))
    return parts


def _races(run: Projection, words: Words, width: str) -> list[Panel]:
    """Draw how likely each event is the first, as the sentence says it; a range is drawn up to its middle."""
    parts = []
    for answer in run.firsts[:3]:
        if (row := answer.sentence_row) is not None:
            order = sorted(row.first.items(), key=lambda item: -sum(item[1]))
            ends = [(words(event), each) for event, each in order] + [(fill("none_of_them"), row.none)]
            told = [(label, "", (low + high) / 2) for label, (low, high) in ends]
            given = words.given(row.choices)
            title = words.title(answer.title or "what comes first", row.choices)
            parts.append(_shares(told, f"{title}{f' ({given})' if given else ''}", "share of worlds", width))
    return parts


def _shares(told: Sequence[tuple[str, str, float]], title: str, axis_title: str, width: str) -> Panel:
    told = told[: interval_rows.MOST]
    heading = textwrap.wrap(title, _ACROSS[width][1], max_lines=2, placeholder=" …")
    labels = interval_rows.lines_of([Row(label=label, spread=None, text="") for label, _, _ in told], _LABEL[width])
    lines = sum(label.count("\n") + 1 for label in labels)

    def draw(piece: SubFigure) -> list[Axes]:
        axis = piece.subplots()
        axis.barh(range(len(told)), [share for *_, share in told], height=0.62, color="#a9cbe2", edgecolor=COLOURS[0],
                  linewidth=0.6)  # fmt: skip
        for place, (_, name, share) in enumerate(told):
            text = f"{name}, {percent(share)}" if name else percent(share)
            beside = share if share < _SHORT else 0.0  # a short bar holds no text
            axis.text(beside + 0.012, place, text, fontsize=7, va="center", ha="left", color=BLACK)
        axis.set_yticks(range(len(told)), labels)
        axis.set(xlim=(0.0, 1.0), ylim=(len(told) - 0.4, -0.6), xlabel=axis_title)
        axis.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
        axis.tick_params(axis="y", length=0)
        piece.suptitle("\n".join(heading), fontsize=8, x=_HEADING / plot_style.WIDTHS[width], ha="left")
        return [axis]

    return Panel(height=_ROW * max(lines, 2) + _AROUND + 0.15 + _TITLE * len(heading), draw=draw)


# --- Scenarios without a question -------------------------------------------------------------------------------------


def _at_the_end(run: Projection, words: Words, names: Sequence[str]) -> list[Group]:
    """Return the quantities at the last date, those of one unit on one axis."""
    by_unit: dict[str, list[Row]] = {}
    for quantity in (run.quantities[name] for name in names):
        for cell in quantity.cells:
            last: Any = quantity.quantiles(cell)[:, -1]
            if last.size and last[0] == last[0]:
                label = ", ".join([words(quantity.name), *map(words, cell.values())])
                five = tuple(float(level) for level in last)
                row = Row(label=label, spread=AnswerDistribution(quantiles=five), text="-")  # type: ignore[arg-type]
                by_unit.setdefault(quantity.unit, []).append(row)
    return [_on_one_axis(rows, unit) for unit, rows in by_unit.items()]


def _at(run: Projection, group: Group) -> str:
    _, unit = scale_of(interval_rows.middles(group.rows), group.unit)
    return f"{unit or 'no unit'}, {as_text(run.span[1])}"


def _on_one_axis(rows: Sequence[Row], unit: str) -> Group:
    ends = [row.spread.quantiles[i] for row in rows if row.spread is not None for i in (0, 4)]
    log = min(ends) > 0 and max(ends) > 10 * min(ends)
    return Group(rows=tuple(rows), kind="value", unit=unit, ends=(min(ends), max(ends)), log=log)


# --- The legend -------------------------------------------------------------------------------------------------------


def _legend(piece: SubFigure, axes: Sequence[Axes], marks: set[str], width: str) -> int:
    """Say once what the panels share, in so many rows as are returned."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    named: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    handles: list[Any] = []
    if marks & {"dots", "points"}:
        handles.append(Line2D([], [], color=BLACK, marker="o", mfc="white", ms=4.4, linewidth=0, label="median"))
    if "dots" in marks:
        handles += [
            Line2D([], [], color=BLACK, linewidth=3.6, label="50 % of worlds"),
            Line2D([], [], color=BLACK, linewidth=1.1, label="90 % of worlds"),
        ]
    if "bands" in marks:
        handles += [
            Patch(color=GREY, alpha=0.6, linewidth=0, label="50 % band"),
            Patch(color=GREY, alpha=0.3, linewidth=0, label="90 % band"),
        ]
    handles += named.values()
    rows = -(-len(handles) // (5 if width == "two" else 2))
    across = -(-len(handles) // max(rows, 1))
    if handles:
        piece.legend(handles=handles, loc="center", ncols=across, handlelength=1.8, columnspacing=1.3)
    return rows
