"""Scalars downloaded from TensorBoard: one tag of one run, which the name of the file tells."""

from __future__ import annotations

import re
from pathlib import Path

import forecast
from forecast_trackers.step_records import is_zero

__all__ = ["read_scalars"]

_NAME_PATTERN = re.compile(r"run-(.+)-tag-(.+?)(?: ?\(\d+\))?\.csv(\.gz)?", re.IGNORECASE)


def read_scalars(path: Path) -> dict[str, list[str]]:
    """Return steps, values and wall times, with the run and the tag if the file still has the name of its download.

    After a restart a run logs steps again. As in TensorBoard, what was logged before, from the step of the restart on,
    is left out. Step 0, which a learning curve has no place for, is left out too.

    Parameters
    ----------
    path : pathlib.Path
        ``run-NAME-tag-TAG.csv``, or any other name.

    Returns
    -------
    dict of str to list
    """
    columns = forecast.read(path, reader="none")
    steps, order = columns.numeric("Step"), list[int]()
    for row in range(columns.rows):
        while order and steps[order[-1]] >= steps[row]:
            order.pop()
        order.append(row)
    texts = {name: columns.texts(name) for name in ("Step", "Value", "Wall time")}
    order = [row for row in order if not is_zero(texts["Step"][row])]
    table = {name: [cells[row] for row in order] for name, cells in texts.items()}
    if found := _NAME_PATTERN.fullmatch(path.name):
        table |= {"run": [found[1]] * len(order), "tag": [found[2]] * len(order)}
    return table
