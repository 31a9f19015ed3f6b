"""The rankings of a projection as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np

from forecast.base.lazy import xr
from forecast.projection.crossing import QUANTILES
from forecast.report.plain_data import attribute, combinations, numbers

__all__ = ["rankings"]


def rankings(tree: xr.DataTree) -> list[dict[str, Any]]:
    """Return every ranking in every combination of the other choices.

    Returns
    -------
    list of dict
        ``name``, ``title``, ``rank``, ``over``, ``best``, ``among`` (the conditions), ``unit``, ``choices``, and
        ``order``: best median first, each with its ``name``, the quantiles ``p05`` to ``p95``, the probability
        ``first`` of being the best, and ``among`` of taking part at all. Those that seldom take part come last; where
        the question says ``ordered``, only those that never do.
    """
    if "rankings" not in tree:
        return []
    data = tree["rankings"].to_dataset()
    out = []
    for name, asked in attribute(tree, "rankings").items():
        over = asked["over"]
        for chosen, levels in combinations(data[name], ("quantile", over)):
            first, among = (data[f"{name}_{part}"].sel(chosen).values for part in ("first", "among"))
            order = [
                {
                    "name": str(value),
                    **dict(zip(QUANTILES, numbers(levels.sel({over: value}).values), strict=True)),
                    "first": float(first[i]),
                    "among": float(among[i]),
                }
                for i, value in enumerate(data[over].values.tolist())
            ]
            least = np.nextafter(0.0, 1.0) if asked.get("ordered") else 0.5
            order.sort(key=lambda row: _place(row, least, lowest=asked["best"] == "lowest"))
            about = {k: asked[k] for k in ("title", "rank", "over", "best", "among")}
            out.append({"name": name, **about, "unit": data[name].attrs["units"], "choices": chosen, "order": order})
    return out


def _place(row: dict[str, Any], least: float, *, lowest: bool) -> tuple[bool, float]:
    """Sort by the median; those that take part in less than this share of the draws come last."""
    middle = row["p50"] if row["p50"] is not None else (np.inf if lowest else -np.inf)
    return row["among"] < least, float(middle if lowest else -middle)
