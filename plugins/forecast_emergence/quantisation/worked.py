"""The essay's worked examples of quantisation, recomputed.

The first two quantise whole numbers from 0 to 5 to the data type {0, 2, 4}. The third has ten numbers in 8 bits, with
and without an outlier of -67: the numbers are from the essay as others transcribe it, and give every figure that the
audit of the essay has. Of its softmax example only the result is known here; the numbers that lead there are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forecast.errors import UsageError
from forecast_emergence.quantisation.primitives import Array, absmax, checked

__all__ = ["I3", "VECTOR", "Squeezed", "facts", "feature_removal", "squeeze", "vector_error"]

#: The essay's small data type.
I3 = (0.0, 2.0, 4.0)
#: The two vectors of whole numbers.
FIRST, SECOND = (3.0, 1.0, 2.0, 3.0), (0.0, 2.0, 2.0, 0.0)
#: The ten numbers; the last one is the outlier.
VECTOR = (-0.10, -0.23, 0.08, -0.38, -0.28, -0.29, -2.11, 0.34, -0.53, -67.0)


@dataclass(frozen=True, kw_only=True)
class Squeezed:
    """Whole numbers after a visit to the small data type.

    Parameters
    ----------
    codes, before, after : array
        Entries of the data type; what they stand for; and that, rounded to whole numbers.
    errors_before, errors : int
        Numbers that differ from the original, before and after the last rounding.
    """

    codes: Array
    before: Array
    after: Array
    errors_before: int
    errors: int


def squeeze(vector: Sequence[float], *, constant: float | None = None, down: bool = False) -> Squeezed:
    """Quantise whole numbers to {0, 2, 4} and back, as the essay does.

    Parameters
    ----------
    vector : sequence of float
    constant : float, optional
        What becomes 4; the largest number where it is not given.
    down : bool
        Round down instead of to nearest: only this gives the essay's vector.

    Examples
    --------
    The essay has [4, 0, 2, 4] and [3, 0, 2, 3]:

    >>> nearest, down = squeeze([3, 1, 2, 3]), squeeze([3, 1, 2, 3], down=True)
    >>> nearest.codes, nearest.after, nearest.errors
    (array([4., 2., 2., 4.]), array([3., 2., 2., 3.]), 1)
    >>> down.codes, down.after, down.errors
    (array([4., 0., 2., 4.]), array([3., 0., 2., 3.]), 1)
    """
    values, grid = checked(np.asarray(vector, dtype=float)), np.array(I3)
    largest = float(values.max()) if constant is None else float(constant)
    if values.min() < 0 or not largest > 0 or values.max() > largest:
        raise UsageError(f"squeeze: expected numbers from 0 to a constant above 0, got {list(vector)} and {largest:g}")
    scaled = values / largest * grid[-1]
    # a hair, so that what is 2 up to rounding does not fall to 0
    places = np.searchsorted(grid, scaled + 1e-12, side="right") - 1 if down else abs(scaled[:, None] - grid).argmin(1)
    before = grid[places] / grid[-1] * largest
    after = np.rint(before)
    return Squeezed(
        codes=grid[places],
        before=before,
        after=after,
        errors_before=int((abs(before - values) > 1e-9).sum()),
        errors=int((after != values).sum()),
    )


def vector_error(bits: int = 8, *, outlier: bool = True) -> tuple[float, Array]:
    """Quantise the ten numbers by absmax; return their mean error and what is left of them.

    Parameters
    ----------
    bits : int
    outlier : bool
        With the -67; without it nine numbers are left.

    Examples
    --------
    >>> error, left = vector_error()
    >>> round(error, 4), left.round(2)
    (0.1233, array([  0.  ,   0.  ,   0.  ,  -0.53,  -0.53,  -0.53,  -2.11,   0.53,
            -0.53, -67.  ]))
    >>> round(vector_error(outlier=False)[0], 4)
    0.0031
    """
    values = np.array(VECTOR if outlier else VECTOR[:-1])
    left = absmax(values, bits=bits).dequantised()
    return float(abs(left - values).mean()), left


def feature_removal(large: float = 20.0) -> Array:
    """Return the softmax of a matrix product in which a large feature removes two of four others.

    Hidden states of 1 and ``-large`` meet weights of 0 or 1 in the large feature: where it is 1, nothing is left.

    Examples
    --------
    >>> feature_removal().round(6)
    array([0. , 0.5, 0.5, 0. ])
    """
    hidden = np.array([1.0, -abs(large)])
    columns = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 1.0]])
    product = hidden @ columns
    odds = np.exp(product - product.max())
    return np.asarray(odds / odds.sum())


def facts() -> dict[str, float]:
    """Return every figure of the examples, for the claims.

    Examples
    --------
    >>> found = facts()
    >>> found["second_number"], found["one_constant_errors"], found["changed"]
    (2.0, 1.0, 2.0)
    """
    first, down = squeeze(FIRST), squeeze(FIRST, down=True)
    own, shared = squeeze(SECOND), squeeze(SECOND, constant=max(FIRST))
    without, left = vector_error(outlier=False)
    return {
        "second_number": float(first.after[1]),
        "second_number_down": float(down.after[1]),
        "errors": float(first.errors),
        "errors_down": float(down.errors),
        "constant_first": max(FIRST),
        "constant_second": max(SECOND),
        "own_constant_errors": float(own.errors),
        "one_constant_errors": float(first.errors + shared.errors),
        "one_constant_errors_before": float(first.errors_before + shared.errors_before),
        "error_with_outlier": vector_error()[0],
        "error_without_outlier": without,
        "changed": float((abs(left.round(2) - np.array(VECTOR[:-1])) > 1e-9).sum()),
        "second_probability": float(feature_removal()[1]),
    }
