"""Make the record anew: ``python -m forecast_trends.pool.make [FOLDER]``."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from forecast import models
from forecast.base.files import write_atomic
from forecast.errors import ForecastError
from forecast_trends.pool.interval_calibration import CROSSINGS, FAMILIES_FILE, HINDCASTS, TRACK_RECORD

__all__ = ["HORIZON_RANGES", "hindcasts", "pool_record_rows", "write_pool_record"]

#: Years ahead: more than the first, at most the second.
HORIZON_RANGES = {"all": (0.0, 10.0), "0-2 years": (0.0, 2.0), "2-5 years": (2.0, 5.0), "5-10 years": (5.0, 10.0)}


def hindcasts(only: Collection[str] = ()) -> Iterator[dict[str, Any]]:
    """Walk what the uncalibrated pool would have said of every series in the table of families, and what came.

    Parameters
    ----------
    only : collection of str
        Names of series. Default: all.
    """
    from forecast.evaluation.rolling_origin import backtest

    for row in _series(only):
        model = models.model(row["series"], shape="trends/pool", options={"calibrated": False})
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


def _series(only: Collection[str] = ()) -> Iterator[dict[str, str]]:
    """Walk the table of families, or some of it; the same points by another name or unit tell nothing new."""
    seen = set()
    with FAMILIES_FILE.open(encoding="utf-8", newline="") as file:
        series = [row for row in csv.DictReader(file) if not only or row["series"] in only]
    for row in series:
        points = models.model(row["series"]).fit().observed()
        key = points.time.tobytes(), np.round(points.value / points.value[:1], 9).tobytes()
        if not len(points.time) or key not in seen:
            yield row
        seen.add(key)


def backtests() -> list[tuple[str, Any]]:
    """Return the kind of every series in the table of families, and its backtest with every shape."""
    from forecast.evaluation.rolling_origin import backtest, of_name

    found = []
    for row in _series():
        try:
            found.append((row["kind"], backtest(of_name(row["series"])[0], name=row["series"], crossings=True)))
        except ForecastError as problem:
            print(f"{row['series']}: {problem}", file=sys.stderr)
    return found


def pool_record_rows(found: list[tuple[str, Any]]) -> Iterator[dict[str, Any]]:
    """Walk how each shape has done, by kind of series and by horizon: means over forecasts, then over series."""
    from forecast.evaluation.rolling_origin import tally

    for each in tally(found, _shapes(found), HORIZON_RANGES):
        yield {"shape": each.pop("name"), **each}


def crossing_rows(found: list[tuple[str, Any]]) -> Iterator[dict[str, Any]]:
    """Walk how often levels were reached by a date, as each shape stated, by kind of series."""
    from forecast.evaluation.crossing_record import tally_crossings

    for each in tally_crossings(found, _shapes(found)):
        shares = {key: each.pop(key, None) for key in ("stated", "happened", "brier", "climatology")}
        rounded = {key: "" if share is None else f"{share:.3f}" for key, share in shares.items()}
        yield {"shape": each.pop("name"), **each, **rounded}


def _shapes(found: list[tuple[str, Any]]) -> list[str]:
    return sorted({str(name) for _, each in found for name in each["model"].values if "/" in str(name)})


def write_pool_record(folder: str | None = None) -> None:
    """Write ``hindcasts.csv``, then ``track-record.csv`` and ``crossings.csv`` with what the first tells the pool."""
    _write(HINDCASTS, hindcasts(), folder)
    found = backtests()
    _write(TRACK_RECORD, pool_record_rows(found), folder)
    _write(CROSSINGS, crossing_rows(found), folder)


def _write(path: Path, walk: Iterator[dict[str, Any]], folder: str | None) -> None:
    rows, written = list(walk), io.StringIO(newline="")
    writer = csv.DictWriter(written, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomic(path if folder is None else Path(folder) / path.name, written.getvalue())


if __name__ == "__main__":
    write_pool_record(*sys.argv[1:2])
