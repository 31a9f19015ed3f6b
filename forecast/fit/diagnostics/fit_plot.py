"""The picture of a fit: its points, the law, the confidence band and the prediction band, along one variable."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base import plot_style
from forecast.base.arrays import Array
from forecast.errors import ForecastError, UnknownNameError, UsageError, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forecast.fit.fit import Fit, Fits

#: An axis is logarithmic where its values are positive and span more than this factor.
_LOG_AXIS_RATIO = 10.0
_N_CURVE_POINTS = 200


def drawable(fit: Fit) -> list[str]:
    """Return the variables along which a law can be drawn: groups are no numbers."""
    return [name for name in fit.law.variables if name not in fit.law.levels]


def plot_fit(fit: Fit | Fits, axis: Axes | None, variable: str | None, level: float, by: str | None = None) -> Axes:
    """Draw a fit on axes, or the first of many over the dimension `by`, a colour each; see `forecast.Fit.plot`."""
    with plot_style.style():
        axis = plot_style.new_axes() if axis is None else axis
        for one, own in _plotted_fits(fit, by):
            if one.solutions is None:
                raise UsageError(f"{fit.name}: nothing to draw: parameters as they were published bring no points")
            name = variable if variable is not None else drawable(one)[0]
            if name not in drawable(one):
                raise UnknownNameError("variable", name, drawable(one), where=fit.name)
            panel(axis, one, name, *one.solutions.points(), level, own=own)
        plot_style.legend(axis)
    return axis


def _plotted_fits(fit: Fit | Fits, by: str | None) -> Iterator[tuple[Fit, tuple[str, Any, str] | None]]:
    """Go over the fits that are drawn, each with its colour, line and label where there are several."""
    if by is None:
        yield fit, None  # type: ignore[misc]
        return
    styles = zip(plot_style.COLOURS, plot_style.LINE_STYLES, strict=False)
    for value, (colour, line) in zip(fit.labels, styles, strict=False):  # type: ignore[union-attr]
        with contextlib.suppress(ForecastError):  # it failed; `outcome` says why
            yield fit.select(value), (colour, line, printable(f"{by} = {value}", 40))  # type: ignore[union-attr]


def _median_or_largest_group(values: Array, groups: bool) -> float:
    """Return the median, or the group that most points are of."""
    if not groups:
        return float(np.median(values))
    places, counts = np.unique(values, return_counts=True)
    return float(places[np.argmax(counts)])


def _log(values: Array) -> bool:
    return bool(values.size and values.min() > 0 and values.max() > _LOG_AXIS_RATIO * values.min())


def panel(
    axis: Axes,
    fit: Fit,
    name: str,
    points: Mapping[str, Array],
    seen: Array,
    level: float,
    *,
    own: tuple[str, Any, str] | None = None,
) -> None:
    """Plot the points, the law and both of its bands along one variable, the others fixed at their medians.

    Parameters
    ----------
    axis : Axes
    fit : Fit
    name : str
        The variable.
    points, seen : ndarray
        What it was fitted to: every variable, a group by its place, and what the law explains.
    level : float
        Of both bands.
    own : (colour, line style, label), optional
        Of one among several fits: its points have its colour, and its bands no label.
    """
    x = points[name]
    colour, line, called = own or (plot_style.COLOURS[0], "-", "law")
    fixed = {n: _median_or_largest_group(p, n in fit.law.levels) for n, p in points.items() if n != name}
    log_x = _log(x)
    low, high = float(x.min()), float(x.max())
    grid = np.geomspace(low, high, _N_CURVE_POINTS) if log_x else np.linspace(low, high, _N_CURVE_POINTS)
    places: dict[str, Any] = {name: grid, **{n: np.full(_N_CURVE_POINTS, v) for n, v in fixed.items()}}
    named = {n: np.full(_N_CURVE_POINTS, fit.law.levels[n][int(fixed[n])]) for n in fit.law.levels}
    law = fit.predict(level=level, **{**places, **named})
    if fixed:
        here = fit.law.value(fit.values, **points)
        there = fit.law.value(fit.values, **{**{n: np.full(x.shape, v) for n, v in fixed.items()}, name: x})
        with np.errstate(all="ignore"):
            seen = seen * there / here if fit.log else seen + there - here
    points_label = "observed, moved along the law" if fixed else "observed"
    dots: dict[str, Any] = {"color": plot_style.BLACK, "label": points_label} if own is None else {"color": colour}
    axis.plot(x, seen, "o", markersize=2.6, markeredgewidth=0, alpha=0.7, **dots)
    if "observed_lower" in law:
        for low_end, high_end, alpha, what in (
            (law["observed_lower"], law["observed_upper"], 0.14, "of observations"),
            (law["lower"], law["upper"], 0.36, "confidence of the law"),
        ):
            label = f"{level:.0%} {what}" if own is None else None
            axis.fill_between(grid, low_end, high_end, color=colour, alpha=alpha, linewidth=0, label=label)
    axis.plot(grid, law["median"], color=colour, linestyle=line, label=called)
    drawn = np.concatenate([seen, law["median"].values])
    if log_x:
        axis.set_xscale("log")
        plot_style.set_log_ticks(axis.xaxis)
    if _log(drawn[np.isfinite(drawn)]):
        axis.set_yscale("log")
        plot_style.set_log_ticks(axis.yaxis)
    unit = fit.law.variables[name]
    axis.set_xlabel(printable(f"{name} [{unit}]" if unit else name, 60))
    axis.set_ylabel(printable(f"{fit.law.output} [{fit.law.unit}]" if fit.law.unit else fit.law.output, 60))
    if fixed:
        at = {
            n: fit.law.levels[n][int(v)] if n in fit.law.levels else plot_style.format_tick(float(f"{v:.3g}"))
            for n, v in fixed.items()
        }
        axis.set_title(printable("at " + ", ".join(f"{n} = {v}" for n, v in at.items()), 60))
    axis.grid(color="#e4e4e4", linewidth=0.5)
