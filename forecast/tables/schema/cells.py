"""The grammar of a cell: what text is a number, a date or a truth value, and nothing else is.

============  =========================================================================================
number        ``1234.5``, ``-1e9``, ``.5``, ``+2``: ASCII digits, a decimal point, an exponent. No separators of
              thousands, no decimal comma, no underscores, no blanks around, no hexadecimal, no ``NaN`` or ``inf``
integer       ``-12``: a number without point or exponent, exact in a double (at most 2**53)
date          ``2024``, ``2024-06`` or ``2024-06-01``; a shorter one is its first day. Never day-first; no time zones
boolean       ``true`` or ``false``
missing       an empty cell, and what a schema's ``missingValues`` lists
text          everything, brought to Unicode NFC, so that two spellings of one glyph are one name
============  =========================================================================================
"""

from __future__ import annotations

import datetime
import math
import re
import unicodedata
from collections.abc import Sequence

_NUMBER_PATTERN = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?")
_NUMBERS = re.compile(rf"(?:{_NUMBER_PATTERN.pattern}\n)*+{_NUMBER_PATTERN.pattern}")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DATE_PATTERN = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
_MAX_CHARACTERS = 400
_MAX_EXACT_INTEGER = 2**53


def parse_cell_number(cell: str) -> float:
    """Read a number; ValueError says what is wrong with it.

    Examples
    --------
    >>> parse_cell_number("1234.5")
    1234.5
    """
    if len(cell) > _MAX_CHARACTERS or not _NUMBER_PATTERN.fullmatch(cell):
        raise ValueError(f"expected a number{' or an empty cell (missing)' if is_missing(cell) else ''}")
    value = float(cell)
    if math.isinf(value) or (value == 0 and any(c in "123456789" for c in re.split("[eE]", cell)[0])):
        raise ValueError("the number is outside the range of double precision")
    return value


def parse_numbers(column: Sequence[str]) -> list[float]:
    """Read many numbers; ValueError where one of them is none.

    Examples
    --------
    >>> parse_numbers(["1234.5", "-1e9"])
    [1234.5, -1000000000.0]
    """
    if max(map(len, column), default=0) > _MAX_CHARACTERS or not _NUMBERS.fullmatch("\n".join(column)):
        return list(map(parse_cell_number, column))
    values = list(map(float, column))
    if 0.0 in values or math.inf in values or -math.inf in values:
        return list(map(parse_cell_number, column))
    return values


#: Cells that say that there is no number, in lower case and without blanks around.
MISSING_WORDS = frozenset(
    (
        "", "na", "n/a", "n.a.", "#n/a", "#na", "<na>", "nan", "nat", "null", "none", "nil", "inf", "+inf", "-inf",
        "infinity", "-", "--", "---", "—", "–", "?", "??", ".", "..", "...", "tbd", "tba", "tbc", "todo", "nr", "n.d.",
        "unknown", "missing", "not available", "not reported", "not disclosed", "undisclosed", "unavailable",
        "#value!", "#ref!", "#div/0!", "#num!", "no data", "not applicable", "n/d", "pending", "undefined", "withheld",
        "…", "\\n", ":", "*",
    )
)  # fmt: skip


def is_missing(cell: str) -> bool:
    """Return True if a cell is one of the many ways to write that there is no value.

    Examples
    --------
    >>> [is_missing(c) for c in ("N/A", " - ", "0")]
    [True, True, False]
    """
    return len(cell) < 32 and cell.strip().lower() in MISSING_WORDS


def integer(cell: str) -> int:
    """Read an integer that a double holds exactly; ValueError says what is wrong with it.

    Examples
    --------
    >>> integer("-12")
    -12
    """
    if len(cell) > _MAX_CHARACTERS or not _INTEGER.fullmatch(cell):
        raise ValueError("expected an integer")
    if abs(value := int(cell)) > _MAX_EXACT_INTEGER:
        raise ValueError("the integer is beyond 2**53 and would lose digits")
    return value


def date(cell: str) -> datetime.date:
    """Read a date; ValueError says what is wrong with it.

    Examples
    --------
    >>> date("2024-06")
    datetime.date(2024, 6, 1)
    """
    match = _DATE_PATTERN.fullmatch(cell)
    if not match:
        raise ValueError("expected a date YYYY, YYYY-MM or YYYY-MM-DD")
    year, month, day = match.groups()
    try:
        return datetime.date(int(year), int(month or 1), int(day or 1))
    except ValueError as error:
        raise ValueError(f"no such date: {error}") from error


def is_date(cell: str) -> bool:
    """Return True if `date` reads a cell.

    Examples
    --------
    >>> is_date("2024-06"), is_date("-5")
    (True, False)
    """
    return _DATE_PATTERN.fullmatch(cell) is not None


def boolean(cell: str) -> bool:
    """Read ``true`` or ``false``; ValueError for anything else.

    Examples
    --------
    >>> boolean("true")
    True
    """
    if cell not in ("true", "false"):
        raise ValueError("expected true or false")
    return cell == "true"


def normalise_text(cell: str) -> str:
    r"""Return text in Unicode NFC.

    Examples
    --------
    >>> normalise_text("e\u0301") == "\u00e9"
    True
    """
    return cell if cell.isascii() else unicodedata.normalize("NFC", cell)
