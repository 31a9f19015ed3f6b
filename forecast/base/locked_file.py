"""Files that grow, such as ledgers, changed by one writer at a time.

`update` reads a file, changes it and writes it anew while it holds the operating system's lock, so that of many writers
none loses what another has added. The lock is on a file of its own beside it, ``NAME.lock``, for the file itself is
replaced. A lock ends with its process, however that ends; the lock file goes with it, or with the next writer.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from forecast.base import budgets
from forecast.base.files import read_bytes, replacing, safe_output
from forecast.errors import ForecastError, ResultError, printable

fcntl: Any = None
msvcrt: Any = None
try:
    import fcntl
except ImportError:  # Windows
    with contextlib.suppress(ImportError):
        import msvcrt

__all__ = ["locked", "update"]

#: So long a writer waits for another one, and how often it asks.
PATIENCE, PAUSE = 60.0, 0.01
#: What `flock` and `locking` say where somebody else holds the lock.
_TAKEN = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, getattr(errno, "EDEADLK", errno.EACCES)}


@contextlib.contextmanager
def locked(path: Path, *, error: type[ForecastError] = ResultError) -> Iterator[None]:
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
    >>> with locked(path):
    ...     [each.name for each in path.parent.iterdir()]
    ['a.jsonl.lock']
    """
    beside = path.with_name(f"{path.name}.lock")
    handle = _taken(path, beside, error)
    try:
        yield
    finally:
        # While the lock is still ours: who waits for it sees that the name has gone, and makes a new one.
        with contextlib.suppress(OSError):
            beside.unlink()
        _release(handle)
        if fcntl is None:  # Windows removes no open file; it refuses where another writer has it open by now
            with contextlib.suppress(OSError):
                beside.unlink()


def _taken(path: Path, beside: Path, error: type[ForecastError]) -> int:
    """Return the open lock file, once nobody else holds it and it still is the one of that name."""
    shown, since = printable(path), time.monotonic()
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    while True:
        try:
            handle = os.open(beside, flags, 0o666)
        except OSError as fault:
            why = "it is a symbolic link" if fault.errno == errno.ELOOP else _why(fault)
            raise error(f"{printable(beside)}: cannot write the lock of '{printable(path.name)}': {why}") from fault
        try:
            if _try_lock(handle, shown, error) and os.path.samestat(os.fstat(handle), beside.lstat()):
                return handle
        except FileNotFoundError:  # its last holder has removed it
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if time.monotonic() - since > PATIENCE:
            raise error(
                f"{shown}: another process has been writing it for {PATIENCE:g} s ('{printable(beside.name)}' is "
                "locked); nothing was written: try again when it has ended"
            )
        budgets.check_time(f"{shown}: waiting for another writer")
        time.sleep(PAUSE)


def _try_lock(handle: int, shown: str, error: type[ForecastError]) -> bool:
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            raise OSError(errno.ENOSYS, "this system has no locks")
    except OSError as fault:
        if fault.errno in _TAKEN:
            return False
        raise error(
            f"{shown}: cannot be locked, and without a lock two writers lose what one of them adds: {_why(fault)}; "
            "keep it on a file system with locks, such as a local disk"
        ) from fault
    return True


def _release(handle: int) -> None:
    # A process that was forked meanwhile has the same open file, and would go on holding the lock.
    with contextlib.suppress(OSError):
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_UN)
        elif msvcrt is not None:
            msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
    os.close(handle)


def _why(fault: OSError) -> str:
    return (fault.strerror or type(fault).__name__).lower()


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
    with locked(target):
        exists = target.exists()
        before = read_bytes(target, limit=limit) if exists else b""
        after = change(before)
        with replacing(target) as temporary:
            temporary.write_bytes(after)
            if exists:
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        _settle(target.parent)


def _settle(folder: Path) -> None:
    """Have the new name of a file on the disk: what was acknowledged outlives a loss of power."""
    with contextlib.suppress(OSError):  # Windows opens no folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
