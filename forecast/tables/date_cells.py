"""A column of dates: one form for the column as a whole, whatever people write."""

from __future__ import annotations

import contextlib
import datetime
import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from forecast.base.arrays import AnyArray, Array
from forecast.base.dates import decimal_year
from forecast.errors import DataError, printable

#: Dates outside are no dates of observations, but numbers in another unit.
FIRST_YEAR, LAST_YEAR = 1000, 2200
#: Whole numbers between these are years, whatever their column is called.
FIRST_PLAIN_YEAR, LAST_PLAIN_YEAR = 1900, 2100
#: Names of columns that hold time, however it is written as a number.
TIME_NAME_PATTERN = re.compile(
    r"(^|[^a-z])(year|yr|fy|date|when|timestamp|month|quarter|released?|published|announced|ending|ended)([^a-z]|$)|"
    r"^(wall )?time$|(date|year|month)$",
    re.IGNORECASE,
)
#: Names of the months, without accents, in English, German, French, Spanish, Italian, Portuguese and Dutch.
_MONTH_NAMES = (
    "jan january januar januari janvier janv enero ene gennaio janeiro",
    "feb february februar februari fevrier fevr febrero febbraio fevereiro",
    "mar march marz mrz mars marzo marco maart mrt",
    "apr april avril avr abril abr aprile",
    "may mai mayo maggio maio mei",
    "jun june juni juin junio giugno junho",
    "jul july juli juillet juil julio luglio julho",
    "aug august aout agosto augustus",
    "sep sept september septembre septiembre settembre setembro",
    "oct october okt oktober octobre octubre ottobre outubro",
    "nov november novembre noviembre novembro",
    "dec december dez dezember decembre dic diciembre dicembre dezembro",
)
_MONTH_NUMBERS = {name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()}
#: Months in each part of a year.
_PART_MONTHS = {"q": 3, "t": 3, "h": 6, "s": 6, "m": 1}
_MONTH = rf"(?P<name>{'|'.join(sorted(_MONTH_NUMBERS, key=len, reverse=True))})\.?"
_CLOCK = r"(?:[T ,:]\s*(?P<clock>\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)\s*(?P<half>[ap]\.?m\.?)?)?"
_ZONE = r"\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?"
#: Forms of one number may stand in one column; a bare year stands with any.
_ISO, _SLASHED, _MONTHS, _PARTS, _FISCAL, _NAMED, _YEARS = 0, 1, 2, 3, 4, 5, -1
#: What is said about a date, and is no part of it: "c. 2021", "2021-03-30*", "March 2021 (est.)".
_REMARK_PATTERN = re.compile(r"^(?:ca?|circa)\.?\s+|\s*(?:\([^()]*\)|\[[^][]*\]|[*†‡ ]+)$", re.IGNORECASE)
_WEEKDAY, _DAY = r"(?:[a-z]{3,9}[,.]*\s+)", r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_FISCAL_NAME = r"(?:FY|CY|fiscal(?: year)?)"
#: 2010/11, of which 2010-11 alone is a month.
_SEASON = re.compile(r"(?P<year>\d{4})\s*[/–-]\s*(?P<end>\d{2}(?:\d{2})?)")
#: A group whose name ends in 2 is the one without, at another place.
_FORMS = (
    (_ISO, r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>0?[1-9]|1[0-2])(?:(?P=mark)(?P<day>\d{1,2})"
           rf"{_CLOCK}{_ZONE})?"),
    (_ISO, r"(?P<year>\d{4})-?W(?P<week>\d{2})(?:-?(?P<day>[1-7]))?"),
    (_ISO, r"(?P<year>(?:19|2[01])\d{2})-(?P<ordinal>[0-3]\d{2})"),
    (_ISO, rf"(?P<year>\d{{4}})(?P<month>\d{{2}})(?P<day>\d{{2}})T(?P<clock>\d{{4}}(?:\d{{2}})?){_ZONE}"),
    (_ISO, r"(?P<year>\d{4})年\s*(?P<month>\d{1,2})月(?:\s*(?P<day>\d{1,2})日)?"),
    (_SLASHED, r"(?P<first>\d{1,2})(?P<mark>[/.-])\s?(?P<second>\d{1,2})(?P=mark)\s?(?P<year>\d{4}|\d{2})"
               + _CLOCK + _ZONE),
    (_MONTHS, r"(?P<month>0?[1-9]|1[0-2])[/-](?P<year>(?:19|2[01])\d{2})"),
    (_PARTS, r"(?:FY|CY)?\s*(?P<year>\d{4}|(?<=FY)\d{2})\s*[-/]?\s*(?P<part>[QTHSM])(?P<nth>0?[1-9]|1[0-2])"),
    (_PARTS, r"(?:(?P<nth>[1-4])(?:st|nd|rd|th)?\s*)?(?P<part>[QH])(?:uarter|tr|alf)?\s*"
             r"(?(nth)|(?P<nth2>[1-4]))(?:[-/', ]|of)*(?:FY|CY)?(?P<year>\d{4}|\d{2})"),
    (_FISCAL, rf"{_FISCAL_NAME}\s*[-']?\s*(?P<year>\d{{4}}|\d{{2}})(?:\s*[/–-]\s*\d{{2}}(?:\d{{2}})?)?[AEFP]?"),
    (_FISCAL, r"(?P<year>(?:19|2[01])\d{2})\s?[AEFP]"),
    (_FISCAL, _SEASON.pattern),
    (_NAMED, rf"{_WEEKDAY}??{_MONTH}[\s,/-]+{_DAY},?(?:[\s,/-]+(?P<year>\d{{4}}){_CLOCK}{_ZONE}|"
             r"\s+(?P<clock2>\d{1,2}:\d{2}:\d{2})\s+(?:(?:UTC|GMT) )?(?P<year2>\d{4}))"),
    (_NAMED, rf"{_WEEKDAY}?{_DAY}\.?(?: of| de)?[\s./-]*{_MONTH}(?: de)?[\s,/-]*(?P<year>\d{{4}}|\d{{2}})"
             + _CLOCK + _ZONE),
    (_NAMED, rf"{_MONTH}(?: de)?[\s,'/-]*(?P<year>\d{{4}}|(?<=\W)\d{{2}})"),
    (_NAMED, rf"(?P<year>\d{{4}})[\s/-]*{_MONTH}(?:[\s/-]*(?P<day>\d{{1,2}}))?"),
    (_YEARS, r"'(?P<year>\d{2})"),
    (_YEARS, r"(?P<year>\d{4})"),
)  # fmt: skip


