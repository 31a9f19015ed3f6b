"""Logs of Inspect evaluations: the scores of the header; samples are never read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forecast.errors import DataError
from forecast_trackers.documents import as_list, as_mapping, read_document

__all__ = ["read_log"]


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return one row for each score of an evaluation, with a column for each of its metrics.

    Parameters
    ----------
    path : pathlib.Path
        An ``.eval`` archive, of which ``header.json`` is read, or a log as JSON.

    Returns
    -------
    list of dict
        ``model``, ``task``, ``created``, ``dataset``, ``scorer``, ``reducer``, ``samples``, and metrics such as
        ``accuracy`` and ``stderr``.

    Raises
    ------
    DataError
        If it is no such log, or has no scores.
    """
    log = read_document(path, "header.json")
    spec, results = as_mapping(log.get("eval")), as_mapping(log.get("results"))
    if not spec.get("task"):
        raise DataError(f"{path.name}: expected an Inspect log, with the task under 'eval'")
    about = {"model": spec.get("model"), "task": spec["task"], "created": spec.get("created"),
             "dataset": as_mapping(spec.get("dataset")).get("name")}  # fmt: skip
    rows = []
    for score in map(as_mapping, as_list(results.get("scores"))):
        metrics = {str(n): as_mapping(metric).get("value") for n, metric in as_mapping(score.get("metrics")).items()}
        samples = score.get("scored_samples", results.get("completed_samples"))
        named = {"scorer": score.get("name"), "reducer": score.get("reducer"), "samples": samples}
        rows.append({name: value for name, value in {**about, **named, **metrics}.items() if value is not None})
    if not rows:
        raise DataError(f"{path.name}: the evaluation has no scores; its status is '{str(log.get('status'))[:20]}'")
    return rows
