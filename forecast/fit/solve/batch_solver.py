"""The solver behind many curves: the best start of each, and what did not arrive from it tried again."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.fit.objectives.squares import Squares
from forecast.fit.problem.problem import kernel_for
from forecast.fit.problem.rescaling import rescaled_curves
from forecast.fit.problem.target import Target
from forecast.fit.sizes import LONG_SEARCH, OPTIMUM_RTOL, SHORT_SEARCH, STEP_TOLERANCE, UNCHECKED_STEP_TOLERANCE
from forecast.fit.solve import newton, threshold
from forecast.fit.solve.newton import NewtonResult
from forecast.fit.solve.separable import separated
from forecast.fit.solve.starts import coarse_grid

if TYPE_CHECKING:
    from collections.abc import Callable

    from forecast.fit.data.observations import Observations
    from forecast.fit.problem.coordinates import Coordinates
    from forecast.laws import Law

__all__ = ["solve_batch"]

Array: TypeAlias = NDArray[np.float64]

LAST: dict[str, Any] = {"tolerance": STEP_TOLERANCE, "blind": UNCHECKED_STEP_TOLERANCE}
#: Iterations in which most curves arrive; the others go on by themselves.
SOON = 12
#: Starts of a curve; most of them must agree, or the curve is searched as a single fit is.
STARTS = 4
#: What a walk over a whole grid counts as: more than one start.
GRID = 2


#: A way to solve curves: law, curves, coordinates, target, starts that were given -> target, ends, starts.
Way: TypeAlias = "Callable[[Law, Observations, Coordinates, Target, Array | None], tuple[Target, NewtonResult, Counts]]"
#: (2, B): how many starts led to an end, and how many there were.
Counts: TypeAlias = NDArray[np.int64]


def solve_batch(
    law: Law,
    seen: Observations,
    coordinates: Coordinates,
    target: Target,
    begun: Array | None = None,
    *,
    grid: bool = True,
) -> tuple[Target, NewtonResult, Array | None, Counts]:
    """Solve every curve.

    Parameters
    ----------
    law : forecast.Law
    seen : Observations
        The curves.
    coordinates : Coordinates
    target : Target
        What is minimised.
    begun : ndarray, optional
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
    otherwise = _started if grid else _untried
    if begun is not None or threshold.is_open(target):
        robust = functools.partial(_robust, grid=grid)
        target, solved, starts = _in_own_units(law, seen, coordinates, target, robust, begun)
        return target, solved, None, starts
    found = separated(law, seen, coordinates, target, UNCHECKED_STEP_TOLERANCE)
    form = None if found is None else found.form
    if found is not None:
        # of a walk over a grid every value was a start, and all led to one place
        solved, starts = found.solved, np.full((2, found.solved.value.size), 1 if form is None else GRID)
    elif (nearly := _from_relative(law, seen, coordinates, target)) is not None:
        solved, starts = nearly, np.full((2, nearly.value.size), GRID)
        left = np.flatnonzero(~solved.settled)
        if left.size:
            _, again, starts[:, left] = _in_own_units(law, seen.take(left), coordinates, target.take(left), otherwise)
            solved.put(again, left)
        return target, solved, None, starts
    else:
        target, solved, starts = _in_own_units(law, seen, coordinates, target, otherwise)
        return target, solved, None, starts
    bread, left = 0.5 * solved.hessian, np.flatnonzero(~solved.settled)
    bread[:, :, left] = np.nan
    if left.size and form is not None:
        at, rows = form.edges(target.take(left), left)
        again = newton.solve(target.take(left[rows]), at, *_ask(coordinates), iterations=SOON, **LAST)
        solved.put(again, left[rows])
        left = np.flatnonzero(~solved.settled)
    if left.size:
        _, again, starts[:, left] = _in_own_units(law, seen.take(left), coordinates, target.take(left), otherwise)
        solved.put(again, left)
    return target, solved, bread, starts


def _ask(coordinates: Coordinates) -> tuple[Array, Array, NDArray[np.bool_]]:
    return coordinates.lower, coordinates.upper, coordinates.logs


