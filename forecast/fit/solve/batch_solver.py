"""The solver behind many curves: the best start of each, and what did not arrive from it tried again."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from forecast.base.arrays import Array, IntArray
from forecast.fit.objectives.losses import Squares
from forecast.fit.problem.problem import Target, kernel_for
from forecast.fit.problem.rescaling import rescaled_curves
from forecast.fit.sizes import OPTIMUM_RTOL, STEP_TOLERANCE, UNCHECKED_STEP_TOLERANCE
from forecast.fit.solve import newton, threshold
from forecast.fit.solve.newton import NewtonResult
from forecast.fit.solve.separable import solve_separable
from forecast.fit.solve.starts import coarse_grid

if TYPE_CHECKING:
    from collections.abc import Callable

    from forecast.fit.data.observations import Observations
    from forecast.laws import Law


FINAL_OPTIONS: dict[str, Any] = {"tolerance": STEP_TOLERANCE, "blind": UNCHECKED_STEP_TOLERANCE}
#: What a walk over a whole grid counts as: more than one start.
GRID = 2


#: A way to solve curves: law, curves, target, starts that were given -> target, ends, starts.
Way: TypeAlias = "Callable[[Law, Observations, Target, Array | None], tuple[Target, NewtonResult, Counts]]"
#: (2, B): how many starts led to an end, and how many there were.
Counts: TypeAlias = IntArray


def solve_batch(
    law: Law, observations: Observations, target: Target, start: Array | None = None, *, grid: bool = True
) -> tuple[Target, NewtonResult, Array | None, Counts]:
    """Solve every curve.

    Parameters
    ----------
    law : forecast.Law
    observations : Observations
        The curves.
    target : Target
        What is minimised.
    start : ndarray, optional
        (k, B), starts that were given: solve from these and from nowhere else.
    grid : bool
        Start from a grid where the law has no shorter way; else such curves come back untried.

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
    otherwise = _solve_from_grid if grid else _leave_unsolved
    if start is not None or target.objective.is_open(target.options):
        robust = functools.partial(_solve_curves, grid=grid)
        target, solved, starts = _solve_rescaled(law, observations, target, robust, start)
        return target, solved, None, starts
    found = solve_separable(law, observations, target, UNCHECKED_STEP_TOLERANCE)
    bread: Array | None = None
    if found is not None:
        solved, form = found
        # of a walk over a grid every value was a start, and all led to one place
        starts = np.full((2, solved.value.size), 1 if form is None else GRID)
        bread, left = 0.5 * solved.hessian, np.flatnonzero(~solved.settled)
        bread[:, :, left] = np.nan
        if left.size and form is not None:
            at, rows = form.edges(target.take(left), left)
            steps = target.solver.multistart.batch_iterations
            again = newton.solve(target.take(left[rows]), at, iterations=steps, **FINAL_OPTIONS)
            solved.put(again, left[rows])
    elif (nearly := _from_relative(law, observations, target)) is not None:
        solved, starts = nearly, np.full((2, nearly.value.size), GRID)
    else:
        target, solved, starts = _solve_rescaled(law, observations, target, otherwise)
        return target, solved, None, starts
    left = np.flatnonzero(~solved.settled)
    if left.size:
        _, again, starts[:, left] = _solve_rescaled(law, observations.take(left), target.take(left), otherwise)
        solved.put(again, left)
    return target, solved, bread, starts


def _from_relative(law: Law, observations: Observations, target: Target) -> NewtonResult | None:
    """Solve squares of logarithms from those of relative residuals, for laws that are linear in all but one parameter.

    Returns
    -------
    Solved or None
        None where the law or the objective is another.
    """
    if target.objective.scale != "residual" or not target.objective.log:
        return None
    y, weights = target.objective.nearby_squares(observations.y, observations.weights, target.options)
    kernel = kernel_for(target.coordinates.placement(law, observations.variables, link=False))
    relative = replace(target, kernel=kernel, objective=Squares("squares"), y=y, weights=weights)
    first = solve_separable(law, observations, relative, UNCHECKED_STEP_TOLERANCE)
    if first is None or first[1] is None:
        return None
    steps = target.solver.multistart.short_iterations
    solved = newton.solve(target, first[0].q, iterations=steps, **FINAL_OPTIONS)
    solved.settled[~first[0].settled] = False
    return solved


