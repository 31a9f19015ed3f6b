"""Derivatives of a formula with respect to some of its names, by forward differentiation of its tree.

For one gradient over arrays this needs no computer algebra, so that an answer does not wait for its import.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from forecast.formula import Formula
from forecast.formula.tree import Binary, Call, Name, Node, Number, Unary, apply, children

__all__ = ["tangent"]

#: The derivative of each function of one argument, from the argument and the value.
_RULES: Mapping[str, Callable[[Any, Any], Any]] = {
    "abs": lambda x, f: np.sign(x),
    "cos": lambda x, f: -np.sin(x),
    "erf": lambda x, f: 2 / math.sqrt(math.pi) * np.exp(-np.square(x)),
    "exp": lambda x, f: f,
    "heaviside": lambda x, f: 0.0 * x,
    "log": lambda x, f: 1 / x,
    "log10": lambda x, f: 1 / (x * math.log(10)),
    "log2": lambda x, f: 1 / (x * math.log(2)),
    "sign": lambda x, f: 0.0 * x,
    "sin": lambda x, f: np.cos(x),
    "sqrt": lambda x, f: 0.5 / f,
    "tanh": lambda x, f: 1 - np.square(f),
}


def tangent(formula: Formula, values: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, list[Any]]:
    """Return the value of a formula and its derivative by each of `names`, over arrays that broadcast.

    Examples
    --------
    >>> from forecast.formula import parse
    >>> value, (slope,) = tangent(parse("2*x**3"), {"x": 2.0}, ["x"])
    >>> float(value), float(slope)
    (16.0, 24.0)
    """
    known = {n: np.asarray(v, dtype=np.float64)[()] for n, v in values.items()}
    with np.errstate(all="ignore"):
        value, slopes = _walk(formula.root, known, {n: i for i, n in enumerate(names)}, len(names))
    return value, [np.float64(0.0) if s is None else s for s in slopes]


def _walk(node: Node, values: Mapping[str, Any], index: Mapping[str, int], k: int) -> tuple[Any, list[Any]]:
    """Return value and slopes of a node; a slope that is zero by structure is None."""
    if isinstance(node, Number):
        return np.float64(node.value), [None] * k
    if isinstance(node, Name):
        slopes: list[Any] = [None] * k
        if node.name in index:
            slopes[index[node.name]] = np.float64(1.0)
        return values[node.name], slopes
    below = [_walk(part, values, index, k) for part in children(node)]
    parts = tuple(v for v, _ in below)
    value = apply(node, parts)
    weights = _weights(node, parts, value)
    total: list[Any] = [None] * k
    for weight, (_, slopes) in zip(weights, below, strict=True):
        for i, slope in enumerate(slopes):
            if slope is not None:
                part = weight() * slope
                total[i] = part if total[i] is None else total[i] + part
    return value, total


def _weights(node: Node, parts: tuple[Any, ...], value: Any) -> list[Callable[[], Any]]:
    """Return the derivative of a node by each child, computed only where it is needed."""
    if isinstance(node, Unary):
        return [lambda: -1.0]
    if isinstance(node, Call):
        if len(parts) > 1:  # min, max: the child that is chosen
            first = [~np.logical_or.reduce([parts[j] == value for j in range(i)] or [False]) for i in range(len(parts))]
            return [lambda i=i: np.where((parts[i] == value) & first[i], 1.0, 0.0) for i in range(len(parts))]  # type: ignore[misc]
        return [lambda: _RULES[node.function](parts[0], value)]
    assert isinstance(node, Binary)
    left, right = parts
    match node.op:
        case "+":
            return [lambda: 1.0, lambda: 1.0]
        case "-":
            return [lambda: 1.0, lambda: -1.0]
        case "*":
            return [lambda: right, lambda: left]
        case "/":
            return [lambda: 1 / right, lambda: -value / right]
        case _:
            return [lambda: right * np.power(left, right - 1.0), lambda: value * np.log(left)]
