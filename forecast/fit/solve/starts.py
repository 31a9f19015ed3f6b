"""Where to start: a grid over what is nonlinear, with what is linear profiled out.

The grid is deterministic and knows nothing of the law but its bounds, its variables, which of its parameters it is
linear in and which are exponents; where it would be too large, a Halton sequence takes a share of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.base import budgets
from forecast.fit.kernels.general import program_of
from forecast.fit.problem.rescaling import typical
from forecast.formula import tree
from forecast.formula.tree import Binary, Name, Node

if TYPE_CHECKING:
    from forecast.fit.problem.coordinates import Coordinates
    from forecast.fit.problem.problem import Problem
    from forecast.laws import Law

__all__ = [
    "Grid",
    "exponents",
    "likely",
    "linear_parameters",
    "nonnegative",
    "profiled",
    "spread",
]

Array: TypeAlias = NDArray[np.float64]

#: Sizes a shape parameter is likely to have.
SIZES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 15.0])
#: Sizes an exponent is likely to have; and where there are many of them, as in a law with breaks.
EXPONENTS, MANY = np.geomspace(0.05, 2.0, 8), np.geomspace(0.02, 15.0, 12)
#: How far beyond the data, in lengths of their range, what is subtracted from a variable may lie.
BEYOND = np.array([0.1, 0.5, 2.0, 10.0])
#: Points of the grid that are looked at, and numbers handled at once.
POINTS, CELLS = 1536, 1_000_000
#: Two starts are different if a coordinate differs by this much.
APART = 0.2


def linear_parameters(
    law: Law, variables: Mapping[str, Array], free: tuple[str, ...], fixed: Mapping[str, float]
) -> tuple[str, ...]:
    """Return parameters in which, taken together, the law is linear; of code, where moving them shows it to be."""
    if law._plain.expression is not None:
        return tuple(name for name in law.linear if name in free)
    rng = np.random.default_rng(20)
    index = {name: i for i, name in enumerate(law.parameters)}
    base = {**fixed, **{name: float(v) for name, v in zip(free, rng.uniform(0.3, 0.9, len(free)), strict=True)}}
    some = {name: v.ravel()[:: max(1, v.size // 16)][:16] for name, v in variables.items()}

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


def exponents(law: Law) -> set[str]:
    """Return the parameters that are powers to which something is raised: they have no unit."""
    if law.expression is None:
        return set()
    found: set[str] = set()

    def look(node: Node) -> None:
        if isinstance(node, Binary) and node.op == "**":
            names = {part.name for part in tree.walk(node.right) if isinstance(part, Name)}
            if not names & set(law.variables):
                found.update(names)
        for part in tree.children(node):
            look(part)

    look(law.formula.root)
    return found & set(law.parameters)


def shifts(law: Law, variables: Mapping[str, Array]) -> dict[str, Array]:
    """Return places for parameters that are subtracted from, added to or divide a variable: where it has data."""
    if law.expression is None:
        return {}
    found: dict[str, Array] = {}
    for node in tree.walk(law.formula.root):
        if not (isinstance(node, Binary) and node.op in "+-/"):
            continue
        for name, other in ((node.right, node.left), (node.left, node.right)):
            inside = {part.name for part in tree.walk(other) if isinstance(part, Name)}
            if isinstance(name, Name) and name.name in law.parameters and inside and inside <= set(law.variables):
                along = np.asarray(tree.evaluate(other, variables), dtype=float)
                if node.op == "/":
                    if name is node.right and bool((along > 0).all()):
                        found[name.name] = np.geomspace(float(along.min()), float(along.max()), 14)[1:-1]
                    continue
                low, high = float(np.min(along)), float(np.max(along))
                beyond = BEYOND * (high - low)
                places = np.concatenate([low - beyond[::-1], np.linspace(low, high, 14)[1:-1], high + beyond])
                found[name.name] = -places if node.op == "+" else places
    return found


def scales_of(variables: Mapping[str, Array]) -> list[float]:
    """Return factors a parameter may be measured in: 1, a variable's typical size or its spread, or one over these."""
    found = [1.0]
    for values in variables.values():
        size, spread_ = typical(values), float(np.ptp(values)) / 2
        for factor in (size, 1 / size, spread_, 1 / spread_ if spread_ else 1.0):
            if 0 < factor < np.inf and not any(1 / 3 < factor / f < 3 for f in found):
                found.append(factor)
    return found


def likely(law: Law, where: Problem | Coordinates, rest: list[int], variables: Mapping[str, Array]) -> list[Array]:
    """Return likely values of some of the free parameters, as the law has them."""
    plain = law._plain
    seen = {n: variables[n] for n in plain.variables}
    powers, places, scales = exponents(plain), shifts(plain, seen), scales_of(seen)
    sizes = EXPONENTS if len(rest) < 3 else MANY
    names = [law._role(where.free[i]) for i in rest]
    return [
        _candidates(where, i, scales, sizes if name in powers else None, places.get(name))
        for i, name in zip(rest, names, strict=True)
    ]


