"""What a column is: numbers, dates or text, in which unit, and how that was told from its cells."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from forecast.base.arrays import AnyArray, BoolArray
from forecast.errors import DataError, TableError, UnitError, printable
from forecast.tables.date_cells import could_be_date, parse_dates
from forecast.tables.number_cells import could_be_number, parse_number_cells
from forecast.tables.schema.cells import is_missing, normalise_text, parse_numbers

#: Distinct cells from which it is told whether a column is text.
N_SAMPLE_CELLS = 500
#: Text is kept at the width of the longest cell; one giant cell among many rows would fill the memory.
MAX_TEXT_BYTES = 2**30
MISSING_OF_KIND = {"number": np.nan, "date": np.datetime64("NaT", "s"), "text": ""}


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """What the user says of a file where its cells do not decide.

    Parameters
    ----------
    decimal : {"", "comma", "point"}
    dates : {"", "dmy", "mdy", "ymd"}
        The order of day and month.
    missing : tuple of str
        Further words for a missing cell; ``("error",)``: a missing cell in a column that is used is an error.
    """

    decimal: str = ""
    dates: str = ""
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnMeaning:
    """What a column is.

    Parameters
    ----------
    kind : {"number", "date", "text"}
    values : ndarray
        float64 (missing: NaN), ``datetime64[s]`` (missing: NaT) or text (missing: empty).
    unit : str
        As the cells state it: ``"USD"``, ``"%"``; empty if they state none.
    notes : tuple of str
        How the cells were read where that could be doubted.
    labels : ndarray, optional
        The cells as written, where the values do not show them.
    problem : Exception, optional
        Why the cells, whose `values` are then text, are not the numbers or dates that most of them seem to be.
    """

    kind: str
    values: AnyArray
    unit: str = ""
    notes: tuple[str, ...] = ()
    labels: AnyArray | None = None
    problem: DataError | None = None

    def take(self, keep: Any) -> ColumnMeaning:
        """Return the meaning of some of the rows."""
        labels = None if self.labels is None else self.labels[keep]
        return replace(self, values=self.values[keep], labels=labels)

    def missing_mask(self) -> BoolArray:
        """Return a mask of the rows in which the column has nothing."""
        kind = self.values.dtype.kind
        if kind == "f":
            return np.isnan(self.values)
        return (
            np.isnat(self.values) if kind == "M" else np.array([is_missing(cell) for cell in self.values], dtype=bool)
        )


def meaning_of_array(values: AnyArray) -> ColumnMeaning:
    """Return the meaning of an array that is float64, text or ``datetime64[s]``."""
    return ColumnMeaning(kind={"f": "number", "M": "date"}.get(values.dtype.kind, "text"), values=values)


def understand(
    cells: Sequence[str], where: str, at: Callable[[int], str], options: ReadOptions, hint: Callable[[], str]
) -> ColumnMeaning:
    """Return what a column of text is.

    Parameters
    ----------
    cells : sequence of str
    where : str
        The file and the column, for messages.
    at : callable
        From a row to its place in the file, for messages.
    options : ReadOptions
    hint : callable
        Returns what the file suggests of a comma in a number: ``"comma"``, ``"point"`` or nothing.

    Examples
    --------
    >>> read = lambda *cells: understand(cells, "a", str, ReadOptions(), lambda: "")
    >>> read("3.5 %", "n/a").values, read("3.5 %", "n/a").unit
    (array([3.5, nan]), '%')
    >>> read("3/30/2021", "4/30/2021").notes
    ('dates month/day/year',)
    """
    more = {word.casefold() for word in options.missing}
    missing = {cell for cell in set(cells) if is_missing(cell) or (more and cell.strip().casefold() in more)}
    rows = [i for i, cell in enumerate(cells) if cell not in missing] if missing else range(len(cells))
    known = [cells[i] for i in rows] if missing else list(cells)
    if not known:
        return ColumnMeaning(kind="number", values=np.full(len(cells), np.nan))
    if not thousands_by_points(lambda: known, options, hint):
        with contextlib.suppress(ValueError):
            return ColumnMeaning(kind="number", values=placed(parse_numbers(known), rows, len(cells), "number"))
    known = [cell.strip() for cell in known]
    text = text_array([normalise_text(cell) for cell in cells], where)
    kind = _majority_kind(known)
    try:
        if kind == "date":
            dates, notes = parse_dates(known, options.dates, where, lambda i: at(rows[i]))
            return ColumnMeaning(kind=kind, values=placed(dates, rows, len(cells), kind), notes=notes, labels=text)
        if kind == "number":
            wrong = [(at(rows[i]), cell) for i, cell in enumerate(known) if not could_be_number(cell)]
            if wrong:
                expected = "expected a number or a missing cell"
                raise TableError([f"{place}: '{printable(cell, 60)}': {expected} (--missing '{printable(cell, 30)}')"
                                  for place, cell in wrong])  # fmt: skip
            suggested = "" if options.decimal else hint()
            numbers = parse_number_cells(known, options.decimal, suggested, where, lambda i: at(rows[i]))
            values = placed(numbers.values, rows, len(cells), kind)
            return ColumnMeaning(kind=kind, values=values, unit=numbers.unit, notes=numbers.notes, labels=text)
    except UnitError as error:  # text such as "1990 USD" and "5 W", unless somebody wants numbers
        return ColumnMeaning(kind="text", values=text, problem=DataError(str(error)))
    except DataError as error:
        return ColumnMeaning(kind=kind, values=text, problem=error)
    return ColumnMeaning(kind="text", values=text)


def thousands_by_points(cells: Callable[[], Sequence[str]], options: ReadOptions, hint: Callable[[], str]) -> bool:
    """Return True if points in numbers may separate thousands: decimal commas are asked for, or not ruled out.

    The cells are taken as text only then: of a large file that costs more than its numbers.
    """
    return (options.decimal or hint()) in ("comma", "either") and any("." in cell for cell in cells())


def placed(values: Any, rows: Sequence[int], size: int, kind: str) -> AnyArray:
    """Return the values in their rows, and what is missing in the others."""
    array = np.asarray(values, dtype="datetime64[s]" if kind == "date" else np.float64)
    if len(rows) == size:
        return array
    full = np.full(size, MISSING_OF_KIND[kind], dtype=array.dtype)
    full[list(rows)] = array
    return full


def _majority_kind(known: Sequence[str]) -> str:
    """Return what more than half of the cells are."""
    counts = Counter(known)
    sample = dict(islice(counts.items(), N_SAMPLE_CELLS))
    total = sum(sample.values())
    dates = sum(count for cell, count in sample.items() if could_be_date(cell))
    years = sum(count for cell, count in sample.items() if len(cell) == 4 and cell.isdigit())
    numbers = sum(count for cell, count in sample.items() if could_be_number(cell) and not could_be_date(cell))
    if dates and 2 * (dates + years) > total and dates + years >= numbers:
        return "date"
    return "number" if 2 * numbers > total else "text"


def text_array(values: list[str], where: str) -> AnyArray:
    """Return text as a numpy array of fixed width, within a bound of memory."""
    longest = max(map(len, values), default=0)
    if 4 * longest * len(values) > MAX_TEXT_BYTES:
        raise DataError(f"{where}: a cell of {longest:,} characters in {len(values):,} rows takes too much memory")
    return np.array(values, dtype=f"<U{max(longest, 1)}")
