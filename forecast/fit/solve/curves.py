"""The solver behind many curves: the best start of each, and what did not arrive from it tried again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.fit.problem.objective import HUBER_FACTOR, Objective, robust_scale, rows_of
from forecast.fit.solve import newton
from forecast.fit.solve.coarse import coarse
from forecast.fit.solve.linear import curves_solved
from forecast.fit.solve.newton import Solved, Target
from forecast.fit.solve.variable_projection import reduced

if TYPE_CHECKING:
    from forecast.fit.data.padded import Padded
    from forecast.fit.problem.coordinates import Coordinates
    from forecast.laws import Law

__all__ = ["scaled", "solve"]

Array: TypeAlias = NDArray[np.float64]

#: Stop when a step lowers an objective by less than this share.
TOLERANCE, BLIND = 1e-12, 3e-10
#: Iterations in which most curves arrive; the others go on by themselves.
SOON = 12
#: Starts of the curves that the first did not lead to an optimum.
AGAIN = 4


def solve(law: Law, seen: Padded, where: Coordinates, target: Target) -> tuple[Target, Solved, Array | None]:
    """Solve every curve.

    Parameters
    ----------
    law : forecast.Law
    seen : Padded
        The curves.
    where : Coordinates
    target : Target
        What is minimised.

    Returns
    -------
    Target
        With the options that come from the data.
    Solved
    ndarray or None
        (k, k, B): half the Gauss-Newton Hessian, of which covariances are made, of the curves for which the last step
        has gone all the way; nan for the others.
    """
    if target.objective.loss in ("huber", "quantile") and not {"delta", "width"} & set(target.options):
        squares = replace(target, objective=Objective("squares", log=target.objective.log), options={})
        _, first, _ = solve(law, seen, where, squares)
        return (*scaled(target, first.q, where), None)
    direct = curves_solved(law, seen, where, target)
    if direct is not None:
        bread = 0.5 * direct.hessian
        left = np.flatnonzero(~direct.settled)
        bread[:, :, left] = np.nan
        if left.size:
            _put(direct, _started(law, seen.take(left), where, target.take(left)), left, slice(None))
        return target, direct, bread
    quick = reduced(law, seen, where, target)
    if quick is None:
        return target, _started(law, seen, where, target), None
    solved = quick.solve(target, BLIND)
    bread = 0.5 * solved.hessian
    left = np.flatnonzero(~solved.settled)
    bread[:, :, left] = np.nan
    if left.size:
        ask = (where.lower, where.upper, where.logs)
        begun, rows = quick.edges(target.take(left), left)
        again = newton.solve(target.take(left[rows]), begun, *ask, iterations=SOON, tolerance=TOLERANCE, blind=BLIND)
        _put(solved, again, left[rows], slice(None))
        left = np.flatnonzero(~solved.settled)
    if left.size:
        _put(solved, _started(law, seen.take(left), where, target.take(left)), left, slice(None))
    return target, solved, bread


def _put(solved: Solved, found: Solved, to: NDArray[np.int64], rows: Any) -> None:
    for name in ("q", "value", "settled", "active", "iterations", "hessian"):
        getattr(solved, name)[..., to] = getattr(found, name)[..., rows]


def _started(law: Law, seen: Padded, where: Coordinates, target: Target) -> Solved:
    """Solve every curve from its best start, and those that did not arrive from the next ones."""
    ask = (where.lower, where.upper, where.logs)
    starts = coarse(law, seen, where, target.objective.log, AGAIN)
    solved = newton.solve(target, starts[0], *ask, iterations=SOON, tolerance=TOLERANCE, blind=BLIND)
    for start in (solved.q.copy(), *starts[1:]):
        left = np.flatnonzero(~solved.settled)
        if not left.size:
            break
        gauss = np.full(left.size, target.objective.scale == "residual")
        again = newton.solve(target.take(left), start[:, left], *ask, gauss=gauss, tolerance=TOLERANCE, blind=BLIND)
        with np.errstate(invalid="ignore"):
            better = again.settled | (again.value < solved.value[left])
        _put(solved, again, left[better], better)
    return solved


def scaled(target: Target, q: Array, where: Coordinates) -> tuple[Target, Solved]:
    """Set each curve's threshold by iterating between it and the fit."""
    k, before = q.shape[0], None
    ask = (where.lower, where.upper, where.logs)
    weights = np.broadcast_to(target.weights, (q.shape[1], target.y.shape[-1]))
    n = rows_of(weights)
    quantile = target.objective.loss == "quantile"
    for _ in range(1 if quantile else 20):
        apart = np.where(weights > 0, np.abs(target.kernel.at(q).f - target.y), 0.0)
        scale = robust_scale(apart, k, weights)
        if target.objective.profile:
            scale = _likeliest(np.nan_to_num(apart), weights, scale)
        if quantile:
            width = np.maximum(((k + np.log(n)) / n) ** 0.4, 0.05) * np.maximum(scale, 1e-12)
            target = replace(target, options={**target.options, "width": width[:, None]})
        else:
            target = replace(target, options={"delta": np.maximum(HUBER_FACTOR * scale, 1e-12)[:, None]})
        solved = newton.solve(target, q, *ask, tolerance=TOLERANCE, blind=BLIND)
        q = np.where(np.isfinite(solved.value), solved.q, q)
        if before is not None and np.all(np.abs(scale - before) <= 1e-6 * scale):
            break
        before = scale
    return target, solved


def _likeliest(apart: Array, weights: Array, scale: Array) -> Array:
    """Return the scales of greatest likelihood, (B,), for residuals (B, n); see `forecast.fit.solve.multistart`."""
    share = weights / np.maximum(weights.sum(axis=1), 1e-300)[:, None]
    for _ in range(200):
        z = apart / np.maximum(scale, 1e-300)[:, None]
        ratio = np.sum(share * z * np.clip(z, -HUBER_FACTOR, HUBER_FACTOR), axis=1)
        scale = scale * np.sqrt(ratio)
        if bool((np.abs(ratio - 1) < 1e-12).all()):
            break
    return scale
