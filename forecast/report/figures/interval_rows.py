"""Rows of an answer as dots with their 50 and 90 % intervals, in the order of the text; shares as bars beside them."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from forecast.base import plot_style
from forecast.report.brief import Group, Row
from forecast.report.words.number_text import percent, scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MOST", "RANGE", "Aside", "asides", "bars", "dots", "lines_of", "middles", "rows_of", "wrapped"]

#: What the ends of a dotted line are, where rivals have no weights.
RANGE = "lowest and highest median"
#: So many rows are drawn.
MOST = 30
#: How much of the axes of a share the number beside its bar takes.
_NUMBER = 1.2


def rows_of(group: Group) -> list[Row]:
    """Return the rows of a group that have a place on its axis, or failed."""
    return [row for row in group.rows if row.spread is not None or row.text][:MOST]


def lines_of(rows: Sequence[Row], width: int) -> list[str]:
    """Return the rows' labels, their choice before them, in lines of this many characters."""
    told = [f"{row.of}: {row.label}" if row.of else row.label for row in rows]
    return ["\n".join(wrapped(text, width)) for text in told]


def wrapped(text: str, width: int) -> list[str]:
    """Wrap a label into two lines: at a space, or behind the sign between the parts of a long name."""
    parts: list[str] = []
    for word in re.split(r"(?<= )", text):
        parts += re.split(r"(?<=[/.@])", word) if len(word) > width else [word]
    if len(text) <= width:
        return [text]
    for least in range(min(len(text) // 2, width), width + 1):  # as even as can be
        if len(lines := _filled(parts, least)) < 3:
            break
    if len(lines) > 2 and " " not in text:  # the end of a name tells it apart
        return [lines[0] if len(lines[0]) <= width else f"{lines[0][: width - 1]}…", f"…{lines[-1][1 - width :]}"]
    kept = [line if len(line) <= width + 2 else f"{line[: width + 1]}…" for line in lines[:2]]
    return kept if len(lines) < 3 else [kept[0], f"{kept[1].removesuffix('…')[: width - 1]}…"]


def _filled(parts: Sequence[str], width: int) -> list[str]:
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1] + part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return [line.strip() for line in lines]


def dots(axis: Axes, group: Group, *, width: int = 34) -> None:
    """Draw a group: the median as a dot, 50 % as a thick line, 90 % as a thin one, an arrow where it goes on.

    A range of medians, where rivals have no weights, is a line between two ends.
    """
    rows = rows_of(group)
    log = group.log
    factor, unit = (1.0, "") if group.kind == "date" else scale_of(middles(rows), group.unit)
    low, high = _ends(group, rows, factor)
    for place, row in enumerate(rows):
        colour = (
            plot_style.COLOURS[0]
            if row.leads
            else plot_style.BLACK
            if row.of or group.kind != "date"
            else plot_style.COLOURS[1]
        )
        mark = "D" if row.leads else "o" if row.of or group.kind != "date" else "s"
        if row.spread is None:
            axis.text(0.5, place, row.text, transform=axis.get_yaxis_transform(), ha="center", va="center", fontsize=7)
            continue
        ends = [q / factor for q in row.spread.quantiles]
        if row.spread.medians is not None:
            _line(axis, place, ends[0], ends[4], (low, high), colour, 1.3, ":")
            finite = [end for end in (ends[0], ends[4]) if math.isfinite(end)]
            axis.plot(finite, [place] * len(finite), "|", color=colour, ms=6, mew=1.4, label=RANGE)
            continue
        _line(axis, place, ends[0], ends[4], (low, high), colour, 1.1, "-")
        _line(axis, place, ends[1], ends[3], (low, high), colour, 3.6, "-")
        if math.isfinite(ends[2]):
            face = "white" if not row.leads else colour
            axis.plot([ends[2]], [place], mark, color=colour, mfc=face, mew=1.1, ms=4.4, zorder=4, clip_on=False)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_yticks(range(len(rows)), lines_of(rows, width))
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", color="#dddddd", linewidth=0.5)
    axis.spines["left"].set_visible(False)
    _rules(axis, rows)
    if log:
        axis.set_xscale("log")
    axis.set_xlim(low, high)
    if group.kind == "date":
        plot_style.years(axis.xaxis)
    else:
        whole = all(float(q / factor).is_integer() for row in rows if row.spread for q in row.spread.quantiles)
        _label_values(axis, unit, log=log, whole=whole)


def middles(rows: Sequence[Row]) -> list[float]:
    """Return the medians by which the unit of an axis is chosen."""
    return [row.spread.median for row in rows if row.spread is not None and math.isfinite(row.spread.median)] or [1.0]


def _label_values(axis: Axes, unit: str, *, log: bool, whole: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    if log:
        plot_style.spread(axis.xaxis)
    else:
        axis.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=whole))
        axis.xaxis.set_major_formatter(lambda value, _: plot_style.number(value))
    axis.set_xlabel(unit)


