"""Columns of data: one-dimensional arrays of one length, each understood at its first use.

Its meaning is what it is, numbers, dates or text, in which unit, and how that was told from its cells.
"""

from __future__ import annotations

import contextlib
import copy
import datetime
import decimal
import functools
import numbers
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from forecast.base.arrays import AnyArray, Array, BoolArray
from forecast.base.dates import decimal_year
from forecast.base.lazy import is_masked_array
from forecast.errors import (
    AmbiguousNameError,
    DataError,
    EmptyDataError,
    ForecastError,
    TableError,
    UnitError,
    UnknownNameError,
    printable,
)
from forecast.tables.column_names import check_named_once
from forecast.tables.csv_format import plain_cell
from forecast.tables.date_cells import (
    TIME_NAME_PATTERN,
    are_plain_dates,
    could_be_date,
    dates_of_numbers,
    parse_dates,
    years_of_numbers,
)
from forecast.tables.number_cells import could_be_number, has_decimal_comma, is_unit, parse_number_cells
from forecast.tables.raw_table import RawTable
from forecast.tables.schema.cells import is_missing, normalise_text, parse_numbers
from forecast.tables.schema.descriptor import Field

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


#: What programs write where nothing was measured, in a column that has no other number below 0.
FILL_VALUES = (-999.0, -9999.0, -99999.0)
#: Rows of another column that are looked at to tell what commas mean in a file.
N_HINT_ROWS = 200
_SWAPPED_MARKS = str.maketrans(",.", ".,")


@dataclass
class ReadNotes:
    """What was understood of the data, for one line that says it.

    Parameters
    ----------
    label : str
        The file, printable.
    rows : int
        All of them.
    file : tuple of str
        What was decided to read the file as a table.
    left_out : dict of str to int
        The rows left out, by reason.
    columns : dict of str to tuple of str
        How the columns that were used were read, in the order of the file.
    series : list of str
        The conditions that chose rows.
    """

    label: str
    rows: int
    file: tuple[str, ...] = ()
    left_out: dict[str, int] = field(default_factory=dict)
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    series: list[str] = field(default_factory=list)

    def line(self) -> str:
        """Return one sentence.

        Examples
        --------
        >>> notes = ReadNotes("prices.csv", 132, left_out={"without price": 14}, columns={"date": ("dates m/d/y",)})
        >>> notes.line()
        'Read prices.csv: 118 of 132 rows (14 without price), dates m/d/y.'
        """
        used = self.rows - sum(self.left_out.values())
        why = ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.items() if count)
        rows = f"{used:,} of {self.rows:,} rows ({why})" if why else f"{self.rows:,} row{'s' * (self.rows != 1)}"
        form = [note for note in self.file if note.startswith("as ")]
        said = [note for note in self.file if note not in form]
        columns = [note for notes in self.columns.values() for note in notes]
        parts = dict.fromkeys([rows, *said, *columns, *self.series])
        return f"Read {' '.join([self.label, *form])}: {', '.join(parts)}."


