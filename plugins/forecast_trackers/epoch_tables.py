"""Tables of Epoch AI as downloaded, without the columns that say where a row comes from."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import forecast

__all__ = ["read_table"]

#: In lower case. They say where a row comes from, and hold most of a file's text.
_PROVENANCE_PATTERNS = (
    "*notes*", "link*", "*link", "source*", "*source", "log viewer", "logs", "job", "id", "abstract", "authors",
    "reference", "description", "thumbnail", "last modified", "created*", "started at",
)  # fmt: skip
_PERIOD_START = "Start date"


def read_table(path: Path) -> dict[str, list[str]]:
    """Return measurements, names and the date of what is measured.

    Notes, links, sources and the dates of edits are left out. So is ``Start date`` if all counts begin on one day, as
    cumulative counts of chips do: their date is the other one.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    dict of str to list
    """
    columns = forecast.read(path, reader="none")
    table = {name: columns.texts(name) for name in columns if not _is_provenance(name.casefold().strip())}
    return {name: cells for name, cells in table.items() if name != _PERIOD_START or len(set(cells)) > 1}


def _is_provenance(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in _PROVENANCE_PATTERNS)
