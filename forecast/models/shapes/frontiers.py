"""Frontiers: paths that start at the last record and never fall."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from forecast.base.arrays import Array, accumulate
from forecast.models.protocol import Description, FittedShape
from forecast.models.shapes.around import Around
from forecast.models.shapes.rows import row_gap

if TYPE_CHECKING:
    from forecast.base.streams import Streams

#: A factor beyond e to this leaves what a float can hold once units are converted; such draws stay there, finite.
MAX_LOG_FACTOR = 600.0


#: A series that never goes back is a record from so many dates on, where so many of its steps are none, or its dates
#: are so uneven, by the standard deviation of their distances over the mean: else a yearly total would be one.
MIN_RECORD_DATES, MIN_REPEATS_SHARE, MIN_UNEVENNESS = 5, 0.1, 0.35

#: Paths are drawn at even dates for so many years after the last one, and then at dates ever further apart, by this.
_EVEN, _WIDER = 20.0, 1.05


def record_sign(time: Array, value: Array) -> int:
    """Return 1 for a series that keeps its best so far, -1 where lower is better, and 0 for any other.

    Examples
    --------
    >>> import numpy as np
    >>> dates = np.arange(2000.0, 2006.0)
    >>> record_sign(dates, np.array([9.0, 9.0, 7.0, 7.0, 6.0, 6.0])), record_sign(dates, dates)
    (-1, 0)
    """
    dates, at = np.unique(time, return_inverse=True)
    value = np.bincount(at, value) / np.bincount(at)
    steps, gaps = np.diff(value), np.diff(dates)
    sign = 1 if (steps >= 0).all() else -1 if (steps <= 0).all() else 0
    if not sign or len(dates) < MIN_RECORD_DATES or (steps == 0).all():
        return 0
    uneven = (steps == 0).mean() >= MIN_REPEATS_SHARE or np.std(gaps) >= MIN_UNEVENNESS * np.mean(gaps)
    return sign if uneven else 0


@dataclass(frozen=True, kw_only=True)
class _FrontierShape(Around):
    """A fitted shape whose paths are those of a frontier.

    Parameters
    ----------
    shape : FittedShape
    time, record : ndarray
        Dates, not decreasing, and the highest value observed up to each.
    """

    time: Array
    record: Array

    def describe(self) -> Description:
        """Return the description of the shape, with the assumption of the frontier."""
        description = self.shape.describe()
        return replace(description, assumptions=(*description.assumptions, f"as a frontier it {self._assumed()}"))

    def _assumed(self) -> str:
        raise NotImplementedError

    def _record_at_dates(self, time: Array) -> Array:
        """Return the record that stands at each date, (time, 1); before the first one, that."""
        return np.asarray(self.record[np.maximum(np.searchsorted(self.time, time, side="right") - 1, 0)])[:, None]


@dataclass(frozen=True, kw_only=True)
class Anchored(_FrontierShape):
    """A fitted shape as a frontier: from the last record on it gains as much as the shape, at its highest so far.

    At the last date the record is known, and every draw starts there. Where the record lies off the shape's level (a
    line goes through the middle of its points), the distance is kept: a walk has no other level. A shape that scatters
    about a level says how fast it comes back: the distance is then an autoregression in continuous time (Ornstein and
    Uhlenbeck 1930), whose spread far ahead is the `scatter`. Where a draw falls, the record stands. Before the last
    date the path is the record that stood.

    Parameters
    ----------
    shape : FittedShape
    time, record : ndarray
        Dates, not decreasing, and the highest value observed up to each.
    forgets : float or ndarray
        The rate a year at which the distance from the shape's level, in logs, dies away.
    scatter : float or ndarray
        Standard deviation of that distance, in logs; as the rate, one for all draws or one a draw.
    can_wait : bool
        The shape is of the records themselves, and a walk. A draw whose level lies below the last one stays there, and
        the record stands until the level meets it; only one ahead is moved back, since no row has been there.
    gap : float
        The years between two dates at which its paths are drawn after the last one; between them they are straight in
        logs, so that they are the same at whatever dates they are looked at. Beyond 20 years each is a twentieth longer
        than the one before. 0: at the dates that are asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from forecast.models import shape
    >>> from forecast.streams import Streams
    >>> time, value = np.arange(2000.0, 2006.0), np.array([1.0, 2.0, 2.0, 9.0, 9.0, 30.0])
    >>> fitted = Anchored(shape=shape("trends/exponential").fit(time, value), time=time, record=value)
    >>> drawn = fitted.sample(np.array([2003.5, 2005.0, 2010.0]), Streams(0, "mine", 0))
    >>> np.unique(drawn[:2]).tolist(), bool((drawn[2] >= 30).all())
    ([9.0, 30.0], True)
    """

    forgets: float | Array = 0.0
    scatter: float | Array = 0.0
    can_wait: bool = False
    gap: float = 0.0

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw the frontier; one observation to come is the record that stands then."""
        time = np.asarray(time, dtype=float)
        ahead = (time - self.time[-1]) / self.gap if self.gap else np.zeros(0)
        if (ahead > 0).any():
            n_seen, last = int((ahead <= 0).sum()), self.time[-1]
            knots = _path_steps(ahead[-1], _EVEN / self.gap)
            paths = self._sample_frontier(np.concatenate([time[:n_seen], last + self.gap * knots]), streams)
            gained = np.log(paths[n_seen:] / self.record[-1])  # of a record that stands nothing, without rounding
            low = np.searchsorted(knots, ahead[n_seen:], side="right") - 1
            share = ((ahead[n_seen:] - knots[low]) / (knots[low + 1] - knots[low]))[:, None]
            between = np.minimum(gained[low] + share * (gained[low + 1] - gained[low]), gained[low + 1])
            return np.concatenate([paths[:n_seen], self.record[-1] * np.exp(between)])
        return self._sample_frontier(time, streams)

    def _sample_frontier(self, time: Array, streams: Streams) -> Array:
        """Draw the frontier at these dates."""
        dates, here = self._with_last(time)
        logs = _safe_log(self.shape.sample(dates, streams))
        later = len(time) - here
        noise = streams("distance").standard_normal((later, logs.shape[1])) if np.any(self.scatter) and later else None
        return self._from_record(time, logs, here, noise)

    def central(self, time: Array) -> Array:
        """Return the frontier at the fitted parameters."""
        time = np.asarray(time, dtype=float)
        dates, here = self._with_last(time)
        return self._from_record(time, _safe_log(self.shape.central(dates)[:, None]), here, None)[:, 0]

    def _with_last(self, time: Array) -> tuple[Array, int]:
        """Return the dates with the last one observed among them, and its place: after others of that date."""
        here = int(np.searchsorted(time, self.time[-1], side="right"))
        return np.insert(time, here, self.time[-1]), here

    def _from_record(self, time: Array, logs: Array, here: int, noise: Array | None) -> Array:
        start = float(np.log(self.record[-1]))
        away = start - logs[here]
        away = np.minimum(away, 0.0) if self.can_wait else away
        gained = logs[here + 1 :] + self._distance(time[here:], away, noise) - start
        gained = accumulate(np.maximum, np.maximum(gained, 0.0))
        later = self.record[-1] * np.exp(np.minimum(gained, MAX_LOG_FACTOR))
        stood = np.broadcast_to(self._record_at_dates(time[:here]), (here, logs.shape[1]))
        before = int(np.searchsorted(time[:here], self.time[0]))
        if before:  # nobody observed it: the shape, below the first record
            unseen = accumulate(np.maximum, np.minimum(np.exp(logs[:before]), self.record[0]))
            stood = np.concatenate([unseen, stood[before:]])
        return np.concatenate([stood, later])

    def _distance(self, time: Array, now: Array, noise: Array | None) -> Array:
        """Return the distance from the shape's level at dates after the last one, where it is `now`."""
        decay = np.exp(-np.multiply.outer(np.diff(time, prepend=self.time[-1]), self.forgets))
        out = np.empty((len(time), *now.shape))
        for i, share in enumerate(decay):
            now = share * now
            if noise is not None:
                now = now + self.scatter * (1 - share**2) ** 0.5 * noise[i]
            out[i] = now
        return out

    def _assumed(self) -> str:
        text = (
            f"starts at the last record, {self.record[-1]:.4g}, which stood at {self.time[-1]:.1f}, gains what the "
            "shape gains, and never falls"
        )
        if not self.forgets:
            return text
        return f"{text}; its distance from the level of the shape halves in {math.log(2) / self.forgets:.1f} years"


