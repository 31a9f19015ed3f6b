"""A graph as a list of numpy calls over registers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.formula.functions import FUNCTIONS

if TYPE_CHECKING:
    from forecast.formula.expression_graph import ExpressionGraph

_UFUNC_NAMES = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "**": "power",
    "negative": "negative",
    "reciprocal": "reciprocal",
    "square": "square",
}


@functools.cache
def _tape_function(op: str) -> Callable[..., Any]:
    """Return the function of an operation."""
    if op == "heaviside":
        return lambda x: np.heaviside(x, 0.5)
    if op in ("erf", "erfc"):
        from scipy import special

        return getattr(special, op)  # type: ignore[no-any-return]
    return getattr(np, _UFUNC_NAMES[op] if op in _UFUNC_NAMES else FUNCTIONS[op].numpy)  # type: ignore[no-any-return]


def compute(op: str, args: Sequence[float]) -> float:
    """Compute an operation on numbers."""
    with np.errstate(all="ignore"):
        return float(_tape_function(op)(*map(np.float64, args)))


class Tape:
    """The computation of some results of a graph.

    Parameters
    ----------
    graph : ExpressionGraph
    results : sequence of int
        The nodes to compute.
    """

    def __init__(self, graph: ExpressionGraph, results: Sequence[int]) -> None:
        order = graph.needed(results)
        place = {node: i for i, node in enumerate(order)}
        self.results = [place[r] for r in results]
        self.inputs = [(place[at], name) for name, at in graph.names.items() if at in place]
        self.registers: list[Any] = [graph.numbers.get(node) for node in order]
        last = {place[a]: place[node] for node in order for a in graph.nodes[node][1]}
        self.steps = []
        for node in order:
            op, args = graph.nodes[node]
            made = {place[a] for a in args if graph.nodes[a][1]} - set(self.results)
            free = [register for register in made if last[register] == place[node]]
            if args:
                self.steps.append((_tape_function(op), tuple(place[a] for a in args), place[node], free))

    def run(self, values: Mapping[str, Any]) -> list[Any]:
        """Compute the results over float64 arrays that broadcast; results may be one and the same array.

        An array is given back once its last reader is done.
        """
        r = self.registers.copy()
        for register, name in self.inputs:
            r[register] = values[name]
        for function, args, to, free in self.steps:
            r[to] = function(*[r[a] for a in args])
            for register in free:
                r[register] = None
        return [r[i] for i in self.results]
