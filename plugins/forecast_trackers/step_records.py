"""Records of training and of evaluation, made one row for a step: trainer states and logs of JSON lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import forecast
from forecast.errors import DataError

__all__ = ["is_zero", "merge_steps", "read_records"]

#: What the summary has that the Hugging Face trainer appends at the end: its loss is a mean over all steps.
_SUMMARY_KEY = "train_runtime"
_STEP_PATTERN = re.compile(r"step$", re.IGNORECASE)
_NUMBER_PATTERN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|nan|[-+]?inf(inity)?", re.IGNORECASE)


def read_records(path: Path) -> dict[str, list[str | None]]:
    """Return the records of a log as columns, one row for a step.

    Records of the trainer and of the evaluation at one step become one row, if no value of one contradicts the other.
    Step 0, which a learning curve has no place for, and the summary of a whole run are left out.

    Parameters
    ----------
    path : pathlib.Path
        JSON lines, or a document whose longest list holds the records.

    Returns
    -------
    dict of str to list
        None where a row lacks a value.

    Raises
    ------
    DataError
        If no column is a step, or none is above 0.
    """
    columns = forecast.read(path, reader="none")
    step = next(iter(sorted(filter(_STEP_PATTERN.search, columns), key=len)), None)
    if step is None:
        raise DataError(f"{path.name}: expected records with a step, got {', '.join(list(columns)[:6])}")
    texts = {name: columns.texts(name) for name in columns}
    records = ({name: cells[row] for name, cells in texts.items() if cells[row]} for row in range(columns.rows))
    rows = merge_steps((record for record in records if _SUMMARY_KEY not in record), step)
    if not rows:
        raise DataError(f"{path.name}: no record has a '{step}' above 0")
    names = [name for name in texts if any(name in row for row in rows)]
    return {name: [row.get(name) for row in rows] for name in names}


def merge_steps(records: Iterable[Mapping[str, str]], step: str) -> list[dict[str, str]]:
    """Merge the records of a step whose text agrees (run, split) and whose numbers do not contradict each other.

    Examples
    --------
    >>> train, test = {"step": "5", "loss": "2.5"}, {"step": "5", "eval_loss": "2.75"}
    >>> merge_steps([train, test, {"step": "5", "loss": "3"}], "step")
    [{'step': '5', 'loss': '2.5', 'eval_loss': '2.75'}, {'step': '5', 'loss': '3'}]
    """
    rows: list[dict[str, str]] = []
    latest: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
    for record in records:
        if is_zero(record.get(step, "0")):
            continue
        key = tuple(sorted((n, c) for n, c in record.items() if n == step or not _NUMBER_PATTERN.fullmatch(c)))
        row = latest.get(key)
        if row is None or any(row.get(name, cell) != cell for name, cell in record.items()):
            row = latest[key] = {}
            rows.append(row)
        row.update(record)
    return rows


def is_zero(text: str) -> bool:
    """Return True if a cell is the number 0.

    Examples
    --------
    >>> [is_zero(text) for text in ("0", "0.0", "10", "a")]
    [True, True, False, False]
    """
    try:
        return float(text) == 0
    except ValueError:
        return False
