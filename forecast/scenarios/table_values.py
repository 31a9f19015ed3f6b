"""Figures and choices that a scenario reads in tables: which row, which unit, which qualifiers."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from forecast import tables
from forecast.base.arrays import AnyArray, BoolArray
from forecast.base.budgets import check_time
from forecast.base.dates import iso_date, today
from forecast.base.lazy import xr
from forecast.errors import DataError, EmptyDataError, ForecastError, ScenarioError, UnknownNameError, printable
from forecast.scenarios.kinds.table_value import ByChoice, TableValue
from forecast.scenarios.spec import Choice, TableChoice, fill
from forecast.scenarios.templates import MAX_COMBINATIONS, combinations
from forecast.tables import Columns, series
from forecast.tables.cache import SharedTable
from forecast.units import qualifiers

#: Rows that one figure is looked for under, one after the other, at most.
MAX_ROWS_TRIED = 1000


@dataclass(frozen=True)
class ReadValue:
    """A number that was read in a table, with its unit and its qualifiers.

    Where rows are chosen by a date, `history` has the dates, ISO, and what stood there, the newest first; elsewhere
    `since` is the day from which the row was known, the first of its dates: of a device that of its release.
    """

    value: float
    unit: str
    qualifiers: Mapping[str, str]
    table: str
    history: tuple[tuple[str, float], ...] = ()
    since: str = ""


@dataclass
class Tables:
    """The tables of one scenario, each read once.

    Parameters
    ----------
    where : str
        The scenario's file, for messages.
    start : float, optional
        When the scenario starts, for figures of the years before it; without it their newest date counts.
    """

    where: str
    start: float | None = None
    _tables: dict[Any, SharedTable | ForecastError] = field(default_factory=dict)

    def _read(self, name: str, reading: Mapping[str, str] = MappingProxyType({})) -> SharedTable:
        """Return a table by its name, or a file that no descriptor describes; what cannot be read is tried once."""
        place = name, tuple(reading.items())
        if place not in self._tables:
            try:
                self._tables[place] = self._load(name, reading)
            except ForecastError as error:
                self._tables[place] = error
        found = self._tables[place]
        if isinstance(found, ForecastError):
            raise found.with_traceback(None)
        return found

    @staticmethod
    def _load(name: str, reading: Mapping[str, str]) -> SharedTable:
        if tables.is_plain_file(name):  # no descriptor describes it: each column is understood at its first use
            return SharedTable(xr.Dataset(), lambda _: tables.read(name, **reading))
        return tables.shared_table(name, where=name)

    @property
    def read(self) -> tuple[str, ...]:
        """What was read of files so far, a sentence each."""
        found = (each for each in self._tables.values() if isinstance(each, SharedTable))
        return tuple(each.columns.notes.line() for each in found if each.columns.from_file)

    def unit(self, cell: TableValue) -> str:
        """Return the unit of the column of a cell."""
        return self._read(cell.table, cell.reading).columns.units.get(cell.column, "")

    @staticmethod
    def _mask(table: SharedTable, column: str, text: str, key: str) -> BoolArray:
        def rows() -> BoolArray:
            values = table.columns.column(column)
            return np.asarray(values == tables.wanted_value(values, text, f"{key}.where.{printable(column, 60)}"))

        found: BoolArray = table.once(("rows", column, text), rows)
        return found

    def figure(self, cell: TableValue, chosen: Mapping[str, str], key: str) -> ReadValue:
        """Return the figure that a cell holds under these values of the choices.

        Raises
        ------
        EmptyDataError
            If the table has none.
        DataError
            If several rows match and differ.
        """
        options = {c: _wanted_texts(v, chosen) for c, v in cell.where.items()}
        if (count := math.prod(map(len, options.values()))) > MAX_ROWS_TRIED:
            at = f"{self.where}: {key}.where"
            raise ScenarioError(f"{at}: {count:,} combinations of texts; at most {MAX_ROWS_TRIED:,} are looked for")
        for picked in itertools.product(*options.values()):
            check_time(f"{self.where}: {key}: looking for its row")
            figure = self._row(cell, dict(zip(options, picked, strict=True)), key)
            if figure is not None:
                return figure
        if cell.fallback is not None:
            return self.figure(cell.fallback, chosen, key)
        criteria = ", ".join(f"{c} = {printable(' or '.join(v), 60)}" for c, v in options.items())
        missing = f"{printable(_label(cell.table), 60)} has no '{printable(cell.column, 60)}'"
        raise EmptyDataError(f"{self.where}: {key}: {missing}{' where ' + criteria if criteria else ''}")

    def _row(self, cell: TableValue, picked: Mapping[str, str], key: str) -> ReadValue | None:
        """Return the figure of one row: whoever asks a table the same has the same answer."""
        start = self.start if cell.latest and cell.within is not None else None
        query = tuple(picked.items()), cell.column, cell.latest, cell.within, cell.own, start, cell.aggregate
        question = ("figure", *query, tuple(cell.qualifiers.items()))
        table = self._read(cell.table, cell.reading)
        found: ReadValue | None = table.once(question, lambda: self._first(table, cell, picked, key))
        return found

    def _first(self, table: SharedTable, cell: TableValue, picked: Mapping[str, str], key: str) -> ReadValue | None:
        dataset, columns = table.table, table.columns
        at = f"{self.where}: {key}"
        value = columns.numeric(cell.column)
        keep = ~np.isnan(value)
        for column, text in picked.items():
            keep &= self._mask(table, column, text, at)
        if not keep.any():
            return None
        history: tuple[tuple[str, float], ...] = ()
        best = np.max if cell.aggregate == "highest" else np.min
        if cell.latest:
            dates = columns.column(cell.latest)
            if dates.dtype.kind != "M":
                raise DataError(f"{at}.latest: column '{printable(cell.latest, 60)}' holds no dates")
            own = _own_rows(dataset, columns, dates, at)
            if cell.within is not None and self.start is not None:
                years = tables.decimal_year(dates)
                keep &= ((years <= self.start) | own) & (years >= self.start - cell.within)
            keep &= own if cell.own or (keep & own).any() else True  # what a user sets goes before what others state
            if not keep.any():
                return None
            days = np.unique(dates[keep])[::-1]
            history = tuple((str(day)[:10], float(best(value[keep & (dates == day)]))) for day in days)
            keep &= dates == days[0]
        figures = np.unique(value[keep])
        if len(figures) > 1 and not cell.aggregate:
            differ = f"{int(keep.sum())} rows match and differ ({figures[0]:g} and {figures[1]:g})"
            raise DataError(f'{at}: {differ}; narrow where, or give latest = a date column, or aggregate = "lowest"')
        rows = np.flatnonzero(keep & (value == best(figures)))
        stated = {n: v for n in qualifiers.ATTRIBUTES if (v := self._states(dataset, columns, cell.column, n, rows))}
        stated |= {**series.of_column(dataset, cell.column), **cell.qualifiers}
        unit = columns.units.get(cell.column, "")
        undated = history or tables.is_plain_file(cell.table)  # nobody says what the dates of a file are of
        since = "" if undated else min(table.once("first dates", lambda: _first_dates(columns))[rows].tolist())
        own_qualifiers = {n: v for n, v in stated.items() if v}
        return ReadValue(float(value[rows[0]]), unit, own_qualifiers, cell.table, history, since)

    def lookup_masks(self, cell: TableValue, choices: Mapping[str, Choice], key: str) -> dict[str, BoolArray]:
        """Return the rows that a cell may be found in under any values of the choices, by the column that decides.

        The first column is that of the figure.
        """
        columns = (table := self._read(cell.table, cell.reading)).columns
        of, masks = cell.chosen_by, {cell.column: ~np.isnan(columns.numeric(cell.column))}
        every = [dict(zip(of, values, strict=True)) for values in combinations(choices, of)]
        for column, wanted in cell.where.items():
            texts = {text for chosen in every for text in _wanted_texts(wanted, chosen)}
            masks[column] = np.any([self._mask(table, column, text, key) for text in texts], axis=0)
        if cell.within is not None and self.start is not None:
            masks[cell.latest] = tables.decimal_year(columns.column(cell.latest)) >= self.start - cell.within
        return masks

    @staticmethod
    def _states(dataset: xr.Dataset, columns: Columns, column: str, attribute: str, rows: Any) -> str:
        """Return what the matching rows state, if it is a statement about this column and they agree."""
        known = dataset.variables  # none of a file without a description, whose columns are all of its rows
        if attribute not in columns:
            return ""
        if attribute in known and not set(known[attribute].dims) <= set(known[column].dims):
            return ""
        statements = {str(v) for v in columns.column(attribute)[rows]}
        return statements.pop() if len(statements) == 1 else ""

    def check_known(self, cell: TableValue, key: str, as_of: float) -> None:
        """Refuse rows of one's own of a day after a date, in a table that a cell is looked up in by its newest date."""
        if cell.latest and cell.within is not None:
            table = self._read(cell.table, cell.reading)
            _own_rows(table.table, table.columns, table.columns.column(cell.latest), f"{self.where}: {key}", as_of)
        if cell.fallback is not None:
            self.check_known(cell.fallback, key, as_of)

    def chosen(self, choice: Choice, text: str, key: str) -> tuple[str, ...]:
        """Return a value as it is, or those values of a choice whose rows meet a condition: ``vendor is AMD``.

        Raises
        ------
        UnknownNameError
            If the table has no such column, or no row of the choice meets the condition.
        """
        column, is_, wanted = (part.strip() for part in text.partition(" is "))
        if text in choice.values or not is_ or choice.table is None:
            return (text,)
        of = replace(choice.table, where={**choice.table.where, column: (wanted,)})
        met = self.values(of, key)
        if found := tuple(value for value in choice.values if value in met):
            return found
        known = self._read(of.table).columns.column(column).astype(str).tolist()
        raise UnknownNameError(printable(column, 60), wanted, sorted({*known} - {""}), where=key)

    def values(self, choice: TableChoice, key: str) -> list[str]:
        """Return the values of a choice that stand in its table, in the table's order."""
        table = self._read(choice.table)
        columns = table.columns
        column_values = columns.column(choice.column)
        if column_values.dtype.kind != "U":
            raise DataError(f"{self.where}: {key}.column: '{printable(choice.column, 60)}' holds no text")
        keep = np.ones(columns.rows, dtype=bool)
        for column, texts in choice.where.items():
            keep &= np.any([self._mask(table, column, t, f"{self.where}: {key}") for t in texts], axis=0)
        return [v for v in dict.fromkeys(column_values[keep].tolist()) if v]


