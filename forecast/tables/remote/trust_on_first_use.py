"""Trust on first use: a file whose hash nobody published has the one of its first fetch, until somebody updates it.

The first fetch records the hash, after the file has been read as the table that it should be: a page of an error or of
a hotel's network is no table. From then on the cached file is used without the network, and every other file is
refused, whether it was altered in the cache or has changed at its source.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from forecast.base import access
from forecast.base.files import file_hash, temporary_file
from forecast.errors import DataError, DownloadError, printable
from forecast.tables.remote import snapshots
from forecast.tables.remote.download import (
    FETCH_COMMAND,
    MAX_DOWNLOAD_BYTES,
    absent,
    cache_folder,
    check_url,
    copy_file,
    transfer,
)
from forecast.tables.remote.snapshots import Snapshot, UrlSnapshots

_STATES = {
    "verified": "verified against the published hash",
    "recorded": "recorded today",
    "unchanged": "unchanged since {day}",
    "updated": "updated today",
    "chosen": "taken back, recorded on {day}",
}


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A file in the cache that has its recorded hash, or the published one.

    Parameters
    ----------
    path : Path
    snapshot : Snapshot
        What is recorded of it; without a day where its hash is published.
    how : str
        ``cached``: it was there; ``recorded``: fetched for the first time; ``restored``: fetched again, with the hash
        that was recorded; ``unchanged`` and ``updated``: what an update found; ``chosen``: another snapshot was
        requested and is the current one now; ``verified``: it has the published hash.
    before : Snapshot, optional
        The one that was current before, if it is another.
    """

    path: Path
    snapshot: Snapshot
    how: str
    before: Snapshot | None = None

    @property
    def state(self) -> str:
        """What the file was verified against, in words."""
        return _STATES.get(self.how, "recorded on {day}").format(day=self.snapshot.fetched)


