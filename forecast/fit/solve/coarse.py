"""Starts for thousands of curves: one coarse grid for all, linear parameters profiled out for each."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.fit.kernels.general import program_of
from forecast.fit.problem.rescaling import held_by, rescaling
from forecast.fit.solve.starts import likely, linear_parameters, nonnegative, spread

if TYPE_CHECKING:
    from forecast.fit.data.padded import Padded
    from forecast.fit.problem.coordinates import Coordinates
    from forecast.laws import Law

__all__ = ["coarse"]

Array: TypeAlias = NDArray[np.float64]

#: Numbers the whole grid may cost, and the points it has at least and at most.
COST, LEAST, MOST = 40_000_000, 16, 512


def coarse(law: Law, seen: Padded, where: Coordinates, link: bool, count: int) -> Array:
    """Return the best starts of every curve, (count, k, B), in the solver's coordinates.

    Parameters
    ----------
    law : forecast.Law
    seen : Padded
    where : Coordinates
    link : bool
        The objective takes logarithms: residuals are then relative ones here.
    count : int
    """
    k, rows, n = len(where.free), *seen.y.shape
    finite = (np.isfinite(where.lower) & (where.lower != 0)) | np.isfinite(where.upper)
    linear = linear_parameters(law, seen.variables, where.free, where.fixed)
    lin = [where.free.index(p) for p in linear if not finite[where.free.index(p)]]
    rest = [i for i in range(k) if i not in lin]
    points = int(min(MOST, max(LEAST, COST // (rows * n * (2 + len(lin))))))
    grid = _grid(law, seen, where, rest, points) if rest else np.zeros((1, 0))
    losses, answers = np.full((len(grid), rows), np.inf), np.zeros((len(grid), len(lin), rows))
    program, order = program_of(law), list(law.parameters)
    with np.errstate(all="ignore"):
        scale = seen.weights / np.square(seen.y) if link else seen.weights
        plain = bool((scale == scale[0, 0]).all())
        squares = np.einsum("bn,bn,bn->b", scale, seen.y, seen.y)
        weighted = scale * seen.y
    for g, point in enumerate(grid):
        values: dict[str, Any] = {p: np.float64(v) for p, v in where.fixed.items()}
        values |= {p: np.zeros((1, 1)) for p in linear}
        values |= {where.free[i]: np.full((1, 1), v) for i, v in zip(rest, point, strict=True)}
        with np.errstate(all="ignore"):
            offset, slopes, _ = program.evaluate({**values, **seen.variables}, 1 if lin else 0)
            if not lin:
                losses[g] = np.einsum("bn,bn->b", scale, np.square(seen.y - offset))
                continue
            columns = [np.atleast_2d(slopes[order.index(where.free[i])]) for i in lin]
            wanted, total = weighted, squares
            if np.any(offset):
                left = seen.y - offset
                wanted, total = scale * left, np.einsum("bn,bn,bn->b", scale, left, left)
            answers[g], losses[g] = _profiled(columns, wanted, scale, plain, total, where.positive[lin])
    losses = np.where(np.isfinite(losses), losses, np.inf)
    best = np.argsort(losses, axis=0, kind="stable")[:count]
    natural = np.empty((len(best), k, rows))
    natural[:, rest] = np.moveaxis(grid[best], 2, 1)
    natural[:, lin] = np.take_along_axis(answers, best[:, None], axis=0)
    if len(rest) == 1 and len(grid) > 2 and lin and bool((grid > 0).all()):
        _between(natural[0], rest[0], lin, grid[:, 0], losses, answers, best[0])
    with np.errstate(all="ignore"):
        q = np.where(where.logs[:, None], np.log(np.where(where.logs[:, None], natural, 1.0)), natural)
    return np.asarray(np.clip(np.nan_to_num(q, nan=0.0), where.lower[:, None], where.upper[:, None]))


def _grid(law: Law, seen: Padded, where: Coordinates, rest: list[int], points: int) -> Array:
    """Return likely values of the parameters that are not linear as rows, in units of the data's own size."""
    scaling = rescaling(law, seen.variables, None if seen.options else seen.y, held_by(where))
    sizes = {name: 1.0 if scaling is None else scaling.factor(name) for name in law.variables}
    variables = {name: values / sizes[name] for name, values in seen.variables.items()}
    grid = spread(likely(law, where, rest, variables), np.random.default_rng(0), points)
    if scaling is None:
        return grid
    # exponents are what factors depend on, and they have none; of what is linear no factor is asked here
    values: dict[str, Any] = {**dict.fromkeys(where.free, 1.0), **where.fixed}
    values |= {where.free[i]: grid[:, j] for j, i in enumerate(rest)}
    factors = scaling.factors(values)
    return np.asarray(grid * np.stack([factors[where.free[i]] for i in rest], axis=1))


