"""Draw the posterior of the chain anew: ``python -m forecast_capability.chain.make_draws [FOLDER]``, some minutes.

Writes a table for each form, and beside it what it was drawn from, with the hash of the rows; a test holds that to the
tables and priors as they are.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from forecast.base.files import write_atomic
from forecast.errors import UsageError
from forecast_capability.chain.estimate import FIRST_INDEX_YEAR, NOW
from forecast_capability.chain.likelihood import FORMS, LEVEL_PRIORS, STRAIGHT, TANGENT, Form
from forecast_capability.chain.rows import Rows, observed
from forecast_capability.chain.worlds import ALONE, DRAWS_FOLDER, WORLD_COLUMNS, columns, columns_alone

Array = NDArray[np.float64]

__all__ = ["made_from", "main"]

N_SAVED_DRAWS, N_CHAIN_STEPS, SEED = 2000, 1500, 0


def made_from(rows: Rows, form: Form) -> dict[str, object]:
    """Return what a table of draws depends on: rows, priors, dates, and how it was sampled."""
    priors = json.dumps([form.numbers, LEVEL_PRIORS, TANGENT, NOW, FIRST_INDEX_YEAR])
    return {
        "rows": rows.hash,
        "priors": f"sha256:{hashlib.sha256(priors.encode()).hexdigest()}",
        "draws": N_SAVED_DRAWS,
        "steps": N_CHAIN_STEPS,
        "seed": SEED,
    }


def main(arguments: list[str] | None = None) -> None:
    """Write the tables of draws into a folder."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) > 1:
        raise UsageError(f"make_draws: expected at most one folder, got {len(given)} arguments")
    folder, rows = Path(given[0]) if given else DRAWS_FOLDER, observed()
    how = {"now": NOW, "draws": N_SAVED_DRAWS, "steps": N_CHAIN_STEPS, "seed": SEED}
    for form in FORMS.values():
        of = f"the chain from compute and algorithms to index and horizon, {form.name} form"
        _write(folder / f"chain-{form.name}", of, form, rows, columns(rows, form, **how), WORLD_COLUMNS)
    alone = rows.index_alone
    _write(folder / "chain-alone", "the index by its own trend", STRAIGHT, alone, columns_alone(alone, **how), ALONE)


def _write(folder: Path, of: str, form: Form, rows: Rows, drawn: dict[str, Array], titles: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    written = io.StringIO(newline="")
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(drawn)
    writer.writerows([f"{value:.6g}" for value in row] for row in zip(*drawn.values(), strict=True))
    path = write_atomic(folder / f"{folder.name}.csv", written.getvalue())
    fields = [{"name": name, "type": "number", "unit": "", "title": title} for name, title in titles.items()]
    descriptor = {
        "name": folder.name,
        "title": f"Joint draws of {of}",
        "version": "1.0.0",
        "description": f"Drawn by forecast_capability.chain.make_draws from {len(rows)} rows of datasets/"
        "training-runs-2026, datasets/capability-editions and datasets/time-horizons: no observations. A row a world, "
        f"ordered by how fast the index rises; the state is that at {NOW:g}.",
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
        write_atomic(folder / name, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