@functools.cache
def _forms() -> tuple[tuple[int, re.Pattern[str]], ...]:
    return tuple((group, re.compile(form, re.IGNORECASE)) for group, form in _FORMS)


def _without_remark(text: str) -> str:
    """Return a cell without footnotes, remarks in brackets and accents."""
    plain = _REMARK_PATTERN.sub("", text)
    if plain.isascii():
        return plain
    return "".join(c for c in unicodedata.normalize("NFD", plain) if not unicodedata.combining(c))


def could_be_date(text: str) -> bool:
    """Return True if a cell has the form of a date; a bare year has that of a number.

    Examples
    --------
    >>> [could_be_date(text) for text in ("2024-06", "12/11/2024", "Q3 2024", "5 Jan 2024", "2024", "A100")]
    [True, True, True, True, False, False]
    """
    return 2 < len(text) < 64 and any(form.fullmatch(_without_remark(text)) for _, form in _forms()[:-1])


def parse_dates(texts: Sequence[str], order: str, where: str, at: Any) -> tuple[AnyArray, tuple[str, ...]]:
    """Return the days of a column, ``datetime64[s]``, and how it was read if that could be doubted.

    Parameters
    ----------
    texts : sequence of str
        The cells that hold something; times with a zone become UTC.
    order : str
        ``"dmy"``, ``"mdy"`` or ``"ymd"``, of days written 3/4/21. Default: decided by the column.
    where : str
    at : callable
        From the position of a text to its place in the file, for messages.

    Raises
    ------
    DataError
        If a cell is no date, or the order of day and month cannot be told: with both readings.
    """
    if texts and all(len(text) in (10, 19) and text[4] == text[7] == "-" and text[:4].isdigit() for text in texts):
        try:
            return _check_dates(np.array(texts, dtype="datetime64[s]"), texts, where, at), ()
        except ValueError:
            pass
    codes: dict[str, int] = {}
    places = np.array([codes.setdefault(text, len(codes)) for text in texts], dtype=np.intp)
    matches = []
    forms = ((_FISCAL, _SEASON),) if _are_seasons(list(codes)) else _forms()
    for text in codes:
        bare = _without_remark(text)
        group, match = next(((group, m) for group, form in forms if (m := form.fullmatch(bare))), (0, None))
        if match is None:
            place = at(texts.index(text))
            raise DataError(f"{place}: '{printable(text, 60)}': expected a date, as the other cells are")
        matches.append((group, match))
    _check_one_form([group for group, _ in matches], list(codes), texts, at)
    order, notes = _find_order([m for _, m in matches], list(codes), order, where)
    quarters = any((m.groupdict().get("part") or "").lower() in ("q", "t") for _, m in matches)
    notes += ("quarters by their first day",) if quarters else ()
    notes += ("fiscal years as calendar years",) if any(group == _FISCAL for group, _ in matches) else ()
    values = []
    for text, (_, match) in zip(codes, matches, strict=True):
        try:
            values.append(_parse_date(match, order))
        except ValueError as error:
            raise DataError(f"{at(texts.index(text))}: '{printable(text, 60)}': no such date: {error}") from None
    return _check_dates(np.array(values, dtype="datetime64[s]")[places], texts, where, at), notes


