"""Anything tabular -> columns: one-dimensional arrays of float64, text or ``datetime64[s]``, all of one length."""

from __future__ import annotations

import datetime
import decimal
import functools
import numbers
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast.base.lazy import is_masked_array
from forecast.errors import DataError, EmptyDataError, TableError, UnknownNameError, UsageError, printable
from forecast.tables import csv_format, plain_csv
from forecast.tables.schema import cells

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]

__all__ = ["Columns", "declared_units", "to_columns"]

#: Text is kept at the width of the longest cell; one giant cell among many rows would fill the memory.
MAX_TEXT_BYTES = 2**30


class Columns(Mapping[str, "Array"]):
    """Column name to a one-dimensional array of float64, text or ``datetime64[s]``.

    A column is converted at its first use: one that cannot be converted is an error only for code that reads it.

    Attributes
    ----------
    rows : int
        The length of every column.
    label : str
        Where they come from, for messages.
    units : mapping of str to str
        Of the columns that state one.
    separate : tuple of str
        Columns whose rows must not be mixed (see `forecast.tables.schema.separate`).
    """

    def __init__(
        self,
        sources: Mapping[str, Callable[[], Array]],
        rows: int,
        label: str,
        units: Mapping[str, str] | None = None,
        separate: tuple[str, ...] = (),
    ) -> None:
        self._sources, self.rows, self.label, self.separate = dict(sources), rows, label, separate
        self.units = {name: unit for name, unit in (units or {}).items() if unit and name in self._sources}
        self._ready: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._ready:
            if name not in self._sources:
                raise KeyError(name)
            self._ready[name] = self._sources[name]()
        return self._ready[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def __repr__(self) -> str:
        return f"Columns({self.label}: {self.rows} rows; {printable(', '.join(self), 200)})"

    def take(self, keep: npt.NDArray[np.bool_]) -> Columns:
        """Return the rows marked in `keep`; columns are still converted at their first use."""
        sources = {name: functools.partial(self._taken, name, keep) for name in self}
        return Columns(sources, int(keep.sum()), self.label, self.units, self.separate)

    def copied(self) -> Columns:
        """Return columns that may be written to: each is copied at its first use."""
        sources = {name: functools.partial(self._copied, name) for name in self}
        return Columns(sources, self.rows, self.label, self.units, self.separate)

    def replaced(self, changed: Mapping[str, Array], units: Mapping[str, str]) -> Columns:
        """Return the columns with some that are new, or stand in for those of their name, in units of their own."""
        own = {name: functools.partial(self.__getitem__, name) for name in self if name not in changed}
        new = {name: functools.partial(changed.__getitem__, name) for name in changed}
        kept = {name: unit for name, unit in self.units.items() if name not in changed}
        return Columns({**own, **new}, self.rows, self.label, {**kept, **units}, self.separate)

    def _taken(self, name: str, keep: npt.NDArray[np.bool_]) -> Array:
        return self[name][keep]

    def _copied(self, name: str) -> Array:
        return self[name].copy()

    def column(self, name: str) -> Array:
        """Return a column; an unknown name suggests the nearest.

        Raises
        ------
        UnknownNameError
        """
        if name not in self._sources:
            raise UnknownNameError("column", name, self, where=self.label)
        return self[name]

    def numeric(self, name: str) -> npt.NDArray[np.float64]:
        """Return a column that must be numbers.

        Raises
        ------
        UnknownNameError, TableError
        """
        values = self.column(name)
        if values.dtype.kind != "f":
            kind = "dates" if values.dtype.kind == "M" else "text"
            example = "" if kind == "dates" else f" ('{printable(next((c for c in values if c), ''), 40)}')"
            raise TableError(f"{self.label}: column '{printable(name, 80)}': expected numbers, got {kind}{example}")
        return values


def to_columns(data: Any, *, where: str = "") -> Columns:
    """Bring tabular data of any kind into columns.

    Parameters
    ----------
    data : xarray.Dataset, DataFrame, mapping of arrays, path or str
        A Dataset is flattened to rows (see `forecast.tables.flatten_rows`). A DataFrame may be of pandas, polars,
        pyarrow or any library that narwhals knows; named levels of a pandas index are columns. Series and DataArrays
        in a mapping are matched by their labels. A path ending in ``.csv`` is read by `forecast.tables.csv_format`,
        one in ``.parquet`` by pyarrow; other text is a table's name, descriptor or folder.
    where : str
        What the data are for, for messages.

    Returns
    -------
    Columns
        A mapping. Numbers and truth values are float64 (missing: NaN), text is ``str`` (missing: empty), dates are
        ``datetime64[s]`` (missing: NaT). In a bare CSV a column is numbers, or dates, where more than half of its cells
        are; then every other cell is an error when the column is used.

    Raises
    ------
    DataError
        If it is no table: wrong kind, not one-dimensional, columns of different length, no rows.

    Examples
    --------
    >>> columns({"x": [1, 2], "name": ["a", "b"]})["x"]
    array([1., 2.])
    """
    if isinstance(data, Columns):
        return data
    at = f"{where}: " if where else ""
    if isinstance(data, (str, os.PathLike)):
        return _from_path(data, at)
    if hasattr(data, "to_dataset") and hasattr(data, "dims") and getattr(data, "name", None) is not None:
        data = data.to_dataset()
    if hasattr(data, "data_vars") and hasattr(data, "dims"):
        return _from_dataset(data, where, at)
    if isinstance(data, Mapping):
        from forecast.tables.frames import align_columns

        plain = _from_arrays(align_columns(data, at), "data", at)
        return Columns(plain._sources, plain.rows, plain.label, declared_units(data))
    kinds = "a Dataset, DataFrame, mapping of arrays, CSV or Parquet path or table name"
    if isinstance(data, (list, tuple, set, bytes, numbers.Number)) or data is None:
        raise DataError(f"{at}expected {kinds}, got {type(data).__name__}")
    from forecast.tables.frames import frame

    arrays = frame(data, at)
    if arrays is None:
        raise DataError(f"{at}expected {kinds}, got {type(data).__name__}")
    return _from_arrays(arrays, "data frame", at)


def _from_dataset(data: Any, where: str, at: str) -> Columns:
    import pandas as pd

    from forecast.tables import flatten_rows

    many = [d for d in data.dims if isinstance(data.indexes.get(d), pd.MultiIndex)]
    flat = flatten_rows(data.reset_index(many).drop_vars(many, errors="ignore") if many else data, where=where)
    label = printable(data.attrs.get("name", "data"), 80)
    flattened = _from_arrays({name: v.values for name, v in flat.variables.items()}, label, at)
    separate = tuple(str(n) for n, v in data.variables.items() if v.attrs.get("separate") == "yes")
    return Columns(flattened._sources, flattened.rows, flattened.label, declared_units(data.variables), separate)


def declared_units(data: Mapping[Any, Any]) -> dict[str, str]:
    """Return the units that columns state, as we write them (``unit``) or as others do (``units``)."""
    stated = {n: getattr(v, "attrs", {}) for n, v in data.items()}
    units = {n: attrs.get("unit", attrs.get("units")) for n, attrs in stated.items() if isinstance(attrs, Mapping)}
    return {n: unit for n, unit in units.items() if isinstance(unit, str)}


def _from_path(data: str | os.PathLike[str], at: str) -> Columns:
    text = os.fspath(data)
    suffix = Path(text).suffix.lower()
    if suffix == ".csv":
        return _from_csv(*csv_format.load_bytes(text))
    if suffix in (".parquet", ".pq"):
        from forecast.tables.frames import parquet

        return _from_arrays(parquet(text, at), printable(Path(text).name), at)
    if suffix in (".npz", ".npy", ".pkl", ".pickle", ".nc", ".xlsx", ".tsv", ".txt", ".dat"):
        kinds = "a .csv or .parquet file, a datapackage.json or the name of a table"
        raise UsageError(f"{at}'{printable(text)}': expected {kinds}")
    from forecast.tables import as_columns

    return as_columns(data, where=at.removesuffix(": "))


def _from_csv(data: bytes, label: str) -> Columns:
    """Read a file cell by cell, or, a large one, only the columns of it that must be."""
    cell_by_cell = functools.cache(lambda: csv_format.parse_csv(data, label))
    whole = csv_format.read_plain_header(data, label) if len(data) >= plain_csv.MIN_FAST_BYTES else None

    def source(name: str) -> Callable[[], Array]:
        def values() -> Array:
            numbers = whole[1].numbers(whole[0][name]) if whole else None
            return _infer_column(cell_by_cell(), name) if numbers is None else numbers

        return values

    names, rows = (whole[0], whole[1].rows) if whole else (cell_by_cell(), len(cell_by_cell().lines))
    return Columns({name: source(name) for name in names}, rows, label)


def _infer_column(read: csv_format.CsvColumns, name: str) -> Array:
    """Give a bare column the type that most of its cells have; the others are then errors."""
    import numpy as np

    column = read[name]
    known = [cell for cell in column if not cells.is_nothing(cell)]
    count = sum(map(cells.meant_as_number, known))
    parse: Callable[[str], Any]
    missing: Any
    if 2 * count > len(known) or not any(column):
        parse, dtype, missing = cells.parse_cell_number, "float64", np.nan
    elif 2 * sum(map(cells.is_date, known)) > len(known):
        parse, dtype, missing = cells.date, "datetime64[s]", np.datetime64("NaT", "s")
    else:
        return text_array([cells.normalise_text(c) for c in column], f"{read.label}: column '{printable(name, 80)}'")
    values: list[Any] = []
    failures: list[str] = []
    for row, cell in enumerate(column):
        try:
            values.append(parse(cell) if cell else missing)
        except ValueError as error:
            failures.append(f"{read.at(row, name)}: '{printable(cell, 60)}': {error}")
    if failures:
        raise TableError(failures)
    return np.array(values, dtype=dtype)


def _from_arrays(data: Mapping[Any, Any], label: str, at: str) -> Columns:
    sources: dict[str, Callable[[], Array]] = {}
    length: int | None = None
    first = ""
    for name, values in data.items():
        if not isinstance(name, str):
            raise DataError(f"{at}{label}: expected text as a column's name, got {printable(repr(name), 60)}")
        key = cells.normalise_text(name)
        where = f"{at}{label}: column '{printable(name, 80)}'"
        if key in sources:
            raise DataError(f"{where} is given twice (in two spellings of Unicode)")
        array = _array(values, where)
        if length is not None and len(array) != length:
            raise DataError(f"{where} has {len(array)} rows, '{printable(first, 80)}' has {length}")
        length, first = len(array), first or name
        sources[key] = _later(array, where)
    if not length:
        raise EmptyDataError(f"{at}{label}: no {'columns' if length is None else 'rows'}")
    return Columns(sources, length, label)


def _later(array: Array, where: str) -> Callable[[], Array]:
    return lambda: coerce(array, where)


def _array(values: Any, where: str) -> Array:
    import numpy as np

    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise DataError(f"{where}: expected one value a row, got {type(values).__name__}")
    if is_masked_array(values):
        missing: Any = np.nan if values.dtype.kind in "biuf" else None
        values = np.ma.filled(values.astype(object if missing is None else float), missing)
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufM" and isinstance(values, (list, tuple)):
            array = np.empty(len(values), dtype=object)  # numpy would turn [1, "a"] into text
            array[:] = values
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError(f"{where}: {printable(error, 100)}") from error
    if array.ndim != 1:
        raise DataError(f"{where}: expected one dimension, got {array.ndim}")
    return array


def coerce(array: Array, where: str) -> Array:
    """Return an array as float64, text or ``datetime64[s]``; it is a copy, so that nobody writes to the caller's."""
    import numpy as np

    kind = array.dtype.kind
    if kind in "biuf":
        return array.astype(np.float64)
    if kind == "M":
        return array.astype("datetime64[s]")
    if kind in "UT":
        return text_array([cells.normalise_text(str(v)) for v in array], where)
    if kind != "O":
        raise DataError(f"{where}: expected numbers, text or dates, got {array.dtype}")
    return _from_objects(array, where)


def _from_objects(array: Array, where: str) -> Array:
    """Sort out an object array: one kind in it, and None, NaN, NaT and NA as missing."""
    import numpy as np

    kind_of = [_value_kind(value) for value in array]
    kinds = {k for k in kind_of if k != "missing"}
    if len(kinds) > 1:
        # The rarer kind is the surprise: name its first row.
        rare = min(sorted(kinds), key=kind_of.count)
        row = kind_of.index(rare)
        others = ", ".join(sorted(kinds - {rare}))
        raise DataError(f"{where}: row {row}: {rare} '{printable(array[row], 60)}' among {others}")
    kind = kinds.pop() if kinds else "number"
    if kind == "number":
        try:
            return np.array([np.nan if f == "missing" else float(v) for v, f in zip(array, kind_of, strict=True)])
        except OverflowError:
            raise DataError(f"{where}: a number is outside the range of double precision") from None
    if kind == "text":
        texts = ["" if f == "missing" else cells.normalise_text(str(v)) for v, f in zip(array, kind_of, strict=True)]
        return text_array(texts, where)
    if kind != "date":
        raise DataError(f"{where}: row {kind_of.index(kind)}: expected a number, text or a date, got {kind}")
    stamps = ["NaT" if f == "missing" else v.isoformat() for v, f in zip(array, kind_of, strict=True)]
    return np.array([np.datetime64(s).astype("datetime64[s]") for s in stamps], dtype="datetime64[s]")


def _value_kind(value: Any) -> str:
    if value is None or type(value).__name__ in ("NaTType", "NAType"):
        return "missing"
    if isinstance(value, str):
        return "text"
    if isinstance(value, decimal.Decimal):
        return "missing" if value.is_nan() else "number"
    if isinstance(value, numbers.Real):
        return "missing" if value != value else "number"
    if isinstance(value, (datetime.date, datetime.datetime)):
        return "a date with a time zone" if getattr(value, "tzinfo", None) else "date"
    return f"a {type(value).__name__}"


def text_array(values: list[str], where: str) -> Array:
    """Return text as a numpy array of fixed width, within a bound of memory."""
    import numpy as np

    longest = max(map(len, values), default=0)
    if 4 * longest * len(values) > MAX_TEXT_BYTES:
        raise DataError(f"{where}: a cell of {longest:,} characters in {len(values):,} rows takes too much memory")
    return np.array(values, dtype=f"<U{max(longest, 1)}")
