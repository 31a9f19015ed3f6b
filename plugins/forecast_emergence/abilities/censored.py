"""Thresholds that are known only to lie between two sizes: a bracket for one, a likelihood for many.

A table of "emerges at 175B" says no more than that the next smaller model did not show it. For one feature that is a
bracket. For many abilities the logarithms of the thresholds are taken as normal, some never emerge, and each ability
adds the probability of its own interval: Φ(b) − Φ(a) for one that was bracketed, and what lies above plus *none* for
one that no model has shown. Priors: flat in the middle, flat in the log of the width from 0.1 to 3 decades, uniform in
the share of none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from forecast.errors import DataError, EmptyDataError, UsageError

__all__ = ["Thresholds", "bracket", "thresholds"]

#: Points of the grid: middle, width, share of none.
_GRID_SIZES = (81, 41, 41)
_WIDTHS = (0.1, 3.0)


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """What censored thresholds say; sizes as (5 %, 50 %, 95 %).

    Parameters
    ----------
    n, bracketed, above : int
        Abilities, those with an interval of two finite ends, and those that no model has shown.
    middle : tuple of float
        The middle of the thresholds that exist.
    following : tuple of float
        The threshold of one more ability of this kind; inf inside the mass of none.
    none : float
        The probability that one more ability never emerges.
    width : tuple of float
        Standard deviation of the thresholds, in decades.
    """

    n: int
    bracketed: int
    above: int
    middle: tuple[float, float, float]
    following: tuple[float, float, float]
    none: float
    width: tuple[float, float, float]


def bracket(size: Any, reached: Any, *, what: str = "the feature") -> tuple[float, float]:
    """Return the largest size without and the smallest size with a feature.

    Parameters
    ----------
    size : array of float
    reached : array of bool
    what : str
        For messages.

    Returns
    -------
    (float, float)
        0 where the smallest model has it, inf where none has.

    Raises
    ------
    DataError
        Where a larger model lacks what a smaller one has: there is then no one threshold. Both are named.

    Examples
    --------
    >>> bracket([1e9, 3e9, 7e9, 13e9], [False, False, True, True])
    (3000000000.0, 7000000000.0)
    >>> bracket([1e9, 3e9], [True, False], what="rotation")
    Traceback (most recent call last):
    ...
    forecast.errors.DataError: rotation is there at 1e+09 and not at 3e+09: no one threshold parts them
    """
    sizes, has = np.asarray(size, dtype=float), np.asarray(reached, dtype=bool)
    if sizes.shape != has.shape or sizes.ndim != 1:
        raise UsageError(f"{what}: expected as many sizes as answers, got {sizes.shape} and {has.shape}")
    if not sizes.size:
        raise EmptyDataError(f"{what}: no size is given")
    _positive(sizes, what)
    low = float(sizes[~has].max()) if (~has).any() else 0.0
    high = float(sizes[has].min()) if has.any() else float("inf")
    if high <= low:
        raise DataError(f"{what} is there at {high:g} and not at {low:g}: no one threshold parts them")
    return low, high


def _positive(sizes: Any, what: str) -> None:
    """Refuse a size that is none; 0 or nan as a low end, and inf as a high one, are told before."""
    wrong = np.flatnonzero(~(sizes > 0))
    if wrong.size:
        raise DataError(f"{what}: row {wrong[0] + 1}: expected a size above 0, got {sizes[wrong[0]]:g}")


def thresholds(low: Sequence[float] | Any, high: Sequence[float] | Any) -> Thresholds:
    """Return what interval-censored thresholds say together.

    Parameters
    ----------
    low : array of float
        The largest size without the ability; 0 or nan where none is known.
    high : array of float
        The smallest size with it; inf where no model has shown it.

    Raises
    ------
    DataError
        Naming a row whose two ends do not leave room between them.

    Examples
    --------
    >>> found = thresholds([1e9, 1e9, 1e10, 1e10], [1e10, 1e10, 1e11, float("inf")])
    >>> found.bracketed, found.above, 0 < found.none < 1, 1e9 < found.middle[1] < 1e11
    (3, 1, True, True)
    """
    from scipy.special import ndtr

    ends = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    if ends[0].shape != ends[1].shape or ends[0].ndim != 1:
        raise UsageError(f"thresholds: expected as many low as high ends, got {ends[0].shape} and {ends[1].shape}")
    if not ends[0].size:
        raise EmptyDataError("thresholds: no interval is given")
    below = np.nan_to_num(ends[0], nan=0.0, posinf=np.inf)
    _positive(np.where(below == 0.0, 1.0, below), "thresholds")
    _positive(ends[1], "thresholds")
    for row, (a, b) in enumerate(zip(below, ends[1], strict=True), start=1):
        if not b > a:
            raise DataError(
                f"thresholds: row {row}: absent at {a:g} and there at {b:g}: no threshold lies between them"
            )
    with np.errstate(divide="ignore"):
        lows, highs = np.log10(below), np.log10(ends[1])
    seen = np.concatenate([lows[np.isfinite(lows)], highs[np.isfinite(highs)]])
    if not seen.size:
        raise EmptyDataError("thresholds: no interval has an end")
    mu = np.linspace(seen.min() - 3.0, seen.max() + 3.0, _GRID_SIZES[0])[:, None, None]
    sigma = np.geomspace(*_WIDTHS, _GRID_SIZES[1])[None, :, None]
    none = ((np.arange(_GRID_SIZES[2]) + 0.5) / _GRID_SIZES[2])[None, None, :]
    log = np.zeros(_GRID_SIZES)
    for a, b in zip(lows, highs, strict=True):
        inside = ndtr((b - mu) / sigma) - ndtr((a - mu) / sigma)
        chance = (1 - none) * inside + (none if np.isinf(b) else 0.0)
        log += np.log(np.maximum(chance, 1e-300))
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    levels = np.linspace(seen.min() - 8, seen.max() + 8, 1201)
    shape = weight.sum(axis=2) / weight.sum()
    emerges = (weight * (1 - none)).sum(axis=2)
    spread = ndtr((levels[:, None, None] - mu[None, :, :, 0]) / sigma[None, :, :, 0])
    reached = np.einsum("lij,ij->l", spread, emerges)
    return Thresholds(
        n=int(lows.size),
        bracketed=int((np.isfinite(lows) & np.isfinite(highs)).sum()),
        above=int(np.isinf(highs).sum()),
        middle=_three(10.0 ** mu[:, 0, 0], shape.sum(axis=1)),
        following=tuple(  # type: ignore[arg-type]
            float(10.0 ** np.interp(q, reached, levels)) if q < reached[-1] else float("inf") for q in (0.05, 0.5, 0.95)
        ),
        none=float((weight * none).sum()),
        width=_three(sigma[0, :, 0], shape.sum(axis=0)),
    )


def _three(values: Any, weight: Any) -> tuple[float, float, float]:
    """Return the 5, 50 and 95 % points of weights on a grid."""
    summed = np.cumsum(weight) - 0.5 * weight
    found = np.exp(np.interp([0.05, 0.5, 0.95], summed / summed[-1], np.log(values)))
    return float(found[0]), float(found[1]), float(found[2])
