"""Make the records of the scenarios anew: ``python -m forecast_capability.make_scenario_record [FOLDER]``.

It runs ``model-capability`` as of seven dates in the past, and ``model-limits`` as of eleven, scores them beside their
rivals, and writes the forecasts whose outcome is known, with what they were made from: the hashes of each scenario and
of every table behind it. A test holds these to what is there now, so that a change of either asks for a new record.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from forecast.errors import UsageError

__all__ = ["FOLDER", "N_RECORD_DRAWS", "RECORDS", "SCENARIO", "SEED", "Record", "made_from", "write_records"]

SCENARIO = "capability/model-capability"
FOLDER = Path(__file__).parent / "scenarios" / "record"
N_RECORD_DRAWS, SEED = 1024, 0


class Record(NamedTuple):
    """When a scenario is asked, of which quantities (all that are observed unless named), and in what they count."""

    vintages: tuple[float, ...]
    quantities: tuple[str, ...] = ()
    scales: Mapping[str, str] = {}


RECORDS = {
    # those that speak of time horizons count in doublings
    SCENARIO: Record(tuple(2023 + 0.5 * i for i in range(7)), scales={"horizon": "log2"}),
    # what limits rest on, once the year before is published: spending, chips, the largest site, power of a device
    "capability/model-limits": Record(
        tuple(2015.25 + i for i in range(11)), ("capex_by_quarter", "stock", "site_trend", "device_power_trend")
    ),
}


def made_from() -> dict[str, Any]:
    """Return what each record depends on, as `write_records` writes it."""
    import forecast

    found = {}
    for name, record in RECORDS.items():
        stated = forecast.project(name, draws=1, seed=SEED).provenance
        found[name] = {
            "scenario": stated["scenario_hash"],
            "data": {table: each for table, each in sorted(stated["data"].items()) if "/" in table},
            "vintages": list(record.vintages),
            "quantities": list(record.quantities),
            "scales": dict(record.scales),
            "draws": N_RECORD_DRAWS,
            "seed": SEED,
        }
    return found


def write_records(arguments: list[str] | None = None) -> None:
    """Write the records into a folder."""
    import forecast
    from forecast.base.files import write_atomic
    from forecast.evaluation.whole import scenario_scores

    given = sys.argv[1:] if arguments is None else arguments
    if len(given) > 1:
        raise UsageError(f"make_scenario_record: expected at most one folder, got {len(given)} arguments")
    folder = Path(given[0]) if given else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, record in RECORDS.items():
        found = forecast.backtest_scenario(name, **record._asdict(), draws=N_RECORD_DRAWS, seed=SEED)
        scenario_scores.write_record(found, folder / f"{name.rpartition('/')[2]}.csv")
    write_atomic(folder / "made-from.json", json.dumps(made_from(), indent=2) + "\n")


if __name__ == "__main__":
    write_records()
