"""The first and second derivatives of a formula with respect to its parameters, as trees that share their parts.

sympy takes them once; what is kept is text of the safe grammar.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from forecast.formula import Name, Node
from forecast.formula.tree import walk

__all__ = ["Derivatives", "differentiate"]


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


def differentiate(root: Node, parameters: Sequence[str], order: int) -> Derivatives:
    """Differentiate a tree by each of `parameters`, once (`order` 1) or twice (`order` 2).

    Examples
    --------
    >>> from forecast.formula import parse
    >>> from forecast.formula.tree import text
    >>> found = differentiate(parse("a*exp(b*x)").root, ["a", "b"], 2)
    >>> [(name, text(node)) for name, node in found.shared]
    [('shared0', 'exp(b*x)'), ('shared1', 'shared0*x')]
    >>> [text(node) for node in found.gradient], [(i, j, text(node)) for i, j, node in found.hessian]
    (['shared0', 'a*shared1'], [(0, 1, 'shared1'), (1, 1, 'a*shared0*x**2')])
    """
    import sympy as sp

    from forecast.formula.symbolic import from_sympy, to_sympy

    used = {n.name for n in walk(root) if isinstance(n, Name)}
    expression = to_sympy(root)
    symbols = [sp.Symbol(name) for name in parameters]
    first = [sp.diff(expression, s) for s in symbols]
    second = []
    if order > 1:
        for i, j in itertools.combinations_with_replacement(range(len(symbols)), 2):
            curve = sp.diff(first[i], symbols[j])
            if curve != 0:
                second.append((i, j, curve))
    fresh = (sp.Symbol(n) for n in (f"shared{i}" for i in itertools.count()) if n not in used)
    shared, reduced = sp.cse([*first, *(c for _, _, c in second)], symbols=fresh, order="none")
    known = used | {s.name for s, _ in shared}
    trees = [from_sympy(e, known) for e in reduced]
    return Derivatives(
        shared=tuple((s.name, from_sympy(e, known)) for s, e in shared),
        gradient=tuple(trees[: len(first)]),
        hessian=tuple((i, j, t) for (i, j, _), t in zip(second, trees[len(first) :], strict=True)),
    )
