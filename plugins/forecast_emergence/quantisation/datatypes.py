"""Data types of few bits for weights: NormalFloat, small floats and integers, in blocks with a constant each.

A data type is a *codebook*: the numbers it has, sorted, from -1 to 1. A block of weights is divided by its largest
magnitude, and each weight is replaced by the nearest entry.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from forecast.errors import UnknownNameError, UsageError
from forecast_emergence.quantisation.primitives import Array, checked, levels

__all__ = ["BLOCK", "TYPES", "Blocks", "codebook", "floating", "integer", "normal_float", "quantise_blocks"]

#: Weights that share a constant, and constants that share one under double quantisation (QLoRA, section 3).
BLOCK, SECOND_BLOCK = 64, 256
#: Data types by name; other widths are `integer`, `floating` and `normal_float` with arguments.
TYPES = ("nf4", "fp4-e2m1", "fp4-e3m0", "int4")


def integer(bits: int = 4) -> Array:
    """Return evenly spaced numbers, symmetric about 0.

    Examples
    --------
    >>> integer(3).round(2)
    array([-1.  , -0.67, -0.33,  0.  ,  0.33,  0.67,  1.  ])
    """
    top = levels(bits)
    return np.arange(-top, top + 1) / top


def floating(exponent: int = 2, mantissa: int = 1) -> Array:
    """Return small floats with a sign, subnormal numbers, and neither infinities nor NaN, over the largest of them.

    Parameters
    ----------
    exponent, mantissa : int
        Bits of each; the bias does not matter, as the largest number becomes 1. E2M1 is that of the OCP microscaling
        formats (from memory); QLoRA names E2M1 and E3M0 and prints no values.

    Examples
    --------
    E2M1 is 0, 0.5, 1, 1.5, 2, 3, 4, 6 with both signs; E3M0 is 0 and the powers of two from 2**-2 to 2**4:

    >>> floating(2, 1)[7:] * 6
    array([0. , 0.5, 1. , 1.5, 2. , 3. , 4. , 6. ])
    >>> floating(3, 0)[7:] * 16
    array([ 0.  ,  0.25,  0.5 ,  1.  ,  2.  ,  4.  ,  8.  , 16.  ])
    """
    if not (1 <= exponent <= 5 and 0 <= mantissa <= 10):
        raise UsageError(f"a float of {exponent} bits of exponent (1 to 5) and {mantissa} of mantissa (0 to 10)")
    fraction = np.arange(2**mantissa) / 2**mantissa
    powers = 2.0 ** np.arange(1, 2**exponent)
    positive = np.concatenate([2.0 * fraction, np.outer(powers, 1.0 + fraction).ravel()])
    return np.asarray(np.unique(np.concatenate([-positive, positive])) / positive.max())


def normal_float(bits: int = 4) -> Array:
    """Return quantiles of a normal distribution, with 0 exactly among them: NF4 is that of 4 bits.

    Each side has its own quantiles, evenly spaced in probability from a half to ``1 - (1/(2*15) + 1/(2*16))/2`` for 4
    bits: as far out as the outermost of 15 and 16 bins have their middles, on average. The positive side has one more.

    Examples
    --------
    >>> normal_float().round(3)
    array([-1.   , -0.696, -0.525, -0.395, -0.284, -0.185, -0.091,  0.   ,
            0.08 ,  0.161,  0.246,  0.338,  0.441,  0.563,  0.723,  1.   ])
    """
    from scipy.special import ndtri

    levels(bits)
    half = 2 ** (bits - 1)
    outermost = 1.0 - (1.0 / (4 * half - 2) + 1.0 / (4 * half)) / 2.0
    positive = ndtri(np.linspace(outermost, 0.5, half + 1)[:-1])
    negative = -ndtri(np.linspace(outermost, 0.5, half)[:-1])
    values = np.sort(np.concatenate([negative, [0.0], positive]))
    return np.asarray(values / values.max())


def codebook(name: str) -> Array:
    """Return a data type by name, one of `TYPES`.

    Examples
    --------
    >>> [len(codebook(name)) for name in TYPES]
    [16, 15, 15, 15]
    """
    result = {
        "nf4": lambda: normal_float(4),
        "fp4-e2m1": lambda: floating(2, 1),
        "fp4-e3m0": lambda: floating(3, 0),
        "int4": lambda: integer(4),
    }
    if name not in result:
        raise UnknownNameError("data type", name, result)
    return result[name]()


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Weights as entries of a codebook, in blocks.

    Parameters
    ----------
    codes : array of int
        (block, place); the last block is filled up with zeros.
    book : array
    constants : array
        One for each block, as it is after it was itself quantised, where it was.
    shape : tuple of int
    double : bool
    """

    codes: Array
    book: Array
    constants: Array
    shape: tuple[int, ...]
    double: bool

    def dequantised(self) -> Array:
        """Return the weights that are left.

        Examples
        --------
        >>> quantise_blocks([0.9, 0.1, -1.8], "int4").dequantised().round(2)
        array([ 0.77,  0.  , -1.8 ])
        """
        values = self.book[self.codes] * self.constants[:, None]
        return np.asarray(values.ravel()[: int(np.prod(self.shape))].reshape(self.shape))

    @property
    def bits_per_weight(self) -> float:
        """Bits a weight of full blocks, with their constants: 32 bits each, or 8 and a share of a second one.

        Examples
        --------
        >>> w = np.ones(4096)
        >>> [round(quantise_blocks(w, double=double).bits_per_weight, 3) for double in (False, True)]
        [4.5, 4.127]
        """
        block = self.codes.shape[1]
        constant = 8 / block + 32 / (block * SECOND_BLOCK) if self.double else 32 / block
        return float(np.ceil(np.log2(len(self.book))) + constant)


