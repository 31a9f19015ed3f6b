"""From backtests to a track record: a row for each model by kind of series and horizon."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from forecast.base.lazy import xr

__all__ = ["tally"]


def tally(
    found: Sequence[tuple[str, xr.Dataset]], names: Sequence[str], horizons: Mapping[str, tuple[float, float]]
) -> Iterator[dict[str, Any]]:
    """Walk how each model has done: means over the forecasts of a series, then over series.

    Parameters
    ----------
    found : sequence of (str, xarray.Dataset)
        Kind of series, and its backtest (`forecast.evaluation.rolling_origin.backtest` or that of laws).
    names : sequence of str
        Of the models.
    horizons : mapping of str to (float, float)
        Years, or decades, ahead: more than the first, at most the second.

    Yields
    ------
    dict
        ``name``, ``kind``, ``horizon``, how many ``series`` and ``forecasts``, ``score`` (the weighted interval score
        of the natural logarithm), the coverage of 90 % intervals (``held``) and of 50 % intervals (``half``),
        ``deciles`` (the share of outcomes in each tenth of the forecasts, ten numbers in a row), and
        ``over_last_value``, by what share the score is better than the last value's.
    """
    for name in names:
        for kind in ("all", *sorted({kind for kind, _ in found})):
            for horizon, (low, high) in horizons.items():
                parts: dict[str, list[Any]] = {key: [] for key in ("score", "last", "held", "half", "deciles")}
                count = 0
                for own, each in found:
                    if kind not in ("all", own) or name not in each["model"].values:
                        continue
                    ahead = each["years"] if "years" in each else each["ahead"]
                    score = each["weighted-interval"].where((ahead > low) & (ahead <= high))
                    made = score.sel(model=name).notnull()
                    if not bool(made.any()):
                        continue
                    mine = each.sel(model=name)
                    middle = mine["forecast"].sel(quantile=[0.25, 0.75], method="nearest")
                    inside = (middle[..., 0] <= each["observed"]) & (each["observed"] <= middle[..., 1])
                    tenth = np.minimum((mine["pit"].values[made.values] * 10).astype(int), 9)
                    parts["score"].append(float(score.sel(model=name).mean()))
                    parts["last"].append(float(score.sel(model="last-value").where(made).mean()))
                    parts["held"].append(float(mine["coverage"].where(made).mean()))
                    parts["half"].append(float(inside.where(made).mean()))
                    parts["deciles"].append(np.bincount(tenth, minlength=10) / tenth.size)
                    count += int(made.sum())
                if count:
                    mean = {key: np.mean(values, axis=0) for key, values in parts.items()}
                    yield {
                        "name": name, "kind": kind, "horizon": horizon, "series": len(parts["score"]),
                        "forecasts": count, "score": f"{mean['score']:.3g}", "held": f"{mean['held']:.2f}",
                        "half": f"{mean['half']:.2f}",
                        "deciles": " ".join(f"{share:.2f}" for share in mean["deciles"]),
                        "over_last_value": f"{1 - mean['score'] / mean['last']:.2f}",
                    }  # fmt: skip
