"""Quantiles of levels: of all worlds, from those that are kept or from the counts of a projection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.lazy import xr
from forecast.projection.weights import broadcast_to_weights, select, value_quantiles, weighted_share, weights_of
from forecast.report.plain_data import combinations

__all__ = ["ValueQuantiles"]


class ValueQuantiles:
    """The levels of every quantity of a projection, along the choices on which they or their worlds' weights depend.

    Parameters
    ----------
    tree : xarray.DataTree
    """

    def __init__(self, tree: xr.DataTree) -> None:
        self.kept = tree["projection"].to_dataset()
        self._counted = tree["levels"].to_dataset() if "levels" in tree else None
        self._weights = weights_of(tree)
        self._spread: dict[str, xr.DataArray] = {}

    def _along(self, name: str) -> xr.DataArray:
        if self._counted is not None:
            return self._counted[name]
        if name not in self._spread:
            self._spread[name] = broadcast_to_weights(self.kept[name], self._weights)
        return self._spread[name]

    def names(self, *, regimes: bool = False) -> list[str]:
        """Return the quantities that have a level, or those that are regimes."""
        return [
            str(name) for name, values in self.kept.data_vars.items() if (values.attrs["kind"] == "regime") == regimes
        ]

    def cells(self, name: str) -> list[dict[str, str]]:
        """Return the combinations of choices under which a quantity has levels of its own."""
        data = self._along(name)
        lead = tuple(str(d) for d in data.dims if d in ("time", "draw", "quantile", f"{name}_label"))
        return [chosen for chosen, _ in combinations(data, lead)]

    def quantiles(self, name: str, chosen: Mapping[str, str]) -> NDArray[np.float64]:
        """Return the five quantiles at every step, (quantile, time)."""
        drawn = self._along(name).sel(chosen)
        if self._counted is not None:
            return np.asarray(drawn.transpose("quantile", "time").values)
        return value_quantiles(drawn.transpose("draw", "time").values, select(self._weights, dict(chosen)))

    def shares(self, name: str, chosen: Mapping[str, str]) -> dict[str, float]:
        """Return how likely each label of a regime is."""
        drawn: Any = self._along(name).sel(chosen)
        labels = self.kept[name].attrs["flag_meanings"].split()
        if self._counted is not None:
            return dict(zip(labels, map(float, drawn.values), strict=True))
        counts = select(self._weights, dict(chosen))
        codes = drawn.isel(time=0).values
        return {label: float(weighted_share(codes == code, counts)) for code, label in enumerate(labels)}
