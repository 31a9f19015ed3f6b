"""Draw the posterior of the chain anew: ``python -m forecast_capability.chain.make_draws [FOLDER]``, some minutes.

Writes a table for each form, and beside it what it was drawn from, with the hash of the rows; a test holds that to the
tables and priors as they are.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from forecast.errors import UsageError
from forecast_capability.chain.estimate import NOW, SINCE
from forecast_capability.chain.likelihood import FORMS, LEVELS, TANGENT, Asked, Chain, Form, worth
from forecast_capability.chain.posterior import sample, state
from forecast_capability.chain.rows import ANCHOR_LOG10_FLOP, Rows, observed

Array = NDArray[np.float64]

__all__ = ["COLUMNS", "made_from", "main", "posterior"]

DRAWS, STEPS, SEED = 2000, 1500, 0
FOLDER = Path(__file__).parent / "draws"

#: The columns of a table of draws, and what each is.
COLUMNS = {
    "points": "Points of the index per order of magnitude of compute, at 1e25 FLOP",
    "bend": "By which share an order of magnitude is worth less an order further on; 0 in the straight form",
    "pace": f"Orders of magnitude of compute a year that algorithms gave from {SINCE:g} to {NOW:g}",
    "compute": f"Base-10 logarithm of the FLOP of the largest training run at {NOW:g}",
    "compute_slope": f"What it gains a year at {NOW:g}",
    "compute_walk": "Standard deviation of its random walk over a year",
    "compute_turn": "Standard deviation of what its slope gains in a year",
    "algorithms_slope": f"Orders of magnitude of compute a year that algorithms give at {NOW:g}",
    "algorithms_walk": "Standard deviation of their random walk over a year",
    "algorithms_turn": "Standard deviation of what their slope gains in a year",
    "level": f"Index of the frontier at {NOW:g} (edition 2026-08)",
    "frontier_scatter": "Standard deviation of single models at the frontier, points",
    "anchor": "Base-2 logarithm of the horizon in minutes at an index of 140",
    "doublings": "Doublings of the horizon a point of the index",
    "horizon_scatter": "Standard deviation of single models' horizons, doublings",
}

_ASKED = (
    *(Asked(f"{part}{slope}", NOW) for part in ("compute", "algorithms") for slope in ("", "_slope")),
    Asked("algorithms", SINCE),
    Asked("level", NOW),
    Asked("anchor", NOW),
)


def posterior(rows: Rows, form: Form, *, draws: int = DRAWS, steps: int = STEPS, seed: int = SEED) -> dict[str, Array]:
    """Draw `COLUMNS`, (draw,) each, ordered by points per order: what a scenario's worlds read."""
    drawn = sample(Chain(rows=rows, form=form), steps=steps, seed=seed).thinned(draws, seed)
    numbers = {"bend": np.zeros(draws), **drawn.numbers}
    asked = state(Chain(rows=rows, form=form, asked=_ASKED), drawn, seed=seed)
    compute, compute_slope, algorithms, algorithms_slope, earlier, level, anchor = asked.T
    counted = worth(np.array(TANGENT), numbers["bend"])
    counted = counted + np.exp(-numbers["bend"] * TANGENT) * (compute - ANCHOR_LOG10_FLOP - TANGENT)
    numbers |= {
        "pace": (algorithms - earlier) / (NOW - SINCE),
        "compute": compute,
        "compute_slope": compute_slope,
        "algorithms_slope": algorithms_slope,
        "level": level + numbers["points"] * (counted + algorithms),
        "anchor": anchor,
    }
    order = np.argsort(numbers["points"], kind="stable")
    return {name: numbers[name][order] for name in COLUMNS}


def made_from(rows: Rows, form: Form) -> dict[str, object]:
    """Return what a table of draws depends on: rows, priors, dates, and how it was sampled."""
    priors = json.dumps([form.numbers, LEVELS, TANGENT, NOW, SINCE])
    return {
        "rows": rows.hash,
        "priors": f"sha256:{hashlib.sha256(priors.encode()).hexdigest()}",
        "draws": DRAWS,
        "steps": STEPS,
        "seed": SEED,
    }


def main(arguments: list[str] | None = None) -> None:
    """Write the tables of draws into a folder."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) > 1:
        raise UsageError(f"make_draws: expected at most one folder, got {len(given)} arguments")
    folder, rows = Path(given[0]) if given else FOLDER, observed()
    for form in FORMS.values():
        _write(folder / f"chain-{form.name}", form, rows, posterior(rows, form))


def _write(folder: Path, form: Form, rows: Rows, drawn: dict[str, Array]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{folder.name}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(drawn)
        writer.writerows([f"{value:.6g}" for value in row] for row in zip(*drawn.values(), strict=True))
    fields = [{"name": name, "type": "number", "unit": "", "title": title} for name, title in COLUMNS.items()]
    descriptor = {
        "name": folder.name,
        "title": f"Joint draws of the chain from compute and algorithms to index and horizon, {form.name} form",
        "version": "1.0.0",
        "description": f"Drawn by forecast_capability.chain.make_draws from {len(rows)} rows of datasets/"
        "training-runs-2026, datasets/capability-editions and datasets/time-horizons: no observations. A row a world, "
        f"ordered by points; the state is that at {NOW:g}.",
        "licenses": [{"name": "MIT", "title": "MIT", "path": "https://opensource.org/licenses/MIT"}],
        "sources": [{"title": "Epoch AI (CC-BY 4.0) and METR, as compiled in datasets"}],
        "resources": [
            {
                "name": folder.name,
                "path": path.name,
                "title": "A row a draw",
                "format": "csv",
                "encoding": "utf-8",
                "schema": {"fields": fields, "missingValues": [""]},
                "hash": f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}",
            }
        ],
    }
    for name, content in (("datapackage.json", descriptor), ("made-from.json", made_from(rows, form))):
        (folder / name).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
