"""What very many worlds say, in memory that does not grow with them: counts in bins, exact in any order of the blocks.

Levels are counted by the first bits of their floating-point numbers, which are bins of the logarithm; dates in bins of
one width from the first step to the last, for each randomisation of the worlds by itself. Counts add up, so the bins
of two batches of worlds together are those of both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from forecast.base.arrays import AnyArray, Array, IntArray
from forecast.base.sobol import REPLICATES

Keys = IntArray

#: A bin holds the numbers that agree in sign, exponent and this many bits: 64 bins for every doubling.
_MANTISSA_BITS = 6
_DROPPED = 52 - _MANTISSA_BITS
#: The width of a bin as a share of its lower end, at most. A quantile is interpolated in its bin.
BIN_RTOL = 2.0**-_MANTISSA_BITS
#: Bins that are added on either side when a row outgrows its own.
_GROWTH_BINS = 32
#: Bins of dates from the first step to the last.
DATE_BINS = 4096
#: Places of what is counted apart.
_ZERO, _LOWEST, _HIGHEST, _FAILED = range(4)


class _Bins:
    """Counts of positive numbers, a row of bins for each step, each as long as its numbers need."""

    def __init__(self, rows: int, kind: type[np.generic]) -> None:
        self.first, self.width = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
        self.counts: AnyArray = np.zeros(0, dtype=kind)

    @property
    def starts(self) -> Keys:
        """Where each row begins."""
        return np.cumsum(self.width) - self.width

    def cover(self, low: Keys, high: Keys) -> None:
        """Make room for keys from `low` up to `high` in each row; none where low > high."""
        empty, requested = self.width == 0, low <= high
        outside = requested & (empty | (low < self.first) | (high >= self.first + self.width))
        if not outside.any():
            return
        first = np.where(outside, np.where(empty, low, np.minimum(low, self.first)) - _GROWTH_BINS, self.first)
        last = np.where(empty, high, np.maximum(high, self.first + self.width - 1))
        width = np.where(outside, last + _GROWTH_BINS - first + 1, self.width)
        counts, begins = np.zeros(int(width.sum()), dtype=self.counts.dtype), np.cumsum(width) - width
        for row in np.flatnonzero(self.width):
            start, old = self.starts[row], self.width[row]
            place = begins[row] + self.first[row] - first[row]
            counts[place : place + old] = self.counts[start : start + old]
        self.first, self.width, self.counts = first, width, counts

    def add(self, keys: Keys, low: Keys, high: Keys, weights: Array | None) -> None:
        """Count keys, (row, draw), which run from `low` to `high` in each row; `weights` (draw,)."""
        self.cover(low, high)
        keys += (self.starts - self.first)[:, None]
        weighing = None if weights is None else np.broadcast_to(weights, keys.shape).ravel()
        counted = np.bincount(keys.ravel(), weighing, minlength=len(self.counts))
        np.add(self.counts, counted, out=self.counts, casting="unsafe")

    def add_row(self, row: int, keys: Keys, weights: Array | None) -> None:
        """Count keys of one row, (draw,)."""
        low, high = np.ones(len(self.first), dtype=np.int64), np.zeros(len(self.first), dtype=np.int64)
        low[row], high[row] = keys.min(), keys.max()
        self.cover(low, high)
        start, width = self.starts[row], self.width[row]
        counted = np.bincount(keys - self.first[row], weights, minlength=width)
        np.add(self.counts[start : start + width], counted, out=self.counts[start : start + width], casting="unsafe")

    def merge(self, other: _Bins) -> None:
        """Add the counts of other worlds."""
        self.cover(
            np.where(other.width > 0, other.first, 1), np.where(other.width > 0, other.first + other.width - 1, 0)
        )
        for row, (mine, theirs) in enumerate(zip(self.starts, other.starts, strict=True)):
            width = other.width[row]
            place = mine + other.first[row] - self.first[row]
            self.counts[place : place + width] += other.counts[theirs : theirs + width]

    def row(self, row: int) -> tuple[Array, Array, Array]:
        """Return lower ends, upper ends and counts of the bins of a row that hold anything, in rising order."""
        start = self.starts[row]
        counts = self.counts[start : start + self.width[row]].astype(np.float64)
        filled = np.flatnonzero(counts)
        keys = filled + self.first[row]
        return (keys << _DROPPED).view(np.float64), (keys + 1 << _DROPPED).view(np.float64), counts[filled]


class ValueHistogram:
    """How many worlds have which level, step by step; infinite ones, zeros and failed ones are counted apart.

    Parameters
    ----------
    rows : int
        Steps.
    weighted : bool
        Worlds count differently.

    Examples
    --------
    >>> counts = ValueHistogram(1)
    >>> counts.add(np.linspace(1.0, 3.0, 1001)[None])
    >>> counts.quantiles([0.5]).round(2).tolist()
    [[2.0]]
    """

    def __init__(self, rows: int, *, weighted: bool = False) -> None:
        kind = np.float64 if weighted else np.int32
        self.rows, self.weighted = rows, weighted
        self._positive, self._negative = _Bins(rows, kind), _Bins(rows, kind)
        self._apart = np.zeros((rows, 4))
        self._ends = np.array([[np.inf, -np.inf]] * rows).T

    def add(self, values: Array, weights: Array | None = None) -> None:
        """Count levels, (row, draw); NaN is a world that fails. `weights`, (draw,), are not negative."""
        low, high = values.min(axis=1), values.max(axis=1)  # NaN where any is
        if low.min() > 0 and high.max() < np.inf:
            self._reach(low, high)
            keys, first, last = (np.ascontiguousarray(each).view(np.int64) >> _DROPPED for each in (values, low, high))
            self._positive.add(keys, first, last, weights)
            return
        known = ~np.isnan(values)
        self._reach(*(f(values, axis=1, where=known, initial=i) for f, i in ((np.min, np.inf), (np.max, -np.inf))))
        for row, each in enumerate(np.ascontiguousarray(values)):
            self._add_row(row, each, weights)

    def _reach(self, low: Array, high: Array) -> None:
        """Take note of the lowest and the highest level of each row."""
        self._ends = np.array([np.minimum(self._ends[0], low), np.maximum(self._ends[1], high)])

    def _add_row(self, row: int, values: Array, weights: Array | None) -> None:
        weighing = np.ones(len(values)) if weights is None else weights
        apart = ((_ZERO, values == 0), (_LOWEST, np.isneginf(values)), (_HIGHEST, np.isposinf(values)))
        for place, which in (*apart, (_FAILED, np.isnan(values))):
            self._apart[row, place] += weighing[which].sum()
        for bins, sign in ((self._positive, 1.0), (self._negative, -1.0)):
            which = (sign * values > 0) & np.isfinite(values)
            if which.any():
                keys = (sign * values[which]).view(np.int64) >> _DROPPED
                bins.add_row(row, keys, None if weights is None else weights[which])

    def merge(self, other: ValueHistogram) -> None:
        """Add the counts of other worlds."""
        self._positive.merge(other._positive)
        self._negative.merge(other._negative)
        self._apart += other._apart
        self._reach(*other._ends)

    def quantiles(self, levels: Sequence[float]) -> Array:
        """Return quantiles of each row, (level, row), interpolated in their bins; NaN where nothing was counted."""
        out = np.full((len(levels), self.rows), np.nan)
        for row in range(self.rows):
            low, high, counts = self._row(row)
            reached, total = np.cumsum(counts), counts.sum()
            if not total > 0:
                continue
            for i, q in enumerate(levels):
                # worlds that count alike have ranks from 0 to n - 1, each in the middle of its share of the bin
                aim = q * total if self.weighted else q * (total - 1) + 0.5
                place = min(int(np.searchsorted(reached, aim * (1 - 1e-12))), len(counts) - 1)
                share = (aim - (reached[place] - counts[place])) / counts[place]
                ends = low[place], high[place]
                level = ends[0] if ends[0] == ends[1] else ends[0] + (ends[1] - ends[0]) * np.clip(share, 0, 1)
                out[i, row] = np.clip(level, *self._ends[:, row])
        return out

    def _row(self, row: int) -> tuple[Array, Array, Array]:
        """Return the bins of a row from the lowest to the highest: lower ends, upper ends, counts."""
        below, above = self._negative.row(row), self._positive.row(row)
        apart = self._apart[row]
        parts = [
            (np.array([-np.inf]), np.array([-np.inf]), apart[[_LOWEST]]),
            (-below[1][::-1], -below[0][::-1], below[2][::-1]),
            (np.zeros(1), np.zeros(1), apart[[_ZERO]]),
            above,
            (np.array([np.inf]), np.array([np.inf]), apart[[_HIGHEST]]),
        ]
        low, high, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
        filled = counts > 0
        return low[filled], high[filled], counts[filled]

    def shares(self, values: Sequence[float]) -> Array:
        """Return the shares of the first row's worlds that have one of these numbers, whole and below 128."""
        low, _, counts = self._row(0)
        count_of = dict(zip(low.tolist(), counts.tolist(), strict=True))
        total = counts.sum()
        return np.array([count_of.get(float(each), 0.0) / total if total > 0 else np.nan for each in values])

    def clear(self) -> None:
        """Forget everything: what was counted is no answer."""
        self.__init__(self.rows, weighted=self.weighted)  # type: ignore[misc]

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the counts as plain arrays."""
        out: dict[str, NDArray[np.generic]] = {"apart": self._apart, "ends": self._ends}
        for name, bins in (("positive", self._positive), ("negative", self._negative)):
            out |= {f"{name}_first": bins.first, f"{name}_width": bins.width, f"{name}_counts": bins.counts}
        return out

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take the counts from plain arrays."""
        self._apart, self._ends = (np.asarray(arrays[name], dtype=np.float64) for name in ("apart", "ends"))
        for name, bins in (("positive", self._positive), ("negative", self._negative)):
            bins.first, bins.width = (np.asarray(arrays[f"{name}_{part}"]) for part in ("first", "width"))
            bins.counts = np.array(arrays[f"{name}_counts"], dtype=bins.counts.dtype)
            if (bins.width < 0).any() or bins.width.sum() != len(bins.counts):  # they say how much memory is taken
                raise ValueError("counts of bins that there are not")


