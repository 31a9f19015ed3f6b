"""Another edition of a table in the place of its own: an earlier snapshot, a file that is tried, or one that it holds.

A table may hold several editions itself: as rows, told apart by a column whose rows must not be mixed (``separate``),
or as columns, ``cost`` and ``cost_2026_09``. Either way one stands in the place of the other.

Inside `standing` whoever reads the table reads the other edition, by the same name: a forecast can be made with either,
and its worlds are the same. Nothing on disk changes. It is noted which tables were read, so that one can tell what an
answer rests on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from forecast.base.files import file_hash
from forecast.errors import UnknownNameError, UsageError, printable
from forecast.tables.remote import resource_bytes
from forecast.tables.schema import descriptor
from forecast.tables.schema.descriptor import Package, Resource

__all__ = ["Edition", "earlier", "mark", "noted", "of", "replaced", "standing", "substituted", "tried"]


@dataclass(frozen=True, kw_only=True)
class Edition:
    """What is read in the place of a table.

    Parameters
    ----------
    package : Package
        The description, whose files may stand elsewhere.
    pinned : mapping of str to str
        The recorded hash of another snapshot than the current one, by resource.
    instead : pair of str, optional
        An edition that the table holds, and the one of the same table that stands in its place.
    """

    package: Package
    pinned: Mapping[str, str] = field(default_factory=dict)
    instead: tuple[str, str] | None = None

    @property
    def hash(self) -> str:
        """The hashes of its files, and what stands in the place of what in them."""
        files = " ".join(self.pinned.get(resource.name, resource.hash) for resource in self.package.resources)
        return files if self.instead is None else f"{files} ({self.instead[1]} in the place of {self.instead[0]})"


_standing: ContextVar[Mapping[Path, Edition]] = ContextVar("forecast_editions")
_noted: ContextVar[set[Path]] = ContextVar("forecast_tables_read")


@contextlib.contextmanager
def standing(editions: Mapping[Path, Edition]) -> Iterator[set[Path]]:
    """Read these editions in this block, each in the place of the table with this descriptor.

    Yields
    ------
    set of Path
        The descriptors of the tables that were read in the block, of all tables.
    """
    read: set[Path] = set()
    tokens = _standing.set({**_standing.get({}), **editions}), _noted.set(read)
    try:
        yield read
    finally:
        _standing.reset(tokens[0])
        _noted.reset(tokens[1])
        _noted.get(set()).update(read)  # of a block around this one


def of(path: Path) -> Edition:
    """Return what is to be read for a table: what stands in its place, or itself."""
    return _standing.get({}).get(path) or Edition(package=descriptor.read(path))


def mark(path: Path) -> str:
    """Return what tells the editions of a table apart; empty for its own."""
    stands = _standing.get({}).get(path)
    return f"{stands.package.file} {stands.hash}" if stands else ""


def noted(path: Path) -> Path:
    """Note that a table is read, and return its descriptor."""
    _noted.get(set()).add(path)
    return path


def earlier(package: Package, which: str) -> Edition:
    """Return a table as it was when it was fetched before; see `forecast.tables.snapshot`."""
    return Edition(package=package, pinned=resource_bytes.pinned(package, which))


def tried(package: Package, file: str, resource: str = "", *, where: str) -> Edition:
    """Return a table with a file of somebody's in the place of one of its own.

    Parameters
    ----------
    package : Package
    file : str
        The file, as the table's own or its source has it; or another description, ``datapackage.json`` or its folder.
    resource : str
        Which of the table's files, where it has several.
    where : str
        For messages.

    Raises
    ------
    UnknownNameError, UsageError, DataError
    """
    path = Path(file).absolute()
    if path.is_dir() or path.suffix == ".json":
        if resource:
            raise UsageError(f"{where}: '{printable(file, 80)}' describes a whole table: expected one file")
        return Edition(package=descriptor.read(path / "datapackage.json" if path.is_dir() else path))
    names = [each.name for each in package.resources]
    if not resource and len(names) > 1:
        raise UsageError(f"{where}: which file? Say {package.name}:RESOURCE=PATH, with one of {', '.join(names)}")
    if resource and resource not in names:
        raise UnknownNameError("resource", resource, names, where=where)
    digest = file_hash(path)
    taken = tuple(
        replace(each, path=str(path), hash=digest) if each.name == (resource or names[0]) else each
        for each in package.resources
    )
    return Edition(package=replace(package, resources=taken))


def substituted(package: Package, this: str, other: str, *, where: str) -> Edition:
    """Return a table with one of the editions that it holds in the place of another.

    Parameters
    ----------
    package : Package
    this : str
        What is replaced: a value of a column that keeps rows apart (``2026-08``), or a column (``cost``).
    other : str
        What takes its place: another value of that column, or another column of the same type, unit and qualifiers.
    where : str
        For messages.

    Raises
    ------
    UsageError
        If the two are one, or columns that state different things. What is no edition at all is an error at reading.
    """
    if this == other:
        raise UsageError(f"{where}: '{printable(this, 60)}' stands in its own place already")
    fields = {field.name: field for resource in package.resources for field in resource.fields}
    if this in fields and other in fields:
        one, two = ((f.type, f.unit, dict(f.qualifiers)) for f in (fields[this], fields[other]))
        if one != two:
            raise UsageError(
                f"{where}: the columns '{printable(this, 60)}' and '{printable(other, 60)}' differ in type, unit or "
                "qualifiers: they are no editions of one quantity"
            )
    return Edition(package=package, instead=(this, other))


Read = tuple[Resource, dict[str, list[Any]], Any]


def replaced(edition: Edition, read: Sequence[Read]) -> Sequence[Read]:
    """Put one edition that a table holds in the place of another, among the values of its resources.

    The rows of `this` go, and those of `other` stand under either name; or the column `this` has the values of `other`.

    Raises
    ------
    UnknownNameError, UsageError
        If the table does not hold both, as rows or as columns.
    """
    if edition.instead is None:
        return read
    this, other = edition.instead
    out: list[Read] = []
    known: list[str] = []
    found = False
    for resource, values, cells in read:
        columns = [name for name in values if name not in resource.key]
        column = next((name for name in resource.separate if this in values[name] and other in values[name]), None)
        if column is not None:
            values, found = _rows(resource, values, column, this, other), True
        elif this in columns and other in columns:
            values, found = {**values, this: values[other]}, True
        known += [
            str(label) for name in resource.separate for label in dict.fromkeys(values[name]) if label is not None
        ]
        known += columns
        out.append((resource, values, cells))
    if not found:
        where = f"table '{edition.package.name}'"
        for name in (this, other):
            if name not in known:
                raise UnknownNameError("edition", name, known, where=where)
        raise UsageError(f"{where}: '{printable(this, 60)}' and '{printable(other, 60)}' are no editions of one thing")
    return out


def _rows(resource: Resource, values: dict[str, list[Any]], column: str, this: str, other: str) -> dict[str, list[Any]]:
    """Leave out the rows of `this`, and append those of `other` under its name."""
    kept = [row for row, label in enumerate(values[column]) if label != this]
    copied = [row for row, label in enumerate(values[column]) if label == other]
    out = {name: [cells[row] for row in (*kept, *copied)] for name, cells in values.items()}
    out[column] = [values[column][row] for row in kept] + [this] * len(copied)
    if resource.key and column not in resource.key:  # every row has a name of its own, and a copy needs another
        key = resource.key[0]
        out[key][len(kept) :] = [f"{values[key][row]} (as {this})" for row in copied]
    return out
