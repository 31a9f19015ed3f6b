"""Noise with an echo: a random walk with moving-average noise, at any dates.

The walk of Farmer & Lafond takes yearly steps, y(t) = y(t−1) + μ + v(t) + θ·v(t−1). Here it is the yearly view of
μ·t + σ·(W(t) + θ·W(t − 1)) with a Brownian motion W: every shock comes back a year later, θ-fold. Seen at any other
dates it is still the same process, so unevenly spaced observations have an exact likelihood and a projection by months
agrees with one by years.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from forecast.base.arrays import Array
from forecast.errors import FitError

__all__ = ["STEPS_PER_LAG", "Increments", "drift_variance", "forecast_variance", "path_noise", "said_taken_back"]

#: Steps of a simulated path in one lag of the echo. Between two steps it is straight.
STEPS_PER_LAG = 12

#: Dates whose covariance is still handled in a second.
_MAX_DATES = 3000

#: A correlation of neighbouring changes, times √n, that a walk shows in one series of a hundred.
_SCATTER = -2.33


def forecast_variance(horizon: Array | float, window: float, theta: float = 0.0) -> Array | float:
    """Return the variance of a forecast's error, in units of the variance of v.

    A* = −2θ + (1 + 2(m − 1)θ/m + θ²)(τ + τ²/m), for a forecast y(t) + μ̂·τ with μ̂ = (y(t) − y(t − m))/m and whole
    steps τ >= 1. Without moving average, A = τ + τ²/m.

    Parameters
    ----------
    horizon : float or ndarray
        τ, steps ahead.
    window : float
        m, steps behind μ̂.
    theta : float

    References
    ----------
    Farmer, J. D. & Lafond, F. (2016), How predictable is technological progress?, Research Policy 45(3), 647-665.

    Examples
    --------
    >>> forecast_variance(1.0, 5)
    1.2
    >>> round(forecast_variance(20.0, 5, 0.63), 2)
    239.23
    """
    grown = horizon + horizon**2 / window
    return -2 * theta + (1 + 2 * (window - 1) * theta / window + theta**2) * grown


def drift_variance(span: float, lag: float, theta: Array) -> Array:
    """Return the variance of the drift estimated end to end over `span` years, in units of σ²."""
    return (span * (1 + theta**2) + 2 * theta * max(span - lag, 0.0)) / span**2


@dataclass(frozen=True)
class Increments:
    """The steps between observations, what drives them, and how they hang together.

    A step is slope·drive + noise, and the covariance of the noise is σ²·((1 + θ²)·diag(length) + θ·shared). What drives
    a walk is time, so its drive is the length of the step and its slope the drift; an experience curve's is experience.
    """

    step: Array
    drive: Array
    length: Array
    shared: Array

    @classmethod
    def of(
        cls, time: Array, y: Array, lag: float, along: Array | None = None, *, what: str = "a random walk"
    ) -> Increments:
        """Take the steps of a series with increasing dates; driven by what is given in `along`, or by time.

        Raises
        ------
        FitError
            Naming `what`, where there are too many.
        """
        if len(time) > _MAX_DATES:
            raise FitError(
                f"{what} is followed through at most {_MAX_DATES} dates, got {len(time)}: average them first"
            )
        low, high = time[:-1], time[1:]
        later = np.minimum(high[:, None], high[None, :] + lag) - np.maximum(low[:, None], low[None, :] + lag)
        overlap = np.maximum(later, 0.0)
        drive = high - low if along is None else np.diff(along)
        return cls(np.diff(y), drive, high - low, overlap + overlap.T)

    @property
    def information(self) -> float:
        """Return Σ drive²/length: of a walk its years, and without echo the slope's precision in units of σ."""
        return float(self.drive @ (self.drive / self.length))

    @property
    def slope(self) -> float:
        """Return the slope, by least squares with every step weighed by its length: of a walk from end to end."""
        return float(self.step @ (self.drive / self.length)) / self.information

    def variance(self, theta: float) -> float:
        """Return the variance of the slope, in units of σ²."""
        rate = self.drive / self.length
        return (1 + theta**2) / self.information + theta * float(rate @ self.shared @ rate) / self.information**2

    def recent(self, lag: float) -> Array:
        """Return the covariance of the slope's error with each shock of the last lag, as `path_noise` counts them."""
        back = np.append(0.0, np.cumsum(self.length[::-1]))  # where steps end, counted back from the last observation
        known = np.append(0.0, np.cumsum(self.drive[::-1])) / self.information
        cells = np.minimum(lag / STEPS_PER_LAG * np.arange(STEPS_PER_LAG, -1, -1.0), back[-1])
        return np.asarray(-np.diff(np.interp(cells, back, known)))

    def taken_back(self) -> float:
        """Return how closely a change follows from the one before it: near −1/2 where points scatter around a level."""
        change = self.step - self.slope * self.drive
        total = float(change @ change)
        return float(change[1:] @ change[:-1]) / total if total > 1e-24 * len(change) else 0.0

    def scales(self, thetas: Array) -> tuple[Array, Array]:
        """Return the estimate of σ for each θ, and its degrees of freedom.

        The sum of squared deviations per year has mean c·σ², which is exact for any spacing; its degrees of freedom
        are Satterthwaite's. At θ = 0 they are exactly the number of steps less one.

        References
        ----------
        Satterthwaite, F. E. (1946), An approximate distribution of estimates of variance components, Biometrics
        Bulletin 2(6), 110-114.
        """
        n, rate = len(self.step), self.drive / self.length
        squares = float(np.sum(self.step**2 / self.length)) - self.slope**2 * self.information
        # the sum is a quadratic form; times the covariance it is (1 + θ²)·plain + θ·echoed, and plain is a projection
        echoed = self.shared / self.length[:, None] - np.outer(rate, rate @ self.shared) / self.information
        mixed = np.trace(echoed) - float(self.drive @ echoed @ rate) / self.information
        own, cross = 1 + thetas**2, thetas
        mean = own * (n - 1) + cross * np.trace(echoed)
        half_variance = own**2 * (n - 1) + 2 * own * cross * mixed + cross**2 * np.sum(echoed * echoed.T)
        return np.sqrt(max(squares, 0.0) / mean), np.maximum(1.0, mean**2 / half_variance)

    @cached_property
    def _bands(self) -> Array:
        """The lower bands of `shared`."""
        n, reach = len(self.step), np.nonzero(self.shared)
        out = np.zeros((int(np.max(reach[0] - reach[1], initial=0)) + 1, n))
        for k in range(len(out)):
            out[k, : n - k] = np.diagonal(self.shared, -k)
        return out

    def _root(self, theta: float) -> Array:
        """Return the Cholesky factor of the noise's covariance in units of σ², as lower bands."""
        from scipy.linalg import cholesky_banded

        covariance = theta * self._bands
        covariance[0] += (1 + theta**2) * self.length
        return np.asarray(cholesky_banded(covariance, lower=True))

    def whitened(self, theta: float) -> Array:
        """Return step, drive and length, rows of one array, in which the noise is independent and of one size."""
        from scipy.linalg import solve_banded

        root = self._root(theta)
        columns = np.stack([self.step, self.drive, self.length], axis=1)
        return np.asarray(solve_banded((len(root) - 1, 0), root, columns).T)

    def likelihood(self, thetas: Array) -> Array:
        """Return the log likelihood of each θ, slope and σ integrated out (restricted likelihood)."""
        from scipy.linalg import cho_solve_banded

        n = len(self.step)
        known = np.stack([self.drive, self.step], axis=1)
        out = np.empty(len(thetas))
        for i, theta in enumerate(thetas):
            root = self._root(theta)
            inner = known.T @ cho_solve_banded((root, True), known)
            rest = max(inner[1, 1] - inner[0, 1] ** 2 / inner[0, 0], 1e-300)
            out[i] = -np.log(root[0]).sum() - 0.5 * (np.log(inner[0, 0]) + (n - 1) * np.log(rest))
        return out


