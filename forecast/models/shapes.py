"""Around a fitted shape: all that is not a wrapper's own is that of the shape.

There are rows to come, whose paths go on from the last row; frontiers, whose paths start at the last record and never
fall; a shape on another scale than that of a level, so that of a share it forecasts the odds; and one of whose
correlated parameters some are fixed, which draws the others conditional on these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from forecast.base.arrays import Array, accumulate
from forecast.models.protocol import Description, FittedShape
from forecast.models.scales import Scale

if TYPE_CHECKING:
    from forecast.base.streams import Streams


@dataclass(frozen=True, kw_only=True)
class Around(FittedShape):
    """A fitted shape around another one, of which it changes the paths; a subclass says how.

    Parameters
    ----------
    shape : FittedShape
    """

    shape: FittedShape

    @property
    def settable(self) -> Mapping[str, str]:  # type: ignore[override]
        """The settable parameters of the shape."""
        return self.shape.settable

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Return the draws of the shape's parameters."""
        return self.shape.posterior(streams)

    def central(self, time: Array) -> Array:
        """Return the shape at the fitted parameters."""
        return self.shape.central(time)

    def with_parameters(self, parameters: Mapping[str, Array]) -> FittedShape:
        """Return the same of the shape with some parameters fixed."""
        return replace(self, shape=self.shape.with_parameters(parameters))

    def given(self, options: Mapping[str, Array]) -> FittedShape:
        """Return the same of the shape with draws of its options."""
        return replace(self, shape=self.shape.given(options))

    def describe(self) -> Description:
        """Return the description of the shape."""
        return self.shape.describe()


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


@dataclass(frozen=True, kw_only=True)
class Conditioned(Around):
    """A fitted shape with some parameters fixed at other values than their draws; the noise keeps its draws.

    Parameters
    ----------
    shape : FittedShape
    fixed : mapping of str to ndarray
        Values of the fixed parameters, (draw,) each.
    """

    fixed: Mapping[str, Array]

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Return the fixed parameters, and draws of the others conditional on them."""
        return self.shape.conditional(self._parameter_draws(streams), self.fixed)

    def _parameter_draws(self, streams: Streams) -> Mapping[str, Array]:
        return streams.once(self.shape, "posterior", lambda: self.shape.posterior(streams))

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Sample the shape, and shift each draw by the change of its logarithmic path under the fixed parameters."""
        time = np.asarray(time, dtype=float)

        def free() -> tuple[Array, Array]:
            path = self.shape.sample(time, streams, observed=observed)
            # clip both paths to the largest float, so that an overflow of one does not separate them
            log_path = np.clip(
                self.shape.log_level(time, self._parameter_draws(streams)), -MAX_LOG_FACTOR, MAX_LOG_FACTOR
            )
            return np.log(path), log_path

        # neither array depends on the fixed parameters, so that runs with other values share them
        draws, log_path = streams.once(self.shape, ("sample", time.tobytes(), observed), free)
        fixed_path = self.shape.log_level(time, self.posterior(streams))
        return np.asarray(np.exp(np.clip(fixed_path + draws - log_path, -MAX_LOG_FACTOR, MAX_LOG_FACTOR)))


def condition_draws(
    draws: Mapping[str, Array], fixed: Mapping[str, Array], names: Sequence[str], covariance: Array
) -> dict[str, Array]:
    """Return draws of parameters if some are fixed: the others move by their regression on these.

    For jointly normal parameters the result has the conditional distribution (Matheron's rule). For a Student t the
    location is conditional, and the scale stays that of the draws.

    Parameters
    ----------
    drawn, fixed : mapping of str to ndarray
        (draw,) each.
    names : sequence of str
        The correlated parameters; all others keep their draws.
    covariance : ndarray
        Covariance of these, in this order; a common factor makes no difference.

    Examples
    --------
    >>> import numpy as np
    >>> drawn = {"level": np.array([1.0, 2.0]), "growth": np.array([0.1, 0.3])}
    >>> covariance = np.array([[9.0, 5.0], [5.0, 10.0]])
    >>> condition_draws(drawn, {"growth": np.array([0.2, 0.2])}, ["level", "growth"], covariance)
    {'level': array([1.05, 1.95]), 'growth': array([0.2, 0.2])}
    """
    conditions = [i for i, name in enumerate(names) if name in fixed]
    rest = [i for i, name in enumerate(names) if name not in fixed]
    out = {**draws, **fixed}
    if conditions and rest:
        # a pseudo-inverse: a parameter without variance shifts nothing
        slope = np.linalg.pinv(covariance[np.ix_(conditions, conditions)]) @ covariance[np.ix_(conditions, rest)]
        deviation = np.stack([fixed[names[i]] - draws[names[i]] for i in conditions])
        out |= {names[i]: draws[names[i]] + shift for i, shift in zip(rest, slope.T @ deviation, strict=True)}
    return out


@dataclass(frozen=True, kw_only=True)
class OnScale(Around):
    """A shape that was fitted to exp(z), z being a series on its scale, and whose draws are carried back.

    Parameters
    ----------
    shape : FittedShape
    scale : Scale

    Examples
    --------
    >>> import numpy as np
    >>> from forecast.models import shape
    >>> from forecast.models.scales import Scale
    >>> from forecast.streams import Streams
    >>> share, time = Scale(kind="share", ceiling=1.0), np.arange(2000.0, 2010.0)
    >>> odds = np.exp(share.to(np.linspace(0.1, 0.9, 10)))
    >>> fitted = OnScale(shape=shape("trends/exponential").fit(time, odds), scale=share)
    >>> bool((fitted.sample(np.array([2050.0]), Streams(0, "mine", 0)) < 1).all())
    True
    """

    scale: Scale

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw the shape, and carry it back."""
        return self._back(self.shape.sample(time, streams, observed=observed))

    def central(self, time: Array) -> Array:
        """Return the shape at the fitted parameters, carried back."""
        return self._back(self.shape.central(time))

    def describe(self) -> Description:
        """Return the description of the shape, which speaks of growth on the scale."""
        description = self.shape.describe()
        what = {"share": "the odds", "percent": "the odds", "level": "what lies above the floor"}
        of = what.get(self.scale.kind, f"exp(z), z being the value on the scale '{self.scale.kind}',")
        return replace(description, summary=f"{of}: {description.summary}")

    def _back(self, level: Array) -> Array:
        return self.scale.back(np.log(level))
