"""Iso-FLOP parabolas (Approach 2 of Hoffmann et al. 2022), and how far they miss.

For each compute budget a parabola of the loss in log N; its lowest points over the budgets give N* = a * C**b by a line
in logarithms. The loss is no parabola: where the grid of sizes is not centred on the optimum, or wide, its lowest point
is off, and where that error changes with the budget so is the exponent. `of_fit` measures both on a known law.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.arrays import Array
from forecast.base.lazy import xr
from forecast.base.number_checks import is_integer
from forecast.errors import DataError, FitError, UsageError, first_names, printable
from forecast.fit.fit import Fit
from forecast.fit.options import check_level
from forecast.planning.allocate import best_splits, positive, price_of, refuse
from forecast.planning.constrained_minimum import FormulaSurface, along

#: Budgets that differ by less than this are one, in decades.
BUDGET_ATOL_DECADES = 0.02
#: A lowest point further from the middle of its sizes than this share of their half width is off centre.
MAX_OFF_CENTRE_SHARE = 0.5
BIAS_WARNING = (
    "a parabola in log N is not the law's shape: the optimum is biased where the sizes are wide or not centred on it "
    "(forecast.Fit.isoflop measures by how much)"
)


def isoflop(
    data: Any,
    *,
    size: str = "N",
    compute: str = "C",
    y: str = "loss",
    level: float = 0.9,
    tolerance: float = BUDGET_ATOL_DECADES,
) -> xr.Dataset:
    """Fit a parabola in log size to each budget, and a power law to the optima.

    Parameters
    ----------
    data : xarray.Dataset, DataFrame, dict of arrays, path of a CSV, or name of a table
    size, compute, y : str
        Columns, or formulas over columns (``compute="6*N*D"``). Budgets that differ by less than `tolerance` decades
        are one.
    level : float
        Of the exponent's interval.
    tolerance : float

    Returns
    -------
    xarray.Dataset
        Along ``budget``: ``optimum`` (size), ``optimum_stderr`` (of its log), ``lowest`` (loss), ``points`` and
        ``inside`` (whether the optimum lies between the sizes tried). And ``exponent``, ``exponent_lower``,
        ``exponent_upper``, ``prefactor`` of optimum = prefactor * compute**exponent. Attribute ``warnings``.

    Raises
    ------
    FitError
        If fewer than two budgets have a lowest point.

    Examples
    --------
    >>> import numpy as np
    >>> n, c = np.meshgrid([0.5, 1.0, 2.0], [1e18, 1e20])
    >>> n = n * np.sqrt(c)
    >>> found = isoflop({"N": n.ravel(), "C": c.ravel(), "loss": (np.log(n / np.sqrt(c)) ** 2).ravel()})
    >>> round(float(found["exponent"]), 9)
    0.5
    """
    from forecast import tables
    from forecast.fit.data.observations import _compute
    from forecast.tables.column_names import columns_in

    name = "isoflop"
    check_level(level, name)
    columns = tables.to_columns(data, where=name)
    columns = columns.complete([used for text in (size, compute, y) for used in columns_in(text, columns)])
    found = {what: _compute(text, columns, f"{name}: {what}") for what, text in
             (("size", size), ("compute", compute), ("y", y))}  # fmt: skip
    for what, values in found.items():
        bad = ~np.isfinite(values) | ((values <= 0) & (what != "y"))
        if bad.any():
            rows = first_names(np.flatnonzero(bad) + 1)
            raise DataError(
                f"{name}: {what}: expected {'' if what == 'y' else 'positive '}numbers, not so in row {rows}"
            )
    groups = _group_by_budget(np.log(found["compute"]), positive(tolerance, "tolerance", name) * math.log(10))
    return _fit_parabolas(groups, found, level)


def _group_by_budget(logs: Array, gap: float) -> list[NDArray[np.intp]]:
    order = np.argsort(logs, kind="stable")
    cuts = np.flatnonzero(np.diff(logs[order]) > gap) + 1
    return list(np.split(order, cuts))


def _fit_parabolas(groups: list[NDArray[np.intp]], found: Mapping[str, Array], level: float) -> xr.Dataset:

    rows, notes = [], []
    for group in groups:
        budget = float(np.exp(np.log(found["compute"][group]).mean()))
        row = _fit_parabola(np.log(found["size"][group]), found["y"][group])
        rows.append({"budget": budget, **row})
        if not np.isfinite(row["optimum"]):
            notes.append(f"isoflop: budget {budget:.3g}: {row['why']}; it is left out")
        elif not row["inside"]:
            notes.append(f"isoflop: budget {budget:.3g}: the optimum lies outside the sizes tried")
        elif abs(row["offset"]) > MAX_OFF_CENTRE_SHARE:
            notes.append(f"isoflop: budget {budget:.3g}: the optimum is off the centre of the sizes tried")
    good = [r for r in rows if np.isfinite(r["optimum"])]
    if len(good) < 2:
        raise FitError(f"isoflop: {len(good)} of {len(rows)} budgets have a lowest point; an exponent needs two")
    line = _fit_line(np.log([r["budget"] for r in good]), np.log([r["optimum"] for r in good]), level)
    if len(good) == 2:
        notes.append("isoflop: two budgets give an exponent without an interval; add a third")
    notes.append(f"isoflop: {BIAS_WARNING}")
    columns = ("optimum", "optimum_stderr", "lowest", "points", "inside")
    data = {c: ("budget", np.array([r[c] for r in rows])) for c in columns}
    budgets = [r["budget"] for r in rows]
    return xr.Dataset(
        {**data, **line}, coords={"budget": budgets}, attrs={"warnings": "\n".join(notes), "level": level}
    )


def _fit_parabola(x: Array, y: Array) -> dict[str, Any]:
    """Fit y = a + b*t + c*t**2 and return its lowest point; t is centred and scaled."""
    nothing = {"optimum": np.nan, "optimum_stderr": np.nan, "lowest": np.nan, "points": x.size, "inside": False}
    if np.unique(x).size < 3:
        return {**nothing, "why": f"{np.unique(x).size} sizes give no parabola"}
    middle, half = 0.5 * (x.min() + x.max()), 0.5 * (x.max() - x.min())
    t = (x - middle) / half
    table = np.vander(t, 3, increasing=True)
    (a, b, c), *_ = np.linalg.lstsq(table, y, rcond=None)
    if not c > 1e-12 * np.ptp(y):
        return {**nothing, "why": "the parabola has no lowest point"}
    at = -0.5 * b / c
    error = np.nan
    if x.size > 3:
        spread = float(np.sum((y - table @ (a, b, c)) ** 2)) / (x.size - 3)
        slope = np.array([0.0, -0.5 / c, 0.5 * b / c**2])
        error = half * math.sqrt(max(float(slope @ (spread * np.linalg.inv(table.T @ table)) @ slope), 0.0))
    with np.errstate(over="ignore"):
        best = float(np.exp(middle + half * at))
    found = {"optimum": best, "optimum_stderr": error, "lowest": float(a - 0.25 * b**2 / c), "points": x.size}
    return {**found, "inside": bool(abs(at) <= 1), "offset": float(at), "why": ""}


def _fit_line(x: Array, y: Array, level: float) -> dict[str, Any]:
    from scipy.special import stdtrit

    slope = float(np.sum((x - x.mean()) * (y - y.mean())) / np.sum((x - x.mean()) ** 2))
    dof = x.size - 2
    low = high = np.nan
    if dof > 0:
        left = y - y.mean() - slope * (x - x.mean())
        error = math.sqrt(float(left @ left) / dof / float(np.sum((x - x.mean()) ** 2)))
        reach = float(stdtrit(dof, 0.5 + level / 2)) * error
        low, high = slope - reach, slope + reach
    prefactor = math.exp(float(y.mean() - slope * x.mean()))
    return {"exponent": slope, "exponent_lower": low, "exponent_upper": high, "prefactor": prefactor}


def of_fit(fit: Fit, *, compute: Any, cost: str = "6*N*D", decades: float = 1.0, points: int = 9) -> xr.Dataset:
    """Apply `isoflop` to a law's own values: what Approach 2 would find without noise, beside the truth.

    Parameters
    ----------
    fit : Fit
        Of a law of two variables; the first is the size.
    compute : sequence of float
        At least two budgets.
    cost : str
    decades : float
        Width of the grid of sizes of each budget. Its centre is the true optimum rounded to half a decade, as a person
        would place it who does not know it.
    points : int
        Sizes a budget, at least 3.

    Returns
    -------
    xarray.Dataset
        As `isoflop`, with ``true_optimum`` along ``budget``, ``true_exponent`` and ``bias`` (exponent less the true
        one).
    """
    price = price_of(fit, cost)
    budgets = np.unique([positive(c, "compute", fit.name) for c in np.atleast_1d(np.asarray(compute)).tolist()])
    if budgets.size < 2:
        raise UsageError(f"{fit.name}: compute: expected at least two budgets")
    if not is_integer(points) or not 3 <= points <= 10_000:
        raise UsageError(f"{fit.name}: points: expected an integer of at least 3, got {printable(repr(points), 40)}")
    width = positive(decades, "decades", fit.name) * math.log(10)
    best, ends = best_splits(fit, fit.values, price, budgets)
    for budget, end in zip(budgets, ends, strict=True):
        refuse(fit, price, float(budget), int(end))
    first, second = fit.law.variables
    true = np.log(best[first])
    grain = 0.5 * math.log(10)
    centre = np.round(true / grain) * grain
    u = centre[:, None] + np.linspace(-0.5, 0.5, points) * width
    v = along(FormulaSurface(price, (first, second)), budgets[:, None], u, rising=True)
    values = fit.law.value(fit.values, **{first: np.exp(u), second: np.exp(v)})
    spent = np.broadcast_to(budgets[:, None], u.shape)
    found = isoflop(
        {"N": np.exp(u).ravel(), "C": spent.ravel(), "loss": values.ravel()}, tolerance=BUDGET_ATOL_DECADES / 10
    )
    truth = float(np.polyfit(np.log(budgets), true, 1)[0])
    bias = float(found["exponent"]) - truth
    says = f"{fit.name}: on this law, without noise, the parabolas give {float(found['exponent']):.4f} for {truth:.4f}"
    notes = [n for n in found.attrs["warnings"].splitlines() if BIAS_WARNING not in n]
    extra = {"true_optimum": ("budget", np.exp(true)), "true_exponent": truth, "bias": bias}
    return found.assign(extra).assign_attrs(
        fit=fit.name, cost=price.text, warnings="\n".join([*fit.notes, *notes, says])
    )
