"""What a variable must be for a law to give an output: "what compute for loss 2.0?", and how likely is never."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from forecast.base import budgets
from forecast.base.arrays import Array, BoolArray
from forecast.base.lazy import xr
from forecast.base.number_checks import is_real
from forecast.base.roots import find_roots
from forecast.errors import FitError, UnknownNameError, UsageError, printable
from forecast.fit.fit import Fit
from forecast.fit.inference.laplace import interval, parameter_draws
from forecast.fit.options import check_level
from forecast.fit.predict import WARN_DECADES
from forecast.formula import Formula
from forecast.planning.allocate import price_of
from forecast.planning.constrained_minimum import (
    GRID_STEP_DECADES,
    MAX_DECADES,
    ROWS_PER_CHUNK,
    FormulaSurface,
    LawSurface,
    SearchEnd,
    lowest,
)

COMPUTE = "compute"


@dataclass(frozen=True)
class Inversion:
    """Where the output is reached, by draw: nan where it never is or always is.

    Parameters
    ----------
    at : ndarray
    never, already : ndarray of bool
    several : bool
        Some draw passes the output more than once; `at` is the smallest.
    """

    at: Array
    never: BoolArray
    already: BoolArray
    several: bool = False

    def ordered(self) -> Array:
        """Return the places with ``inf`` for never and ``-inf`` for already, so that quantiles hold."""
        return np.where(self.never, np.inf, np.where(self.already, -np.inf, self.at))


def invert(
    fit: Fit, *, y: float, solve_for: str, level: float, draws: int, seed: int, cost: str, variables: Mapping[str, Any]
) -> xr.Dataset:
    """Return what a variable must be; see `forecast.Fit.invert`."""
    name = fit.name
    check_level(level, name)
    target = _check_number(y, "y", name)
    if solve_for == COMPUTE and COMPUTE not in fit.law.variables:
        if variables:
            given = next(iter(variables))
            shown = printable(given, 40)
            raise UsageError(f"{name}: '{shown}' is given, but the least compute leaves both variables free")
        price = price_of(fit, cost)

        def solve(parameters: Mapping[str, Any]) -> Inversion:
            return cheapest(fit, parameters, price, np.array([target]))

        unit, label, places = "", price.text, None
    else:
        others = _other_variables(fit, solve_for, variables)
        places = grid_of(fit, solve_for)

        def solve(parameters: Mapping[str, Any]) -> Inversion:
            return invert_law(fit, parameters, np.array([target]), solve_for, others, places)

        unit, label = fit.law.variables[solve_for], ""
    found = solve(fit.values)
    if label and found.already[0]:
        raise FitError(f"{name}: no split is the cheapest at cost '{printable(label, 80)}': it falls towards an end")
    point = float(found.ordered()[0])
    attrs: dict[str, Any] = {"fit": name, "y": target, "solve_for": solve_for} | ({"cost": label} if label else {})
    notes = list(fit.notes)
    answer = {solve_for: point}
    sides = [found]
    try:
        sampled = parameter_draws(fit, draws, seed)
    except FitError as problem:
        attrs["no_interval"] = fit._why_not() if fit.uncertainty is None else str(problem)
    else:
        spread = solve(sampled)
        sides.append(spread)
        answer[f"{solve_for}_lower"], answer[f"{solve_for}_upper"] = interval(spread.ordered(), level)
        answer["never"], answer["already"] = float(spread.never.mean()), float(spread.already.mean())
        attrs |= {"level": level, "draws": draws, "seed": seed}
    if found.never[0]:
        notes.append(f"{name}: at the fitted parameters {fit.law.output} never reaches {target:g}")
    if found.already[0]:
        notes.append(f"{name}: at the fitted parameters {fit.law.output} is past {target:g} everywhere")
    if any(side.several for side in sides):
        notes.append(f"{name}: {fit.law.output} passes {target:g} more than once; the smallest '{solve_for}' is given")
    if solve_for in fit.ranges and math.isfinite(point):
        far = float(fit.extrapolation(**{**{k: float(v) for k, v in variables.items()}, solve_for: point}))
        attrs["extrapolation_decades"] = far
        if far > WARN_DECADES:
            notes.append(f"{name}: the answer lies {far:.1f} decades outside its data")
    attrs["warnings"] = "\n".join(notes)
    units = {n: "" if n in ("never", "already") else unit for n in answer}
    return xr.Dataset({n: xr.DataArray(v, attrs={"unit": units[n]}) for n, v in answer.items()}, attrs=attrs)


def _check_number(value: object, what: str, where: str) -> float:
    if not is_real(value):
        raise UsageError(f"{where}: {what}: expected a number, got {printable(repr(value), 40)}")
    if not math.isfinite(value):
        raise UsageError(f"{where}: {what}: expected a finite number, got {value}")
    return float(value)


def _other_variables(fit: Fit, solve_for: str, variables: Mapping[str, Any]) -> dict[str, float]:
    names = fit.law.variables
    if solve_for not in names:
        raise UnknownNameError("variable", printable(solve_for, 60), [*names, COMPUTE], where=f"{fit.name}: solve_for")
    for given in variables:
        if given not in names:
            raise UnknownNameError("variable", given, names, where=fit.name)
    if solve_for in variables:
        raise UsageError(f"{fit.name}: '{solve_for}' is asked for and given")
    missing = [n for n in names if n != solve_for and n not in variables]
    if missing:
        raise UsageError(f"{fit.name}: no value for the variable '{missing[0]}'")

    def value(given: Any) -> float:
        plain = given.item() if hasattr(given, "item") and np.ndim(given) == 0 else given
        return _check_number(plain, "a variable", fit.name)

    return {n: value(v) for n, v in variables.items()}


def grid_of(fit: Fit, variable: str) -> Array:
    """Return the places between which a change of side is looked for.

    Powers of ten for what is positive; on both sides of zero, out to a million spans of the data, for what is not.
    """
    low, high = fit.ranges.get(variable, (1.0, 1.0))
    powers = 10.0 ** np.arange(-MAX_DECADES, MAX_DECADES + GRID_STEP_DECADES, GRID_STEP_DECADES)
    if low > 0:
        return np.unique(np.concatenate([powers, np.linspace(low, high, 65)])) if high > low else powers
    span = max(high - low, abs(high), 1e-300)
    out = span * 10.0 ** np.arange(-6, 6 + GRID_STEP_DECADES, GRID_STEP_DECADES)
    return np.unique(np.concatenate([low - out, np.linspace(low, high, 65), high + out, [0.0]]))


def invert_law(
    fit: Fit, parameters: Mapping[str, Any], y: Array, solve_for: str, others: Mapping[str, float], places: Array
) -> Inversion:
    """Return where the law gives `y` (a number for all draws, or one each) as one variable moves."""
    columns = {n: np.atleast_1d(np.asarray(p, dtype=float))[:, None] for n, p in parameters.items()}
    rows = max(y.size, *(p.shape[0] for p in columns.values()))
    y = np.broadcast_to(y, (rows,))
    at = np.full(rows, np.nan)
    never, already = np.zeros(rows, dtype=bool), np.zeros(rows, dtype=bool)
    several = False
    for begin in range(0, rows, ROWS_PER_CHUNK):
        budgets.check_time("inverting", begin, rows, "rows")
        part = slice(begin, min(begin + ROWS_PER_CHUNK, rows))
        own = {n: p if p.shape[0] == 1 else p[part] for n, p in columns.items()}

        def excess(x: Array, own: Mapping[str, Array] = own, part: slice = part) -> Array:
            return fit.law.value(own, **{**others, solve_for: x}) - y[part, None]

        side = excess(places[None, :])
        changes = (np.sign(side[:, :-1]) * np.sign(side[:, 1:]) < 0) | (side[:, 1:] == 0)
        some = changes.any(axis=1)
        several |= bool((changes.sum(axis=1) > 1).any())
        first = np.argmax(changes, axis=1)
        found = find_roots(excess, places[first][:, None], places[first + 1][:, None])[:, 0]
        at[part] = np.where(some, found, np.nan)
        never[part], already[part] = _one_sided_rows(side, ~some)
    lost = np.isnan(at) & ~never & ~already
    if lost.any():
        raise FitError(f"{fit.name}: the law cannot be computed along '{solve_for}'")
    return Inversion(at, never, already, several)


def _one_sided_rows(side: Array, ask: BoolArray) -> tuple[BoolArray, BoolArray]:
    """Tell which rows that stay on one side never reach it, and which have passed it everywhere.

    A law that falls with the variable reaches `y` by being below it, one that rises by being above.
    """
    known = np.isfinite(side) | np.isinf(side)
    some = known.any(axis=1)
    each = np.arange(side.shape[0])
    left = side[each, np.argmax(known, axis=1)]
    right = side[each, side.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1)]
    falls = left > right
    past = np.where(falls, right < 0, right > 0) & np.where(falls, left <= 0, left >= 0)
    ask = ask & some
    return ask & ~past, ask & past


def cheapest(fit: Fit, parameters: Mapping[str, Any], price: Formula, y: Array) -> Inversion:
    """Return the least cost at which a law of two variables gives `y`; *already* where it falls towards an end."""
    names = tuple(fit.law.variables)
    law = LawSurface.of(fit.law, parameters)
    rows = max(law.rows, y.size)
    cost = FormulaSurface(price, (names[0], names[1]))
    best = lowest(cost, law, np.broadcast_to(y, (rows,)))
    spent = np.array(cost.value(best.u, best.v), dtype=float)
    large = np.full((1, 1), MAX_DECADES * math.log(10))
    with np.errstate(invalid="ignore"):
        end, start = (np.broadcast_to(law.value(c, c)[:, 0], (rows,)) for c in (large, -large))
        short = np.where(start > end, end > y, end < y)
    never = (best.end == SearchEnd.NO_LINE) & short
    inside = best.end == SearchEnd.INSIDE
    return Inversion(np.where(inside, spent, np.nan), never, ~inside & ~never)
