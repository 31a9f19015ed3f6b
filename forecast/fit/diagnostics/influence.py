"""What each point does to a fit: the parameters without it, and whether chance alone puts a point so far off.

All points are left out by one Newton step at once. The few that move the fit most, or lie farthest off, are left out
for good: the fit without them is solved. How far a point lies off is judged by what the objective falls without it.
Over the scatter of the other points that is the square of the externally studentised residual, which has a t
distribution of n - k - 1 degrees of freedom (Cook and Weisberg, 1982, section 2.2); the worst of n points is judged by
Sidak's rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forecast.base import budgets
from forecast.base.arrays import Array, IntArray
from forecast.base.lazy import xr
from forecast.fit.data.residual_autocorrelation import error_inflation
from forecast.fit.fit import Fit
from forecast.fit.inference.profile import optimum, problem_of_fit, refute
from forecast.fit.inference.profile_endpoints import Optima
from forecast.fit.problem.problem import Problem
from forecast.fit.sizes import OPTIMUM_RTOL
from forecast.fit.solve import newton

#: A point decides a parameter if chance puts the worst of all points so far off with less than this probability (below
#: 5 %, so that a law that bends, whose residuals are not quite Student's, raises no more false alarms than that) ...
MAX_PROBABILITY = 0.04
#: ... and it moves the parameter by at least so many of its standard errors.
MIN_SHIFT = 0.25
#: Points whose step is taken exactly; and of those, how many that move most, and that lie farthest off, are left out.
MAX_STEPPED_POINTS, MAX_SOLVED_POINTS = 512, 8


@dataclass(frozen=True)
class Influence:
    """What leaving out each point does, along the points that have weight.

    Parameters
    ----------
    rows : ndarray of int
        From 0.
    names : tuple of str
        The free parameters.
    values, shifts : ndarray
        (k, n), the parameters without each point, and how far that moves them in standard errors of the fit.
    probability : ndarray
        (n,): with which the worst of all points lies so far off by chance; nan where nothing can judge it.
    """

    rows: IntArray
    names: tuple[str, ...]
    values: Array
    shifts: Array
    probability: Array

    @property
    def largest(self) -> Array:
        """The largest shift of each point, (n,)."""
        return np.asarray(np.abs(self.shifts).max(axis=0))

    def deciding(self) -> int | None:
        """Return the place of the point that decides a parameter, as no chance does; None where none does."""
        named = (self.probability < MAX_PROBABILITY) & (self.largest >= MIN_SHIFT)
        return int(np.lexsort((-self.largest, np.where(named, self.probability, np.inf)))[0]) if named.any() else None


def influence(fit: Fit) -> xr.Dataset:
    """Return what leaving out each point does; see `forecast.Fit.influence`."""
    found = influence_of_points(fit)
    columns = {n: ("row", found.values[j]) for j, n in enumerate(found.names)}
    columns |= {f"{n}_shift": ("row", found.shifts[j]) for j, n in enumerate(found.names)}
    columns |= {"largest": ("row", found.largest), "probability": ("row", found.probability)}
    told = {"shift": "in standard errors of the fit", "probability": "that the worst row lies so far off by chance"}
    return xr.Dataset(columns, coords={"row": found.rows + 1}, attrs=told)


def influence_of_points(fit: Fit) -> Influence:
    """Return what leaving out each point does, as arrays: xarray takes longer to import than all of this does."""
    problem = problem_of_fit(fit, "influence")
    optima = optimum(fit, problem)
    rows = np.flatnonzero(problem.weights > 0)
    moves, left = _first_order_shifts(problem, optima)[:, rows], np.full(rows.size, np.nan)
    scale_known = fit.solutions is not None and fit.solutions.curves.absolute_sigma
    errors = _standard_errors(problem, optima, scale_known=scale_known)
    stepped = np.sort(np.argsort(-_shift_in_errors(moves, errors), kind="stable")[:MAX_STEPPED_POINTS])
    moves[:, stepped], left[stepped] = _leave_one_out_steps(problem, optima, rows[stepped])
    order = [-_shift_in_errors(moves, errors), np.where(np.isnan(left), np.inf, left)]
    top = np.unique([np.argsort(by, kind="stable")[:MAX_SOLVED_POINTS] for by in order])
    if problem.n > problem.k + 1:
        moves[:, top], left[top] = _refit_without(problem, optima, rows[top])
        _check_optimum(fit, problem, optima, moves[:, top])
    with np.errstate(all="ignore"):
        shift = moves / errors[:, None]
    shift = np.where(np.isfinite(shift), shift, 0.0)
    lasting = 1.0 if fit.solutions is None else float(error_inflation(fit.solutions.correlation)[0])
    probability = _outlier_probability(problem, optima, left, lasting, scale_known=scale_known)
    return Influence(rows, problem.free, problem.natural((optima.q + moves).T).T, shift, probability)


def _outlier_probability(problem: Problem, optima: Optima, left: Array, lasting: float, *, scale_known: bool) -> Array:
    """Return with which probability the worst of the points lies so far off by chance, (n,).

    Parameters
    ----------
    problem : Problem
    optima : Optima
    left : ndarray
        (n,), the objective without each point.
    lasting : float
        By what standard errors grow because residuals follow each other.
    scale_known : bool
        The weights are one over known variances. A scatter that is larger than stated counts all the same.
    """
    from scipy.special import chdtrc, stdtr

    dof = problem.n - problem.k - 1
    if dof < 1 or problem.objective.scale == "sandwich":  # too few points, or no distribution to judge by
        return np.full(left.shape, np.nan)
    with np.errstate(all="ignore"):
        fallen, scatter = np.maximum(optima.value[0] - left, 0.0) / lasting**2, left / dof
        if problem.objective.scale == "known":
            alone = chdtrc(1, 2 * fallen)
        elif scale_known:
            alone = chdtrc(1, fallen / np.maximum(scatter, 1.0))
        else:
            alone = 2 * stdtr(dof, -np.sqrt(fallen / scatter))
        return np.asarray(-np.expm1(problem.n * np.log1p(-alone)))


def _check_optimum(fit: Fit, problem: Problem, optima: Optima, moves: Array) -> None:
    """Solve with all points from where the fits without one of them ended: what is better there is the optimum."""
    ends = newton.solve(problem.target(), optima.q + moves)
    best = int(np.argmin(ends.value))
    least = float(optima.value[0]) * (1 - OPTIMUM_RTOL) - problem.rounding()
    if ends.value[best] < least and fit.solutions is not None:
        refute(fit.solutions, 0, ends.q[:, best], float(ends.value[best]))


def _shift_in_errors(moves: Array, errors: Array) -> Array:
    with np.errstate(all="ignore"):
        size = np.abs(moves / errors[:, None])
    return np.asarray(np.where(np.isfinite(size), size, 0.0).max(axis=0))


def _slopes_and_derivatives(problem: Problem, optima: Optima) -> tuple[Array, Array]:
    """Return slopes (k, n) and weighted first derivatives of the loss (n,)."""
    target = optima.target
    state = target.kernel.at(optima.q)
    with np.errstate(all="ignore"):
        _, first, _ = problem.objective.losses(state.f, target.y, target.options)
    return target.kernel.jacobian(state)[:, 0], (first * problem.weights)[0]


def _first_order_shifts(problem: Problem, optima: Optima) -> Array:
    """Return to first order how the parameters move, (k, n)."""
    slopes, first = _slopes_and_derivatives(problem, optima)
    found = optima.inverse[:, :, 0] @ (slopes * first)
    return np.asarray(np.where(np.isfinite(found), found, 0.0))


def _leave_one_out_weights(problem: Problem, rows: IntArray) -> Array:
    weights = np.repeat(problem.weights[None], rows.size, axis=0)
    weights[np.arange(rows.size), rows] = 0.0
    return weights


def _leave_one_out_steps(problem: Problem, optima: Optima, rows: IntArray) -> tuple[Array, Array]:
    """Return the Newton step without each of the rows, (k, rows), and the objective that it leaves, (rows,)."""
    found, left = np.empty((problem.k, rows.size)), np.empty(rows.size)
    block = max(1, 2_000_000 // problem.weights.size)
    for first in range(0, rows.size, block):
        budgets.check_time("the influence of points", first, rows.size, "points")
        some = slice(first, first + block)
        target, at = (
            problem.target(_leave_one_out_weights(problem, rows[some])),
            np.repeat(optima.q, rows[some].size, axis=1),
        )
        value, g, h = target.evaluate(at)
        size = np.sqrt(np.abs(np.einsum("iib->ib", h)))
        size[size <= 0] = 1.0
        values, vectors = np.linalg.eigh(np.moveaxis(h / (size[:, None] * size[None]), 2, 0))
        across = np.einsum("bij,ib->bj", vectors, g / size) / np.maximum(np.abs(values), 1e-12)
        step = -np.einsum("bij,bj->ib", vectors, across) / size
        found[:, some] = np.where(np.isfinite(step), step, 0.0)
        left[some] = np.minimum(value, target.value(at + found[:, some]))
    return found, left


def _refit_without(problem: Problem, optima: Optima, rows: IntArray) -> tuple[Array, Array]:
    """Solve without each of the rows; return the moves, (k, rows), and the objective that is left, (rows,)."""
    begun = np.concatenate(
        [np.repeat(optima.q, rows.size, axis=1), optima.q + _leave_one_out_steps(problem, optima, rows)[0]], axis=1
    )
    weights = np.concatenate([_leave_one_out_weights(problem, rows)] * 2)
    solved = newton.solve(problem.target(weights), begun)
    best = np.arange(rows.size)
    best += np.where(solved.value[rows.size :] < solved.value[: rows.size], rows.size, 0)
    return solved.q[:, best] - optima.q, solved.value[best]


def _standard_errors(problem: Problem, optima: Optima, *, scale_known: bool) -> Array:
    """Return standard errors in the solver's coordinates, (k,)."""
    spread = np.einsum("iib->ib", optima.inverse)[:, 0]
    if problem.objective.scale == "known":
        return np.asarray(np.sqrt(spread))
    if problem.objective.scale == "residual":
        return np.asarray(
            np.sqrt(2 * spread * (1.0 if scale_known else optima.value[0] / max(problem.n - problem.k, 1)))
        )
    slopes, first = _slopes_and_derivatives(problem, optima)
    bread = optima.inverse[:, :, 0]
    meat = (slopes * first**2) @ slopes.T
    with np.errstate(invalid="ignore"):  # rounding may leave a variance below 0 where columns are collinear
        return np.asarray(np.sqrt(np.diag(bread @ meat @ bread)))
