"""Rows of a file as its authors publish it, as text; and their cells as numbers, days and names of ours."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["Columns", "dates", "numbered", "numbers", "read_rows", "require", "text"]

Columns = dict[str, list[object]]
Rows = Sequence[Mapping[str, str]]
#: Ours to the names that their column has had, the newest first, and the factor to our unit.
Numbers = Mapping[str, tuple[tuple[str, ...], float]]

_GROUPED = re.compile(r"-?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?")


def read_rows(path: str | os.PathLike[str], what: str) -> list[dict[str, str]]:
    """Return the rows of a CSV or JSON file as text."""
    import csv
    import io

    from forecast.errors import DataError, printable
    from forecast.jsontext import strict_json

    file = Path(path)
    if file.suffix.lower() in (".pkl", ".pickle"):
        raise DataError(f"{what}: {file.name} is a pickle, which can run code when read: give a .csv or .json file")
    try:
        content = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{what}: cannot read {file.name}: {error.__class__.__name__}") from error
    if file.suffix.lower() == ".json":
        found = strict_json(content, where=f"{what}: {file.name}")
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            raise DataError(f"{what}: {file.name}: expected a list of objects")
        return [{str(k): "" if v is None else str(v) for k, v in row.items()} for row in found]
    try:
        return list(csv.DictReader(io.StringIO(content, newline="")))
    except csv.Error as error:
        raise DataError(f"{what}: cannot read {file.name}: {printable(error, 100)}") from error


def require(rows: Rows, names: Sequence[str], path: str | os.PathLike[str], what: str) -> None:
    """Raise DataError, which names the column, unless every row has these."""
    from forecast.errors import DataError

    if not rows:
        raise DataError(f"{what}: {Path(path).name} has no rows")
    for name in names:
        if name not in rows[0]:
            raise DataError(f"{what}: {Path(path).name}: column '{name}' is missing; is this the file?")


def numbers(rows: Rows, columns: Numbers, what: str = "") -> Columns:
    """Return columns of numbers, None for an empty cell; a column that is not there is empty, with a warning."""
    import warnings

    found: Columns = {}
    absent = []
    for ours, (theirs, factor) in columns.items():
        name = next((n for n in theirs if rows and n in rows[0]), None)
        if name is None:
            absent.append(theirs[0])
            found[ours] = [None] * len(rows)
        else:
            found[ours] = [_number(row.get(name) or "", name, factor) for row in rows]
    if absent and what:
        named = ", ".join(f"'{name}'" for name in absent)
        warnings.warn(f"{what}: the file has no column {named}: left empty", stacklevel=3)
    return found


def _number(cell: str, column: str, factor: float) -> float | None:
    """Read one figure; some of these sets print prices with a dollar sign, and thousands apart."""
    from forecast.errors import DataError, printable

    plain = cell.strip().removeprefix("$")
    if _GROUPED.fullmatch(plain):
        plain = plain.replace(",", "")
    try:
        return float(plain) * factor if plain else None
    except ValueError:
        raise DataError(f"column '{column}': expected a number, got '{printable(cell, 40)}'") from None


def dates(rows: Rows, name: str) -> list[object]:
    """Return days; a cell that is no date (a year alone, a remark) is missing."""
    found: list[object] = []
    for row in rows:
        try:
            found.append(datetime.date.fromisoformat((row.get(name) or "").strip()[:10]))
        except ValueError:
            found.append(None)
    return found


def text(rows: Rows, name: str) -> list[object]:
    """Return text with single blanks; empty where the column is not there."""
    return [" ".join((row.get(name) or "").split()) for row in rows]


def numbered(names: Sequence[object]) -> list[object]:
    """Tell apart the rows of one name, in their order, so that the name can be a key.

    Examples
    --------
    >>> numbered(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    taken = set(names)
    seen: set[object] = set()
    found: list[object] = []
    for name in names:
        made, count = name, 1
        while made in seen or (count > 1 and made in taken):
            count += 1
            made = f"{name} ({count})"
        seen.add(made)
        found.append(made)
    return found
