"""Where to start: a grid over what is nonlinear, with what is linear profiled out.

The grid is deterministic and knows nothing of the law but its bounds, its variables, which of its parameters it is
linear in and which are exponents; where it would be too large, a Halton sequence takes a share of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from forecast.base import budgets
from forecast.base.arrays import Array, BoolArray, IntArray
from forecast.fit.kernels.general import program_of
from forecast.fit.problem.rescaling import typical
from forecast.fit.sizes import CHUNK_ELEMENTS, TABLE_ELEMENTS
from forecast.fit.solve.newton import solve_damped
from forecast.formula import tree
from forecast.formula.tree import Binary, Name, Node
from forecast.laws.grouped import Grouped

if TYPE_CHECKING:
    from forecast.fit.data.observations import Observations
    from forecast.fit.problem.poles import Poles
    from forecast.fit.problem.problem import Coordinates, Problem, Target
    from forecast.fit.solver_options import GridOptions
    from forecast.laws import Law

#: A seed and the key of a stream of it: generators are imported where one is made.
Seed: TypeAlias = tuple[int, tuple[int, ...]]

#: Sizes a shape parameter is likely to have.
SHAPE_SIZES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 15.0])
#: Sizes an exponent is likely to have; and where there are many of them, as in a law with breaks, or any sign.
EXPONENT_SIZES, BREAK_EXPONENTS = np.geomspace(0.05, 2.0, 8), np.geomspace(0.02, 15.0, 12)
#: How far beyond the data what is subtracted from a variable may lie: from this share of the gap between the last two
#: points to so many lengths of their range, in so many steps.
SHIFT_GAP_SHARE, SHIFT_RANGES, SHIFT_STEPS = 0.1, 10.0, 4
#: Bases of Halton sequences, one a dimension, sought once and not at every fit.
_PRIMES = tuple(p for p in range(2, 200) if all(p % d for d in range(2, int(p**0.5) + 1)))


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


def exponent_parameters(law: Law) -> set[str]:
    """Return the parameters that are powers to which something is raised: they have no unit."""
    if law.expression is None:
        return set()
    powers: set[str] = set()

    def look(node: Node) -> None:
        if isinstance(node, Binary) and node.op == "**":
            names = {part.name for part in tree.walk(node.right) if isinstance(part, Name)}
            if not names & set(law.variables):
                powers.update(names)
        for part in tree.children(node):
            look(part)

    look(law.formula.root)
    return powers & set(law.parameters)


def shift_places(law: Law, variables: Mapping[str, Array], operators: str = "+-/") -> dict[str, Array]:
    """Return places for parameters that are subtracted from, added to or divide a variable: where it has data."""
    if law.expression is None:
        return {}
    places_of: dict[str, Array] = {}
    for node in tree.walk(law.formula.root):
        if not (isinstance(node, Binary) and node.op in operators):
            continue
        for name, other in ((node.right, node.left), (node.left, node.right)):
            inside = {part.name for part in tree.walk(other) if isinstance(part, Name)}
            if isinstance(name, Name) and name.name in law.parameters and inside and inside <= set(law.variables):
                along = np.asarray(tree.evaluate(other, variables), dtype=float)
                if node.op == "/":
                    if name is node.right and bool((along > 0).all()):
                        places_of[name.name] = np.geomspace(float(along.min()), float(along.max()), 14)[1:-1]
                    continue
                places = _shift_places(along)
                places_of[name.name] = -places if node.op == "+" else places
    return places_of


def _shift_places(along: Array) -> Array:
    """Return places among some points, and on both sides beyond them: there by the logarithm of the distance."""
    points = np.unique(along)
    low, high = float(points[0]), float(points[-1])
    if low == high:
        return points
    first, last = (
        np.geomspace(SHIFT_GAP_SHARE * max(gap, 1e-6 * (high - low)), SHIFT_RANGES * (high - low), SHIFT_STEPS)
        for gap in (float(points[1] - low), float(high - points[-2]))
    )
    inside = np.linspace(low, high, 14)[1:-1]
    return np.concatenate([low - first[::-1], inside, high + last])


def scales_of(variables: Mapping[str, Array], *, gaps: bool = False) -> list[float]:
    """Return factors a parameter may be measured in: 1, a variable's typical size or its spread, or one over these.

    With `gaps` one over the first and the last gap between points too: so fast is what only one point shows.
    """
    scales = [1.0]
    for values in variables.values():
        size, spread_ = typical(values), float(np.ptp(values)) / 2
        ends = np.diff(np.unique(values))[[0, -1]] if gaps and spread_ else np.ones(0)
        for factor in (size, 1 / size, spread_, 1 / spread_ if spread_ else 1.0, *(1 / ends)):
            if 0 < factor < np.inf and not any(1 / 3 < factor / f < 3 for f in scales):
                scales.append(factor)
    return scales


def plausible_values(law: Law, where: Coordinates, rest: list[int], variables: Mapping[str, Array]) -> list[Array]:
    """Return likely values of some of the free parameters, as the law has them."""
    plain = law._plain
    seen = {n: variables[n] for n in plain.variables}
    powers, places, scales = exponent_parameters(plain), shift_places(plain, seen), scales_of(seen)
    if len(rest) < 3 and not where.positive[rest].any():
        scales = scales_of(seen, gaps=True)
    sizes = [EXPONENT_SIZES if len(rest) < 3 and where.positive[i] else BREAK_EXPONENTS for i in rest]
    names = [law._role(where.free[i]) for i in rest]
    return [
        _grid_values(where, i, scales, size if name in powers else None, places.get(name))
        for i, size, name in zip(rest, sizes, names, strict=True)
    ]


def _grid_values(problem: Coordinates, i: int, scales: list[float], power: Array | None, places: Array | None) -> Array:
    low, high = problem.lower[i], problem.upper[i]
    if problem.logs[i]:
        with np.errstate(over="ignore"):
            low, high = np.exp(low), np.exp(high)
    if np.isfinite(low) and np.isfinite(high) and not (problem.logs[i] and low > 0 and high / low > 100):
        return np.asarray(np.linspace(low, high, 14)[1:-1])
    if np.isfinite(low) and np.isfinite(high):
        return np.asarray(np.geomspace(low, high, 14)[1:-1])
    values = power if power is not None else np.concatenate([SHAPE_SIZES * s for s in scales])
    if places is not None and not problem.positive[i] and (places > 0).all():
        places = np.concatenate([places, -places])
    if places is not None and np.isfinite(places).all():
        values = np.concatenate([values, places]) if problem.logs[i] and not (places > 0).all() else places
    if not problem.logs[i] and bool((values > 0).all()):
        values = np.concatenate([values, -values])
    values = values[(values > low) & (values < high)]
    if values.size:
        return np.asarray(values)
    return np.array([low + 1.0 if np.isfinite(low) else high - 1.0])


def filled(values: Array, gap: float) -> Array:
    """Return rising values with more between those of one sign that are further apart than a factor of exp(gap)."""
    low, high = values[:-1], values[1:]
    ratio = np.divide(high, low, out=np.ones(low.size), where=low * high > 0)
    counts = np.maximum(np.ceil(np.abs(np.log(ratio)) / gap), 1).astype(int)
    steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.append(
        np.repeat(low, counts) * np.repeat(ratio, counts) ** (steps / np.repeat(counts, counts)), values[-1:]
    )


def halton(count: int, dimensions: int, shift: Array) -> Array:
    """Return a Halton sequence in the unit cube, shifted modulo 1: even cover, and more of it is the same and more."""
    points = np.zeros((count, dimensions))
    for d in range(dimensions):
        base, index, factor = _PRIMES[d % len(_PRIMES)], np.arange(1, count + 1), 1.0
        while index.any():
            factor /= base
            points[:, d] += factor * (index % base)
            index //= base
    return np.asarray((points + shift) % 1.0)


def _generator(seed: Seed) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed[0], spawn_key=seed[1]))


def low_discrepancy(lists: list[Array], seed: Seed, points: int) -> Array:
    """Return the full product of the lists, or an even share of it, as rows."""
    if math.prod(len(v) for v in lists) <= points:
        return np.array(np.meshgrid(*lists, indexing="ij"), dtype=float).reshape(len(lists), -1).T
    share = halton(points, len(lists), _generator(seed).random(len(lists)))
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


def laid_out(
    law: Law,
    limits: Coordinates,
    variables: Mapping[str, Array],
    points: int,
    seed: Seed,
    options: GridOptions,
    poles: Poles | None = None,
) -> tuple[Array, list[int], list[int]]:
    """Return parameters as rows, (G, k), what is linear still 0; and the places of what is linear and what is not."""
    away = (np.isfinite(limits.lower) & (limits.lower != 0)) | np.isfinite(limits.upper)  # profiling could leave them
    linear = linear_parameters(law, variables, limits.free, limits.fixed)
    lin = [i for i in map(limits.free.index, linear) if not away[i]]
    rest = [i for i in range(len(limits.free)) if i not in lin]
    roles = [law._role(limits.free[i]) for i in rest]
    kinds = list(dict.fromkeys(roles))  # what each group has of its own starts alike
    lists = plausible_values(law, limits, [rest[roles.index(r)] for r in kinds], variables)
    if poles is not None and len(kinds) == 1:  # of one parameter every gap can be looked at
        lists = [filled(np.union1d(lists[0], poles.places(limits.free[rest[0]])), options.gap)]
    grid = low_discrepancy(lists, seed, points) if rest else np.zeros((1, 0))
    table = np.zeros((len(grid), len(limits.free)))
    table[:, rest] = grid[:, [kinds.index(r) for r in roles]]
    return table, lin, rest


def coarse_grid(law: Law, observations: Observations, target: Target) -> Array:
    """Return the best few starts of every curve, (starts, k, B), in the solver's coordinates.

    Parameters
    ----------
    law : forecast.Law
    observations : Observations
        In units of the data's own size.
    target : Target
        What is minimised over them.
    """
    limits, objective, options = target.coordinates, target.objective, target.solver.grid
    linear = law.linear if law.expression is not None else ()
    affordable = options.max_elements // (observations.y.size * (2 + len(linear)))
    points = int(np.clip(affordable, *options.curve_points))
    table, lin, rest = laid_out(law, limits, observations.variables, points, (0, ()), options)
    y, weights = objective.nearby_squares(observations.y, observations.weights, observations.columns)
    profile = ProjectedGrid(law=law, limits=limits, variables=observations.variables, y=y, weights=weights, lin=lin)
    answers, left = profile.best(table)
    best = np.argsort(left, axis=0, kind="stable")[: options.starts_per_curve]
    natural = np.empty((len(best), len(limits.free), len(y)))
    natural[:, rest] = np.moveaxis(table[best][:, :, rest], 2, 1)
    natural[:, lin] = np.take_along_axis(answers, best[:, None], axis=0)
    logs = limits.logs[:, None]
    with np.errstate(all="ignore"):
        q = np.nan_to_num(np.where(logs, np.log(np.where(logs, natural, 1.0)), natural), nan=0.0)
    return np.asarray(np.clip(q, limits.lower[:, None], limits.upper[:, None]))


class Grid:
    """Promising starts of a problem, best first; more of them where the first do not agree.

    Parameters
    ----------
    problem : Problem
    seed : int
        Chooses among grids too large to walk; the same seed gives the same starts.
    points : int, optional
        How many points are looked at. Default: as the problem's options say.
    more : sequence of ndarray
        Starts from elsewhere, in the solver's coordinates.
    """

    def __init__(
        self, problem: Problem, *, seed: int = 0, points: int | None = None, more: Sequence[Array] = ()
    ) -> None:
        self.options = options = problem.solver.grid
        points = options.points if points is None else points
        self.problem = problem = problem.thinned(options.max_observations)
        poles, key = problem.poles, (seed, (0x57A27, points))
        table, lin, rest = laid_out(problem.law, problem.coordinates, problem.variables, points, key, options, poles)
        #: Whether the nonlinear parameters are too many for a coarse grid to come close.
        self.hard = len(rest) > 2
        y, weights = problem.objective.nearby_squares(problem.observed, problem.weights, problem.options)
        profile = ProjectedGrid(
            law=problem.law,
            limits=problem.coordinates,
            variables=problem.variables,
            y=y[None],
            weights=weights[None],
            lin=lin,
        )
        squares = None
        if lin:
            answers, squares = profile.best(table)
            table[:, lin] = answers[..., 0]
        step = max(1, TABLE_ELEMENTS // max(problem.observed.size * (len(lin) + 1), 1))
        with np.errstate(all="ignore"):
            inside = np.clip(problem.internal(table).T, problem.lower[:, None], problem.upper[:, None])
        inside = np.column_stack([*more, inside])
        finite = np.isfinite(inside).all(axis=0)
        self.starts = inside[:, finite]
        if isinstance(problem.law._form, Grouped):
            self.starts = np.concatenate([_compose_starts(problem, self.starts, step), self.starts], axis=1)
        plain = problem.objective.scale == "residual" and not (problem.objective.log or problem.positive[lin].any())
        if squares is not None and plain and squares.shape[0] == self.starts.shape[1]:  # what was profiled says it
            self.losses = np.maximum(squares[finite, 0], 0.0)
        else:
            self.losses = self._evaluate_starts(step)
        #: Which starts have a pole among the data.
        self.poles = np.zeros(self.losses.size, dtype=bool)
        if poles is not None:
            self.poles = poles.mask(problem.natural(self.starts.T).T)
        shifted = shift_places(
            problem.law._plain, {n: problem.variables[n] for n in problem.law._plain.variables}, "+-"
        )
        #: Which parameters are not linear, and the sign of which matters: of a place along a variable it does not.
        self.rest = rest
        self.signed = [i for i in rest if not problem.positive[i] and problem.law._role(problem.free[i]) not in shifted]
        order = np.lexsort([np.where(np.isfinite(self.losses), self.losses, np.inf), self.poles])
        self.order = order[np.isfinite(self.losses[order])]

    def _evaluate_starts(self, step: int) -> Array:
        problem = self.problem
        looked = problem.as_squares() if problem.objective.is_open(problem.options) else problem
        target, count = looked.target(), self.starts.shape[1]
        parts = [target.value(self.starts[:, i : i + step]) for i in range(0, count, step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def best(self, count: int) -> list[Array]:
        """Return the best different starts in the solver's coordinates."""
        return [self.starts[:, i].copy() for i in self._distinct_starts(self.order, count)]

    def rivals(self) -> list[Array]:
        """Return more starts for a first round: best of each pattern of signs, other valleys, and with poles.

        Where every parameter that is not linear is positive, a coarse grid comes close enough without them.
        """
        poles = self.poles[self.order]
        plain = self.order[~poles]
        chosen: list[int] = []
        if plain.size and not self.problem.positive[self.rest].all():
            plain = plain[self.losses[plain] <= self.options.hopeless * self.losses[plain[0]]]
            _, first = np.unique(self.starts[self.signed][:, plain] < 0, axis=1, return_index=True)
            chosen = [*plain[np.sort(first)[1 : self.options.sign_starts + 1]], *self._valleys(plain)]
        chosen += self._distinct_starts(self._pole_valleys(), self.options.pole_starts)
        return [self.starts[:, i].copy() for i in dict.fromkeys(chosen)]

    def _valleys(self, order: IntArray) -> IntArray:
        """Return starts that are better than all of their signs beside them, best first, after the very best."""
        order, count = order[: self.options.valley_starts], self.starts.shape[1]
        signs = self.starts[self.signed][:, order] < 0
        beside = (signs[:, :, None] == signs[:, None]).all(axis=0)
        for row in self.starts[self.rest]:
            levels, ranks = np.unique(row, return_inverse=True)
            last = max(levels.size - 1, 1)
            step = max(1 / last, count ** (-1 / len(self.rest)))
            shares = ranks[order] / last
            beside &= np.abs(shares[:, None] - shares) <= self.options.neighbour_steps * step
        valleys = order[~np.tril(beside, -1).any(axis=1)]
        # places where the law does not change any more lose all the same: one of them is enough
        valleys = valleys[np.unique(self.losses[valleys], return_index=True)[1]]
        return np.asarray(valleys[1 : self.options.valleys + 1])

    def _pole_valleys(self) -> IntArray:
        """Return starts with a pole among the data, best first: along one parameter, those better than both beside."""
        found = self.order[self.poles[self.order]]
        if len(self.rest) != 1 or found.size < 3:
            return found
        rising = found[np.argsort(self.starts[self.rest[0], found], kind="stable")]
        losses = np.concatenate([[np.inf], self.losses[rising], [np.inf]])
        valleys = rising[(losses[1:-1] <= losses[:-2]) & (losses[1:-1] <= losses[2:])]
        return valleys[np.argsort(self.losses[valleys], kind="stable")]

    def _distinct_starts(self, order: IntArray, count: int) -> list[int]:
        chosen: list[int] = []
        for column in order:
            if len(chosen) == count:
                break
            apart = np.abs(self.starts[:, chosen] - self.starts[:, [column]]).max(axis=0)
            if bool((apart > self.options.min_distance).all()):
                chosen.append(int(column))
        return chosen

    def spread(self, count: int) -> list[Array]:
        """Return starts from all over the grid, promising or not."""
        return [self.starts[:, i].copy() for i in self.order[:: max(1, self.order.size // max(count, 1))][:count]]


def _compose_starts(problem: Problem, starts: Array, step: int) -> Array:
    """Return starts in which each group has the own parameters that suit it best, (k, few).

    Parameters
    ----------
    problem : Problem
        Of a grouped law.
    starts : ndarray
        (k, S): parameters that all groups start with alike.
    step : int
        How many are looked at together.
    """
    form = problem.law._form
    assert isinstance(form, Grouped)
    looked = problem.as_squares()
    target, codes = looked.target(), problem.variables[form.by]
    member = (codes[:, None] == np.arange(len(form.labels))).astype(float)
    parts = []
    with np.errstate(all="ignore"):
        for first in range(0, starts.shape[1], step):
            f = target.kernel.at(starts[:, first : first + step], 0).f
            loss = looked.objective.losses(f, target.y, target.options)[0] * target.weights
            parts.append(np.where(np.isfinite(loss), loss, 1e150) @ member)
    if not parts:
        return starts
    losses = np.concatenate(parts)
    count = min(problem.solver.grid.composed_starts, len(losses))
    total = np.argsort(losses.sum(axis=1), kind="stable")[:count]
    starts_made = starts[:, total].copy()
    roles = form.roles()
    for group in range(len(form.labels)):
        best = np.argsort(losses[:, group], kind="stable")[:count]
        mine = [a for a, name in enumerate(problem.free) if all(g == group for _, g in roles[name])]
        rows = np.array(mine, dtype=np.int64)
        starts_made[rows] = starts[np.ix_(rows, best)]
    return starts_made


@dataclass(frozen=True, kw_only=True)
class ProjectedGrid:
    """Fits from which the linear parameters are profiled out.

    Parameters
    ----------
    law : forecast.Law
    limits : Coordinates
    variables : mapping of str to ndarray
        (n,) where all fits share the points, else (B, n).
    y, weights : ndarray
        (B, n).
    lin : list of int
        Places of what is linear.
    """

    law: Law
    limits: Coordinates
    variables: Mapping[str, Array]
    y: Array
    weights: Array
    lin: list[int]

    @property
    def shared(self) -> bool:
        """Whether all fits share the points."""
        return all(v.ndim == 1 for v in self.variables.values())

    def best(self, table: Array) -> tuple[Array, Array]:
        """Return the best linear parameters of each fit for each row of a table, and what they leave of the squares.

        Parameters
        ----------
        table : ndarray
            (G, k), parameters; what is linear is 0.

        Returns
        -------
        ndarray
            (G, m, B)
        ndarray
            (G, B); inf where the law has no value.
        """
        (count, n), m = self.y.shape, len(self.lin) + 1
        cells = (n if self.shared else n * count) * m, count * m**2
        step = max(1, min(TABLE_ELEMENTS // max(cells[0], 1), CHUNK_ELEMENTS // cells[1]))
        parts = []
        for first in range(0, len(table), step):
            budgets.check_time("the search for starts", first, len(table), "points")
            parts.append(self._at(table[first : first + step]))
        answers, left = (np.concatenate(p) for p in zip(*parts, strict=True))
        return answers, left

    def _at(self, table: Array) -> tuple[Array, Array]:
        """Profile the linear parameters out at some rows of the table."""
        law, limits, y, weights, lin, shared = self.law, self.limits, self.y, self.weights, self.lin, self.shared
        m, (count, n), order = len(lin), y.shape, list(law.parameters)
        rows, points = table, dict(self.variables)
        if not shared:  # each row with the points of each fit
            rows = np.repeat(table, count, axis=0)
            points = {name: v if v.ndim == 1 else np.tile(v, (len(table), 1)) for name, v in points.items()}
        given: dict[str, Any] = {name: np.float64(v) for name, v in limits.fixed.items()}
        given |= {name: rows[:, [j]] for j, name in enumerate(limits.free)}

        def summed(part: Array, weighted: Array) -> Array:
            """Return sums over the points, (G, B), of what is computed at them and what is known of them."""
            if shared:
                return np.asarray(part @ weighted.T)
            return np.asarray(np.einsum("gbn,bn->gb", part.reshape(-1, count, n), weighted))

        with np.errstate(all="ignore"):
            value, slopes, _ = program_of(law).evaluate({**given, **points}, 1 if m else 0)
            offset = np.broadcast_to(np.asarray(value, dtype=float), (len(rows), n))
            columns = [np.broadcast_to(slopes[order.index(limits.free[i])], offset.shape) for i in lin]
            weighted = weights * y
            left = np.broadcast_to(np.einsum("bn,bn->b", weighted, y), (len(table), count)).copy()
            if offset.any():
                left += summed(offset * offset, weights) - 2 * summed(offset, weighted)
            matrix = np.empty((m, m, *left.shape))
            alike = weights[:1] if shared and bool((weights == weights[0]).all()) else weights
            for i, j in itertools.combinations_with_replacement(range(m), 2):
                matrix[i, j] = matrix[j, i] = summed(columns[i] * columns[j], alike)
            side = np.array([summed(c, weighted) for c in columns]).reshape(m, *left.shape)
            if m and offset.any():
                side -= np.array([summed(c * offset, weights) for c in columns])
            lengths = np.sqrt(np.einsum("ii...->i...", matrix))
            size = np.sqrt(np.maximum(left, 0.0))
            good = np.isfinite(lengths).all(axis=0) & np.isfinite(side).all(axis=0) & np.isfinite(left)
            lengths = np.where(lengths > 0, lengths, 1.0)
            side, matrix = side / lengths, matrix / (lengths[:, None] * lengths[None])
        answers, positive = np.zeros((m, *left.shape)), limits.positive[lin]
        if m:
            found = nonnegative(matrix[:, :, good], side[:, good], positive)
            left[good] += np.einsum("ig,ijg,jg->g", found, matrix[:, :, good], found)
            left[good] -= 2 * np.einsum("ig,ig->g", side[:, good], found)
            # from a little above 0 a start looks both ways
            floors = np.maximum(1e-3 * size[good], 1e-300)
            answers[:, good] = np.where(positive[:, None], np.maximum(found, floors), found) / lengths[:, good]
        return np.moveaxis(answers, 1, 0), np.where(good, left, np.inf)


def nonnegative(matrix: Array, side: Array, positive: BoolArray) -> Array:
    """Solve many small least-squares problems whose marked unknowns must not be negative, by their sign patterns.

    Parameters
    ----------
    matrix, side : ndarray
        (m, m, G) and (m, G), the normal equations with columns of length one.
    positive : ndarray of bool
        (m,).
    """
    m, count = side.shape
    ridge, ones = np.full((m, count), 1e-13), np.ones((m, count))
    best = solve_damped(matrix, -side, ridge, ones)[0]
    marked = np.flatnonzero(positive)
    if marked.size > 6:  # too many patterns: cut what comes out negative
        return np.asarray(np.where(positive[:, None], np.maximum(best, 0.0), best))
    rows = np.flatnonzero((best[marked] < 0).any(axis=0) | ~np.isfinite(best).all(axis=0))
    best[:, rows], value = 0.0, np.zeros(rows.size)
    matrix, side = matrix[:, :, rows], side[:, rows]
    for signs in itertools.product((True, False), repeat=marked.size) if rows.size else ():
        keep = np.ones(m, dtype=bool)
        keep[marked] = signs
        cut = np.where(np.outer(keep, keep)[:, :, None], matrix, np.eye(m)[:, :, None])
        answer = solve_damped(cut, np.where(keep[:, None], -side, 0.0), ridge[:, rows], ones[:, rows])[0]
        with np.errstate(all="ignore"):  # two columns that are one: their multiples may be past all bounds
            loss = np.einsum("ig,ijg,jg->g", answer, matrix, answer) - 2 * np.einsum("ig,ig->g", side, answer)
        better = (answer[marked] >= 0).all(axis=0) & (loss < value)
        best[:, rows[better]], value[better] = answer[:, better], loss[better]
    return best
