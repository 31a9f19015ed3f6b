"""Results of the lm-evaluation-harness: one row for a task and a filter of its answers."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forecast.errors import DataError
from forecast_trackers.documents import as_list, as_mapping, read_document

__all__ = ["read_results"]


def read_results(path: Path) -> list[dict[str, Any]]:
    """Return the metrics of each task; ``acc,none`` is the metric ``acc`` of answers that no filter changed.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    list of dict
        ``model``, ``date``, ``task``, ``filter``, ``shots``, ``samples``, ``subtasks`` (above 0 for a mean of tasks),
        and metrics such as ``acc`` and ``acc_stderr``.

    Raises
    ------
    DataError
        If no task has a metric.
    """
    results = read_document(path)
    about = {"model": _model_name(results), "date": _evaluated_on(results.get("date"))}
    subtasks, config = as_mapping(results.get("group_subtasks")), as_mapping(results.get("config"))
    rows = []
    for task, metrics in as_mapping(results.get("results")).items():
        by_filter: dict[str, dict[str, Any]] = {}
        for key, value in as_mapping(metrics).items():
            metric, _, name = key.partition(",")
            if isinstance(value, (int, float)) and metric != "sample_len":
                by_filter.setdefault(name, {})[metric] = value
        samples = as_mapping(as_mapping(results.get("n-samples")).get(task))
        counts = {
            "shots": as_mapping(results.get("n-shot")).get(task, config.get("num_fewshot")),
            "samples": samples.get("effective"),
            "subtasks": len(as_list(subtasks.get(task))) if subtasks else None,
        }
        for name, values in by_filter.items():
            row = {**about, "task": task, "filter": None if name in ("", "none") else name, **counts, **values}
            rows.append({column: value for column, value in row.items() if value is not None})
    if not rows:
        raise DataError(f"{path.name}: no task has a metric under 'results'")
    return rows


def _model_name(results: Mapping[str, Any]) -> str | None:
    """Return the model that was evaluated, of which early versions write only the arguments."""
    arguments = as_mapping(results.get("config")).get("model_args")
    stated = as_mapping(arguments)
    if isinstance(arguments, str):
        stated = dict(pair.partition("=")[::2] for pair in arguments.split(","))
    name = results.get("model_name") or stated.get("pretrained") or stated.get("model")
    return str(name) if name else None


def _evaluated_on(seconds: Any) -> datetime.date | None:
    """Return the day, in UTC, of a time in Unix seconds."""
    try:
        return datetime.datetime.fromtimestamp(float(seconds), datetime.UTC).date()
    except (TypeError, ValueError, OverflowError, OSError):
        return None
