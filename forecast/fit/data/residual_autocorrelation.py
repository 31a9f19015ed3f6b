"""Do residuals follow each other? Along a curve they do, and n points are then worth fewer.

A law that is nearly right, and noise that lasts, leave residuals of one sign side by side. Their autocorrelation at lag
one says how many independent points hold as much evidence: n(1 - rho)/(1 + rho) for a level (Bayley and Hammersley,
1946).
"""

from __future__ import annotations

import numpy as np

from forecast.base.arrays import Array

#: What sqrt(n) times the autocorrelation of independent residuals exceeds in one case of twenty.
ONE_SIDED_Z95 = 1.645
#: Residuals that follow each other more closely than this leave no evidence to speak of.
MAX_AUTOCORRELATION = 0.95


def autocorrelation(along: Array, residuals: Array, weights: Array) -> Array:
    """Return the autocorrelation of residuals at lag one, (B,), shrunk by what chance makes of independent ones.

    It is rho, less its bias in short series (Kendall, 1954), times 1 - c**2/(n*rho**2), 0 where that is negative
    (Breiman's garrote, 1995): nothing jumps where rho becomes significant, and what is clear stays nearly as it is.

    Parameters
    ----------
    along, residuals, weights : ndarray
        (B, n); a weight of 0 is no point. Where points share their place there is no order, and none is found.
    """
    given = weights > 0
    place = np.where(given, along, np.inf)
    order = np.argsort(place, axis=1, kind="stable")
    place = np.take_along_axis(place, order, axis=1)
    with np.errstate(all="ignore"):
        shared = ((np.diff(place, axis=1) == 0) & np.isfinite(place[:, 1:])).any(axis=1)
        r = np.take_along_axis(np.where(given, residuals * np.sqrt(weights), 0.0), order, axis=1)
        rho = np.einsum("bn,bn->b", r[:, 1:], r[:, :-1]) / np.einsum("bn,bn->b", r, r)
        n = given.sum(axis=1)
        sure = 1 - ONE_SIDED_Z95**2 / (n * rho**2)
        unbiased = rho + (1 + 4 * rho) / n
    return np.where((rho > 0) & (sure > 0) & ~shared, np.minimum(unbiased * sure, MAX_AUTOCORRELATION), 0.0)


def error_inflation(rho: Array) -> Array:
    """Return by what standard errors of a level grow where residuals follow each other.

    Examples
    --------
    >>> error_inflation(np.array([0.0, 0.6]))
    array([1., 2.])
    """
    return np.sqrt((1 + rho) / (1 - rho))
