"""Production to come: a random walk with drift of the production of a period, which adds up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forecast.errors import DataError, FitError
from forecast_trends.points import LARGEST, mirrored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forecast.streams import Streams

    Array = NDArray[np.float64]

__all__ = ["Production", "totals"]

#: Years of the longest and of the shortest period in which production to come is counted.
_LONGEST, _SHORTEST = 1.0, 1 / 12

#: Periods whose shocks are drawn together: whole blocks are drawn, so a longer horizon keeps what came before.
_BLOCK = 32


def totals(time: Array, cumulative: Array, dates: Array) -> Array:
    """Return log cumulative production at each date, of rows of which several may share one; these are averaged.

    Raises
    ------
    DataError
        Naming the first row that has no logarithm, or a date at which production had not grown.
    """
    import numpy as np

    time, made = np.asarray(time, dtype=float), np.asarray(cumulative, dtype=float)
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
    stuck = np.flatnonzero(np.diff(logs) <= 0)
    if stuck.size:
        then, here = int(stuck[0]), int(stuck[0]) + 1
        raise DataError(
            f"cumulative: expected all that was ever made, which grows from date to date, got {np.exp(logs[here]):g} "
            f"at {dates[here]:.2f} after {np.exp(logs[then]):g} at {dates[then]:.2f}"
        )
    return logs


def swell(growth: Array | float, length: Array | float) -> Array:
    """Return the log of a period's mean production over that at its middle, under steady growth: log(sinh x / x).

    Examples
    --------
    >>> float(swell(0.0, 1.0)), round(float(swell(2.0, 1.0)), 4)
    (0.0, 0.1614)
    """
    import numpy as np

    x = np.abs(np.multiply(growth, length) / 2)
    safe = np.maximum(x, 1e-3)
    return np.asarray(np.where(x < 1e-3, x**2 / 6, safe + np.log(-np.expm1(-2 * safe)) - np.log(2 * safe)))


@dataclass(frozen=True, kw_only=True)
class Production:
    """Production in the past, as far as its future needs it.

    Its logarithm is a random walk with drift from the middle of one period to the middle of the next, without echo. The
    production between two dates is taken for that of one period. Periods to come are as long as the usual spacing of
    the dates, between a month and a year; they add up, and within one of them the sum is straight in logs. Where
    production has grown steadily, all that was ever made then goes on along the same exponential.

    Parameters
    ----------
    total : float
        Log of all that was made up to the last date.
    latest, last : float
        Log production a year between the last two dates, and the years between them.
    period : float
        Years of a period to come.
    growth : float
        Growth of production a year, in logs, from the first period to the last.
    span : float
        Years between the middles of these two; 0 where there is only one.
    noise : float
        Standard deviation of a year's growth.
    dof : float
        Degrees of freedom of `noise`; 0 where it cannot be known.
    """

    total: float
    latest: float
    last: float
    period: float
    growth: float
    span: float
    noise: float
    dof: float

    @classmethod
    def of(cls, time: Array, total: Array) -> Production:
        """Measure growth and noise; of dates that increase and log cumulative production that does."""
        import numpy as np

        length, middle = np.diff(time), (time[1:] + time[:-1]) / 2
        made = total[1:] + np.log(-np.expm1(-np.diff(total))) - np.log(length)
        growth, noise, span = 0.0, 0.0, float(middle[-1] - middle[0])
        if span:
            for _ in range(50):  # a period that is longer swells more, and by how much depends on the growth
                level = made - swell(growth, length)
                growth = float(level[-1] - level[0]) / span
            apart = np.diff(middle)
            left = np.diff(level) - growth * apart
            noise = float(np.sqrt(np.sum(left**2 / apart) / max(len(left) - 1, 1)))
        return cls(
            total=float(total[-1]),
            latest=float(made[-1]),
            last=float(length[-1]),
            period=float(np.clip(np.median(length), _SHORTEST, _LONGEST)),
            growth=growth,
            span=span,
            noise=noise,
            dof=max(len(made) - 2.0, 0.0),
        )

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 90 % interval of growth a year, in logs."""
        from scipy.stats import t as student

        half = float(student.ppf(0.95, self.dof)) * self.noise / self.span**0.5
        return self.growth - half, self.growth + half

    def half(self, streams: Streams) -> tuple[Array, Array]:
        """Return the error of growth and the noise of a year, for every other draw."""
        import numpy as np

        if not self.dof:
            raise FitError("growth of production needs at least 4 dates: state it, growth = 0.1")
        rng, size = streams("production"), streams.draws // 2
        noise = self.noise * np.sqrt(self.dof / rng.chisquare(self.dof, size))
        return noise * rng.standard_normal(size) / self.span**0.5, noise

    def drawn_growth(self, streams: Streams) -> Array:
        """Draw growth a year, in logs, in antithetic pairs."""
        return self.growth - mirrored(self.half(streams)[0])

    def drawn(self, ahead: Array, streams: Streams) -> Array:
        """Draw log cumulative production less that of today, (time, draw), so many years ahead (increasing)."""
        import numpy as np

        noise, rng = self.half(streams)[1], streams("production to come")
        steps = np.sqrt(np.append((self.last + self.period) / 2, np.full(_BLOCK - 1, self.period)))

        def shocks() -> Iterator[Array]:
            while True:
                yield mirrored(noise * steps[:, None] * rng.standard_normal((_BLOCK, len(noise))))
                steps[0] = self.period**0.5

        return self._added_up(ahead, self.drawn_growth(streams), shocks())

    def steady(self, ahead: Array, growth: Array) -> Array:
        """Return log cumulative production less that of today, (time, draw), under steady growth a year, in logs."""
        import numpy as np

        def none() -> Iterator[Array]:
            while True:
                yield np.zeros((_BLOCK, len(growth)))

        return self._added_up(ahead, growth, none())

    def _added_up(self, ahead: Array, growth: Array, shocks: Iterator[Array]) -> Array:
        """Add up the periods to come, a block at a time."""
        import numpy as np

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