def _check_one_form(groups: Sequence[int], forms: Sequence[str], texts: Sequence[str], at: Any) -> None:
    """Raise if the cells of a column are in several forms, naming the first one of the rarest."""
    counts = Counter(group for group in groups if group >= 0)
    if len(counts) > 1:
        rare = min(counts, key=counts.__getitem__)
        text, other = forms[groups.index(rare)], forms[groups.index(max(counts, key=counts.__getitem__))]
        place = at(list(texts).index(text))
        raise DataError(
            f"{place}: '{printable(text, 40)}': expected a date as '{printable(other, 40)}', like the others"
        )


def _are_seasons(texts: Sequence[str]) -> bool:
    """Return True if all cells are a year and the one after it: ``2010-11`` alone is a month."""
    found = [_SEASON.fullmatch(text) for text in texts]
    ends = [(int(m["year"]) + 1, m["end"]) for m in found if m]
    return len(ends) == len(texts) > 2 and all(str(year)[-len(end) :] == end for year, end in ends)


def _find_order(matches: Sequence[re.Match[str]], texts: Sequence[str], order: str, where: str) -> tuple[str, Any]:
    """Decide the order of day and month for the column: where one of them is above 12, else by what is asked for."""
    slashed = [(m, text) for m, text in zip(matches, texts, strict=True) if "first" in m.re.groupindex]
    if not slashed:
        return "dmy", ()
    words = {"dmy": "day{0}month{0}year", "mdy": "month{0}day{0}year", "ymd": "year{0}month{0}day"}
    notes = {each: (f"dates {form.format(slashed[0][0]['mark'])}",) for each, form in words.items()}
    days = [text for m, text in slashed if int(m["first"]) > 12]
    months = [text for m, text in slashed if int(m["second"]) > 12]
    if order:
        wrong = days if order == "mdy" else months
        if wrong:
            raise DataError(f"{where}: '{printable(wrong[0], 40)}' is no date in the order {order}")
        return order, notes[order]
    if days and months:
        raise DataError(
            f"{where}: '{printable(days[0], 40)}' has the day first, '{printable(months[0], 40)}' the month"
        )
    other = "mdy"
    if days or months or all(m["mark"] == "." for m, _ in slashed):
        # 13-03-30 may begin with the year, if it ends in one to come
        plain, now = "mdy" if months else "dmy", datetime.date.today().year
        last = max(slashed, key=lambda each: _full_year(each[0]["year"]))
        years_first = max(_full_year(m["first"]) for m, _ in slashed) <= now
        years_first &= last[0]["mark"] == "-" or now < _full_year(last[0]["year"])
        if months or not years_first or not _are_dates(slashed, "ymd"):
            return plain, notes[plain]
        if not _are_dates(slashed, plain):
            return "ymd", notes["ymd"]
        slashed, other = [last], "ymd"
    if all(m["first"] == m["second"] for m, _ in slashed):
        return "dmy", ()
    match, text = next((m, t) for m, t in slashed if m["first"] != m["second"])
    days_of_both = (_parse_date(match, each).astype(object) for each in ("dmy", other))
    one, two = (f"{day.day} {_MONTH_NAMES[day.month - 1][:3].title()} {day.year}" for day in days_of_both)
    raise DataError(f"{where}: '{printable(text, 40)}' is {one} or {two}: say --dates dmy or --dates {other}")


