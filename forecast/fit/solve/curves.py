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
#: Two solutions whose objectives differ by less than this share are the same optimum.
SAME = 1e-6
#: Iterations in which most curves arrive; the others go on by themselves.
SOON = 12
#: Starts of a curve, and iterations for each; most of them must agree, or the curve is searched as a single fit is.
STARTS, SHORT = 4, 100
#: Huber's threshold is settled once it moves by less than this share.
STEADY = 1e-12
#: What a walk over a whole grid counts as: more than one start.
GRID = 2


def solve(
    law: Law, seen: Padded, where: Coordinates, target: Target
) -> tuple[Target, Solved, Array | None, NDArray[np.int64]]:
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
    ndarray of int
        (2, B): how many starts led there, and how many there were.
    """
    if target.objective.loss in ("huber", "quantile") and not {"delta", "width"} & set(target.options):
        squares = replace(target, objective=Objective("squares", log=target.objective.log), options={})
        _, first, _, starts = solve(law, seen, where, squares)
        target, solved = scaled(target, first.q, where)
        solved.settled[2 * starts[0] <= starts[1]] = False
        return target, solved, None, starts
    direct = curves_solved(law, seen, where, target)
    if direct is not None:
        bread, starts = 0.5 * direct.hessian, np.ones((2, direct.value.size), dtype=np.int64)
        left = np.flatnonzero(~direct.settled)
        bread[:, :, left] = np.nan
        if left.size:
            again, starts[:, left] = _started(law, seen.take(left), where, target.take(left))
            _put(direct, again, left, slice(None))
        return target, direct, bread, starts
    quick = reduced(law, seen, where, target)
    if quick is None:
        solved, starts = _started(law, seen, where, target)
        return target, solved, None, starts
    solved = quick.solve(target, BLIND)
    bread = 0.5 * solved.hessian
    left = np.flatnonzero(~solved.settled)
    bread[:, :, left] = np.nan
    # every value of a grid was a start, and all led to one place
    starts = np.full((2, solved.value.size), GRID)
    if left.size:
        ask = (where.lower, where.upper, where.logs)
        begun, rows = quick.edges(target.take(left), left)
        again = newton.solve(target.take(left[rows]), begun, *ask, iterations=SOON, tolerance=TOLERANCE, blind=BLIND)
        _put(solved, again, left[rows], slice(None))
        left = np.flatnonzero(~solved.settled)
    if left.size:
        again, starts[:, left] = _started(law, seen.take(left), where, target.take(left))
        _put(solved, again, left, slice(None))
    return target, solved, bread, starts


def _put(solved: Solved, found: Solved, to: NDArray[np.int64], rows: Any) -> None:
    for name in ("q", "value", "settled", "active", "iterations", "hessian"):
        getattr(solved, name)[..., to] = getattr(found, name)[..., rows]


def _started(law: Law, seen: Padded, where: Coordinates, target: Target) -> tuple[Solved, NDArray[np.int64]]:
    """Solve every curve from its best starts; nobody has settled where these do not agree."""
    starts = coarse(law, seen, where, target.objective.log, STARTS)
    many, count = starts.shape[0], starts.shape[2]
    rows = np.tile(np.arange(count), many)
    begun = np.concatenate(list(starts), axis=1)
    gauss = np.full(rows.size, target.objective.scale == "residual")
    ends = newton.solve(
        target.take(rows), begun, where.lower, where.upper, where.logs, iterations=SHORT, gauss=gauss,
        tolerance=TOLERANCE, blind=BLIND,
    )  # fmt: skip
    values = np.where(np.isfinite(ends.value), ends.value, np.inf).reshape(many, count)
    best = values.argmin(axis=0) * count + np.arange(count)
    solved = Solved(**{name: getattr(ends, name)[..., best] for name in Solved.__dataclass_fields__})
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(solved.value), target.unit())
        agree = (values <= solved.value + SAME * size + target.rounding()).sum(axis=0)
    if many > 1:
        solved.settled[2 * agree <= many] = False
    return solved, np.array([agree, np.full(count, many)])


def scaled(target: Target, q: Array, where: Coordinates) -> tuple[Target, Solved]:
    """Set each curve's threshold by iterating between it and the fit."""
    k, before = q.shape[0], None
    ask = (where.lower, where.upper, where.logs)
    weights = np.broadcast_to(target.weights, (q.shape[1], target.y.shape[-1]))
    n = rows_of(weights)
    quantile = target.objective.loss == "quantile"
    for _ in range(1 if quantile else 60):
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
        if before is not None and np.all(np.abs(scale - before) <= STEADY * scale):
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
