"""Tables read a moment ago: twenty trends of one table check its thousand cells once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from forecast.base import access
from forecast.base.first_use.data_classes import dataclass
from forecast.base.lazy import xr
from forecast.tables import editions

if TYPE_CHECKING:
    from forecast.base.access import Access
    from forecast.tables.columns import Columns

__all__ = ["look", "remember", "remember_columns"]

#: How many tables are kept.
MAX_TABLES = 16

Stamp = tuple[tuple[str, int, int], ...]


@dataclass
class _CachedTable:
    """A table, the stamp of its files, and its rows as columns after their first use."""

    stamp: Stamp
    table: xr.Dataset
    columns: Columns | None = None


Place = tuple[Path, "Access", str]
#: By descriptor, by what files may reach, for what was read while more was allowed is not there afterwards, and by the
#: edition that stands in the table's place.
_kept: OrderedDict[Place, _CachedTable] = OrderedDict()
_lock = Lock()


def _stamp(files: list[Path]) -> Stamp:
    """Return what changes when a file does: its place, its time and its size."""
    states = [(file, file.stat()) for file in files]
    return tuple((str(file), stat.st_mtime_ns, stat.st_size) for file, stat in states)


def remember(descriptor: Path, load: Callable[[Path], tuple[xr.Dataset, list[Path]]]) -> xr.Dataset:
    """Return a copy of a table, read anew only if one of its files has changed.

    Parameters
    ----------
    descriptor : Path
    load : callable
        Returns the table and the files it was read from; without files it is not kept.
    """
    known = _known(descriptor)
    if known is not None:
        return known.table.copy(deep=True)
    dataset, files = load(descriptor)
    if files:
        with _lock:
            place = _place(descriptor)
            _kept[place] = _CachedTable(_stamp(files), dataset.copy(deep=True))
            _kept.move_to_end(place)
            while len(_kept) > MAX_TABLES:
                _kept.popitem(last=False)
    return dataset


def look(descriptor: Path, load: Callable[[Path], tuple[xr.Dataset, list[Path]]]) -> xr.Dataset:
    """Return what `remember` does, and not a copy: for who reads units and dimensions and writes nothing."""
    known = _known(descriptor)
    return remember(descriptor, load) if known is None else known.table


def remember_columns(
    descriptor: Path, load: Callable[[Path], tuple[xr.Dataset, list[Path]]], flatten: Callable[[xr.Dataset], Columns]
) -> Columns:
    """Return the rows of a table as columns of one's own, flattened anew only if one of its files has changed.

    Parameters
    ----------
    descriptor : Path
    load : callable
        As of `remember`.
    flatten : callable
    """
    import numpy as np

    known = _known(descriptor)
    if known is None:
        table = remember(descriptor, load)
        known = _known(descriptor)
        if known is None:  # it is not kept
            return flatten(table)
    if known.columns is None:
        known.columns = flatten(known.table)
    return known.columns.take(np.ones(known.columns.rows, dtype=bool))  # copies: nobody writes to another's


def _place(descriptor: Path) -> Place:
    return descriptor, access.current(), editions.mark(descriptor)


def _known(descriptor: Path) -> _CachedTable | None:
    with _lock:
        known = _kept.get(_place(descriptor))
    return known if known is not None and _same(known.stamp) else None


def _same(stamp: Stamp) -> bool:
    try:
        return _stamp([Path(file) for file, _, _ in stamp]) == stamp
    except OSError:
        return False