@dataclass(frozen=True, kw_only=True)
class Raised(_FrontierShape):
    """A fitted shape that offers no anchored form, its draws raised to their running maximum and to the last record."""

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw the shape, and raise what falls."""
        return self._raised(time, self.shape.sample(time, streams))

    def central(self, time: Array) -> Array:
        """Return the shape at the fitted parameters, raised."""
        return self._raised(time, self.shape.central(time)[:, None])[:, 0]

    def _raised(self, time: Array, path: Array) -> Array:
        stood = np.where(np.asarray(time)[:, None] < self.time[0], -np.inf, self._record_at_dates(time))
        return np.asarray(np.maximum(accumulate(np.maximum, path), stood))

    def _assumed(self) -> str:
        return "is raised to its running maximum from the last record on: the shape offers no anchored form"


def frontier(
    shape: FittedShape, time: Array, value: Array, *, of_records: bool = False, inferred: bool = False
) -> FittedShape:
    """Return a fitted shape as a frontier over its observations: anchored, or else raised.

    A frontier that is declared is of something that goes on growing. Rows that merely never went back are `inferred` to
    be one, and a shape that knows of waits says it there.
    """
    order = np.argsort(time, kind="stable")
    dates, record = np.asarray(time, dtype=float)[order], np.maximum.accumulate(np.asarray(value, dtype=float)[order])
    result = shape.as_record(dates, record) if inferred else shape.anchored(dates, record)
    if isinstance(result, Anchored):
        # of a line the distance dies away by itself, and what its level was now tells little of where it goes
        result = replace(result, can_wait=of_records and not np.any(result.forgets), gap=row_gap(dates))
    return result or Raised(shape=shape, time=dates, record=record)


def _path_steps(reach: float, even: float) -> Array:
    """Return the steps at which paths are drawn, from 0 to beyond `reach`: whole ones up to `even`, then wider ones."""
    whole = np.arange(np.ceil(min(reach, even)) + 2)
    if reach <= even:
        return whole
    n = np.ceil(np.log1p((reach - even) * (1 - 1 / _WIDER)) / np.log(_WIDER)) + 1
    return np.concatenate([whole, whole[-1] + np.cumsum(_WIDER ** np.arange(1, n + 1))])


def _safe_log(path: Array) -> Array:
    return np.log(np.maximum(path, np.exp(-MAX_LOG_FACTOR)))
