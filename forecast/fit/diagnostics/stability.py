"""Do the last points turn away from the law? If they do, the law is not true, and it is less so beyond them.

A law that holds is found again, within errors, by a fit that looks at the last points most. How far the two fits differ
at a place beyond the data, less what noise makes of that, says how wrong the form may be there (Hausman, 1978, compares
two estimates in this way; here the difference is not tested, which would be a knife-edge, but counted).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from forecast.base.arrays import Array, IntArray
from forecast.fit.sizes import TABLE_ELEMENTS
from forecast.fit.solutions import Solutions

#: The last points are looked at most: a point weighs as its place to this power, as in `forecast.extrapolate`.
RECENCY_POWER = 2.0
#: The weighted fit has seen the beginning of a change that goes on: as much again is still to come.
CHANGE_FACTOR = 2.0
#: Directions in which the points say less than this share of the most are left alone.
DIRECTION_RANK_RTOL = 1e-6

Slopes = Callable[[IntArray, Mapping[str, Array]], Array]


def stability_tests(solutions: Solutions, rows: IntArray, points: Mapping[str, Array], slopes: Slopes) -> Array:
    """Return how far the law may be wrong at points beyond the data, (B, p), as a standard deviation; 0 inside.

    Of laws of one positive variable under least squares; of others nothing is known. It rises from 0 at the last point
    to its whole over one step of the points.

    Parameters
    ----------
    solutions : Solutions
    rows : ndarray of int
        Which fits.
    points : mapping of str to ndarray
        (1, p) or (B, p).
    slopes : callable
        From some fits and places to the derivatives of the law, of its logarithm under a log objective, (k, B, p).
    """
    size = next(iter(points.values())).shape[-1]
    found = np.zeros((rows.size, size))
    if not solutions.ordered or solutions.objective.scale != "residual":
        return found
    if solutions.known.clusters or solutions.errs_in_x or not size:
        return found
    ((name, at),) = points.items()
    along, left, weights = (each[rows] for each in solutions.residuals())
    given = (weights > 0) & np.isfinite(left)
    at = np.broadcast_to(at, found.shape)
    first, last = np.where(given, along, np.inf).min(axis=1), np.where(given, along, -np.inf).max(axis=1)
    enough = given.sum(axis=1) > len(solutions.known.names) + 1
    able = enough & (first > 0) & (first < last) & ~solutions.known.exact[rows]
    with np.errstate(all="ignore"):
        for end, side in ((last, 1.0), (first, -1.0)):
            some = np.flatnonzero(able & (side * at > side * end[:, None]).any(axis=1))
            step = max(1, TABLE_ELEMENTS // (along.shape[1] * len(solutions.known.names)))
            for begin in range(0, some.size, step):
                own = some[begin : begin + step]
                there = slopes(rows[own], {name: at[own]})
                here = slopes(rows[own], {name: np.where(given[own], along[own], end[own, None])})
                apart = side * np.log(along[own] / end[own, None])  # below 0
                nearest = np.where(given[own] & (apart < 0), apart, -np.inf).max(axis=1)
                whole = _departure_from_slopes(here, there, left[own], np.where(given[own], weights[own], 0.0), apart)
                reached = np.clip(side * np.log(at[own] / end[own, None]) / -nearest[:, None], 0.0, 1.0)
                found[own] += np.where(reached > 0, reached * whole, 0.0)
    return found


def _departure_from_slopes(here: Array, there: Array, left: Array, weights: Array, apart: Array) -> Array:
    """Return the departure, (B, p), from slopes at the points, (k, B, n), and at the requested places, (k, B, p)."""
    here, there = (np.nan_to_num(np.moveaxis(each, 0, -1)) for each in (here, there))
    size = np.linalg.norm(here, axis=1, keepdims=True)
    size[size == 0] = 1.0
    here, there = here / size, there / size
    root = np.sqrt(weights)[:, :, None]
    recent = np.exp(0.5 * RECENCY_POWER * np.minimum(apart, 0.0))[:, :, None]
    whole = np.linalg.pinv(here * root, rcond=DIRECTION_RANK_RTOL)
    latest = np.linalg.pinv(here * root * recent, rcond=DIRECTION_RANK_RTOL) * np.swapaxes(recent, 1, 2)
    moved = latest - whole  # (B, k, n), from residuals of weight 1 to the parameters' difference
    residuals = np.nan_to_num(left) * root[:, :, 0]
    freedom = (weights > 0).sum(axis=1) - here.shape[2]
    noise = np.einsum("bn,bn->b", residuals, residuals) / freedom
    shift = np.einsum("bpk,bkn,bn->bp", there, moved, residuals, optimize=True)
    chance = noise[:, None] * np.einsum("bpk,bkn,bjn,bpj->bp", there, moved, moved, there, optimize=True)
    return np.asarray(np.nan_to_num(CHANGE_FACTOR * np.sqrt(np.maximum(shift**2 - chance, 0.0))))
