"""Numbers of many worlds in few bytes: ranks of assumptions, and codes between the ends of a range."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.uint8] | NDArray[np.uint16]


__all__ = ["EncodedRanks", "EncodedValues", "between", "encode_codes", "shorter", "to_base64"]

#: A number of at most so many values is chosen by its values, any other by a range.
MAX_DISTINCT_VALUES = 12
#: Quantiles by which a page says what a rank of an assumption is worth.
_N_QUANTILE_KNOTS = 101
#: Steps of ranks on a page: two a percent, so that a range of whole percents keeps just the worlds that lie in it.
_RANK_STEPS = 200


@dataclass(frozen=True, eq=False, kw_only=True)
class EncodedRanks:
    """An assumption: the rank of every world.

    Parameters
    ----------
    name : str
    ranks : ndarray of uint16
        (draw,): how many worlds have less; of a number of few values the place of its value among them.
    values : ndarray
        Those few values, or `_N_QUANTILE_KNOTS` quantiles.
    has_few_values : bool
        It has few values.
    """

    name: str
    ranks: NDArray[np.uint16]
    values: Array
    has_few_values: bool

    @classmethod
    def of(cls, name: str, draws: Array) -> EncodedRanks:
        """Rank the draws of a number."""
        several, place, count = np.unique(draws, return_inverse=True, return_counts=True)
        few = len(several) <= MAX_DISTINCT_VALUES
        ranks = place if few else (np.cumsum(count) - count)[place]
        values = several if few else np.quantile(draws, np.linspace(0, 1, _N_QUANTILE_KNOTS))
        return cls(name=name, ranks=ranks.astype(np.uint16), values=values, has_few_values=few)

    @property
    def codes(self) -> NDArray[np.uint8]:
        """The ranks in 8 bits: in steps of half a percent of the worlds, or the places of few values."""
        steps = self.ranks.astype(np.int64) * _RANK_STEPS // len(self.ranks)
        return (self.ranks if self.has_few_values else steps).astype(np.uint8)

    def kept(self, said: Sequence[int]) -> NDArray[np.bool_]:
        """Tell which worlds lie in a range, two shares in percent; or have one of some values, by their places."""
        if self.has_few_values:
            return np.isin(self.ranks, said)
        low, high = said
        ranks = self.ranks.astype(np.int64) * 100
        return (ranks >= low * len(ranks)) & (ranks < high * len(ranks))


@dataclass(frozen=True, eq=False, kw_only=True)
class EncodedValues:
    """What every world says, as codes between the ends of a range.

    Parameters
    ----------
    name : str
    kind : {"date", "value", "path"}
    dims : tuple of str
        The choices along which it extends.
    codes : ndarray
        (choices, draw), of paths (choices, time, draw). From 1: between the ends; 0: below; `top`: above or never; the
        next one: failed.
    low, high : ndarray
        The ends, as `codes` without worlds.
    log : bool
        They are logarithms.
    times : tuple of float
        The dates of a path.
    unit : str
    """

    name: str
    kind: str
    dims: tuple[str, ...]
    codes: Codes
    low: Array
    high: Array
    log: bool = False
    times: tuple[float, ...] = ()
    unit: str = ""

    @property
    def top(self) -> int:
        """The code above the range."""
        return int(np.iinfo(self.codes.dtype).max) - 1

    @classmethod
    def of(cls, values: Array, low: Array, high: Array, dtype: type[np.unsignedinteger], **about: Any) -> EncodedValues:
        """Write values, (..., draw), in codes between ends, (...)."""
        top = int(np.iinfo(dtype).max) - 1
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            width = np.where(high > low, high - low, 1.0)[..., None]
            place = np.floor((values - low[..., None]) / width * (top - 1))
            np.nan_to_num(place, copy=False, posinf=top, neginf=0.0)
        codes = (np.clip(place, 0, top - 2, out=place) + 1).astype(dtype)
        codes[values < low[..., None]] = 0
        codes[values > high[..., None]] = top
        codes[np.isnan(values)] = top + 1
        return cls(codes=codes, low=low, high=high, **about)

    def values(self) -> Array:
        """Return what the codes say: the middle of their step; the low end below it, infinity above the high one."""
        low, width = self.low[..., None], (self.high - self.low)[..., None]
        out = low + (self.codes.astype(float) - 0.5) / (self.top - 1) * width
        out = np.where(self.codes == 0, low, out)
        if self.log:
            out = np.exp(out)
        out = np.where(self.codes == self.top, np.inf, out)
        return np.asarray(np.where(self.codes > self.top, np.nan, out))


def between(values: Array, dtype: type[np.unsignedinteger], beyond: float, **about: Any) -> EncodedValues:
    """Write values, (..., draw), in codes between their own ends, of their logarithms where all are positive."""
    finite = np.isfinite(values)
    log = bool(finite.any() and (values[finite] > 0).all())
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log(values) if log else values
    if np.isfinite(values).all():
        low, high = np.quantile(values, [beyond, 1 - beyond], axis=-1)
        return EncodedValues.of(values, low, high, dtype, log=log, **about)
    low, high = np.zeros(values.shape[:-1]), np.zeros(values.shape[:-1])
    for index in itertools.product(*map(range, values.shape[:-1])):
        own = values[index][np.isfinite(values[index])]
        if len(own):
            low[index], high[index] = np.quantile(own, [beyond, 1 - beyond])
    return EncodedValues.of(values, low, high, dtype, log=log, **about)


def to_base64(codes: NDArray[Any]) -> str:
    """Return codes as base64 of little-endian bytes."""
    return base64.b64encode(codes.astype(codes.dtype.newbyteorder("<")).tobytes()).decode("ascii")


def encode_codes(each: EncodedValues) -> dict[str, Any]:
    """Return codes as plain data: those of equal cells once, with the place of each cell among them."""
    cells = np.ascontiguousarray(each.codes.reshape(-1, each.codes.shape[-1]))
    kept: dict[bytes, int] = {}
    places = [kept.setdefault(cell.tobytes(), len(kept)) for cell in cells]
    codes = cells[[places.index(place) for place in range(len(kept))]]
    ends = {"low": each.low.ravel().tolist(), "high": each.high.ravel().tolist()}
    more = {"log": each.log, "unit": each.unit} if each.kind != "date" else {}
    times = {"times": list(each.times)} if each.times else {}
    return {"dims": list(each.dims), "codes": to_base64(codes), "cells": places, **ends, **more, **times}


def shorter(record: Any) -> Any:
    """Return plain data with its numbers rounded to what codes of 16 bits can tell."""
    if isinstance(record, float):
        return float(f"{record:.7g}")
    if isinstance(record, dict):
        return {key: shorter(each) for key, each in record.items()}
    if isinstance(record, list):
        return [shorter(each) for each in record]
    return record
