"""Rows of a file as its authors publish it, as text; and their cells as numbers, days and names of ours."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["Columns", "dates", "figure", "numbered", "numbers", "read_rows", "require", "text", "vector_rates"]

Columns = dict[str, list[object]]
Rows = Sequence[Mapping[str, str]]
#: Ours to the names that their column has had, the newest first, and the factor to our unit.
Numbers = Mapping[str, tuple[tuple[str, ...], float]]

_GROUPED = re.compile(r"-?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?")
#: Vector units run FP16 at most four times as fast as FP32; more is a rate of matrix units in the wrong column.
VECTOR = 4.1


def read_rows(path: str | os.PathLike[str], what: str) -> list[dict[str, str]]:
    """Return the rows of a file as text, read as `forecast.read` reads files."""
    from forecast.errors import DataError
    from forecast.tables.file_formats import read_file

    if Path(path).suffix.lower() in (".pkl", ".pickle"):
        raise DataError(
            f"{what}: {Path(path).name} is a pickle, which can run code when read: give a .csv or .json file"
        )
    try:
        table = read_file(path, reader="none")
    except DataError as error:
        raise DataError(f"{what}: {error}") from error
    return [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]


def require(rows: Rows, names: Sequence[str], path: str | os.PathLike[str], what: str) -> None:
    """Raise DataError, which names the column, unless every row has these."""
    from forecast.errors import DataError
    from forecast.tables.column_names import check_named_once

    if not rows:
        raise DataError(f"{what}: {Path(path).name} has no rows")
    for name in names:
        check_named_once(name, rows[0], f"{what}: {Path(path).name}")
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
    plain = cell.strip().removeprefix("$")
    if _GROUPED.fullmatch(plain):
        plain = plain.replace(",", "")
    return figure(plain, factor, f"column '{column}'", shown=cell)


def figure(cell: str, factor: float, where: str, *, shown: str = "") -> float | None:
    """Return a figure of the grammar of our tables (`forecast.tables.schema.cells`) in our unit; None for an empty
    cell.

    Raises
    ------
    DataError
        For everything that is no plain number: ``1_000``, digits of other scripts, ``NaN``, ``inf``, ``1e400``.

    Examples
    --------
    >>> figure("19.5", 1e12, "peak"), figure("", 1.0, "peak")
    (19500000000000.0, None)
    """
    from forecast.errors import DataError, printable
    from forecast.tables.schema import cells

    if not cell:
        return None
    try:
        return cells.parse_cell_number(cell) * factor
    except ValueError as error:
        raise DataError(f"{where}: {error}, got '{printable(shown or cell, 40)}'") from None


def vector_rates(half: Sequence[object], single: Sequence[object]) -> list[object]:
    """Return the FP16 rates that can be those of vector units; None for the others, which are on another basis.

    Where the FP32 rate is missing nothing tells the two apart, and the FP16 rate is left out too.

    Examples
    --------
    >>> vector_rates([78.0, 2250.0, 320.0], [19.5, 62.1, None])
    [78.0, None, None]
    """
    pairs = zip(half, single, strict=True)
    return [h if isinstance(h, float) and isinstance(s, float) and h <= VECTOR * s else None for h, s in pairs]


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
