"""Make the record of ``model-capability`` anew: ``python -m forecast_capability.make_scenario_record [FOLDER]``.

It runs the whole scenario as of seven dates in the past, scores it beside its rivals, and writes the forecasts whose
outcome is known, with what they were made from: the hashes of the scenario and of every table behind it. A test holds
these to what is there now, so that a change of either asks for a new record.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from forecast.errors import UsageError

__all__ = ["FOLDER", "N_RECORD_DRAWS", "RECORD_SCALES", "SCENARIO", "SEED", "VINTAGES", "made_from", "main"]

SCENARIO = "capability/model-capability"
FOLDER = Path(__file__).parent / "scenarios" / "record"
VINTAGES = tuple(2023 + 0.5 * i for i in range(7))
#: Those that speak of time horizons count in doublings.
RECORD_SCALES = {"horizon": "log2"}
N_RECORD_DRAWS, SEED = 1024, 0


def made_from() -> dict[str, Any]:
    """Return what the record depends on, as `main` writes it."""
    import forecast

    stated = forecast.project(SCENARIO, draws=1, seed=SEED).provenance
    return {
        "scenario": stated["scenario_hash"],
        "data": {name: each for name, each in sorted(stated["data"].items()) if "/" in name},
        "vintages": list(VINTAGES),
        "scales": RECORD_SCALES,
        "draws": N_RECORD_DRAWS,
        "seed": SEED,
    }


def main(arguments: list[str] | None = None) -> None:
    """Write the record into a folder."""
    import forecast
    from forecast.base.files import write_atomic
    from forecast.evaluation.whole import scenario_scores

    given = sys.argv[1:] if arguments is None else arguments
    if len(given) > 1:
        raise UsageError(f"make_scenario_record: expected at most one folder, got {len(given)} arguments")
    folder = Path(given[0]) if given else FOLDER
    found = forecast.backtest_scenario(
        SCENARIO, vintages=VINTAGES, scales=RECORD_SCALES, draws=N_RECORD_DRAWS, seed=SEED
    )
    folder.mkdir(parents=True, exist_ok=True)
    scenario_scores.write_record(found, folder / "model-capability.csv")
    write_atomic(folder / "made-from.json", json.dumps(made_from(), indent=2) + "\n")


if __name__ == "__main__":
    main()
