"""Rivals pooled: in every world one of them holds, drawn with their stated weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forecast.base.streams import BLOCK, Streams

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr
    from numpy.typing import NDArray

__all__ = ["held_by_worlds", "pooled"]


def held_by_worlds(choice: str, weights: Sequence[float], *, seed: int, worlds: int) -> NDArray[np.int64]:
    """Return which rival of a choice holds in each world, by its place, (world,).

    Fewer worlds are the first of more, and no other quantity's draws depend on it.

    Examples
    --------
    >>> held_by_worlds("trend", [0.0, 1.0], seed=0, worlds=3).tolist()
    [1, 1, 1]
    """
    import numpy as np

    edges = np.cumsum(weights)[:-1]
    blocks = [Streams(seed, choice, block)("choice").random(BLOCK) for block in range(-(-worlds // BLOCK))]
    return np.searchsorted(edges, np.concatenate(blocks)[:worlds], side="right").astype(np.int64)


def pooled(values: xr.DataArray, weights: Mapping[str, Sequence[float]], *, seed: int) -> xr.DataArray:
    """Return values along ``draw`` and choices, with each choice that has weights drawn in every world.

    Parameters
    ----------
    values : xarray.DataArray
        With the dimension ``draw``.
    weights : mapping of str to sequence of float
        Of each choice that is pooled, in the order of its values; one that `values` do not have is left out.
    seed : int
        Of the projection.
    """
    import xarray as xr

    worlds = values.sizes["draw"]
    held: dict[str, Any] = {
        str(choice): xr.DataArray(held_by_worlds(choice, stated, seed=seed, worlds=worlds), dims="draw")
        for choice, stated in weights.items()
        if choice in values.dims
    }
    return values.isel(held).drop_vars([c for c in held if c in values.coords], errors="ignore") if held else values
