"""An extrapolation as a file: the points, and what they are expected to become."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from forecast.base import plot_style

if TYPE_CHECKING:
    from forecast.evaluation.extrapolate import Extrapolation


def plot_extrapolation(answer: Extrapolation, path: str | os.PathLike[str], *, width: str = "page") -> Path:
    """Draw an extrapolation into a file that ends in ``.svg``, ``.png`` or ``.pdf``, one or two columns wide."""
    plot_style.check_format(path)
    with plot_style.style():
        figure = plot_style.sheet(plot_style.WIDTH_INCHES[width], 3.4 if width == "page" else 2.6)
        axes = answer.plot(figure.subplots())
        if (own := axes.get_legend()) is not None:
            own.remove()
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":
                plot_style.set_log_ticks(axis)
        plot_style.legend_below(figure, 4 if width == "page" else 2)
        return plot_style.save_figure(figure, path)
