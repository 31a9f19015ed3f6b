"""Dates as ``datetime64[s]`` and as decimal years."""

from __future__ import annotations

import datetime
import math
import re
from typing import TYPE_CHECKING, Any

from forecast.base.number_checks import is_real
from forecast.errors import DataError, ForecastError, UsageError, printable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from forecast.base.arrays import Array

_ENGLISH_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
#: What the names of the months begin with, in their order.
MONTH_STARTS = tuple(name[:3] for name in _ENGLISH_MONTHS)
#: A month as answers write it, with a day before it or without.
_IN_WORDS_PATTERN = re.compile(r"(?:(\d{1,2}) +)?([A-Za-z]{3,9})\.? +(\d{4})", re.ASCII)
#: Beyond this many years a double no longer tells days apart.
MAX_YEARS = 1e8


def today() -> str:
    """Return the day, ISO, by the clock of whoever asks; no result holds it."""
    return datetime.date.today().isoformat()


def check_has_come(year: float, where: str) -> float:
    """Return a decimal year, if it is not after today: what is known then cannot be told before it.

    Raises
    ------
    UsageError
        Naming `where` it was written.

    Examples
    --------
    >>> check_has_come(2024.5, "as_of"), check_has_come(9000.0, "as_of")
    Traceback (most recent call last):
    forecast.errors.UsageError: as_of 9000-01-01: comes after today, ...
    """
    import numpy as np

    if year >= decimal_year(np.datetime64(today(), "D") + 1):
        raise UsageError(f"{where} {iso_date(year)}: comes after today, {today()}; expected a date that has come")
    return year


def decimal_year(datetimes: npt.ArrayLike) -> Array:
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
    year = when.astype("datetime64[Y]").astype(np.int64)
    start, length = _seconds_of_years(year)
    result = year + 1970 + (when.astype(np.int64) - start) / length
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
    if np.any(np.abs(np.where(known, x, 0.0)) > MAX_YEARS):
        raise DataError(f"from_decimal_year: a year beyond ±{MAX_YEARS:.0e} has no date")
    x = np.where(known, x, 1970.0)
    year = np.floor(x)
    start, length = _seconds_of_years(year.astype(np.int64) - 1970)
    seconds = start + np.rint((x - year) * length).astype(np.int64)
    result: Any = np.where(known, seconds.astype("datetime64[s]"), np.datetime64("NaT", "s"))
    return np.asarray(result, dtype="datetime64[s]")


def _seconds_of_years(year: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return when years since 1970 begin and how long they are, in seconds; many dates share few years."""
    import numpy as np

    first, last = (int(year.min()), int(year.max())) if year.size else (0, 0)
    few = last - first < year.size
    every = (np.arange(first, last + 1) if few else year).astype("datetime64[Y]")
    start, end = (each.astype("datetime64[s]").astype(np.int64) for each in (every, every + np.timedelta64(1, "Y")))
    return (start[year - first], (end - start)[year - first]) if few else (start, end - start)


def iso_date(year: float) -> str:
    """Return the day of a decimal year as text.

    Examples
    --------
    >>> iso_date(2000.5)
    '2000-07-02'
    """
    return str(from_decimal_year([year])[0])[:10]


def iso_date_or_none(year: float) -> str | None:
    """Return the day of a decimal year as text, None if it is NaN or infinite."""
    return iso_date(year) if math.isfinite(year) else None


def day_or_month(text: str) -> datetime.date:
    """Read the text of a day, or of a month as its first day.

    Raises
    ------
    ValueError
        If it is neither.

    Examples
    --------
    >>> str(day_or_month("2030-06-15")), str(day_or_month("2030-06"))
    ('2030-06-15', '2030-06-01')
    """
    return datetime.date.fromisoformat(f"{text}-01" if len(text) == len("2030-06") else text)


def parse_year(value: object, where: str, error: type[ForecastError] = UsageError) -> float:
    """Return a decimal year: of a year, a month or a day, as a number, a date or text. A month is its first day.

    So it is wherever a date is typed, also as of when something was known: ``2024`` is the first day of that year, and
    of ``2024-03`` nothing of March was known.

    Raises
    ------
    ForecastError
        The `error`, naming `where` it was written.

    Examples
    --------
    >>> [parse_year(date, "until") for date in (2030.5, "2030", "2030-07-02")]
    [2030.5, 2030.0, 2030.4986301369863]
    >>> parse_year("2030-07", "until") == parse_year("2030-07-01", "until") == parse_year("July 2030", "until")
    True
    """
    text = value.isoformat() if isinstance(value, datetime.date) else str(value).strip()
    if said := _IN_WORDS_PATTERN.fullmatch(text):
        month = next((n for n, name in enumerate(_ENGLISH_MONTHS, 1) if name.startswith(said[2].lower())), 0)
        text = f"{said[3]}-{month:02}" + (f"-{said[1]:0>2}" if said[1] else "")
    try:
        if is_real(value) or re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
            year = float(text)
        elif re.fullmatch(r"\d{4}-\d\d(-\d\d(T[\d:.]+)?)?", text, re.ASCII):
            year = year_of(text)
        else:
            raise ValueError
    except ValueError:  # or no date of the calendar
        expected = f"expected a date such as 2030, 2030-12 or 2030-12-31, got '{printable(value, 40)}'"
        raise error(f"{where}: {expected}") from None
    if not 1 <= year < 10000:
        raise error(f"{where}: expected a year from 1 to 9999, got '{printable(value, 40)}'")
    return year


def year_of(date: str) -> float:
    """Return a date, as ISO text, as a decimal year.

    Examples
    --------
    >>> year_of("2000-07-02")
    2000.5
    """
    import numpy as np

    return float(decimal_year(np.datetime64(date, "s")))
