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

from forecast.base.files import exclusive_lock, read_bytes, write_atomic
from forecast.base.json_text import strict_json, to_json
from forecast.base.saved_records import COUNT, DAY, ListSchema, MappingSchema, ObjectSchema, ValueSchema, check_record
from forecast.errors import DownloadError, printable
from forecast.tables.schema.descriptor import HASH_PATTERN

FILE_NAME = "snapshots.json"
SCHEMA_VERSION = 1
MAX_SNAPSHOT_FILE_BYTES = 4 * 2**20
#: A name in the cache, never a path: the record must not lead out of its folder.
_SNAPSHOT_NAME_PATTERN = re.compile(r"[0-9a-f]{12}-[a-z0-9._-]{1,150}")


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


_SNAPSHOT = ObjectSchema(
    {
        "hash": ValueSchema(
            "'sha256:' and 64 digits", lambda v: isinstance(v, str) and bool(HASH_PATTERN.fullmatch(v))
        ),
        "bytes": COUNT,
        "fetched": DAY,
        "file": ValueSchema(
            "a name in the cache", lambda v: isinstance(v, str) and bool(_SNAPSHOT_NAME_PATTERN.fullmatch(v))
        ),
    }
)
_FORM = ObjectSchema(
    {
        "schema": ValueSchema(str(SCHEMA_VERSION), lambda v: type(v) is int and v == SCHEMA_VERSION),  # true is 1
        "snapshots": MappingSchema(ObjectSchema({"current": _SNAPSHOT, "earlier": ListSchema(_SNAPSHOT)})),
    }
)


def read_snapshots(folder: Path) -> dict[str, UrlSnapshots]:
    """Return what is recorded, by URL; nothing where there is no file.

    Raises
    ------
    DownloadError
        If the file is damaged; the message names it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> read_snapshots(folder)
    {}
    >>> one = Snapshot(hash="sha256:" + 64 * "0", bytes=3, fetched="2026-01-31", file="000000000000-a.data")
    >>> _ = keep(folder, "https://example.org/a", one)
    >>> read_snapshots(folder)["https://example.org/a"].current.bytes
    3
    """
    path = folder / FILE_NAME
    if not os.path.lexists(path):
        return {}
    label = printable(path, 300)
    try:
        text = read_bytes(path, limit=MAX_SNAPSHOT_FILE_BYTES, error=DownloadError)
        top = strict_json(text, where=FILE_NAME, error=DownloadError)
        check_record(top, _FORM, where="", error=DownloadError)
        return {
            url: UrlSnapshots(
                current=Snapshot(**entry["current"]), earlier=tuple(Snapshot(**each) for each in entry["earlier"])
            )
            for url, entry in top["snapshots"].items()
        }
    except DownloadError as error:
        what = f"the record of what was downloaded is damaged: {error}"
        raise DownloadError(f"{label}: {what}; restore it, or move it away and fetch the tables anew") from error


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
    with exclusive_lock(folder / FILE_NAME, error=DownloadError):
        record = read_snapshots(folder)
        known = record.get(url)
        if known is None:
            record[url] = UrlSnapshots(current=snapshot)
        elif known.current.hash == snapshot.hash or not replace:
            return known
        else:
            chosen = known.of(snapshot.hash) or snapshot
            others = tuple(s for s in (known.current, *known.earlier) if s.hash != chosen.hash)
            record[url] = UrlSnapshots(current=chosen, earlier=others)
        _write_snapshots(folder, record)
        return record[url]


def today() -> str:
    """Return the day, ISO, in UTC."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _write_snapshots(folder: Path, record: Mapping[str, UrlSnapshots]) -> None:
    snapshots = {
        url: {"current": asdict(known.current), "earlier": [asdict(s) for s in known.earlier]}
        for url, known in sorted(record.items())
    }
    write_atomic(folder / FILE_NAME, to_json({"schema": SCHEMA_VERSION, "snapshots": snapshots}, indent=1) + "\n")
