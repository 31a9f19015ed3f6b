"""The rankings of a projection as plain data and one plain sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.errors import printable
from forecast.projection.crossing import QUANTILES
from forecast.report.plain import attribute, combinations, numbers

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["rankings", "sentence"]


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


def sentence(tree: xr.DataTree) -> str:
    """Say who is best in the first ranking, under every combination of the other choices."""
    rows = rankings(tree)
    rows = [r for r in rows if r["name"] == rows[0]["name"]]
    title = rows[0]["title"] or f"the {rows[0]['best']} {rows[0]['rank']}"
    return f"{printable(title, 200)}: {'; '.join(_said(row) for row in rows)}."


def _said(row: dict[str, Any]) -> str:
    taking = [entry for entry in row["order"] if entry["among"] >= 0.5]
    given = ", ".join(f"{k} = {v}" for k, v in row["choices"].items())
    given = f"{given}: " if given else ""
    if not taking:
        return f"{given}no {row['over']} of {len(row['order'])} meets {' and '.join(row['among']) or 'what is asked'}"
    best = max(taking, key=lambda entry: float(entry["first"]))
    text = f"{given}{best['name']} is best in {best['first']:.0%} of the draws"
    if len(taking) > 1:
        text += f", before {next(e['name'] for e in taking if e is not best)}"
    return f"{text} ({len(taking)} of {len(row['order'])} take part)"
