"""A quantity of a projection: its levels over time, from the worlds that are stored or from the counts of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forecast.base.dates import decimal_year, from_decimal_year
from forecast.base.lazy import xr
from forecast.base.notebook_html import HtmlText
from forecast.base.quantiles import QUANTILE_NAMES, QUANTILES
from forecast.projection.crossing import weighted_quantiles
from forecast.projection.likelihood_weights import broadcast_to_weights, select, value_quantiles, weighted_share
from forecast.projection.result.combinations import combination_places, combinations, iso

if TYPE_CHECKING:
    from forecast.projection.result.projection import Projection

#: The attribute of what is stored at its ends alone, is the same number at both in all worlds, and moves between them.
RETURNS_ATTRIBUTE = "returns"


class ProjectedQuantity(HtmlText):
    """A quantity in every world and at every step, along the choices on which it or its worlds' weights depend.

    Parameters
    ----------
    name, label : str
        What it is called for people is its label, or its name.
    worlds : xarray.Dataset
        Every quantity in the stored worlds.
    levels : xarray.Dataset, optional
        The quantiles of every quantity over all worlds, where these are more than those stored.
    weights : xarray.DataArray, optional
        What the stored worlds count; all alike by default.
    """

    def __init__(
        self, name: str, label: str, worlds: xr.Dataset, levels: xr.Dataset | None, weights: xr.DataArray | None
    ) -> None:
        self.name, self.label = name, label
        self._stored, self._levels, self._weights = worlds, levels, weights
        self._variable = worlds.variables[name]
        self._quantiles: dict[tuple[tuple[str, str], ...], NDArray[np.float64]] = {}

    def __repr__(self) -> str:
        """Return its name, label, unit and dimensions."""
        return f"Quantity {self.name} [{self.unit}]: {self.label} ({', '.join(map(str, self.worlds.dims))})"

    @cached_property
    def worlds(self) -> xr.DataArray:
        """Its levels in the stored worlds, (time, draw, choices)."""
        return self._stored[self.name]

    @cached_property
    def _counted(self) -> xr.DataArray | None:
        """Its quantiles over all worlds, where these are more than those stored."""
        return None if self._levels is None else self._levels[self.name]

    @property
    def unit(self) -> str:
        """The unit; empty for a plain number."""
        return str(self._variable.attrs["units"])

    @property
    def kind(self) -> str:
        """What it is made as: ``model``, ``expression``, ``prior``, ``regime``, ..."""
        return str(self._variable.attrs["kind"])

    @cached_property
    def fixed(self) -> float | None:
        """The number that it is in all worlds and at all steps; None where it is not one."""
        values = self._variable.values
        if values.dtype.kind != "f" or not values.size or RETURNS_ATTRIBUTE in self._variable.attrs:
            return None
        first = values.flat[0]
        return float(first) if values.flat[-1] == first and (values == first).all() else None

    @cached_property
    def still(self) -> bool:
        """Whether it is in every world the same at all steps."""
        if "time" not in self._variable.dims:
            return True
        values = self._variable.transpose("time", ...).values
        if RETURNS_ATTRIBUTE in self._variable.attrs or not np.array_equal(values[0], values[-1], equal_nan=True):
            return False
        return np.array_equal(values, np.broadcast_to(values[:1], values.shape), equal_nan=True)

    @cached_property
    def _along(self) -> xr.DataArray:
        return broadcast_to_weights(self.worlds, self._weights) if self._counted is None else self._counted

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
                weights = select(self._weights, dict(chosen))
                levels = value_quantiles(drawn.transpose("draw", "time").values, weights)
            self._quantiles[key] = levels
        return self._quantiles[key]

    def probabilities(self, chosen: Mapping[str, str]) -> dict[str, float]:
        """Return how likely each label of a regime is."""
        drawn = self._along.sel(chosen)
        labels = self.worlds.attrs["flag_meanings"].split()
        if self._counted is not None:
            return dict(zip(labels, map(float, drawn.values), strict=True))
        weights, codes = select(self._weights, dict(chosen)), drawn.isel(time=0).values
        return {label: float(weighted_share(codes == code, weights)) for code, label in enumerate(labels)}


# --- Limits -----------------------------------------------------------------------------------------------------------
# Where and when a limit of a quantity binds.


@dataclass(frozen=True, kw_only=True, eq=False)
class ProjectedLimit:
    """A limit of a quantity under one combination of choices.

    It binds where it takes more than 1 % off what the quantity would be without it.

    Parameters
    ----------
    name : str
        The quantity.
    bound : {"limit", "at_least"}
    expression : str
    how : str
        How a limit binds; empty of `at_least`.
    choices : dict of str to str
    probability : ndarray
        Of binding, at each step; NaN where it failed.
    ever : float or None
        The probability that it binds at all; None where it failed.
    first : dict of str to str
        When it first binds, ISO dates ``p05`` to ``p95`` among the worlds in which it does; None where there are none.
    """

    name: str
    bound: str
    expression: str
    how: str
    choices: dict[str, str]
    probability: NDArray[np.float64]
    ever: float | None
    first: dict[str, str | None]


def projected_limits(run: Projection) -> Iterator[ProjectedLimit]:
    """Walk the limits of a projection, in every combination of choices."""
    for name, own in run.constraints.items():
        if name not in run.worlds:  # it was left out: nothing was known of it
            continue
        for bound in (part for part in ("limit", "at_least") if part in own):
            data = run.dataset(f"limits/{name}")
            for chosen, shares in combinations(data[bound], ("time",)):
                if f"{bound}_ever" in data:
                    ever = float(data[f"{bound}_ever"].sel(chosen))
                    first = [iso(stamp) for stamp in data[f"{bound}_first"].sel(chosen).values]
                else:
                    ever, first = _from_draws(run, data, name, bound, chosen)
                yield ProjectedLimit(
                    name=name,
                    bound=bound,
                    expression=own[bound],
                    how=own["how"] if bound == "limit" else "",
                    choices=chosen,
                    probability=shares.values,
                    ever=None if np.isnan(shares.values).any() else ever,
                    first=dict(zip(QUANTILE_NAMES, first, strict=True)),
                )


def _from_draws(
    run: Projection, data: xr.Dataset, name: str, bound: str, chosen: dict[str, str]
) -> tuple[float, list[str | None]]:
    """Return in how many worlds a bound binds at all, and when it first does in these."""
    dates = data[f"{bound}_date"].sel(chosen).values
    weights, ever = select(run.weights, chosen), ~np.isnat(dates)
    own = np.full(ever.sum(), 1.0) if weights is None else weights[ever]
    first: list[str | None] = [None] * len(QUANTILES)
    if own.sum() > 0:
        years = weighted_quantiles(decimal_year(dates[ever]), own, QUANTILES)
        first = [iso(stamp) for stamp in from_decimal_year(years)]
    at_first = run.worlds[name].isel(time=0)
    failing = at_first.sel({d: v for d, v in chosen.items() if d in at_first.dims}).isnull().values
    return float(weighted_share(ever, weights, np.asarray(failing))), first
