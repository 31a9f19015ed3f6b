"""What a name in a formula must be for the formula to have a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from forecast.base.roots import find_roots
from forecast.errors import FormulaError, printable
from forecast.formula import tree
from forecast.formula.tree import Call, Name, Node

#: Roots of either sign are looked for between these powers of ten, in so many steps of each.
MAX_ROOT_DECADES, STEPS_PER_DECADE = 30, 4
#: What changes its sign at a pole is no root: there the formula is not at the value, within this share.
ROOT_VALUE_RTOL = 1e-9
#: Functions that have a value again and again, or over a whole range.
_WITHOUT_INVERSE = ("ceil", "cos", "heaviside", "sign", "sin", "tan")


def solve(root: Node, name: str, value: float, known: Mapping[str, float]) -> list[float]:
    """Return the numbers between the powers of ten, of either sign, at which a formula has a value."""
    shown = f"formula '{printable(tree.to_text(root), 80)}'"
    names = {n.name for n in tree.walk(root) if isinstance(n, Name)}
    if name not in names:
        raise FormulaError(f"{shown} does not depend on '{printable(name, 60)}'")
    if missing := names - {name, *known}:
        raise FormulaError(
            f"{shown}: it is solved for '{printable(name, 60)}' in numbers, which {', '.join(sorted(missing))} must be"
        )
    for call in (n for n in tree.walk(root) if isinstance(n, Call) and n.function in _WITHOUT_INVERSE):
        if any(isinstance(n, Name) and n.name == name for n in tree.walk(call)):
            raise FormulaError(f"{shown}: cannot be solved through {call.function}(): it has no single inverse")
    others = {n: np.float64(v) for n, v in known.items()}

    def excess(places: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(tree.evaluate(root, {**others, name: places}) - value, dtype=float)

    exponents = np.arange(-MAX_ROOT_DECADES * STEPS_PER_DECADE, MAX_ROOT_DECADES * STEPS_PER_DECADE + 1)
    sizes = 10.0 ** (exponents / STEPS_PER_DECADE)
    places = np.concatenate([-sizes[::-1], [0.0], sizes])
    found = np.unique(find_roots(excess, places[:-1], places[1:]))
    reached = found[np.abs(excess(found)) <= ROOT_VALUE_RTOL * max(abs(value), 1.0)]
    return list(map(float, reached))
