"""A record as a record: waits for the next one, and by how much it is better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from forecast.errors import FitError
from forecast.models import Array, Description, FittedShape, Shape
from forecast_trends.evidence import first_of_each_record, log_series
from forecast_trends.points import LARGEST

if TYPE_CHECKING:
    from forecast.streams import Streams


__all__ = ["FittedSteps", "Steps"]

#: The weight of a year in the rate of records halves in so many spans: how fast they come changes.
_RATE_HALF_LIFE_SPANS = 0.35
#: The prior on the rate: so many records in so many spans. These and what follows were chosen on records of benchmarks,
#: leaderboards and athletics that are not shipped; what the docs say of such series is of the same ones.
_PRIOR_RECORDS, _PRIOR_SPANS = 0.65, 0.225
#: The rate falls as a power of the years ahead, in spans: records of independent trials do as their first power.
_RATE_POWER, _RATE_POWER_SD = 1.0, 0.4
#: Steps shrink as such a power.
_STEP_POWER, _STEP_POWER_SD = 0.6, 0.2
#: The weight of a step halves in so many records; so many steps' worth of their plain mean stand beside them.
_STEP_HALF_LIFE, _STEP_PRIOR = 15.0, 3.0
#: The standard deviation of the logarithm of a step before any is seen, and how many steps that counts for.
_STEP_SD, _STEP_SD_COUNT = 0.45, 7.8
#: A step is never larger than so many times the largest seen.
_LARGEST_STEP = 1.5
#: Records to come that are drawn.
_MAX_RECORDS = 80


class Steps(Shape):
    """A running maximum that waits for its next record: the wait and the step are drawn, both the longer nothing came.

    Records come at a rate. What it is now is a Gamma, to which recent years count more, those since the last record
    among them: a long wait lowers it. From there it falls as a power of the years ahead, with a mean of one, as that of
    records of independent trials does. A step is log-normal, and steps shrink as a power, too. Both rest on the time
    that was seen.

    References
    ----------
    Glick, N. (1978), Breaking records and breaking boards, The American Mathematical Monthly 85(1), 2-26.

    Examples
    --------
    >>> import numpy as np
    >>> from forecast.streams import Streams
    >>> time, value = np.arange(2000.0, 2008.0), np.array([1.0, 1.0, 2.0, 3.0, 3.0, 4.0, 4.0, 4.0])
    >>> drawn = Steps().fit(time, value).sample(np.array([2008.0, 2020.0]), Streams(0, "mine", 0))
    >>> bool((np.diff(drawn, axis=0) >= 0).all()), bool((drawn[0] == 4.0).mean() > 0.5)
    (True, True)
    """

    def fit(self, time: Array, value: Array, *, frontier: bool = False, seed: int = 0) -> FittedShape:
        """Take the records of the series, and the dates at which each of them stood."""
        time, y = log_series(time, value, frontier=frontier)
        fitted = FittedSteps(time=time, y=np.maximum.accumulate(y))
        if not len(fitted.steps):
            raise FitError("no record was broken: there is no step to learn from")
        return fitted


@dataclass(frozen=True, kw_only=True)
class FittedSteps(FittedShape):
    """The records of a series.

    Parameters
    ----------
    time, y : ndarray
        Dates, not decreasing, and the log of the record that stood at each.
    """

    time: Array
    y: Array

    @cached_property
    def _dates(self) -> Array:
        """The date of each record."""
        return self.time[first_of_each_record(self.y)]

    @cached_property
    def steps(self) -> Array:
        """What each record after the first was better by, in logs."""
        return np.diff(self.y[first_of_each_record(self.y)])

    @property
    def _span(self) -> float:
        return float(self.time[-1] - self.time[0])

    @cached_property
    def _rate(self) -> tuple[float, float]:
        """The Gamma of the rate now: records, and years."""
        half_life = _RATE_HALF_LIFE_SPANS * self._span
        exposure = half_life / math.log(2) * -math.expm1(-math.log(2) / _RATE_HALF_LIFE_SPANS)
        records = np.sum(0.5 ** ((self.time[-1] - self._dates[1:]) / half_life))
        return _PRIOR_RECORDS + float(records), _PRIOR_SPANS * self._span + exposure

    @cached_property
    def _step(self) -> tuple[float, float, float]:
        """The logarithm of a step: its mean and variance, and the independent steps behind them."""
        weight = 0.5 ** (np.arange(len(self.steps))[::-1] / _STEP_HALF_LIFE)
        logs, count = np.log(self.steps), float(weight.sum() ** 2 / np.sum(weight**2))
        mean = (count * np.average(logs, weights=weight) + _STEP_PRIOR * logs.mean()) / (count + _STEP_PRIOR)
        squares = count * np.average((logs - mean) ** 2, weights=weight)
        return float(mean), float(squares + _STEP_SD_COUNT * _STEP_SD**2) / (count + _STEP_SD_COUNT), count

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Draw the rate of records a year, the log of a step and its scatter, and the powers with which both fall."""
        from scipy.special import gammaincinv, ndtri

        uniforms = streams.uniforms("parameters", 5)
        records, years = self._rate
        mean, variance, count = self._step
        dof = count + _STEP_SD_COUNT
        scatter = np.sqrt(variance * dof / (2 * gammaincinv(dof / 2, uniforms[1])))
        return {
            "rate": gammaincinv(records, uniforms[0]) / years,
            "scatter": scatter,
            "log_step": mean + scatter / math.sqrt(count + _STEP_PRIOR) * ndtri(uniforms[2]),
            "rate_power": _RATE_POWER + _RATE_POWER_SD * ndtri(uniforms[3]),
            "step_power": _STEP_POWER + _STEP_POWER_SD * ndtri(uniforms[4]),
        }

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw the best so far; up to the last date, the record that stood."""
        time = np.asarray(time, dtype=float)
        drawn, rng, span = self.posterior(streams), streams("noise"), self._span
        waits = np.cumsum(rng.exponential(size=(_MAX_RECORDS, streams.draws)), axis=0) / (drawn["rate"] * span)
        # the inverse of what the rate sums up to by a date, in spans; where it sums up to less, no record comes
        left = 1 - drawn["rate_power"]
        flat = np.abs(left) < 1e-6
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            grown = np.where(flat, waits, np.log1p(waits * left) / np.where(flat, 1.0, left))
        at = np.where(np.isnan(grown), np.inf, np.expm1(np.minimum(grown, LARGEST)))
        size = drawn["log_step"] + drawn["scatter"] * rng.standard_normal(at.shape)
        size = np.minimum(size, math.log(_LARGEST_STEP * self.steps.max()))
        size = np.exp(size - drawn["step_power"] * np.log1p(at))
        out = np.empty((len(time), streams.draws))
        for i, ahead in enumerate((time - self.time[-1]) / span):
            out[i] = self._stood(time[i]) + np.where(at <= ahead, size, 0.0).sum(axis=0)
        return np.asarray(np.exp(np.clip(out, -LARGEST, LARGEST)))

    def _stood(self, date: float) -> float:
        return float(self.y[max(int(np.searchsorted(self.time, date, side="right")) - 1, 0)])

    def central(self, time: Array) -> Array:
        """Return the record that stood, and from the last on what the mean rate and steps add."""
        time = np.asarray(time, dtype=float)
        (records, years), power = self._rate, _RATE_POWER + _STEP_POWER - 1
        ahead = np.maximum(time - self.time[-1], 0.0) / self._span
        gained = records / years * self._span * math.exp(self._step[0]) * -np.expm1(-power * np.log1p(ahead)) / power
        return np.exp(np.array([self._stood(date) for date in time]) + gained)

    def anchored(self, time: Array, record: Array) -> FittedShape:
        """Return the same of these records: it starts at the last one as it is."""
        return replace(self, time=time, y=np.log(record))

    def describe(self) -> Description:
        """Say how often records come, and by how much."""
        (records, years), since = self._rate, float(self.time[-1] - self._dates[-1])
        waited = f"none for {since:.3g} years" if since else "the last one at the last date"
        return Description(
            summary=(
                f"{len(self._dates)} records, {waited}; now one every {years / records:.3g} years, better by "
                f"{math.expm1(math.exp(self._step[0])):.2%}"
            ),
            assumptions=(
                "records come at a rate that falls with the time that is watched, as those of independent trials do, "
                "and their steps shrink",
            ),
            sources=("Glick, N. (1978), Breaking records and breaking boards, American Mathematical Monthly 85(1)",),
            facts={"n": float(len(self._dates)), "records_per_year": records / years, "years_since": since},
        )
