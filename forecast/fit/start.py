"""Where to start: a coarse grid over what is nonlinear, with what is linear profiled out.

The grid is deterministic and knows nothing of the law but its bounds, its variables and which of its parameters it is
linear in; where it would be too large, a seeded share of it is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from forecast.fit.solver import Array, Problem

if TYPE_CHECKING:
    from forecast.laws import Law

__all__ = ["linear_parameters", "starts"]

#: Sizes an exponent or a shape parameter is likely to have.
SIZES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 15.0])
#: Points of the grid that are looked at, and numbers handled at once.
POINTS, CELLS = 1536, 1_000_000


def linear_parameters(
    law: Law, variables: Mapping[str, Array], free: tuple[str, ...], fixed: Mapping[str, float]
) -> tuple[str, ...]:
    """Return parameters in which, taken together, the law is linear: moving them changes none of their derivatives."""
    rng = np.random.default_rng(20)
    index = {name: i for i, name in enumerate(law.parameters)}
    base = {**fixed, **{name: float(v) for name, v in zip(free, rng.uniform(0.3, 0.9, len(free)), strict=True)}}
    some = {name: values[:: max(1, values.size // 16)][:16] for name, values in variables.items()}

    def slopes(parameters: Mapping[str, float]) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(law.jacobian(parameters, **some), dtype=float)

    before = slopes(base)
    chosen: list[str] = []
    for name in free:
        tried = [*chosen, name]
        moved = {**base, **{n: base[n] + float(rng.uniform(0.3, 0.9)) for n in tried}}
        rows = [index[n] for n in tried]
        a, b = before[rows], slopes(moved)[rows]
        if np.isfinite(a).all() and np.isfinite(b).all() and np.allclose(a, b, rtol=1e-9, atol=0):
            chosen = tried
    return tuple(chosen)


def _scales(variables: Mapping[str, Array]) -> list[float]:
    """Return factors a parameter may be measured in: 1, a variable's typical size, or one over it."""
    found = [1.0]
    for values in variables.values():
        sizes = np.abs(values[values != 0])
        if sizes.size:
            typical = float(np.exp(np.mean(np.log(sizes))))
            for factor in (typical, 1 / typical):
                if np.isfinite(factor) and not any(1 / 3 < factor / f < 3 for f in found):
                    found.append(factor)
    return found


def _candidates(problem: Problem, i: int, scales: list[float]) -> Array:
    low, high = problem.lower[i], problem.upper[i]
    if problem.logs[i]:
        with np.errstate(over="ignore"):
            low, high = np.exp(low), np.exp(high)
    if np.isfinite(low) and np.isfinite(high) and not (problem.logs[i] and low > 0 and high / low > 100):
        return np.asarray(np.linspace(low, high, 14)[1:-1])
    if np.isfinite(low) and np.isfinite(high):
        return np.asarray(np.geomspace(low, high, 14)[1:-1])
    values = np.concatenate([SIZES * s for s in scales])
    if not problem.logs[i]:
        values = np.concatenate([values, -values])
    values = values[(values > low) & (values < high)]
    if values.size:
        return np.asarray(values)
    return np.array([low + 1.0 if np.isfinite(low) else high - 1.0])


def _grid(lists: list[Array], rng: np.random.Generator) -> Array:
    """Return the full product of the lists, or a random share of it, as rows."""
    total = float(np.prod([len(v) for v in lists]))
    if total <= POINTS:
        return np.array(np.meshgrid(*lists, indexing="ij"), dtype=float).reshape(len(lists), -1).T
    return np.array([rng.choice(v, POINTS) for v in lists], dtype=float).T


def _values(problem: Problem, table: Array) -> Array:
    """Return the law at the points for each row of natural parameters, (rows, n); by one call where it broadcasts."""
    shape = (len(table), problem.observed.size)
    columns = {name: table[:, [j]] for j, name in enumerate(problem.free)}
    parameters = {n: columns[n] if n in columns else problem.fixed[n] for n in problem.law.parameters}
    with np.errstate(all="ignore"):
        try:
            together = np.asarray(problem.law.value(parameters, **problem.variables), dtype=float)
            return np.broadcast_to(together, shape)
        except Exception:  # a law that is a program need not broadcast: one row at a time then
            return np.array([problem.predicted(row) for row in table])


