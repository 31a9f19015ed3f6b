"""The warnings of an answer as they stand below it: at most three lines, those of one kind together.

``--show warnings`` and ``--json`` have each whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["MOST", "warning_lines"]

#: So many lines stand below an answer.
MOST = 3
#: So many names of quantities stand in one of them.
_MOST_NAMES = 3
_FIXED = re.compile(r"(?P<name>[\w.]+): .*the source states no uncertainty of them", re.DOTALL)
_BEYOND = re.compile(
    r"(?P<name>[\w.]+): .*? (?P<far>\d+(\.\d+)?) decades outside the data it was fitted to.*", re.DOTALL
)


def warning_lines(warnings: Sequence[str]) -> list[str]:
    """Return at most `MOST` lines that say what an answer warns of.

    Parameters
    ----------
    warnings : sequence of str
        What it warns of, each whole.

    Examples
    --------
    >>> far = "width: N is 7 in the median draw, 3.4 decades outside the data it was fitted to (1 to 2)"
    >>> warning_lines([far, far.replace("width", "size").replace("3.4", "2"), "hindcast: it starts in 2025"])
    ['2 quantities lie 2 to 3.4 decades beyond their data: width, size', 'hindcast: it starts in 2025']
    >>> warning_lines([f"warning {place}" for place in range(5)])
    ['warning 0', 'warning 1', '3 more: --show warnings has them']
    """
    fixed = [m["name"] for text in warnings if (m := _FIXED.fullmatch(text))]
    beyond = {m["name"]: float(m["far"]) for text in warnings if (m := _BEYOND.fullmatch(text))}
    together = [kind for kind, names in ((_FIXED, fixed), (_BEYOND, beyond)) if len(names) > 1]
    out = [text for text in warnings if not any(kind.fullmatch(text) for kind in together)]
    if _BEYOND in together:
        low, high = min(beyond.values()), max(beyond.values())
        reach = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        out.insert(0, f"{len(beyond)} quantities lie {reach} decades beyond their data: {_names([*beyond])}")
    if _FIXED in together:
        out.insert(0, f"{len(fixed)} fits state no uncertainty: {_names(fixed)}")
    if len(out) > MOST:
        out = [*out[: MOST - 1], f"{len(out) - MOST + 1} more: --show warnings has them"]
    return out


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES])}{more}"