def _between(
    start: Array, i: int, lin: list[int], grid: Array, losses: Array, answers: Array, best: NDArray[np.int64]
) -> None:
    """Move each best start to the lowest point of the parabola through it and its neighbours on the grid."""
    order = np.argsort(grid)
    where, rows = np.argsort(order)[best], np.arange(best.size)
    inside = (where > 0) & (where < grid.size - 1)
    middle = np.clip(where, 1, grid.size - 2)
    sides = [order[middle + d] for d in (-1, 0, 1)]
    low, mid, high = (losses[s, rows] for s in sides)
    with np.errstate(all="ignore"):
        t = 0.5 * (low - high) / (low - 2 * mid + high)
    good = inside & np.isfinite(t) & (np.abs(t) <= 1)
    t = np.where(good, t, 0.0)

    def along(values: list[Array]) -> Array:
        a, b, c = values
        return np.asarray(b + 0.5 * t * (c - a) + 0.5 * t * t * (a - 2 * b + c))

    moved = np.exp(along([np.log(grid[s]) for s in sides]))
    start[i] = np.where(good, moved, start[i])
    for j, k in enumerate(lin):
        found = along([answers[s, j, rows] for s in sides])
        start[k] = np.where(good & (found * start[k] > 0), found, start[k])


def _profiled(
    columns: list[Array], wanted: Array, scale: Array, plain: bool, total: Array, positive: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Return the best linear parameters (m, B) and what is left of the squares (B,), for one point of the grid."""
    m, rows = len(columns), wanted.shape[0]

    def summed(column: Array, table: Array) -> Array:
        if column.shape[0] > 1:
            return np.asarray(np.einsum("bn,bn->b", column, table))
        return np.asarray(table @ np.broadcast_to(column[0], table.shape[1:]))

    side = np.array([summed(c, wanted) for c in columns])
    matrix = np.empty((m, m, rows))
    for i, j in itertools.combinations_with_replacement(range(m), 2):
        product = columns[i] * columns[j]
        whole = scale[0, 0] * np.broadcast_to(product, (len(product), wanted.shape[1])).sum(axis=1) if plain else None
        matrix[i, j] = matrix[j, i] = summed(product, scale) if whole is None else whole
    lengths = np.sqrt(matrix[range(m), range(m)])
    lengths = np.where(lengths > 0, lengths, 1.0)
    side, matrix = side / lengths, matrix / (lengths[:, None] * lengths[None])
    if m > 2:
        good = np.isfinite(matrix).all(axis=(0, 1)) & np.isfinite(side).all(axis=0)
        answer = np.full((m, rows), np.nan)
        answer[:, good] = nonnegative(np.moveaxis(matrix[:, :, good], 2, 0), side[:, good].T, positive).T
    elif m == 1:
        answer = np.maximum(side, 0.0) if positive[0] else side
    else:
        c = matrix[0, 1]
        inverse = 1.0 / (1.0 - c * c + 1e-13)
        answer = np.array([side[0] - c * side[1], side[1] - c * side[0]]) * inverse
        for one, other in ((0, 1), (1, 0)):
            if positive[one]:  # without the one that came out negative
                out = answer[one] < 0
                alone = np.maximum(side[other], 0.0) if positive[other] else side[other]
                answer[one, out], answer[other, out] = 0.0, alone[out]
    left = total - 2 * np.einsum("ib,ib->b", side, answer) + np.einsum("ib,ijb,jb->b", answer, matrix, answer)
    size = np.sqrt(np.abs(total))
    held = np.where(positive[:, None], np.maximum(answer, 1e-3 * size), answer)
    return held / lengths, left
