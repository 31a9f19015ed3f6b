"""How to split a budget: the lowest output of a law over two variables whose cost is given.

Solved in logarithms for any cost that grows with both variables, for the fitted parameters and for every joint draw of
them (`forecast.planning.constrained_minimum`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forecast import formula
from forecast.base.arrays import Array
from forecast.base.lazy import xr
from forecast.base.number_checks import is_real
from forecast.errors import FitError, UnknownNameError, UsageError, printable
from forecast.fit.fit import Fit
from forecast.fit.inference.laplace import interval, parameter_draws
from forecast.fit.options import check_level
from forecast.fit.predict import WARN_DECADES
from forecast.formula import Formula
from forecast.planning.constrained_minimum import FormulaSurface, LawSurface, SearchEnd, lowest


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """The best split as plain numbers: who prints it needs no xarray, which takes longer to import than to answer.

    Parameters
    ----------
    values : dict of str to float
        What is best, and the ends of its intervals as ``_lower`` and ``_upper``.
    units : dict of str to str
    attrs : dict
        As `forecast.Fit.allocate` states them.
    """

    values: dict[str, float]
    units: dict[str, str]
    attrs: dict[str, Any]

    def dataset(self) -> xr.Dataset:
        """Return the answer as people hold it in their hands."""
        columns = {n: xr.DataArray(v, attrs={"unit": self.units[n]}) for n, v in self.values.items()}
        return xr.Dataset(columns, attrs=self.attrs)


def positive(value: object, what: str, where: str) -> float:
    """Return a positive number."""
    if not (is_real(value) and math.isfinite(value) and value > 0):
        raise UsageError(f"{where}: {what}: expected a positive number, got {printable(repr(value), 40)}")
    return float(value)


def price_of(fit: Fit, cost: str, inference_tokens: object = None) -> Formula:
    """Return the cost of a split as a formula over both variables of a law."""
    names, name = tuple(fit.law.variables), fit.name
    if len(names) != 2:
        raise UsageError(f"{name}: an allocation needs a law of two variables, not {len(names)} ({', '.join(names)})")
    price = formula.parse(cost, where="cost")
    if inference_tokens is not None:
        tokens = positive(inference_tokens, "inference_tokens", name)
        if "N" not in names:
            raise UsageError(f"{name}: inference_tokens are served by 'N' parameters; the law has {', '.join(names)}")
        price = formula.parse(f"{price.text} + 2*N*{tokens!r}", where="cost")
    return check_price(fit, price)


def check_price(fit: Fit, price: Formula) -> Formula:
    """Return a cost that is over the variables of a law, all of them."""
    names, text = tuple(fit.law.variables), printable(price.text, 80)
    for used in price.names:
        if used not in names:
            raise UnknownNameError("variable", used, names, where=f"cost '{text}'")
    for wanted in names:
        if wanted not in price.names:
            raise FitError(f"{fit.name}: cost '{text}' does not depend on '{wanted}': it would be free")
    return price


def allocate(
    fit: Fit,
    *,
    compute: float,
    cost: str,
    inference_tokens: float | None = None,
    level: float = 0.9,
    draws: int = 2048,
    seed: int = 0,
) -> Allocation:
    """Return the best split; see `forecast.Fit.allocate`."""
    price = price_of(fit, cost, inference_tokens)
    budget = positive(compute, "compute", fit.name)
    check_level(level, fit.name)
    found, end = best_splits(fit, fit.values, price, np.array([budget]))
    refuse(fit, price, budget, int(end[0]))
    attrs: dict[str, Any] = {"fit": fit.name, "compute": budget, "cost": price.text}
    notes = list(fit.notes)
    values = {n: float(v[0]) for n, v in found.items()}
    answer = dict(values)
    try:
        sampled = parameter_draws(fit, draws, seed)
    except FitError as problem:
        attrs["no_interval"] = fit._why_not() if fit.uncertainty is None else str(problem)
    else:
        spread, ends = best_splits(fit, sampled, price, np.full(draws, budget))
        for n, v in spread.items():
            answer[f"{n}_lower"], answer[f"{n}_upper"] = interval(v, level)
        attrs |= {"level": level, "draws": draws, "seed": seed}
        corner = float(np.mean(ends != SearchEnd.INSIDE))
        if corner:
            notes.append(f"{fit.name}: in {corner:.1%} of the draws no split inside is best; they count as the ends")
    units = {**fit.law.variables, fit.law.output: fit.law.unit, "tokens_per_parameter": "token/param"}
    if fit.ranges:
        far = float(fit.extrapolation(**{n: values[n] for n in fit.law.variables}))
        attrs["extrapolation_decades"] = far
        if far > WARN_DECADES:
            notes.append(f"{fit.name}: the best split is {far:.1f} decades outside its data")
    attrs["warnings"] = "\n".join(notes)
    return Allocation(values=answer, units={n: units[_base(n)] for n in answer}, attrs=attrs)


def _base(name: str) -> str:
    return name.removesuffix("_lower").removesuffix("_upper")


def best_splits(
    fit: Fit, parameters: Mapping[str, Any], price: Formula, budget: Array
) -> tuple[dict[str, Array], NDArray[np.int_]]:
    """Return the best split of each budget under each draw of the parameters, and how each search ended.

    A draw whose best split is at an end has 0 and inf for its variables, and the output there; one that has none has
    nan.
    """
    names = tuple(fit.law.variables)
    law = LawSurface.of(fit.law, parameters)
    rows = np.broadcast_to(budget, (max(law.rows, budget.size),))
    best = lowest(law, FormulaSurface(price, (names[0], names[1])), rows, rising=True)
    with np.errstate(all="ignore"):
        first, second = np.exp(best.u), np.exp(best.v)
    output = fit.law.value({n: p[:, 0] for n, p in law.parameters.items()}, **{names[0]: first, names[1]: second})
    found = {names[0]: first, names[1]: second, fit.law.output: np.atleast_1d(output)}
    if set(names) == {"N", "D"}:
        with np.errstate(all="ignore"):
            found["tokens_per_parameter"] = found["D"] / found["N"]
    return found, best.end


def refuse(fit: Fit, price: Formula, budget: float, end: int) -> None:
    """Raise unless a search ended inside, saying where the best is instead."""
    if end == SearchEnd.INSIDE:
        return
    name, output, first = fit.name, fit.law.output, next(iter(fit.law.variables))
    text = printable(price.text, 80)
    if end == SearchEnd.NO_LINE:
        raise FitError(f"{name}: no split spends {budget:g} at cost '{text}'; a cost must grow with both variables")
    if end == SearchEnd.NO_VALUE:
        raise FitError(f"{name}: the law cannot be computed on any split of {budget:g}")
    if end == SearchEnd.FLAT:
        raise FitError(f"{name}: every split of {budget:g} gives the same {output}: there is no best one")
    way = "as large as the budget allows" if end == SearchEnd.LARGE else "as small as can be"
    raise FitError(
        f"{name}: {output} has no lowest point between the ends: it keeps falling as '{first}' becomes {way} "
        f"(a corner solution, at cost '{text}')"
    )
