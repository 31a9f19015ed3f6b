"""The quantiles and the level of the interval that every answer carries."""

from __future__ import annotations

#: The ends and the middle of the 90 % interval, and those of the half between them.
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
#: Their names, in the same order.
QUANTILE_NAMES = ("p05", "p25", "p50", "p75", "p95")
#: Level of an interval, where no other is asked for: its ends are the first and the last quantile.
DEFAULT_LEVEL = 0.9
#: Standard deviations from the middle of a normal distribution to its last quantile.
Z95 = 1.6448536269514722
