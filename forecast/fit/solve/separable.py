"""Separable least squares: what is linear in a law is solved for, and not searched (Golub and Pereyra, 1973).

A law that is linear in everything is one small system a curve (`forecast.fit.solve.linear`). One that is linear in all
but one parameter is a function of that one, for each value of which the best linear ones are the answer of such a
system. Its lowest point on a coarse grid is followed down by Newton's method between brackets, for thousands of curves
at once. The law's own derivatives by all parameters then judge what was found, as they judge every fit; curves that do
not pass are left to the general solver.

Such a law is ``offset + sum of coefficient * column``, where offset and columns, its *basis*, depend on the points and
on a single parameter. What a least-squares fit needs of them are sums over the points and their first two derivatives
by that parameter. Columns that are exponentials of something affine in it (powers of a variable, decays) have
derivatives that are the columns themselves times fixed numbers, so that their sums are small matrix products; any other
law gives its columns by its own second derivatives. Their tables stand with the points first and the fits last, (n, B):
long rows are what the machine is quick with.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from forecast.base import budgets
from forecast.base.arrays import Array, BoolArray, IntArray
from forecast.fit.kernels.power_sum import exponential
from forecast.fit.problem.poles import Poles, poles_of, speaks_for_pole
from forecast.fit.problem.problem import RESIDUAL_RTOL, Coordinates, Target
from forecast.fit.sizes import CHUNK_ELEMENTS, OPTIMUM_RTOL
from forecast.fit.solve.linear import curves_solved
from forecast.fit.solve.newton import NewtonResult, solve_damped, unsolved_result
from forecast.fit.solve.starts import filled, linear_parameters, plausible_values
from forecast.formula import tree
from forecast.formula.tree import Binary, Name, Node, Number, Unary
from forecast.laws import Law

if TYPE_CHECKING:
    from forecast.fit.data.observations import Observations
    from forecast.fit.solver_options import GridOptions


@dataclass(slots=True)
class Sums:
    """Sums over the points, and their derivatives by the one nonlinear parameter: first axis, up to the third.

    Parameters
    ----------
    squares : ndarray
        (r, B): weighted squares of what the offset leaves of the observations.
    sides : ndarray
        (r, m, B): products of the columns with that.
    products : ndarray
        (r, m, m, B): of the columns with each other.
    """

    squares: Array
    sides: Array
    products: Array


class Basis(Protocol):
    """The columns of a law at the points of some fits."""

    #: Whether all fits share the points.
    shared: bool

    def take(self, rows: Any) -> Basis:
        """Return the columns of some of the fits."""

    def without(self, i: int) -> Basis:
        """Return the law whose coefficient `i` is 0."""

    def tables(self, theta: Array) -> tuple[Array, list[Array]]:
        """Return the offset and the columns, each (n, B), at one value of the parameter a fit."""

    def sums(self, theta: Array, y: Array, weights: Array, order: int = 3) -> Sums:
        """Return the sums, and derivatives of them up to an order or as far as they are known.

        Parameters
        ----------
        theta : ndarray
            (B,).
        y, weights : ndarray
            (n, B); weights that all fits share are (n, 1).
        order : int
        """


def basis_of(
    law: Law, variables: Mapping[str, Array], bent: str, linear: tuple[str, ...], fixed: Mapping[str, float]
) -> Basis | None:
    """Return the columns of a law.

    Parameters
    ----------
    law : forecast.Law
    variables : mapping of str to ndarray
        (n,), or (B, n).
    bent : str
        The parameter in which the law is not linear.
    linear : tuple of str
        The others that are not fixed.
    fixed : mapping of str to float
    """
    if law.expression is None:
        return None
    across = {name: v[:, None] if v.ndim == 1 else np.ascontiguousarray(v.T) for name, v in variables.items()}
    found = Exponentials.read(law, across, bent, linear, fixed)
    return BasisColumns(law, across, bent, linear, fixed) if found is None else found


def _split(node: Node, sign: int = 1) -> list[tuple[int, Node]]:
    """Return what is added up to a formula, with signs."""
    if isinstance(node, Binary) and node.op in "+-":
        return _split(node.left, sign) + _split(node.right, sign if node.op == "+" else -sign)
    return _split(node.operand, -sign) if isinstance(node, Unary) else [(sign, node)]


def _without_factor(node: Node, name: str) -> Node:
    """Return a term with a factor put to 1."""
    if isinstance(node, Name):
        return Number(1.0) if node.name == name else node
    return tree.rebuild(node, tuple(_without_factor(part, name) for part in tree.children(node)))


class Exponentials:
    """Columns exp(rate*theta + level), rate and level known at the points; a rate of 0 is a column that stays.

    Parameters
    ----------
    rates, levels : sequence of ndarray
        (n, 1) or (n, B).
    signs : sequence of float
    """

    def __init__(self, rates: list[Array], columns: list[Array]) -> None:
        #: Columns are `column * exp(rate*theta)`.
        self.rates, self.columns = rates, columns
        self.still = [not np.any(rate) for rate in rates]
        self.plain = [bool((column == 1.0).all()) for column in columns]
        self.shared = all(a.shape[1] == 1 for a in (*rates, *columns))

    @classmethod
    def read(
        cls, law: Law, variables: Mapping[str, Array], bent: str, linear: tuple[str, ...], fixed: Mapping[str, float]
    ) -> Exponentials | None:
        """Read the columns off a formula; None where they are something else."""
        root = law.formula.substitute(dict(fixed)).root if fixed else law.formula.root
        found: dict[str, tuple[Array, Array]] = {}
        n = max(v.shape[0] for v in variables.values())
        for sign, term in _split(root):
            names = [p.name for p in tree.walk(term) if isinstance(p, Name) and p.name in linear]
            if len(names) != 1 or names[0] in found:
                return None
            read = exponential(_without_factor(term, names[0]), bent)
            if read is None:
                return None
            tables = []
            for node in read:
                with np.errstate(all="ignore"):
                    table = np.asarray(tree.evaluate(node, variables), dtype=float)
                if not np.isfinite(table).all():
                    return None
                tables.append(np.broadcast_to(table, np.broadcast_shapes(table.shape, (n, 1))))
            found[names[0]] = tables[0], sign * np.exp(tables[1])
        if set(found) != set(linear):
            return None
        return cls([found[name][0] for name in linear], [found[name][1] for name in linear])

    def take(self, rows: Any) -> Exponentials:
        """Return the columns of some of the fits."""
        if self.shared:
            return self
        some = [[a if a.shape[1] == 1 else a[:, rows] for a in part] for part in (self.rates, self.columns)]
        return Exponentials(*some)

    def without(self, i: int) -> Exponentials:
        """Return the law whose coefficient `i` is 0."""
        return Exponentials(self.rates[:i] + self.rates[i + 1 :], self.columns[:i] + self.columns[i + 1 :])

    def tables(self, theta: Array) -> tuple[Array, list[Array]]:
        """Return offset and columns at one value a fit."""
        found = []
        for rate, column, still, plain in zip(self.rates, self.columns, self.still, self.plain, strict=True):
            if still:
                found.append(column)
                continue
            table = rate * theta
            np.exp(table, out=table)
            if not plain:
                table *= column
            found.append(table)
        return np.zeros((1, 1)), found

    def sums(self, theta: Array, y: Array, weights: Array, order: int = 3) -> Sums:
        """Return the sums; see `Basis.sums`."""
        m, count = len(self.rates), theta.size
        result = _empty(order + 1, m, count)
        result.squares[0] = _dot(y, y, weights)
        tables = self.tables(theta)[1]
        spare = np.empty_like(y)
        for i, table in enumerate(tables):
            if self.still[i]:
                _rate_moments(self.rates[i], weights * table, y, result.sides[:1, i])
            else:
                _rate_moments(self.rates[i], weights, np.multiply(table, y, out=spare), result.sides[:, i])
            for j in range(i + 1):
                moves, out = self.rates[i] + self.rates[j], result.products[:, i, j]
                if self.still[i] and self.still[j]:
                    out[0] = np.sum(weights * table * tables[j], axis=0)
                elif self.still[i] or self.still[j]:
                    one, other = (table, tables[j]) if self.still[i] else (tables[j], table)
                    _rate_moments(moves, weights * one, other, out)
                else:
                    _rate_moments(moves, weights, np.multiply(table, tables[j], out=spare), out)
                result.products[:, j, i] = out
        return result


def _dot(left: Array, right: Array, weights: Array) -> Array:
    if weights.shape[1] == 1:
        return np.asarray(np.einsum("nb,nb,n->b", left, right, weights[:, 0]))
    return np.asarray(np.einsum("nb,nb,nb->b", left, right, weights))


def _rate_moments(rate: Array, weights: Array, table: Array, out: Array) -> None:
    """Put sums over the points of weights * rate**r * table, for r = 0, 1, ..., into the rows of `out`."""
    if rate.shape[1] == 1 and weights.shape[1] == 1:
        np.matmul((weights * rate ** np.arange(len(out))).T, table, out=out)
        return
    part = weights * table
    for r in range(len(out)):
        if r:
            part *= rate
        np.sum(part, axis=0, out=out[r])


class BasisColumns:
    """The columns of any law, by its program: evaluated with one coefficient 1 and the others 0, all at once."""

    def __init__(
        self, law: Law, variables: Mapping[str, Array], bent: str, linear: tuple[str, ...], fixed: Mapping[str, float]
    ) -> None:
        self.law, self.variables, self.bent, self.linear, self.fixed = law, variables, bent, linear, fixed
        self.program, names = law.program(), list(law.parameters)
        self.index, self.place = [names.index(p) for p in linear], names.index(bent)
        self.n = max(v.shape[0] for v in variables.values())
        self.shared = all(v.shape[1] == 1 for v in variables.values())

    def take(self, rows: Any) -> BasisColumns:
        """Return the columns of some of the fits."""
        if self.shared:
            return self
        some = {name: v if v.shape[1] == 1 else v[:, rows] for name, v in self.variables.items()}
        return BasisColumns(self.law, some, self.bent, self.linear, self.fixed)

    def without(self, i: int) -> BasisColumns:
        """Return the law whose coefficient `i` is 0."""
        fixed = {**self.fixed, self.linear[i]: 0.0}
        return BasisColumns(self.law, self.variables, self.bent, self.linear[:i] + self.linear[i + 1 :], fixed)

    def _unit_columns(self, theta: Array, order: int) -> tuple[Any, list[Any], Mapping[tuple[int, int], Any]]:
        unit = np.eye(len(self.linear) + 1)[:, 1:, None, None] if order > 1 else np.zeros((1, len(self.linear), 1, 1))
        given: dict[str, Any] = {p: np.float64(v) for p, v in self.fixed.items()}
        given |= {name: unit[:, j] for j, name in enumerate(self.linear)}
        found: tuple[Any, list[Any], Mapping[tuple[int, int], Any]] = self.program.evaluate(
            {**given, self.bent: theta[None, None, :], **self.variables}, order
        )
        return found

    def _table(self, part: Any, count: int) -> Array:
        table = np.asarray(part, dtype=float)
        return np.asarray(np.broadcast_to(table[0] if table.ndim == 3 else table, (self.n, count)))

    def tables(self, theta: Array) -> tuple[Array, list[Array]]:
        """Return offset and columns at one value a fit."""
        value, slopes, _ = self._unit_columns(theta, 1)
        return self._table(value, theta.size), [self._table(slopes[i], theta.size) for i in self.index]

    def sums(self, theta: Array, y: Array, weights: Array, order: int = 3) -> Sums:
        """Return the sums; see `Basis.sums`."""
        m, count = len(self.linear), theta.size
        result = _empty(min(order, 2) + 1, m, count)
        value, slopes, curves = self._unit_columns(theta, 2)

        def curve(i: int) -> Any:
            return curves.get((min(i, self.place), max(i, self.place)), 0.0)

        turns = np.broadcast_to(np.asarray(curve(self.place), dtype=float), (m + 1, self.n, count))
        left = y - self._table(value, count)
        # columns and offset with their derivatives
        offset = [left, -self._table(slopes[self.place], count), -turns[0]]
        columns = [
            [self._table(slopes[i], count), self._table(curve(i), count), turns[j + 1] - turns[0]]
            for j, i in enumerate(self.index)
        ]
        weighted = [[weights * part for part in column] for column in columns]
        rows = len(result.squares)
        result.squares[:] = _sum_products([weights * part for part in offset], offset, rows)
        for i in range(m):
            result.sides[:, i] = _sum_products(weighted[i], offset, rows)
            for j in range(i + 1):
                result.products[:, i, j] = result.products[:, j, i] = _sum_products(weighted[i], columns[j], rows)
        return result


def _sum_products(left: list[Array], right: list[Array], rows: int) -> Array:
    """Return the sum of a product and its first derivatives, (rows, B)."""

    def dot(i: int, j: int) -> Array:
        return np.asarray(np.einsum("nb,nb->b", left[i], right[j]))

    found = [dot(0, 0)]
    if rows > 1:
        found.append(dot(1, 0) + dot(0, 1))
    if rows > 2:
        found.append(dot(2, 0) + 2 * dot(1, 1) + dot(0, 2))
    return np.array(found)


def _empty(rows: int, m: int, count: int) -> Sums:
    return Sums(np.zeros((rows, count)), np.zeros((rows, m, count)), np.zeros((rows, m, m, count)))


#: Linear parameters at most; steps of Newton's method at most.
MAX_LINEAR_PARAMETERS, MAX_NEWTON_STEPS = 4, 12
#: A step that lowers the objective by less than this share is the last: what is then missing is its square.
STEP_RTOL = 1e-6
#: What the squares on the grid lose to rounding, as a share of those of the observations.
BESIDE = 1e-10
#: A curve with a pole among the points whose squares are this many times those of the best without one may yet fit
#: closer, once it is followed down.
NEAR_POLES = 4.0


@dataclass(frozen=True, kw_only=True)
class Projected:
    """What a law and its curves are in the one parameter that is not linear.

    Parameters
    ----------
    basis : Basis
    at : int
        Which of the free parameters is not linear; `rest` are the others.
    rest : list of int
    grid : ndarray
        Its likely values, in the solver's coordinate, rising.
    coordinates : Coordinates
    max_log_step : float
        See `forecast.fit.solver_options.Damping`.
    poles : Poles, optional
    """

    basis: Basis
    at: int
    rest: list[int]
    grid: Array
    coordinates: Coordinates
    max_log_step: float
    poles: Poles | None = None

    @property
    def log(self) -> bool:
        """Whether the coordinate of the nonlinear parameter is its logarithm."""
        return bool(self.coordinates.logs[self.at])

    def solve(self, target: Target, blind: float) -> NewtonResult:
        """Solve every curve as far as it goes.

        Parameters
        ----------
        target : Target
        blind : float
            A last step that should lower the objective by no more than this share is taken without looking.

        Returns
        -------
        Solved
            What has not settled here may settle elsewhere. The Hessian is Gauss and Newton's, of which standard errors
            are made.
        """
        count, n = target.y.shape
        k = len(self.coordinates.free)
        solved = unsolved_result(np.zeros((k, count)))
        size = max(16, CHUNK_ELEMENTS // n)
        for first in range(0, count, size):
            rows = slice(first, min(first + size, count))
            with np.errstate(all="ignore"):
                self._solve_block(target.take(rows), self.basis.take(rows), self._poles(rows), solved, rows, blind)
        return solved

    def edges(self, target: Target, rows: IntArray) -> tuple[Array, IntArray]:
        """Return starts of curves that fit best with a coefficient at 0.

        Parameters
        ----------
        target : Target
            Of the curves.
        rows : ndarray of int
            Which they are.

        Returns
        -------
        ndarray
            (k, b)
        ndarray of int
            For which of them there is a start.
        """
        y, weights = _points_first(target)
        basis, count = self.basis.take(rows), rows.size
        best, least = np.full((len(self.coordinates.free), count), np.nan), np.full(count, np.inf)
        ends = [j for j, i in enumerate(self.rest) if self.coordinates.lower[i] == 0 and not self.coordinates.logs[i]]
        with np.errstate(all="ignore"):
            for j in ends if len(self.rest) > 1 else ():
                rest = self.rest[:j] + self.rest[j + 1 :]
                smaller = replace(self, basis=basis.without(j), rest=rest)
                losses = smaller._losses(smaller.basis, y, weights)
                lowest = losses.argmin(axis=0)
                q, _, _ = smaller._followed(smaller.basis, y, weights, *smaller._begin(losses, lowest))
                sums = basis.sums(self._theta(q[self.at]), y, weights, 0)
                answer = np.where(self.coordinates.logs[rest][:, None], np.exp(q[rest]), q[rest])
                others = [m for m in range(len(self.rest)) if m != j]
                inner = np.einsum("ijb,jb->ib", sums.products[0][np.ix_(others, others)], answer)
                value = sums.squares[0] + np.einsum("ib,ib->b", answer, inner - 2 * sums.sides[0, others])
                slope = 2 * (np.einsum("ib,ib->b", sums.products[0, j, others], answer) - sums.sides[0, j])
                q[self.rest[j]] = 0.0
                better = (slope > 0) & np.isfinite(q).all(axis=0) & (value < least)
                best[:, better], least[better] = q[:, better], value[better]
        found = np.flatnonzero(np.isfinite(least))
        return np.clip(best[:, found], self.coordinates.lower[:, None], self.coordinates.upper[:, None]), found

    def _poles(self, rows: Any) -> Poles | None:
        return None if self.poles is None else self.poles.take(rows)

    def _solve_block(
        self, target: Target, basis: Basis, poles: Poles | None, solved: NewtonResult, rows: slice, blind: float
    ) -> None:
        losses = self._losses(basis, *_points_first(target))
        jumps = self._grid_poles(poles, losses.shape)
        ids, places = _lowest_valleys(np.where(jumps, np.inf, losses), target.solver.grid)
        q, steps, whole = self._lowest(target, basis, poles, losses, ids, places)
        good = np.isfinite(q).all(axis=0)
        good &= (q >= self.coordinates.lower[:, None]).all(axis=0) & (q <= self.coordinates.upper[:, None]).all(axis=0)
        q = np.where(good, q, 0.0)
        state = target.kernel.at(q)
        value, first, second = target.objective.summed(state.f, target.y, target.weights, {}, target.scratch)
        g, h = target.kernel.contract(state, first, second, np.zeros((q.shape[1], 1)))
        diagonal = np.einsum("iib->ib", h)
        step, bad = solve_damped(h, g, 1e-300 * diagonal, diagonal)
        predicted = -0.5 * np.einsum("ib,ib->b", step, g)
        good &= ~bad & np.isfinite(value) & np.isfinite(step).all(axis=0)
        settled = good & ((predicted <= blind * value) | (value <= RESIDUAL_RTOL**2 * whole))
        # no point of the grid is better than the optimum
        settled &= np.where(jumps, np.inf, losses).min(axis=0) >= value * (1 - OPTIMUM_RTOL) - BESIDE * whole
        if poles is not None:  # what fits closer with a pole, or ran into one, is looked at by itself
            settled &= ~poles.mask(self._parameters(q))
            settled &= ~self._fits_closer(target, basis, np.where(jumps, losses, np.inf), value)
        q += np.where(settled, step, 0.0)
        settled &= (q >= self.coordinates.lower[:, None]).all(axis=0) & (q <= self.coordinates.upper[:, None]).all(
            axis=0
        )
        solved.q[:, rows] = q
        solved.value[rows] = np.where(good, value - np.where(settled, predicted, 0.0), np.inf)
        solved.settled[rows], solved.iterations[rows] = settled, steps
        solved.hessian[:, :, rows] = h

    def _theta(self, u: Array) -> Array:
        return np.exp(u) if self.log else u

    def _parameters(self, q: Array) -> Array:
        """Return parameters (k, B) as the law has them."""
        return np.where(self.coordinates.logs[:, None], np.exp(q), q)

    def _grid_poles(self, poles: Poles | None, shape: tuple[int, ...]) -> BoolArray:
        """Tell where on the grid the law has a pole among the points, (G, B)."""
        if poles is None:
            return np.zeros((1, 1), dtype=bool)
        q = np.zeros((len(self.coordinates.free), len(self.grid)))
        q[self.at] = self.grid
        if poles.absent is None:
            return poles.mask(self._parameters(q))[:, None]
        return np.array([poles.mask(self._parameters(np.repeat(one[:, None], shape[1], axis=1))) for one in q.T])

    def _lowest(
        self, target: Target, basis: Basis, poles: Poles | None, losses: Array, ids: IntArray,
        places: IntArray,
    ) -> tuple[Array, IntArray, Array]:  # fmt: skip
        """Follow the valleys of each curve, which stand in its order, down; return the lowest end of each."""
        q, steps, whole = self._valley_ends(target, basis, losses, ids, places)
        if ids.size == losses.shape[1]:
            return q, steps, whole
        value = target.take(ids).value(np.nan_to_num(q))
        lost = ~np.isfinite(q).all(axis=0) | ~np.isfinite(value)
        if poles is not None:
            lost |= poles.take(ids).mask(self._parameters(q))
        order = np.lexsort([value, lost, ids])
        chosen = order[np.searchsorted(ids[order], np.arange(losses.shape[1]))]
        return q[:, chosen], steps[chosen], whole[chosen]

    def _valley_ends(
        self, target: Target, basis: Basis, losses: Array, ids: IntArray, places: IntArray
    ) -> tuple[Array, IntArray, Array]:
        """Follow some valleys of some curves down; see `_followed`."""
        y, weights = _points_first(target)
        if ids.size != losses.shape[1] or (ids[1:] == ids[:-1]).any():
            basis, y, losses = basis.take(ids), y[:, ids], losses[:, ids]
            weights = weights if weights.shape[1] == 1 else weights[:, ids]
        return self._followed(basis, y, weights, *self._begin(losses, places))

    def _fits_closer(self, target: Target, basis: Basis, losses: Array, value: Array) -> BoolArray:
        """Tell which curves fit closer with a pole among the points, where alone the grid's `losses` are finite.

        Of one curve any difference counts, as there is something to be said of it; of many, one beyond chance.
        """
        closer = np.zeros(value.size, dtype=bool)
        ids, places = _lowest_valleys(losses, target.solver.grid)
        least = losses[places, ids]
        near = np.isfinite(least) & ((least < NEAR_POLES * value[ids]) | (value.size == 1))
        ids, places = ids[near], places[near]
        if ids.size:
            q, _, _ = self._valley_ends(target, basis, losses, ids, places)
            end = target.take(ids).value(np.nan_to_num(q))
            better = end < value[ids] * (1 - OPTIMUM_RTOL)
            if value.size > 1:
                n = np.broadcast_to(np.count_nonzero(target.weights, axis=-1), value.shape)[ids]
                better &= speaks_for_pole(value[ids], end, n, len(self.coordinates.free), target.objective.scale)
            closer[ids[better]] = True
        return closer

    def _begin(self, losses: Array, best: IntArray) -> tuple[Array, Array, Array]:
        """Return where each curve starts, and between which places its valley on the grid lies."""
        rows, last = np.arange(best.size), len(self.grid) - 1
        lower, upper = self.coordinates.lower[self.at], self.coordinates.upper[self.at]
        low = np.where(best > 0, self.grid[np.maximum(best - 1, 0)], lower)
        high = np.where(best < last, self.grid[np.minimum(best + 1, last)], upper)
        if last < 2:
            return self.grid[best], low, high
        middle = np.clip(best, 1, last - 1)
        a, b, c = (losses[middle + d, rows] for d in (-1, 0, 1))
        left, right = self.grid[middle] - self.grid[middle - 1], self.grid[middle + 1] - self.grid[middle]
        # the lowest point of the parabola through the three
        down, up = left * (b - c), right * (b - a)
        u = self.grid[middle] - 0.5 * (left * down - right * up) / (down + up)
        u = np.where((best == middle) & (u > low) & (u < high), u, self.grid[best])
        return u, low, high

    def _losses(self, basis: Basis, y: Array, weights: Array) -> Array:
        """Return what the best linear parameters leave at each point of the grid, (G, B)."""
        theta, count = self._theta(self.grid), y.shape[1]
        if not basis.shared:
            found = np.empty((theta.size, count))
            for i, value in enumerate(theta):
                sums = basis.sums(np.full(count, value), y, weights, 0)
                answer = _solve_small(sums.products[0], sums.sides[0])
                found[i] = sums.squares[0] - np.einsum("jb,jb->b", answer, sums.sides[0])
            return found
        offset, columns = basis.tables(theta)
        shape = (y.shape[0], theta.size)
        table = np.array([np.broadcast_to(c, shape) for c in columns])
        base = np.broadcast_to(offset, shape) if np.any(offset) else None
        residuals = _own_residuals if weights.shape[1] > 1 else _shared_residuals
        return residuals(base, table, y, weights)

    def _followed(
        self, basis: Basis, y: Array, weights: Array, u: Array, low: Array, high: Array
    ) -> tuple[Array, IntArray, Array]:
        """Follow the lowest point down; return all parameters (nan where it was lost), steps, and the squares of y."""
        k, count = len(self.coordinates.free), y.shape[1]
        found, steps = np.full((k, count), np.nan), np.full(count, MAX_NEWTON_STEPS)
        whole = np.zeros(count)
        ids = np.arange(count)
        rest = np.array(self.rest)
        logs = self.coordinates.logs[rest][:, None]
        for round_ in range(MAX_NEWTON_STEPS):
            budgets.check_time("variable projection", round_, MAX_NEWTON_STEPS, "rounds")
            theta = self._theta(u)
            sums = basis.sums(theta, y, weights)
            if not round_:
                whole = sums.squares[0]
            value, slope, curve, third, coefficients, rate = _second_derivatives(sums)
            if self.log:
                third = theta * (theta * (theta * third + 3 * curve) + slope) if third.size else third
                curve = theta * (theta * curve + slope)
                slope, rate = theta * slope, theta * rate
            low, high = np.where(slope <= 0, np.maximum(u, low), low), np.where(slope >= 0, np.minimum(u, high), high)
            step = -slope / curve
            done = (-0.5 * slope * step <= STEP_RTOL * np.maximum(value, 1e-16 * sums.squares[0])) & (curve > 0)
            if third.size:  # Halley's step
                step /= np.clip(1 + 0.5 * step * third / curve, 0.5, 2.0)
            if self.log:
                np.clip(step, -self.max_log_step, self.max_log_step, out=step)
            new = u + step
            inside = done | ((curve > 0) & (new > low) & (new < high))
            if not inside.all():
                between = np.where(np.isfinite(low + high), 0.5 * (low + high), u - self.max_log_step * np.sign(slope))
                new = np.where(inside, new, between)
            u = new
            if round_ < MAX_NEWTON_STEPS - 1 and 2 * np.count_nonzero(done) < done.size:
                continue
            answer = coefficients + rate * step
            answer = np.where(logs, np.log(answer), answer)
            if done.all():
                found[self.at, ids], found[np.ix_(rest, ids)], steps[ids] = u, answer, round_ + 1
                break
            arrived, left = np.flatnonzero(done), np.flatnonzero(~done)
            found[self.at, ids[arrived]], steps[ids[arrived]] = u[arrived], round_ + 1
            found[np.ix_(rest, ids[arrived])] = answer[:, arrived]
            ids, u, low, high, y = ids[left], u[left], low[left], high[left], y[:, left]
            weights = weights if weights.shape[1] == 1 else weights[:, left]
            basis = basis.take(left)
        return found, steps, whole


def _lowest_valleys(losses: Array, options: GridOptions) -> tuple[IntArray, IntArray]:
    """Return the lowest few valleys of each curve on the grid, (G, B): whose they are, in order, and their places."""
    losses = np.where(np.isfinite(losses), losses, np.inf)
    edge = np.full((1, losses.shape[1]), np.inf)
    valley = (losses < np.concatenate([edge, losses[:-1]])) & (losses <= np.concatenate([losses[1:], edge]))
    lowest = losses.argmin(axis=0)
    if not (valley.sum(axis=0) > 1).any():
        return np.arange(lowest.size), lowest
    valley &= losses <= options.hopeless * losses.min(axis=0)
    valley[lowest, np.arange(lowest.size)] = True
    depth = np.sort(np.where(valley, losses, np.inf), axis=0)[: options.curve_valleys if lowest.size > 1 else None]
    ids, places = np.nonzero((valley & (losses <= depth[-1])).T)
    return ids, places


def _points_first(target: Target) -> tuple[Array, Array]:
    """Return observations and weights with the points first."""
    weights = target.weights[:, None] if target.weights.ndim == 1 else np.ascontiguousarray(target.weights.T)
    return np.ascontiguousarray(target.y.T), weights


def _shared_residuals(offset: Array | None, columns: Array, y: Array, weights: Array) -> Array:
    """Return what is left where all curves share points and weights: what lies across the columns, by their bases."""
    root = np.sqrt(weights)
    table = (root * columns).transpose(2, 1, 0)
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    table /= np.where(lengths > 0, lengths, 1.0)
    good = np.asarray(np.isfinite(table).all(axis=(1, 2)))
    table[~good] = 0.0
    q, r = np.linalg.qr(table)
    q *= np.abs(np.einsum("gii->gi", r))[:, None] > 1e-9  # a column that the others make up
    parts = (q.transpose(0, 2, 1).reshape(-1, len(y)) * root.T) @ y
    base = np.einsum("nb,nb,n->b", y, y, weights[:, 0])
    if offset is not None:
        parts -= np.einsum("gnj,ng->gj", q, root * offset).reshape(-1, 1)
        base = base + np.einsum("ng,ng,n->g", offset, offset, weights[:, 0])[:, None] - 2 * (weights * offset).T @ y
    parts *= parts
    found = base - parts.reshape(len(good), -1, y.shape[1]).sum(axis=1)
    found[~good] = np.inf
    return np.asarray(found)


def _own_residuals(offset: Array | None, columns: Array, y: Array, weights: Array) -> Array:
    """Return what is left where curves share their points, but each has weights of its own."""
    m, shape = len(columns), (columns.shape[2], y.shape[1])
    weighted = weights * y
    base = np.einsum("nb,nb->b", weighted, y)
    side = np.array([c.T @ weighted for c in columns])
    matrix = np.empty((m, m, *shape))
    for i, j in itertools.combinations_with_replacement(range(m), 2):
        matrix[i, j] = matrix[j, i] = (columns[i] * columns[j]).T @ weights
    if offset is not None:
        base = base + (offset * offset).T @ weights - 2 * offset.T @ weighted
        side -= np.array([(c * offset).T @ weights for c in columns])
    answer = _solve_small(matrix.reshape(m, m, -1), side.reshape(m, -1)).reshape(side.shape)
    return np.asarray(base - np.einsum("jgb,jgb->gb", answer, side))


def _solve_small(matrix: Array, side: Array) -> Array:
    """Return the answers of small linear systems, (m, B); nan where a matrix is not positive."""
    if len(side) == 1:
        return np.asarray(side / matrix[0])
    diagonal = np.einsum("iib->ib", matrix)
    found, bad = solve_damped(matrix, -side, 0.0 * diagonal, diagonal)
    found[:, bad] = np.nan
    return found


def _second_derivatives(sums: Sums) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Return the projected objective, its derivatives, the coefficients and their derivative by the parameter.

    With the Gram matrix G of the columns, the side b and the squares s of the observations, the coefficients solve
    G c = b, and what they leave is s - b c (Golub and Pereyra, 1973); derivatives of sums are given.
    """
    gram, side, squares = sums.products, sums.sides, sums.squares
    coefficients = _solve_small(gram[0], side[0])

    def times(order: int, vector: Array) -> Array:
        return np.asarray(np.einsum("ijb,jb->ib", gram[order], vector))

    def dot(left: Array, right: Array) -> Array:
        return np.asarray(np.einsum("ib,ib->b", left, right))

    first, second = times(1, coefficients), times(2, coefficients)
    residual_side = side[1] - first
    rate = _solve_small(gram[0], residual_side)
    value = squares[0] - dot(coefficients, side[0])
    slope = squares[1] + dot(coefficients, first - 2 * side[1])
    curve = squares[2] + dot(coefficients, second - 2 * side[2]) - 2 * dot(rate, residual_side)
    third = np.zeros(0)
    if len(squares) > 3:
        third = squares[3] + dot(coefficients, times(3, coefficients) - 2 * side[3])
        third += 6 * dot(rate, second - side[2] + times(1, rate))
    return value, slope, curve, third, coefficients, rate


