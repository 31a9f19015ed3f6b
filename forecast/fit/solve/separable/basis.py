"""A law that is linear in all but one parameter, as a basis that the one parameter bends.

Such a law is ``offset + sum of coefficient * column``, where offset and columns depend on the points and on a single
parameter. What a least-squares fit needs of them are sums over the points and their first two derivatives by that
parameter, which the law's own second derivatives give.

Tables stand with the points first and the fits last, (n, B): long rows are what the machine is quick with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from forecast.laws import Law

__all__ = ["Basis", "Sums"]

Array: TypeAlias = NDArray[np.float64]


@dataclass(slots=True)
class Sums:
    """Sums over the points, and their derivatives by the one nonlinear parameter: first axis, up to the second.

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


class Basis:
    """The columns of a law at the points of some fits, by its program: one coefficient 1, the others 0, all at once.

    Parameters
    ----------
    law : forecast.Law
    variables : mapping of str to ndarray
        (n, 1), or (n, B).
    bent : str
        The parameter in which the law is not linear.
    linear : tuple of str
        The others that are not fixed.
    fixed : mapping of str to float
    """

    def __init__(
        self, law: Law, variables: Mapping[str, Array], bent: str, linear: tuple[str, ...], fixed: Mapping[str, float]
    ) -> None:
        self.law, self.variables, self.bent, self.linear, self.fixed = law, variables, bent, linear, fixed
        self.program, names = law.program(), list(law.parameters)
        self.index, self.place = [names.index(p) for p in linear], names.index(bent)
        self.n = max(v.shape[0] for v in variables.values())
        #: Whether all fits share the points.
        self.shared = all(v.shape[1] == 1 for v in variables.values())

    def take(self, rows: Any) -> Basis:
        """Return the columns of some of the fits."""
        if self.shared:
            return self
        some = {name: v if v.shape[1] == 1 else v[:, rows] for name, v in self.variables.items()}
        return Basis(self.law, some, self.bent, self.linear, self.fixed)

    def without(self, i: int) -> Basis:
        """Return the law whose coefficient `i` is 0."""
        fixed = {**self.fixed, self.linear[i]: 0.0}
        return Basis(self.law, self.variables, self.bent, self.linear[:i] + self.linear[i + 1 :], fixed)

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

    def sums(self, theta: Array, y: Array, weights: Array, order: int = 2) -> Sums:
        """Return the sums, and derivatives of them up to an order.

        Parameters
        ----------
        theta : ndarray
            (B,).
        y, weights : ndarray
            (n, B); weights that all fits share are (n, 1).
        order : int
        """
        m, count, rows = len(self.linear), theta.size, order + 1
        made = Sums(np.zeros((rows, count)), np.zeros((rows, m, count)), np.zeros((rows, m, m, count)))
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
        made.squares[:] = _product([weights * part for part in offset], offset, rows)
        for i in range(m):
            made.sides[:, i] = _product(weighted[i], offset, rows)
            for j in range(i + 1):
                made.products[:, i, j] = made.products[:, j, i] = _product(weighted[i], columns[j], rows)
        return made


def _product(left: list[Array], right: list[Array], rows: int) -> Array:
    """Return the sum of a product and its first derivatives, (rows, B)."""

    def dot(i: int, j: int) -> Array:
        return np.asarray(np.einsum("nb,nb->b", left[i], right[j]))

    found = [dot(0, 0)]
    if rows > 1:
        found.append(dot(1, 0) + dot(0, 1))
    if rows > 2:
        found.append(dot(2, 0) + 2 * dot(1, 1) + dot(0, 2))
    return np.array(found)
