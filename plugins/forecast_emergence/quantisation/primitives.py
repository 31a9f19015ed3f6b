"""Numbers in few bits: one constant for many of them (absmax), a shifted zero (zeropoint), outlier columns kept apart.

A `Quantised` array is integers and the constants that give the numbers back. Its constants belong to the whole array,
to each row (``axis=1``: one constant for all that lies along it) or to each column (``axis=0``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forecast.errors import UsageError

__all__ = ["THRESHOLD", "Decomposed", "Quantised", "absmax", "checked", "decompose", "levels", "zeropoint"]

#: What an outlier is: the magnitude above which LLM.int8() keeps a column in 16 bits (section 3.2).
THRESHOLD = 6.0
#: The largest 16-bit float.
LARGEST_HALF = 65504.0

Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Quantised:
    """Integers and what they stand for: ``(codes - zero)*scale``.

    Parameters
    ----------
    codes : array of int8 or int16
    scale : array
        Of the numbers' kind, with length 1 along every axis that shares a constant.
    zero : array
        Which code stands for 0; all zeros under absmax.
    bits : int
    """

    codes: Array
    scale: Array
    zero: Array
    bits: int

    def integers(self) -> Array:
        """Return what is multiplied: the codes without the shift of their zero.

        Examples
        --------
        >>> zeropoint([2.0, 4.0]).integers()
        array([254., 508.])
        """
        shifted = self.codes.astype(self.scale.dtype)
        return shifted - self.zero.astype(self.scale.dtype) if self.zero.any() else shifted

    def dequantised(self) -> Array:
        """Return the numbers that are left.

        Examples
        --------
        >>> absmax([0.9, 0.3, -2.0], bits=3).dequantised().round(2)
        array([ 0.67,  0.  , -2.  ])
        """
        return self.integers() * self.scale

    @property
    def bits_per_value(self) -> float:
        """Bits a number, with a 16-bit float for each constant (and for each shifted zero)."""
        constants = self.scale.size * (2 if self.zero.any() else 1)
        return float(self.bits + 16.0 * constants / self.codes.size)


@dataclass(frozen=True, kw_only=True)
class Decomposed:
    """An array whose outlier columns stay in 16 bits.

    Parameters
    ----------
    columns : array of int
        Which columns have an outlier.
    kept : array of float16
        These columns.
    rest : Quantised
        The whole array with zeros in their place.
    """

    columns: Array
    kept: Array
    rest: Quantised

    def dequantised(self) -> Array:
        """Return the numbers that are left.

        Examples
        --------
        >>> x = [[0.5, -40.0, 1.0], [0.25, -44.0, -1.0]]
        >>> decompose(x).dequantised().round(2)
        array([[  0.5 , -40.  ,   1.  ],
               [  0.25, -44.  ,  -1.  ]])
        """
        values = self.rest.dequantised()
        values[:, self.columns] = self.kept
        return values

    @property
    def bits_per_value(self) -> float:
        """Bits a number: 16 in the outlier columns."""
        share = len(self.columns) / self.rest.codes.shape[1]
        return float((1.0 - share) * self.rest.bits_per_value + 16.0 * share)


def levels(bits: int) -> int:
    """Return the largest code: codes are symmetric about 0, so that one of the 2**bits stays unused.

    Examples
    --------
    >>> levels(8), levels(3)
    (127, 3)
    >>> levels(1)
    Traceback (most recent call last):
    ...
    forecast.errors.UsageError: bits: expected a whole number from 2 to 16, got 1
    """
    if isinstance(bits, bool) or not isinstance(bits, (int, np.integer)) or not 2 <= bits <= 16:
        raise UsageError(f"bits: expected a whole number from 2 to 16, got {bits!r}")
    return int(2 ** (int(bits) - 1) - 1)


def checked(x: ArrayLike, what: str = "x", *, ndim: int | None = None) -> Array:
    """Return `x` as float32 (from 32 bits or fewer) or float64; what is empty or not finite is refused.

    Examples
    --------
    >>> checked([1.0, float("nan")])
    Traceback (most recent call last):
    ...
    forecast.errors.UsageError: x: expected finite numbers, got nan at [1]
    """
    values = np.asarray(x)
    if values.dtype.kind not in "fiu":
        raise UsageError(f"{what}: expected real numbers, got {values.dtype}")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float32 if values.dtype == np.float16 else np.float64)
    if not values.size:
        raise UsageError(f"{what}: expected at least one number, got none")
    if ndim is not None and values.ndim != ndim:
        raise UsageError(f"{what}: expected {ndim} dimensions, got {values.ndim} (shape {values.shape})")
    # a sum tells in one pass that all is finite, unless it overflows
    with np.errstate(over="ignore", invalid="ignore"):
        suspect = not np.isfinite(values.sum())
    if suspect and not np.isfinite(values).all():
        at = np.argwhere(~np.isfinite(values))[0]
        raise UsageError(f"{what}: expected finite numbers, got {values[tuple(at)]} at {at.tolist()}")
    return values


def _shared(x: Array, axis: int | None) -> tuple[Array, Array]:
    """Return the smallest and the largest number that share a constant."""
    if axis is not None and not -x.ndim <= axis < x.ndim:
        raise UsageError(f"axis: expected None or an axis of an array of {x.ndim} dimensions, got {axis}")
    return x.min(axis=axis, keepdims=True), x.max(axis=axis, keepdims=True)


def _stored(values: Array, bits: int) -> Array:
    return values.astype(np.int8 if bits <= 8 else np.int16)


def absmax(x: ArrayLike, *, bits: int = 8, axis: int | None = None) -> Quantised:
    """Quantise with the largest magnitude as the constant, to nearest (ties to even).

    Parameters
    ----------
    x : array of float
    bits : int
    axis : int, optional
        Numbers along it share a constant; all of them where it is None.

    Raises
    ------
    UsageError
        Where `bits` is no whole number from 2 to 16, or a number is not finite.

    Examples
    --------
    >>> absmax([-0.10, -0.29, 0.34, -2.11]).codes
    array([  -6,  -17,   20, -127], dtype=int8)
    """
    values = checked(x)
    low, high = _shared(values, axis)
    scale = np.maximum(-low, high) / levels(bits)
    scale[scale == 0] = 1.0  # nothing but zeros, or numbers too small to divide
    codes = values / scale
    np.rint(codes, out=codes)
    return Quantised(codes=_stored(codes, bits), scale=scale, zero=np.zeros_like(scale), bits=int(bits))


def zeropoint(x: ArrayLike, *, bits: int = 8, axis: int | None = None) -> Quantised:
    """Quantise the range from the smallest to the largest number, whose zero is a code of its own.

    It spends no code on a side that has no numbers: half the error of absmax where all are of one sign.

    Parameters
    ----------
    x : array of float
    bits : int
    axis : int, optional
        Numbers along it share a constant; all of them where it is None.

    Examples
    --------
    >>> ramp = [0.0, 1.0, 2.0, 3.0]
    >>> zeropoint(ramp, bits=2).dequantised(), absmax(ramp, bits=2).dequantised()
    (array([0. , 1.5, 1.5, 3. ]), array([0., 0., 3., 3.]))
    """
    values = checked(x)
    top = levels(bits)
    low, high = (end.astype(np.float64) for end in _shared(values, axis))
    scale = high / (2 * top) - low / (2 * top)  # divided first: the range of large numbers may overflow
    flat = scale == 0
    scale[flat] = np.maximum(np.abs(low[flat]) / top, 0.0)
    scale[scale == 0] = 1.0
    zero = np.where(flat, 0.0, np.rint(-top - low / scale))
    # far from 0 the quotients need all the digits there are
    kind = np.float64 if np.abs(zero).max() > 2**16 else values.dtype
    codes = values / scale.astype(kind)
    np.rint(codes, out=codes)
    codes += zero.astype(kind)
    np.clip(codes, -top, top, out=codes)
    return Quantised(codes=_stored(codes, bits), scale=scale.astype(kind), zero=zero, bits=int(bits))


def decompose(
    x: ArrayLike, *, bits: int = 8, threshold: float = THRESHOLD, zero_point: bool = False, row_wise: bool = True
) -> Decomposed:
    """Quantise hidden states row by row, except for the columns with an outlier, which stay in 16 bits.

    Parameters
    ----------
    x : array of float
        Hidden states: (token, feature).
    bits : int
    threshold : float
        A column with a magnitude of at least this is an outlier feature.
    zero_point : bool
        Zeropoint instead of absmax.
    row_wise : bool
        One constant a token, else one for all.

    Raises
    ------
    UsageError
        Where an outlier does not fit 16 bits, with both.

    Examples
    --------
    >>> split = decompose([[0.5, -40.0, 1.0], [0.25, -44.0, -1.0]])
    >>> split.columns, split.kept.ravel(), split.rest.codes[:, 1]
    (array([1]), array([-40., -44.], dtype=float16), array([0, 0], dtype=int8))
    """
    values = checked(x, ndim=2)
    if not threshold > 0:
        raise UsageError(f"threshold: expected a magnitude above 0, got {threshold:g}")
    largest = np.maximum(-values.min(axis=0), values.max(axis=0))
    if largest.max() > LARGEST_HALF:
        raise UsageError(
            f"column {int(largest.argmax())} reaches {largest.max():.4g}: a 16-bit float holds at most {LARGEST_HALF:g}"
        )
    columns = np.flatnonzero(largest >= threshold)
    rest = values.copy() if len(columns) else values
    rest[:, columns] = 0.0
    quantise = zeropoint if zero_point else absmax
    return Decomposed(
        columns=columns,
        kept=values[:, columns].astype(np.float16),
        rest=quantise(rest, bits=bits, axis=1 if row_wise else None),
    )
