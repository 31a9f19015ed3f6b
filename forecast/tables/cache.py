"""Tables that others read too: twenty trends of one table check its thousand cells once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast.base.lazy import xr

if TYPE_CHECKING:
    from forecast.tables.columns import Columns

#: How many tables are kept, and how many answers to questions about one.
MAX_TABLES, MAX_FOUND = 64, 20_000


@dataclass(eq=False)
class SharedTable:
    """A table that others read too: nothing of it may be written to.

    Parameters
    ----------
    table : xarray.Dataset
    flatten : callable
        Returns its rows as columns.
    """

    table: xr.Dataset
    flatten: Callable[[xr.Dataset], Columns]
    _found: dict[Hashable, Any] = field(default_factory=dict)

    @cached_property
    def columns(self) -> Columns:
        """Its rows as columns, flattened at their first use."""
        return self.flatten(self.table)

    def once(self, question: Hashable, find: Callable[[], Any]) -> Any:
        """Return what `find` finds in the table, which it answers once; a failure is no answer."""
        if question not in self._found:
            if len(self._found) >= MAX_FOUND:
                self._found.clear()
            self._found[question] = find()
        return self._found[question]


def file_stamp(file: Path) -> tuple[int, ...]:
    """Return what changes when a file does, also if another of its size and time takes its place."""
    state = file.stat()
    return state.st_dev, state.st_ino, state.st_mtime_ns, state.st_ctime_ns, state.st_size