def _solve_rescaled(
    law: Law, observations: Observations, target: Target, way: Way, start: Array | None = None
) -> tuple[Target, NewtonResult, Counts]:
    """Solve every curve in units of its own size."""
    scaled = rescaled_curves(law, observations, target)
    if scaled is None:
        return way(law, observations, target, start)
    result, inside, moved = scaled
    tried, ends, starts = way(law, inside, moved, None if start is None else result.inwards(start))
    q = result.outwards(ends.q)
    target = replace(target, options={**result.options(tried.options, result.unit[:, None]), **target.options})
    kept = np.isfinite(np.where(target.coordinates.logs[:, None], np.exp(-np.abs(q)), q)).all(axis=0)
    if ends.settled.any():  # what can be computed in the data's own units may be past the range of numbers in these
        kept &= np.isfinite(target.value(q))
    return target, replace(ends, q=q, value=ends.value * result.share, settled=ends.settled & kept), starts


def _solve_curves(
    law: Law, observations: Observations, target: Target, start: Array | None, *, grid: bool
) -> tuple[Target, NewtonResult, Counts]:
    """Solve every curve, first by least squares where an option comes from what these leave."""
    if not target.objective.is_open(target.options):
        return _solve_given_starts(law, observations, target, start)
    squares = replace(target, objective=target.objective.as_squares(), options={})
    _, first, _, starts = solve_batch(law, observations, squares, start, grid=grid)
    if not grid and not first.settled.any():
        return target, first, starts
    if target.objective.robust:
        target, solved = threshold.with_threshold(target, first.q)
    else:
        target = threshold.with_width(target, first.q)
        solved = newton.solve(target, first.q, **FINAL_OPTIONS)
    if start is None:
        solved.settled[2 * starts[0] <= starts[1]] = False
    return target, solved, starts


def _solve_given_starts(
    law: Law, observations: Observations, target: Target, start: Array | None
) -> tuple[Target, NewtonResult, Counts]:
    """Solve every curve from its given start, two ways, and keep the better end."""
    assert start is not None
    way = newton.check_by_second_route if target.objective.scale == "residual" else newton.solve
    solved = way(target, start, iterations=target.solver.multistart.long_iterations)
    return target, solved, np.ones((2, start.shape[1]), dtype=np.int64)


def _leave_unsolved(
    law: Law, observations: Observations, target: Target, start: Array | None
) -> tuple[Target, NewtonResult, Counts]:
    """Leave every curve to who asks."""
    count = target.y.shape[0]
    return (
        target,
        newton.unsolved_result(np.zeros((len(target.coordinates.free), count))),
        np.zeros((2, count), dtype=np.int64),
    )


def _solve_from_grid(
    law: Law, observations: Observations, target: Target, start: Array | None
) -> tuple[Target, NewtonResult, Counts]:
    """Solve every curve from its best starts; nobody has settled where these do not agree."""
    starts = coarse_grid(law, observations, target)
    many, count = starts.shape[0], starts.shape[2]
    rows = np.tile(np.arange(count), many)
    gauss = np.full(rows.size, target.objective.scale == "residual")
    ends = newton.solve(
        target.take(rows),
        np.concatenate(list(starts), axis=1),
        iterations=target.solver.multistart.short_iterations,
        gauss=gauss,
        **FINAL_OPTIONS,
    )
    values = np.where(np.isfinite(ends.value), ends.value, np.inf).reshape(many, count)
    solved = ends.take(values.argmin(axis=0) * count + np.arange(count))
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(solved.value), target.unit())
        agree = (values <= solved.value + OPTIMUM_RTOL * size + target.rounding()).sum(axis=0)
    if many > 1:
        solved.settled[2 * agree <= many] = False
    return target, solved, np.array([agree, np.full(count, many)])
