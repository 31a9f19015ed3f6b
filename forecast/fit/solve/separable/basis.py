"""A law that is linear in all but one parameter, as a basis that the one parameter bends.

Such a law is ``offset + sum of coefficient * column``, where offset and columns depend on the points and on a single
parameter. What a least-squares fit needs of them are sums over the points and their first two derivatives by that
parameter. Columns that are exponentials of something affine in it (powers of a variable, decays) have derivatives that
are the columns themselves times fixed numbers, so that their sums are small matrix products; any other law gives its
columns by its own second derivatives.

Tables stand with the points first and the fits last, (n, B): long rows are what the machine is quick with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from forecast.base.arrays import Array
from forecast.fit.kernels.power_sum import exponential
from forecast.formula import tree
from forecast.formula.tree import Binary, Name, Node, Number, Unary
from forecast.laws import Law


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
