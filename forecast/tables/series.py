"""Rows of a table as they stood before a date, and a column of it as a series in time."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from forecast import formula, tables, units
from forecast.base.arrays import Array
from forecast.base.dates import decimal_year, parse_year
from forecast.base.lazy import xr
from forecast.errors import (
    DataError,
    EmptyDataError,
    ForecastError,
    QualifierError,
    UnknownNameError,
    UsageError,
    first_names,
    printable,
)
from forecast.tables.column_names import columns_in, meant
from forecast.tables.columns import Columns
from forecast.tables.editions import LABEL_COLUMNS
from forecast.tables.same_place import note_dates_to_come, reduce_places
from forecast.tables.schema import separate
from forecast.units.qualifiers import ATTRIBUTES, infer


class Series(NamedTuple):
    """A series in time: decimal years, values, their unit where the data state one, and further columns of the rows.

    `undated` counts the rows with a value and without a date, which are left out, and `empty` those without a value in
    data that no descriptor describes: their holes may be accidents. `names` are what a table calls its rows, and `read`
    is the sentence about what was read of a file. `limits` are the smallest and the largest value that its descriptor
    allows.
    """

    time: Array
    value: Array
    unit: str | None
    covariates: dict[str, Array]
    undated: int = 0
    empty: int = 0
    names: tuple[str, ...] = ()
    read: str = ""
    limits: tuple[float | None, float | None] = (None, None)


#: When a row became known; without this column a row is known at its own date.
VINTAGE_COLUMN = "vintage"


def rows_as_of(
    data: Any, *, where: Mapping[str, str], as_of: float | None, name: str, date: str | None = None,
    reading: Mapping[str, Any] | None = None,
) -> Columns:  # fmt: skip
    """Return columns, cut to the rows that match and that were known before a date.

    Parameters
    ----------
    data : table name, path, Dataset, DataFrame or dict of arrays
    where : mapping of str to str
        Keep the rows whose column has this value, read in the column's own grammar.
    as_of : float, optional
        Decimal year.
    name : str
        For messages: who asks.
    date : str, optional
        The column that dates a row, where the table has no ``vintage``.
    reading : mapping, optional
        How a file is read: keywords of `forecast.read`.

    Raises
    ------
    UnknownNameError
        For a column that is not there.
    EmptyDataError
        If no row is left.
    """
    columns = tables.read(data, **reading) if reading else tables.to_columns(data, where=name)
    for key, text in where.items():
        columns = columns.where(key, text, f"{name}: {printable(key, 60)}")
    keep = np.ones(columns.rows, dtype=bool)
    if as_of is not None:
        dated = VINTAGE_COLUMN if VINTAGE_COLUMN in columns else date
        if dated is None:
            raise DataError(
                f"{name}: the table dates no row ('{VINTAGE_COLUMN}' is missing), so it cannot be read as of a date"
            )
        keep &= _time_of(columns, dated, data, name) < as_of
    if not columns.rows or not keep.any():
        condition = ", ".join(f"{k} = {printable(v, 40)}" for k, v in where.items())
        when = f" before {as_of:.2f}" if as_of is not None else ""
        raise EmptyDataError(f"{name}: no row is left{' where ' + condition if condition else ''}{when}")
    return columns.take(keep) if not keep.all() else columns


def _time_of(columns: Columns, name: str, data: Any, where: str) -> Array:
    """Return a column of dates as decimal years; of a file in any form, of arrays any number."""
    if columns.from_file:
        return columns.years(name)
    values = columns.column(name)
    if values.dtype.kind == "M":
        return decimal_year(values)
    if values.dtype.kind != "f":
        at = f"{where}: column '{printable(name, 60)}'"
        raise DataError(f"{at}: expected dates (YYYY, YYYY-MM or YYYY-MM-DD) or decimal years, got text")
    return values


def complete(columns: Columns, used: Iterable[str], name: str) -> Columns:
    """Return the rows that have a value in every column used, as `Columns.complete`; an error if none is left.

    Parameters
    ----------
    columns : Columns
    used : iterable of str
        Columns, and formulas over columns.
    name : str
        For messages: who asks.

    Raises
    ------
    EmptyDataError
        If no row is left.
    """
    names = sorted({column for text in used for column in columns_in(text, columns)})
    rows = columns.complete(names)
    if not rows.rows:
        raise EmptyDataError(f"{name}: no row has a value in all of {', '.join(names)}")
    for each in names:  # the notes say how it was read
        with contextlib.suppress(DataError):  # whoever computes with it says what is wrong
            rows.column(each)
    return rows


def read_columns(
    data: Any,
    *,
    x: str,
    y: str,
    covariates: Any = MappingProxyType({}),
    where: Mapping[str, str] | None = None,
    as_of: float | None = None,
    name: str = "series",
    qualifiers: Mapping[str, str] | None = None,
    since: str = "",
    records: bool = False,
    yearly: bool = False,
    reading: Mapping[str, Any] | None = None,
) -> Series:
    """Return time in decimal years, value, and the column's unit where the data state one; sorted by time.

    Rows without a value are left out, since a table has holes where nothing was measured, and so are rows without a
    date; an infinite value is an error. Rows that differ in what they
    measure (a column ``precision``, ``sparsity``, ``direction``, ...: see `forecast.units.qualifiers`) make no series,
    unless `qualifiers` says what they are together.

    Parameters
    ----------
    x, y : str
        A column, and a column or a formula over columns: ``peak/launch_price``.
    covariates : mapping of str to str
        Further columns of the same rows, each in the unit it has in the data: name to a column, or a formula over
        columns. A row that lacks a value in one of them is left out.
    where, as_of, name
        See `rows_as_of`.
    qualifiers : mapping, optional
        What the rows measure, where their columns would not tell.
    since : str
        Leave out the rows before this date (YYYY-MM-DD), and those without one.
    records : bool
        Keep the rows that set a record, a larger value than at every earlier date, and the last date, at which the last
        record still stands.
    yearly : bool
        Keep the largest value of each calendar year, with its date.
    reading : mapping, optional
        How a file is read: keywords of `forecast.read`, and ``reduce``, what becomes of several rows at one date.

    Raises
    ------
    UnknownNameError, DataError, EmptyDataError, QualifierError, FormulaError, UnitError, UsageError
    """
    how = dict(reading or {})
    rule = str(how.pop("reduce", ""))
    columns = rows_as_of(data, where=where or {}, as_of=as_of, name=name, date=x, reading=how)
    time = _time_of(columns, x, data, name)
    if columns.strict:  # a missing cell is refused
        columns.complete(column for column in (x, y) if column in columns)
    dataset = _dataset(data)
    value, unit, used = _value_column(columns, dataset, y, f"{name}: y")
    _check_finite(value, time, f"{name}: column '{printable(y, 60)}'")
    known = ~np.isnan(value)
    if not known.any():
        raise EmptyDataError(f"{name}: column '{printable(y, 60)}' has no values")
    more: dict[str, Array] = {}
    if not isinstance(covariates, Mapping):
        expected = f"expected a mapping of name to column, got {printable(covariates, 40)}"
        raise UsageError(f"{name}: covariates: {expected}")
    for key, text in covariates.items():
        at = f"{name}: column for '{printable(key, 60)}'"
        if _is_column(text, columns) and text not in columns:
            raise UnknownNameError("column", text, columns, where=at)
        more[key], _, also = _value_column(columns, dataset, text, at)
        used += also
        _check_finite(more[key], time, f"{at}: column '{printable(text, 60)}'")
        if not (known & ~np.isnan(more[key])).any():
            raise EmptyDataError(f"{at}: no row has both '{printable(y, 60)}' and '{printable(text, 60)}'")
        known &= ~np.isnan(more[key])
    empty = int((~known).sum()) if dataset is None else 0
    if since:
        known &= time >= parse_year(since, f"{name}: since")
        if not known.any():
            raise EmptyDataError(f"{name}: no row with '{printable(y, 60)}' is left since {printable(since, 40)}")
    undated = int((known & np.isnan(time)).sum())
    known &= ~np.isnan(time)
    if not known.any():
        raise EmptyDataError(f"{name}: no row with '{printable(y, 60)}' has a date in '{printable(x, 60)}'")
    separate.check_not_mixed(columns.take(known), name)
    for column in dict.fromkeys(used):
        own = {} if dataset is None else of_column(dataset, column)
        _check_qualifiers(columns.take(known), dataset, column, {**own, **(where or {}), **(qualifiers or {})}, name)
    read = ""
    if columns.from_file:
        whole = columns.complete_mask([x, *used])
        rows = columns.complete([x, *used]).take(
            known[whole], f"before {since}" if since else f"without {printable(y, 40)}"
        )
        note_dates_to_come(rows, time[known])
        if not (records or yearly):
            place, reduced, note = reduce_places(
                time[known], value[known], rule, f"{name}: {rows.label}", columns=rows, names=(x, y), by=False
            )
            rows.notes.series += [note] if note else []
            if note:
                return Series(place, reduced, unit, {}, undated, empty, (), rows.notes.line())
        read = rows.notes.line()
    called = _row_names(columns, dataset, used[0])
    kept = np.flatnonzero(known)
    kept = kept[np.argsort(time[kept], kind="stable")]
    if yearly:
        year = np.floor(time[kept])
        kept = np.array([kept[year == y][np.argmax(value[kept[year == y]])] for y in np.unique(year)])
    if records:
        # of one date the largest: what a shop sells on one day is no history
        kept = kept[np.lexsort((value[kept], time[kept]))]
        kept = kept[np.append(np.diff(time[kept]) > 0, True)]
        best = np.maximum.accumulate(value[kept])
        last, kept = kept[-1], kept[np.concatenate(([True], np.diff(best) > 0))]
        if time[last] > time[kept[-1]]:  # that nothing has come since is known, too
            value = value.copy()
            if called is not None:
                called = called.copy()
                called[last] = called[kept[-1]]  # whose record it is
            value[last], kept = value[kept[-1]], np.append(kept, last)
    names = () if called is None else tuple(called[kept].tolist())
    return Series(
        time[kept],
        value[kept],
        unit,
        {k: c[kept] for k, c in more.items()},
        undated,
        empty,
        names,
        read,
        _limits(dataset, y),
    )


def _limits(dataset: xr.Dataset | None, y: str) -> tuple[float | None, float | None]:
    """Return the limits that a table states of a column; of a formula none."""
    stated = {} if dataset is None or y not in dataset.variables else dataset[y].attrs
    return stated.get("minimum"), stated.get("maximum")


def _row_names(columns: Columns, dataset: xr.Dataset | None, used: str) -> NDArray[np.str_] | None:
    """Return what a table calls its rows: by a column for that, or by the key that tells most of them apart."""
    keys = [] if dataset is None or used not in dataset else [str(key) for key in dataset[used].dims]
    texts = [name for name in (*LABEL_COLUMNS, *keys) if name in columns and columns.column(name).dtype.kind == "U"]
    if not texts:
        return None
    best = next((name for name in texts if name in LABEL_COLUMNS), None)
    return columns.column(best or max(texts, key=lambda name: len(np.unique(columns.column(name)))))


def _check_finite(value: Array, time: Array, where: str) -> None:
    """Refuse infinities: they are no measurements, and not what a table writes where nothing was measured."""
    if (bad := np.isinf(value)).any():
        at = ["no date" if np.isnan(t) else f"{t:.2f}" for t in time[bad]]
        raise DataError(f"{where}: infinite at {first_names(at, 4)}; leave these rows out, or empty")


def _is_column(y: str, columns: Collection[str]) -> bool:
    """Tell a column from a formula over columns."""
    return y in columns or not any(c in y for c in "+-*/( ")


def _value_column(
    columns: Columns, dataset: xr.Dataset | None, y: str, where: str
) -> tuple[Array, str | None, tuple[str, ...]]:
    """Return a column or a formula over columns, its unit where all units are stated, and the columns used."""
    if _is_column(y, columns):
        column = columns.numeric(y)
        return column, None if dataset is None else dataset[y].attrs.get("unit"), (y,)
    parsed = formula.parse(y, where=where)
    which = {used: meant(used, columns, where) for used in parsed.names}
    values = {used: columns.numeric(which[used]) for used in parsed.names}
    with np.errstate(all="ignore"):
        series = np.broadcast_to(np.asarray(parsed.evaluate(values), dtype=float), (columns.rows,)).copy()
    stated = {} if dataset is None else {used: dataset[which[used]].attrs.get("unit") for used in parsed.names}
    known = {used: str(unit) for used, unit in stated.items() if unit is not None}
    unit = units.infer(parsed, known, where=where) if len(known) == len(parsed.names) else None
    return series, unit, tuple(which.values())


def common_qualifiers(
    data: Any, y: str, *, stated: Mapping[str, str] | None = None, where: str = ""
) -> Mapping[str, str]:
    """Return the qualifiers that a table states of a column, or of a formula over its columns, in all its rows.

    Parameters
    ----------
    data : table name, path or Dataset
        What is no table states nothing.
    y : str
    stated : mapping, optional
        Replaces what the table states.
    where : str

    Raises
    ------
    QualifierError
        Where a formula mixes columns that must not be mixed.
    """
    try:
        dataset = _dataset(data)
        if dataset is None:
            return dict(stated or {})
        known = [str(name) for name in dataset.variables]
        plain = _is_column(y, known)
        which = {"y": y} if plain else {n: meant(n, known, where) for n in formula.parse(y, where=where).names}
    except ForecastError:  # who reads the series says what is wrong with it
        return dict(stated or {})
    sides = {name: _statements_of_column(dataset, column) for name, column in which.items() if column in known}
    return infer("y" if plain else y, sides, qualifiers=stated, where=where)


def _statements_of_column(dataset: xr.Dataset, column: str) -> dict[str, str]:
    """Return what all rows of a column state: by columns of an attribute's name, and by the column's own words."""
    agreed: dict[str, str] = {}
    for attribute in ATTRIBUTES:
        if attribute in dataset.variables and set(dataset[attribute].dims) <= set(dataset[column].dims):
            values = {str(v) for v in dataset[attribute].values.ravel()} - {""}
            agreed |= {attribute: values.pop()} if len(values) == 1 else {}
    return {name: value for name, value in {**agreed, **of_column(dataset, column)}.items() if value}


def of_column(dataset: xr.Dataset, column: str) -> dict[str, str]:
    """Return what a table's descriptor states of a column; an empty text: no statement, whatever its rows say."""
    words = dataset[column].attrs.get("qualifiers", "") if column in dataset.variables else ""
    try:
        stated = json.loads(words)
    except (TypeError, ValueError):  # a Dataset of the user's own may use the word as it likes
        return {}
    return {n: str(v) for n, v in stated.items() if n in ATTRIBUTES} if isinstance(stated, dict) else {}


def _dataset(data: Any) -> xr.Dataset | None:
    """Return the table that units and dimensions are read from; None for what has neither."""
    dataset = tables.look(data) if isinstance(data, str) and not tables.is_plain_file(data) else data
    return dataset if hasattr(dataset, "data_vars") else None


def _check_qualifiers(rows: Columns, dataset: xr.Dataset | None, y: str, stated: Mapping[str, str], name: str) -> None:
    for attribute in ATTRIBUTES:
        if attribute in stated or attribute not in rows or attribute == y:
            continue
        # the precision of a peak says nothing of the price, which has no such dimension
        if dataset is not None and not set(dataset[attribute].dims) <= set(dataset[y].dims):
            continue
        if says := separate.describe_mixture(rows, attribute):
            raise QualifierError(f"{name}: column '{printable(y, 60)}' {says}")
