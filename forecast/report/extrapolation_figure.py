"""An extrapolation as a file: the points, and what they are expected to become."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast.base.files import replacing, safe_output
from forecast.report import ticks
from forecast.report.figures import check_format

if TYPE_CHECKING:
    from forecast.evaluation.extrapolate import Extrapolation

__all__ = ["plot"]


def plot(answer: Extrapolation, path: str | os.PathLike[str]) -> Path:
    """Draw an extrapolation into a file that ends in ``.svg``, ``.png`` or ``.pdf``."""
    check_format(path)
    target = safe_output(path)
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # names from data must not be read as TeX, and equal answers must give equal files
    with mpl.rc_context({"text.parse_math": False, "svg.hashsalt": "lawcast", "svg.fonttype": "none"}):
        figure = Figure(figsize=(7.0, 4.2), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots()
        answer.plot(axes)
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":
                ticks.spread(axis)
        form = target.suffix[1:].lower()
        metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form, {})
        with replacing(target) as temporary:
            figure.savefig(temporary, format=form, metadata=metadata, dpi=110)
    return target
