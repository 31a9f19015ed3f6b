"""Dates as they are said: by the year, or by the month where an answer is that narrow."""

from __future__ import annotations

import functools
import math

from forecast.base.dates import from_decimal_year
from forecast.report.words.patterns import fill, load_patterns


def fine_interval(low: float, high: float) -> bool:
    """Tell whether an interval is so narrow that its dates are said by the month."""
    return math.isfinite(high) and high - low < load_patterns()["fine_years"]


def fine_span(first: float, last: float) -> bool:
    """Tell whether a projection is so short that the dates in its tables are said by the month."""
    return bool(last - first < 3 * load_patterns()["fine_years"])


@functools.lru_cache(4096)
def month(year: float) -> tuple[int, int]:
    """Return the year and the month, from 1, of a decimal year: a twelfth of it, or the one whose first day it is.

    Examples
    --------
    >>> month(2027.0), month(2027.7), month(2027.9999), month(2027 + 59 / 365)
    ((2027, 1), (2027, 9), (2027, 12), (2027, 3))
    """
    day, whole = str(from_decimal_year([year])[0]), math.floor(year)
    if day.endswith("-01T00:00:00"):  # of which the twelfths of a year know nothing
        return int(day[:-15]), int(day[-14:-12])
    return whole, min(int((year - whole) * 12 + 1e-6), 11) + 1


def as_text(year: float, *, fine: bool = False, short: bool = False) -> str:
    """Say a decimal year: ``2034``, and ``September 2027`` where it is known that well; ``2027-09`` in a table.

    A year that is infinite never comes.

    Examples
    --------
    >>> as_text(2034.6), as_text(2027.7, fine=True), as_text(2027.7, fine=True, short=True)
    ('2034', 'September 2027', '2027-09')
    """
    if not math.isfinite(year):
        return "never"
    whole, number = month(year)
    if not fine:
        return str(whole)
    return f"{whole}-{number:02d}" if short else f"{load_patterns()['months'][number - 1]} {whole}"


def day_text(day: str) -> str:
    """Say an ISO day.

    Examples
    --------
    >>> day_text("2026-11-09")
    '9 November 2026'
    """
    return f"{int(day[8:10])} {load_patterns()['months'][int(day[5:7]) - 1]} {day[:4]}"


def date_cell(year: float, until: float, *, fine: bool = False, already: bool = False, start: float = -math.inf) -> str:
    """Say a date in a row of a table: one that does not come by the last date, one that is so already, or the year.

    What is so at the `start` of a projection, and met by no row before it, was seen by nobody.

    Examples
    --------
    >>> date_cell(2034.6, 2060), date_cell(math.inf, 2060), date_cell(2025.0, 2060, already=True)
    ('2034', '>2060', 'already')
    >>> date_cell(2027.0, 2060, start=2027.0)
    '≤2027-01'
    """
    flag = "never" if not math.isfinite(year) else "already" if already else "at_start" if year <= start else ""
    began = as_text(start, fine=True, short=True) if flag == "at_start" else ""
    return fill("date_in_row", flag, start=began, until=as_text(until), date=as_text(year, fine=fine, short=True))


def age(years: float) -> str:
    """Say how old something is.

    Examples
    --------
    >>> age(0.02), age(0.2), age(1.0), age(2.4)
    ('this month', '2 months old', '12 months old', '2.4 years old')
    """
    months = round(years * 12)
    if months < 1:
        return "this month"
    return f"{years:.1f} years old" if years >= 2 else f"{months} month{'s' if months > 1 else ''} old"
