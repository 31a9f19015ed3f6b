"""Tables read a moment ago: twenty trends of one table check its thousand cells once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from forecast.base import access
from forecast.base.lazy import xr
from forecast.tables import editions

if TYPE_CHECKING:
    from forecast.base.access import Access
    from forecast.tables.columns import Columns

#: How many tables are kept, and how many answers to questions about one.
MAX_TABLES, MAX_FOUND = 64, 20_000

Stamp = dict[Path, tuple[int, ...]]


@dataclass(eq=False)
class SharedTable:
    """A table that others read too: nothing of it may be written to.

    Parameters
    ----------
    table : xarray.Dataset
    flatten : callable
        Returns its rows as columns.
    stamp : dict, optional
        What changes when one of its files does; None where it is not kept.
    """

    table: xr.Dataset
    flatten: Callable[[xr.Dataset], Columns]
    stamp: Stamp | None = None
    _columns: Columns | None = None
    _found: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def columns(self) -> Columns:
        """Its rows as columns, flattened at their first use."""
        if self._columns is None:
            self._columns = self.flatten(self.table)
        return self._columns

    def once(self, question: Hashable, find: Callable[[], Any]) -> Any:
        """Return what `find` finds in the table, which it answers once; a failure is no answer."""
        if question not in self._found:
            if len(self._found) >= MAX_FOUND:
                self._found.clear()
            self._found[question] = find()
        return self._found[question]


Place = tuple[Path, "Access", str]
#: By descriptor, by what files may reach, for what was read while more was allowed is not there afterwards, and by the
#: edition that stands in the table's place.
_kept: OrderedDict[Place, SharedTable] = OrderedDict()
_lock = Lock()


def file_stamp(file: Path) -> tuple[int, ...]:
    """Return what changes when a file does, also if another of its size and time takes its place."""
    state = file.stat()
    return state.st_dev, state.st_ino, state.st_mtime_ns, state.st_ctime_ns, state.st_size


def get_shared(
    descriptor: Path, load: Callable[[Path], tuple[xr.Dataset, list[Path]]], flatten: Callable[[xr.Dataset], Columns]
) -> SharedTable:
    """Return a table as all who read it have it, read anew only if one of its files has changed.

    Parameters
    ----------
    descriptor : Path
    load : callable
        Returns the table and the files it was read from; without files it is not kept.
    flatten : callable
    """
    with _lock:
        known = _kept.get(_cache_key(descriptor))
    if known is not None and known.stamp is not None and _is_unchanged(known.stamp):
        return known
    dataset, files = load(descriptor)
    if not files:
        return SharedTable(dataset, flatten)
    result = SharedTable(dataset, flatten, {file: file_stamp(file) for file in files})
    with _lock:
        place = _cache_key(descriptor)
        _kept[place] = result
        _kept.move_to_end(place)
        while len(_kept) > MAX_TABLES:
            _kept.popitem(last=False)
    return result


def _cache_key(descriptor: Path) -> Place:
    return descriptor, access.current(), editions.mark(descriptor)


def _is_unchanged(stamp: Stamp) -> bool:
    try:
        return all(file_stamp(file) == state for file, state in stamp.items())
    except OSError:
        return False
