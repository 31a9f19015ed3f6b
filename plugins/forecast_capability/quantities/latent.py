"""Regressions in which the training compute of some models is a latent: nobody disclosed it.

Who discloses is no sample of all: mostly open models, and few of those that led. What is not disclosed is still not
unknown. A run takes no more than the largest so far, and those of the same kind that are disclosed say how much less.
Normal in the logarithm, it integrates out of a normal regression in closed form: the row stays, at the mean of what is
known of its compute, with a larger variance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from forecast.base.arrays import Array
from forecast.errors import FitError

__all__ = ["Latent", "Plane", "beside_frontier", "plane"]

_STEPS = 200
#: The fewest disclosed models of a kind that say what another of the kind may be; else those of all kinds do.
_MIN_DISCLOSED_MODELS = 10


class Plane(NamedTuple):
    """Coefficients, their covariance, and how many rows they rest on, each counted by its weight."""

    found: Array
    covariance: Array
    rows: float


class Latent(NamedTuple):
    """Logarithms of compute, the standard deviation of each (0 where disclosed), and the error that rows share."""

    middle: Array
    spread: Array
    shared: Array


def beside_frontier(logs: Array, frontier: Array, kind: Array) -> Latent:
    """Fill in what is not disclosed, from the frontier at a model's date.

    Parameters
    ----------
    logs : ndarray
        Logarithms of the compute of models; NaN where it is not disclosed.
    frontier : ndarray
        Logarithms of the largest run at the date of each.
    kind : ndarray of str
        Models of one kind lie as far below the frontier as each other, in the mean: those with open weights.
    """
    known, below = np.isfinite(logs), logs - frontier
    middle, spread, shared = logs.copy(), np.zeros_like(logs), np.zeros_like(logs)
    for each in np.unique(kind[~known]):
        of, like = ~known & (kind == each), known & (kind == each)
        like = like if int(like.sum()) >= _MIN_DISCLOSED_MODELS else known
        wide = float(below[like].std(ddof=1))
        middle[of], spread[of] = frontier[of] + below[like].mean(), wide
        shared[of] = wide / np.sqrt(like.sum())
    return Latent(middle, spread, shared)


def plane(x: Array, y: Array, spread: Array, *, through: int | None = None) -> Plane:
    """Regress by maximum likelihood where a row's variance has a known part.

    Where the latent is the response, y, its variance is added to that of the row; where it is a column of the design,
    its variance times the square of that column's coefficient. Fisher's scoring, from least squares on the rows without
    such a part. If all are, it is least squares.

    Parameters
    ----------
    x : ndarray
        Design, (row, coefficient).
    y : ndarray
    spread : ndarray
        Standard deviation of a row's latent; 0 where it is disclosed.
    through : int, optional
        The column of the latent.

    Raises
    ------
    FitError
        Where too few rows have no such part, or no maximum is found.

    References
    ----------
    Fuller (1987), Measurement Error Models; Little & Rubin (2019), Statistical Analysis with Missing Data, chapter 11.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.stack([np.ones(5), np.arange(5.0)], axis=1)
    >>> found = plane(x, np.array([0.0, 1.1, 1.9, 3.0, 9.0]), np.array([0.0, 0, 0, 0, 50])).found
    >>> found.round(2).tolist()  # the last says next to nothing
    [0.03, 0.98]
    """
    (n, k), sure = x.shape, spread == 0
    if int(sure.sum()) <= k:
        raise FitError(f"expected more than {k} rows without a latent, got {int(sure.sum())}")
    found = np.linalg.lstsq(x[sure], y[sure], rcond=None)[0]
    left = y[sure] - x[sure] @ found
    own = max(float(left @ left) / len(left), 1e-20)

    def variance(found: Array, own: float) -> tuple[Array, Array]:
        """Return that of each row, and its derivatives by the coefficients and by the logarithm of `own`."""
        along = np.zeros((n, k + 1))
        along[:, k] = own
        if through is None:
            return own + spread**2, along
        along[:, through] = 2 * found[through] * spread**2
        return own + (found[through] * spread) ** 2, along

    def lost(found: Array, own: float) -> float:
        wide, _ = variance(found, own)
        return float((np.log(wide) + (y - x @ found) ** 2 / wide).sum() / 2)

    now = lost(found, own)
    for _ in range(_STEPS):
        wide, along = variance(found, own)
        left = y - x @ found
        gradient = along.T @ ((left**2 / wide - 1) / wide) / 2
        gradient[:k] += x.T @ (left / wide)
        information = (along / wide[:, None] ** 2).T @ along / 2
        information[:k, :k] += (x / wide[:, None]).T @ x
        step = np.linalg.solve(information, gradient)
        if float(gradient @ step) < 1e-22 * n:
            break
        share = 1.0
        while share > 1e-9:
            there, other = found + share * step[:k], own * float(np.exp(np.clip(share * step[k], -5, 5)))
            if (then := lost(there, other)) <= now + 1e-12 * abs(now):
                break
            share /= 2
        else:
            break
        found, own, now = there, other, then
    rows = float((own / wide).sum())
    return Plane(found, np.linalg.inv(information)[:k, :k] * rows / (rows - k), rows)
