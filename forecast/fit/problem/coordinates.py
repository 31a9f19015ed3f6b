"""The coordinates in which a law is solved: bounds, logarithms, and a given start checked."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.errors import FitError, UnknownNameError, UsageError, printable
from forecast.fit.kernels.general import Placement

if TYPE_CHECKING:
    from forecast.fit.problem.problem import Problem
    from forecast.laws import Law


def law_label(law: Law) -> str:
    """Return what to call a law in a message: its name, or its formula."""
    return printable(law.name or law.expression or "law", 100)


@dataclass(frozen=True)
class Coordinates:
    """Which parameters are solved for, and how.

    Parameters
    ----------
    free : tuple of str
    fixed : mapping of str to float
    logs : ndarray of bool
        Which of the free ones are solved in their logarithm: positive ones in which the law is not linear. What is
        linear may be 0, a bound like any other.
    lower, upper : ndarray
        Bounds in the solver's coordinates.
    """

    free: tuple[str, ...]
    fixed: Mapping[str, float]
    logs: BoolArray
    lower: Array
    upper: Array

    @functools.cached_property
    def positive(self) -> BoolArray:
        """Which of the free ones are never negative."""
        return self.logs | (self.lower >= 0)

    def natural(self, q: Array) -> Array:
        """Return the free parameters as the law has them, of coordinates (..., k)."""
        with np.errstate(over="ignore"):
            return np.where(self.logs, np.exp(np.where(self.logs, q, 0.0)), q)

    def internal(self, p: Array) -> Array:
        """Return the coordinates of free parameters (..., k)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.logs, np.log(np.where(self.logs, p, 1.0)), p)

    def with_logs(self, logs: BoolArray) -> Coordinates:
        """Return the coordinates of which these are logarithms."""
        moved = replace(self, logs=logs)
        return replace(
            moved, lower=moved.internal(self.natural(self.lower)), upper=moved.internal(self.natural(self.upper))
        )

    def take(self, keep: list[int], fixed: Mapping[str, float]) -> Coordinates:
        """Return the coordinates of some of the free parameters; the others are `fixed` now."""
        free = tuple(self.free[i] for i in keep)
        return Coordinates(free, fixed, self.logs[keep], self.lower[keep], self.upper[keep])

    def placement(self, law: Law, variables: Mapping[str, Array], *, link: bool) -> Placement:
        """Return a law at points, (n,) or (B, n), in these coordinates; `link` takes its logarithm."""
        return Placement(
            law=law, variables=variables, free=self.free, logs=self.logs, fixed=self.fixed, link=link,
            positive=self.positive,
        )  # fmt: skip


def solver_coordinates(law: Law, name: str) -> Coordinates:
    """Return the coordinates in which a law is solved.

    Raises
    ------
    FitError
        If its bounds are impossible, or leave nothing free.
    """
    bounds = dict.fromkeys(law.parameters, (-math.inf, math.inf))
    for parameter, (low, high) in law.bounds.items():
        if parameter not in bounds:
            raise UnknownNameError("parameter", parameter, law.parameters, where=f"{name}: bounds")
        if math.isnan(low) or math.isnan(high) or low > high:
            raise FitError(f"{name}: bounds of '{parameter}': expected low <= high, got ({low:g}, {high:g})")
        bounds[parameter] = (float(low), float(high))
    fixed = {p: low for p, (low, high) in bounds.items() if low == high}
    free = tuple(p for p in law.parameters if p not in fixed)
    if not free:
        raise FitError(f"{name}: every parameter is fixed by its bounds: nothing is left to fit")
    lower = np.array([bounds[p][0] for p in free])
    upper = np.array([bounds[p][1] for p in free])
    linear = law._plain.linear if law._plain.expression is not None else ()
    logs = (lower >= 0) & np.array([law._role(p) not in linear for p in free])
    with np.errstate(divide="ignore", invalid="ignore"):
        lower = np.where(logs, np.log(np.where(logs, lower, 1.0)), lower)
        upper = np.where(logs, np.log(np.where(logs, upper, 1.0)), upper)
    return Coordinates(free, fixed, logs, lower, upper)


def _float_or_nan(value: Any) -> float:
    """Return a number; nan where it is none, as True is not."""
    try:
        return math.nan if isinstance(value, (bool, np.bool_)) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def start_in_coordinates(problem: Problem, start: Mapping[str, float], name: str) -> Array:
    """Return a start in the solver's coordinates.

    Raises
    ------
    UsageError
        If a parameter is missing, unknown, outside its bounds or no number, or is fixed at another one.
    """
    for parameter in start:
        if parameter not in problem.law.parameters:
            raise UnknownNameError("parameter", parameter, problem.law.parameters, where=f"{name}: start")
        if parameter in problem.fixed and _float_or_nan(start[parameter]) != problem.fixed[parameter]:
            got = printable(repr(start[parameter]), 40)
            raise UsageError(
                f"{name}: start: '{parameter}' is fixed at {problem.fixed[parameter]:g} by its bounds, got {got}"
            )
    values = []
    for i, parameter in enumerate(problem.free):
        if parameter not in start:
            raise UsageError(
                f"{name}: start: '{parameter}' is missing; a start names every parameter that is not fixed"
            )
        value = _float_or_nan(start[parameter])
        if not math.isfinite(value) or (problem.logs[i] and value <= 0):
            kind = "a positive number" if problem.logs[i] else "a finite number"
            raise UsageError(
                f"{name}: start: '{parameter}': expected {kind}, got {printable(repr(start[parameter]), 40)}"
            )
        values.append(value)
    u = problem.internal(np.array(values))
    if (u < problem.lower).any() or (u > problem.upper).any():
        outside = problem.free[int(np.flatnonzero((u < problem.lower) | (u > problem.upper))[0])]
        raise UsageError(f"{name}: start: '{outside}' is outside its bounds")
    return u
