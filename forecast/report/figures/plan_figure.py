"""What a fit says of points and of budgets: predictions with both of their bands, and the best split of a budget."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base import plot_style
from forecast.base.json_text import nan_if_none
from forecast.errors import UsageError, printable
from forecast.planning.allocate import allocate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forecast.fit.fit import Fit

#: Points of a prediction that are drawn as rows, and from how many on they are a curve.
_MAX_PLOTTED_ROWS, _MIN_CURVE_POINTS = 40, 4
#: Number of budgets around the requested one, and decades to either side.
_N_BUDGETS, _BUDGET_DECADES = 9, 1.0


def plot_predictions(
    fit: Fit, rows: Sequence[Mapping[str, Any]], path: str | os.PathLike[str], *, level: float, width: str = "page"
) -> Path:
    """Draw predictions: along the variable that alone differs, or as a row for each point.

    Parameters
    ----------
    fit : Fit
    rows : sequence of mapping
        Each point: the law's variables, ``median`` or ``mean``, and where known ``lower``, ``upper``,
        ``observed_lower`` and ``observed_upper``.
    path : path-like
    level : float
        Of both bands.
    width : {"page", "column"}
    """
    plot_style.check_format(path)
    centre = "mean" if "mean" in rows[0] else "median"
    known = [row for row in rows if row[centre] is not None]
    if not known:
        raise UsageError(f"{fit.name}: nothing to draw: it can be computed at none of the points")
    varying = [n for n in fit.law.variables if len({row[n] for row in known}) > 1]
    curve = len(varying) == 1 and varying[0] not in fit.law.levels and len(known) >= _MIN_CURVE_POINTS
    with plot_style.style():
        figure = plot_style.sheet(
            plot_style.WIDTH_INCHES[width], 2.8 if curve else 0.22 * min(len(known), _MAX_PLOTTED_ROWS) + 1.3
        )
        axis = figure.subplots()
        if curve:
            _plot_curve(axis, sorted(known, key=lambda row: float(row[varying[0]])), varying[0], centre, level)
            unit = fit.law.variables[varying[0]]
            axis.set_xlabel(printable(f"{varying[0]} [{unit}]" if unit else varying[0], 60))
        else:
            names, room = varying or list(fit.law.variables), 150.0 if width == "page" else 90.0
            _plot_rows(axis, known[:_MAX_PLOTTED_ROWS], names, centre, level, room)
        output = printable(f"{fit.law.output} [{fit.law.unit}]" if fit.law.unit else fit.law.output, 60)
        (axis.set_ylabel if curve else axis.set_xlabel)(output)
        axis.grid(color="#e4e4e4", linewidth=0.5)
        plot_style.add_heading(figure, fit.name, width)
        plot_style.legend_below(figure, 3 if width == "page" else 1)
        return plot_style.save_figure(figure, path)


def _plot_curve(axis: Axes, rows: Sequence[Mapping[str, Any]], name: str, centre: str, level: float) -> None:
    x = np.array([float(row[name]) for row in rows])
    for low, high, alpha, what in (
        ("observed_lower", "observed_upper", 0.14, "of observations"),
        ("lower", "upper", 0.36, "confidence of the law"),
    ):
        ends = np.array([[nan_if_none(row.get(low)), nan_if_none(row.get(high))] for row in rows])
        if np.isfinite(ends).any():
            label = f"{level:.0%} {what}"
            axis.fill_between(x, *ends.T, color=plot_style.COLOURS[0], alpha=alpha, linewidth=0, label=label)
    axis.plot(x, [row[centre] for row in rows], "-o", color=plot_style.COLOURS[0], ms=3, label=centre)
    plot_style.logarithmic(axis.xaxis, x)
    plot_style.logarithmic(axis.yaxis, np.array([row[centre] for row in rows], dtype=float))


def _plot_rows(
    axis: Axes, rows: Sequence[Mapping[str, Any]], names: Sequence[str], centre: str, level: float, wide: float
) -> None:
    for place, row in enumerate(rows):
        for low, high, thick, what in (
            ("observed_lower", "observed_upper", 1.1, "of observations"),
            ("lower", "upper", 3.6, "confidence of the law"),
        ):
            if row.get(low) is not None and row.get(high) is not None:
                label = f"{level:.0%} {what}"
                axis.plot([row[low], row[high]], [place, place], color=plot_style.BLACK, linewidth=thick, label=label)
        axis.plot([row[centre]], [place], "o", color=plot_style.COLOURS[0], mfc="white", ms=4.4, zorder=4, label=centre)
    told = [", ".join(f"{n} = {_format_label(row[n])}" for n in names) for row in rows]
    axis.set_yticks(range(len(rows)), [plot_style.wrap_text(printable(text, 200), wide, 7.0) for text in told])
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.xaxis.set_major_locator(plot_style.few_ticks(axis.xaxis))
    axis.xaxis.set_major_formatter(lambda value, _: plot_style.format_tick(value))


def _format_label(value: float | str) -> str:
    return value if isinstance(value, str) else plot_style.format_tick(float(f"{value:.3g}"))


def plot_allocation(
    fit: Fit, path: str | os.PathLike[str], *, compute: float, level: float, width: str = "page", **options: Any
) -> Path:
    """Draw the best split against the budget, ten times smaller to ten times larger: both variables, and the output.

    Parameters
    ----------
    fit : Fit
    path : path-like
    compute : float
        The requested budget, marked in the figure.
    level : float
        Of the intervals.
    width : {"page", "column"}
    **options
        As `forecast.planning.allocate.allocate` takes it.
    """
    plot_style.check_format(path)
    budgets = np.geomspace(compute * 10**-_BUDGET_DECADES, compute * 10**_BUDGET_DECADES, _N_BUDGETS)
    found = [allocate(fit, compute=float(budget), level=level, **options) for budget in budgets]
    names = [*fit.law.variables, fit.law.output]
    with plot_style.style():
        across = len(names) if width == "page" else 1
        figure = plot_style.sheet(plot_style.WIDTH_INCHES[width], 2.6 if across > 1 else 1.7 * len(names) + 0.7)
        axes = figure.subplots(len(names) // across, across, sharex=True, squeeze=False).ravel()
        for axis, name in zip(axes, names, strict=True):
            middle = np.array([each.values[name] for each in found])
            axis.plot(budgets, middle, color=plot_style.COLOURS[0], label="best split")
            if all(f"{name}_lower" in each.values for each in found):
                ends = np.array([[each.values[f"{name}_{end}"] for each in found] for end in ("lower", "upper")])
                label = f"{level:.0%} interval"
                axis.fill_between(budgets, *ends, color=plot_style.COLOURS[0], alpha=0.25, linewidth=0, label=label)
            axis.axvline(compute, color=plot_style.BLACK, linestyle=":", linewidth=1.0, label="the budget")
            at = found[_N_BUDGETS // 2].values[name]
            axis.plot([compute], [at], "o", color=plot_style.COLOURS[1], ms=4.4, label="at the budget")
            axis.annotate(_format_label(at), (compute, at), xytext=(4, -9), textcoords="offset points", fontsize=7)
            axis.set_xscale("log")
            plot_style.set_log_ticks(axis.xaxis)
            if name in fit.law.variables:  # a split is a power of the budget, or close to one
                axis.set_yscale("log")
                plot_style.set_log_ticks(axis.yaxis)
            else:
                plot_style.logarithmic(axis.yaxis, middle)
            unit = found[0].units[name]
            axis.set_title(printable(f"{name} [{unit}]" if unit else name, 40))
            axis.grid(color="#e4e4e4", linewidth=0.5)
        for axis in axes[-across:]:
            axis.set_xlabel("cost" if options.get("cost", "6*N*D") != "6*N*D" else "compute [FLOP]")
        plot_style.add_heading(figure, found[0].attrs["fit"], width)
        plot_style.legend_below(figure, 4 if width == "page" else 2)
        return plot_style.save_figure(figure, path)
