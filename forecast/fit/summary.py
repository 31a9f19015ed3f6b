"""A fit as a page of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forecast.errors import UncertaintyError, printable
from forecast.fit.inference.by_group import groups_text
from forecast.fit.inference.interval import origin

if TYPE_CHECKING:
    from forecast.fit.fit import Fit

__all__ = ["summary"]


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
    rows = [("parameter", "value", "stderr", f"{fit.level:.0%} interval")]
    for name, number in fit.values.items():
        error = f"{fit._stderr[name]:.4g}" if name in fit._stderr else "-"
        try:
            span = "[{:.6g}, {:.6g}]".format(*fit.interval(name, fit.level))
        except UncertaintyError as problem:
            span = "none: " + problem.reason
        rows.append((name, f"{number:.8g}", error, span))
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines.append("")
    lines += ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[3]]) for row in rows]
    lines += ["", *(f"warning: {w}" for w in fit.warnings)] if fit.warnings else []
    return "\n".join(lines)
