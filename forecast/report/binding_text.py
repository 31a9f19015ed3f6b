"""Which limits bind, as plain data and as one sentence each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.dates import decimal_year, from_decimal_year
from forecast.base.lazy import xr
from forecast.projection.crossing import QUANTILES, weighted_quantiles
from forecast.projection.weights import select, weighted_share, weights_of
from forecast.report.plain_data import attribute, combinations, iso, numbers

__all__ = ["limits", "sentence"]


def limits(tree: xr.DataTree) -> list[dict[str, Any]]:
    """Return where and when the limits of quantities bind, in every combination of choices.

    A limit binds where it takes more than 1 % off what the quantity would be without it.

    Returns
    -------
    list of dict
        ``name``, ``bound`` (``limit`` or ``at_least``), ``expression``, ``how`` (of a limit), ``choices``, ``time``
        (ISO dates), ``binds`` (the share of worlds at each of them), ``ever`` (the share in which it binds at all), and
        ``first``: when it first does, ISO dates ``p05`` to ``p95`` among those worlds, None where there are none.
    """
    if "limits" not in tree:
        return []
    out, levels, weights = [], tree["projection"].to_dataset(), weights_of(tree)
    for name, stated in attribute(tree, "limits").items():
        if not {"limit", "at_least"} & set(stated):  # what only keeps a promise
            continue
        data = tree["limits"][name].to_dataset()
        stamps = [iso(t) for t in data["time"].values]
        for bound in (part for part in ("limit", "at_least") if part in stated):
            for chosen, shares in combinations(data[bound], ("time",)):
                ever, first = (
                    _counted(data, bound, chosen)
                    if f"{bound}_ever" in data
                    else _drawn(data, levels[name], bound, chosen, weights)
                )
                failed = bool(np.isnan(shares.values).any())
                out.append(
                    {
                        "name": name,
                        "bound": bound,
                        "expression": stated[bound],
                        **({"how": stated["how"]} if bound == "limit" else {}),
                        "choices": chosen,
                        "time": stamps,
                        "binds": numbers(shares.values),
                        "ever": None if failed else ever,
                        "first": dict(zip(QUANTILES, first, strict=True)),
                    }
                )
    return out


def _counted(data: xr.Dataset, bound: str, chosen: dict[str, str]) -> tuple[float, list[str | None]]:
    """Return in how many of the counted worlds a bound binds at all, and when it first does."""
    return float(data[f"{bound}_ever"].sel(chosen)), [iso(stamp) for stamp in data[f"{bound}_first"].sel(chosen).values]


def _drawn(
    data: xr.Dataset, levels: xr.DataArray, bound: str, chosen: dict[str, str], weights: xr.DataArray | None
) -> tuple[float, list[str | None]]:
    """Return the same from all worlds."""
    dates = data[f"{bound}_date"].sel(chosen).values
    counts, ever = select(weights, chosen), ~np.isnat(dates)
    among = np.full(ever.sum(), 1.0) if counts is None else counts[ever]
    first: list[str | None] = [None] * len(QUANTILES)
    if among.sum() > 0:
        years = weighted_quantiles(decimal_year(dates[ever]), among, list(QUANTILES.values()))
        first = [iso(stamp) for stamp in from_decimal_year(years)]
    return float(weighted_share(ever, counts, _failing(levels, chosen))), first


def _failing(levels: xr.DataArray, chosen: dict[str, str]) -> NDArray[np.bool_]:
    """Tell in which worlds a quantity fails."""
    at_first = levels.isel(time=0)
    return np.asarray(at_first.sel({d: v for d, v in chosen.items() if d in at_first.dims}).isnull().values)


def sentence(row: dict[str, Any]) -> str:
    """Say of one limit in how many worlds it binds, and when it first does.

    Examples
    --------
    >>> sentence({"name": "spend", "bound": "limit", "choices": {}, "time": ["2025-01-01", "2050-01-01"], "ever": 0.43,
    ...           "first": {"p50": "2034-05-01"}})
    'limit of spend binds by 2050 in 43 % of worlds, first in 2034 (median)'
    """
    given = ", ".join(f"{choice} = {value}" for choice, value in row["choices"].items())
    what = f"{'limit' if row['bound'] == 'limit' else 'floor'} of {row['name']}{f' ({given})' if given else ''}"
    last = row["time"][-1][:4]
    if row["ever"] is None:
        return f"{what}: failed"
    if not row["ever"]:
        return f"{what} does not bind by {last}"
    return f"{what} binds by {last} in {100 * row['ever']:.0f} % of worlds, first in {row['first']['p50'][:4]} (median)"
