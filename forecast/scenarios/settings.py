"""What a user sets, ``--set KEY=VALUE``: read as it is meant, and refused where it cannot be."""

from __future__ import annotations

import math
import numbers
import re

from forecast.base.distributions import Distribution
from forecast.errors import UsageError, printable

__all__ = ["floor", "number", "texts"]

#: Numbers as they are typed; ``float`` alone would also take ``1_000``, ``nan`` and full-width digits.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)

#: Families that hold no negative number.
_POSITIVE = ("lognormal", "loguniform")


def texts(choice: str, value: object) -> tuple[str, ...]:
    """Return the values that a choice is narrowed to: several in a text are separated by commas."""
    listed = tuple(value.split(",")) if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)) or not listed or not all(isinstance(v, str) for v in listed):
        raise UsageError(f"set {choice}: expected a value of the choice, got '{printable(value, 40)}'")
    return tuple(dict.fromkeys(listed))


def number(key: str, value: object, *, lower: float | None = None, unit: str = "") -> float:
    """Return the number that a quantity or an input is set to.

    Raises
    ------
    UsageError
        For what is no finite number, or lies below `lower`.

    Examples
    --------
    >>> number("memory", "24", lower=0.0, unit="GiB")
    24.0
    """
    plain = (isinstance(value, str) and _NUMBER.fullmatch(value)) or isinstance(value, numbers.Real)
    try:
        given = float(value) if plain and not isinstance(value, bool) else math.nan  # type: ignore[arg-type]
    except OverflowError:  # an integer that no float holds
        given = math.inf
    if not math.isfinite(given):
        raise UsageError(f"set {printable(key, 80)}: expected a finite number, got '{printable(value, 40)}'")
    if lower is not None and given < lower:
        raise UsageError(f"set {printable(key, 80)}: expected at least {f'{lower:g} {unit}'.rstrip()}, got {given:g}")
    return given


def floor(stated: Distribution | None, lower: float | None) -> float | None:
    """Return what a number may not be set below: what is said, else 0 where it is stated as one above 0.

    Zero itself is allowed, to leave a cost or a delay out.

    Examples
    --------
    >>> from forecast.base.distributions import distribution
    >>> floor(distribution({"p05": 1, "p95": 9}), None), floor(distribution({"value": 0.1}), None)
    (0.0, None)
    """
    if lower is None and stated is not None and stated.family in _POSITIVE:
        return 0.0
    return lower
