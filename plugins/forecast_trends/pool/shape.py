"""The pool of shapes: their medians beside a damped line through the latest points, their spreads recalibrated."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from forecast.errors import FitError
from forecast.models import Anchored, Array, Description, FittedShape, Shape
from forecast_trends.evidence import log_series
from forecast_trends.limits.steps import FittedSteps
from forecast_trends.lines.changepoint import Changepoint
from forecast_trends.lines.line import FittedLine
from forecast_trends.lines.recent_line import DAMPING_SPANS, INDEPENDENT_POINTS, Recent, recent
from forecast_trends.points import LARGEST, cached_fit, growth_facts, said_growth
from forecast_trends.pool.interval_calibration import Calibration, calibration, family_of
from forecast_trends.walks.damped import DampedTrend
from forecast_trends.walks.local_linear import LocalLinear
from forecast_trends.walks.states import FittedStates

if TYPE_CHECKING:
    from forecast.streams import Streams


__all__ = ["Pool"]

#: Share of the recent line in the middle of the pool where it is certain; the shapes share the rest.
_RECENT = 0.75
#: Share of a pool of records in which they come in waits and steps.
_STEPS_SHARE = 0.5
#: The 95 % quantile of a standard normal.
_HALF = 1.6448536269514722
#: Spans ahead at which the line is compared with the shapes; later the last holds.
_AHEAD = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
#: Years ahead that hindcasts reach; beyond them nothing tells that growth goes on dying away.
_TESTED = 10.0
#: What the width of the pool is multiplied by: powers of how far ahead it looks, in spans, over a fifth of one, and of
#: how many points it rests on, over twenty; and a share where the series is a frontier, which never falls. Chosen on
#: the 28 series of 17 families that `tests/evaluation/test_development.py` builds, none of which is shipped, from a
#: coarse grid by the weighted interval score of each over what it was, among settings with which the intervals of every
#: group hold 85 to 97 %. With any one family left out the others choose powers of -.1 to -.2 and of -.1 to -.2, and .6
#: or .7. A change by 30 % moves the mean score by at most 1 % (the share of a frontier: 2 %).
_REACH_POWER, _POINTS_POWER, _FRONTIER = -0.25, -0.15, 0.8
_USUAL_REACH, _USUAL_POINTS, _LEAST_REACH = 0.2, 20.0, 0.05
#: Values that stand for a distribution, and lists of dates for which they are kept.
_VALUES, _GRIDS = 2048, 8
#: A range of log levels, over their size, that is rounding.
_CERTAIN = 1e-12


class Pool(Shape):
    """What did best over many series: several shapes together, recalibrated.

    The middle lies between the mean of the medians of `trends/local-linear`, `trends/damped-trend` and
    `trends/changepoint` and a line through the latest points whose growth dies away over half the span that was seen.
    The line's share is three quarters where it is certain, and falls as its variance grows beside that of the shapes:
    where single points scatter, the latest tell little. It also falls beyond ten years, the longest that hindcasts
    reach, as ten over the years ahead: what the line holds back then stays as it is, and the shapes' growth goes on.
    The pool's quantiles lie around the middle as far as those of the three shapes do around theirs, in the geometric
    mean: one shape that is decades wide does not make the pool so. That distance is then stretched as hindcasts of
    other families of series ask for, of which the outcome was known when this series ended, and the less the fewer they
    are; made wider near and from few points, narrower far ahead, from many and for a frontier; and by what the line and
    the shapes disagree on, as the variance of a mixture is that within and that between its parts.

    Draws keep their ranks over time as the first of the shapes has them.

    Parameters
    ----------
    family : str
        Of the series, in the table ``families.csv`` of this plugin: its own record is left out. Default: that which the
        table says for the name of the series, or none.
    calibrated : bool
        Stretch the spread by the record.

    References
    ----------
    Lichtendahl, K. C., Grushka-Cockayne, Y. & Winkler, R. L. (2013), Is it better to average probabilities or
    quantiles?, Management Science 59(7), 1594-1611.
    Gardner, E. S. & McKenzie, E. (1985), Forecasting trends in time series, Management Science 31(10), 1237-1246.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.arange(2000.0, 2020.0)
    >>> round(Pool().fit(t, 2.0 ** (t - 2000)).describe().facts["doubling_years"], 1)
    1.0
    """

    def __init__(self, family: str = "", calibrated: bool = True) -> None:
        self.family, self.calibrated = family, calibrated

    def beside(self, series: str) -> Shape:
        """Return the pool that leaves out the record of this series' family."""
        return self if self.family else Pool(family=family_of(series), calibrated=self.calibrated)

    @cached_fit
    def fit(self, time: Array, value: Array, *, frontier: bool = False, seed: int = 0) -> FittedShape:
        """Fit every shape that the series is long enough for, and look up the record."""
        when, y = log_series(time, value, frontier=frontier)
        fitted: dict[str, FittedStates | FittedLine] = {}
        for name, shape in (
            ("local-linear", LocalLinear()), ("damped-trend", DampedTrend()), ("changepoint", Changepoint()),
        ):  # fmt: skip
            try:
                fitted[name] = shape.fit(time, value, frontier=frontier, seed=seed)
            except FitError:
                if name == "changepoint":  # three points are enough for a straight line
                    raise
        told = calibration(self.family, before=float(when[-1])) if self.calibrated else Calibration(factor=1.0)
        return FittedPool(fitted=fitted, line=recent(when, y), told=told, points=len(y), frontier=frontier)


