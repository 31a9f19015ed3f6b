"""The figure of a fit: points, law, confidence band and prediction band; log axes where the data span decades."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from forecast.base import plot_style
from forecast.errors import ForecastError
from forecast.fit.diagnostics.fit_plot import drawable, panel

if TYPE_CHECKING:
    from forecast.fit.fit import Fit

__all__ = ["plot_fit"]

_MAX_PLOTTED_POINTS = 20_000


def plot_fit(
    fit: Fit,
    path: str | os.PathLike[str],
    *,
    level: float = 0.9,
    width: str = "page",
) -> Path:
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