def _ends(group: Group, rows: Sequence[Row], factor: float) -> tuple[float, float]:
    """Return the ends of the axis: what the rows need of it."""
    drawn = [row.spread for row in rows if row.spread is not None]
    found = [q / factor for spread in drawn for q in spread.quantiles if math.isfinite(q)]
    if group.kind == "date":
        first, last = group.ends
        least = first + max(0.25 * (last - first) if last - first < 4 else 4.0, 0.0)
        goes_on = any(not math.isfinite(q) for spread in drawn for q in spread.quantiles)
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


def _line(
    axis: Axes, place: int, low: float, high: float, ends: tuple[float, float], colour: str, width: float, line: str
) -> None:
    """Draw an interval; one that goes on beyond the axis ends in an arrow."""
    if math.isnan(low) or math.isnan(high) or not low < math.inf:
        return
    axis.plot([low, min(high, ends[1])], [place, place], line, color=colour, linewidth=width, solid_capstyle="butt")
    if high > ends[1]:
        axis.plot([ends[1]], [place], ">", color=colour, ms=3.6, clip_on=False, zorder=5)


def _rules(axis: Axes, rows: Sequence[Row]) -> None:
    """Draw a thin line between the values of one choice and those of the next."""
    for place, (row, after) in enumerate(itertools.pairwise(rows)):
        if row.of != after.of:
            axis.axhline(place + 0.5, color="#bbbbbb", linewidth=0.5)


class Aside(NamedTuple):
    """Shares of the worlds of each row, drawn as bars beside the dots."""

    name: str
    shares: Sequence[float]
    told: Sequence[str]
    hatch: str = ""


def asides(group: Group) -> list[Aside]:
    """Return the shares of worlds that have no date on the axis, or in which each row is the best."""
    rows = rows_of(group)
    if group.kind != "date":
        return [Aside(group.note, [_share(row.note) for row in rows], [r.note for r in rows])] if group.note else []
    never = [math.nan if row.spread is None else row.spread.never for row in rows]
    both = (("already", [_already(row) for row in rows], ""), ("never", never, "////"))
    return [Aside(n, s, [*map(percent, s)], hatch) for n, s, hatch in both if np.nanmax([0.0, *s]) >= 0.005]


def _already(row: Row) -> float:
    return math.nan if row.spread is None or row.spread.medians is not None else row.spread.already


def _share(note: str) -> float:
    number = note.removeprefix("under ").removeprefix("over ").removesuffix(" %")
    return float(number) / 100 if number.replace(".", "").isdigit() else math.nan


def bars(axis: Axes, aside: Aside, limits: tuple[float, float]) -> None:
    """Draw shares as bars from 0 to 1, each with its number."""
    places, face = np.arange(len(aside.shares)), "white" if aside.hatch else "#999999"
    axis.barh(places, np.nan_to_num(aside.shares), height=0.55, color=face, edgecolor="#666666", linewidth=0.6,
              hatch=aside.hatch)  # fmt: skip
    for place, (share, told) in enumerate(zip(aside.shares, aside.told, strict=True)):
        if not math.isnan(share):
            text = told.replace("under ", "<").replace("over ", ">")
            axis.text(share + 0.08, place, text, fontsize=6.5, va="center", ha="left")
    axis.set(xlim=(0.0, 1.0 + _NUMBER), ylim=limits, xticks=[], yticks=[])
    axis.set_title(aside.name, fontsize=7, loc="left", pad=2)
    axis.spines["bottom"].set_visible(False)