def _candidates(
    problem: Problem | Coordinates, i: int, scales: list[float], power: Array | None, places: Array | None
) -> Array:
    low, high = problem.lower[i], problem.upper[i]
    if problem.logs[i]:
        with np.errstate(over="ignore"):
            low, high = np.exp(low), np.exp(high)
    if np.isfinite(low) and np.isfinite(high) and not (problem.logs[i] and low > 0 and high / low > 100):
        return np.asarray(np.linspace(low, high, 14)[1:-1])
    if np.isfinite(low) and np.isfinite(high):
        return np.asarray(np.geomspace(low, high, 14)[1:-1])
    values = power if power is not None else np.concatenate([SIZES * s for s in scales])
    if places is not None and np.isfinite(places).all():
        values = np.concatenate([values, places]) if problem.logs[i] and not (places > 0).all() else places
    elif not problem.logs[i]:
        values = np.concatenate([values, -values])
    values = values[(values > low) & (values < high)]
    if values.size:
        return np.asarray(values)
    return np.array([low + 1.0 if np.isfinite(low) else high - 1.0])


def halton(count: int, dimensions: int, shift: Array) -> Array:
    """Return a Halton sequence in the unit cube, shifted modulo 1: even cover, and more of it is the same and more."""
    primes = [p for p in range(2, 200) if all(p % d for d in range(2, int(p**0.5) + 1))]
    found = np.zeros((count, dimensions))
    for d in range(dimensions):
        base, index, factor = primes[d % len(primes)], np.arange(1, count + 1), 1.0
        while index.any():
            factor /= base
            found[:, d] += factor * (index % base)
            index //= base
    return np.asarray((found + shift) % 1.0)


def spread(lists: list[Array], rng: np.random.Generator, points: int) -> Array:
    """Return the full product of the lists, or an even share of it, as rows."""
    if math.prod(len(v) for v in lists) <= points:
        return np.array(np.meshgrid(*lists, indexing="ij"), dtype=float).reshape(len(lists), -1).T
    share = halton(points, len(lists), rng.random(len(lists)))
    columns = []
    for values, u in zip(lists, share.T, strict=True):
        # between the candidates too: a shape parameter need not be one of a dozen sizes
        place = u * (len(values) - 1)
        below = np.minimum(place.astype(int), max(len(values) - 2, 0))
        above = np.minimum(below + 1, len(values) - 1)
        ordered = np.sort(values)
        a, b, t = ordered[below], ordered[above], place - below
        with np.errstate(all="ignore"):
            between = np.where(a * b > 0, np.sign(a) * np.abs(a) ** (1 - t) * np.abs(b) ** t, a + (b - a) * t)
        columns.append(between)
    return np.array(columns, dtype=float).T


