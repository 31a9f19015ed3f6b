"""Another edition of a table in the place of its own: an earlier snapshot, a file that is tried, or one that it holds.

A table may hold several editions itself: as rows, told apart by a column whose rows must not be mixed (``separate``),
or as columns, ``cost`` and ``cost_2026_09``. Either way one stands in the place of the other.

Inside `use_editions` whoever reads the table reads the other edition, by the same name: a forecast can be made with
either, and its worlds are the same. Nothing on disk changes. It is noted which tables were read, so that
one can tell what an answer rests on.
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
from forecast.tables import file_formats
from forecast.tables.raw_table import RawTable
from forecast.tables.remote import resource_bytes
from forecast.tables.schema import descriptor
from forecast.tables.schema.descriptor import Package, Resource


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
    added : mapping of str to (str, str)
        A file of rows that stand beside those of a resource, and its hash, by resource.
    """

    package: Package
    pinned: Mapping[str, str] = field(default_factory=dict)
    instead: tuple[str, str] | None = None
    added: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """The hashes of its files, what stands in the place of what in them, and of the rows beside them."""
        files = " ".join(self.pinned.get(resource.name, resource.hash) for resource in self.package.resources)
        files += "".join(f" (and rows of {Path(path).name} {digest})" for path, digest in self.added.values())
        return files if self.instead is None else f"{files} ({self.instead[1]} in the place of {self.instead[0]})"


#: Columns that say what a row is called.
LABEL_COLUMNS = ("name", "site")

_standing: ContextVar[Mapping[Path, Edition]] = ContextVar("forecast_editions")
_noted: ContextVar[set[Path]] = ContextVar("forecast_tables_read")


@contextlib.contextmanager
def use_editions(editions: Mapping[Path, Edition]) -> Iterator[set[Path]]:
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
    return _standing.get({}).get(path) or Edition(package=descriptor.read_descriptor(path))


def mark(path: Path) -> str:
    """Return what tells the editions of a table apart; empty for its own."""
    stands = _standing.get({}).get(path)
    return f"{stands.package.file} {stands.hash}" if stands else ""


def note_table(path: Path) -> Path:
    """Note that a table is read, and return its descriptor."""
    _noted.get(set()).add(path)
    return path


def earlier(package: Package, which: str) -> Edition:
    """Return a table as it was when it was fetched before; see `forecast.tables.snapshot`."""
    return Edition(package=package, pinned=resource_bytes.pinned_hash(package, which))


def try_file(package: Package, file: str, resource: str = "", *, where: str) -> Edition:
    """Return a table with a file of somebody's in the place of one of its own.

    Parameters
    ----------
    package : Package
    file : str
        The file, as the table's own or its source has it; rows without the table's key, which stand beside its own; or
        another description, ``datapackage.json`` or its folder.
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
        return Edition(package=descriptor.read_descriptor(path / "datapackage.json" if path.is_dir() else path))
    names = [each.name for each in package.resources]
    if not resource and len(names) > 1:
        raise UsageError(f"{where}: which file? Say {package.name}:RESOURCE=PATH, with one of {', '.join(names)}")
    if resource and resource not in names:
        raise UnknownNameError("resource", resource, names, where=where)
    own = next(each for each in package.resources if each.name == (resource or names[0]))
    if own.parser == "csv" and own.key and not any(key in (rows := file_formats.read_file(path)) for key in own.key):
        return with_rows(Edition(package=package), rows, str(path))  # rows without a key of the table's are somebody's
    parser = "any" if own.parser == "csv" else own.parser
    tried = replace(own, path=str(path), hash=file_hash(path), parser=parser)
    resources = tuple(tried if each is own else each for each in package.resources)
    return Edition(package=replace(package, resources=resources))


def substitute_edition(package: Package, this: str, other: str, *, where: str) -> Edition:
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


def with_rows(edition: Edition, rows: RawTable, path: str) -> Edition:
    """Return an edition with the rows of a file beside its own: of each resource the columns that the file has of it.

    A resource of which the file has keys alone stays as it is.
    """
    added = {
        each.name: (path, rows.hash)
        for each in edition.package.resources
        if any(f.name in rows and f.name not in each.key for f in each.fields)
    }
    return replace(edition, added={**edition.added, **added})


def added_rows(edition: Edition, resource: Resource) -> tuple[Resource, RawTable] | None:
    """Return the rows beside those of a resource, and the schema that they are read by; None where there are none.

    A column that the file lacks is empty: it is required of the table's rows and not of these. A key that it lacks is
    the file's name and the line, and what a row is called is then its first key. What several rows of the file say
    alike of one resource is one row of it.
    """
    if resource.name not in edition.added:
        return None
    from forecast.tables.columns import described_cells

    read = described_cells(file_formats.read_file(edition.added[resource.name][0]), resource.fields)
    columns = {each.name: read.get(each.name, [""] * len(read.lines)) for each in resource.fields}
    first = next((key for key in resource.key if key in read), "")
    called = [each.name for each in resource.fields if each.name in LABEL_COLUMNS and each.type == "string"]
    for name in (*resource.key, *called):
        if name not in read:
            lines = [f"{read.label}:{line}" for line in read.lines]
            columns[name] = read[first] if first and name not in resource.key else lines
    first_row: dict[tuple[str, ...], int] = {}
    for row, cells in enumerate(zip(*columns.values(), strict=True)):
        first_row.setdefault(cells, row)
    once = list(first_row.values())
    kept = RawTable(
        {name: [cells[row] for row in once] for name, cells in columns.items()},
        [read.lines[row] for row in once], read.label, read.hash,
    )  # fmt: skip
    fields = tuple(each if each.name in read else replace(each, required=False) for each in resource.fields)
    return replace(resource, fields=fields), kept


def names_of(edition: Edition, path: str) -> set[str]:
    """Return what the rows of a file may be called: every text that it holds, and the keys that it lacks."""
    out: set[str] = set()
    for resource in edition.package.resources:
        if (found := added_rows(edition, resource)) is not None and edition.added[resource.name][0] == path:
            texts = {each.name for each in resource.fields if each.type == "string"}
            out |= {cell for name in texts for cell in found[1][name] if cell}
    return out


Read = tuple[Resource, dict[str, list[Any]], Any]


def apply_substitution(edition: Edition, read: Sequence[Read]) -> Sequence[Read]:
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
            values, found = _replace_rows(resource, values, column, this, other), True
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


def _replace_rows(
    resource: Resource, values: dict[str, list[Any]], column: str, this: str, other: str
) -> dict[str, list[Any]]:
    """Leave out the rows of `this`, and append those of `other` under its name."""
    kept = [row for row, label in enumerate(values[column]) if label != this]
    copied = [row for row, label in enumerate(values[column]) if label == other]
    out = {name: [cells[row] for row in (*kept, *copied)] for name, cells in values.items()}
    out[column] = [values[column][row] for row in kept] + [this] * len(copied)
    if resource.key and column not in resource.key:  # every row has a name of its own, and a copy needs another
        key = resource.key[0]
        out[key][len(kept) :] = [f"{values[key][row]} (as {this})" for row in copied]
    return out
