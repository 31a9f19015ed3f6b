"""Tables read a moment ago: twenty trends of one table check its thousand cells once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["remember"]

#: How many tables are kept.
MOST = 16

Stamp = tuple[tuple[str, int, int], ...]

_kept: OrderedDict[Path, tuple[Stamp, xr.Dataset]] = OrderedDict()
_lock = Lock()


def _stamp(files: list[Path]) -> Stamp:
    """Return what changes when a file does: its place, its time and its size."""
    found = [(file, file.stat()) for file in files]
    return tuple((str(file), stat.st_mtime_ns, stat.st_size) for file, stat in found)


def remember(descriptor: Path, load: Callable[[Path], tuple[xr.Dataset, list[Path]]]) -> xr.Dataset:
    """Return a copy of a table, read anew only if one of its files has changed.

    Parameters
    ----------
    descriptor : Path
    load : callable
        Returns the table and the files it was read from; without files it is not kept.
    """
    with _lock:
        stamp, table = _kept.get(descriptor, ((), None))
    if table is not None and _same(stamp):
        return table.copy(deep=True)
    found, files = load(descriptor)
    if files:
        with _lock:
            _kept[descriptor] = (_stamp(files), found.copy(deep=True))
            _kept.move_to_end(descriptor)
            while len(_kept) > MOST:
                _kept.popitem(last=False)
    return found


def _same(stamp: Stamp) -> bool:
    try:
        return _stamp([Path(file) for file, _, _ in stamp]) == stamp
    except OSError:
        return False
