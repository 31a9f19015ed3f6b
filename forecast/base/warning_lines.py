"""The warnings of an answer as they stand below it: at most three lines, those of one kind together.

``--show warnings`` and ``--json`` have each whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from forecast.errors import ForecastWarning

#: So many lines stand below an answer.
MAX_WARNING_LINES = 3


def warning_lines(told: Sequence[ForecastWarning | str]) -> list[str]:
    """Return at most `MAX_WARNING_LINES` lines that say what an answer warns of.

    Parameters
    ----------
    told : sequence of ForecastWarning or str
        What it warns of; why something failed is a text.

    Examples
    --------
    >>> from forecast.errors import BeyondDataWarning, HindcastWarning
    >>> far = {"variable": "N", "values": (7, 7), "data": (1, 2)}
    >>> told = [BeyondDataWarning(subject=name, decades=far_by, **far) for name, far_by in (("a", 3.4), ("b", 2.0))]
    >>> for line in warning_lines([*told, HindcastWarning(first=2020, last=2024)]):
    ...     print(line)
    2 quantities lie 2 to 3.4 decades beyond their data: a, b
    hindcast: the projection starts in 2020, its data end in 2024; until then it shows the fit
    >>> warning_lines([f"warning {place}" for place in range(5)])
    ['warning 0', 'warning 1', '3 more: --show warnings has them']
    """
    kinds: dict[type[ForecastWarning], list[ForecastWarning]] = {}
    for each in told:
        if isinstance(each, ForecastWarning):
            kinds.setdefault(type(each), []).append(each)
    several = {kind: kind.together(alike) for kind, alike in kinds.items() if len(alike) > 1}
    out = [line for line in several.values() if line]
    out += [str(each) for each in told if isinstance(each, str) or not several.get(type(each))]
    if len(out) > MAX_WARNING_LINES:
        out = [*out[: MAX_WARNING_LINES - 1], f"{len(out) - MAX_WARNING_LINES + 1} more: --show warnings has them"]
    return out


def with_warnings(text: str, told: Sequence[ForecastWarning | str]) -> str:
    """Return what a prompt shows of a result, with a line for each of its warnings."""
    return "\n".join([text, *(f"warning: {line}" for line in warning_lines(told))])
