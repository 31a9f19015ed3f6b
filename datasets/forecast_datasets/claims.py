"""The dated forecasts of the table past-forecasts, as claims that their outcomes judge."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from forecast import ClaimSpec, DatedForecast

__all__ = ["past_forecasts"]


def past_forecasts(path: Path) -> Iterator[ClaimSpec]:
    """Read the claims; the table's own reading checks the file, its hash and its units."""
    with path.open(encoding="utf-8", newline="") as file:
        yield from map(_claim, csv.DictReader(file))


def _claim(row: dict[str, str]) -> ClaimSpec:
    figures = ("median", "low", "high", "level", "outcome")
    numbers = {name: float(row[name]) if row[name] else None for name in figures}
    made = DatedForecast(
        who=row["who"],
        kind=row["kind"],
        published=row["published"],
        target=row["target"],
        observed_on=row["known"],
        provisional=row["provisional"] == "yes",
        verified=row["status"] == "verified",
        **numbers,
    )
    by = f", as of {row['target']}" if row["target"] else ""
    outcome = f"; outcome: {row['outcome_source']}" if row["outcome_source"] else ""
    return ClaimSpec(
        name=row["forecast"],
        group="forecasts",
        statement=f"{row['who']}, {row['published']}: {row['quantity']}{by}",
        unit=row["measured_in"],
        note=row["note"],
        reference=row["source"] + outcome,
        forecast=made,
    )
