"""Matrix products in few bits: the methods of LLM.int8()'s table 1, and LLM.int8() itself.

Products of integers are exact: they are summed in floats of 24 bits of mantissa over as many terms as these hold, so
that a fast multiplication of floats does what a device's 8-bit units do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from forecast.errors import UnknownNameError, UsageError
from forecast_emergence.quantisation.primitives import (
    THRESHOLD,
    Array,
    Decomposed,
    Quantised,
    absmax,
    checked,
    decompose,
    zeropoint,
)

__all__ = ["METHODS", "Method", "multiply", "product"]


@dataclass(frozen=True, kw_only=True)
class Method:
    """A way to multiply hidden states by weights in few bits.

    Parameters
    ----------
    title : str
        The row of table 1; the method has the name it has in the table ``datasets/int8-perplexity``.
    zero_point : bool
        Zeropoint instead of absmax.
    rows, columns : bool
        A constant for each row of the hidden states; for each column of the weights. Row-wise alone leaves the weights
        one constant for all: our reading of the table.
    decomposed : bool
        Outlier columns in 16 bits.
    """

    title: str
    zero_point: bool = False
    rows: bool = False
    columns: bool = False
    decomposed: bool = False


METHODS: Mapping[str, Method] = {
    "absmax": Method(title="Int8 absmax"),
    "zeropoint": Method(title="Int8 zeropoint", zero_point=True),
    "absmax-row-wise": Method(title="Int8 absmax row-wise", rows=True),
    "absmax-vector-wise": Method(title="Int8 absmax vector-wise", rows=True, columns=True),
    "zeropoint-vector-wise": Method(title="Int8 zeropoint vector-wise", zero_point=True, rows=True, columns=True),
    "absmax-row-wise-decomposed": Method(title="Int8 absmax row-wise + decomposition", rows=True, decomposed=True),
    "absmax-llm-int8": Method(
        title="Absmax LLM.int8() (vector-wise + decomposition)", rows=True, columns=True, decomposed=True
    ),
    "zeropoint-llm-int8": Method(
        title="Zeropoint LLM.int8() (vector-wise + decomposition)",
        zero_point=True,
        rows=True,
        columns=True,
        decomposed=True,
    ),
}

#: Whole numbers up to here are exact in a float of each kind.
EXACT_SINGLE, EXACT_DOUBLE = 2**24, 2**53


def multiply(a: Quantised, b: Quantised) -> Array:
    """Multiply two quantised matrices, exactly in the integers, and give the result its scale.

    Parameters
    ----------
    a : Quantised
        With one constant, or one for each row.
    b : Quantised
        With one constant, or one for each column.

    Raises
    ------
    UsageError
        Where the constants differ along the sum, or the matrices do not match: both are named.

    Examples
    --------
    >>> x, w = absmax([[1.0, 2.0], [3.0, 4.0]], axis=1), absmax([[1.0], [-1.0]], axis=0)
    >>> multiply(x, w).ravel().round(2)
    array([-0.99, -1.01])
    """
    if a.codes.ndim != 2 or b.codes.ndim != 2 or a.codes.shape[1] != b.codes.shape[0]:
        raise UsageError(f"product: matrices of shape {a.codes.shape} and {b.codes.shape} do not match")
    if a.scale.shape[1] != 1 or b.scale.shape[0] != 1:
        raise UsageError(
            f"product: constants of shape {a.scale.shape} and {b.scale.shape} differ along the sum; the left matrix "
            "can have one for each row, the right one for each column"
        )
    left, right = a.integers(), b.integers()
    largest = max(float(np.abs(left).max()), 1.0) * max(float(np.abs(right).max()), 1.0)
    terms = int(EXACT_SINGLE // largest)
    inner = left.shape[1]
    if terms >= 64:
        left, right = left.astype(np.float32, copy=False), right.astype(np.float32, copy=False)
        total = left[:, :terms] @ right[:terms]
        if inner > terms:
            total = total.astype(np.float64)
            for start in range(terms, inner, terms):
                total += left[:, start : start + terms] @ right[start : start + terms]
    else:
        if largest * inner > EXACT_DOUBLE:
            raise UsageError(
                f"product: sums of {inner} products of up to {largest:.3g} are not exact; use fewer bits, or center "
                "what lies far from 0"
            )
        total = left.astype(np.float64) @ right.astype(np.float64)
    kind = np.result_type(a.scale, b.scale)
    return (total * a.scale.astype(np.float64) * b.scale.astype(np.float64)).astype(kind)


def _quantised(x: Array, bits: int, axis: int | None, method: Method) -> Quantised:
    return (zeropoint if method.zero_point else absmax)(x, bits=bits, axis=axis)


def product(
    x: ArrayLike, w: ArrayLike, method: str = "absmax-llm-int8", *, bits: int = 8, threshold: float = THRESHOLD
) -> Array:
    """Multiply hidden states by weights as a device would that has few bits.

    Parameters
    ----------
    x : array of float
        Hidden states: (token, feature).
    w : array of float
        Weights: (feature, output).
    method : str
        One of `METHODS`.
    bits : int
        Of both.
    threshold : float
        From this magnitude on a feature is an outlier; used by methods with decomposition.

    Examples
    --------
    >>> x, w = [[0.5, -40.0, 1.0], [0.25, -44.0, -1.0]], [[0.25], [0.01], [-0.5]]
    >>> exact = checked(x) @ checked(w)
    >>> [float(abs(product(x, w, m) - exact).max().round(3)) for m in ("absmax", "absmax-llm-int8")]
    [0.128, 0.002]
    """
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS, where="product")
    how = METHODS[method]
    states, weights = checked(x, "x", ndim=2), checked(w, "w", ndim=2)
    if states.shape[1] != weights.shape[0]:
        raise UsageError(f"product: {states.shape[1]} features of x, {weights.shape[0]} of w")
    if not how.decomposed:
        return multiply(
            _quantised(states, bits, 1 if how.rows else None, how),
            _quantised(weights, bits, 0 if how.columns else None, how),
        )
    split: Decomposed = decompose(states, bits=bits, threshold=threshold, zero_point=how.zero_point, row_wise=how.rows)
    rest = weights
    if len(split.columns):
        rest = weights.copy()
        rest[split.columns] = 0.0
    low = multiply(split.rest, _quantised(rest, bits, 0 if how.columns else None, how))
    high = split.kept.astype(np.float32) @ weights[split.columns].astype(np.float16).astype(np.float32)
    return np.asarray(low + high.astype(low.dtype))