def take(
    url: str,
    name: str,
    *,
    where: str,
    limit: int = MAX_DOWNLOAD_BYTES,
    command: str = FETCH_COMMAND,
    published: str = "",
    check: Callable[[Path], object] | None = None,
    file: str | os.PathLike[str] | None = None,
    update: bool = False,
    expected: str | None = None,
) -> Copy:
    """Return a file by its published or its recorded hash, fetching and recording it where that is not done yet.

    Parameters
    ----------
    url : str
        http or https.
    name : str
        The file's name in the cache; the start of the hash is put before it.
    where : str
        The table, for messages.
    limit : int
        More bytes than this are not taken.
    command : str
        What fetches this table from the command line, for messages.
    published : str
        The hash that the description states, which the file must have: nothing is recorded then.
    check : callable, optional
        Raises for a file that is not this table, before it is recorded.
    file : path, optional
        Take this file instead of a download.
    update : bool
        Take what the source gives now, even if it is another file than the recorded one.
    expected : str, optional
        The hash that the file must have. A snapshot that is recorded with it becomes the current one.

    Raises
    ------
    DownloadError
        One line that says what was expected and what to do.
    """
    check_url(url, where)
    folder = cache_folder()
    known = None if published else snapshots.read_snapshots(folder).get(url)
    wanted = published or expected or (known.current.hash if known and not update else None)
    recorded = known.of(wanted) if known and wanted else None
    by_hand = f"'{command} --file PATH' with a copy of the file"
    lost = f" (the file recorded on {recorded.fetched} is not in the cache, or altered there)" if recorded else ""
    if published:
        recorded = Snapshot(hash=published, bytes=0, fetched="", file=f"{published[7:19]}-{name}")
        by_hand = f"put the file by hand at {printable(folder / recorded.file, 300)}"
        lost = " (the file there now is another one)" if os.path.lexists(folder / recorded.file) else ""
    if recorded and file is None and not (update and not (published or expected)) and intact(folder, recorded, limit):
        return _make_current(folder, url, known, recorded, "cached")
    if file is None and not access.current().downloads:
        raise DownloadError(absent(url, where, command, f"{by_hand}{lost}"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DownloadError(f"{printable(folder, 300)}: {(error.strerror or type(error).__name__).lower()}") from error
    source = printable(url if file is None else Path(file).name, 300)
    with _arrival(folder, name) as temporary:
        reason = transfer(url, temporary, limit) if file is None else copy_file(Path(file), temporary, limit)
        if reason:
            state = f"{_state_before(known, recorded)}: " if not published else ""
            hint = f"{state}run '{command}' where there is a network, or {by_hand}{lost if published else ''}"
            unreachable = f"cannot fetch {printable(url, 300)}: {reason}; {hint}"
            raise DownloadError(f"{where}: {reason if file is not None else unreachable}")
        digest = file_hash(temporary, limit=limit)
        if wanted and digest != wanted:
            stated = f"described is {published}" if published else f"expected is {expected}" if expected else ""
            raise DownloadError(_another(source, digest, where, command, stated, known, file is not None))
        if check is not None and recorded is None:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # whoever reads the file then is told what was left out of it
                    check(temporary)
            except DataError as error:
                said = str(error).replace(printable(temporary), name)  # a folder that is gone again helps nobody
                raise DownloadError(f"{where}: {source} is not this table, and is not recorded: {said}") from error
        new = known.of(digest) if known else None
        if new is None:
            size, today = temporary.stat().st_size, snapshots.today()
            new = Snapshot(hash=digest, bytes=size, fetched=today, file=f"{digest[7:19]}-{name}")
        _settle(temporary, folder / new.file)
    if recorded:
        return _make_current(folder, url, known, recorded, "restored")
    how = "recorded" if known is None else "updated"
    return _make_current(folder, url, known, new, how, where=where, command=command, source=source)


def _make_current(
    folder: Path,
    url: str,
    url_snapshots: UrlSnapshots | None,
    one: Snapshot,
    how: str,
    *,
    where: str = "",
    command: str = "",
    source: str = "",
) -> Copy:
    """Make a snapshot the current one, and say how it came to be it; one whose hash is published is none."""
    if not one.fetched:
        size = (folder / one.file).stat().st_size
        return Copy(path=folder / one.file, snapshot=replace(one, bytes=size), how="verified")
    if url_snapshots and url_snapshots.current.hash == one.hash:
        return Copy(path=folder / one.file, snapshot=one, how="unchanged" if how == "updated" else how)
    now = snapshots.keep(folder, url, one, replace=url_snapshots is not None)
    if now.current.hash != one.hash:  # another process was first, and was given another file
        if now.of(one.hash) is None:  # nothing records this one
            (folder / one.file).unlink(missing_ok=True)
        raise DownloadError(_another(source, one.hash, where, command, "", now))
    chosen = url_snapshots is not None and how in ("cached", "restored")
    return Copy(
        path=folder / now.current.file,
        snapshot=now.current,
        how="chosen" if chosen else how,
        before=url_snapshots.current if url_snapshots else None,
    )


def intact(folder: Path, snapshot: Snapshot, limit: int = MAX_DOWNLOAD_BYTES) -> bool:
    """Tell whether the file of a snapshot is in the cache as it was recorded."""
    try:
        return file_hash(folder / snapshot.file, limit=limit) == snapshot.hash
    except DataError:
        return False


def _state_before(snapshots: UrlSnapshots | None, recorded: Snapshot | None) -> str:
    """Say what there is of a file that could not be fetched."""
    if recorded:
        return f"the file recorded on {recorded.fetched} ({recorded.hash}) is not in the cache, or altered there"
    if snapshots:
        return f"the file recorded on {snapshots.current.fetched} ({snapshots.current.hash}) stays in use"
    return "it has not been fetched yet"


def _another(
    source: str,
    digest: str,
    where: str,
    command: str,
    stated: str,
    snapshots: UrlSnapshots | None,
    given: bool = False,
) -> str:
    if stated or snapshots is None:
        return f"{where}: {source} has {digest}, {stated}"
    was = snapshots.current
    return (
        f"{where}: {source} is another file than the recorded one: it has {digest}, recorded on {was.fetched} was "
        f"{was.hash}; to take the new one: '{command} --update{' --file PATH' if given else ''}'"
    )


@contextlib.contextmanager
def _arrival(folder: Path, name: str) -> Iterator[Path]:
    """Give a place in the cache for a file whose hash, and so whose name there, is not known yet.

    It has a folder of its own, so that messages about what is in it name the file as it will be called.
    """
    try:
        with temporary_file(folder, inside=True) as own:
            yield own / name
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        raise DownloadError(f"{printable(folder, 300)}: cannot write: {why}") from error


def _settle(temporary: Path, target: Path) -> None:
    with temporary.open("rb") as handle:
        os.fsync(handle.fileno())
    temporary.replace(target)
