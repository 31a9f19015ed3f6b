"""The figure of a fit: points, law, confidence band and prediction band; log axes where the data span decades."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from forecast.base import plot_style
from forecast.errors import ForecastError, printable
from forecast.fit.diagnostics.fit_plot import drawable, panel

if TYPE_CHECKING:
    from forecast.fit.fit import Fit, Fits

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
