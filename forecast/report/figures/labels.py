"""Labels beside points: as many as fit, measured on their boxes, on no data and on no other label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from forecast.base import plot_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
Box = tuple[float, float, float, float]

#: From left to right, and from foot to top, in pixels.

__all__ = ["Band", "Label", "OccupiedAreas", "place_labels"]

#: Points of a page: how far from what it names a label begins, and in which direction; the best first.
_NEAR_POINTS, _FAR_POINTS = 3.0, 8.0
_DIRECTIONS = ((-1, 1), (1, -1), (-1, -1), (1, 1), (-1, 0), (1, 0), (0, 1), (0, -1))
_OFFSETS = [
    (x * far / math.hypot(x, y), y * far / math.hypot(x, y))
    for far in (_NEAR_POINTS, _FAR_POINTS)
    for x, y in _DIRECTIONS
]
#: Pixels between a label and what lies beside it.
_CLEARANCE_PIXELS = 1.5


class Label(NamedTuple):
    """A text, or others in its place, and the places that it may stand beside, in units of the data.

    `over` says what it may lie on where nothing is free: 0 nothing, it is left out then; 1 bands; 2 all but labels.
    """

    texts: Sequence[str]
    beside: Sequence[tuple[float, float]]
    size: float = 6.0
    over: int = 0


class Band(NamedTuple):
    """A band over time, and the line in it."""

    dates: Array
    low: Array
    middle: Array
    high: Array


class OccupiedAreas(NamedTuple):
    """What is drawn, in units of the data: points, (point, 2), bands, and lines across the panel and up through it."""

    points: Array
    bands: Sequence[Band] = ()
    rows: Sequence[float] = ()
    columns: Sequence[float] = ()


def place_labels(axis: Axes, wanted: Sequence[Label], taken: OccupiedAreas, most: int) -> None:
    """Write so many of the labels as fit, the first first.

    The figure must have been laid out: what is measured is where it will be.
    """
    sheet = _LabelCanvas(axis, taken)
    for label in wanted:
        if most and sheet.write(label):
            most -= 1


class _LabelCanvas:
    """A panel in pixels, and what is taken of it."""

    def __init__(self, axis: Axes, taken: OccupiedAreas) -> None:
        self.axis, self.inside = axis, axis.get_window_extent()
        self.boxes: list[Box] = []
        self.points = self._pixels(*taken.points.T)
        self.lines = [self._pixels(band.dates, band.middle) for band in taken.bands]
        self.bands = [(self._pixels(b.dates, b.low), self._pixels(b.dates, b.high)) for b in taken.bands]
        self.rows = [float(self._pixels(axis.get_xlim()[:1], [row])[0, 1]) for row in taken.rows]
        self.columns = [float(self._pixels([column], axis.get_ylim()[:1])[0, 0]) for column in taken.columns]

    def _pixels(self, x: Any, y: Any) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):  # no logarithm: below the panel
            places = self.axis.transData.transform(np.column_stack([x, y]))
        return np.asarray(np.nan_to_num(places, neginf=-1e9, posinf=1e9))

    def write(self, label: Label) -> bool:
        """Write a label at the first place that is free; tell whether there is one."""
        text = self.axis.annotate("", label.beside[0], xytext=(0, 0), textcoords="offset points", fontsize=label.size,
                                  linespacing=1.0)  # fmt: skip
        text.set_in_layout(False)
        sizes = {}
        for told in label.texts:
            text.set_text(told)
            sizes[told] = text.get_window_extent().size
        for over, told, at, (across, up) in product(range(label.over + 1), label.texts, label.beside, _OFFSETS):
            if self._free(box := self._box(at, across, up, *sizes[told]), over):
                text.set_text(told)
                text.xy = at
                text.set_position((across, up))
                text.set_horizontalalignment("right" if across < 0 else "left" if across else "center")
                text.set_verticalalignment("top" if up < 0 else "bottom" if up else "center")
                self.boxes.append(box)
                self._lead(at, (across, up))
                return True
        text.remove()
        return False

    def _box(self, at: tuple[float, float], across: float, up: float, width: float, height: float) -> Box:
        """Return where a text of this size stands that begins so many points of a page away from a place."""
        figure = self.axis.get_figure(root=True)
        assert figure is not None
        x, y = self._pixels(*([each] for each in at))[0] + np.array([across, up]) * figure.dpi / 72
        left = x - (width if across < 0 else 0.0 if across else width / 2)
        foot = y - (height if up < 0 else 0.0 if up else height / 2)
        return (
            left - _CLEARANCE_PIXELS,
            foot - _CLEARANCE_PIXELS,
            left + width + _CLEARANCE_PIXELS,
            foot + height + _CLEARANCE_PIXELS,
        )

    def _lead(self, at: tuple[float, float], to: tuple[float, float]) -> None:
        """Draw a thin line to a label that does not touch what it names."""
        if math.hypot(*to) > _NEAR_POINTS + 1:
            line = {"arrowstyle": "-", "linewidth": 0.4, "color": plot_style.GREY, "shrinkA": 0.0, "shrinkB": 1.2}
            self.axis.annotate("", at, xytext=to, textcoords="offset points", arrowprops=line).set_in_layout(False)

    def _free(self, box: Box, over: int) -> bool:
        """Tell whether nothing lies here that may not."""
        x0, y0, x1, y1 = box
        own = self.inside
        if x0 < own.x0 or x1 > own.x1 or y0 < own.y0 or y1 > own.y1 + _CLEARANCE_PIXELS:
            return False
        if any(x0 < other[2] and other[0] < x1 and y0 < other[3] and other[1] < y1 for other in self.boxes):
            return False
        if any(x0 < column < x1 for column in self.columns):
            return False
        if over > 1:
            return True
        x, y = self.points.T
        if ((x0 < x) & (x < x1) & (y0 < y) & (y < y1)).any() or any(y0 < row < y1 for row in self.rows):
            return False
        drawn = [(line, line) for line in self.lines] + (self.bands if not over else [])
        return not any(_overlaps(low, high, box) for low, high in drawn)


def _overlaps(low: Array, high: Array, box: Box) -> bool:
    """Tell whether a band, or a line where both are one, meets a box."""
    x0, y0, x1, y1 = box
    inner = low[(low[:, 0] > x0) & (low[:, 0] < x1), 0]
    along = np.unique(np.clip([x0, *inner, x1], low[0, 0], low[-1, 0]))
    if along[-1] < x0 or along[0] > x1 or (len(along) < 2 and not x0 < along[0] < x1):
        return False
    below, above = (np.interp(along, edge[:, 0], edge[:, 1]) for edge in (low, high))
    # between two places it may pass from under the box to above it
    least = np.minimum(below[:-1], below[1:]) if len(along) > 1 else below
    most = np.maximum(above[:-1], above[1:]) if len(along) > 1 else above
    return bool(((least < y1) & (most > y0)).any())
