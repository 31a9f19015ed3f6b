"""How forecasts with each shape and law have done: the table that a plugin ships beside them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from forecast.contract.registry import Record, get_registry
from forecast.errors import ForecastError, PluginError, UsageError, printable

#: Series of a record whose word counts as much as that of no record, which is that shapes are alike.
_PRIOR_SERIES = 10.0
_OVERALL_KEY = ("all", "all")


def of_shape(name: str) -> list[dict[str, Any]]:
    """Return the record of a shape: a row for each kind of series and horizon; none where its plugin keeps none.

    Returns
    -------
    list of dict
        ``kind`` of series, ``horizon``, how many ``series`` and ``forecasts``, the mean weighted interval ``score`` of
        the natural logarithm, the coverage of 90 % intervals (``held``), by how much the score is better than that of
        the last value (``over_last_value``, a share of it), and, if the table has them, the coverage of 50 % intervals
        (``half``) and the share of outcomes in each tenth of the forecasts (``deciles``, lowest first).

    Raises
    ------
    UnknownNameError, AmbiguousNameError
        If there is no such shape.
    PluginError
        If the plugin's table cannot be read.

    Examples
    --------
    >>> whole = of_shape("trends/local-linear")[0]
    >>> whole["kind"], whole["horizon"], 0.5 < whole["held"] < 1
    ('all', 'all', True)
    """
    return _record_rows("shape", name)


def of_law(name: str) -> list[dict[str, Any]]:
    """Return the track record of a law, fitted to the lower part of curves and scored on the upper; see `of_shape`.

    Examples
    --------
    >>> whole = of_law("scaling/saturating-power")[0]
    >>> whole["kind"], whole["horizon"], 0.5 < whole["held"] < 1
    ('all', 'all', True)
    """
    return _record_rows("law", name)


def _record_rows(what: str, name: str) -> list[dict[str, Any]]:
    record = get_registry().find(what, name)
    return _read_record_rows(record, what, record.spec.record, "past forecasts", _score_row)


def _score_row(row: Mapping[str, str]) -> dict[str, Any]:
    """Return a row of scores; two of its entries a table need not keep."""
    found: dict[str, Any] = {
        "kind": row["kind"], "horizon": row["horizon"], "series": int(row["series"]),
        "forecasts": int(row["forecasts"]), "score": float(row["score"]), "held": float(row["held"]),
        "over_last_value": float(row["over_last_value"]),
    }  # fmt: skip
    if row.get("half"):
        found["half"] = float(row["half"])
    if row.get("deciles"):
        found["deciles"] = [float(share) for share in row["deciles"].split()]
    return found


def _read_record_rows(
    record: Record, what: str, table: str, of: str, read_row: Callable[[Mapping[str, str]], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the rows of a table that are of one record; none where its plugin keeps none."""
    if not table:
        return []
    try:
        path = Path(table)
        found = path.stat()
        rows = _read_rows(path, (found.st_mtime_ns, found.st_size))
        return [read_row(row) for row in rows if row[what] == record.full_name]
    except (OSError, KeyError, ValueError, TypeError) as problem:
        why = printable(f"{type(problem).__name__}: {problem}", 200)
        raise PluginError(f"{what} '{record.full_name}': its record of {of} cannot be read: {why}") from None


@lru_cache(maxsize=16)
def _read_rows(path: Path, edition: tuple[int, int]) -> tuple[Mapping[str, str], ...]:
    """Return the rows of a table as it stands: an answer looks up each of the shapes behind it."""
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def of_crossings(name: str) -> list[dict[str, Any]]:
    """Return how often levels were reached by a date, as forecasts with a shape stated; none where no table is kept.

    Returns
    -------
    list of dict
        A row for each ``kind`` of series, ``statement`` (that a ``level`` is reached, or any new ``record`` set) and
        range of stated probability, from ``lower`` to ``upper``: the ``count`` of statements, their mean (``stated``)
        and the share that came true (``happened``). The row of the whole range has the ``brier`` score, and that of
        ``climatology``, the rate of other series; elsewhere they are None.

    Raises
    ------
    UnknownNameError, AmbiguousNameError
        If there is no such shape.
    PluginError
        If the plugin's table cannot be read.

    Examples
    --------
    >>> whole = of_crossings("trends/pool")[0]
    >>> whole["kind"], whole["statement"], whole["brier"] < whole["climatology"]
    ('all', 'level', True)
    """
    record = get_registry().find("shape", name)
    return _read_record_rows(record, "shape", record.spec.crossings, "levels", _crossing_row)


