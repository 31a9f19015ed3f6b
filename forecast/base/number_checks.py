"""Real numbers and integers, told from truth values, which Python counts among them."""

from __future__ import annotations

import numbers
from typing import TypeGuard


def is_real(value: object) -> TypeGuard[float]:
    """Return True for a real number of Python or numpy, which a truth value is not.

    Examples
    --------
    >>> is_real(0.5), is_real(2), is_real(True), is_real([0.5])
    (True, True, False, False)
    """
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_integer(value: object) -> TypeGuard[int]:
    """Return True for an integer of Python or numpy, which a truth value is not.

    Examples
    --------
    >>> is_integer(2), is_integer(2.0), is_integer(True)
    (True, False, False)
    """
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
