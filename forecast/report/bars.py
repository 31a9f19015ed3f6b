"""A ranking drawn: the best ones from top to bottom, medians with their 50 and 90 % ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forecast import units
from forecast.errors import printable
from forecast.report import ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MOST", "panel"]

#: So many are drawn.
MOST = 15

_COLOUR = "#0072B2"


def panel(axis: Axes, row: dict[str, Any]) -> None:
    """Draw one ranking, as `forecast.report.rankings.rankings` returns it."""
    shown = [e for e in row["order"] if e["among"] >= 0.5 and e["p50"] is not None][:MOST]
    for height, entry in enumerate(shown):
        for low, high, width in (("p05", "p95", 1.5), ("p25", "p75", 5.0)):
            axis.plot([entry[low], entry[high]], [height, height], color=_COLOUR, linewidth=width, alpha=0.6)
        axis.plot([entry["p50"]], [height], "o", color=_COLOUR)
        if entry["first"] >= 0.005:
            axis.annotate(
                f"first in {entry['first']:.0%}", (entry["p95"], height), xytext=(4, -3), textcoords="offset points",
                fontsize=7,
            )  # fmt: skip
    axis.set_yticks(range(len(shown)), [printable(e["name"], 40) for e in shown], fontsize=8)
    axis.invert_yaxis()
    axis.margins(x=0.2)
    if shown and all(e["p05"] > 0 for e in shown):
        axis.set_xscale("log")
        ticks.spread(axis.xaxis)
    unit = units.label(row["unit"])
    axis.set_xlabel(printable(f"{row['rank']} [{unit}]" if unit else row["rank"], 120))
    given = ", ".join(f"{k} = {v}" for k, v in row["choices"].items())
    axis.set_title(printable(given or row["title"], 100), fontsize=10)
