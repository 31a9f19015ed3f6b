"""The one door for data: any ordinary file, frame, mapping or table becomes columns that say what they are."""

from __future__ import annotations

import contextlib
import copy
import functools
import numbers
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forecast.base import access
from forecast.errors import DataError, UsageError, printable
from forecast.tables.cache import file_stamp
from forecast.tables.columns import Columns, ReadOptions, columns_of_arrays, columns_of_table

#: Files that are kept as they were read.
MAX_FILES = 2


def read(
    data: Any, *, decimal: str = "", dates: str = "", missing: str | Sequence[str] = (), reader: str = ""
) -> Columns:
    r"""Read tabular data of any kind.

    The format of a file is told by its content: text with any separator, in UTF-8, UTF-16 or Latin-1, with lines above
    the header, units below it and totals at the end; JSON, JSON lines, YAML, XLSX, XLS, ODS, Parquet and tables of
    web pages; all of them under gzip; and what readers of plugins read. A column is understood at its first use:
    numbers in any spelling (``$1,200``, ``3.5 %``, ``12 GB``), dates in any form, or text.

    Parameters
    ----------
    data : path, str, DataFrame, xarray.Dataset, mapping of arrays, list of mappings, or array
        Text that is no file is the name of a table, its descriptor or its folder.
    decimal : {"", "comma", "point"}
        What separates decimals, if the numbers do not tell.
    dates : {"", "dmy", "mdy", "ymd"}
        The order of day, month and year, if the dates do not tell.
    missing : str or sequence of str
        Further words for a missing cell. ``"error"``: a missing cell in a column that is used is an error.
    reader : str
        The name of a plugin's reader; ``"none"``: none of them. Default: the one that fits the file.

    Returns
    -------
    Columns
        A mapping of column name to array: float64 (missing: NaN), ``datetime64[s]`` (NaT) or text (empty).
        ``kind(name)`` is what a column is, ``units`` the units that columns state, ``notes.line()`` the sentence about
        what was read.

    Raises
    ------
    DataError
        If it is no table, with the reason; in a column that is used, naming row and column.
    UsageError, UnknownNameError

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "prices.csv")
    >>> _ = path.write_text("Price list\n\nwhen;price\n3/30/2021;$1,200.50\n6/30/2021;TBD\n")
    >>> prices = read(path)
    >>> prices["price"], str(prices["when"][0]), prices.kind("when"), prices.units["price"]
    (array([1200.5,    nan]), '2021-03-30T00:00:00', 'time', 'USD')
    """
    for name, value, known in (("decimal", decimal, ("comma", "point")), ("dates", dates, ("dmy", "mdy", "ymd"))):
        if value and value not in known:
            raise UsageError(f"read: {name}: expected {' or '.join(known)}, got '{printable(value, 40)}'")
    words = (missing,) if isinstance(missing, str) else tuple(missing)
    return to_columns(data, options=ReadOptions(decimal=decimal, dates=dates, missing=words), reader=reader)


def to_columns(data: Any, *, where: str = "", options: ReadOptions | None = None, reader: str = "") -> Columns:
    """Return data as columns, with notes of their own; what `read` does, for a verb that names itself in messages."""
    chosen, at = options or ReadOptions(), f"{where}: " if where else ""
    if isinstance(data, Columns):
        return data.with_notes(copy.deepcopy(data.notes))
    if isinstance(data, (str, os.PathLike)):
        return _from_path(data, at, chosen, reader)
    if hasattr(data, "to_dataset") and hasattr(data, "dims") and getattr(data, "name", None) is not None:
        data = data.to_dataset()
    if hasattr(data, "data_vars") and hasattr(data, "dims"):
        return _from_dataset(data, where, at)
    if isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
        from forecast.tables.records import flatten_document, to_cells

        data = to_cells(flatten_document(data, f"{at}records")[1])
    if isinstance(data, Mapping):
        from forecast.tables.frames import align_columns

        plain = columns_of_arrays(align_columns(data, at), "data", at, options=chosen)
        return plain.with_units(declared_units(data))
    if type(data).__name__ == "ndarray" and (data.dtype.names or data.ndim == 2):
        names = data.dtype.names or [f"column {i + 1}" for i in range(data.shape[1])]
        parts = [data[name] for name in names] if data.dtype.names else data.T
        return columns_of_arrays(dict(zip(names, parts, strict=True)), "array", at, options=chosen)
    from forecast.tables.frames import frame

    plain_objects = list, tuple, set, bytes, numbers.Number, type(None)
    if isinstance(data, plain_objects) or (arrays := frame(data, at)) is None:
        kinds = "a Dataset, DataFrame, mapping of arrays, file or table name"
        raise DataError(f"{at}expected {kinds}, got {type(data).__name__}; give numbers by name: {{'x': [1, 2]}}")
    return columns_of_arrays(arrays, "data frame", at, options=chosen)


def _from_dataset(data: Any, where: str, at: str) -> Columns:
    import pandas as pd

    from forecast.tables import flatten_rows

    many = [d for d in data.dims if isinstance(data.indexes.get(d), pd.MultiIndex)]
    flat = flatten_rows(data.reset_index(many).drop_vars(many, errors="ignore") if many else data, where=where)
    label = printable(data.attrs.get("name", "data"), 80)
    flattened = columns_of_arrays({name: v.values for name, v in flat.variables.items()}, label, at)
    separate = tuple(str(n) for n, v in data.variables.items() if v.attrs.get("separate") == "yes")
    return flattened.with_units(declared_units(data.variables), separate)


def declared_units(data: Mapping[Any, Any]) -> dict[str, str]:
    """Return the units that columns state, as we write them (``unit``) or as others do (``units``)."""
    stated = {n: getattr(v, "attrs", {}) for n, v in data.items()}
    units = {n: attrs.get("unit", attrs.get("units")) for n, attrs in stated.items() if isinstance(attrs, Mapping)}
    return {n: unit for n, unit in units.items() if isinstance(unit, str)}


def _from_path(data: str | os.PathLike[str], at: str, options: ReadOptions, reader: str) -> Columns:
    text = os.fspath(data)
    from forecast import tables

    if not tables.is_plain_file(text):
        return tables.shared_table(data, where=at.removesuffix(": ")).columns.copied()
    stamp: tuple[int, ...] = ()
    with contextlib.suppress(OSError, ValueError):  # whoever reads it says what is wrong
        stamp = file_stamp(Path(text))
    found = _read_once(text, options, reader, stamp, access.current())
    return found.with_notes(copy.deepcopy(found.notes))


@functools.lru_cache(maxsize=MAX_FILES)
def _read_once(text: str, options: ReadOptions, reader: str, *state: Any) -> Columns:
    """Return the columns of a file, which every trend of a question reads again, as long as nothing changes it."""
    from forecast.tables import file_formats, frames

    if frames.is_parquet(text) and not reader:
        found = columns_of_arrays(frames.parquet(text, ""), printable(Path(text).name), "", options=options)
        found.from_file = True
        return found
    return columns_of_table(file_formats.read_file(text, reader=reader), options)
