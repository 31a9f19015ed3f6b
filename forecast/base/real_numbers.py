"""Whether a value is a number."""

from __future__ import annotations

import numbers

__all__ = ["is_real"]


def is_real(value: object) -> bool:
    """Tell whether a value is a real number, and no truth value.

    Examples
    --------
    >>> is_real(0.5), is_real(True), is_real([0.5])
    (True, False, False)
    """
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