def _nearest_codes(values: Array, book: Array) -> Array:
    """Return the place of the nearest entry; a number halfway takes the smaller one."""
    middles = ((book[1:] + book[:-1]) / 2).astype(values.dtype)
    return np.searchsorted(middles, values).astype(np.uint8 if len(book) <= 256 else np.uint16)


def _split_blocks(values: Array, block: int) -> tuple[Array, Array]:
    padded = np.zeros(-(-values.size // block) * block, dtype=values.dtype)
    padded[: values.size] = values.ravel()
    rows = padded.reshape(-1, block)
    constants = np.maximum(-rows.min(axis=1), rows.max(axis=1))
    return rows, constants


def quantise_blocks(
    w: ArrayLike, data_type: str | ArrayLike = "nf4", *, block: int = BLOCK, double: bool = False
) -> Blocks:
    """Quantise weights in blocks.

    Parameters
    ----------
    w : array of float
    data_type : str or array
        One of `TYPES`, or a codebook.
    block : int
        Weights that share a constant.
    double : bool
        Quantise the constants too: 8-bit floats (E4M3, our choice) around their mean, 256 of them sharing a 32-bit one.

    Examples
    --------
    >>> w = np.random.default_rng(0).normal(size=(64, 64))
    >>> left = {name: quantise_blocks(w, name).dequantised() for name in TYPES}
    >>> min(left, key=lambda name: abs(left[name] - w).mean())
    'nf4'
    """
    values = checked(w, "w")
    if isinstance(block, bool) or not isinstance(block, (int, np.integer)) or block < 1:
        raise UsageError(f"block: expected a whole number above 0, got {block!r}")
    book = codebook(data_type) if isinstance(data_type, str) else checked(data_type, "data_type", ndim=1)
    if len(book) < 2 or (np.diff(book) <= 0).any() or np.abs(book).max() > 1:
        raise UsageError("data_type: expected two or more rising numbers from -1 to 1")
    rows, constants = _split_blocks(values, int(block))
    if double:
        middle = constants.mean()
        second, largest = _split_blocks(constants - middle, SECOND_BLOCK)
        small = floating(4, 3)
        kept = small[_nearest_codes(second / np.where(largest == 0, 1, largest)[:, None], small)] * largest[:, None]
        constants = np.maximum(kept.ravel()[: len(constants)] + middle, 0.0).astype(values.dtype)
    scaled = rows / np.where(constants == 0, 1, constants)[:, None]
    return Blocks(
        codes=_nearest_codes(scaled, book),
        book=book.astype(values.dtype),
        constants=constants,
        shape=values.shape,
        double=double,
    )