def _first_dates(columns: Columns) -> AnyArray:
    """Return the first of the dates of each row, ISO; empty where it has none."""
    first = np.full(columns.rows, np.datetime64("NaT", "s"))
    for name in columns:
        if (days := columns.column(name)).dtype.kind == "M":
            first = np.fmin(first, days.astype("datetime64[s]"))
    return np.where(np.isnat(first), "", first.astype("datetime64[D]").astype(str))


def _own_rows(dataset: xr.Dataset, columns: Columns, dates: AnyArray, at: str, as_of: float | None = None) -> BoolArray:
    """Return which rows a user set beside a table's own: they count though they are younger than the scenario's start.

    Raises
    ------
    DataError
        If one is of a day that has not come, or after the date as of which is asked.
    """
    keys = json.loads(dataset.attrs.get("beside", "[]"))
    if not keys:
        return np.zeros(len(dates), dtype=bool)
    own = np.isin(columns.column(str(next(iter(dataset.dims)))).astype(str), keys)
    known = today() if as_of is None else iso_date(as_of)
    if (late := dates[own & (dates > np.datetime64(known, "D"))]).size:
        why = "has not come" if as_of is None else f"was not known by {known}: leave it out, or ask of a later date"
        raise DataError(f"{at}: a row of your own is of {str(late.max())[:10]}, which {why}")
    return own


