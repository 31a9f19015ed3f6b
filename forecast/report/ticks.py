"""Labels of a logarithmic axis in plain text: figures write no TeX, so that foreign names stay as they are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axis import Axis

__all__ = ["plain", "spread"]

#: Decades below which a figure has labels between the powers of ten.
_FEW = 1.5


def spread(axis: Axis) -> None:
    """Label a logarithmic axis: powers of ten, and 2 and 5 between them where it spans one or two."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    narrow = 0 < low < high < math.inf and math.log10(high / low) < _FEW
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if narrow else (1.0,), numticks=8))
    axis.set_major_formatter(lambda value, _: plain(value))
    axis.set_minor_formatter(NullFormatter())  # matplotlib's own is TeX


def plain(value: float) -> str:
    """Write a tick.

    Examples
    --------
    >>> plain(1e6), plain(2e-6), plain(0.05), plain(1000.0), plain(0.0)
    ('1e6', '2e-6', '0.05', '1000', '')
    """
    if not 0 < value < math.inf:
        return ""
    if 5e-3 < value < 9e3:
        return f"{value:.4g}"
    power = math.floor(math.log10(value) + 1e-9)
    return f"{value / 10.0**power:.3g}e{power}" if power > -300 else f"{value:.0e}"
