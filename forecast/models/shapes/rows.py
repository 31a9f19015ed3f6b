"""Rows to come, given the rows that are there: a fitted shape whose paths go on from the last row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from forecast.base.arrays import Array
from forecast.models.protocol import Description
from forecast.models.shapes.around import Around

if TYPE_CHECKING:
    from forecast.base.streams import Streams

#: A series is at most so many times as long as the years between two rows of its paths: more would only cost time.
MAX_ROWS_A_SPAN = 50


def row_gap(time: Array) -> float:
    """Return the years from one row of a path to the next: the mean of the series, from its first date to its last."""
    dates = np.unique(time)
    return float(dates[-1] - dates[0]) / min(len(dates) - 1, MAX_ROWS_A_SPAN)


@dataclass(frozen=True, kw_only=True)
class Rows(Around):
    """A fitted shape whose paths are those of rows: each starts at the last row, and has noise around the level.

    The noise of a row is that of one observation, and new from row to row, `gap` years apart; between two rows it goes
    from one to the other at a constant variance. So a path is the same at whatever dates it is looked at. Up to the
    last row the path is the level.

    Parameters
    ----------
    shape : FittedShape
    last : float
        The date of the last row.
    value : float
    gap : float

    Examples
    --------
    >>> import numpy as np
    >>> from forecast.models import shape
    >>> from forecast.streams import Streams
    >>> time, value = np.arange(2000.0, 2006.0), np.array([1.0, 2.0, 3.0, 9.0, 11.0, 30.0])
    >>> fitted = Rows(shape=shape("trends/exponential").fit(time, value), last=2005.0, value=30.0, gap=1.0)
    >>> bool(np.allclose(fitted.sample(np.array([2005.0]), Streams(0, "mine", 0)), 30.0))
    True
    """

    last: float
    value: float
    gap: float

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw rows to come, whether one observation is asked for or a path."""
        time = np.asarray(time, dtype=float)
        later = np.flatnonzero(time >= self.last)
        level = self.shape.sample(time, streams)
        if not later.size:
            return level
        ahead = (time[later] - self.last) / self.gap
        rows = self.last + self.gap * np.arange(1.0, np.ceil(ahead[-1]) + 2)
        noise = np.log(self.shape.sample(rows, streams, observed=True)) - np.log(self.shape.sample(rows, streams))
        now = np.log(self.value) - np.log(self.shape.sample(np.array([self.last]), streams))
        noise = np.concatenate([now, noise])
        before = ahead.astype(int)
        turn = (np.pi / 2 * (ahead - before))[:, None]
        moved = np.cos(turn) * noise[before] + np.sin(turn) * noise[before + 1]
        level[later] = np.exp(np.log(level[later]) + moved)  # the sum: a level of nearly nothing is far from its row
        return level

    def describe(self) -> Description:
        """Return the description of the shape, with that of a path."""
        description = self.shape.describe()
        said = f"a path goes on from the last row, with new noise every {self.gap:.3g} years"
        return replace(description, assumptions=(*description.assumptions, said))