def starts(problem: Problem, *, best: int = 4, seed: int = 0) -> list[Array]:
    """Return the most promising starts in the solver's coordinates, best first.

    Parameters
    ----------
    problem : Problem
    best : int
        How many.
    seed : int
        Chooses among grids too large to walk; the same seed gives the same starts.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0x57A27,)))
    linear = linear_parameters(problem.law, problem.variables, problem.free, problem.fixed)
    linear = tuple(n for n in linear if not _bounded_away(problem, n))
    lin = [problem.free.index(n) for n in linear]
    rest = [i for i in range(problem.k) if i not in lin]
    scales = _scales(problem.variables)
    points = _grid([_candidates(problem, i, scales) for i in rest], rng) if rest else np.zeros((1, 0))
    table = np.zeros((len(points), problem.k))
    table[:, rest] = points
    step = max(1, CELLS // max(problem.observed.size * (len(lin) + 1), 1))
    costs = np.empty(len(points))
    for first in range(0, len(points), step):
        part = slice(first, first + step)
        _profile(problem, table[part], lin)
        predicted = _values(problem, table[part])
        residuals = problem.objective.residuals(problem.observed, predicted)
        with np.errstate(over="ignore", invalid="ignore"):
            costs[part] = np.sum(problem.weights * residuals**2, axis=1)
    order = np.argsort(np.where(np.isfinite(costs), costs, np.inf), kind="stable")
    chosen: list[Array] = []
    for row in order:
        if not np.isfinite(costs[row]) or len(chosen) == best:
            break
        u = np.clip(problem.internal(table[row]), problem.lower, problem.upper)
        if all(np.max(np.abs(u - other)) > 0.2 for other in chosen):
            chosen.append(u)
    return chosen


def _bounded_away(problem: Problem, name: str) -> bool:
    """Tell whether a linear parameter has bounds other than a sign, so that profiling could leave them."""
    i = problem.free.index(name)
    return bool(np.isfinite(problem.lower[i]) or np.isfinite(problem.upper[i]))


def _profile(problem: Problem, table: Array, lin: list[int]) -> None:
    """Fill the columns `lin` of `table` with the best linear parameters for each row.

    Log residuals are approximated by relative ones.
    """
    if not lin:
        return
    from scipy.optimize import nnls

    offset = _values(problem, table)
    design = np.empty((len(table), problem.observed.size, len(lin)))
    for j, i in enumerate(lin):
        unit = table.copy()
        unit[:, i] = 1.0
        with np.errstate(invalid="ignore"):
            design[:, :, j] = _values(problem, unit) - offset
    with np.errstate(all="ignore"):
        scale = np.sqrt(problem.weights) / (problem.observed if problem.objective.log else 1.0)
        target = (problem.observed - offset) * scale
        design = design * scale[None, :, None]
        lengths = np.linalg.norm(design, axis=1)
    good = np.isfinite(design).all(axis=(1, 2)) & np.isfinite(target).all(axis=1)
    positive = problem.logs[lin]
    for row in np.flatnonzero(good):
        length = np.where(lengths[row] > 0, lengths[row], 1.0)
        matrix = design[row] / length
        if positive.any():
            # a parameter of either sign is the difference of two that are not negative
            split = np.hstack([matrix, -matrix[:, ~positive]])
            try:
                found = nnls(split.T @ split + 1e-13 * np.eye(split.shape[1]), split.T @ target[row])[0]
            except RuntimeError:
                continue
            answer = found[: len(lin)].copy()
            answer[~positive] -= found[len(lin) :]
        else:
            answer = np.linalg.lstsq(matrix, target[row], rcond=None)[0]
        answer = answer / length
        # a start in logs needs something to hold on to
        floor = 1e-3 * np.linalg.norm(target[row]) / np.where(lengths[row] > 0, lengths[row], np.inf)
        table[row, lin] = np.where(positive, np.maximum(answer, np.maximum(floor, 1e-300)), answer)
