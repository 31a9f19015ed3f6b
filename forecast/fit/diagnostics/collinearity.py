"""What the places of the points can tell, whatever was observed there: variables that vary together, places beyond."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from forecast.base.arrays import Array
from forecast.fit.problem.problem import Problem
from forecast.formula import tree
from forecast.formula.tree import Binary, Name, Number

#: Variables whose scatter about a line is below this share of their spread vary together.
MAX_SCATTER_SHARE = 1e-6


def together(problem: Problem, values: Mapping[str, float]) -> dict[str, str]:
    """Return parameters of terms that the design cannot tell apart, with the reason.

    Two variables that vary together (D = 20 N in every row) leave a term in the one alone and a term in the other alone
    exchangeable.
    """
    rows = problem.weights > 0
    varied = {n: v[rows] for n, v in problem.variables.items() if np.ptp(v[rows]) > 0}
    reasons: dict[str, str] = {}
    names = list(varied)
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            text = _relation_text(first, varied[first], second, varied[second])
            if not text:
                continue
            tied = _separate_parameters(problem, values, (first, second))
            if not (tied[first] and tied[second]):
                continue
            for name in (*tied[first], *tied[second]):
                reasons.setdefault(name, f"{first} and {second} vary together in these data ({text}); vary one alone")
    return reasons


def _relation_text(first: str, a: Array, second: str, b: Array) -> str:
    """Say how two variables go together, in logarithms or as they are; empty where they do not."""
    if (a > 0).all() and (b > 0).all():
        slope, offset, apart = _regress(np.log(a), np.log(b))
        if apart < MAX_SCATTER_SHARE:
            power = "" if abs(slope - 1) < 1e-6 else f"**{slope:.4g}"
            return f"{second} = {np.exp(offset):.4g}*{first}{power}"
    slope, offset, apart = _regress(a, b)
    return f"{second} = {offset:.4g} + {slope:.4g}*{first}" if apart < MAX_SCATTER_SHARE else ""


def _regress(a: Array, b: Array) -> tuple[float, float, float]:
    """Return slope, offset, and the share of the spread that is left."""
    x, y = a - a.mean(), b - b.mean()
    slope = float(x @ y / (x @ x)) if x @ x > 0 else 0.0
    left = float(np.linalg.norm(y - slope * x) / max(float(np.linalg.norm(y)), 1e-300))
    return slope, float(b.mean() - slope * a.mean()), left


def _separate_parameters(problem: Problem, values: Mapping[str, float], pair: tuple[str, str]) -> dict[str, list[str]]:
    """Return for each of two variables the parameters whose terms see it and not the other."""
    law = problem.law

    def slopes(**moved: Array) -> Array:
        with np.errstate(all="ignore"):
            rows = law.jacobian(values, **{**problem.variables, **moved})
            return np.array([np.broadcast_to(r, problem.observed.shape) for r in rows], dtype=float)

    base = slopes()
    sees = {}
    for name in pair:
        spread = float(np.ptp(problem.variables[name]))
        with np.errstate(all="ignore"):
            change = np.abs(slopes(**{name: problem.variables[name] + 0.01 * spread}) - base).max(axis=1)
        sees[name] = change > 1e-9 * np.abs(base).max(axis=1)
    order = list(law.parameters)
    first, second = pair
    alone = {first: sees[first] & ~sees[second], second: sees[second] & ~sees[first]}
    return {n: [p for p in problem.free if alone[n][order.index(p)]] for n in pair}


def edge_reasons(problem: Problem, ends: Mapping[str, tuple[float, float]]) -> dict[str, str]:
    """Return places in the law (a midpoint, a break) whose interval reaches the end of the data, with the reason.

    A place is a parameter that is subtracted from a variable, or that divides it inside a sum with a number.
    """
    reasons: dict[str, str] = {}
    for name, along in _reference_points(problem).items():
        low, high = float(np.min(along)), float(np.max(along))
        left, right = ends[name]
        if left < low or right > high:
            side = "below" if left < low else "above"
            reasons[name] = f"may lie {side} the data, which then show one side of it only"
    return reasons


def _reference_points(problem: Problem) -> dict[str, Array]:
    law = problem.law
    if law.expression is None or getattr(law, "equals", None):
        return {}
    places: dict[str, Array] = {}

    def add(node: Binary) -> None:
        right = node.right
        inside = {part.name for part in tree.walk(node.left) if isinstance(part, Name)}
        if isinstance(right, Name) and right.name in problem.free and inside and inside <= set(problem.variables):
            places[right.name] = np.asarray(tree.evaluate(node.left, problem.variables), dtype=float)

    for node in tree.walk(law.formula.root):
        if isinstance(node, Binary) and node.op == "-":
            add(node)
        if isinstance(node, Binary) and node.op == "+" and Number in (type(node.left), type(node.right)):
            other = node.right if isinstance(node.left, Number) else node.left
            for part in tree.walk(other):
                if isinstance(part, Binary) and part.op == "/":
                    add(part)
    return places
