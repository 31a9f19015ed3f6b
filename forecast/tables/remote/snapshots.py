"""What was fetched of a file without a published hash: ``snapshots.json`` in the folder of downloaded tables.

Of each URL it says which hash the file had when it was first fetched, how long it was, on which day, and under which
name it is kept: trust on first use, as ssh does with hosts. An update keeps the earlier snapshots beside the current.

The file is read strictly: what it does not say exactly as it was written is an error that names it, and a damaged one
is never written over.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from forecast.base.files import read_bytes, write_atomic
from forecast.base.json_text import strict_json, to_json
from forecast.errors import DownloadError, printable
from forecast.tables.schema.descriptor import HASH

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

__all__ = ["Known", "Snapshot", "find", "keep", "read", "today"]

NAME = "snapshots.json"
LOCK = "snapshots.lock"
SCHEMA = 1
LIMIT_BYTES = 4 * 2**20
#: A name in the cache, never a path: the record must not lead out of its folder.
_FILE = re.compile(r"[0-9a-f]{12}-[a-z0-9._-]{1,150}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


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
class Known:
    """What is recorded of one URL: the snapshot in use, and those before it, the newest first."""

    current: Snapshot
    earlier: tuple[Snapshot, ...] = ()

    def of(self, digest: str) -> Snapshot | None:
        """Return the snapshot that has this hash, or None."""
        return next((s for s in (self.current, *self.earlier) if s.hash == digest), None)


def read(folder: Path) -> dict[str, Known]:
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
        whole = isinstance(top, dict) and set(top) == {"schema", "snapshots"}
        if not whole or type(top["schema"]) is not int or top["schema"] != SCHEMA:  # true is 1
            raise DownloadError(f"expected an object with 'schema' ({SCHEMA}) and 'snapshots'")
        if not isinstance(top["snapshots"], dict):
            raise DownloadError("snapshots: expected an object")
        return {url: _known(entry, printable(url, 120)) for url, entry in top["snapshots"].items()}
    except DownloadError as error:
        what = f"the record of what was downloaded is damaged: {error}"
        raise DownloadError(f"{label}: {what}; restore it, or move it away and fetch the tables anew") from error


def _known(raw: Any, at: str) -> Known:
    if not isinstance(raw, dict) or set(raw) != {"current", "earlier"} or not isinstance(raw["earlier"], list):
        raise DownloadError(f"{at}: expected an object with 'current' and 'earlier'")
    return Known(current=_snapshot(raw["current"], at), earlier=tuple(_snapshot(e, at) for e in raw["earlier"]))


def _snapshot(raw: Any, at: str) -> Snapshot:
    if not isinstance(raw, dict) or set(raw) != {"hash", "bytes", "fetched", "file"}:
        raise DownloadError(f"{at}: expected an object with 'hash', 'bytes', 'fetched' and 'file'")
    texts = {"hash": HASH, "fetched": _DAY, "file": _FILE}
    for key, pattern in texts.items():
        if not isinstance(raw[key], str) or not pattern.fullmatch(raw[key]):
            raise DownloadError(f"{at}: {key}: '{printable(raw[key], 80)}'")
    try:
        datetime.date.fromisoformat(raw["fetched"])
    except ValueError:
        raise DownloadError(f"{at}: fetched: '{raw['fetched']}' is no day") from None
    if not isinstance(raw["bytes"], int) or isinstance(raw["bytes"], bool) or raw["bytes"] < 0:
        raise DownloadError(f"{at}: bytes: '{printable(raw['bytes'], 40)}'")
    return Snapshot(**raw)


def find(folder: Path, url: str) -> Known | None:
    """Return what is recorded of one URL, or None.

    Raises
    ------
    DownloadError
        See `read`.
    """
    return read(folder).get(url)


def keep(folder: Path, url: str, snapshot: Snapshot, *, replace: bool = False) -> Known:
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
    with _alone(folder):
        record = read(folder)
        known = record.get(url)
        if known is None:
            record[url] = Known(current=snapshot)
        elif known.current.hash == snapshot.hash or not replace:
            return known
        else:
            chosen = known.of(snapshot.hash) or snapshot
            others = tuple(s for s in (known.current, *known.earlier) if s.hash != chosen.hash)
            record[url] = Known(current=chosen, earlier=others)
        _write(folder, record)
        return record[url]


def today() -> str:
    """Return the day, ISO, in UTC."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _write(folder: Path, record: Mapping[str, Known]) -> None:
    snapshots = {
        url: {"current": asdict(known.current), "earlier": [asdict(s) for s in known.earlier]}
        for url, known in sorted(record.items())
    }
    write_atomic(folder / NAME, to_json({"schema": SCHEMA, "snapshots": snapshots}, indent=1) + "\n")


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock: of two processes that read, change and write, neither may lose what the other wrote."""
    if fcntl is None:
        yield
        return
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(folder / LOCK, flags, 0o666)
    except OSError as error:
        link = error.errno == errno.ELOOP
        why = "it is a symbolic link" if link else (error.strerror or type(error).__name__).lower()
        raise DownloadError(f"{printable(folder / LOCK, 300)}: cannot write: {why}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