class Grid:
    """Promising starts of a problem, best first; more of them where the first do not agree.

    Parameters
    ----------
    problem : Problem
    seed : int
        Chooses among grids too large to walk; the same seed gives the same starts.
    points : int
        How many points are looked at.
    """

    def __init__(self, problem: Problem, *, seed: int = 0, points: int = POINTS) -> None:
        self.problem = problem
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0x57A27, points)))
        linear = linear_parameters(problem.law, problem.variables, problem.free, problem.fixed)
        lin = [problem.free.index(n) for n in linear if not _bounded_away(problem, n)]
        rest = [i for i in range(problem.k) if i not in lin]
        roles = [problem.law._role(problem.free[i]) for i in rest]
        kinds = list(dict.fromkeys(roles))  # what each group has of its own starts alike
        lists = likely(problem.law, problem, [rest[roles.index(r)] for r in kinds], problem.variables)
        #: Whether the nonlinear parameters are too many for a coarse grid to come close.
        self.hard = len(rest) > 2
        self.points = spread(lists, rng, points) if rest else np.zeros((1, 0))
        table = np.zeros((len(self.points), problem.k))
        table[:, rest] = self.points[:, [kinds.index(r) for r in roles]]
        step = max(1, CELLS // max(problem.observed.size * (len(lin) + 1), 1))
        for first in range(0, len(table), step):
            budgets.check_time("the search for starts", first, len(table), "points")
            profiled(problem, table[first : first + step], lin)
        with np.errstate(all="ignore"):
            inside = np.clip(problem.internal(table).T, problem.lower[:, None], problem.upper[:, None])
        usable = np.isfinite(inside).all(axis=0)
        self.starts = inside[:, usable]
        if len(kinds) < len(roles):
            from forecast.fit.kernels.grouped import composed

            self.starts = np.concatenate([composed(problem, self.starts, step), self.starts], axis=1)
        self.losses = self._look(step)
        order = np.argsort(np.where(np.isfinite(self.losses), self.losses, np.inf), kind="stable")
        self.order = order[np.isfinite(self.losses[order])]

    def _look(self, step: int) -> Array:
        problem = self.problem
        looked = problem if not problem.objective.robust or problem.delta else problem.as_squares()
        if looked.objective.loss == "quantile" and looked.options.get("width") is None:
            looked = problem.as_squares()
        target, count = looked.target(), self.starts.shape[1]
        parts = [target.value(self.starts[:, i : i + step]) for i in range(0, count, step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def best(self, count: int) -> list[Array]:
        """Return the best different starts in the solver's coordinates."""
        chosen: list[Array] = []
        for column in self.order:
            if len(chosen) == count:
                break
            u = self.starts[:, column]
            if not chosen or bool(np.all(np.max(np.abs(np.array(chosen) - u), axis=1) > APART)):
                chosen.append(u.copy())
        return chosen

    def spread(self, count: int) -> list[Array]:
        """Return starts from all over the grid, promising or not."""
        return [self.starts[:, i].copy() for i in self.order[:: max(1, self.order.size // max(count, 1))][:count]]


def _bounded_away(problem: Problem, name: str) -> bool:
    """Tell whether a linear parameter has bounds other than a sign, so that profiling could leave them."""
    i = problem.free.index(name)
    return bool((np.isfinite(problem.lower[i]) and problem.lower[i] != 0) or np.isfinite(problem.upper[i]))


def profiled(problem: Problem, table: Array, lin: list[int]) -> None:
    """Fill the columns `lin` of `table`, rows of natural parameters, with the best linear ones for each row.

    Log residuals are approximated by relative ones, counts by their shares.
    """
    if not lin or not len(table):
        return
    program, order = program_of(problem.law), list(problem.law.parameters)
    given: dict[str, Any] = {name: np.float64(v) for name, v in problem.fixed.items()}
    given |= {name: table[:, [j]] for j, name in enumerate(problem.free)}
    shape = (len(table), problem.observed.size)
    with np.errstate(all="ignore"):
        offset, slopes, _ = program.evaluate({**given, **problem.variables}, 1)
        design = np.stack([np.broadcast_to(slopes[order.index(problem.free[i])], shape) for i in lin], axis=2)
        observed = problem.observed
        if "trials" in problem.options:
            floor = problem.options["chance"]
            observed = (observed / problem.options["trials"] - floor) / (1 - floor)
        scale = np.sqrt(problem.weights) / (observed if problem.objective.log else 1.0)
        target = (observed - np.broadcast_to(offset, shape)) * scale
        design = design * scale[None, :, None]
        lengths = np.sqrt(np.einsum("gnm,gnm->gm", design, design))
    good = np.isfinite(lengths).all(axis=1) & np.isfinite(target).all(axis=1)
    with np.errstate(all="ignore"):
        size = np.linalg.norm(target, axis=1)
    good &= np.isfinite(size)
    lengths, size = np.where(lengths > 0, lengths, 1.0)[good], size[good]
    unit = design[good] / lengths[:, None, :]
    matrix = np.einsum("gni,gnj->gij", unit, unit)
    side = np.einsum("gni,gn->gi", unit, target[good])
    positive = problem.positive[lin]
    answer = nonnegative(matrix, side, positive) / lengths
    # from a little above 0 a start looks both ways
    floors = np.maximum(1e-3 * size[:, None] / lengths, 1e-300)
    table[np.ix_(np.flatnonzero(good), np.array(lin))] = np.where(positive, np.maximum(answer, floors), answer)


def nonnegative(matrix: Array, side: Array, positive: NDArray[np.bool_]) -> Array:
    """Solve many small least-squares problems whose marked unknowns must not be negative, by their sign patterns.

    Parameters
    ----------
    matrix, side : ndarray
        (G, m, m) and (G, m), the normal equations with columns of length one.
    positive : ndarray of bool
        (m,).
    """
    m = side.shape[1]
    ridge = 1e-13 * np.eye(m)
    marked = np.flatnonzero(positive)
    if marked.size > 6:  # too many patterns: cut what comes out negative
        free = np.linalg.solve(matrix + ridge, side[..., None])[..., 0]
        return np.asarray(np.where(positive, np.maximum(free, 0.0), free))
    best, value = np.zeros_like(side), np.full(len(side), np.inf)
    for signs in itertools.product((True, False), repeat=marked.size):
        keep = np.ones(m, dtype=bool)
        keep[marked] = signs
        both = np.outer(keep, keep)
        cut = np.where(both, matrix + ridge, np.eye(m))
        found = np.linalg.solve(cut, np.where(keep, side, 0.0)[..., None])[..., 0]
        with np.errstate(all="ignore"):  # two columns that are one: their multiples may be past all bounds
            loss = np.einsum("gi,gij,gj->g", found, matrix, found) - 2 * np.einsum("gi,gi->g", side, found)
        better = (found[:, marked] >= 0).all(axis=1) & (loss < value)
        best[better], value[better] = found[better], loss[better]
        if all(signs) and better.all():
            break
    return best
