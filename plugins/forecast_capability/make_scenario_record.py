"""Make the records of the scenarios anew: ``python -m forecast_capability.make_scenario_record [FOLDER]``.

It runs ``model-capability`` as of seven dates in the past, and ``model-limits`` as of eleven, scores them beside their
rivals, and writes the forecasts whose outcome is known, with what they were made from: the hashes of each scenario and
of every table behind it. A test holds these to what is there now, so that a change of either asks for a new record.
Beside them is written which share of the largest run's intervals holds in worlds of its own law (`own_worlds`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from forecast.base.arrays import Array
from forecast.errors import UsageError

__all__ = ["FOLDER", "N_RECORD_DRAWS", "OWN_WORLDS", "RECORDS", "SCENARIO", "SEED", "Record"]
__all__ += ["made_from", "own_worlds", "write_records"]

SCENARIO = "capability/model-capability"
FOLDER = Path(__file__).parent / "scenarios" / "record"
N_RECORD_DRAWS, SEED = 1024, 0
#: Shares of 50 % intervals of the largest run that hold in worlds of its law, how many these are, and a path's step.
OWN_WORLDS, N_OWN_WORLDS, STEP_YEARS = FOLDER / "largest-run-own-worlds.csv", 100, 0.05


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


def own_worlds(worlds: int = N_OWN_WORLDS) -> Iterator[tuple[float, float]]:
    """Yield which share of 50 % intervals of the largest run holds, and is due to, in worlds in which its law is true.

    In each the frontier goes on from the rows before the first vintage, and records on it come at random. On its rows
    the law is estimated anew as of every vintage. Limits and other rivals of compute have no part in it. Due is the
    probability that the forecasts give to their intervals: one that begins at the record has no lower tail.
    """
    import forecast
    from forecast.streams import Streams
    from forecast_capability.chain.likelihood import PLAIN, Chain
    from forecast_capability.chain.posterior import sample
    from forecast_capability.chain.rows import FIRST_RECORD_YEAR, RUN, observed
    from forecast_capability.chain.worlds import Estimates

    frontier: Any = forecast.model("capability/chain-run").model
    cuts, rng = RECORDS[SCENARIO].vintages, np.random.default_rng(SEED)
    known = observed(cuts[0]).take(observed(cuts[0]).compute == RUN)
    scatter = sample(Chain(rows=known, form=PLAIN), draws=N_OWN_WORLDS, worth=120.0, seed=SEED).numbers["run_scatter"]
    every, years_on, form = np.arange(N_RECORD_DRAWS), np.arange(0, 4, STEP_YEARS), np.zeros((1, N_RECORD_DRAWS))

    def ahead(date: Array, value: Array, cut: float) -> tuple[Array, Array]:
        """Draw the frontier on the days after a date, (day, draw), and the mean time between two records."""
        rows = replace(known.take(np.zeros(len(date), dtype=int)), date=date, value=value)
        of, streams = {"form": form, "posterior": rng.random(form.shape)}, Streams(int(rng.integers(2**32)), "run", 0)
        path = frontier.fitted(Estimates(now=cut, rows=rows), cut).sample(cut + years_on, of, streams)
        return np.log10(path), (cut - FIRST_RECORD_YEAR) / rng.standard_gamma(len(date) + 0.5, len(every))

    paths, waits = ahead(known.date, known.value, cuts[0])
    for path, wait, off in zip(paths.T[:worlds], waits, scatter, strict=False):
        seen = (path + off * rng.standard_normal(len(path))) * (rng.random(len(path)) < STEP_YEARS / wait)
        best = np.maximum.accumulate(np.append(known.value, seen))
        new = np.diff(best, prepend=0) > 0
        date, value, held = np.append(known.date, cuts[0] + years_on)[new], best[new], []
        for cut in cuts:
            then = date < cut
            drawn, means = ahead(date[then], value[then], cut)
            age = means * rng.standard_exponential(len(every))
            for years in (each for each in (0.5, 1.0, 2.0) if cut + each <= cuts[-1] + 0.5):
                place = (np.maximum(years - age, 0) / STEP_YEARS).astype(int)
                run = np.maximum(np.where(age < years, drawn[place, every], 0), value[then].max())
                lower, upper = np.quantile(run, [0.25, 0.75])
                came = value[date <= cut + years].max()
                held.append((lower <= came <= upper, ((lower <= run) & (run <= upper)).mean()))
        yield tuple(np.mean(held, axis=0).tolist())


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
    rows = (f"{held:.6f},{due:.6f}\n" for held, due in own_worlds())
    write_atomic(folder / OWN_WORLDS.name, "".join(("held,due\n", *rows)))
    write_atomic(folder / "made-from.json", json.dumps(made_from(), indent=2) + "\n")


if __name__ == "__main__":
    write_records()
