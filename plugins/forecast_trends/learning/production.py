"""Production to come: a random walk with drift of the production of a period, which adds up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forecast.base.arrays import Array
from forecast.errors import DataError, FitError, printable
from forecast_trends.points import LARGEST, mirrored

if TYPE_CHECKING:
    from forecast.streams import Streams


__all__ = ["Production", "averaged", "swell", "totals"]

#: Growth of all that was made, in logs, that is rounding.
_STILL = 1e-12

#: Years of the longest and of the shortest period in which production to come is counted.
_LONGEST, _SHORTEST = 1.0, 1 / 12

#: Periods whose shocks are drawn together: whole blocks are drawn, so a longer horizon keeps what came before.
_BLOCK = 32


def totals(time: Array, cumulative: Array, dates: Array) -> Array:
    """Return log cumulative production at each date, of rows of which several may share one; these are averaged.

    Raises
    ------
    DataError
        Naming the first row that has no logarithm, or a date at which it is less than before; or if nothing was made
        before the last date, from where production to come starts.
    """
    time = np.asarray(time, dtype=float)
    try:
        made = np.asarray(cumulative, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"cumulative: expected numbers, got {printable(cumulative, 60)}") from None
    if made.shape != time.shape:
        raise DataError(f"cumulative: expected {len(time)} values, one for each date, got {made.size}")
    bad = np.flatnonzero(~np.isfinite(made) | (made <= 0))
    if bad.size:
        i = int(bad[0])
        raise DataError(
            f"cumulative: point {i + 1} of {len(made)} ({time[i]:.2f}): expected a positive finite amount, "
            f"got {made[i]:g}"
        )
    logs = np.array([np.log(made[time == date]).mean() for date in dates])
    step = np.diff(logs)
    fell = np.flatnonzero(step < -_STILL)
    if fell.size:
        then, here = int(fell[0]), int(fell[0]) + 1
        raise DataError(
            f"cumulative: expected all that was ever made, which never falls, got {np.exp(logs[here]):g} "
            f"at {dates[here]:.2f} after {np.exp(logs[then]):g} at {dates[then]:.2f}"
        )
    if len(step) and step[-1] <= _STILL:
        raise DataError(
            f"cumulative: nothing was made from {dates[-2]:.2f} to {dates[-1]:.2f}, the last date, and production to "
            "come starts from that of the last period: end the series where something was made"
        )
    return np.asarray(np.maximum.accumulate(logs))


def averaged(length: Array, period: float) -> tuple[Array, Array]:
    """Return the variance of a mean over each length about the walk at its end, and how its two ends hang together.

    A walk that steps every period, averaged over k of them, differs from its value at either end by a variance of
    (2k² + 1)/6k periods, and its two differences have a covariance of (k² − 1)/6k: neighbouring means over k periods
    are (2k² + 1)/3k apart (Working 1960), and not k. A shorter length has one step, from its middle.

    Examples
    --------
    >>> import numpy as np
    >>> [part.round(4).tolist() for part in averaged(np.array([0.5, 1.0, 5.0]), 1.0)]
    [[0.25, 0.5, 1.7], [0.0, 0.0, 0.8]]
    """
    h = np.minimum(length, period)
    return length / 3 + h**2 / (6 * length), (length**2 - h**2) / (6 * length)


def swell(growth: Array | float, length: Array | float) -> Array:
    """Return the log of a period's mean production over that at its middle, under steady growth: log(sinh x / x).

    Examples
    --------
    >>> float(swell(0.0, 1.0)), round(float(swell(2.0, 1.0)), 4)
    (0.0, 0.1614)
    """
    x = np.abs(np.multiply(growth, length) / 2)
    safe = np.maximum(x, 1e-3)
    return np.asarray(np.where(x < 1e-3, x**2 / 6, safe + np.log(-np.expm1(-2 * safe)) - np.log(2 * safe)))


@dataclass(frozen=True, kw_only=True)
class Production:
    """Production in the past, as far as its future needs it.

    Its logarithm is a random walk with drift, without echo, from one period to the next. Periods are as long as the
    usual spacing of the dates, between a month and a year. Between dates further apart its mean is seen, whose changes
    vary less than those of the walk and follow one another (Working 1960); growth and noise are generalised least
    squares with that covariance. (The log of a mean is taken for the mean of logs, but for the growth between them.)
    Time in which nothing was made is counted with the period that follows. Periods to come add up, and within one of
    them the sum is straight in logs. Where production has grown steadily, all that was ever made then goes on along the
    same exponential.

    Parameters
    ----------
    total : float
        Log of all that was made up to the last date.
    latest, last : float
        Log production a year between the last two dates, and the years between them.
    period : float
        Years of a period to come.
    growth : float
        Growth of production a year, in logs.
    information : float
        Its precision in units of the noise: a little more than the years of the series; 0 where there is one period.
    noise : float
        Standard deviation of a year's growth.
    dof : float
        Degrees of freedom of `noise`; 0 where it cannot be known.
    first, shared : float
        Variance of the step from the last period to the first to come, and its covariance with the error of growth,
        in units of the noise.

    References
    ----------
    Working, H. (1960), Note on the correlation of first differences of averages in a random chain, Econometrica 28(4),
    916-918.
    """

    total: float
    latest: float
    last: float
    period: float
    growth: float
    information: float
    noise: float
    dof: float
    first: float
    shared: float

    @classmethod
    def of(cls, time: Array, total: Array) -> Production:
        """Measure growth and noise; of dates that increase and log cumulative production that never falls."""
        from scipy.linalg import solveh_banded

        grew = np.append(True, np.diff(total) > _STILL)
        time, total = time[grew], total[grew]
        length, middle = np.diff(time), (time[1:] + time[:-1]) / 2
        period = float(np.clip(np.median(length), _SHORTEST, _LONGEST))
        result = total[1:] + np.log(-np.expm1(-np.diff(total))) - np.log(length)
        own, across = averaged(length, period)
        growth, information, noise, shared = 0.0, 0.0, 0.0, 0.0
        if len(result) > 1:
            apart = np.diff(middle)
            bands = np.stack([np.append(0.0, across[1:-1]), own[1:] + own[:-1]])[-len(apart) :]
            weight = solveh_banded(bands, apart)
            information = float(weight @ apart)
            for _ in range(50):  # a period that is longer swells more, and by how much depends on the growth
                level = result - swell(growth, length)
                growth = float(weight @ np.diff(level)) / information
            left = np.diff(level) - growth * apart
            noise = float(np.sqrt(left @ solveh_banded(bands, left) / max(len(left) - 1, 1)))
            shared = float(across[-1] * weight[-1]) / information
        return cls(
            total=float(total[-1]),
            latest=float(result[-1]),
            last=float(length[-1]),
            period=period,
            growth=growth,
            information=information,
            noise=noise,
            dof=max(len(result) - 2.0, 0.0),
            first=float(own[-1]) + period / 2,
            shared=shared,
        )

    def known(self) -> Production:
        """Return this, where growth and its noise could be measured.

        Raises
        ------
        FitError
        """
        if not self.dof:
            raise FitError(
                "growth of production needs at least 4 dates between which something was made: state it, growth = 0.1"
            )
        return self

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 90 % interval of growth a year, in logs."""
        from scipy.special import stdtrit

        half = float(stdtrit(self.dof, 0.95)) * self.noise / self.information**0.5
        return self.growth - half, self.growth + half

    def half(self, streams: Streams) -> tuple[Array, Array]:
        """Return the error of growth and the noise of a year, for every other draw."""
        rng, size = streams("production"), streams.draws // 2
        noise = self.noise * np.sqrt(self.dof / rng.chisquare(self.dof, size))
        return noise * rng.standard_normal(size) / self.information**0.5, noise

    def drawn_growth(self, streams: Streams) -> Array:
        """Draw growth a year, in logs, in antithetic pairs."""
        return self.growth - mirrored(self.half(streams)[0])

    def drawn(self, ahead: Array, streams: Streams) -> Array:
        """Draw log cumulative production less that of today, (time, draw), so many years ahead (increasing)."""
        (error, noise), rng = self.half(streams), streams("production to come")
        # what the first step has in common with the error of growth, and the rest of it
        common = self.shared * self.information * error
        rest = max(self.first - self.shared**2 * self.information, 0.0)
        steps = np.sqrt(np.append(rest, np.full(_BLOCK - 1, self.period)))

        def shocks() -> Iterator[Array]:
            begins = common
            while True:
                half = noise * steps[:, None] * rng.standard_normal((_BLOCK, len(noise)))
                half[0] += begins
                yield mirrored(half)
                steps[0], begins = self.period**0.5, np.zeros_like(common)

        return self._added_up(ahead, self.drawn_growth(streams), shocks())

    def steady(self, ahead: Array, growth: Array) -> Array:
        """Return log cumulative production less that of today, (time, draw), under steady growth a year, in logs."""

        def none() -> Iterator[Array]:
            while True:
                yield np.zeros((_BLOCK, len(growth)))

        return self._added_up(ahead, growth, none())

    def _added_up(self, ahead: Array, growth: Array, shocks: Iterator[Array]) -> Array:
        """Add up the periods to come, a block at a time."""
        h, out = self.period, np.empty((len(ahead), len(growth)))
        # from the middle of the last period to that of the first to come
        level = self.latest - swell(growth, self.last) + growth * (self.last - h) / 2 + swell(growth, h) + np.log(h)
        walked, sums = np.zeros(len(growth)), np.zeros((1, len(growth)))
        done, begun = 0, 0
        while done < len(ahead):
            path = walked + np.cumsum(next(shocks), axis=0)
            step = 1.0 + begun + np.arange(_BLOCK)[:, None]
            made = np.clip(level + growth * h * step + path - self.total, -LARGEST, LARGEST)
            sums = np.logaddexp.accumulate(np.concatenate([sums[-1:], made]), axis=0)
            stop = done + int(np.searchsorted(ahead[done:] / h, begun + _BLOCK, side="right"))
            at = ahead[done:stop] / h - begun
            low = np.minimum(at.astype(int), _BLOCK - 1)
            share = (at - low)[:, None]
            out[done:stop] = sums[low] * (1 - share) + sums[low + 1] * share
            walked, done, begun = path[-1], stop, begun + _BLOCK
        return out
