"""Poles among the data: what a law is divided by changes sign between two points, and the law jumps there.

Such a curve may pass close to every point, and says nothing between them: it is no optimum, and no rival of one. Only
where it fits closer than chance would have it do the data speak for a pole, and then no curve without one is an optimum
either. What is sure to keep its sign (a sum of positive things, an exponential, a square) costs nothing here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.fit.sizes import OPTIMUM_RTOL
from forecast.formula import tree
from forecast.formula.tree import Binary, Call, Name, Node, Number, Unary

if TYPE_CHECKING:
    from forecast.fit.problem.problem import Coordinates, Problem
    from forecast.laws import Law


#: Why a fit that has settled is no optimum.
POLE_AMONG_DATA, POLE_FITS_CLOSER = "the law has a pole among the data", "with a pole among the data it fits closer"
#: What is said of an optimum beside which a curve with a pole fits closer by no more than chance.
POLE_BY_CHANCE = "with a pole among the data it fits closer, but no more than by chance"
#: With this probability at most a pole fits so much closer to data of a law without one.
POLE_PROBABILITY = 0.05
#: Places that are looked at in each gap between neighbouring points of one variable, up to so many points.
PLACES_PER_GAP, MAX_GAPS = 4, 500
#: Values of a parameter with a pole between points, at most.
MAX_PLACES = 400


@dataclass(frozen=True)
class Poles:
    """What a law is divided by, at the points of some fits.

    Parameters
    ----------
    divisors : tuple of Node
    free : tuple of str
    fixed : mapping of str to float
    variables : mapping of str to ndarray
        (n,), or (B, n) of many fits.
    absent : ndarray of bool, optional
        (B, n), what is no point of the data but padding.
    """

    divisors: tuple[Node, ...]
    free: tuple[str, ...]
    fixed: Mapping[str, float]
    variables: Mapping[str, Array]
    absent: BoolArray | None = None

    def take(self, rows: Any) -> Poles:
        """Return those of some of the fits."""
        if self.absent is None:
            return self
        some = {name: v if v.ndim == 1 else v[rows] for name, v in self.variables.items()}
        absent = self.absent if len(self.absent) == 1 else self.absent[rows]
        return replace(self, variables=some, absent=absent)

    def places(self, name: str) -> Array:
        """Return values of a parameter, the only free one in what is divided by, that put a pole in each gap."""
        found: list[Array] = []
        for divisor in self.divisors:
            if {part.name for part in tree.walk(divisor) if isinstance(part, Name)} & set(self.free) != {name}:
                continue
            at = [
                tree.evaluate(divisor, {**self.fixed, **self.variables, name: np.float64(v)}) for v in (0.0, 1.0, 2.0)
            ]
            zero, one, two = (np.asarray(level, dtype=float).ravel() for level in np.broadcast_arrays(*at))
            with np.errstate(all="ignore"):
                root = -zero / (one - zero)
                straight = np.abs(two - 2 * one + zero) <= 1e-9 * (np.abs(two) + np.abs(one) + np.abs(zero))
            roots = np.unique(root[straight & np.isfinite(root)])
            roots = roots[:: max(1, roots.size // MAX_PLACES)]
            found.append(0.5 * (roots[1:] + roots[:-1]))
        return np.concatenate(found) if found else np.zeros(0)

    def mask(self, p: Array) -> BoolArray:
        """Tell at which parameters, (k, B), as the law has them, there is a pole among the points."""
        values = {**self.fixed, **{n: p[i][:, None] for i, n in enumerate(self.free)}, **self.variables}
        found = np.zeros(p.shape[1], dtype=bool)
        with np.errstate(all="ignore"):
            for divisor in self.divisors:
                signs = np.sign(np.atleast_2d(np.asarray(tree.evaluate(divisor, values), dtype=float)))
                if self.absent is not None:
                    signs = np.where(self.absent, np.nan, signs)
                found |= (signs > 0).any(axis=-1) & (signs < 0).any(axis=-1)
        return found


def speaks_for_pole(best: Any, closer: Any, n: Any, k: int, scale: str) -> Any:
    """Tell whether data speak for a pole, by objectives without one and with one; numbers or arrays.

    A pole brings two numbers, its place and its strength, and by chance the gap that suits it best of some n: the
    likelihood ratio is that of chi-squared with two degrees of freedom, n times over.

    Parameters
    ----------
    best, closer : float or ndarray
    n : int or ndarray
        Points.
    k : int
        Parameters.
    scale : str
        That of the objective: "known" where it is a likelihood, else the scatter is estimated.
    """
    with np.errstate(all="ignore"):
        fallen = best - closer if scale == "known" else 0.5 * np.maximum(n - k, 0) * np.log(best / closer)
        return n * np.exp(-fallen) < POLE_PROBABILITY


def pole_remark(problem: Problem, best: float, closer: float) -> str:
    """Return what to say of a solution beside one with a pole among the data; empty where that fits no closer."""
    if not (math.isfinite(closer) and closer < best * (1 - OPTIMUM_RTOL) - problem.rounding()):
        return ""
    spoken_for = speaks_for_pole(best, closer, problem.n, problem.k, problem.objective.scale)
    return POLE_FITS_CLOSER if spoken_for else POLE_BY_CHANCE


def poles_of(law: Law, limits: Coordinates, variables: Mapping[str, Array], weights: Array) -> Poles | None:
    """Return what a law is divided by and its parameters move; None where that cannot change its sign.

    Parameters
    ----------
    law : forecast.Law
    limits : Coordinates
        Which parameters are free, and which of them never negative.
    variables : mapping of str to ndarray
        (n,), or (B, n) of many fits.
    weights : ndarray
        (n,) or (B, n); what has none is no point of the data.
    """
    if law.expression is None or law.levels:
        return None
    positive = {name for name, above in zip(limits.free, limits.positive, strict=True) if above}
    positive |= {name for name, value in limits.fixed.items() if value > 0}
    positive |= {name for name, values in variables.items() if bool((values > 0).all())}
    parameters, names = set(limits.free), set(variables)
    divisors = []
    for node in dict.fromkeys(_divisor_factors(law.formula.root)):
        inside = {part.name for part in tree.walk(node) if isinstance(part, Name)}
        if inside & parameters and inside & names and not _is_positive(node, positive):
            divisors.append(node)
    if not divisors:
        return None
    if all(v.ndim == 1 for v in variables.values()):
        given = (weights > 0).any(axis=0) if weights.ndim > 1 else weights > 0
        points = {name: v[given] for name, v in variables.items()}
        return Poles(tuple(divisors), limits.free, limits.fixed, _with_gaps(points))
    return Poles(tuple(divisors), limits.free, limits.fixed, variables, np.atleast_2d(weights) <= 0)


def _with_gaps(points: dict[str, Array]) -> dict[str, Array]:
    """Return points with places between them, where they lie along one variable."""
    if len(points) != 1:
        return points
    ((name, values),) = points.items()
    ends = np.unique(values)
    if not 1 < ends.size <= MAX_GAPS:
        return points
    shares = np.arange(PLACES_PER_GAP + 1) / (PLACES_PER_GAP + 1)
    between = (ends[:-1, None] + shares * np.diff(ends)[:, None]).ravel()
    return {name: np.append(between, ends[-1])}


def _divisor_factors(node: Node) -> Iterator[Node]:
    """Give the factors of everything that a formula divides by."""
    if isinstance(node, Binary) and node.op == "/":
        yield from _product_factors(node.right)
    if isinstance(node, Binary) and node.op == "**" and _is_negative(node.right):
        yield from _product_factors(node.left)
    for part in tree.children(node):
        yield from _divisor_factors(part)


def _is_negative(node: Node) -> bool:
    return tree.constant(node) and float(tree.evaluate(node, {})) < 0


def _product_factors(node: Node) -> Iterator[Node]:
    if isinstance(node, Unary):
        yield from _product_factors(node.operand)
    elif isinstance(node, Binary) and node.op in "*/":
        yield from _product_factors(node.left)
        yield from _product_factors(node.right)
    elif isinstance(node, Binary) and node.op == "**":
        yield from _product_factors(node.left)
    else:
        yield node


def _is_positive(node: Node, positive: set[str]) -> bool:
    """Tell whether a part is never negative, whatever the parameters."""
    if isinstance(node, Number):
        return node.value >= 0
    if isinstance(node, Name):
        return node.name in positive
    if isinstance(node, Call):
        return node.function in ("exp", "sqrt", "abs")
    if isinstance(node, Binary) and node.op in "+*/":
        return _is_positive(node.left, positive) and _is_positive(node.right, positive)
    if isinstance(node, Binary) and node.op == "**":
        even = isinstance(node.right, Number) and node.right.value % 2 == 0
        return even or _is_positive(node.left, positive)
    return False
