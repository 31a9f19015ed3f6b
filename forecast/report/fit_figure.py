"""The figure of a fit: points, law, confidence band and prediction band; log axes where the data span decades."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.files import replacing, safe_output
from forecast.errors import ForecastError, printable
from forecast.report import ticks
from forecast.report.figures import check_format

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from forecast.fit.solution import Fit

    Array = NDArray[np.float64]

__all__ = ["plot"]

#: Okabe & Ito (2008): told apart with any colour vision.
_BLUE, _ORANGE = "#0072B2", "#D55E00"
#: An axis is logarithmic where its values are positive and span more than this factor.
_DECADE = 10.0
_POINTS = 200
_MOST_DRAWN = 20_000


def plot(
    fit: Fit,
    path: str | os.PathLike[str],
    data: Any,
    *,
    let: Mapping[str, str] | None = None,
    y: str | None = None,
    level: float = 0.9,
) -> Path:
    """Draw a fit into a file: a panel for each variable, the others held at their medians, or at the largest group.

    The points of a law of several variables are moved along the law to these medians (ratio or difference to the law
    kept), so that they lie about the curve.

    Parameters
    ----------
    fit : Fit
    path : path-like
        Ends in ``.svg``, ``.png`` or ``.pdf``.
    data : table
        What it was fitted to.
    let, y : optional
        As in `forecast.Law.fit`.
    level : float
        Of both bands.

    Returns
    -------
    pathlib.Path
    """
    check_format(path)
    target = safe_output(path)
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    points, seen = _observed(fit, data, let or {}, y)
    names = [name for name in fit.law.variables if name not in fit.law.levels]
    # names from data and plugins must not be read as TeX, and equal fits must give equal files
    with mpl.rc_context({"text.parse_math": False, "svg.hashsalt": "lawcast", "svg.fonttype": "none"}):
        figure = Figure(figsize=(6.0 * min(2, len(names)), 3.8 * -(-len(names) // 2) + 0.6), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(-(-len(names) // 2), min(2, len(names)), squeeze=False).ravel()
        for axis, name in zip(axes, names, strict=False):
            _panel(axis, fit, name, points, seen, level)
        for axis in axes[len(names) :]:
            axis.set_axis_off()
        judged = "" if fit.converged is not False else "NOT CONVERGED: "
        figure.suptitle(printable(f"{judged}{fit.name}", 120), fontsize=11)
        form = target.suffix[1:].lower()
        metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form, {})
        with replacing(target) as temporary:
            try:
                figure.savefig(temporary, format=form, metadata=metadata, dpi=110)
            except ValueError as error:  # more pixels than the format holds
                raise ForecastError(f"{printable(target)}: {printable(error)}") from error
    return target


def _observed(fit: Fit, data: Any, let: Mapping[str, str], y: str | None) -> tuple[dict[str, Array], Array]:
    from forecast import tables
    from forecast.fit.data.groups import labels_of
    from forecast.fit.data.observations import _compute

    columns = tables.columns(data, where=fit.name)
    points: dict[str, Array] = {}
    for name in fit.law.variables:
        if name in fit.law.levels:
            points[name] = fit.law._coded(name, labels_of(columns.column(name), columns.rows, fit.name)[0])
        else:
            points[name] = _compute(let.get(name, name), columns, f"{fit.name}: variable '{name}'")
    seen = _compute(y if y is not None else fit.law.output, columns, f"{fit.name}: y")
    if seen.size > _MOST_DRAWN:  # every k-th, so that a figure stays a figure
        step = -(-seen.size // _MOST_DRAWN)
        points, seen = {n: p[::step] for n, p in points.items()}, seen[::step]
    return points, seen


def _middle(values: Array, groups: bool) -> float:
    """Return the median, or the group that most points are of."""
    if not groups:
        return float(np.median(values))
    places, counts = np.unique(values, return_counts=True)
    return float(places[np.argmax(counts)])


def _log(values: Array) -> bool:
    return bool(values.size and values.min() > 0 and values.max() > _DECADE * values.min())


def _panel(axis: Axes, fit: Fit, name: str, points: Mapping[str, Array], seen: Array, level: float) -> None:
    x = points[name]
    held = {n: _middle(p, n in fit.law.levels) for n, p in points.items() if n != name}
    log_x = _log(x)
    low, high = float(x.min()), float(x.max())
    grid = np.geomspace(low, high, _POINTS) if log_x else np.linspace(low, high, _POINTS)
    places: dict[str, Any] = {name: grid, **{n: np.full(_POINTS, v) for n, v in held.items()}}
    named = {n: np.full(_POINTS, fit.law.levels[n][int(held[n])]) for n in fit.law.levels}
    law = fit.predict(level=level, **{**places, **named})
    if held:
        here = fit.law.value(fit.values, **points)
        there = fit.law.value(fit.values, **{**{n: np.full(x.shape, v) for n, v in held.items()}, name: x})
        with np.errstate(all="ignore"):
            seen = seen * there / here if fit.log else seen + there - here
    if "observed_lower" in law:
        label = f"{level:.0%} of observations"
        axis.fill_between(
            grid, law["observed_lower"], law["observed_upper"], color=_BLUE, alpha=0.12, lw=0, label=label
        )
        label = f"{level:.0%} confidence of the law"
        axis.fill_between(grid, law["lower"], law["upper"], color=_BLUE, alpha=0.35, lw=0, label=label)
    axis.plot(x, seen, "o", color=_ORANGE, markersize=3, label="observed" + (", moved along the law" if held else ""))
    axis.plot(grid, law["median"], color=_BLUE, linewidth=1.4, label="law")
    drawn = np.concatenate([seen, law["median"].values])
    log_y = _log(drawn[np.isfinite(drawn)])
    if log_x:
        axis.set_xscale("log")
        ticks.spread(axis.xaxis)
    if log_y:
        axis.set_yscale("log")
        ticks.spread(axis.yaxis)
    unit = fit.law.variables[name]
    axis.set_xlabel(printable(f"{name} [{unit}]" if unit else name, 60), fontsize=8)
    axis.set_ylabel(printable(f"{fit.law.output} [{fit.law.unit}]" if fit.law.unit else fit.law.output, 60), fontsize=8)
    if held:
        at = {n: fit.law.levels[n][int(v)] if n in fit.law.levels else f"{v:.3g}" for n, v in held.items()}
        axis.set_title(printable("at " + ", ".join(f"{n} = {v}" for n, v in at.items()), 80), fontsize=9)
    axis.tick_params(labelsize=8)
    axis.grid(alpha=0.25, linewidth=0.5)
    axis.legend(fontsize=7, frameon=False)