def _are_dates(slashed: Sequence[tuple[re.Match[str], str]], order: str) -> bool:
    with contextlib.suppress(ValueError):
        return bool([_parse_date(match, order) for match, _ in slashed])
    return False


def _full_year(text: str) -> int:
    year = int(text)
    return year if len(text) > 2 else year + (2000 if year < 70 else 1900)


def _parse_date(match: re.Match[str], order: str) -> np.datetime64:
    part = {name.rstrip("2"): value for name, value in match.groupdict().items() if value}
    if "first" in part:
        places = dict(zip(order, match.group("first", "second", "year"), strict=True))
        part |= {"day": places["d"], "month": places["m"], "year": places["y"]}
    year, month, day = _full_year(part["year"]), int(part.get("month", 1)), int(part.get("day", 1))
    if "name" in part:
        month = _MONTH_NUMBERS[part["name"].lower()]
    if "part" in part:
        month = 1 + (int(part["nth"]) - 1) * _PART_MONTHS[part["part"].lower()]
    moment = datetime.datetime(year, month, day)
    if "ordinal" in part:
        moment = datetime.datetime.strptime(f"{year} {part['ordinal']}", "%Y %j")
    if "week" in part:
        moment = datetime.datetime.fromisocalendar(year, int(part["week"]), day)
    if clock := part.get("clock"):
        hour, minute, *second = clock.replace(",", ".").split(":") if ":" in clock else re.findall("..", clock)
        hours = int(hour) % 12 + 12 * (part["half"].lower()[0] == "p") if "half" in part else int(hour)
        if hours > 24 or int(minute) > 59:
            raise ValueError("no such time of day")
        seconds = int(float(second[0])) if second else 0
        moment += datetime.timedelta(hours=hours, minutes=int(minute), seconds=seconds)
    if (zone := part.get("zone")) and zone[0] in "+-":
        shift = datetime.timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        moment += -shift if zone[0] == "+" else shift
    return np.datetime64(moment, "s")


def _check_dates(dates: AnyArray, texts: Sequence[str], where: str, at: Any) -> AnyArray:
    low, high = (np.datetime64(f"{year:04}-01-01", "s") for year in (FIRST_YEAR, LAST_YEAR + 1))
    outside = np.flatnonzero((dates < low) | (dates >= high))
    if outside.size:
        row = int(outside[0])
        expected = f"expected a date from {FIRST_YEAR} to {LAST_YEAR}"
        raise DataError(f"{at(row)}: '{printable(texts[row], 60)}': {expected}")
    return dates


def are_plain_dates(values: Array) -> bool:
    """Return True if numbers are dates whatever their column is called: whole years, or YYYYMM, that differ."""
    if (values != np.floor(values)).any() or np.unique(values).size < 3:
        return False
    years, months = np.divmod(values, 100) if values.min() > LAST_PLAIN_YEAR else (values, np.ones(1))
    in_range = years.min() >= FIRST_PLAIN_YEAR and years.max() <= LAST_PLAIN_YEAR
    return bool(in_range and months.min() >= 1 and months.max() <= 12)


