"""What each point does to a fit: the parameters without it, by one Newton step for every point at once.

The few points that move the fit most are left out for good: the fit without them is solved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.base import budgets
from forecast.base.lazy import xr
from forecast.fit.inference.profile import optimum, problem_of_fit, refute
from forecast.fit.sizes import OPTIMUM_RTOL
from forecast.fit.solve import newton

if TYPE_CHECKING:
    from forecast.fit.fit import Fit
    from forecast.fit.inference.profile_endpoints import Optima
    from forecast.fit.problem.problem import Problem

__all__ = ["MOVES", "Influence", "influence", "influences"]

Array: TypeAlias = NDArray[np.float64]

#: A point that moves a parameter by more standard errors than this (those without it) is pointed out.
MOVES = 3.0
#: Points whose step is taken exactly, and those that are left out for good.
CLOSER, SOLVED = 512, 8


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
        (k, n), the parameters without each point, and how far that moves them in standard errors.
    """

    rows: NDArray[np.int64]
    names: tuple[str, ...]
    values: Array
    shifts: Array

    @property
    def largest(self) -> Array:
        """The largest shift of each point, (n,)."""
        return np.asarray(np.abs(self.shifts).max(axis=0))


def influence(fit: Fit) -> xr.Dataset:
    """Return what leaving out each point does; see `forecast.Fit.influence`."""
    found = influences(fit)
    columns = {n: ("row", found.values[j]) for j, n in enumerate(found.names)}
    columns |= {f"{n}_shift": ("row", found.shifts[j]) for j, n in enumerate(found.names)}
    columns["largest"] = ("row", found.largest)
    told = {"shift": "in standard errors of the fit without it"}
    return xr.Dataset(columns, coords={"row": found.rows + 1}, attrs=told)


def influences(fit: Fit) -> Influence:
    """Return what leaving out each point does, as arrays: xarray takes longer to import than all of this does."""
    problem = problem_of_fit(fit, "influence")
    optima = optimum(fit, problem)
    rows = np.flatnonzero(problem.weights > 0)
    moves = _first(problem, optima)[:, rows]
    errors = _errors(problem, optima, np.zeros(1, dtype=int))[:, 0]
    closer = np.sort(np.argsort(-_size(moves, errors), kind="stable")[:CLOSER])
    moves[:, closer] = _step(problem, optima, rows[closer])
    top = np.argsort(-_size(moves, errors), kind="stable")[:SOLVED]
    scale = np.ones(rows.size)
    if problem.n > problem.k + 1:
        for i, (moved, shrunk) in zip(top, _without(problem, optima, rows[top]), strict=True):
            moves[:, i], scale[i] = moved, shrunk
        _check_optimum(fit, problem, optima, moves[:, top])
    with np.errstate(all="ignore"):
        shift = moves / (errors[:, None] * scale)
    shift = np.where(np.isfinite(shift), shift, 0.0)
    return Influence(rows, problem.free, problem.natural((optima.q + moves).T).T, shift)


def _check_optimum(fit: Fit, problem: Problem, optima: Optima, moves: Array) -> None:
    """Solve with all points from where the fits without one of them ended: what is better there is the optimum."""
    ends = newton.solve(problem.target(), optima.q + moves, problem.lower, problem.upper, problem.logs)
    best = int(np.argmin(ends.value))
    least = float(optima.value[0]) * (1 - OPTIMUM_RTOL) - problem.rounding()
    if ends.value[best] < least and fit.solutions is not None:
        refute(fit.solutions, 0, ends.q[:, best], float(ends.value[best]))


def _size(moves: Array, errors: Array) -> Array:
    with np.errstate(all="ignore"):
        size = np.abs(moves / errors[:, None])
    return np.asarray(np.where(np.isfinite(size), size, 0.0).max(axis=0))


def _pieces(problem: Problem, optima: Optima) -> tuple[Array, Array]:
    """Return slopes (k, n) and weighted first derivatives of the loss (n,)."""
    target = optima.target
    state = target.kernel.at(optima.q)
    with np.errstate(all="ignore"):
        _, first, _ = problem.objective.pointwise(state.f, target.y, target.options)
    return target.kernel.jacobian(state)[:, 0], (first * problem.weights)[0]


def _first(problem: Problem, optima: Optima) -> Array:
    """Return to first order how the parameters move, (k, n)."""
    slopes, first = _pieces(problem, optima)
    found = optima.inverse[:, :, 0] @ (slopes * first)
    return np.asarray(np.where(np.isfinite(found), found, 0.0))


def _weights(problem: Problem, rows: NDArray[np.int64]) -> Array:
    weights = np.repeat(problem.weights[None], rows.size, axis=0)
    weights[np.arange(rows.size), rows] = 0.0
    return weights


def _step(problem: Problem, optima: Optima, rows: NDArray[np.int64]) -> Array:
    """Return the Newton step without each of the rows, (k, rows)."""
    found = np.empty((problem.k, rows.size))
    block = max(1, 2_000_000 // problem.weights.size)
    for first in range(0, rows.size, block):
        budgets.check_time("the influence of points", first, rows.size, "points")
        some = rows[first : first + block]
        _, g, h = problem.target(_weights(problem, some)).evaluate(np.repeat(optima.q, some.size, axis=1))
        size = np.sqrt(np.abs(np.einsum("iib->ib", h)))
        size[size <= 0] = 1.0
        values, vectors = np.linalg.eigh(np.moveaxis(h / (size[:, None] * size[None]), 2, 0))
        across = np.einsum("bij,ib->bj", vectors, g / size) / np.maximum(np.abs(values), 1e-12)
        found[:, first : first + block] = -np.einsum("bij,bj->ib", vectors, across) / size
    return np.where(np.isfinite(found), found, 0.0)


def _without(problem: Problem, optima: Optima, rows: NDArray[np.int64]) -> list[tuple[Array, float]]:
    """Solve without each of the rows; return the moves, and by how much the residual scale changes."""
    begun = np.concatenate([np.repeat(optima.q, rows.size, axis=1), optima.q + _step(problem, optima, rows)], axis=1)
    weights = np.concatenate([_weights(problem, rows)] * 2)
    solved = newton.solve(problem.target(weights), begun, problem.lower, problem.upper, problem.logs)
    found = []
    for i in range(rows.size):
        best = i if not solved.value[i + rows.size] < solved.value[i] else i + rows.size
        ratio = 1.0
        if problem.objective.scale == "residual" and optima.value[0] > 0 and problem.n - problem.k > 1:
            before = float(optima.value[0]) / (problem.n - problem.k)
            ratio = float(np.sqrt(solved.value[best] / (problem.n - problem.k - 1) / before))
        found.append((solved.q[:, best] - optima.q[:, 0], min(max(ratio, 1e-9), 1.0)))
    return found


def _errors(problem: Problem, optima: Optima, which: NDArray[np.int64]) -> Array:
    """Return standard errors in the solver's coordinates."""
    spread = np.einsum("iib->ib", optima.inverse)[:, which]
    if problem.objective.scale == "known":
        return np.asarray(np.sqrt(spread))
    if problem.objective.scale == "residual":
        return np.asarray(np.sqrt(2 * spread * optima.value[which] / max(problem.n - problem.k, 1)))
    slopes, first = _pieces(problem, optima)
    bread = optima.inverse[:, :, 0]
    meat = (slopes * first**2) @ slopes.T
    with np.errstate(invalid="ignore"):  # rounding may leave a variance below 0 where columns are collinear
        return np.asarray(np.sqrt(np.diag(bread @ meat @ bread)))[:, None]
