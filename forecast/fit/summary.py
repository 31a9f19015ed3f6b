"""A fit as a page of text, and as HTML for a notebook: law, verdict, parameters, and there a small figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.html_text import inline_image, page
from forecast.base.plot_style import COLOURS, format_tick
from forecast.errors import UncertaintyError, printable
from forecast.fit.inference.by_group import groups_text
from forecast.fit.inference.interval import origin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forecast.fit.fit import Fit

__all__ = ["fit_page", "summary"]

#: Points of a curve, and most observations next to it.
_N_CURVE_POINTS, _MAX_POINTS = 120, 500


def summary(fit: Fit) -> str:
    """Return the law, the verdict, the parameters and their intervals; see `forecast.Fit.summary`."""
    lines = [f"{fit.name}: {fit.law.text}", *groups_text(fit)]
    if fit.published:
        lines.append(f"parameters published in {printable(fit.published.reference, 300)}")
        if fit.published.note:
            lines.append(f"note: {printable(fit.published.note, 600)}")
    else:
        value = "" if fit.objective is None else f" = {fit.objective:.10g}"
        delta = "" if fit.delta is None else f" (delta {fit.delta:.4g})"
        lines.append(f"objective {fit.objective_name}{delta}{value}; {fit.n} points; {fit.verdict}")
        if said_of := origin(fit, fit.level):
            lines.append(f"intervals: {said_of}")
    lines += [fit.read] if fit.read else []
    rows = [("parameter", "value", "stderr", f"{fit.level:.0%} interval")]
    for name, number in fit.values.items():
        error = f"{fit._stderr[name]:.4g}" if name in fit._stderr else "-"
        rows.append((name, f"{number:.8g}", error, _interval_text(fit, name, "[{:.6g}, {:.6g}]")))
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines.append("")
    lines += ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[3]]) for row in rows]
    lines += ["", *(f"warning: {w}" for w in fit.warnings)] if fit.warnings else []
    return "\n".join(lines)


def _interval_text(fit: Fit, name: str, form: str) -> str:
    """Write the interval of a parameter, or why there is none."""
    try:
        return form.format(*fit.interval(name, fit.level))
    except UncertaintyError as problem:
        return "none: " + problem.reason


def fit_page(fit: Fit) -> str:
    """Return a fit as HTML: its law and verdict, the curve among its points, and its parameters."""
    title = f"{fit.name}: {fit.law.text}" if fit.law.name else fit.law.text
    verdict = f"published in {fit.published.reference}" if fit.published else f"{fit.n} points; {fit.verdict}"
    rows = [[n, f"{v:.6g}", _interval_text(fit, n, "{:.4g} to {:.4g}")] for n, v in fit.values.items()]
    figure = inline_image(lambda ax: _plot_law(fit, ax), title) if fit.ranges else ""
    return page(f"{title}; {verdict}", figure, ["parameter", "value", f"{fit.level:.0%} interval"], rows, fit.warnings)


def _plot_law(fit: Fit, ax: Axes) -> None:
    """Draw the law along its first variable, the others at the middle of their data, with the band of the law."""
    name = next(iter(fit.ranges))
    low, high = fit.ranges[name]
    several = low > 0 and high > 10 * low
    grid = np.geomspace(low, high, _N_CURVE_POINTS) if several else np.linspace(low, high, _N_CURVE_POINTS)
    places: dict[str, Any] = {name: grid}
    fixed = {}
    for other, (least, most) in fit.ranges.items():
        if other != name:
            fixed[other] = float(np.sqrt(least * most) if least > 0 else (least + most) / 2)
            places[other] = np.full(_N_CURVE_POINTS, fixed[other])
    places |= {group: [labels[0]] * _N_CURVE_POINTS for group, labels in fit.law.levels.items()}
    predicted = fit.predict(**places)
    median = np.asarray(predicted["median"], dtype=float)
    if "lower" in predicted:
        ax.fill_between(
            grid, predicted["lower"], predicted["upper"], color=COLOURS[0], alpha=0.3, lw=0, label="90 % of the law"
        )
    ax.plot(grid, median, color=COLOURS[0], label="the law")
    if fit.data is not None and not fixed and not fit.law.levels:  # of several variables points do not lie on a curve
        step = -(-len(fit.data.y) // _MAX_POINTS)
        x, y = np.asarray(fit.data.variables[name])[::step], np.asarray(fit.data.y)[::step]
        ax.plot(x, y, ".", color=COLOURS[1], label="observed")
        median = np.concatenate([median, y])
    shown = median[np.isfinite(median)]
    rises = bool(shown.size) and shown.min() > 0 and shown.max() > 10 * shown.min()
    ax.set(xscale="log" if several else "linear", yscale="log" if rises else "linear")
    for axis in [*([ax.xaxis] if several else []), *([ax.yaxis] if rises else [])]:
        axis.set_major_formatter(lambda value, _: format_tick(value))  # powers of ten would be TeX
        axis.set_minor_formatter(lambda value, _: "")
    unit = fit.law.variables[name]
    ax.set_xlabel(printable(f"{name} ({unit})" if unit else name, 60))
    ax.set_ylabel(printable(f"{fit.law.output} ({fit.law.unit})" if fit.law.unit else fit.law.output, 60))
    ax.legend(frameon=False, title=", ".join(f"{other} = {value:.3g}" for other, value in fixed.items())[:60] or None)
