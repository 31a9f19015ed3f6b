"""The combinations of choices along which an array extends, and parts of arrays as plain data."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from forecast.base.lazy import xr


def combinations(data: xr.DataArray, over: tuple[str, ...]) -> Iterator[tuple[dict[str, str], xr.DataArray]]:
    """Walk the combinations of the choices along which `data` extends, the dimensions `over` left whole."""
    for chosen, place in combination_places(data, over):
        yield chosen, data.isel(dict(zip(chosen, place, strict=True)))


def combination_places(
    data: xr.DataArray, over: tuple[str, ...] = ()
) -> Iterator[tuple[dict[str, str], tuple[int, ...]]]:
    """Walk the same combinations, each with its place along these choices."""
    dims = [str(d) for d in data.dims if d not in over]
    values = [data[d].values.tolist() for d in dims]
    for place in itertools.product(*(range(len(each)) for each in values)):
        yield {d: each[i] for d, each, i in zip(dims, values, place, strict=True)}, place


def iso(date: Any) -> str | None:
    """Return a date as text; None for a missing one."""
    return None if np.isnat(date) else str(np.datetime64(date, "D"))


def finite_or_none(values: Any) -> list[float | None]:
    """Return numbers for JSON; None where one is not finite."""
    return [float(v) if np.isfinite(v) else None for v in values]
