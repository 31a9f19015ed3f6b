"""Options of a robust objective that come from the data: Huber's threshold, the width of a quantile's kink.

Both are shares of the residuals' scale. A threshold and its fit depend on each other, and are found in turns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from forecast.base.arrays import Array
from forecast.fit.objectives.losses import HUBER_FACTOR
from forecast.fit.objectives.objective import effective_rows, robust_scale
from forecast.fit.solve import newton

if TYPE_CHECKING:
    from forecast.fit.problem.problem import Target
    from forecast.fit.solve.newton import NewtonResult


#: Huber's threshold is at least this share of the observations' size (1 of logarithms): below, nothing but rounding is
#: left of the squares. A width is at least the other.
MIN_THRESHOLD_SHARE, MIN_WIDTH_SHARE = 1e-8, 1e-9
#: A threshold is settled once it moves by less than this share: another unit of the data must not show in the
#: objective, nor in which fits stand beside each other.
THRESHOLD_RTOL = 1e-12
#: Turns of threshold and fit at most, and of a scale and what it makes of the residuals.
MAX_ROUNDS, MAX_SCALE_ROUNDS = 60, 200


def residual_scale(target: Target, q: Array) -> Array:
    """Return the residuals' scale at q, (B,): robust, or the one of greatest likelihood where it is profiled out."""
    weights = np.broadcast_to(target.weights, (q.shape[1], target.y.shape[-1]))
    apart = np.where(weights > 0, target.kernel.at(q, 0).f - target.y, 0.0)
    scale = np.asarray(robust_scale(apart, q.shape[0], weights))
    if not target.objective.profile:
        return scale
    share = weights / np.maximum(weights.sum(axis=1), 1e-300)[:, None]
    with np.errstate(all="ignore"):
        for _ in range(MAX_SCALE_ROUNDS):
            z = np.where(scale[:, None] > 0, apart / scale[:, None], 0.0)
            ratio = np.sum(share * z * np.clip(z, -HUBER_FACTOR, HUBER_FACTOR), axis=1)
            scale = scale * np.sqrt(ratio)
            if not (np.abs(ratio - 1) >= THRESHOLD_RTOL)[scale > 0].any():
                break
    return scale


def _observation_size(target: Target) -> Array:
    """Return the size of an observation, (B,) or a number: of what a residual is small beside."""
    squares = np.sum(target.weights * target.objective.sizes(target.y, target.options), axis=-1)
    return np.asarray(np.sqrt(squares / np.sum(target.weights, axis=-1)))


def with_width(target: Target, q: Array) -> Target:
    """Return the target with the width over which its kink is rounded off.

    He et al. (2021): ((k + log n)/n)**0.4 of the residuals' scale at `q`, (k, B).
    """
    n = np.asarray(effective_rows(target.weights), dtype=float)
    share = np.maximum(((q.shape[0] + np.log(n)) / n) ** 0.4, 0.05)
    width = np.maximum(share * residual_scale(target, q), MIN_WIDTH_SHARE * _observation_size(target))
    return replace(target, options={**target.options, "width": width[:, None]})


def with_threshold(target: Target, q: Array) -> tuple[Target, NewtonResult]:
    """Return the target with each fit's threshold, and the fits, found in turns as scale and location are.

    Parameters
    ----------
    target : Target
    q : ndarray
        (k, B), where each fit begins.
    """
    count = q.shape[1]
    least = np.broadcast_to(MIN_THRESHOLD_SHARE * _observation_size(target), (count,))
    delta, turning, solved = np.full(count, np.nan), np.arange(count), newton.unsolved_result(q)
    for _ in range(MAX_ROUNDS):
        wanted = np.maximum(HUBER_FACTOR * residual_scale(target.take(turning), solved.q[:, turning]), least[turning])
        moved = ~(np.abs(wanted - delta[turning]) <= THRESHOLD_RTOL * wanted)
        turning = turning[moved]
        if not turning.size:
            break
        delta[turning] = wanted[moved]
        some = replace(target, options={**target.options, "delta": delta[:, None]}).take(turning)
        ends = newton.solve(some, solved.q[:, turning])
        lost = ~np.isfinite(ends.value)
        ends.q[:, lost] = solved.q[:, turning[lost]]
        ends.q[:, ends.settled] = newton.refine(some.take(ends.settled), ends.q[:, ends.settled])
        solved.put(ends, turning)
    return replace(target, options={**target.options, "delta": delta[:, None]}), solved
