"""Masked arrays of numpy, which hardly anybody has, and whose module takes as long to import as a small fit."""

from __future__ import annotations

import sys
from typing import Any, TypeGuard

__all__ = ["is_masked_array", "is_masked_value"]


def is_masked_array(values: Any) -> TypeGuard[Any]:
    """Tell whether values are a masked array; where nobody has imported what makes one, none is.

    Examples
    --------
    >>> import numpy as np
    >>> is_masked_array(np.ma.masked_array([1.0])), is_masked_array(np.array([1.0])), is_masked_array("text")
    (True, False, False)
    """
    made = sys.modules.get("numpy.ma")
    return made is not None and isinstance(values, made.MaskedArray)


def is_masked_value(value: object) -> bool:
    """Tell whether a value is the one that stands for what is masked.

    Examples
    --------
    >>> import numpy as np
    >>> is_masked_value(np.ma.masked), is_masked_value(0.0)
    (True, False)
    """
    made = sys.modules.get("numpy.ma")
    return made is not None and value is made.masked
