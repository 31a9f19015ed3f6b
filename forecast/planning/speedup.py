"""Effective speed-up: how much less compute one law needs than another for the same output."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from forecast import formula
from forecast.base.arrays import Array, BoolArray
from forecast.base.lazy import xr
from forecast.base.roots import find_roots
from forecast.errors import FitError, UsageError, printable
from forecast.fit.fit import Fit
from forecast.fit.inference.laplace import interval, parameter_draws
from forecast.fit.options import check_level
from forecast.fit.predict import WARN_DECADES
from forecast.formula import Formula
from forecast.planning.allocate import best_splits, check_price, positive, price_of, refuse
from forecast.planning.constrained_minimum import MAX_DECADES
from forecast.planning.invert import cheapest, grid_of, invert_law


def speedup(
    fit: Fit, baseline: Fit, *, compute: float, cost: str | None, level: float, draws: int, seed: int
) -> xr.Dataset:
    """Return the compute that `baseline` spends over what `fit` needs to reach the same output.

    Both spend as well as they can: with two variables at the best split, with one at the size that the budget buys.

    Parameters
    ----------
    fit, baseline : Fit
        Their laws have the same variables.
    compute : float
        What the baseline spends.
    cost : str, optional
        Default: ``6*N*D`` for the variables N and D, the variable itself for a law of one.
    level : float
    draws, seed : int
        The two fits are drawn independently.

    Returns
    -------
    xarray.Dataset
        ``speedup`` (above 1: `fit` needs less), ``needed`` (compute), the output that both reach, each with ``_lower``
        and ``_upper``; and ``never``, the probability that `fit` cannot reach it at any price. Without joint
        uncertainty in either no interval, and ``no_interval`` says why.
    """
    where = f"{fit.name} over {baseline.name}"
    names = tuple(fit.law.variables)
    if set(names) != set(baseline.law.variables):
        theirs = ", ".join(baseline.law.variables)
        raise UsageError(f"{where}: the laws are over other variables: {', '.join(names)} and {theirs}")
    if fit.law.unit != baseline.law.unit:
        raise UsageError(f"{where}: the outputs are in '{fit.law.unit}' and '{baseline.law.unit}'")
    if cost is None:
        cost = names[0] if len(names) == 1 else "6*N*D"
    budget = positive(compute, "compute", where)
    check_level(level, where)
    prices = [_price_formula(one, cost) for one in (fit, baseline)]
    output = _best_output(baseline, baseline.values, prices[1], budget, strict=True)
    needed, never = _compute_needed(fit, fit.values, prices[0], output)
    answer = {"speedup": budget / float(needed[0]), "needed": float(needed[0]), fit.law.output: float(output[0])}
    attrs: dict[str, Any] = {"fit": fit.name, "baseline": baseline.name, "compute": budget, "cost": prices[1].text}
    notes = list(dict.fromkeys([*fit.notes, *baseline.notes]))
    try:
        own = parameter_draws(fit, draws, seed, "fit")
        theirs_drawn = parameter_draws(baseline, draws, seed, "baseline")
    except FitError as problem:
        missing = fit if fit.uncertainty is None else baseline
        known = missing.uncertainty is not None
        attrs["no_interval"] = str(problem) if known else f"{missing.name}: {missing._why_not()}"
    else:
        outputs = _best_output(baseline, theirs_drawn, prices[1], budget, strict=False)
        spent, lost = _compute_needed(fit, own, prices[0], outputs)
        with np.errstate(divide="ignore"):
            spread = {"speedup": budget / spent, "needed": spent, fit.law.output: outputs}
        for name, values in spread.items():
            answer[f"{name}_lower"], answer[f"{name}_upper"] = interval(values, level)
        answer["never"] = float(lost.mean())
        attrs |= {"level": level, "draws": draws, "seed": seed}
    if never[0]:
        notes.append(f"{where}: at the fitted parameters {fit.name} never reaches {output[0]:g}")
    for one, spend in ((fit, float(needed[0])), (baseline, budget)):
        far = _extrapolated_decades(one, prices[0], spend)
        if far > WARN_DECADES:
            notes.append(f"{where}: {one.name} is asked {far:.1f} decades outside its data")
    attrs["warnings"] = "\n".join(notes)
    return xr.Dataset({n: xr.DataArray(v) for n, v in answer.items()}, attrs=attrs)


def _price_formula(fit: Fit, cost: str) -> Formula:
    names = tuple(fit.law.variables)
    if len(names) == 2:
        return price_of(fit, cost)
    if len(names) > 2:
        raise UsageError(f"{fit.name}: a speed-up needs a law of one or two variables, not {len(names)}")
    return check_price(fit, formula.parse(cost, where="cost"))


def _affordable_size(price: Formula, name: str, budget: float) -> float:
    """Return the one variable that a budget buys."""

    def excess(u: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(np.log(np.asarray(price.evaluate({name: np.exp(u)}), dtype=float) / budget))

    found = find_roots(excess, np.array([-MAX_DECADES * math.log(10)]), np.array([MAX_DECADES * math.log(10)]))
    return float(np.exp(found[0]))


def _best_output(fit: Fit, parameters: Mapping[str, Any], price: Formula, budget: float, *, strict: bool) -> Array:
    """Return the best output that a budget buys, by draw."""
    names = tuple(fit.law.variables)
    if len(names) == 1:
        size = _affordable_size(price, names[0], budget)
        if not np.isfinite(size):
            raise FitError(f"{fit.name}: nothing costs {budget:g} at cost '{printable(price.text, 80)}'")
        return np.atleast_1d(fit.law.value(parameters, **{names[0]: size}))
    found, end = best_splits(fit, parameters, price, np.array([budget]))
    if strict:
        refuse(fit, price, budget, int(end[0]))
    return found[fit.law.output]


def _compute_needed(fit: Fit, parameters: Mapping[str, Any], price: Formula, output: Array) -> tuple[Array, BoolArray]:
    """Return the least compute that reaches each output, inf where it never is."""
    names = tuple(fit.law.variables)
    finite = np.isfinite(output)
    goal = np.where(finite, output, 1.0)
    if len(names) == 2:
        found = cheapest(fit, parameters, price, goal)
        spent = np.where(found.never, np.inf, np.where(found.already, 0.0, found.at))
    else:
        found = invert_law(fit, parameters, goal, names[0], {}, grid_of(fit, names[0]))
        size = np.where(found.never, np.inf, np.where(found.already, 0.0, found.at))
        with np.errstate(all="ignore"):
            spent = np.asarray(price.evaluate({names[0]: size}), dtype=float)
    return np.where(finite, spent, np.nan), found.never


def _extrapolated_decades(fit: Fit, price: Formula, spend: float) -> float:
    names = tuple(fit.law.variables)
    if not fit.ranges or not np.isfinite(spend):
        return 0.0
    if len(names) == 1:
        return float(fit.extrapolation(**{names[0]: _affordable_size(price, names[0], spend)}))
    found, end = best_splits(fit, fit.values, price, np.array([spend]))
    return float(fit.extrapolation(**{n: float(found[n][0]) for n in names})) if end[0] == 0 else 0.0
