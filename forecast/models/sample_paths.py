"""Paths that somebody drew elsewhere, as a model: each world follows one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from forecast.base.arrays import Array
from forecast.contract.specs import Input
from forecast.errors import UnknownNameError, UsageError
from forecast.models.protocol import Description, Model, Unfitted

if TYPE_CHECKING:
    from forecast.base.streams import Streams

_INTERPOLATIONS = ("linear", "log", "step")


def paths_model(years: Array, values: Array, *, unit: str, name: str, between: str = "linear") -> Model:
    """Make a model of paths.

    Parameters
    ----------
    years : ndarray
        Decimal years, increasing, (time,). Before the first the first value holds, after the last the last.
    values : ndarray
        (time, path).
    unit, name : str
    between : {"linear", "log", "step"}

    Raises
    ------
    UsageError

    Examples
    --------
    >>> made = paths_model(np.array([2025.0, 2030.0]), np.array([[1.0, 2.0], [3.0, 4.0]]), unit="FLOP", name="mine")
    >>> made.describe().summary
    '2 given paths from 2025 to 2030'
    """
    if between not in _INTERPOLATIONS:
        raise UnknownNameError("word", between, _INTERPOLATIONS, where=f"path '{name}': between")
    if not (np.diff(years) > 0).all() or not np.isfinite(values).all() or not values.size:
        raise UsageError(f"path '{name}': expected times that increase, and finite numbers")
    if between == "log" and (values <= 0).any():
        raise UsageError(f"path '{name}': expected values above 0 where a logarithm is taken")
    row = Input(name="row", unit="", distribution={"uniform": [0, 1]}, source="which of the given paths holds")
    return _SamplePaths(name=name, unit=unit, inputs={"row": row}, years=years, values=values, between=between)


@dataclass(frozen=True, kw_only=True, eq=False)
class _SamplePaths(Unfitted):
    years: Array = field(repr=False)
    values: Array = field(repr=False)
    between: str

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        paths = self.values.shape[1]
        row = np.minimum((inputs["row"] * paths).astype(np.intp), paths - 1)
        before = np.clip(np.searchsorted(self.years, time, side="right") - 1, 0, len(self.years) - 1)
        after = np.minimum(before + 1, len(self.years) - 1)
        width = np.where(after > before, self.years[after] - self.years[before], 1.0)
        share = np.clip((time - self.years[before]) / width, 0.0, 1.0)[:, None]
        if self.between == "step":
            share = np.zeros_like(share)
        values = np.log(self.values) if self.between == "log" else self.values
        between = values[before][:, row] * (1 - share) + values[after][:, row] * share
        return np.asarray(np.exp(between) if self.between == "log" else between)

    def describe(self) -> Description:
        first, last = self.years[0], self.years[-1]
        return Description(summary=f"{self.values.shape[1]} given paths from {first:.10g} to {last:.10g}")
