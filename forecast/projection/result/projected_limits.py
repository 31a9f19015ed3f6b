"""Where and when a limit of a quantity binds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forecast.base.dates import decimal_year, from_decimal_year
from forecast.base.lazy import xr
from forecast.base.quantiles import QUANTILE_NAMES, QUANTILES
from forecast.projection.crossing import weighted_quantiles
from forecast.projection.likelihood_weights import select, weighted_share
from forecast.projection.result.combinations import combinations, iso

if TYPE_CHECKING:
    from forecast.projection.result.projection import Projection

__all__ = ["ProjectedLimit", "projected_limits"]


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
                read = _from_counts if f"{bound}_ever" in data else _from_draws
                ever, first = read(run, data, name, bound, chosen)
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


def _from_counts(
    run: Projection, data: xr.Dataset, name: str, bound: str, chosen: dict[str, str]
) -> tuple[float, list[str | None]]:
    """Return in how many of the counted worlds a bound binds at all, and when it first does."""
    return float(data[f"{bound}_ever"].sel(chosen)), [iso(stamp) for stamp in data[f"{bound}_first"].sel(chosen).values]


def _from_draws(
    run: Projection, data: xr.Dataset, name: str, bound: str, chosen: dict[str, str]
) -> tuple[float, list[str | None]]:
    """Return the same from all worlds."""
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
