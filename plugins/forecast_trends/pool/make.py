"""Make the record anew: ``python -m forecast_trends.pool.make [FOLDER]``."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from forecast.errors import ForecastError
from forecast_trends.pool.record import FAMILIES, HINDCASTS

__all__ = ["hindcasts", "main"]


def hindcasts() -> Iterator[dict[str, Any]]:
    """Walk what the uncalibrated pool would have said of every series in the table of families, and what came."""
    import numpy as np

    import forecast
    from forecast.evaluation.rolling import backtest

    with FAMILIES.open(encoding="utf-8", newline="") as file:
        series = list(csv.DictReader(file))
    for row in series:
        model = forecast.model(row["series"], shape="trends/pool", options={"calibrated": False})
        try:
            found = backtest({"pool": model}, name=row["series"]).sel(model="pool")
        except ForecastError as problem:
            print(f"{row['series']}: {problem}", file=sys.stderr)
            continue
        low, middle, high = (np.log(found["forecast"].sel(quantile=q)) for q in (0.05, 0.5, 0.95))
        error = np.log(found["observed"]) - middle
        half = (high - middle).where(error > 0, middle - low)
        miss = abs(error) / half.where(half > 0)
        for i, origin in enumerate(found["origin"].values):
            for j in np.flatnonzero(np.isfinite(miss.values[i])):
                outcome = origin + float(found["years"].values[i, j])
                yield {
                    "family": row["family"], "series": row["series"], "origin": f"{origin:.3f}",
                    "outcome": f"{outcome:.3f}", "miss": f"{miss.values[i, j]:.4g}",
                }  # fmt: skip


def main(folder: str | None = None) -> None:
    """Write ``hindcasts.csv``."""
    target = HINDCASTS if folder is None else Path(folder) / HINDCASTS.name
    rows = list(hindcasts())
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(*sys.argv[1:2])