class DateHistogram:
    """How many worlds reach something when: already at the first step, in which bin of dates, or never.

    Parameters
    ----------
    start, end : float
        The first and the last step, in decimal years.
    by : sequence of float
        Dates by which it is asked how likely it is, in decimal years.
    weighted : bool
        Worlds count differently.

    Examples
    --------
    >>> counts = DateHistogram(2025.0, 2035.0)
    >>> counts.add(np.array([2025.0, 2026.0, 2028.0, np.inf]))
    >>> counts.quantiles([0.25, 0.5, 0.9]).round(2).tolist(), counts.never
    ([2025.0, 2026.0, inf], 0.25)
    """

    def __init__(self, start: float, end: float, by: Sequence[float] = (), *, weighted: bool = False) -> None:
        self.start, self.end, self.by = start, end, tuple(by)
        self._counts: AnyArray = np.zeros((REPLICATES, DATE_BINS), dtype=np.float64 if weighted else np.int32)
        self._apart = np.zeros((REPLICATES, 3))  # already, never, failed
        self._by = np.zeros(len(by))

    def add(self, dates: Array, weights: Array | None = None, *, numbers: NDArray[np.intp] | None = None) -> None:
        """Count dates, (draw,): infinite where never, NaN where a world fails.

        Worlds follow each other from the first one of a block on, or have these `numbers`.
        """
        weighing = np.ones(len(dates)) if weights is None else weights
        which = (np.arange(len(dates)) if numbers is None else numbers) % REPLICATES
        for place, holds in enumerate((dates <= self.start, np.isposinf(dates), np.isnan(dates))):
            self._apart[:, place] += np.bincount(which[holds], weighing[holds], minlength=REPLICATES)
        for place, year in enumerate(self.by):
            self._by[place] += weighing[dates <= year].sum()
        dated = np.isfinite(dates) & (dates > self.start)
        bins = (dates[dated] - self.start) * (DATE_BINS / (self.end - self.start))
        bins = np.minimum(bins.astype(np.intp), DATE_BINS - 1) + which[dated] * DATE_BINS
        counted = np.bincount(bins, None if weights is None else weights[dated], minlength=self._counts.size)
        np.add(self._counts, counted.reshape(self._counts.shape), out=self._counts, casting="unsafe")

    def merge(self, other: DateHistogram, scale: float = 1.0) -> None:
        """Add the counts of other worlds, each of which counts `scale` times."""
        self._counts += other._counts if scale == 1.0 else scale * other._counts
        self._apart += scale * other._apart
        self._by += scale * other._by

    @property
    def total(self) -> float:
        """What all worlds that do not fail count together."""
        return float(self._counts.sum() + self._apart[:, :2].sum())

    @property
    def weight(self) -> float:
        """What all worlds count together, failed ones too."""
        return float(self._counts.sum() + self._apart.sum())

    @property
    def already(self) -> float:
        """The share of the worlds in which it is so at the first step; NaN where there are none."""
        return self._share(float(self._apart[:, 0].sum()))

    @property
    def never(self) -> float:
        """The share in which it is not so by the last step."""
        return self._share(float(self._apart[:, 1].sum()))

    @property
    def reached(self) -> list[float]:
        """The shares in which it is so by each of the dates that are asked about."""
        return [self._share(float(each)) for each in self._by]

    @property
    def failed(self) -> float:
        """What the worlds that fail count together."""
        return float(self._apart[:, 2].sum())

    def _share(self, counted: float) -> float:
        return counted / self.total if self.total > 0 else np.nan

    def quantiles(self, levels: Sequence[float]) -> Array:
        """Return the dates by which these shares have reached it, (level,), infinite inside the never mass."""
        return self._quantiles(self._counts.sum(axis=0), self._apart.sum(axis=0), levels)

    def error(self, levels: Sequence[float]) -> Array:
        """Return the Monte Carlo error of the quantiles in years, from the randomisations, (level,)."""
        each = [self._quantiles(c, a, levels) for c, a in zip(self._counts, self._apart, strict=True)]
        return replicate_error(np.array(each)) + (self.end - self.start) / DATE_BINS

    def _quantiles(self, counts: Array, apart: Array, levels: Sequence[float]) -> Array:
        total = counts.sum() + apart[:2].sum()
        if not total > 0:
            return np.full(len(levels), np.nan)
        filled = np.flatnonzero(counts)
        reached = apart[0] + np.cumsum(counts[filled])
        width, out = (self.end - self.start) / DATE_BINS, []
        for level in levels:
            aim = level * total * (1 - 1e-12)
            place = int(np.searchsorted(reached, aim))
            if aim <= apart[0]:
                out.append(self.start)
            elif place == len(filled):
                out.append(np.inf)
            else:
                share = (aim - (reached[place] - counts[filled[place]])) / counts[filled[place]]
                out.append(self.start + width * (filled[place] + share))
        return np.array(out)

    def clear(self) -> None:
        """Take every world as one that fails: what was counted is no answer."""
        self._apart = np.array([[0.0, 0.0, each] for each in self._counts.sum(axis=1) + self._apart.sum(axis=1)])
        self._counts, self._by = np.zeros_like(self._counts), np.zeros_like(self._by)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the counts as plain arrays."""
        return {"counts": self._counts, "apart": self._apart, "by": self._by}

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take the counts from plain arrays."""
        self._counts = np.array(arrays["counts"], dtype=self._counts.dtype)
        self._apart, self._by = (np.array(arrays[n], dtype=np.float64) for n in ("apart", "by"))


def replicate_error(each: Array) -> Array:
    """Return the standard error of a mean of independent replicates, (replicate, ...); NaN where one is infinite.

    Examples
    --------
    >>> replicate_error(np.array([[1.0], [3.0]])).round(2).tolist()
    [1.0]
    """
    finite = np.isfinite(each).all(axis=0)
    known = np.where(finite, each, 0.0)
    return np.where(finite, known.std(axis=0, ddof=1) / np.sqrt(len(each)), np.nan)
