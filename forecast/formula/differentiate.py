"""First and second derivatives of a formula, as trees that share their parts.

The formula becomes a graph in which equal parts are one node: sums with coefficients, products of powers. Every node is
differentiated once, with what is already there (the slope of ``u**v`` is ``u**v`` times something), and what stands in
several places is written once, under a name of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from forecast.errors import FormulaError, printable
from forecast.formula import tree
from forecast.formula.normal import Parts
from forecast.formula.sharing import Writer
from forecast.formula.tree import Node

__all__ = ["Derivatives", "Differentiated", "derivative", "differentiate"]

#: Parts, and levels, of a derivative that is written as one formula.
MAX_PARTS, MAX_DEPTH = 100_000, 250


@dataclass(frozen=True)
class Derivatives:
    """Derivatives of a formula.

    Parameters
    ----------
    shared : tuple of (str, Node)
        Assignments, to be made in order.
    gradient : tuple of Node
        One tree for each parameter, over the formula's names and the assigned ones.
    hessian : tuple of (int, int, Node)
        The second derivatives that are not zero, row <= column; empty where they were not asked for.
    """

    shared: tuple[tuple[str, Node], ...]
    gradient: tuple[Node, ...]
    hessian: tuple[tuple[int, int, Node], ...]


class Differentiated:
    """A formula and its derivatives by some parameters, taken when they are first asked for.

    Parameters
    ----------
    root : Node
    parameters : sequence of str
    """

    def __init__(self, root: Node, parameters: Sequence[str]) -> None:
        self.parameters = tuple(parameters)
        self._parts = Parts(parameters, printable(tree.text(root), 80))
        self._root = self._parts.enter(root)
        self._written: dict[tuple[int, frozenset[str]], Derivatives] = {}

    @functools.cached_property
    def _first(self) -> list[int]:
        return [self._parts.slope(self._root, name) for name in self.parameters]

    @functools.cached_property
    def _second(self) -> list[tuple[int, int, int]]:
        found = []
        for i, first in enumerate(self._first):
            for j, name in list(enumerate(self.parameters))[i:]:
                curve = self._parts.slope(first, name)
                if not self._parts.is_zero(curve):
                    found.append((i, j, curve))
        return found

    def curved(self) -> frozenset[tuple[int, int]]:
        """Return the pairs (i, j), i <= j, of parameters whose second derivative is not always zero."""
        return frozenset((i, j) for i, j, _ in self._second)

    def derivatives(self, order: int, positive: Iterable[str] = ()) -> Derivatives:
        """Write the derivatives up to an order, 1 or 2, for values where the names in `positive` are above zero.

        Raises
        ------
        FormulaError
            If the derivatives have too many parts, or a number in them is out of range.
        """
        key = order, frozenset(positive)
        if key not in self._written:
            second = self._second if order > 1 else []
            results = [*self._first, *(curve for _, _, curve in second)]
            shared, trees = Writer(self._parts, self._root, results, key[1]).written()
            self._written[key] = Derivatives(
                shared=tuple(shared),
                gradient=tuple(trees[: len(self._first)]),
                hessian=tuple((i, j, t) for (i, j, _), t in zip(second, trees[len(self._first) :], strict=True)),
            )
        return self._written[key]


def differentiate(root: Node, parameters: Sequence[str], order: int, positive: Iterable[str] = ()) -> Derivatives:
    """Differentiate a tree by each of `parameters`, once (`order` 1) or twice (`order` 2).

    Examples
    --------
    >>> from forecast.formula import parse
    >>> from forecast.formula.tree import text
    >>> found = differentiate(parse("a*exp(b*x)").root, ["a", "b"], 2)
    >>> [(name, text(node)) for name, node in found.shared]
    [('shared0', 'exp(b*x)'), ('shared1', 'a*shared0')]
    >>> [text(node) for node in found.gradient], [(i, j, text(node)) for i, j, node in found.hessian]
    (['shared0', 'x*shared1'], [(0, 1, 'x*shared0'), (1, 1, 'x**2*shared1')])
    """
    return Differentiated(root, parameters).derivatives(order, positive)


def derivative(root: Node, name: str) -> Node:
    """Return the derivative of a tree with respect to `name`, as one tree."""
    parts = Parts([name], printable(tree.text(root), 80))
    whole = parts.enter(root)
    found = Writer(parts, whole, [parts.slope(whole, name)], frozenset()).whole_tree()
    size, depth = _measured(found)
    if size > MAX_PARTS or depth > MAX_DEPTH:
        raise FormulaError(f"formula '{printable(tree.text(root), 80)}': its derivative is too large for one formula")
    return found


def _measured(root: Node) -> tuple[int, int]:
    """Return size and depth of a tree, some of whose parts may be one object in several places."""
    known: dict[int, tuple[int, int]] = {}
    todo = [root]
    while todo:
        below = tree.children(todo[-1])
        left = [child for child in below if id(child) not in known]
        if left:
            todo.extend(left)
            continue
        sizes = [known[id(child)] for child in below]
        known[id(todo.pop())] = 1 + sum(s for s, _ in sizes), 1 + max((d for _, d in sizes), default=0)
    return known[id(root)]
