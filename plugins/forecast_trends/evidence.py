"""How much independent evidence a series holds.

Ordinary least squares counts every point. A running maximum repeats itself until somebody beats it, and the residuals of a
trend follow one another; both make the plain interval too narrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forecast.errors import DataError, FitError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: Steps of a running maximum smaller than this (in log value) are rounding of the same record.
ROUNDING = 1e-6

__all__ = ["autocorrelation", "effective_size", "first_of_each_record", "log_series"]


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
            f"point {i + 1} of {len(value)} ({time[i]:.2f}): expected a positive finite value for a trend in logs, got {value[i]:g}"
        )
    if len(value) < 3:
        raise FitError(f"a trend needs at least 3 points, got {len(value)}")
    if np.ptp(time) == 0:
        raise FitError("a trend needs more than one date: every point has the same")
    fall = np.flatnonzero(np.diff(np.log(value)) < -ROUNDING)
    if frontier and fall.size:
        i = int(fall[0]) + 1
        raise DataError(f"point {i + 1} ({time[i]:.2f}): a running maximum cannot fall, got {value[i]:g} after {value[i - 1]:g}")
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


def effective_size(residuals: Array, records: NDArray[np.bool_] | None) -> float:
    """Return the number of independent points that hold as much evidence as the series.

    For a running maximum only points that set a record count. The residuals of what counts are then discounted by
    n(1 − ρ)/(1 + ρ) where their autocorrelation is significant (ρ√n > 1.645): in a handful of points it cannot be told
    from chance.

    References
    ----------
    Bayley, G. V. & Hammersley, J. M. (1946), The "effective" number of independent observations in an autocorrelated time
    series, JRSS Supplement 8(2), 184-197.
    """
    import numpy as np

    counted = residuals if records is None else residuals[records]
    n = len(counted)
    rho = autocorrelation(counted)
    if rho * np.sqrt(n) <= 1.645:
        return float(n)
    return float(n * (1 - rho) / (1 + rho))
