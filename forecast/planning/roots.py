"""Roots of many functions of one number at once, by scipy's (Chandrupatla, 1997)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["roots"]

Array = NDArray[np.float64]

#: Infinite values count by their sign: scipy takes numbers.
LARGEST = 1e300


def roots(
    function: Callable[[Array], Array], low: Array, high: Array, *, tolerance: float = 4e-16, most: int = 200
) -> Array:
    """Return where functions change sign.

    Parameters
    ----------
    function : callable
        From an array of places to an array of values of the same shape; infinite values count by their sign.
    low, high : ndarray
        Ends of the brackets. Where there is no change of sign between them, or a value is nan, the root is nan.
    tolerance : float
        Of the place, relative to its size.

    Examples
    --------
    >>> roots(lambda x: x**2 - 2, np.array([0.0]), np.array([2.0]))
    array([1.41421356])
    """
    from scipy.optimize import elementwise

    a, b = (np.array(end, dtype=float) for end in np.broadcast_arrays(low, high))
    found = np.isfinite(a) & np.isfinite(b)
    places = np.where(found, a, 0.0)

    def some(x: Array, which: NDArray[np.int64]) -> Array:
        """Return the functions of some places; those that scipy has finished with are asked where they are."""
        places.flat[which] = x
        return np.clip(np.asarray(function(places)).flat[which], -LARGEST, LARGEST)

    with np.errstate(all="ignore"):
        solved = elementwise.find_root(
            some, (places.copy(), np.where(found, b, 0.0)), args=(np.arange(a.size).reshape(a.shape),),
            tolerances={"xatol": 1e-300, "xrtol": tolerance, "fatol": 0.0, "frtol": 0.0}, maxiter=most,
        )  # fmt: skip
    return np.where(found & (solved.status != -1) & np.isfinite(solved.f_x), solved.x, np.nan)
