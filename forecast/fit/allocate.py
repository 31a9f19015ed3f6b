"""How to split a budget: the lowest output of a law over two variables whose cost is given.

Solved in logarithms for any cost that grows with both variables: for each size of the first, the second that spends the
budget; along that curve, the point where the law's gain per cost is the same for both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from forecast import formula
from forecast.errors import FitError, UnknownNameError, UsageError, printable
from forecast.fit.solver import Array

if TYPE_CHECKING:
    from forecast.fit.result import Fit
    from forecast.formula import Formula

__all__ = ["allocate"]

#: The sizes that are looked at, as powers of ten, and the grid's first step.
DECADES, STEP = 45.0, 0.125
LN10 = math.log(10.0)
#: Outputs that differ by less than this share are level.
LEVEL = 1e-12


def allocate(fit: Fit, *, compute: float, cost: str) -> xr.Dataset:
    """Return the best split; see `forecast.Fit.allocate`."""
    names = tuple(fit.law.variables)
    name = fit.name
    if len(names) != 2:
        raise UsageError(f"{name}: an allocation needs a law of two variables, not {len(names)} ({', '.join(names)})")
    number = isinstance(compute, (int, float)) and not isinstance(compute, bool)
    if not (number and math.isfinite(compute) and compute > 0):
        raise UsageError(f"{name}: compute: expected a positive number, got {printable(repr(compute), 40)}")
    price = formula.parse(cost, where="cost")
    for used in price.names:
        if used not in names:
            raise UnknownNameError("variable", used, names, where=f"cost '{printable(price.text, 80)}'")
    for wanted in names:
        if wanted not in price.names:
            raise FitError(
                f"{name}: cost '{printable(price.text, 80)}' does not depend on '{wanted}': it would be free"
            )
    curve = _Curve(fit, price, float(compute))
    u = _lowest(curve)
    v = float(curve.second(np.array([u]))[0])
    first, second = math.exp(u), math.exp(v)
    output = float(fit.law.value(fit.values, **{names[0]: first, names[1]: second}))
    units = fit.law.variables
    found = {
        names[0]: xr.DataArray(first, attrs={"unit": units[names[0]]}),
        names[1]: xr.DataArray(second, attrs={"unit": units[names[1]]}),
        fit.law.output: xr.DataArray(output, attrs={"unit": fit.law.unit}),
    }
    if set(names) == {"N", "D"}:
        ratio = float(found["D"] / found["N"])
        found["tokens_per_parameter"] = xr.DataArray(ratio, attrs={"unit": "token/param"})
    why = fit._why_not() if fit.uncertainty is None else "intervals of an allocation are not computed yet"
    notes = list(fit.warnings)
    attrs = {"fit": name, "compute": float(compute), "cost": price.text, "no_interval": why}
    if fit.ranges:
        far = float(fit.extrapolation(**{names[0]: first, names[1]: second}))
        attrs["extrapolation_decades"] = far
        if far > 0.5:
            notes.append(f"{name}: the best split is {far:.1f} decades outside its data")
    attrs["warnings"] = "\n".join(notes)
    return xr.Dataset(found, attrs=attrs)


class _Curve:
    """The law along the splits that spend the whole budget, by the log of the first variable."""

    def __init__(self, fit: Fit, price: Formula, compute: float) -> None:
        self.fit, self.price, self.compute = fit, price, compute
        self.names = tuple(fit.law.variables)
        text = fit.law.expression
        pinned = formula.parse(text).substitute(dict(fit.values)) if text is not None else None
        #: Derivatives of law and cost by each variable; None for a law that is code.
        self.slopes = [(pinned.derivative(n), price.derivative(n)) for n in self.names] if pinned else None

    def _at(self, u: Array, v: Array) -> dict[str, Array]:
        with np.errstate(over="ignore"):
            return {self.names[0]: np.exp(u), self.names[1]: np.exp(v)}

    def _spent(self, u: Array, v: Array) -> Array:
        cost = np.broadcast_to(np.asarray(self.price.evaluate(self._at(u, v)), dtype=float), u.shape)
        return np.where(np.isnan(cost), np.inf, cost)

    def second(self, u: Array) -> Array:
        """Return the log of the second variable that spends the budget, nan where none does (by bisection)."""
        low, high = np.full(u.shape, -DECADES * LN10), np.full(u.shape, DECADES * LN10)
        possible = (self._spent(u, low) < self.compute) & (self._spent(u, high) > self.compute)
        for _ in range(200):
            middle = 0.5 * (low + high)
            if np.all((middle == low) | (middle == high)):
                break
            over = self._spent(u, middle) > self.compute
            low, high = np.where(over, low, middle), np.where(over, middle, high)
        return np.where(possible, 0.5 * (low + high), np.nan)

    def output(self, u: Array) -> Array:
        """Return the law; inf where the budget cannot be spent or the law cannot be computed."""
        v = self.second(u)
        value = self.fit.law.value(self.fit.values, **self._at(u, np.where(np.isnan(v), 0.0, v)))
        return np.where(np.isfinite(value) & ~np.isnan(v), value, np.inf)

    def slope(self, u: float) -> float:
        """Return the derivative of the law along the curve."""
        assert self.slopes is not None
        v = float(self.second(np.array([u]))[0])
        at = {self.names[0]: math.exp(u), self.names[1]: math.exp(v)}
        (f1, c1), (f2, c2) = ((float(f.evaluate(at)), float(c.evaluate(at))) for f, c in self.slopes)
        first, second = at[self.names[0]], at[self.names[1]]
        return f1 * first - f2 * second * (c1 * first) / (c2 * second)


def _lowest(curve: _Curve) -> float:
    name = curve.fit.name
    grid = np.arange(-DECADES, DECADES + STEP, STEP) * LN10
    if not np.isfinite(curve.second(grid)).any():
        raise FitError(
            f"{name}: no split spends {curve.compute:g} at cost '{printable(curve.price.text, 80)}'; "
            f"a cost must grow with both variables"
        )
    flat = large = False
    for zoom in range(4):  # the lowest point may lie within one step of where the budget ends: look closer there
        value = curve.output(grid)
        finite = np.flatnonzero(np.isfinite(value))
        if not finite.size:
            raise FitError(f"{name}: the law cannot be computed on any split of {curve.compute:g}")
        best = int(finite[np.argmin(value[finite])])
        if zoom == 0:
            flat = float(np.ptp(value[finite])) <= LEVEL * abs(float(value[best]))
            large = best > finite[finite.size // 2]
        inside = finite[0] < best < finite[-1]
        ends = value[[finite[0], finite[-1]]]
        if inside and np.all(ends - value[best] > LEVEL * abs(value[best])):
            return _polish(curve, float(grid[best - 1]), float(grid[best + 1]))
        if best in (0, grid.size - 1) or inside:
            break
        grid = np.linspace(grid[best - 1], grid[best + 1], 201)
    output, first = curve.fit.law.output, curve.names[0]
    if flat:
        raise FitError(f"{name}: every split of {curve.compute:g} gives the same {output}: there is no best one")
    way = "as large as the budget allows" if large else "as small as can be"
    raise FitError(
        f"{name}: {output} has no lowest point between the ends: it keeps falling as '{first}' becomes {way} "
        f"(a corner solution, at cost '{printable(curve.price.text, 80)}')"
    )


def _polish(curve: _Curve, low: float, high: float) -> float:
    from scipy.optimize import brentq, minimize_scalar

    if curve.slopes is not None:
        slope: Callable[[float], float] = curve.slope
        if slope(low) < 0 < slope(high):
            return float(brentq(slope, low, high, xtol=1e-14, rtol=1e-14))
    found = minimize_scalar(
        lambda u: float(curve.output(np.array([u]))[0]), bounds=(low, high), method="bounded", options={"xatol": 1e-10}
    )
    return float(found.x)
