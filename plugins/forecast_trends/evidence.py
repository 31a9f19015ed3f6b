"""What a series in logs holds: checked values, records, and how closely residuals follow one another.

Ordinary least squares counts every point. A running maximum repeats itself until somebody beats it, and the residuals
of a trend follow one another; both make the plain interval too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.errors import DataError, FitError
from forecast.models import Anchored, FittedShape

if TYPE_CHECKING:
    from forecast.streams import Streams


#: Steps of a running maximum smaller than this (in log value) are rounding of the same record.
RECORD_LOG_ATOL = 1e-6

__all__ = ["autocorrelation", "first_of_each_record", "from_record", "log_series"]


def log_series(time: Array, value: Array, *, frontier: bool) -> tuple[Array, Array]:
    """Return time and log value, checked.

    Raises
    ------
    DataError
        Naming the first value that has no logarithm, or a running maximum that falls.
    FitError
        If there are fewer than three points, or all share one date.
    """
    time, value = np.asarray(time, dtype=float), np.asarray(value, dtype=float)
    bad = np.flatnonzero(~np.isfinite(value) | ~np.isfinite(time) | (value <= 0))
    if bad.size:
        i = int(bad[0])
        raise DataError(
            f"point {i + 1} of {len(value)} ({time[i]:.2f}): expected a positive finite value for a trend in logs, "
            f"got {value[i]:g}"
        )
    if len(value) < 3:
        raise FitError(f"a trend needs at least 3 points, got {len(value)}")
    if np.ptp(time) == 0:
        raise FitError("a trend needs more than one date: every point has the same")
    fall = np.flatnonzero(np.diff(np.log(value)) < -RECORD_LOG_ATOL)
    if frontier and fall.size:
        i = int(fall[0]) + 1
        raise DataError(
            f"point {i + 1} ({time[i]:.2f}): a running maximum cannot fall, got {value[i]:g} after {value[i - 1]:g}"
        )
    return time, np.log(value)


def first_of_each_record(y: Array) -> BoolArray:
    """Mark the points of a running maximum that set a new record."""
    return np.concatenate(([True], np.diff(y) > RECORD_LOG_ATOL))


def autocorrelation(residuals: Array) -> float:
    """Return the lag-one autocorrelation of regression residuals, not below zero, corrected for its small-sample bias.

    The correction is Kendall's: the estimate is low by about (1 + 4ρ)/n. Points are taken in order; uneven spacing is
    ignored.
    """
    n, total = len(residuals), float(residuals @ residuals)
    if n < 3 or total <= 1e-24 * n:
        return 0.0
    rho = float(residuals[1:] @ residuals[:-1]) / total
    return float(np.clip(rho + (1 + 4 * rho) / n, 0.0, 0.98))


def from_record(shape: FittedShape, time: Array, record: Array, residuals: Array) -> FittedShape:
    """Return a shape that scatters about its level as a frontier from the last record on.

    How long a record stays above or below the level is told by the noise of the shape, draw by draw: its
    autocorrelation from one point to the next, over the mean time between points. For the central path the residuals
    tell it.
    """
    rho, apart = autocorrelation(residuals), float(time[-1] - time[0]) / max(len(time) - 1, 1)
    return _FromRecord(
        shape=shape,
        time=time,
        record=record,
        forgets=_forgets(rho, apart),
        scatter=float(np.sqrt(residuals @ residuals / max(len(residuals) - 2, 1))),
        apart=apart,
    )


def _forgets(rho: Array | float, apart: float) -> Any:
    """Return the rate a year at which noise dies away that correlates by ρ from one point to the next."""
    return -np.log(np.maximum(rho, 1e-9)) / apart


@dataclass(frozen=True, kw_only=True)
class _FromRecord(Anchored):
    """A frontier of a shape whose draws differ in how their noise follows itself.

    Parameters
    ----------
    apart : float
        Mean years between points.
    """

    apart: float

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw the frontier, each draw with its own noise."""
        drawn = self.shape.posterior(streams)
        own = {"forgets": _forgets(drawn["autocorrelation"], self.apart), "scatter": drawn["scatter"]}
        return Anchored.sample(replace(self, **own), time, streams, observed=observed)
