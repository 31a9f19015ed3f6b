"""Data frames of any library (through narwhals), Parquet files, and labelled columns -> plain arrays.

Everything here is imported when such data come; nothing of it is needed to read a CSV or a table of the catalogue.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from forecast.base.arrays import AnyArray
from forecast.base.budgets import check_memory
from forecast.base.files import check_regular, open_regular, replace_atomically
from forecast.errors import DataError, UsageError, one_line, printable

MAX_FRAME_CELLS = 100_000_000
MAX_PARQUET_BYTES = 2**31
#: Copies of a Parquet file in memory: one of Arrow, and one of numpy.
PARQUET_MEMORY_FACTOR = 2


def frame(data: Any, at: str) -> dict[str, AnyArray] | None:
    """Return the columns of a pandas, polars, pyarrow or other data frame; None where it is none.

    The named levels of a pandas index are columns too, unless a column has that name; other indices are ignored.
    """
    import narwhals as nw

    if nw.dependencies.is_pandas_like_dataframe(data):
        return _from_pandas(data, at)
    native = nw.from_native(data, pass_through=True)
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    if not isinstance(native, nw.DataFrame):
        return None
    return {name: _to_numpy(native[name]) for name in native.columns}


def _from_pandas(data: Any, at: str) -> dict[str, AnyArray]:
    names = list(data.columns)
    if len(set(names)) != len(names):
        raise DataError(f"{at}data frame: a column name is given twice: {printable(names)}")
    columns = {name: data[name] for name in names}
    for i, level in enumerate(data.index.names):
        if isinstance(level, str) and level not in columns:
            columns[level] = data.index.get_level_values(i).to_series()
    in_utc = {n: c if getattr(c.dtype, "tz", None) is None else c.dt.tz_convert(None) for n, c in columns.items()}
    return {name: column.to_numpy() for name, column in in_utc.items()}


def _to_numpy(series: Any) -> AnyArray:
    """Return a polars or pyarrow column as numpy has it, dates in UTC; what is no value as its type, refused later."""
    import narwhals as nw

    kind = series.dtype
    if isinstance(kind, nw.Datetime) and kind.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    elif kind == nw.Decimal:
        series = series.cast(nw.Float64)
    elif kind in (nw.Categorical, nw.Enum, nw.String):
        series = series.cast(nw.String)
    elif kind.is_nested() or kind in (nw.Duration, nw.Time, nw.Binary, nw.Object, nw.Unknown):
        return np.full(len(series), kind, dtype=object)
    values: AnyArray = series.to_numpy()
    return values


def parquet(path: str, at: str) -> dict[str, AnyArray]:
    """Return the columns of a Parquet file.

    Raises
    ------
    UsageError
        Without pyarrow, saying how to get it.
    DataError
        If the file is missing, too large or damaged.
    """
    check_parquet(f"{at}'{printable(path)}': reading")
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_regular(Path(path), limit=MAX_PARQUET_BYTES)
    shown = f"{at}{printable(Path(path).name)}"
    try:
        with pq.ParquetFile(path) as file:
            rows, width = file.metadata.num_rows, file.metadata.num_columns
            if rows * width > MAX_FRAME_CELLS:
                raise DataError(f"{shown}: {rows * width:,} cells; at most {MAX_FRAME_CELLS:,} are read")
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            stated = sum(max(group.total_byte_size, 0) for group in groups)
            # a value packed in a dictionary takes a few bits in the file
            check_memory(
                PARQUET_MEMORY_FACTOR * max(stated, 8 * rows * width), f"{shown}: reading it takes", error=DataError
            )
            table = file.read()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{shown}: not a Parquet file that can be read: {one_line(error, 160)}") from error
    if len(set(table.column_names)) != len(table.column_names):
        raise DataError(f"{shown}: a column name is given twice")
    return frame(table, at) or {}


def is_parquet(path: str) -> bool:
    """Return True if a file begins as Parquet does."""
    try:
        with open_regular(Path(path), 1 << 40, DataError) as handle:
            return os.read(handle, 4) == b"PAR1"
    except (DataError, OSError):  # whoever reads the file says so
        return False


def check_parquet(doing: str) -> None:
    """Refuse Parquet without pyarrow.

    Raises
    ------
    UsageError
        Saying how to get it.
    """
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise UsageError(f"{doing} Parquet needs pyarrow: pip install 'lawcast[parquet]'") from None


def write_parquet(path: str | os.PathLike[str], columns: Mapping[str, Sequence[Any] | AnyArray]) -> Path:
    """Write columns as Parquet, whole or not at all, and return the path; None is a missing cell.

    Raises
    ------
    UsageError
        Without pyarrow.
    ResultError
        If the file cannot be written; see `forecast.base.files.safe_output`.
    """
    check_parquet(f"'{printable(path, 60)}': writing")
    import pyarrow as pa
    import pyarrow.parquet as pq

    with replace_atomically(path) as temporary, temporary.open("wb") as stream:
        pq.write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), stream)
    return Path(path)


def align_columns(data: Mapping[Any, Any], at: str) -> Mapping[Any, Any]:
    """Bring labelled columns of a mapping (pandas Series, xarray.DataArray) into the order of the first of them.

    Raises
    ------
    DataError
        If their labels are not the same ones: no value is dropped or invented to make them meet. So are labels beside
        columns that have none, unless they count the rows from 0: what belongs together is not guessed.
    """
    changed: dict[Any, Any] = {}
    for kind in ("Series", "DataArray"):
        names = [name for name, values in data.items() if _label_kind(values) == kind]
        own = row_labels(data[names[0]]) if names else None
        for other in data:
            both = f"'{printable(names[0], 60)}' and '{printable(other, 60)}'" if names else ""
            if other in names[1:]:
                changed[other] = _reordered(data[names[0]], data[other], f"{at}columns {both}")
            elif own is not None and other not in names and not own.equals(row_labels(data[other])):
                raise DataError(f"{at}columns {both}: one has row labels that the other has not; {POSITION_HINT}")
    return {**data, **changed} if changed else data


#: What to do about labels that nothing else has.
POSITION_HINT = "give both the same labels, or match by position with .to_numpy()"


def _label_kind(values: Any) -> str | None:
    """Return what kind of labelled column this is; None where it has no labels (those of polars have none)."""
    kind = type(values).__name__
    return kind if kind in ("Series", "DataArray") and hasattr(values, "reindex") else None


def row_labels(data: Any) -> Any:
    """Return the row labels of a pandas object or a one-dimensional DataArray; None where they only count the rows.

    Examples
    --------
    >>> import pandas as pd
    >>> row_labels(pd.Series([1.0, 2.0], index=["a", "b"])).to_list(), row_labels(pd.Series([1.0, 2.0]))
    (['a', 'b'], None)
    """
    if hasattr(data, "dims"):
        index = data.indexes.get(next(iter(data.dims))) if len(data.dims) == 1 else None
    else:
        index = getattr(data, "index", None) if hasattr(data, "reindex") else None
    if index is None or (index.dtype.kind in "iu" and np.array_equal(index.to_numpy(), np.arange(len(index)))):
        return None
    return index


def align_to_data(data: Any, extra: Any, where: str) -> Any:
    """Return a labelled column that is given beside data, in the order of the data's rows.

    Parameters
    ----------
    data : as in `forecast.tables.columns`
    extra : Series, DataArray or anything else
        What has no labels is returned as it is.
    where : str
        What it is, for messages.

    Raises
    ------
    DataError
        If the data have no labels and `extra` has, or others.
    """
    if _label_kind(extra) is None or len(getattr(extra, "dims", (1,))) != 1:
        return extra
    if isinstance(data, Mapping) and not hasattr(data, "dims"):
        data = next((values for values in data.values() if _label_kind(values) is not None), None)
    one, two = row_labels(data), row_labels(extra)
    if two is None and (one is None or hasattr(extra, "dims")):
        return extra
    two = extra.index if two is None else two
    if one is None or not _are_same_labels(one, two):
        if one is not None and one.equals(two):
            return extra
        raise DataError(f"{where} has row labels that the data do not have; {POSITION_HINT}")
    return extra.reindex({extra.dims[0]: one}) if hasattr(extra, "dims") else extra.reindex(one)


def _are_same_labels(one: Any, two: Any) -> bool:
    """Return True if two indices hold the same labels, each once."""
    return bool(len(one) == len(two) and one.is_unique and two.is_unique and one.isin(two).all())


def _reordered(first: Any, other: Any, where: str) -> Any:
    """Return a labelled column, in the order of the labels of another along each dimension that both have."""
    is_array = hasattr(other, "dims")
    for dim in other.dims if is_array else ("index",):
        one, two = (each.indexes.get(dim) if is_array else each.index for each in (first, other))
        if one is None or two is None or one.equals(two):
            continue
        if not _are_same_labels(one, two):
            along = f" along '{printable(dim, 40)}'" if is_array else ""
            raise DataError(f"{where}: their labels{along} differ, so that rows cannot be matched")
        other = other.reindex({dim: one} if is_array else one)
    return other.transpose(*(d for d in first.dims if d in other.dims), ...) if is_array else other