class Columns(Mapping[str, "AnyArray"]):
    """Column name to a one-dimensional array of float64, text or ``datetime64[s]``, all of one length.

    A column is understood at its first use: one that cannot be is an error only for code that reads it.

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
    notes : ReadNotes
        What was understood so far.
    from_file : bool
        Whether they are those of a file that no descriptor describes.
    """

    def __init__(
        self,
        sources: Mapping[str, Callable[[], ColumnMeaning]],
        rows: int,
        label: str,
        units: Mapping[str, str] | None = None,
        separate: tuple[str, ...] = (),
        *,
        notes: ReadNotes | None = None,
        path: str = "",
        strict: bool = False,
        from_file: bool = False,
    ) -> None:
        self._sources, self.rows, self.label, self.separate = dict(sources), rows, label, separate
        self._units = {name: unit for name, unit in (units or {}).items() if unit and name in self._sources}
        self._ready: dict[str, ColumnMeaning] = {}
        self.notes, self._path, self.strict = notes or ReadNotes(label, rows), path, strict
        self.from_file = from_file
        # the cells of a file as written, and which of its rows are here
        self._cells: Callable[[str], list[str]] | None = None
        self._index: npt.NDArray[np.intp] = np.arange(rows)

    def meaning(self, name: str) -> ColumnMeaning:
        """Return what a column is, without counting it among those that are used.

        Raises
        ------
        KeyError
        """
        name = self.resolved(name)
        if name not in self._ready:
            self._ready[name] = self._sources[name]()
        return self._ready[name]

    def resolved(self, name: str) -> str:
        """Return the column that a name means: in nested records, ``results.*.loss`` is ``loss``."""
        return name.removeprefix(f"{self._path}.") if self._path and name not in self._sources else name

    @property
    def read_line(self) -> str:
        """The sentence about what was read; empty for data in memory of which nothing was left out."""
        return self.notes.line() if self.from_file or self.notes.left_out else ""

    def spellings(self) -> Iterator[str]:
        """Yield every name that means a column."""
        yield from self._sources
        if self._path:
            yield from (f"{self._path}.{name}" for name in self._sources)

    def __getitem__(self, name: str) -> AnyArray:
        found = self.meaning(name)
        if found.problem is not None and found.kind != "text":
            raise found.problem
        unit = self._units.get(name) or found.unit
        if not self.notes.columns.get(self.resolved(name)):
            self.notes.columns[self.resolved(name)] = (*found.notes, *((unit,) if unit else ()))
        return found.values

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.resolved(name) in self._sources

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def __repr__(self) -> str:
        return f"Columns({self.label}: {self.rows} rows; {printable(', '.join(self), 200)})\n{self.notes.line()}"

    @property
    def units(self) -> Mapping[str, str]:
        """The units that the data state, in a header or an attribute, or in the cells of columns read so far."""
        stated = {name: found.unit for name, found in self._ready.items() if found.unit and is_unit(found.unit)}
        return {**stated, **self._units}

    def kind(self, name: str) -> str:
        """Return what a column is: ``"time"``, ``"percent"``, ``"number"`` or ``"text"``."""
        found = self.meaning(name)
        if found.kind != "number":
            return "time" if found.kind == "date" else "text"
        return "time" if self._is_time(name, found) else "percent" if found.unit == "%" else "number"

    def _is_time(self, name: str, found: ColumnMeaning) -> bool:
        known = found.values[~np.isnan(found.values)]
        if not known.size or found.unit or found.problem:
            return False
        with contextlib.suppress(DataError):
            return are_plain_dates(known) or bool(TIME_NAME_PATTERN.search(name) and years_of_numbers(known, name))
        return False

    def texts(self, name: str) -> list[str]:
        """Return the cells of a column as they are written; those of data in memory as a file would have them."""
        if self._cells is not None:
            cells = self._cells(self.resolved(name))
            return [cells[row] for row in self._index]
        found = self.meaning(name)
        return [plain_cell(v, name) for v in (found.values if found.labels is None else found.labels)]

    def labels(self, name: str) -> AnyArray:
        """Return a column as what tells rows apart: its cells as written, or its numbers and dates if they are plain.

        Raises
        ------
        UnknownNameError
        """
        self._check_known(name)
        found = self.meaning(name)
        return found.values if found.labels is None else found.labels

    def years(self, name: str) -> Array:
        """Return a column of dates, in whatever form, as decimal years; a missing date is NaN.

        Raises
        ------
        UnknownNameError, DataError
        """
        values = self.column(name)
        found, where = self.meaning(name), f"{self.label}: column '{printable(name, 80)}'"
        if found.kind == "date":
            return decimal_year(values)
        if found.kind == "text":
            raise DataError(f"{where}: expected dates (2024-06-30, 2024Q2, Jun 2024, years), got text")
        years, form = years_of_numbers(values, where)
        self.notes.columns[self.resolved(name)] = (*found.notes, f"'{printable(name, 40)}' as {form}")
        return years

    def take(self, keep: BoolArray, reason: str = "") -> Columns:
        """Return the rows marked in `keep`; columns are still understood at their first use.

        Parameters
        ----------
        keep : ndarray of bool
        reason : str
            Why the others are left out, to be said: ``"without a price"``.
        """
        sources = {name: functools.partial(lambda name: self.meaning(name).take(keep), name) for name in self._sources}
        notes = copy.deepcopy(self.notes) if reason else self.notes
        if reason and (count := int((~keep).sum())):
            notes.left_out[reason] = notes.left_out.get(reason, 0) + count
        rows = self._derived(sources, int(keep.sum()), notes)
        rows._cells, rows._index = self._cells, self._index[keep]
        return rows

    def where(self, name: str, text: str, at: str = "where") -> Columns:
        """Return the rows whose cell of a column is as written, or has the value that the text has there.

        Text such as ``> 3``, or several joined by ``and``, compares numbers and dates; a word for a missing cell, of
        a column that is no text, means the rows without a value.

        Raises
        ------
        UnknownNameError
        UsageError
            If the text is no number, date or truth value where the column holds these.
        """
        from forecast.tables.row_filters import comparison_mask, wanted_value

        labels, values = self.labels(name), self.meaning(name).values
        shown = f"{printable(name, 40)} is {printable(text, 40)}"
        keep = np.zeros(self.rows, dtype=bool) if labels is values else labels == text
        if isinstance(text, str) and not keep.any() and (mask := comparison_mask(values, text, at)) is not None:
            return self.take(mask, f"not {printable(name, 40)} {printable(text, 40)}")
        if not keep.any():
            without = isinstance(text, str) and is_missing(text) and values.dtype.kind != "U"
            keep = self.meaning(name).missing_mask() if without else values == wanted_value(values, text, at)
        rows = self.take(keep, f"of other {printable(name, 40)}")
        rows.notes.series.append(f"one of {len(set(labels.tolist()))} series ({shown})")
        return rows

    def complete(self, names: Iterable[str]) -> Columns:
        """Return the rows that have something in each of some columns; the notes say how many have not.

        Raises
        ------
        DataError
            If a missing cell is an error by `ReadOptions.missing`.
        """
        rows = self
        for name in dict.fromkeys(map(self.resolved, names)):
            if name not in rows._sources:
                continue
            missing = rows.meaning(name).missing_mask()
            if not missing.any():
                continue
            if self.strict:
                row = int(np.argmax(missing)) + 1
                raise DataError(
                    f"{self.label}: row {row} of {rows.rows} has no '{printable(name, 60)}' (--missing error)"
                )
            rows = rows.take(~missing, f"without {printable(name, 40)}")
        return rows

    def complete_mask(self, names: Iterable[str]) -> BoolArray:
        """Return a mask of the rows that have something in each of some columns."""
        keep = np.ones(self.rows, dtype=bool)
        for name in names:
            keep &= ~self.meaning(name).missing_mask()
        return keep

    def copied(self) -> Columns:
        """Return columns that may be written to, with notes of their own."""
        return self.take(np.ones(self.rows, dtype=bool)).with_notes(copy.deepcopy(self.notes))

    def read_whole(self) -> Columns:
        """Return the same columns, all of them understood, so that they can be handed to other processes."""
        ready: dict[str, Callable[[], ColumnMeaning]] = {}
        for name in self:
            with contextlib.suppress(ForecastError):  # what cannot be read is an error for code that reads it
                ready[name] = functools.partial(copy.copy, self.meaning(name))
        found = copy.copy(self)
        found._sources, found._cells = ready, None
        return found

    def with_notes(self, notes: ReadNotes) -> Columns:
        """Return the same columns with other notes."""
        found = copy.copy(self)
        found.notes = notes
        return found

    def with_units(self, units: Mapping[str, str], separate: tuple[str, ...] = ()) -> Columns:
        """Return the same columns with units, and with those whose rows must not be mixed."""
        found = copy.copy(self)
        found._units, found.separate = {n: unit for n, unit in units.items() if unit and n in self._sources}, separate
        return found

    def replaced(self, changed: Mapping[str, AnyArray], units: Mapping[str, str]) -> Columns:
        """Return the columns with some that are new, or stand in for those of their name, in units of their own."""
        own = {name: functools.partial(self.meaning, name) for name in self if name not in changed}
        new = {name: functools.partial(meaning_of_array, values) for name, values in changed.items()}
        kept = {name: unit for name, unit in self.units.items() if name not in changed}
        return self._derived({**own, **new}, self.rows, self.notes, {**kept, **units})

    def _derived(
        self, sources: Mapping[str, Callable[[], ColumnMeaning]], rows: int, notes: ReadNotes,
        units: Mapping[str, str] | None = None,
    ) -> Columns:  # fmt: skip
        """Return columns that come from these."""
        return Columns(
            sources, rows, self.label, self.units if units is None else units, self.separate, notes=notes,
            path=self._path, strict=self.strict, from_file=self.from_file,
        )  # fmt: skip

    def column(self, name: str) -> AnyArray:
        """Return a column; an unknown name suggests the nearest.

        Raises
        ------
        UnknownNameError
        TableError
            If the file has two columns of this name.
        """
        self._check_known(name)
        return self[name]

    def _check_known(self, name: str) -> None:
        if name not in self:
            check_named_once(name, self, self.label)
            within = [f"'{printable(each, 80)}'" for each in self if f".{name}." in f".{each}."]
            if within:
                listed = ", ".join(within)
                raise AmbiguousNameError(f"{self.label}: column '{printable(name, 60)}' holds {listed}: say one")
            raise UnknownNameError("column", name, self, where=self.label)

    def numeric(self, name: str) -> Array:
        """Return a column that must be numbers.

        Raises
        ------
        UnknownNameError, TableError
        """
        values = self.column(name)
        if values.dtype.kind != "f":
            if (problem := self.meaning(name).problem) is not None:
                raise problem
            kind = "dates" if values.dtype.kind == "M" else "text"
            example = "" if kind == "dates" else f" ('{printable(next((c for c in values if c), ''), 40)}')"
            raise TableError(f"{self.label}: column '{printable(name, 80)}': expected numbers, got {kind}{example}")
        return values


