"""Another edition of a table in the place of its own: an earlier snapshot, or a file that is tried before it is taken.

Inside `standing` whoever reads the table reads the other edition, by the same name: a forecast can be made with either,
and its worlds are the same. Nothing on disk changes. It is noted which tables were read, so that one can tell what an
answer rests on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path

from forecast.base.files import file_hash
from forecast.errors import UnknownNameError, UsageError, printable
from forecast.tables.remote import sources
from forecast.tables.schema import descriptor
from forecast.tables.schema.descriptor import Package

__all__ = ["Edition", "earlier", "mark", "noted", "of", "standing", "tried"]


@dataclass(frozen=True, kw_only=True)
class Edition:
    """What is read in the place of a table.

    Parameters
    ----------
    package : Package
        The description, whose files may stand elsewhere.
    pinned : mapping of str to str
        The recorded hash of another snapshot than the current one, by resource.
    """

    package: Package
    pinned: Mapping[str, str] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """The hashes of its files."""
        return " ".join(self.pinned.get(resource.name, resource.hash) for resource in self.package.resources)


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
    return Edition(package=package, pinned=sources.pinned(package, which))


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