def project_problem(law: Law, observations: Observations, target: Target) -> Projected | None:
    """Return the problem in one parameter; None where the law or the objective is another."""
    coordinates = target.coordinates
    if target.objective.scale != "residual" or target.objective.log:
        return None
    linear = linear_parameters(law, observations.variables, coordinates.free, coordinates.fixed)
    rest = [coordinates.free.index(name) for name in linear]
    bent = [i for i in range(len(coordinates.free)) if i not in rest]
    if len(bent) != 1 or not 0 < len(rest) <= MAX_LINEAR_PARAMETERS:
        return None
    basis = basis_of(law, observations.variables, coordinates.free[bent[0]], tuple(linear), coordinates.fixed)
    if basis is None:
        return None
    poles = poles_of(law, coordinates, observations.variables, observations.weights)
    alone = len(observations.y) == 1  # of one curve every gap can be looked at
    return Projected(
        basis=basis,
        at=bent[0],
        rest=rest,
        grid=_parameter_grid(
            law, coordinates, bent[0], observations.variables, poles if alone else None, target.solver.grid.gap
        ),
        coordinates=coordinates,
        max_log_step=target.solver.damping.max_log_step,
        poles=poles,
    )


def _parameter_grid(
    law: Law, coordinates: Coordinates, at: int, variables: Mapping[str, Array], poles: Poles | None, gap: float
) -> Array:
    """Return likely values of the nonlinear parameter in its coordinate, without wide gaps."""
    values = plausible_values(law, coordinates, [at], variables)[0]
    if poles is not None and not coordinates.logs[at]:
        values = np.append(values, poles.places(coordinates.free[at]))
    values = filled(np.unique(values), gap)
    return np.log(values) if coordinates.logs[at] else values


def solve_separable(
    law: Law, observations: Observations, target: Target, tolerance: float
) -> tuple[NewtonResult, Projected | None] | None:
    """Solve curves by what is linear in their law.

    Parameters
    ----------
    law : forecast.Law
    observations : Observations
        The curves.
    target : Target
    tolerance : float
        A last step that should lower the objective by no more than this share is taken without looking.

    Returns
    -------
    (NewtonResult, Projected or None) or None
        What has not settled here may settle elsewhere; and the problem in the one parameter that is not linear, None
        where every one is. None of both where the objective is another than least squares, or more than one parameter
        is not linear.
    """
    direct = curves_solved(law, observations.variables, target)
    if direct is not None:
        return direct, None
    form = project_problem(law, observations, target)
    return None if form is None else (form.solve(target, tolerance), form)