def columns_of_table(table: RawTable, options: ReadOptions) -> Columns:
    """Return the columns of a file, each understood at its first use."""
    comma = functools.cache(lambda: _comma_hint(table.sample))

    def source(name: str) -> Callable[[], ColumnMeaning]:
        def meaning() -> ColumnMeaning:
            where = f"{table.label}: column '{printable(name, 80)}'"
            numbers = table.numbers(name) if not options.missing else None
            if numbers is not None and not thousands_by_points(lambda: table[name], options, comma):
                return _numbers_as_meant(name, meaning_of_array(numbers))
            return _numbers_as_meant(
                name, understand(table[name], where, lambda row: table.at(row, name), options, comma)
            )

        return meaning

    columns = Columns(
        {name: source(name) for name in table}, table.rows, table.label, table.units,
        notes=ReadNotes(table.label, table.rows, table.notes, columns=dict.fromkeys(table, ())), path=table.path,
        strict="error" in options.missing, from_file=True,
    )  # fmt: skip
    columns._cells = table.__getitem__
    return columns


def described_cells(table: RawTable, fields: Iterable[Field]) -> RawTable:
    """Return a file's numbers and dates as a description spells and measures them; other cells as they are.

    Raises
    ------
    TableError, DataError, UnitError
    """
    from forecast import units

    read = columns_of_table(table, ReadOptions())
    found: dict[str, list[str] | Callable[[], list[str]]] = {n: functools.partial(table.__getitem__, n) for n in table}
    for each in fields:
        plain = table.separator == "," and each.name not in table.units
        if each.name not in table or (plain and all(_is_spelt_as(each, cell) for cell in table[each.name])):
            continue
        if each.type == "date":
            dates = read.column(each.name)
            if dates.dtype.kind == "M":
                found[each.name] = ["" if np.isnat(date) else str(date)[:10] for date in dates]
        elif each.type in ("number", "integer"):
            try:
                numbers = read.numeric(each.name)  # a unit that nobody knows is none of the description's
                unit = read.units.get(each.name) or read.meaning(each.name).unit
            except DataError:
                if all(_is_spelt_as(each, cell) for cell in table[each.name]):  # in two ways
                    raise
                continue  # the description says which cell is none
            if unit and each.unit:
                numbers = numbers * units.factor(unit, each.unit, where=f"{table.label}: {printable(each.name, 80)}")
            found[each.name] = ["" if np.isnan(number) else f"{number:.17g}" for number in numbers]
    return RawTable(found, table.lines, table.label, table.hash, notes=table.notes)