def _label(name: str) -> str:
    """Return how a table is called in messages: a file without its folder."""
    return Path(name).name if tables.is_plain_file(name) else name


def _wanted_texts(values: tuple[str, ...] | ByChoice, chosen: Mapping[str, str]) -> tuple[str, ...]:
    texts = values.values[chosen[values.choice]] if isinstance(values, ByChoice) else values
    return tuple(fill(t, chosen) for t in texts)


def resolve_choices(
    choices: Mapping[str, Choice | TableChoice], cells: Mapping[str, TableValue], tables: Tables
) -> dict[str, Choice]:
    """Return the choices with their values; those that stand in tables are read.

    Raises
    ------
    UnknownNameError
        If `known` names what is no quantity read in a table.
    EmptyDataError
        If no value is left.
    """
    options = {
        n: c.values if isinstance(c, Choice) else tuple(tables.values(c, f"choices.{n}")) for n, c in choices.items()
    }
    left_out: dict[str, dict[str, str]] = {name: {} for name in choices}
    for name, choice in choices.items():
        if isinstance(choice, Choice):
            continue
        for value in tables.values(replace(choice, where={}), f"choices.{name}"):
            if value not in options[name]:
                said = (f"{column} = {' or '.join(texts)}" for column, texts in choice.where.items())
                left_out[name][value] = f"not of those whose {' and '.join(said)}"
        for known in choice.known:
            key = f"choices.{name}.requires"
            if known not in cells:
                raise UnknownNameError("quantity read in a table", known, cells, where=f"{tables.where}: {key}")
            others = [c for c in options if c != name and c in cells[known].chosen_by]
            kept = [v for v in options[name] if _has_value(cells[known], {name: v}, others, options, tables, known)]
            cell = cells[known]
            within = ""
            if cell.within is not None:
                within = f" of the {'year' if cell.within == 1 else f'{cell.within:g} years'} before the start"
            lacks = f"no {printable(known, 60)} in {printable(_label(cell.table), 60)}{within}"
            left_out[name] |= {v: lacks for v in options[name] if v not in kept}
            options[name] = tuple(kept)
        if not options[name]:
            raise EmptyDataError(f"{tables.where}: choices.{name}: no value is left")
    return {
        n: c if isinstance(c, Choice) else Choice(values=options[n], kind=c.kind, left_out=left_out[n], table=c)
        for n, c in choices.items()
    }


def _has_value(
    cell: TableValue,
    chosen: Mapping[str, str],
    others: list[str],
    choices: Mapping[str, tuple[str, ...]],
    tables: Tables,
    name: str,
) -> bool:
    """Tell whether the table holds the figure in every combination of the other choices."""
    for count, values in enumerate(itertools.product(*(choices[c] for c in others))):
        check_time(f"{tables.where}: quantities.{name}: looking for what is known", count, things="combinations")
        if count == MAX_COMBINATIONS:
            raise ScenarioError(f"{tables.where}: quantities.{name}: more than {count:,} combinations of choices")
        try:
            tables.figure(cell, {**chosen, **dict(zip(others, values, strict=True))}, f"quantities.{name}")
        except EmptyDataError:
            return False
        except ForecastError:  # said where the figure is needed
            continue
    return True
