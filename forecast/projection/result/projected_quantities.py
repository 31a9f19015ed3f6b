"""A quantity of a projection: its levels over time, from the worlds that are stored or from the counts of all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forecast.base.lazy import xr
from forecast.projection.likelihood_weights import broadcast_to_weights, select, value_quantiles, weighted_share
from forecast.projection.result.combinations import combination_places

if TYPE_CHECKING:
    from forecast.projection.result.projection import Projection

__all__ = ["RETURNS_ATTRIBUTE", "ProjectedQuantity"]

#: The attribute of what is stored at its ends alone, is the same number at both in all worlds, and moves between them.
RETURNS_ATTRIBUTE = "returns"


class ProjectedQuantity:
    """A quantity in every world and at every step, along the choices on which it or its worlds' weights depend.

    Parameters
    ----------
    run : Projection
    name : str
    """

    def __init__(self, run: Projection, name: str) -> None:
        self._run, self.name = run, name
        self._variable = run.worlds.variables[name]
        self._quantiles: dict[tuple[tuple[str, str], ...], NDArray[np.float64]] = {}

    @cached_property
    def worlds(self) -> xr.DataArray:
        """Its levels in the stored worlds, (time, draw, choices)."""
        return self._run.worlds[self.name]

    @cached_property
    def _counted(self) -> xr.DataArray | None:
        """Its quantiles over all worlds, where these are more than those stored."""
        return self._run.dataset("levels")[self.name] if "levels" in self._run else None

    @property
    def unit(self) -> str:
        """The unit; empty for a plain number."""
        return str(self._variable.attrs["units"])

    @property
    def kind(self) -> str:
        """What it is made as: ``model``, ``expression``, ``prior``, ``regime``, ..."""
        return str(self._variable.attrs["kind"])

    @property
    def label(self) -> str:
        """What it is called for people: its label, or its name."""
        return self._run.labels.get(self.name, self.name)

    @cached_property
    def fixed(self) -> float | None:
        """The number that it is in all worlds and at all steps; None where it is not one."""
        values = self._variable.values
        if values.dtype.kind != "f" or not values.size or RETURNS_ATTRIBUTE in self._variable.attrs:
            return None
        first = values.flat[0]
        return float(first) if values.flat[-1] == first and (values == first).all() else None

    @cached_property
    def _along(self) -> xr.DataArray:
        return broadcast_to_weights(self.worlds, self._run.weights) if self._counted is None else self._counted

    @cached_property
    def cells(self) -> list[dict[str, str]]:
        """The combinations of choices under which it has levels of its own."""
        lead = ("time", "draw", "quantile", f"{self.name}_label")
        return [chosen for chosen, _ in combination_places(self._along, lead)]

    def quantiles(self, chosen: Mapping[str, str]) -> NDArray[np.float64]:
        """Return the 5, 25, 50, 75 and 95 % quantiles at every step, (quantile, time)."""
        key = tuple(sorted(chosen.items()))
        if key not in self._quantiles:
            drawn = self._along.sel(chosen)
            if self._counted is not None:
                levels = np.asarray(drawn.transpose("quantile", "time").values)
            else:
                weights = select(self._run.weights, dict(chosen))
                levels = value_quantiles(drawn.transpose("draw", "time").values, weights)
            self._quantiles[key] = levels
        return self._quantiles[key]

    def probabilities(self, chosen: Mapping[str, str]) -> dict[str, float]:
        """Return how likely each label of a regime is."""
        drawn = self._along.sel(chosen)
        labels = self.worlds.attrs["flag_meanings"].split()
        if self._counted is not None:
            return dict(zip(labels, map(float, drawn.values), strict=True))
        weights, codes = select(self._run.weights, dict(chosen)), drawn.isel(time=0).values
        return {label: float(weighted_share(codes == code, weights)) for code, label in enumerate(labels)}
