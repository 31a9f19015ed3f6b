"""Roots of many functions of one number at once (Chandrupatla 1997: bisection, and inverse quadratic steps).

`scipy.optimize.elementwise.find_root` has the same rule, and takes two to four times as long; what imports it loads 400
modules, which is more than the rest of ``forecast allocate``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forecast.base.arrays import Array


def chandrupatla(a: tuple[Array, Array], b: tuple[Array, Array], c: tuple[Array, Array]) -> Array:
    """Return how far to go from `a` to `b` next: by the inverse parabola where it can be trusted, else half the way.

    Parameters
    ----------
    a, b : (ndarray, ndarray)
        The places and values of the newest end of each bracket, and of the other.
    c : (ndarray, ndarray)
        Those of the end before.
    """
    (at, fa), (bt, fb), (ct, fc) = a, b, c
    xi, phi = (at - bt) / (ct - bt), (fa - fb) / (fc - fb)
    trusted = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
    bent = fa / (fb - fa) * fc / (fb - fc) + (ct - at) / (bt - at) * fa / (fc - fa) * fb / (fc - fb)
    return np.asarray(np.where(trusted & np.isfinite(bent), bent, 0.5))


def find_roots(
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
    >>> find_roots(lambda x: x**2 - 2, np.array([0.0]), np.array([2.0]))
    array([1.41421356])
    """
    a, b = np.array(high, dtype=float), np.array(low, dtype=float)
    a, b = np.broadcast_arrays(a, b)
    a, b = a.copy(), b.copy()
    fa, fb = function(a), function(b)
    found = np.isfinite(a) & np.isfinite(b) & (np.sign(fa) * np.sign(fb) <= 0)
    t = np.full(a.shape, 0.5)
    done = ~found | (fa == 0) | (fb == 0)
    with np.errstate(all="ignore"):
        for _ in range(most):
            if done.all():
                break
            x = np.where(done, b, a + t * (b - a))
            fx = function(x)
            same = np.sign(fx) == np.sign(fa)
            c, fc = np.where(same, a, b), np.where(same, fa, fb)
            b, fb = np.where(done, b, np.where(same, b, a)), np.where(done, fb, np.where(same, fb, fa))
            a, fa = np.where(done, a, x), np.where(done, fa, fx)
            best = np.where(np.abs(fa) < np.abs(fb), a, b)
            least = tolerance * np.abs(best) + 1e-300
            share = least / np.abs(b - a)
            done |= (share > 0.5) | (fa == 0) | ~np.isfinite(share)
            t = np.clip(chandrupatla((a, fa), (b, fb), (c, fc)), share, 1 - share)
    with np.errstate(invalid="ignore"):
        best = np.where(np.abs(fa) <= np.abs(fb), a, b)
    return np.where(found, best, np.nan)
