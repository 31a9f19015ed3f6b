"""Rows of an answer as dots with their 50 and 90 % intervals, in the order of the text; shares beside them.

They stand as in a forest plot: what is asked and each choice head the rows under them, and no label is cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from forecast.base import plot_style
from forecast.report.rows import ReportRow, RowGroup
from forecast.report.words.number_text import in_signs, percent, scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What the ends of a dotted line are, where rivals have no weights.
RANGE_LABEL = "lowest and highest median"
#: Points of a page: the size of labels, of a line of them, what is between two rows, and beside a label and a column.
LABEL_POINTS, _LINE, _BETWEEN, _GAP = 7.0, 8.6, 4.0, 8.0
#: Points of a page: what is above a heading besides.
_ABOVE = 3.0
#: What labels take of the width of a panel.
_LABEL_WIDTH_SHARE = 0.4


class ShareColumn(NamedTuple):
    """Shares of the worlds of each row, written in a column beside the dots."""

    name: str
    told: Sequence[str]


class TableLine(NamedTuple):
    """One line of the table: what heads rows, or the label of the row that it has."""

    text: str
    row: ReportRow | None
    place: float  # points from the top to its middle


@dataclass(frozen=True, kw_only=True)
class LabelTable:
    """Labels wrapped into a panel of some width, and the columns of numbers beside it.

    Parameters
    ----------
    lines : tuple of (str, ReportRow or None)
        Headings, and rows with their labels.
    asides : tuple of Aside
        A text for each row.
    width : float
        Of the panel, in points.
    """

    lines: tuple[tuple[str, ReportRow | None], ...]
    asides: tuple[ShareColumn, ...] = ()
    width: float

    @cached_property
    def entries(self) -> tuple[TableLine, ...]:
        """The lines as they stand under one another."""
        result: list[TableLine] = []
        top = 0.0
        for text, row in self.lines:
            wrapped = plot_style.wrap_text(
                text, self.width - 2 * _GAP if row is None else _LABEL_WIDTH_SHARE * self.width, LABEL_POINTS
            )
            height = _LINE * (wrapped.count("\n") + 1) + _BETWEEN
            top += _ABOVE if result and row is None else 0.0
            result.append(TableLine(wrapped, row, top + height / 2))
            top += height
        return tuple(result)

    @property
    def rows(self) -> list[TableLine]:
        """The lines that are rows."""
        return [each for each in self.entries if each.row is not None]

    @property
    def height(self) -> float:
        """Of all lines, in points."""
        last = self.entries[-1]
        return last.place + (_LINE * (last.text.count("\n") + 1) + _BETWEEN) / 2

    @property
    def label_width(self) -> float:
        """Of the widest label of a row, in points."""
        return max((plot_style.text_width(each.text, LABEL_POINTS) for each in self.rows), default=0.0)


def of_group(group: RowGroup, title: str, width: float) -> LabelTable:
    """Return the table of a group under what is asked, in a panel of so many points."""
    return LabelTable(lines=tuple(_table_lines(group.body, title)), asides=tuple(share_columns(group)), width=width)


def _table_lines(rows: Sequence[ReportRow], title: str) -> Iterator[tuple[str, ReportRow | None]]:
    """Walk what heads rows, and the rows: under each choice its values, and other questions by themselves."""
    if title:
        yield title, None
    above = ""
    leads = any(row.leads for row in rows)
    for row in rows:
        heading = row.of or ("other questions" if leads and not row.leads else "")
        if heading and heading != above:
            yield heading, None
        above = heading
        yield row.label, row


def share_columns(group: RowGroup) -> list[ShareColumn]:
    """Return the shares of worlds that have no date on the axis, or in which each row is the best."""
    rows = group.body
    if group.kind != "date":
        name = group.columns[-1]
        return [ShareColumn(name, [in_signs(group.cells(row)[-1]) for row in rows])] if name else []
    never = [math.nan if row.spread is None else row.spread.never for row in rows]
    both = (("already", [_already(row) for row in rows]), (group.columns[2], never))
    return [
        ShareColumn(name, [_share(s) for s in shares]) for name, shares in both if np.nanmax([0.0, *shares]) >= 0.005
    ]


def _already(row: ReportRow) -> float:
    return math.nan if row.spread is None or row.spread.medians is not None else row.spread.already


def _share(share: float) -> str:
    return "" if math.isnan(share) else in_signs(percent(share))


# --- Drawing ----------------------------------------------------------------------------------------------------------


def stand(axis: Axes, table: LabelTable) -> None:
    """Write the labels left of an axis, the headings over it, and the columns of numbers right of it."""
    entries, rows, left = table.entries, table.rows, table.label_width + _GAP
    axis.set_ylim(table.height, 0.0)
    axis.set_yticks([each.place for each in rows], [each.text for each in rows], ha="left", linespacing=1.0)
    axis.tick_params(axis="y", length=0, pad=left, labelsize=LABEL_POINTS)
    axis.spines["left"].set_visible(False)
    axis.grid(axis="x", color="#dddddd", linewidth=0.5)
    across = axis.get_yaxis_transform()
    for entry in entries:
        if entry.row is None:  # what lies under it are the lines of the grid alone
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
            heading = axis.annotate(entry.text, (0.0, entry.place), xycoords=across, xytext=(-left, 0),
                                 textcoords="offset points", ha="left", va="center", fontsize=LABEL_POINTS,
                                 style="italic", linespacing=1.0, bbox=box, annotation_clip=False)  # fmt: skip
            heading.set_in_layout(False)
    right = 0.0
    for aside in table.asides:
        alone = len(table.asides) == 1  # its name may begin above the axis
        right += _GAP + max(
            plot_style.text_width(text, LABEL_POINTS) for text in ((not alone) * aside.name, *aside.told)
        )
        texts = [(aside.name, 1.0, axis.transAxes, 2.0, "bottom")]
        texts += [(text, each.place, across, 0.0, "center") for text, each in zip(aside.told, rows, strict=True)]
        for text, place, by, up, aligned in texts:
            axis.annotate(text, (1.0, place), xycoords=by, xytext=(right, up), textcoords="offset points", ha="right",
                          va=aligned, fontsize=LABEL_POINTS, annotation_clip=False)  # fmt: skip


def plot_group(axis: Axes, group: RowGroup, table: LabelTable) -> None:
    """Draw a group: the median as a dot, 50 % as a thick line, 90 % as a thin one, an arrow where it goes on.

    A range of medians, where rivals have no weights, is a line between two ends.
    """
    rows = group.body
    log = group.log
    factor, unit = (1.0, "") if group.kind == "date" else scale_of(row_medians(rows), group.unit)
    low, high = _axis_limits(group, rows, factor)
    stand(axis, table)
    for entry in table.rows:
        row, place = entry.row, entry.place
        assert row is not None
        other = group.kind == "date" and not row.of and not row.leads
        colour = plot_style.COLOURS[0] if row.leads else plot_style.COLOURS[1] if other else plot_style.BLACK
        mark = "D" if row.leads else "s" if other else "o"
        if row.spread is None:
            axis.text(
                0.5, place, row.cells[0], transform=axis.get_yaxis_transform(), ha="center", va="center", fontsize=7
            )
            continue
        ends = [q / factor for q in row.spread.quantiles]
        if row.spread.medians is not None:
            _plot_interval(axis, place, ends[0], ends[4], (low, high), colour, 1.3, ":")
            finite = [end for end in (ends[0], ends[4]) if math.isfinite(end)]
            axis.plot(finite, [place] * len(finite), "|", color=colour, ms=6, mew=1.4, label=RANGE_LABEL)
            continue
        _plot_interval(axis, place, ends[0], ends[4], (low, high), colour, 1.1, "-")
        _plot_interval(axis, place, ends[1], ends[3], (low, high), colour, 3.6, "-")
        if math.isfinite(ends[2]):
            face = "white" if not row.leads else colour
            axis.plot([ends[2]], [place], mark, color=colour, mfc=face, mew=1.1, ms=4.4, zorder=4, clip_on=False)
    if log:
        axis.set_xscale("log")
    axis.set_xlim(low, high)
    if group.kind == "date":
        plot_style.set_year_ticks(axis.xaxis)
    else:
        whole = all(float(q / factor).is_integer() for row in rows if row.spread for q in row.spread.quantiles)
        _label_values(axis, unit, log=log, whole=whole)


def row_medians(rows: Sequence[ReportRow]) -> list[float]:
    """Return the medians by which the unit of an axis is chosen."""
    return [row.spread.median for row in rows if row.spread is not None and math.isfinite(row.spread.median)] or [1.0]


def _label_values(axis: Axes, unit: str, *, log: bool, whole: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    if log:
        plot_style.set_log_ticks(axis.xaxis)
    else:
        axis.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=whole))
        axis.xaxis.set_major_formatter(lambda value, _: plot_style.format_tick(value))
    axis.set_xlabel(unit)


def _axis_limits(group: RowGroup, rows: Sequence[ReportRow], factor: float) -> tuple[float, float]:
    """Return the ends of the axis: what the rows need of it."""
    spreads = [row.spread for row in rows if row.spread is not None]
    found = [q / factor for spread in spreads for q in spread.quantiles if math.isfinite(q)]
    if group.kind == "date":
        first, last = group.ends
        least = first + max(0.25 * (last - first) if last - first < 4 else 4.0, 0.0)
        goes_on = any(not math.isfinite(q) for spread in spreads for q in spread.quantiles)
        most = max([least, *found])
        room = (0.12 if goes_on else 0.05) * (most - first)
        return first - 0.02 * (most - first), min(last, most + room) + 0.01 * (most - first)
    if not found:
        return 0.0, 1.0
    low, high = min(found), max(found)
    if group.log:
        room = (high / low) ** 0.05
        return low / room, high * room
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room


def _plot_interval(
    axis: Axes, place: float, low: float, high: float, ends: tuple[float, float], colour: str, width: float, line: str
) -> None:
    """Draw an interval; one that goes on beyond the axis ends in an arrow."""
    if math.isnan(low) or math.isnan(high) or not low < math.inf:
        return
    axis.plot([low, min(high, ends[1])], [place, place], line, color=colour, linewidth=width, solid_capstyle="butt")
    if high > ends[1]:
        axis.plot([ends[1]], [place], ">", color=colour, ms=3.6, clip_on=False, zorder=5)
