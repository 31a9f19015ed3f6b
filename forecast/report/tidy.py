"""A projection as one table of plain columns, for spreadsheets, R and data frames.

Every row is one answer or one step: of a *question* (its quantiles are dates as decimal years), of the same *pooled*
over rivals, of the *probability* that it is so by a date, of a *value* at a date, of what comes *first*, of a
*ranking*, of a *regime*, or of a *quantity* at a date. A cell that does not apply is empty; so is a
quantile inside the never mass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from forecast.base.dates import decimal_year
from forecast.base.quantiles import QUANTILE_NAMES
from forecast.projection.result import Projection
from forecast.report import result_data

__all__ = ["tidy_columns"]

_LEADING_COLUMNS, _TRAILING_COLUMNS = (
    ("kind", "name", "of", "unit"),
    ("date", *QUANTILE_NAMES, "probability", "already", "never"),
)


def tidy_columns(run: Projection, *, only: Collection[str] = ()) -> dict[str, list[Any]]:
    """Return the table: ``kind``, ``name``, ``of``, ``unit``, a column for each choice, ``date``, and the figures.

    Parameters
    ----------
    run : Projection
    only : collection of str
        Only the steps of these quantities. Default: everything.

    Returns
    -------
    dict of list
        ``p05`` to ``p95``, ``probability``, ``already`` and ``never`` are numbers, or None. ``of`` is what a row speaks
        of beyond its name: a condition, one of several questions, one value of a ranking or of a regime. A choice over
        which a row is pooled, or on which it does not depend, is empty.
    """
    choices = list(run.choices)
    heads = {name: _column_name(name) for name in choices}
    names = [*_LEADING_COLUMNS, *heads.values(), *_TRAILING_COLUMNS]
    table: dict[str, list[Any]] = {name: [] for name in names}
    for row, chosen in _step_rows(run, only) if only else _tidy_rows(run):
        whole = {**row, **{heads[c]: value for c, value in chosen.items()}}
        for name in names:
            table[name].append(whole.get(name))
    return table


def _column_name(name: str) -> str:
    """Return a head for a choice: its name, unless a column has it."""
    return f"{name} (choice)" if name in (*_LEADING_COLUMNS, *_TRAILING_COLUMNS) else name


Row = tuple[dict[str, Any], Mapping[str, str]]


def _tidy_rows(run: Projection) -> Iterator[Row]:
    for kind, rows in (("question", result_data.date_rows(run)), ("pooled", result_data.pooled_rows(run))):
        for row in rows:
            about = {"name": row["name"], "of": row["when"]}
            dates = {q: _decimal_year_or_none(row["crossing"][q]) for q in QUANTILE_NAMES}
            yield {"kind": kind, **about, "unit": "year", **row["crossing"], **dates}, row["choices"]
            yield from (({"kind": "probability", **about, **by}, row["choices"]) for by in row.get("dates", ()))
    for row in result_data.value_answers(run):
        about = {"kind": "value", "name": row["name"], "of": row.get("value", row.get("growth")), "unit": row["unit"]}
        yield from (({**about, **at}, row["choices"]) for at in row["dates"])
    for row in result_data.first_answers(run):
        about = {"kind": "first", "name": row["name"]}
        for event, share in {**row["first"], "(together)": row["together"], "(none)": row["none"]}.items():
            yield {**about, "of": event, "probability": share}, row["choices"]
    for row in result_data.ranking_rows(run):
        about = {"kind": "ranking", "name": row["name"], "unit": row["unit"]}
        for entry in row["order"]:
            yield {**entry, **about, "of": entry["name"], "probability": entry["first"]}, row["choices"]
    for row in result_data.regime_rows(run):
        for label, share in row["shares"].items():
            yield {"kind": "regime", "name": row["name"], "of": label, "probability": share}, row["choices"]
    yield from _step_rows(run, None)


def _step_rows(run: Projection, only: Collection[str] | None) -> Iterator[Row]:
    for row in result_data.quantity_rows(run, only=only):
        about = {"kind": "quantity", "name": row["name"], "unit": row["unit"]}
        for i, date in enumerate(row["time"]):
            yield {**about, "date": date, **{q: row[q][i] for q in QUANTILE_NAMES}}, row["choices"]


def _decimal_year_or_none(date: str | None) -> float | None:
    return None if date is None else float(decimal_year(np.array([date], dtype="datetime64[s]"))[0])
