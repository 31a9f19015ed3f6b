"""Are intervals calibrated? The levels of a track record against its coverage, as text and as a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forecast.base.plot_style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Characters of a share of 100 %.
_BAR_WIDTH = 50


def chart(row: Mapping[str, Any]) -> list[str]:
    """Return a row of a track record as lines of at most 80 characters; none where it keeps no deciles.

    Examples
    --------
    >>> row = {"held": 0.8, "half": 0.5, "deciles": [0.1] * 10, "forecasts": 40, "series": 4, "kind": "all"}
    >>> for line in chart(row)[:3]:
    ...     print(line)
    calibration: 40 forecasts of 4 series (# what came, | what was said)
      50 % interval   50 %  #########################|
      90 % interval   80 %  ########################################     |
    """
    if not row.get("deciles"):
        return []
    kind = "" if row["kind"] == "all" else f", {row['kind']}"
    lines = [
        f"calibration: {row['forecasts']} forecasts of {row['series']} series{kind} (# what came, | what was said)"
    ]
    for level, coverage in ((50, row["half"]), (90, row["held"])):
        lines.append(f"  {level} % interval  {100 * coverage:>3.0f} %  {_text_bar(coverage, level / 100)}")
    lines.append("  what came, by tenth of the forecast:")
    for tenth, share in enumerate(row["deciles"]):
        place = f"{10 * tenth} to {10 * tenth + 10} %"
        lines.append(f"  {place:<13}  {100 * share:>3.0f} %  {_text_bar(share, 0.1)}")
    return lines


def _text_bar(share: float, said: float) -> str:
    """Return a bar of what came, and a mark where it was said to end."""
    came, mark = round(share * _BAR_WIDTH), round(said * _BAR_WIDTH)
    cells = ["#"] * came + [" "] * max(mark - came, 0)
    return "".join([*cells[:mark], "|", *cells[mark:]])


def plot_calibration(records: Mapping[str, Sequence[Mapping[str, Any]]], axes: tuple[Axes, Axes]) -> None:
    """Plot track records, by name: the coverage of intervals against their levels, and the deciles of the outcomes.

    Parameters
    ----------
    records : mapping of str to sequence of dict
        Rows of `forecast.contract.track_record`, of which the whole record (the first) is drawn.
    axes : pair of matplotlib Axes
    """
    left, right = axes
    for place, (name, rows) in enumerate(records.items()):
        row, colour = rows[0], COLOURS[place % len(COLOURS)]
        left.plot([0, 0.5, 0.9, 1], [0, row["half"], row["held"], 1], "o-", markersize=3, color=colour, label=name)
        tenths = [0.1 * each for each in range(11)]
        right.stairs(row["deciles"], tenths, color=colour)
    left.plot([0, 1], [0, 1], color="black", linewidth=0.7)
    right.axhline(0.1, color="black", linewidth=0.7)
    left.set(xlabel="level of the interval", ylabel="share that held", xlim=(0, 1), ylim=(0, 1))
    right.set(xlabel="place of what came in the forecast", ylabel="share of outcomes", xlim=(0, 1))
    left.legend(frameon=False, fontsize=7)