def _is_spelt_as(described: Field, cell: str) -> bool:
    if not cell:
        return True
    try:
        described.value(cell)
    except ValueError:
        return False
    return True


def _comma_hint(table: RawTable) -> str:
    """Return what a file suggests of commas in numbers: hardly decimal ones, unless cells have such.

    Semicolons are written by programs whose decimals have commas, and by others: ``"either"`` if no cell tells.
    """
    some = [cell.strip() for cells in table.values() for cell in cells[:N_HINT_ROWS] if "," in cell or "." in cell]
    told = any(map(has_decimal_comma, some))
    if table.separator in (",", ""):
        return "" if told else "point"
    if told:
        return "comma"
    swapped = (cell.translate(_SWAPPED_MARKS) for cell in some)
    return ("point" if any(map(has_decimal_comma, swapped)) else "either") if table.separator == ";" else ""


def columns_of_arrays(data: Mapping[Any, Any], label: str, at: str, *, options: ReadOptions | None = None) -> Columns:
    """Return columns of arrays; text is understood as that of a file is, if there are `options`."""
    sources: dict[str, Callable[[], ColumnMeaning]] = {}
    length: int | None = None
    first = ""
    for name, values in data.items():
        if not isinstance(name, str):
            raise DataError(f"{at}{label}: expected text as a column's name, got {printable(repr(name), 60)}")
        key = normalise_text(name)
        where = f"{at}{label}: column '{printable(name, 80)}'"
        if key in sources:
            raise DataError(f"{where} is given twice (in two spellings of Unicode)")
        array = _to_array(values, where)
        if length is not None and len(array) != length:
            raise DataError(f"{where} has {len(array)} rows, '{printable(first, 80)}' has {length}")
        length, first = len(array), first or name
        sources[key] = functools.partial(_meaning_of_values, array, key, where, options)
    if not length:
        raise EmptyDataError(f"{at}{label}: no {'columns' if length is None else 'rows'}")
    strict = options is not None and "error" in options.missing
    return Columns(sources, length, label, strict=strict)