def said_taken_back(correlation: float, steps: int, what: str) -> str:
    """Say that points scatter around a level, as the end of a sentence; nothing where steps do not show it."""
    if correlation * steps**0.5 >= _SCATTER:
        return ""
    return (
        f"; changes are taken back by the next one (correlation {correlation:.2f}): the points scatter around a level, "
        f"which {what} takes for shocks, and its intervals are then too wide"
    )


def path_noise(
    ahead: Array,
    rng: np.random.Generator,
    *,
    lag: float,
    error: Array,
    variance: Array | float,
    recent: Array,
    theta: Array | float,
) -> Array:
    """Draw the noise of paths from the last observation on, (time, draw), in units of σ.

    Parameters
    ----------
    ahead : ndarray
        Years from the last observation, not negative, increasing.
    rng : numpy.random.Generator
        Drawn step by step: a longer horizon keeps the earlier steps.
    lag : float
        Years of the echo.
    error, variance : ndarray
        The error of the estimated slope in each draw, in units of σ, and its variance.
    recent : ndarray
        `Increments.recent`. The shocks of the last lag are part of that error and come back as the echo of the first:
        the −2θ in `forecast_variance`.
    theta : ndarray
        θ.
    """
    size, h = len(error), lag / STEPS_PER_LAG
    z = rng.standard_normal((STEPS_PER_LAG + 1, size))
    shocks = np.sqrt(h) * z[:-1]
    rest = np.maximum(variance - recent @ recent / h, 0.0)
    shocks += recent[:, None] * (error - recent @ shocks / h - np.sqrt(rest) * z[-1]) / variance

    echoed = np.cumsum(shocks, axis=0)
    total, walked = echoed[-1], np.zeros(size)
    noise = np.zeros((STEPS_PER_LAG + 1, size))
    place = ahead / h
    out = np.empty((len(ahead), size))
    done, block = 0, 0
    while done < len(ahead):
        walk = rng.standard_normal((STEPS_PER_LAG, size))
        walk *= np.sqrt(h)
        for i in range(1, STEPS_PER_LAG):  # three times as fast as numpy's cumsum of rows
            walk[i] += walk[i - 1]
        walk += walked
        stop = done + int(np.searchsorted(place[done:], (block + 1) * STEPS_PER_LAG, side="right"))
        at = place[done:stop] - block * STEPS_PER_LAG
        low = np.minimum(at.astype(int), STEPS_PER_LAG - 1)
        share = (at - low)[:, None]
        noise[0] = noise[-1]
        read = np.array(sorted({*low.tolist(), *(low + 1).tolist(), STEPS_PER_LAG} - {0}))  # most lie between two dates
        noise[read] = walk[read - 1] + theta * echoed[read - 1]
        out[done:stop] = noise[low] * (1 - share) + noise[low + 1] * share
        walked, echoed = walk[-1], total + walk
        done, block = stop, block + 1
    return out
