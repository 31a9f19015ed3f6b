"""Figures of fits: points, laws and bands; predictions and splits of a budget; laws and models beside their rivals.

A fit is drawn with its confidence band and its prediction band, on log axes where the data span decades.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from forecast.base import plot_style
from forecast.base.json_text import nan_if_none
from forecast.errors import ForecastError, UsageError, printable
from forecast.fit.diagnostics.fit_plot import drawable, panel
from forecast.planning.allocate import allocate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forecast.fit.fit import Fit, Fits


#: So many rivals are drawn, the best ones.
_MAX_RIVALS = 24


class _Measure(NamedTuple):
    """One panel: a number of each rival, NaN where it has none."""

    name: str
    values: Sequence[float]
    reference: float | None = None


def plot_comparison(result: Mapping[str, Any], path: str | os.PathLike[str], *, width: str = "page") -> Path:
    """Draw a comparison of laws: what each explains less than the best, and its error of forecasts by rollout.

    Parameters
    ----------
    result : mapping
        ``laws``, each with ``law``, ``aicc`` and ``rollout`` (None where there is none), and ``headline``.
    path : path-like
    width : {"page", "column"}
    """
    rows = result["laws"][:_MAX_RIVALS]
    scores = [nan_if_none(row["aicc"]) for row in rows]
    least = min((s for s in scores if not math.isnan(s)), default=math.nan)
    measures = [
        _Measure("AICc above the best", [score - least for score in scores]),
        _Measure("error of extrapolation", [nan_if_none(row["rollout"]) for row in rows]),
    ]
    return _plot_panels(result["headline"], [row["law"] for row in rows], measures, path, width)


def plot_backtest(result: Mapping[str, Any], path: str | os.PathLike[str], *, width: str = "page") -> Path:
    """Plot a backtest: the score of each model, and the coverage of its 90 % intervals.

    Parameters
    ----------
    result : mapping
        ``models``, each with ``model``, ``weighted-interval`` and ``coverage``, and ``headline``.
    path : path-like
    width : {"page", "column"}
    """
    rows = result["models"][:_MAX_RIVALS]
    measures = [
        _Measure("score (lower is better)", [nan_if_none(row.get("weighted-interval")) for row in rows]),
        _Measure("90 % intervals that held", [nan_if_none(row.get("coverage")) for row in rows], 0.9),
    ]
    return _plot_panels(result["headline"], [row["model"] for row in rows], measures, path, width)


def _plot_panels(
    headline: str, names: Sequence[str], measures: Sequence[_Measure], path: str | os.PathLike[str], width: str
) -> Path:
    plot_style.check_format(path)
    across = 72 * plot_style.WIDTH_INCHES[width]
    labels = [plot_style.wrap_text(printable(name, 80), across / 3, 7.0) for name in names]
    title = plot_style.wrap_text(printable(headline, 300), across - 10, 8.0)
    with plot_style.style():
        figure = plot_style.sheet(
            plot_style.WIDTH_INCHES[width], 0.24 * max(len(names), 2) + 1.0 + 0.17 * title.count("\n")
        )
        axes = figure.subplots(1, len(measures), sharey=True)
        for axis, measure in zip(axes, measures, strict=True):
            shown = [value for value in measure.values if not math.isnan(value)]
            most = max([*shown, measure.reference or 0.0, 1e-300])
            for place, value in enumerate(measure.values):
                if math.isnan(value):
                    axis.text(0.02, place, "failed", transform=axis.get_yaxis_transform(), va="center", fontsize=6.5)
                    continue
                axis.plot([0.0, value], [place, place], color=plot_style.GREY, linewidth=1.0)
                axis.plot([value], [place], "o", color=plot_style.COLOURS[0], ms=4.4, clip_on=False)
                axis.text(1.02, place, f"{value:.3g}", transform=axis.get_yaxis_transform(), va="center", fontsize=6.5)
            if measure.reference is not None:
                axis.axvline(measure.reference, color=plot_style.COLOURS[1], linestyle="--", linewidth=1.1)
            axis.set(xlim=(0.0, 1.06 * most), xlabel=measure.name, ylim=(len(names) - 0.4, -0.6))
            axis.xaxis.set_major_locator(plot_style.few_ticks(axis.xaxis))
            axis.xaxis.set_major_formatter(lambda value, _: plot_style.format_tick(value))
            axis.grid(axis="x", color="#dddddd", linewidth=0.5)
            axis.tick_params(axis="y", length=0)
        axes[0].set_yticks(range(len(names)), labels)
        figure.suptitle(title, fontsize=8, x=0.01, ha="left")
        return plot_style.save_figure(figure, path)


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


_MAX_PLOTTED_POINTS = 20_000


def plot_fit(fit: Fit, path: str | os.PathLike[str], *, level: float = 0.9, width: str = "page") -> Path:
    """Plot a fit into a file: a panel for each variable, the others fixed at their medians, or at the largest group.

    The points of a law of several variables are moved along the law to these medians (ratio or difference to the law
    kept), so that they lie about the curve.

    Parameters
    ----------
    fit : Fit
    path : path-like
        Ends in ``.svg``, ``.png`` or ``.pdf``.
    level : float
        Of both bands.
    width : {"page", "column"}
        Columns of a page.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    ForecastError
        For parameters as they were published, and for one group of a fit: they have no data of their own.
    """
    plot_style.check_format(path)
    if fit.data is None:
        raise ForecastError(f"{fit.name}: has no data of its own to draw it with")
    step = -(-fit.data.y.size // _MAX_PLOTTED_POINTS)  # every k-th, so that a figure stays a figure
    points, seen = {n: p[::step] for n, p in fit.data.variables.items()}, fit.data.y[::step]
    names = drawable(fit)
    across = min(2 if width == "page" else 1, len(names))
    down = -(-len(names) // across)
    with plot_style.style():
        figure = plot_style.sheet(
            plot_style.WIDTH_INCHES[width], 2.3 * down + 0.75 + (0.6 if across == 1 and width == "page" else 0.0)
        )
        axes = figure.subplots(down, across, squeeze=False).ravel()
        for axis, name in zip(axes, names, strict=False):
            panel(axis, fit, name, points, seen, level)
        for axis in axes[len(names) :]:
            axis.remove()
        judged = "" if fit.converged is not False else "NOT CONVERGED: "
        plot_style.add_heading(figure, f"{judged}{fit.name}", width)
        plot_style.legend_below(figure, 4 if width == "page" else 2)
        return plot_style.save_figure(figure, path)


# --- Many fits --------------------------------------------------------------------------------------------------------
# The figure of many fits: one small panel each, all of one law and of one style.


#: So many fits are drawn, side by side in two columns of a page and in one; of more, the first ones.
_MAX_FITS, _PANELS_PER_ROW = 24, {"page": 4, "column": 2}


def plot_many_fits(fits: Fits, path: str | os.PathLike[str], *, level: float = 0.9, width: str = "page") -> Path:
    """Draw many fits into a file: for each its points, the law and its bands, along the law's first variable.

    A fit that failed has its reason in place of a curve.

    Parameters
    ----------
    fits : Fits
    path : path-like
        Ends in ``.svg``, ``.png`` or ``.pdf``.
    level : float
        Of both bands.
    width : {"page", "column"}
        Columns of a page.

    Returns
    -------
    pathlib.Path
    """
    plot_style.check_format(path)
    shown = range(min(len(fits), _MAX_FITS))
    across = min(_PANELS_PER_ROW[width], len(shown))
    down = -(-len(shown) // across)
    along = next(iter(fits.law.variables))
    with plot_style.style():
        figure = plot_style.sheet(plot_style.WIDTH_INCHES[width], 1.7 * down + 0.9)
        axes = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).ravel()
        for axis, b in zip(axes, shown, strict=False):
            value = fits.labels[b]
            label = f"{fits.by} = {f'{value:.12g}' if fits.labels.dtype.kind == 'f' else value}"
            try:
                fit = fits.select(value)
            except ForecastError:
                axis.text(0.5, 0.5, printable(fits.outcome.values[b], 60), ha="center", wrap=True)
                axis.set_axis_off()
            else:
                assert fit.data is not None
                panel(axis, fit, along, fit.data.variables, fit.data.y, level)
                label += f", {axis.get_title()}" if axis.get_title() else ""  # the fixed values of the other variables
                label += "" if fit.converged is not False else ": NOT CONVERGED"
            axis.set_title(printable(label, 40))
        for axis in axes[len(shown) :]:
            axis.set_axis_off()
        some = f": the first {len(shown)} of {len(fits)}" if len(fits) > len(shown) else ""
        figure.suptitle(printable(f"{fits.name} over {fits.by}{some}", 84 if width == "page" else 40), fontsize=9)
        plot_style.legend_below(figure, 4 if width == "page" else 2)
        return plot_style.save_figure(figure, path)