def _meaning_of_values(array: AnyArray, name: str, where: str, options: ReadOptions | None) -> ColumnMeaning:
    values = coerce(array, where)
    if values.dtype.kind == "O":
        return understand(list(values), where, lambda row: f"{where}, row {row + 1}", options or ReadOptions(), str)
    if options is None:
        return meaning_of_array(values)
    if values.dtype.kind != "U":
        return _numbers_as_meant(name, meaning_of_array(values))
    found = understand(values.tolist(), where, lambda row: f"{where}, row {row + 1}", options, lambda: "point")
    kept = found if found.kind == "text" or found.labels is not None else replace(found, labels=values)
    return _numbers_as_meant(name, kept)


def _numbers_as_meant(name: str, found: ColumnMeaning) -> ColumnMeaning:
    """Return numbers without those that fill holes, and as dates if they are Unix seconds, YYYYMM, days of a sheet."""
    if found.kind != "number" or found.unit or found.problem is not None:
        return found
    known = found.values[np.isfinite(found.values)]
    low = known.min(initial=0.0)
    if low in FILL_VALUES and ((known == low) | (known >= 0)).all():
        values = np.where(found.values == low, np.nan, found.values)
        found, known = replace(found, values=values, notes=(*found.notes, f"{low:.0f} as missing")), known[known >= 0]
    if not known.size or not (TIME_NAME_PATTERN.search(name) or are_plain_dates(known)):
        return found
    try:
        dates, form = dates_of_numbers(found.values, name)
    except DataError:
        return found
    if dates.dtype.kind != "M":
        return found
    labels = np.array([f"{value:.17g}" for value in found.values]) if found.labels is None else found.labels
    note = f"'{printable(name, 40)}' as {form}"
    return replace(found, kind="date", values=dates, labels=labels, notes=(*found.notes, note))


def _to_array(values: Any, where: str) -> AnyArray:
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


def coerce(array: AnyArray, where: str) -> AnyArray:
    """Return an array as float64, text or ``datetime64[s]``; it is a copy, so that nobody writes to the caller's."""
    kind = array.dtype.kind
    if kind in "biuf":
        return array.astype(np.float64)
    if kind == "M":
        return array.astype("datetime64[s]")
    if kind in "UT":
        return text_array([normalise_text(str(v)) for v in array], where)
    if kind != "O":
        raise DataError(f"{where}: expected numbers, text or dates, got {array.dtype}")
    return _from_objects(array, where)


def _from_objects(array: AnyArray, where: str) -> AnyArray:
    """Sort out an object array: one kind in it, and None, NaN, NaT and NA as missing."""
    import pandas as pd

    rows = np.flatnonzero(~pd.isna(array)).tolist()
    known = list(array[rows])
    kind_of = [_value_kind(value) for value in known]
    kinds = set(kind_of)
    if kinds == {"number", "text"} and all(
        could_be_number(v.strip()) or is_missing(v) for v, k in zip(known, kind_of, strict=True) if k == "text"
    ):
        return np.array([plain_cell(v, where) for v in array], dtype=object)
    if len(kinds) > 1:
        # The rarer kind is the surprise: name its first row.
        rare = min(sorted(kinds), key=kind_of.count)
        row = rows[kind_of.index(rare)]
        others = ", ".join(sorted(kinds - {rare}))
        raise DataError(f"{where}: row {row}: {rare} '{printable(array[row], 60)}' among {others}")
    kind = kinds.pop() if kinds else "number"
    if kind == "number":
        try:
            return placed([float(v) for v in known], rows, array.size, kind)
        except OverflowError:
            raise DataError(f"{where}: a number is outside the range of double precision") from None
    if kind == "text":
        return text_array([normalise_text(v) if isinstance(v, str) else "" for v in array], where)
    if kind != "date":
        raise DataError(f"{where}: row {rows[0]}: expected a number, text or a date, got {kind}")
    return placed([v.isoformat() for v in known], rows, array.size, kind)


def _value_kind(value: Any) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, (decimal.Decimal, numbers.Real)):
        return "number"
    if isinstance(value, (datetime.date, datetime.datetime)):
        return "a date with a time zone" if getattr(value, "tzinfo", None) else "date"
    return f"a {type(value).__name__}"
