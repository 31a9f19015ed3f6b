"""A fit as a page of text, and as HTML for a notebook: law, verdict, parameters, and there a small figure."""

from __future__ import annotations

from forecast.base.notebook_html import inline_image, page
from forecast.errors import UncertaintyError, printable
from forecast.fit.diagnostics.fit_plot import plot_fit
from forecast.fit.fit import Fit
from forecast.fit.inference.by_group import groups_text
from forecast.fit.inference.interval import origin


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
    figure = inline_image(lambda axis: plot_fit(fit, axis, None, fit.level), title) if fit.ranges else ""
    return page(f"{title}; {verdict}", figure, ["parameter", "value", f"{fit.level:.0%} interval"], rows, fit.warnings)