def _from_relative(law: Law, seen: Observations, coordinates: Coordinates, target: Target) -> NewtonResult | None:
    """Solve squares of logarithms from those of relative residuals, for laws that are linear in all but one parameter.

    Returns
    -------
    Solved or None
        None where the law or the objective is another.
    """
    if target.objective.scale != "residual" or not target.objective.log:
        return None
    y, weights = target.objective.nearby_squares(seen.y, seen.weights, target.options)
    kernel = kernel_for(coordinates.placement(law, seen.variables, link=False))
    relative = replace(target, kernel=kernel, objective=Squares("squares"), y=y, weights=weights)
    first = separated(law, seen, coordinates, relative, UNCHECKED_STEP_TOLERANCE)
    if first is None or first.form is None:
        return None
    solved = newton.solve(target, first.solved.q, *_ask(coordinates), iterations=SHORT_SEARCH, **LAST)
    solved.settled[~first.solved.settled] = False
    return solved


def _in_own_units(
    law: Law, seen: Observations, coordinates: Coordinates, target: Target, way: Way, begun: Array | None = None
) -> tuple[Target, NewtonResult, Counts]:
    """Solve every curve in units of its own size."""
    scaled = rescaled_curves(law, seen, coordinates, target)
    if scaled is None:
        return way(law, seen, coordinates, target, begun)
    made, inside, moved = scaled
    tried, ends, starts = way(law, inside, coordinates, moved, None if begun is None else made.inwards(begun))
    q = made.outwards(ends.q)
    target = replace(target, options={**made.options(tried.options, made.unit[:, None]), **target.options})
    kept = np.isfinite(np.where(coordinates.logs[:, None], np.exp(-np.abs(q)), q)).all(axis=0)
    if ends.settled.any():  # what can be computed in the data's own units may be past the range of numbers in these
        kept &= np.isfinite(target.value(q))
    return target, replace(ends, q=q, value=ends.value * made.share, settled=ends.settled & kept), starts


def _robust(
    law: Law, seen: Observations, coordinates: Coordinates, target: Target, begun: Array | None, *, grid: bool
) -> tuple[Target, NewtonResult, Counts]:
    """Solve every curve, first by least squares where an option comes from what these leave."""
    if not threshold.is_open(target):
        return _given(law, seen, coordinates, target, begun)
    squares = replace(target, objective=target.objective.as_squares(), options={})
    _, first, _, starts = solve_batch(law, seen, coordinates, squares, begun, grid=grid)
    if not grid and not first.settled.any():
        return target, first, starts
    if target.objective.robust:
        target, solved = threshold.with_threshold(target, first.q, coordinates)
    else:
        target = threshold.with_width(target, first.q)
        solved = newton.solve(target, first.q, *_ask(coordinates), **LAST)
    if begun is None:
        solved.settled[2 * starts[0] <= starts[1]] = False
    return target, solved, starts


def _given(
    law: Law, seen: Observations, coordinates: Coordinates, target: Target, begun: Array | None
) -> tuple[Target, NewtonResult, Counts]:
    """Solve every curve from its given start, two ways, and keep the better end."""
    assert begun is not None
    way = newton.check_by_second_route if target.objective.scale == "residual" else newton.solve
    solved = way(target, begun, *_ask(coordinates), iterations=LONG_SEARCH)
    return target, solved, np.ones((2, begun.shape[1]), dtype=np.int64)


def _untried(
    law: Law, seen: Observations, coordinates: Coordinates, target: Target, begun: Array | None
) -> tuple[Target, NewtonResult, Counts]:
    """Leave every curve to who asks."""
    count = target.y.shape[0]
    return target, newton.untried(np.zeros((len(coordinates.free), count))), np.zeros((2, count), dtype=np.int64)


def _started(
    law: Law, seen: Observations, coordinates: Coordinates, target: Target, begun: Array | None
) -> tuple[Target, NewtonResult, Counts]:
    """Solve every curve from its best starts; nobody has settled where these do not agree."""
    starts = coarse_grid(law, seen, coordinates, target.objective, STARTS)
    many, count = starts.shape[0], starts.shape[2]
    rows = np.tile(np.arange(count), many)
    gauss = np.full(rows.size, target.objective.scale == "residual")
    ends = newton.solve(
        target.take(rows),
        np.concatenate(list(starts), axis=1),
        *_ask(coordinates),
        iterations=SHORT_SEARCH,
        gauss=gauss,
        **LAST,
    )
    values = np.where(np.isfinite(ends.value), ends.value, np.inf).reshape(many, count)
    solved = ends.take(values.argmin(axis=0) * count + np.arange(count))
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(solved.value), target.unit())
        agree = (values <= solved.value + OPTIMUM_RTOL * size + target.rounding()).sum(axis=0)
    if many > 1:
        solved.settled[2 * agree <= many] = False
    return target, solved, np.array([agree, np.full(count, many)])
