"""What a name in a formula must be for the formula to have a value: step by step where it occurs once, else a root."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from forecast.base.roots import find_roots
from forecast.errors import FormulaError, printable
from forecast.formula import parse, tree
from forecast.formula.tree import Binary, Call, Name, Node, Number, Unary, number_node

#: What the argument of a function is at a value `v` of it; a function that is not here has no single inverse.
_INVERSES: Mapping[str, tuple[str, ...]] = {
    "abs": ("v", "-v"),
    "acos": ("cos(v)",),
    "asin": ("sin(v)",),
    "atan": ("tan(v)",),
    "cbrt": ("v**3",),
    "exp": ("log(v)",),
    "expm1": ("log1p(v)",),
    "log": ("exp(v)",),
    "log10": ("10**v",),
    "log1p": ("expm1(v)",),
    "log2": ("2**v",),
    "sqrt": ("v**2",),
    "tanh": ("log((1 + v)/(1 - v))/2",),
}
#: Roots of either sign are looked for between these powers of ten, in so many steps of each.
MAX_ROOT_DECADES, STEPS_PER_DECADE = 30, 4
#: What changes its sign at a pole is no root: there the formula is not at the value, within this share.
ROOT_VALUE_RTOL = 1e-9


def _count_occurrences(node: Node, name: str) -> int:
    return sum(isinstance(n, Name) and n.name == name for n in tree.walk(node))


def solve(root: Node, name: str, value: float, known: Mapping[str, float]) -> list[Node]:
    """Return trees for what `name` must be so that `root` equals `value`.

    A name that occurs once is freed step by step; otherwise the answers are numbers, and so must `known` be for every
    other name.
    """
    count = _count_occurrences(root, name)
    if count == 0:
        raise FormulaError(f"formula '{printable(tree.to_text(root), 80)}' does not depend on '{printable(name, 60)}'")
    return _solve_for(root, name, number_node(value)) if count == 1 else _find_roots(root, name, value, known)


def _solve_for(node: Node, name: str, value: Node) -> list[Node]:
    if isinstance(node, Name):
        return [value]
    if isinstance(node, Unary):
        return _solve_for(node.operand, name, Unary("-", value))
    if isinstance(node, Call):
        return [r for v in _inverses(node.function) for r in _solve_for(node.args[0], name, _with_value(v, value))]
    assert isinstance(node, Binary)
    left, right, on_left = node.left, node.right, _count_occurrences(node.left, name) == 1
    if node.op == "**":
        if not on_left:
            return _solve_for(right, name, Binary("/", Call("log", (value,)), Call("log", (left,))))
        root = Binary("**", value, Binary("/", Number(1.0), right))
        roots: list[Node] = [root]
        if tree.constant(right) and float(tree.evaluate(right, {})) % 2 == 0:
            roots.append(Unary("-", root))
        return [r for v in roots for r in _solve_for(left, name, v)]
    if on_left:
        undo = {"+": "-", "-": "+", "*": "/", "/": "*"}[node.op]
        return _solve_for(left, name, Binary(undo, value, right))
    if node.op in "+*":
        return _solve_for(right, name, Binary("-" if node.op == "+" else "/", value, left))
    return _solve_for(right, name, Binary(node.op, left, value))


def _with_value(node: Node, value: Node) -> Node:
    """Return the tree of an inverse with a value in the place of its name."""
    return tree.rewrite(node, lambda part: value if isinstance(part, Name) else part)


@functools.cache
def _inverses(function: str) -> tuple[Node, ...]:
    if function not in _INVERSES:
        raise FormulaError(f"cannot be solved through {function}(): it has no single inverse in this grammar")
    return tuple(parse(text).root for text in _INVERSES[function])


def _find_roots(root: Node, name: str, value: float, known: Mapping[str, float]) -> list[Node]:
    """Return the numbers between the powers of ten, of either sign, at which a formula has a value."""
    missing = {n.name for n in tree.walk(root) if isinstance(n, Name)} - {name, *known}
    if missing:
        raise FormulaError(
            f"formula '{printable(tree.to_text(root), 80)}': '{printable(name, 60)}' occurs more than once and is "
            f"solved for in numbers, which {', '.join(sorted(missing))} must be then"
        )
    others = {n: np.float64(v) for n, v in known.items()}

    def excess(places: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(tree.evaluate(root, {**others, name: places}) - value, dtype=float)

    exponents = np.arange(-MAX_ROOT_DECADES * STEPS_PER_DECADE, MAX_ROOT_DECADES * STEPS_PER_DECADE + 1)
    sizes = 10.0 ** (exponents / STEPS_PER_DECADE)
    places = np.concatenate([-sizes[::-1], [0.0], sizes])
    found = np.unique(find_roots(excess, places[:-1], places[1:]))
    found = found[np.abs(excess(found)) <= ROOT_VALUE_RTOL * max(abs(value), 1.0)]
    return [number_node(float(number)) for number in found]
