"""Figures of a projection: log axis, data points, medians, and nested 50 and 90 % bands."""

from __future__ import annotations

import functools
import itertools
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import units
from forecast.base.dates import decimal_year
from forecast.base.files import replacing, safe_output
from forecast.errors import ForecastError, UsageError, printable
from forecast.report import bars, ticks
from forecast.report.levels import Levels
from forecast.report.plain import attribute
from forecast.report.rankings import rankings

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["COLOURS", "FORMATS", "check_format", "plot"]

FORMATS = (".svg", ".png", ".pdf")

#: Okabe & Ito (2008): told apart with any colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
#: What lies beyond is drawn here: an axis needs room above its highest value.
_LARGEST = 1e200


def plot(tree: xr.DataTree, path: str | os.PathLike[str]) -> Path:
    """Draw a projection into a file.

    A panel for each combination of the choices of the leading quantity (the greater side of the first question;
    without a question, one panel a ranking, or else a quantity). Its observations, median and bands stand in blue;
    what it is compared with in other colours.

    Parameters
    ----------
    tree : xarray.DataTree
        From `forecast.project` or `forecast.load`.
    path : path-like
        Ends in ``.svg``, ``.png`` or ``.pdf``.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    UsageError
        For another ending.
    """
    check_format(path)
    target = safe_output(path)
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    ranked = [] if attribute(tree, "questions") else rankings(tree)
    panels: list[Callable[[Axes], None]] = [functools.partial(bars.panel, row=row) for row in ranked]
    if not ranked:
        panels = [functools.partial(_panel, tree=tree, title=title, lines=lines) for title, lines in _panels(tree)]
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    # names from scenarios and plugins must not be read as TeX, and equal projections must give equal files
    with mpl.rc_context({"text.parse_math": False, "svg.hashsalt": "lawcast", "svg.fonttype": "none"}):
        figure = Figure(figsize=(6.0 * columns, 3.6 * rows + 0.6), layout="constrained")
        FigureCanvasAgg(figure)
        axes = np.atleast_1d(figure.subplots(rows, columns, squeeze=False, sharex=not ranked)).ravel()
        for axis, draw in zip(axes, panels, strict=False):
            draw(axis)
        for axis in axes[len(panels) :]:
            axis.set_axis_off()
        figure.suptitle(printable(attribute(tree, "title") or attribute(tree, "scenario"), 120), fontsize=11)
        form = target.suffix[1:].lower()
        metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form, {})
        with replacing(target) as temporary:
            try:
                figure.savefig(temporary, format=form, metadata=metadata, dpi=110)
            except ValueError as error:  # more pixels than the format holds
                raise ForecastError(f"{printable(target)}: {printable(error)}") from error
    return target


def check_format(path: str | os.PathLike[str]) -> None:
    """Refuse a file whose ending names no figure format.

    Raises
    ------
    UsageError
    """
    if Path(path).suffix.lower() not in FORMATS:
        raise UsageError(f"{printable(Path(path).name)}: expected a figure file that ends in {', '.join(FORMATS)}")


def _panels(tree: xr.DataTree) -> list[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """Return (title, [(quantity, choices), ...]) a panel; the first line leads."""
    from forecast.formula import parse_condition

    data = Levels(tree)
    drawable = data.names()
    if not drawable:
        raise UsageError("nothing to draw: a regime has no level")
    asked = attribute(tree, "questions")
    if not asked:
        return [(name, [(name, c) for c in data.cells(name)]) for name in drawable]
    # the number of a choice is a name here
    when = parse_condition(re.sub("[{}]", "", next(iter(asked.values()))["when"]))
    leading = [n for n in when.greater_side.names if n in drawable] or drawable[:1]
    compared = [n for n in when.lesser_side.names if n in drawable and n not in leading]
    panels = []
    for chosen in data.cells(leading[0]):
        lines = [(leading[0], chosen)]
        for name in (*leading[1:], *compared):
            lines += [(name, c) for c in data.cells(name) if all(chosen.get(k, v) == v for k, v in c.items())]
        panels.append((", ".join(f"{k} = {v}" for k, v in chosen.items()), lines))
    return panels


def _panel(axis: Axes, tree: xr.DataTree, title: str, lines: list[tuple[str, dict[str, str]]]) -> None:
    data = Levels(tree)
    years = decimal_year(data.kept["time"].values)
    unit = data.kept[lines[-1][0]].attrs["units"]  # what the leading quantity is compared with sets the scale
    positive = True
    for (name, chosen), colour in zip(lines, itertools.cycle(COLOURS), strict=False):
        levels, own_unit = data.quantiles(name, chosen), data.kept[name].attrs["units"]
        if np.isnan(levels).all() or not units.same_dimension(own_unit, unit):
            continue
        levels = np.clip(units.convert(levels, own_unit, unit), -_LARGEST, _LARGEST)
        positive &= not (levels <= 0).any()
        p05, p25, p50, p75, p95 = levels
        for low, high, alpha in ((p05, p95, 0.15), (p25, p75, 0.25)):
            axis.fill_between(years, low, high, color=colour, alpha=alpha, linewidth=0)
        own = {k: v for k, v in chosen.items() if (name, chosen) != lines[0]}
        label = printable(" ".join([name, *own.values()]), 50)
        axis.plot(years, p50, color=colour, linewidth=1.4, label=label)
        if (name, chosen) == lines[0]:
            _points(axis, tree, name, chosen, colour, unit)
    if positive:
        axis.set_yscale("log")
        ticks.spread(axis.yaxis)
    axis.set_title(printable(title, 80), fontsize=9)
    axis.set_ylabel(printable(unit or "dimensionless", 40), fontsize=8)
    axis.tick_params(labelsize=8)
    axis.grid(alpha=0.25, linewidth=0.5)
    axis.legend(fontsize=7, loc="upper left", frameon=False)


def _points(axis: Axes, tree: xr.DataTree, name: str, chosen: dict[str, str], colour: str, unit: str) -> None:
    if f"/observed/{name}" not in tree.groups:
        return
    seen = tree[f"observed/{name}"].to_dataset()
    keep = np.ones(seen.sizes["point"], dtype=bool)
    for choice, value in chosen.items():
        if choice in seen.coords:
            keep &= seen[choice].values == value
    value = units.convert(seen["value"].values[keep], seen["value"].attrs["units"], unit)
    axis.plot(decimal_year(seen["date"].values[keep]), value, "o", color=colour, markersize=2.5, label="observed")
