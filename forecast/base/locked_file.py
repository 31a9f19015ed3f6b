"""Files that grow, such as ledgers, changed by one writer at a time.

`update` reads a file, changes it and writes it anew while it holds the operating system's lock, so that of many writers
none loses what another has added. The lock is on an empty file of its own beside it, ``NAME.lock``, for the file itself
is replaced. A lock ends with its process, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from forecast.base import budgets
from forecast.base.files import os_reason, read_bytes, replace_atomically, safe_output
from forecast.errors import ForecastError, ResultError, printable

#: So long a writer waits for another one, and how often it asks.
MAX_WAIT_SECONDS, POLL_SECONDS = 60.0, 0.01


@contextlib.contextmanager
def exclusive_lock(path: Path, *, error: type[ForecastError] = ResultError) -> Iterator[None]:
    """Hold the lock of a file, against other processes and other threads.

    Parameters
    ----------
    path : Path
        What is locked; it need not exist. Its folder must.
    error : type of ForecastError
        What to raise: where the file system has no locks, where the lock file cannot be made, and where somebody else
        keeps the lock for a minute.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.jsonl")
    >>> with exclusive_lock(path):
    ...     [each.name for each in path.parent.iterdir()]
    ['a.jsonl.lock']
    """
    from filelock import FileLock, Timeout

    shown, lock = printable(path), FileLock(f"{path}.lock", timeout=MAX_WAIT_SECONDS, poll_interval=POLL_SECONDS)

    def out_of_time() -> bool:
        budgets.check_time(f"{shown}: waiting for another writer")
        return False

    try:
        exclusive = lock.acquire(cancel_check=out_of_time)
    except Timeout as fault:
        raise error(
            f"{shown}: another process has been writing it for {MAX_WAIT_SECONDS:g} s ('{printable(path.name)}.lock' "
            "is locked); nothing was written: try again when it has ended"
        ) from fault
    except OSError as fault:
        why = os_reason(fault)
        raise error(
            f"{shown}: cannot be locked by '{printable(path.name)}.lock': {why}; nothing was written, for of two "
            "writers without a lock one loses what it adds: keep it on a file system with locks, such as a local disk"
        ) from fault
    with exclusive:
        yield


def update(path: str | os.PathLike[str], change: Callable[[bytes], bytes], *, limit: int) -> None:
    """Read a file, change what it holds, and write it anew, while nobody else does.

    A reader sees the file as it was or as it is now, and so does everybody after a writer was killed. Where `change`
    raises, nothing is written. A symbolic link is followed: the file of two names has one lock. Its mode is kept.

    Parameters
    ----------
    path : path-like
    change : callable
        Takes the bytes of the file, none where there is no file, and returns the new ones.
    limit : int
        A larger file is refused unread.

    Raises
    ------
    DataError
        For a file that cannot be read.
    ResultError
        For one that cannot be locked or written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.txt")
    >>> for word in (b"one ", b"two "):
    ...     update(path, lambda before: before + word, limit=100)
    >>> path.read_text()
    'one two '
    """
    target = safe_output(os.path.realpath(safe_output(path)))
    with exclusive_lock(target):
        exists = target.exists()
        before = read_bytes(target, limit=limit) if exists else b""
        after = change(before)
        with replace_atomically(target) as temporary:
            temporary.write_bytes(after)
            if exists:
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Have the new name of a file on the disk: what was acknowledged outlives a loss of power."""
    with contextlib.suppress(OSError):  # Windows opens no folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
