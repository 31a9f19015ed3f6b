"""Line plots exported from Weights & Biases: from a column for each run to a row for each run and step."""

from __future__ import annotations

from pathlib import Path

import forecast
from forecast.errors import DataError
from forecast_trackers.step_records import is_zero

__all__ = ["read_export"]

_ENDS = ("__MIN", "__MAX")
#: Between the name of a run and that of its metric.
_SEPARATOR = " - "
#: The columns of the file are kept beside those of the long table, up to this many cells.
MAX_WIDE_CELLS = 2_000_000


def read_export(path: Path) -> dict[str, list[str | None]]:
    """Return the runs of an export one below the other.

    ``Step, wee - loss, wee - loss__MIN, wee - loss__MAX, vast - loss, ...`` becomes ``Step, run, loss``. The least and
    greatest values stay if the export has binned steps, so that they differ from the value. Runs log at steps of their
    own, so many cells are empty: a run has a row only where it has a value. Step 0, which a learning curve has no place
    for, is left out. A column such as ``wee - loss`` can still be asked for by its name in the file.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    dict of str to list

    Raises
    ------
    DataError
        If no column is shared by the runs, as ``Step`` is, or no run has a value.
    """
    columns = forecast.read(path, reader="none")
    texts = {name: columns.texts(name) for name in columns}
    values = [name for name in texts if all(name + end in texts for end in _ENDS)]
    shared = [name for name in texts if name not in values and not name.endswith(_ENDS)]
    if not shared:
        raise DataError(f"{path.name}: expected a column that all runs share, such as Step")
    kept = [name for name in values if texts[name] != texts[shared[0]]]
    runs: dict[str, dict[str, str]] = {}
    for name in kept:
        run, _, metric = name.rpartition(_SEPARATOR)
        runs.setdefault(run, {})[metric] = name
        for end in _ENDS:
            if any(bound and bound != cell for bound, cell in zip(texts[name + end], texts[name], strict=True)):
                runs[run][metric + end] = name + end
    steps = [row for row, text in enumerate(texts[shared[0]]) if text and not is_zero(text)]
    rows = [
        (run, row)
        for run, metrics in runs.items()
        for row in steps
        if any(texts[name][row] for name in metrics.values())
    ]
    if not rows:
        raise DataError(f"{path.name}: no run has a value at a '{shared[0]}' above 0")
    metrics = dict.fromkeys(metric for each in runs.values() for metric in each)
    table: dict[str, list[str | None]] = {name: [texts[name][row] for _, row in rows] for name in shared}
    if any(runs):
        table["run"] = [run for run, _ in rows]
    for metric in metrics:
        table[metric] = [texts[runs[run][metric]][row] if metric in runs[run] else None for run, row in rows]
    if any(runs) and len(rows) * len(kept) <= MAX_WIDE_CELLS:
        for name in kept:
            owner = name.rpartition(_SEPARATOR)[0]
            table[name] = [texts[name][row] if run == owner else None for run, row in rows]
    return table
