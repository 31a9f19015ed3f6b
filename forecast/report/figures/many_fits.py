"""The figure of many fits: one small panel each, all of one law and of one style."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from forecast.base import plot_style
from forecast.errors import ForecastError, printable
from forecast.fit.diagnostics.fit_plot import panel

if TYPE_CHECKING:
    from forecast.fit.fits import Fits

__all__ = ["plot_many_fits"]

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
