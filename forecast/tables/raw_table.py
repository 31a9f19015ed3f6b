"""The cells of a file as text, before anybody has said what they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from forecast.errors import printable

if TYPE_CHECKING:
    from forecast.base.arrays import Array


class RawTable(Mapping[str, list[str]]):
    """Column name to the text of its cells; a column is taken out of the file at its first use.

    Attributes
    ----------
    rows : int
    lines : sequence of int
        The line of the file on which each row starts.
    label : str
        The file's name for messages, printable.
    hash : str
        ``"sha256:..."`` over the file's bytes.
    units : mapping of str to str
        Of the columns for which the file has a row of units.
    notes : tuple of str
        What was left out, or decided, to read the file as a table; empty for a file that needs no decision.
    separator : str
        What separates the cells; empty if the file is no text.
    path : str
        Where the records are in a document: ``results.*``.
    sample : RawTable
        Its first and last rows where all of them would be dear to take out; else the table itself.
    """

    def __init__(
        self,
        columns: Mapping[str, list[str] | Callable[[], list[str]]],
        lines: Sequence[int],
        label: str,
        digest: str,
        *,
        notes: Sequence[str] = (),
        units: Mapping[str, str] | None = None,
        separator: str = "",
        path: str = "",
        numbers: Callable[[str], Array | None] = lambda name: None,
        sample: RawTable | None = None,
    ) -> None:
        self._columns = dict(columns)
        self.lines, self.label, self.hash, self.numbers = lines, label, digest, numbers
        self.notes, self.units, self.separator, self.path = tuple(notes), dict(units or {}), separator, path
        self.rows, self.sample = len(lines), self if sample is None else sample

    def __getitem__(self, name: str) -> list[str]:
        cells = self._columns[name]
        if not isinstance(cells, list):
            cells = self._columns[name] = cells()
        return cells

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def at(self, row: int, column: str) -> str:
        """Return ``file:line:column`` of a cell, for messages."""
        return f"{self.label}:{self.lines[row]}:{printable(column, 80)}"


def join_rows(one: RawTable, other: RawTable) -> RawTable:
    """Return the rows of two files, one after the other, by the columns of the first."""
    columns = {name: [*cells, *other.get(name, [""] * other.rows)] for name, cells in one.items()}
    return RawTable(columns, [*one.lines, *other.lines], f"{one.label} and {other.label}", one.hash)
