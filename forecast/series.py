"""Rows of a table as they stood before a date, and a column of it as a series in time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from forecast.errors import DataError, EmptyDataError, printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forecast.tables.intake import Columns

    Array = NDArray[np.float64]

__all__ = ["read", "rows"]

#: When a row became known; without this column a row is known at its own date.
KNOWN = "known_since"


def _years(values: Any, where: str) -> Array:
    import numpy as np

    from forecast import tables

    if np.issubdtype(values.dtype, np.datetime64):
        return tables.decimal_year(values)
    if not np.issubdtype(values.dtype, np.number):
        raise DataError(f"{where}: expected dates (YYYY, YYYY-MM or YYYY-MM-DD) or decimal years, got text")
    return np.asarray(values, dtype=float)


def rows(data: Any, *, where: Mapping[str, str], before: float | None, name: str, date: str | None = None) -> Columns:
    """Return columns, cut to the rows that match and that were known before a date.

    Parameters
    ----------
    data : table name, path, Dataset, DataFrame or dict of arrays
    where : mapping of str to str
        Keep the rows whose column has this value, read in the column's own grammar.
    before : float, optional
        Decimal year.
    name : str
        For messages: who asks.
    date : str, optional
        The column that dates a row, where the table has no ``known_since``.

    Raises
    ------
    UnknownNameError
        For a column that is not there.
    EmptyDataError
        If no row is left.
    """
    import numpy as np

    from forecast import tables

    columns = tables.columns(data, where=name)
    keep = np.ones(columns.rows, dtype=bool)
    for key, text in where.items():
        values = columns.column(key)
        keep &= values == tables.wanted(values, "", text, f"{name}: {printable(key, 60)}")
    if before is not None:
        dated = KNOWN if KNOWN in columns else date
        if dated is None:
            raise DataError(f"{name}: the table dates no row ('{KNOWN}' is missing), so it cannot be read as of a date")
        keep &= _years(columns.column(dated), f"{name}: column '{printable(dated, 60)}'") < before
    if not keep.any():
        said = ", ".join(f"{k} = {printable(v, 40)}" for k, v in where.items())
        when = f" before {before:.2f}" if before is not None else ""
        raise EmptyDataError(f"{name}: no row is left{' where ' + said if said else ''}{when}")
    return columns.take(keep)


def read(
    data: Any,
    *,
    x: str,
    y: str,
    where: Mapping[str, str] | None = None,
    before: float | None = None,
    name: str = "series",
) -> tuple[Array, Array, str | None]:
    """Return time in decimal years, value, and the column's unit where the data state one; sorted by time.

    Rows without a value are left out: a table has holes where nothing was measured.

    Raises
    ------
    UnknownNameError, DataError, EmptyDataError
    """
    import numpy as np

    columns = rows(data, where=where or {}, before=before, name=name, date=x)
    time = _years(columns.column(x), f"{name}: column '{printable(x, 60)}'")
    value = columns.numeric(y)
    known = ~np.isnan(value)
    if not known.any():
        raise EmptyDataError(f"{name}: column '{printable(y, 60)}' has no values")
    if np.isnan(time[known]).any():
        raise DataError(f"{name}: column '{printable(x, 60)}': a row with a value has no date")
    order = np.argsort(time[known], kind="stable")
    return time[known][order], value[known][order], _unit(data, y)


def _unit(data: Any, column: str) -> str | None:
    from forecast import tables

    dataset = tables.table(data) if isinstance(data, str) and not data.lower().endswith(".csv") else data
    attrs = getattr(dataset[column], "attrs", {}) if hasattr(dataset, "data_vars") else {}
    return attrs.get("unit")
