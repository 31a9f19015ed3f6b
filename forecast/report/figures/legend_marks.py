"""What a legend shows of a median with its intervals: one mark for the three that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forecast.base.plot_style import BLACK, GREY

__all__ = ["Mark", "legend_handlers"]


@dataclass(frozen=True)
class Mark:
    """A median with its intervals of 50 and 90 %: a dot on two lines, or two bands.

    Parameters
    ----------
    wide : bool
        Whether there are intervals.
    band : bool
        Bands, and no dot.
    """

    wide: bool
    band: bool = False


def legend_handlers() -> dict[Any, Any]:
    """Return what draws a mark in a legend."""
    from matplotlib.legend_handler import HandlerBase
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    class Drawn(HandlerBase):
        def create_artists(
            self, legend: Any, orig_handle: Any, xdescent: float, ydescent: float, width: float, height: float,
            fontsize: float, trans: Any,
        ) -> list[Any]:  # fmt: skip
            middle = height / 2
            if orig_handle.band:
                whole = Rectangle((0, -0.1 * height), width, 1.2 * height, color=GREY, alpha=0.3, linewidth=0)
                half = Rectangle((0, 0.2 * height), width, 0.6 * height, color=GREY, alpha=0.5, linewidth=0)
                made: list[Any] = [whole, half]
            else:
                ends = ((0.0, width, 1.1), (0.22 * width, 0.78 * width, 3.6)) if orig_handle.wide else ()
                made = [
                    Line2D([low, high], [middle] * 2, color=BLACK, linewidth=thick, solid_capstyle="butt")
                    for low, high, thick in ends
                ]
                made.append(Line2D([width / 2], [middle], color=BLACK, marker="o", mfc="white", ms=4.4, linewidth=0))
            for each in made:
                each.set_transform(trans)
            return made

    return {Mark: Drawn()}
