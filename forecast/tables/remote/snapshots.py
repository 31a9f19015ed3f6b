"""What was fetched of a file without a published hash: ``snapshots.json`` in the folder of downloaded tables.

Of each URL it says which hash the file had when it was first fetched, how long it was, on which day, and under which
name it is kept: trust on first use, as ssh does with hosts. An update keeps the earlier snapshots beside the current.

The file is read strictly: what it does not say exactly as it was written is an error that names it, and a damaged one
is never written over.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from forecast.base.files import read_bytes, write_atomic
from forecast.base.json_text import strict_json, to_json
from forecast.base.locked_file import locked
from forecast.base.saved_records import COUNT, DAY, Each, Kind, Named, Record, check
from forecast.errors import DownloadError, printable
from forecast.tables.schema.descriptor import HASH

__all__ = ["Snapshot", "UrlSnapshots", "find", "keep", "read", "today"]

NAME = "snapshots.json"
SCHEMA = 1
LIMIT_BYTES = 4 * 2**20
#: A name in the cache, never a path: the record must not lead out of its folder.
_FILE = re.compile(r"[0-9a-f]{12}-[a-z0-9._-]{1,150}")


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A file as it was on one day.

    Parameters
    ----------
    hash : str
        ``"sha256:..."`` of its bytes.
    bytes : int
        Its length.
    fetched : str
        The day it was recorded, ISO, in UTC.
    file : str
        Its name in the folder of downloaded tables.
    """

    hash: str
    bytes: int
    fetched: str
    file: str


@dataclass(frozen=True, kw_only=True)
class UrlSnapshots:
    """What is recorded of one URL: the snapshot in use, and those before it, the newest first."""

    current: Snapshot
    earlier: tuple[Snapshot, ...] = ()

    def of(self, digest: str) -> Snapshot | None:
        """Return the snapshot that has this hash, or None."""
        return next((s for s in (self.current, *self.earlier) if s.hash == digest), None)


_SNAPSHOT = Record(
    {
        "hash": Kind("'sha256:' and 64 digits", lambda v: isinstance(v, str) and bool(HASH.fullmatch(v))),
        "bytes": COUNT,
        "fetched": DAY,
        "file": Kind("a name in the cache", lambda v: isinstance(v, str) and bool(_FILE.fullmatch(v))),
    }
)
_FORM = Record(
    {
        "schema": Kind(str(SCHEMA), lambda v: type(v) is int and v == SCHEMA),  # true is 1
        "snapshots": Named(Record({"current": _SNAPSHOT, "earlier": Each(_SNAPSHOT)})),
    }
)


def read(folder: Path) -> dict[str, UrlSnapshots]:
    """Return what is recorded, by URL; nothing where there is no file.

    Raises
    ------
    DownloadError
        If the file is damaged; the message names it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> read(folder)
    {}
    >>> one = Snapshot(hash="sha256:" + 64 * "0", bytes=3, fetched="2026-01-31", file="000000000000-a.data")
    >>> _ = keep(folder, "https://example.org/a", one)
    >>> read(folder)["https://example.org/a"].current.bytes
    3
    """
    path = folder / NAME
    if not os.path.lexists(path):
        return {}
    label = printable(path, 300)
    try:
        text = read_bytes(path, limit=LIMIT_BYTES, error=DownloadError)
        top = strict_json(text, where=NAME, error=DownloadError)
        check(top, _FORM, where="", error=DownloadError)
        return {url: _known(entry) for url, entry in top["snapshots"].items()}
    except DownloadError as error:
        what = f"the record of what was downloaded is damaged: {error}"
        raise DownloadError(f"{label}: {what}; restore it, or move it away and fetch the tables anew") from error


def _known(entry: Mapping[str, Any]) -> UrlSnapshots:
    return UrlSnapshots(
        current=Snapshot(**entry["current"]), earlier=tuple(Snapshot(**each) for each in entry["earlier"])
    )


def find(folder: Path, url: str) -> UrlSnapshots | None:
    """Return what is recorded of one URL, or None.

    Raises
    ------
    DownloadError
        See `read`.
    """
    return read(folder).get(url)


def keep(folder: Path, url: str, snapshot: Snapshot, *, replace: bool = False) -> UrlSnapshots:
    """Record a snapshot and return what then stands; a snapshot that is recorded already keeps its day.

    Parameters
    ----------
    folder : Path
        Of downloaded tables; it exists.
    url : str
    snapshot : Snapshot
    replace : bool
        Take the place of another current snapshot, which becomes the newest of the earlier ones. Otherwise what was
        recorded first stands: of two processes that fetch at once, the second is told what the first has recorded.

    Raises
    ------
    DownloadError
        If the record is damaged.
    ResultError
        If it cannot be written.
    """
    with locked(folder / NAME, error=DownloadError):
        record = read(folder)
        known = record.get(url)
        if known is None:
            record[url] = UrlSnapshots(current=snapshot)
        elif known.current.hash == snapshot.hash or not replace:
            return known
        else:
            chosen = known.of(snapshot.hash) or snapshot
            others = tuple(s for s in (known.current, *known.earlier) if s.hash != chosen.hash)
            record[url] = UrlSnapshots(current=chosen, earlier=others)
        _write(folder, record)
        return record[url]


def today() -> str:
    """Return the day, ISO, in UTC."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _write(folder: Path, record: Mapping[str, UrlSnapshots]) -> None:
    snapshots = {
        url: {"current": asdict(known.current), "earlier": [asdict(s) for s in known.earlier]}
        for url, known in sorted(record.items())
    }
    write_atomic(folder / NAME, to_json({"schema": SCHEMA, "snapshots": snapshots}, indent=1) + "\n")