def years_of_numbers(values: Array, where: str) -> tuple[Array, str]:
    """Return numbers that stand for dates as decimal years, and what they were read as; NaN stays.

    Raises
    ------
    DataError
        As `dates_of_numbers`.

    Examples
    --------
    >>> years_of_numbers(np.array([1.66e9]), "a.csv")[0].round(2)
    array([2022.6])
    """
    dates, form = dates_of_numbers(values, where)
    return (dates if dates.dtype.kind == "f" else decimal_year(dates)), form


def dates_of_numbers(values: Array, where: str) -> tuple[AnyArray, str]:
    """Return numbers that stand for dates as ``datetime64[s]``, or years as they are, and what they were read as.

    Raises
    ------
    DataError
        If they are no years, YYYYMM, YYYYMMDD, Unix seconds or milliseconds, or days of a spreadsheet.

    Examples
    --------
    >>> dates, form = dates_of_numbers(np.array([202401.0, np.nan]), "a.csv")
    >>> dates.astype(str).tolist(), form
    (['2024-01-01T00:00:00', 'NaT'], 'YYYYMM')
    """
    known = values[np.isfinite(values)]
    if not known.size:
        return values, "years"
    low, high, whole = known.min(), known.max(), bool((known == np.floor(known)).all())
    hundredths = np.round(100 * known)
    months = np.unique(hundredths % 100)
    are_months = (
        months.size > 2 and months[0] > 0 and months[-1] <= 12 and np.allclose(hundredths, 100 * known, 0, 1e-6)
    )
    if low >= FIRST_YEAR and high <= LAST_YEAR and are_months:
        return dates_of_numbers(np.round(100 * values), where)[0], "YYYY.MM"
    if low >= FIRST_YEAR and high <= LAST_YEAR + 1:
        return values, "years" if whole else "decimal years"
    texts = [f"{value:.0f}" for value in known] if whole and high < 3e13 else []
    form = ""
    for form in ("YYYYMM", "YYYYMMDD", "YYYYMMDDhhmmss"):
        if texts and all(len(text) == len(form) for text in texts):
            days = ["-".join(filter(None, (text[:4], text[4:6], text[6:8]))) for text in texts]
            try:
                return _filled(values, np.array(days, dtype="datetime64[s]")), form
            except ValueError:
                raise DataError(f"{where}: expected {form}, as its numbers seem to be; one is no date") from None
    for form, first, last, scale in (
        ("days of a spreadsheet", 10_000, 110_000, 86_400.0),
        ("Unix seconds", 1e8, 7.3e9, 1.0),
        ("Unix milliseconds", 1e11, 7.3e12, 1e-3),
        ("Unix microseconds", 1e14, 7.3e15, 1e-6),
        ("Unix nanoseconds", 1e17, 7.3e18, 1e-9),
    ):
        if low >= first and high <= last:
            if form.startswith("days") and high < 25_600:
                one, two = (np.datetime64(day) + int(low) for day in ("1899-12-30", "1970-01-01"))
                raise DataError(f"{where}: {low:.0f} is {one} in a spreadsheet, {two} counted from 1970: write dates")
            start = np.datetime64("1899-12-30" if form.startswith("days") else "1970-01-01", "s")
            return _filled(values, start + np.round(known * scale).astype("timedelta64[s]")), form
    expected = "years, YYYYMM, YYYYMMDD, Unix seconds or days of a spreadsheet, between the years 1000 and 2200"
    bad = low if low < FIRST_YEAR else high
    raise DataError(f"{where}: expected dates ({expected}), got {bad:.10g}")


def _filled(values: AnyArray, dates: AnyArray) -> AnyArray:
    filled = np.full(values.shape, np.datetime64("NaT", "s"))
    filled[np.isfinite(values)] = dates
    return filled
