"""Laws that are linear in all their parameters: least squares solved directly, one data set or thousands.

The columns of the law are brought to length one and made orthogonal twice over (Gram and Schmidt, modified), which is
as exact as Householder's reflections; so the scale of a variable does not matter. Bounds are kept by an active set:
what leaves its bounds is put on them, what the squares pull back inside is let go. The answer is the global optimum:
there is nothing to search. Robust losses start from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.fit.kernels.general import program_of
from forecast.fit.problem.problem import Problem, Target
from forecast.fit.sizes import CHUNK_ELEMENTS
from forecast.fit.solve.newton import NewtonResult
from forecast.fit.solve.starts import linear_parameters

if TYPE_CHECKING:
    from forecast.fit.objectives.objective import Objective
    from forecast.laws import Law


#: A column of which the others leave no more than this share is their combination.
DEPENDENCE_RTOL = 1e-13


def curves_solved(law: Law, variables: Mapping[str, Array], target: Target) -> NewtonResult | None:
    """Solve every curve; None where law or objective are not linear least squares.

    Parameters
    ----------
    law : forecast.Law
    variables : mapping of str to ndarray
    target : Target
        Of curves, (B, n).

    Returns
    -------
    Solved or None
        Not settled where columns depend on each other, or where a parameter solved in its logarithm is 0.
    """
    coordinates = target.coordinates
    if not _is_linear(law, target.objective, variables, coordinates.free, coordinates.fixed):
        return None
    offset, columns = _offset_and_slopes(law, variables, coordinates.free, coordinates.fixed)
    k, (count, n) = len(coordinates.free), target.y.shape
    q, value, hessian = np.zeros((k, count)), np.full(count, np.inf), np.zeros((k, k, count))
    settled = np.zeros(count, dtype=bool)
    size = max(16, CHUNK_ELEMENTS // n)
    weights = np.atleast_2d(target.weights)
    lower, upper = coordinates.natural(coordinates.lower), coordinates.natural(coordinates.upper)
    for first in range(0, count, size):
        rows = slice(first, min(first + size, count))
        some = [_some(c, rows) for c in columns]
        left, w = target.y[rows] - _some(offset, rows), _some(weights, rows)
        p, _ = bounded_squares(some, left, w, lower, upper)
        part = coordinates.internal(p.T).T
        good = np.isfinite(part).all(axis=0)
        with np.errstate(all="ignore"):
            residual = left - sum(c * b[:, None] for c, b in zip(some, p, strict=True))
            value[rows] = np.einsum("bn,bn,bn->b", residual, np.broadcast_to(w, residual.shape), residual)
            moved = [c * b[:, None] if log else c for c, b, log in zip(some, p, coordinates.logs, strict=True)]
            for i in range(k):
                weighted = w * moved[i]
                for j in range(i + 1):
                    hessian[i, j, rows] = hessian[j, i, rows] = 2 * np.sum(weighted * moved[j], axis=-1)
        q[:, rows] = np.where(good, part, 0.0)
        settled[rows] = good & np.isfinite(value[rows])
    value[~settled] = np.inf
    return NewtonResult(q=q, value=value, settled=settled, iterations=np.ones(count, dtype=np.int64), hessian=hessian)


def solved_directly(problem: Problem) -> Array | None:
    """Return the least-squares answer of one data set; None where law or objective are not linear least squares.

    A robust loss is answered as least squares: that is where its search starts.
    """
    if problem.errs_in_x:
        return None
    solved = curves_solved(problem.law, problem.variables, replace(problem.target(), y=problem.y[None]))
    if solved is None or not solved.settled[0]:
        return None
    return np.clip(solved.q[:, 0], problem.lower, problem.upper)


def bounded_squares(
    columns: list[Array], left: Array, weights: Array, lower: Array, upper: Array
) -> tuple[Array, BoolArray]:
    """Return the coefficients of least weighted squares within bounds, (k, B), and which of them stand on a bound.

    Parameters
    ----------
    columns : list of ndarray
        (1, n) or (B, n) each.
    left, weights : ndarray
        (B, n), and (1, n) or (B, n).
    lower, upper : ndarray
        (k,).

    Returns
    -------
    ndarray
        nan where columns depend on each other.
    ndarray of bool
        (k, B).
    """
    root = np.sqrt(weights)
    with np.errstate(all="ignore"):
        table, target = [root * c for c in columns], root * left
        answer = _least_squares(table, target)
    on_bounds = np.zeros(answer.shape, dtype=bool)
    low, high = lower[:, None], upper[:, None]
    rows = np.flatnonzero(((answer < low) | (answer > high)).any(axis=0))
    for _ in range(4 * len(columns)):
        if not rows.size:
            break
        some, aim = [_some(c, rows) for c in table], target[rows]
        place = np.where(on_bounds[:, rows] | (answer[:, rows] < low) | (answer[:, rows] > high), 1.0, 0.0)
        fixed = place > 0
        at = np.where(fixed, np.clip(answer[:, rows], low, high), 0.0)
        with np.errstate(all="ignore"):
            rest = aim - sum(c * b[:, None] for c, b in zip(some, at, strict=True))
            moved = np.where(fixed, at, _least_squares(some, rest, fixed))
            final = aim - sum(c * b[:, None] for c, b in zip(some, moved, strict=True))
            pull = np.array([np.sum(c * final, axis=-1) for c in some])  # downhill is where this points
        outside = ((moved < low) | (moved > high)).any(axis=0)
        release = fixed & (((at <= low) & (pull > 0)) | ((at >= high) & (pull < 0))) & ~outside
        sizes = np.array([np.linalg.norm(c, axis=-1) * np.linalg.norm(aim, axis=-1) for c in some])
        release &= np.abs(pull) > DEPENDENCE_RTOL * sizes
        answer[:, rows], on_bounds[:, rows] = moved, fixed & ~release
        rows = rows[outside | release.any(axis=0)]
    answer[:, rows] = np.nan  # the set goes round in circles: the general search decides
    return answer, on_bounds


def _least_squares(table: list[Array], target: Array, out: BoolArray | None = None) -> Array:
    """Return the answer of weighted columns and observations, (k, B); what is marked in `out`, (k, B), has none."""
    k, count = len(table), len(target)
    if out is not None:
        table = [np.where(gone[:, None], 0.0, column) for column, gone in zip(table, out, strict=True)]
    lengths = np.array([np.broadcast_to(_length(c), count) for c in table])
    lengths = np.where(lengths > 0, lengths, 1.0)
    upper, answer = np.zeros((k, k, count)), np.zeros((k, count))
    basis: list[Array] = []
    left = target
    for i, column in enumerate(table):
        unit = column / (lengths[i, :1] if len(column) == 1 else lengths[i])[:, None]
        for _ in range(2):
            for j, other in enumerate(basis):
                shadow = _dot(other, unit)
                upper[j, i] += shadow
                unit = unit - shadow[:, None] * other
        size = _length(unit)
        gone = np.zeros(count, dtype=bool) if out is None else out[i]
        upper[i, i] = np.where(gone, 1.0, np.where(size > DEPENDENCE_RTOL, size, np.nan))
        basis.append(unit / np.where(size > DEPENDENCE_RTOL, size, 1.0)[:, None])
        answer[i] = _dot(basis[i], left)
        left = left - answer[i][:, None] * basis[i]
    for i in reversed(range(k)):
        for j in range(i + 1, k):
            answer[i] -= upper[i, j] * answer[j]
        answer[i] /= upper[i, i]
    return np.asarray(answer / lengths)


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("bn,bn->b", *np.broadcast_arrays(a, b)))


def _length(table: Array) -> Array:
    return np.asarray(np.sqrt(_dot(table, table)))


def _is_linear(
    law: Law, objective: Objective, variables: Mapping[str, Array], free: tuple[str, ...], fixed: Mapping[str, float]
) -> bool:
    if objective.log or not objective.convex or law.levels:
        return False
    return set(linear_parameters(law, variables, free, fixed)) >= set(free)


def _offset_and_slopes(
    law: Law, variables: Mapping[str, Array], free: tuple[str, ...], fixed: Mapping[str, float]
) -> tuple[Array, list[Array]]:
    """Return what a linear law is with all its free parameters 0, and the slopes by them, each (1, n) or (B, n)."""
    values: dict[str, Any] = {**{p: np.float64(v) for p, v in fixed.items()}, **{p: np.zeros((1, 1)) for p in free}}
    n = next(iter(variables.values())).shape[-1]
    with np.errstate(all="ignore"):
        offset, slopes, _ = program_of(law).evaluate({**values, **variables}, 1)
    order = list(law.parameters)

    def table(part: Any) -> Array:
        values = np.atleast_2d(np.asarray(part, dtype=float))
        return np.broadcast_to(values, (len(values), n))

    return table(offset), [table(slopes[order.index(name)]) for name in free]


def _some(table: Array, rows: Any) -> Array:
    return table if len(table) == 1 else table[rows]