def _spread(ordered: Array) -> Array:
    """Return the standard deviation of a normal with the same 90 % interval, of values in order at each date."""
    last = ordered.shape[1] - 1
    low, high = (ordered[:, round(q * last)] for q in (0.05, 0.95))
    return np.asarray((high - low) / 2 / _HALF)


@functools.cache
def _normal_scores() -> Array:
    """Return as many values in order as stand for a distribution, of a standard normal."""
    from scipy.special import ndtri

    return np.asarray(ndtri((np.arange(_VALUES) + 0.5) / _VALUES))


def _middle_of(ordered: Array) -> Array:
    """Return the median of values in order at each date."""
    return np.asarray(ordered[:, (ordered.shape[1] - 1) // 2] + ordered[:, ordered.shape[1] // 2]) / 2


@dataclass(frozen=True, kw_only=True)
class FittedPool(FittedShape):
    """Shapes that have seen the same series.

    Parameters
    ----------
    fitted : mapping of str to FittedShape
        The first says how draws hang together over time.
    line : Recent
    told : Calibration
        What the record of other families asks for.
    points : int
    frontier : bool
        The series never falls: neither does what is said of it.
    """

    fitted: Mapping[str, FittedStates | FittedLine]
    line: Recent
    told: Calibration
    points: int
    frontier: bool = False
    _known: dict[tuple[bytes, bool], tuple[Array, Array]] = field(default_factory=dict, repr=False, compare=False)

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw the first shape, and put each draw where the pool has what is as likely."""
        time = np.asarray(time, dtype=float)
        drawn = np.log(self._first.sample(time, streams, observed=observed))
        first, pooled = self._tables(time, observed)
        middles = _middle_of(first), _middle_of(pooled)
        for i, (here, own, ours) in enumerate(zip(drawn, first, pooled, strict=True)):
            if own[-1] - own[0] <= _CERTAIN * (1 + abs(own[0])):  # its draws are one: chance places them in the pool
                here[:] = np.interp(streams.uniforms("place", 1)[0], np.linspace(0, 1, _VALUES), ours)
                continue
            order = np.argsort(here)  # one after the other they are found in half the time
            moved = np.empty_like(here)
            moved[order] = np.interp(here[order], own, ours)
            for end, out in ((0, here < own[0]), (-1, here > own[-1])):  # as far out as the table's end
                reach = own[end] - middles[0][i]
                stretched = (ours[end] - middles[1][i]) / reach if reach else 1.0
                moved[out] = ours[end] + (here[out] - own[end]) * stretched
            here[:] = moved
        return np.asarray(np.exp(np.clip(drawn, -LARGEST, LARGEST)))

    @property
    def _first(self) -> FittedStates | FittedLine:
        return next(iter(self.fitted.values()))

    def _tables(self, time: Array, observed: bool) -> tuple[Array, Array]:
        """Return log levels of the first shape and of the pool that are as likely, in order: (date, value) each."""
        key = time.tobytes(), observed
        if key not in self._known:
            each = [shape.marginals(time, observed=observed).ordered(_VALUES) for shape in self.fitted.values()]
            if len(self._known) >= _GRIDS:
                self._known.clear()
            self._known[key] = each[0], self._pooled(time, each)
        return self._known[key]

    def _pooled(self, time: Array, each: Sequence[Array]) -> Array:
        """Bring the distributions of the shapes at each date together."""
        middles = [_middle_of(values) for values in each]
        around = np.stack([values - middle[:, None] for values, middle in zip(each, middles, strict=True)])
        with np.errstate(divide="ignore"):
            size = np.exp(np.mean(np.log(np.abs(around)), axis=0))
        factor = np.where(time >= self.line.last, self.told.factor * self.width(time), 1.0)[:, None]
        away, middle = np.sign(around[0]) * size * factor, np.mean(middles, axis=0)
        # what they disagree on is doubt too: the variance of a mixture is that within and that between
        between, spread = self._between(time, middle), _spread(away)
        wider = np.sqrt(1 + between / np.maximum(spread, _CERTAIN) ** 2)
        # where most shapes leave no doubt but rounding, which has no form, what they disagree on is normal
        normal = np.sqrt(between)[:, None] * _normal_scores()
        usual = np.median([_spread(values) for values in each], axis=0)
        certain = (usual <= _CERTAIN * (1 + np.abs(middle)))[:, None]
        return np.asarray(self._middle(time, middle)[:, None] + np.where(certain, normal, away * wider[:, None]))

    def width(self, time: Array) -> Array:
        """Return what the width is multiplied by, apart from what the record of other series asks for.

        Doubt of shapes grows too fast with the years ahead, and is too small from few points and too large of
        frontiers. Beyond the years that hindcasts reach nothing tells, and the shapes' own width takes over, as their
        growth does.
        """
        ahead = np.maximum(np.asarray(time, dtype=float) - self.line.last, 0.0)
        reach = np.maximum(ahead * DAMPING_SPANS / self.line.lasting, _LEAST_REACH) / _USUAL_REACH
        width = reach**_REACH_POWER * (max(self.points, INDEPENDENT_POINTS) / _USUAL_POINTS) ** _POINTS_POWER
        width = width * (_FRONTIER if self.frontier else 1.0)
        return np.asarray(1.0 + (width - 1.0) * np.minimum(1.0, _TESTED / np.maximum(ahead, _TESTED)))

    def _middle(self, time: Array, shapes: Array) -> Array:
        """Return the middle in logs: before the last observation that of the shapes alone."""
        share = self._share(time)
        both = (1 - share) * shapes + share * self.line.at(time)
        return np.where(time >= self.line.last, both, shapes)

    def _between(self, time: Array, shapes: Array) -> Array:
        """Return the variance between the line and the shapes, in logs; none before the last observation."""
        share = self._share(time)
        return np.where(time >= self.line.last, share * (1 - share) * (self.line.at(time) - shapes) ** 2, 0.0)

    def _share(self, time: Array) -> Array:
        """Return the share of the line: beyond the years that hindcasts reach, the shapes' growth takes over."""
        return np.interp(time, *self._shares) * np.minimum(1.0, _TESTED / np.maximum(time - self.line.last, _TESTED))

    @functools.cached_property
    def _shares(self) -> tuple[Array, Array]:
        """Dates ahead, and the share of the line at each: the same for draws of the level and of observations."""
        time = self.line.last + self.line.lasting / DAMPING_SPANS * np.array(_AHEAD)
        each = [_spread(shape.marginals(time, observed=True).ordered(_VALUES)) for shape in self.fitted.values()]
        spread = np.exp(np.mean(np.log(np.maximum(each, 1e-12)), axis=0)) ** 2
        return time, _RECENT * spread / (spread + self.line.variance(time) + 1e-24)

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Return the log level at the last observation, and the growth in the year after it."""
        level, later = np.log(self.sample(self.line.last + np.array([0.0, 1.0]), streams))
        return {"log_level": level, "growth": later - level}

    @property
    def settable(self) -> Mapping[str, str]:  # type: ignore[override]
        """Level at the last observation, and growth in the year after it."""
        return {"log_level": "", "growth": "1/year"}

    def log_level(self, time: Array, parameters: Mapping[str, Array]) -> Array:
        """Return what level and growth add after the last observation, as the pool carries growth on."""

        def carried(time: Array) -> Array:
            one = {"log_level": np.zeros(1), "growth": np.ones(1)}
            ahead = np.maximum(time - self.line.last, 0.0)
            each = [
                s.log_level(time, one)[:, 0] if isinstance(s, FittedStates) else ahead for s in self.fitted.values()
            ]
            share = self._share(time)
            return (1 - share) * np.mean(each, axis=0) + share * self.line.carried(time)

        time = np.asarray(time, dtype=float)
        gained = carried(time) / carried(np.array([self.line.last + 1.0]))
        later = np.where(time >= self.line.last, 1.0, 0.0)
        level, growth = parameters["log_level"], parameters["growth"]
        return np.asarray(later[:, None] * (level + gained[:, None] * growth))

    def central(self, time: Array) -> Array:
        """Return the middle of the shapes' central paths and the line."""
        time = np.asarray(time, dtype=float)
        shapes = np.mean([np.log(shape.central(time)) for shape in self.fitted.values()], axis=0)
        return np.asarray(np.exp(self._middle(time, shapes)))

    def anchored(self, time: Array, record: Array) -> FittedShape:
        """Return the same from the last record on: it gains what the pool gains."""
        return Anchored(shape=self, time=time, record=record)

    def as_record(self, time: Array, record: Array) -> FittedShape:
        """Return it beside waits and steps: half of the draws gain what the pool gains, half wait for a record."""
        steps = FittedSteps(time=time, y=np.log(record))
        return PoolOfRecords(shape=self, time=time, record=record, steps=steps)

    def describe(self) -> Description:
        """Say the growth of the next year, the pooled shapes, and the calibration by the track record."""
        facts = self._growth
        names = ", ".join(self.fitted)
        return Description(
            summary=(
                f"{said_growth(facts, 'now ')} from {self.points} points, as {names} and the latest points have it; "
                f"{self.told.said()}"
            ),
            assumptions=(
                f"the middle lies between the mean of {names} and a line through the latest points, whose share is "
                f"{float(self._share(np.array(self.line.last + _TESTED))):.0%} ten years ahead and falls from there on",
                f"the line's growth dies away over {self.line.lasting:.3g} years, half the span that was seen",
                "the interval is as wide as forecasts of other series have had to be",
            ),
            sources=(
                "Lichtendahl, Grushka-Cockayne & Winkler (2013), Management Science 59(7), 1594-1611",
                "Gardner & McKenzie (1985), Management Science 31(10), 1237-1246",
            ),
            facts=dict(facts),
        )

    @functools.cached_property
    def _growth(self) -> dict[str, float]:

        from forecast.streams import Streams

        drawn = self.posterior(Streams(seed=0, node="growth", block=0))["growth"]
        drawn = np.maximum(drawn, 0.0) if self.frontier else drawn
        low, middle, high = (float(q) for q in np.quantile(drawn, [0.05, 0.5, 0.95]))
        return growth_facts(middle, low, high) | {"n": float(self.points), "spread": self.told.factor}


@dataclass(frozen=True, kw_only=True)
class PoolOfRecords(Anchored):
    """The pool as a frontier, beside the records as waits and steps: each draw is of one of the two.

    Parameters
    ----------
    steps : FittedSteps
    """

    steps: FittedSteps

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw both, and of each world take one."""
        trend = super().sample(time, streams, observed=observed)
        waits = self.steps.sample(time, streams)
        return np.where(streams.uniforms("member", 1)[0] < _STEPS_SHARE, waits, trend)

    def _assumed(self) -> str:
        return f"{super()._assumed()}; in half of the worlds: {self.steps.describe().summary}"
