"""Draw the posterior of the chain anew: ``python -m forecast_capability.chain.make_draws [FOLDER]``, some minutes.

Writes a table of all forms and one of the index alone, and beside each what it was drawn from, with the hash of the
rows; a test holds that to the tables and priors as they are.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forecast.base.files import write_atomic
from forecast.errors import UsageError
from forecast_capability.chain.estimate import FIRST_INDEX_YEAR, NOW
from forecast_capability.chain.likelihood import BREAK, FORMS, HORIZONS, LEVEL_PRIORS, TANGENT, Form
from forecast_capability.chain.rows import Rows, observed
from forecast_capability.chain.worlds import (
    ALONE,
    ALONE_FORM,
    DRAWS_FOLDER,
    RIVALS,
    WORLD_COLUMNS,
    Worlds,
    columns,
    columns_alone,
)

__all__ = ["made_from", "n_draws", "write_draws"]

#: Draws of a form whose horizon has a line of its own, which scenarios draw by themselves, and of others.
N_DRAWS, N_RIVAL_DRAWS, N_ALONE_DRAWS = 400, 100, 1000
#: Of how many independent ones a form's draws are worth, over their number.
WORTH_OF_ONE, SEED = 1.5, 0


def n_draws(form: Form) -> int:
    """Return how many draws of a form are shipped."""
    return N_ALONE_DRAWS if form == ALONE_FORM else N_DRAWS if form.horizon == HORIZONS[0] else N_RIVAL_DRAWS


def made_from(rows: Rows, forms: Sequence[Form]) -> dict[str, object]:
    """Return what a table of draws depends on: rows, priors, dates, and how it was sampled."""
    now = {form: [number[:3] for number in form.numbers] for form in forms}  # not what is wider as of an earlier date
    stated = [[form.name, now[form], n_draws(form)] for form in forms]
    priors = json.dumps([stated, LEVEL_PRIORS, TANGENT, BREAK, NOW, FIRST_INDEX_YEAR])
    return {
        "rows": rows.hash,
        "priors": f"sha256:{hashlib.sha256(priors.encode()).hexdigest()}",
        "worth_of_one": WORTH_OF_ONE,
        "seed": SEED,
    }


def write_draws(arguments: list[str] | None = None) -> None:
    """Write the tables of draws into a folder."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) > 1:
        raise UsageError(f"make_draws: expected at most one folder, got {len(given)} arguments")
    folder, rows = Path(given[0]) if given else DRAWS_FOLDER, observed()
    drawn = [columns(rows, form, **_how(form)) for form in FORMS]
    of = "the chain from compute and algorithms to index and horizon, in every form"
    _write(folder / "chain-worlds", of, rows, drawn, WORLD_COLUMNS, FORMS)
    alone = rows.index_alone
    by_itself = columns_alone(alone, **_how(ALONE_FORM))
    _write(folder / "chain-alone", "the index by its own trend", alone, [by_itself], ALONE, (ALONE_FORM,))


def _how(form: Form) -> dict[str, Any]:
    return {"now": NOW, "draws": n_draws(form), "worth_of": WORTH_OF_ONE * n_draws(form), "seed": SEED}


def _write(
    folder: Path, of: str, rows: Rows, drawn: Sequence[Worlds], titles: Mapping[str, str], forms: Sequence[Form]
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rivals = RIVALS if len(forms) > 1 else {}
    written = io.StringIO(newline="")
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([*rivals, *titles])
    for each in drawn:
        named = each.form.name.split(", ") if rivals else []
        writer.writerows(
            [*named, *(f"{value:.4g}" for value in row)] for row in zip(*each.columns.values(), strict=True)
        )
    path = write_atomic(folder / f"{folder.name}.csv", written.getvalue())
    fields = [
        *({"name": name, "type": "string", "title": title} for name, title in rivals.items()),
        *({"name": name, "type": "number", "unit": "", "title": title} for name, title in titles.items()),
    ]
    descriptor = {
        "name": folder.name,
        "title": f"Joint draws of {of}",
        "version": "2.0.0",
        "description": f"Drawn by forecast_capability.chain.make_draws from {len(rows)} rows of datasets/"
        "training-runs-2026, datasets/capability-editions and datasets/time-horizons: no observations. A row a world, "
        f"those of a form ordered by how fast the index rises; the state is that at {NOW:g}.",
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
    for name, content in (("datapackage.json", descriptor), ("made-from.json", made_from(rows, forms))):
        write_atomic(folder / name, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    write_draws()
