"""A graph as a list of numpy calls over registers, computed into arrays that are no longer needed."""

from __future__ import annotations

import functools
import math
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

#: Arrays up to this many numbers are left to the allocator: to keep account of them costs more than they do.
MAX_UNPOOLED_ELEMENTS = 1024


@functools.cache
def _tape_function(op: str) -> tuple[Callable[..., Any], bool]:
    """Return the function of an operation, and whether it writes where it is told."""
    if op == "heaviside":
        return (lambda x: np.heaviside(x, 0.5)), False
    if op in ("erf", "erfc"):
        from scipy import special

        return getattr(special, op), True
    return getattr(np, _UFUNC_NAMES[op] if op in _UFUNC_NAMES else FUNCTIONS[op].numpy), True


def compute(op: str, args: Sequence[float]) -> float:
    """Compute an operation on numbers."""
    with np.errstate(all="ignore"):
        return float(_tape_function(op)[0](*map(np.float64, args)))


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
        made = [place[node] for node in order if graph.nodes[node][1]]
        last: dict[int, int] = {place[a]: place[node] for node in order for a in graph.nodes[node][1]}
        ends: dict[int, list[int]] = {}
        for register in set(made) - set(self.results):
            ends.setdefault(last[register], []).append(register)
        self.steps = []
        for node in order:
            op, args = graph.nodes[node]
            if args:
                function, into = _tape_function(op)
                free = tuple(sorted(ends.get(place[node], ())))
                self.steps.append((function, tuple(place[a] for a in args), place[node], free, into))

    def run(self, values: Mapping[str, Any], shape: tuple[int, ...]) -> list[Any]:
        """Compute the results over float64 arrays that broadcast to `shape`; results may be one and the same array.

        An array is written into once its last reader is done, if it has the full shape; what was passed in never is.
        """
        r = self.registers.copy()
        for register, name in self.inputs:
            r[register] = values[name]
        if math.prod(shape) <= MAX_UNPOOLED_ELEMENTS:
            for function, args, to, _, _ in self.steps:
                r[to] = function(*[r[a] for a in args])
            return [r[i] for i in self.results]
        spare: list[Any] = []
        for function, args, to, free, into in self.steps:
            parts = [r[a] for a in args]
            out = None
            for register in free:
                if r[register].shape == shape:
                    spare.append(r[register])
                r[register] = None
            if spare and into and _has_full_shape(parts, shape):
                out = spare.pop()
            r[to] = function(*parts) if out is None else function(*parts, out=out)
        return [r[i] for i in self.results]


def _has_full_shape(parts: Sequence[Any], shape: tuple[int, ...]) -> bool:
    """Tell whether what is computed of some parts has the full shape."""
    if any(getattr(part, "shape", ()) == shape for part in parts):
        return True
    return len(parts) == 2 and np.broadcast(*parts).shape == shape
