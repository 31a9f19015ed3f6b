"""How much independent evidence a series holds.

Ordinary least squares counts every point. A running maximum repeats itself until somebody beats it, and the residuals
of a trend follow one another; both make the plain interval too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from forecast.errors import DataError, FitError
from forecast.models import Anchored, FittedShape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: Steps of a running maximum smaller than this (in log value) are rounding of the same record.
ROUNDING = 1e-6

__all__ = ["Evidence", "autocorrelation", "evidence", "first_of_each_record", "from_record", "log_series"]


def log_series(time: Array, value: Array, *, frontier: bool) -> tuple[Array, Array]:
    """Return time and log value, checked.

    Raises
    ------
    DataError
        Naming the first value that has no logarithm, or a running maximum that falls.
    FitError
        If there are fewer than three points, or all share one date.
    """
    import numpy as np

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
    fall = np.flatnonzero(np.diff(np.log(value)) < -ROUNDING)
    if frontier and fall.size:
        i = int(fall[0]) + 1
        raise DataError(
            f"point {i + 1} ({time[i]:.2f}): a running maximum cannot fall, got {value[i]:g} after {value[i - 1]:g}"
        )
    return time, np.log(value)


def first_of_each_record(y: Array) -> NDArray[np.bool_]:
    """Mark the points of a running maximum that set a new record."""
    import numpy as np

    return np.concatenate(([True], np.diff(y) > ROUNDING))


def autocorrelation(residuals: Array) -> float:
    """Return the lag-one autocorrelation of regression residuals, not below zero, corrected for its small-sample bias.

    The correction is Kendall's: the estimate is low by about (1 + 4ρ)/n. Points are taken in order; uneven spacing is
    ignored.
    """
    import numpy as np

    n, total = len(residuals), float(residuals @ residuals)
    if n < 3 or total <= 1e-24 * n:
        return 0.0
    rho = float(residuals[1:] @ residuals[:-1]) / total
    return float(np.clip(rho + (1 + 4 * rho) / n, 0.0, 0.98))


@dataclass(frozen=True)
class Evidence:
    """How many independent points hold as much evidence as a series.

    Parameters
    ----------
    size : float
        For a level or a slope: n(1 − ρ)/(1 + ρ).
    size_of_variance : float
        For the residual variance, from which the degrees of freedom follow: n(1 − ρ²)/(1 + ρ²).
    autocorrelation : float
        ρ of the residuals that count; zero where it is not significant.

    References
    ----------
    Bayley, G. V. & Hammersley, J. M. (1946), The "effective" number of independent observations in an autocorrelated
    time series, JRSS Supplement 8(2), 184-197.
    """

    size: float
    size_of_variance: float
    autocorrelation: float


def evidence(residuals: Array, records: NDArray[np.bool_] | None) -> Evidence:
    """Count the evidence in a series from the residuals of its trend.

    For a running maximum only points that set a record count. What counts is then discounted for the autocorrelation
    of its residuals where that is significant (ρ√n > 1.645): in a handful of points it cannot be told from chance.
    """
    import numpy as np

    counted = residuals if records is None else residuals[records]
    n = len(counted)
    rho = autocorrelation(counted)
    if rho * np.sqrt(n) <= 1.645:
        return Evidence(float(n), float(n), 0.0)
    return Evidence(n * (1 - rho) / (1 + rho), n * (1 - rho**2) / (1 + rho**2), rho)


def from_record(shape: FittedShape, time: Array, record: Array, residuals: Array) -> FittedShape:
    """Return a shape that scatters about its level as a frontier from the last record on.

    How long a record stays above or below the level is told by the residuals of the shape: their autocorrelation from
    one point to the next, over the mean time between points.
    """
    import numpy as np

    rho, apart = autocorrelation(residuals), float(time[-1] - time[0]) / max(len(time) - 1, 1)
    return Anchored(
        shape=shape,
        time=time,
        record=record,
        forgets=-float(np.log(max(rho, 1e-9))) / apart,
        scatter=float(np.sqrt(residuals @ residuals / max(len(residuals) - 2, 1))),
    )
