"""Dates as ``datetime64[s]`` and as decimal years."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forecast.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["decimal_year", "from_decimal_year"]

#: Beyond this many years a double no longer tells days apart.
FURTHEST = 1e8


def decimal_year(datetimes: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return dates as years with a fraction: each year is 1 long, leap years too. NaT becomes NaN.

    Examples
    --------
    >>> import numpy as np
    >>> decimal_year(np.array(["2000-01-01", "2000-07-02"], dtype="datetime64[s]"))
    array([2000. , 2000.5])
    """
    import numpy as np

    given = np.asarray(datetimes)
    if given.dtype.kind == "f":
        raise DataError("decimal_year: expected dates, got numbers")
    when = given.astype("datetime64[s]")
    missing = np.isnat(when)
    when = np.where(missing, np.datetime64(0, "s"), when)
    year = when.astype("datetime64[Y]")
    start = year.astype("datetime64[s]")
    length = ((year + np.timedelta64(1, "Y")).astype("datetime64[s]") - start).astype(np.int64)
    result = year.astype(np.int64) + 1970 + (when - start).astype(np.int64) / length
    return np.where(missing, np.nan, result)


def from_decimal_year(years: npt.ArrayLike) -> npt.NDArray[np.datetime64]:
    """Return decimal years as dates, to the nearest second. NaN and infinity become NaT.

    Examples
    --------
    >>> from_decimal_year([2000.5])
    array(['2000-07-02T00:00:00'], dtype='datetime64[s]')
    """
    import numpy as np

    x = np.asarray(years, dtype=np.float64)
    known = np.isfinite(x)
    if np.any(np.abs(np.where(known, x, 0.0)) > FURTHEST):
        raise DataError(f"from_decimal_year: a year beyond ±{FURTHEST:.0e} has no date")
    x = np.where(known, x, 1970.0)
    year = np.floor(x)
    base = (year.astype(np.int64) - 1970).astype("datetime64[Y]")
    start = base.astype("datetime64[s]")
    length = ((base + np.timedelta64(1, "Y")).astype("datetime64[s]") - start).astype(np.int64)
    seconds = np.rint((x - year) * length).astype(np.int64)
    result: Any = np.where(known, start + seconds.astype("timedelta64[s]"), np.datetime64("NaT", "s"))
    return np.asarray(result, dtype="datetime64[s]")