def _crossing_row(row: Mapping[str, str]) -> dict[str, Any]:
    return {
        "kind": row["kind"], "statement": row["statement"], "series": int(row["series"]), "count": int(row["count"]),
        **{key: float(row[key]) for key in ("lower", "upper", "stated", "happened")},
        **{key: float(row[key]) if row[key] else None for key in ("brier", "climatology")},
    }  # fmt: skip


def crossings_by_shape(models: Iterable[str], probability: float) -> dict[str, dict[str, Any]]:
    """Return how statements of about a probability, that a level is reached by a date, have done with these shapes.

    Parameters
    ----------
    models : iterable of str
        As of `coverage_by_shape`.
    probability : float

    Returns
    -------
    dict
        By shape, the row of `of_crossings` for all kinds of series that has the probability; shapes that keep no such
        record, or made no such statement, are left out.
    """

    def has_probability(row: Mapping[str, Any]) -> bool:
        of_levels = (row["kind"], row["statement"], row["brier"]) == ("all", "level", None)
        return bool(of_levels and row["lower"] <= probability and (probability < row["upper"] or row["upper"] == 1))

    return _row_by_shape(models, lambda shape: next(filter(has_probability, of_crossings(shape)), None))


def _row_by_shape(models: Iterable[str], find_row: Callable[[str], dict[str, Any] | None]) -> dict[str, dict[str, Any]]:
    """Return a row of each of the shapes of models that has one."""
    rows = {}
    for shape in dict.fromkeys(model.partition("@")[2] for model in models):
        with suppress(ForecastError):  # two shapes of this name, or a pool of several
            if shape and (row := find_row(shape)) is not None:
                rows[shape.rpartition("/")[2]] = row
    return rows


def _overall_row(name: str) -> dict[str, Any] | None:
    return next((row for row in of_shape(name) if (row["kind"], row["horizon"]) == _OVERALL_KEY), None)


def record_weights(shapes: Sequence[str], *, where: str = "") -> tuple[float, ...]:
    """Return the weights of rival shapes by their records: the inverse of the score, shrunk towards equal weights.

    Raises
    ------
    UsageError
        If no record of one is kept.
    """
    found = []
    for name in shapes:
        row = _overall_row(name)
        if row is None:
            at = f"{where}: " if where else ""
            raise UsageError(f"{at}no record of past forecasts is kept for the shape '{printable(name, 60)}'")
        found.append(row)
    inverse = [1 / row["score"] for row in found]
    least = min(row["series"] for row in found)
    trust = least / (least + _PRIOR_SERIES)
    return tuple(trust * each / sum(inverse) + (1 - trust) / len(inverse) for each in inverse)


def coverage_by_shape(models: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return how forecasts with the shapes of these models have done, by shape; those without a record are left out.

    Parameters
    ----------
    models : iterable of str
        As ``hardware/linpack@exponential``; others have no shape.
    """
    return _row_by_shape(models, _overall_row)


def record_sentence(models: Iterable[str]) -> str:
    """Return the scores of forecasts with the shapes of these models as one line; empty if there is no record.

    Parameters
    ----------
    models : iterable of str
        As of `coverage_by_shape`.
    """
    rows = coverage_by_shape(models)
    if not rows:
        return ""
    parts = [f"{name} {row['held']:.0%}, {row['over_last_value']:+.0%}" for name, row in rows.items()]
    return (
        "past forecasts with these shapes, up to ten years ahead: share of 90 % intervals that held, and how much "
        f"better than the last value: {'; '.join(parts)}"
    )
