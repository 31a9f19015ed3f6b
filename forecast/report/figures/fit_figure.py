"""The figure of a fit: points, law, confidence band and prediction band; log axes where the data span decades."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.base import plot_style
from forecast.errors import ForecastError
from forecast.fit.diagnostics.fit_plot import drawable, panel

if TYPE_CHECKING:
    from forecast.fit.fit import Fit

Array = NDArray[np.float64]


__all__ = ["held", "plot"]

_MOST_DRAWN = 20_000


def plot(
    fit: Fit,
    path: str | os.PathLike[str],
    data: Any,
    *,
    let: Mapping[str, str] | None = None,
    y: str | None = None,
    level: float = 0.9,
    width: str = "two",
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
    width : {"two", "one"}
        Columns of a page.

    Returns
    -------
    pathlib.Path
    """
    plot_style.check_format(path)
    points, seen = _observed(fit, data, let or {}, y)
    names = drawable(fit)
    across = min(2 if width == "two" else 1, len(names))
    down = -(-len(names) // across)
    with plot_style.style():
        figure = plot_style.sheet(
            plot_style.WIDTHS[width], 2.3 * down + 0.75 + (0.6 if across == 1 and width == "two" else 0.0)
        )
        axes = figure.subplots(down, across, squeeze=False).ravel()
        for axis, name in zip(axes, names, strict=False):
            panel(axis, fit, name, points, seen, level)
        for axis in axes[len(names) :]:
            axis.remove()
        judged = "" if fit.converged is not False else "NOT CONVERGED: "
        plot_style.heading(figure, f"{judged}{fit.name}", width)
        plot_style.legend_below(figure, 4 if width == "two" else 2)
        return plot_style.write(figure, path)


def held(fit: Fit) -> dict[str, Any]:
    """Return the columns that a fit was made from, as it holds them.

    Raises
    ------
    ForecastError
        If it holds none: one of published parameters, or one that was saved without its data.
    """
    if fit.data is None:
        raise ForecastError(f"{fit.name}: has no data of its own to draw it with")
    law, data = fit.law, fit.data
    named = {n: np.array(law.levels[n])[data.variables[n].astype(int)] for n in law.levels}
    return {**data.variables, **named, law.output: data.y}


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
