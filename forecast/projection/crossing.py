"""When does a condition first hold, and in which worlds never.

A crossing is the first upcrossing of the level, interpolated linearly in time and in log value. A condition that
holds at the first step has that step as its date; one that does not hold by the horizon is *never*.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forecast.base.arrays import Array
from forecast.base.quantiles import QUANTILES


def find_crossing(time: Array, greater: Array, lesser: Array, *, strict: bool = False) -> Array:
    """Find when `greater` first reaches `lesser`.

    Parameters
    ----------
    time : ndarray
        Decimal years, increasing, (time,).
    greater, lesser : ndarray
        (time, draw), in one unit. Interpolated in logs where both are positive throughout, else as they are.
    strict : bool
        The condition is ``>``, not ``>=``.

    Returns
    -------
    ndarray
        Decimal years, (draw,); the first step where it holds there, infinite where never, NaN where there is no answer.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.array([2020.0, 2021.0, 2022.0])
    >>> find_crossing(t, np.array([[1.0], [10.0], [100.0]]), np.full((3, 1), 10**1.5)).tolist()
    [2021.5]
    """
    holds = greater > lesser if strict else greater >= lesser
    ever = holds.any(axis=0)
    first = holds.argmax(axis=0)
    before = np.maximum(first - 1, 0)
    column = np.arange(holds.shape[1])
    greater, lesser = (np.broadcast_to(side, holds.shape) for side in (greater, lesser))
    ends = [(greater[row, column], lesser[row, column]) for row in (before, first)]
    # one row of what does not change with time; NaN where any value is
    lowest = [(side[:1] if side.strides[0] == 0 else side).min(axis=0) for side in (greater, lesser)]
    logs = (lowest[0] > 0) & (lowest[1] > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (np.where(logs, np.log(end) - np.log(other), end - other) for end, other in ends)
        share = np.where((high > low) & np.isfinite(high - low), -low / (high - low), 1.0)  # infinite: by its end
    date = time[before] + share * (time[first] - time[before])
    date = np.where(ever, date, np.inf)
    return np.where(np.isnan(lowest[0] + lowest[1]), np.nan, date)


def date_quantiles(date: Array, levels: Sequence[float] = QUANTILES) -> Array:
    """Return quantiles of dates, (quantile,); infinite inside the never mass.

    Draws without an answer, NaN, are left out; the quantiles are NaN where all are.

    Each is the smallest date by which at least that share of the draws has crossed, so that ``p95`` is infinite exactly
    when more than 5 % of the draws never cross. `weighted_quantiles` says the same of draws that count differently.
    """
    date = date[~np.isnan(date)]
    if not len(date):
        return np.full(len(levels), np.nan)
    # by rank, in whole millionths: no rounding of n·q and no arithmetic with infinities
    ranks = [max(-(-len(date) * round(1e6 * q) // 1_000_000), 1) - 1 for q in levels]
    return np.asarray(np.partition(date, ranks)[ranks])


def weighted_quantiles(values: Array, weights: Array, q: Sequence[float]) -> Array:
    """Return the smallest values at which at least these shares of the weights are reached, (quantile, ...).

    Parameters
    ----------
    values : ndarray
        (draw, ...); infinities are values like others, and NaN is left out.
    weights : ndarray
        Not negative, (draw,) or as `values`; NaN, where there are none, makes the quantiles beside it NaN.
    q : sequence of float

    Examples
    --------
    >>> import numpy as np
    >>> weighted_quantiles(np.array([3.0, 1.0, np.inf]), np.array([0.25, 0.5, 0.25]), [0.5, 0.6, 0.9]).tolist()
    [1.0, 3.0, inf]
    """
    order = np.argsort(values, axis=0, kind="stable")
    weights = np.broadcast_to(weights.reshape(*weights.shape, *(1,) * (values.ndim - weights.ndim)), values.shape)
    lost = np.isnan(values).all(axis=0) | np.isnan(weights).any(axis=0)
    weights = np.where(np.isnan(values), 0.0, weights)
    reached = np.cumsum(np.take_along_axis(weights, order, axis=0), axis=0)
    out = np.empty((len(q), *values.shape[1:]))
    for i, share in enumerate(q):
        # a sum of many weights is rounded: what misses the share by that has reached it
        place = (reached >= share * reached[-1] * (1 - 1e-12)).argmax(axis=0)
        at = np.take_along_axis(order, place[None], axis=0)
        out[i] = np.take_along_axis(values, at, axis=0)[0]
    return np.where(lost, np.nan, out)


def answer_ranks(answers: Array, counts: Array) -> Array:
    """Return the rank of every draw of every combination, from 0 to 1; NaN where one was not answered."""
    out = np.full(answers.shape, np.nan)
    answered = ~np.isnan(answers)
    _, place = np.unique(answers[answered], return_inverse=True)
    tied_counts = np.bincount(place, weights=counts[answered])
    # tied answers share their mean rank
    if tied_counts.sum() > 0:
        out[answered] = ((np.cumsum(tied_counts) - 0.5 * tied_counts) / tied_counts.sum())[place]
    return out


def weighted_variance(values: Array, counts: Array) -> float:
    """Return the variance of values by what each counts.

    Examples
    --------
    >>> weighted_variance(np.array([0.0, 4.0]), np.array([3.0, 1.0]))
    3.0
    """
    mean = np.sum(counts * values) / np.sum(counts)
    return float(np.sum(counts * (values - mean) ** 2) / np.sum(counts))
