"""Reading and writing ordinary files: bounded, checked, and never half written.

Everything that is read is a regular file of bounded size: a FIFO would wait for ever and ``/dev/zero`` has no end.
Everything that is written goes to a temporary name in the same folder and is then renamed, so that a reader sees the
old file or the new one and a full disk leaves the old one as it was. A writer that is killed leaves its temporary file;
the next one in that folder removes it.

Files that grow, such as ledgers, are changed by one writer at a time: `update` reads a file, changes it and writes it
anew while it holds the operating system's lock, so that of many writers none loses what another has added. The lock is
on an empty file of its own beside it, ``NAME.lock``, for the file itself is replaced. A lock ends with its process,
however that ends.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from forecast.base import budgets
from forecast.errors import DataError, ForecastError, ResultError, printable

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


fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

#: The longest file name that common file systems take.
NAME_MAX = 255
#: The names of temporary files, and of nothing else.
_TEMPORARY_NAME = re.compile(r"\.[0-9a-f]{16}\.part")
#: Where there are no locks, a temporary file this many seconds old has no writer.
ABANDONED_SECONDS = 86_400.0


def os_reason(error: OSError) -> str:
    """Return the reason of the operating system, in small letters."""
    return (error.strerror or type(error).__name__).lower()


@contextlib.contextmanager
def open_regular(path: Path, limit: int, error: type[ForecastError]) -> Iterator[int]:
    """Open a regular file of at most `limit` bytes. Opening does not block, and what was opened is what is checked."""
    shown = printable(path)
    if "\0" in str(path):
        raise error(f"{shown}: a file name cannot hold a NUL character")
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        handle = os.open(path, flags)
    except OSError as fault:
        broken = fault.errno == errno.ENOENT and path.is_symlink()
        raise error(f"{shown}: {'a symbolic link to nothing' if broken else os_reason(fault)}") from fault
    try:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise error(f"{shown}: is a folder; expected a file")
        if not stat.S_ISREG(status.st_mode):
            raise error(f"{shown}: is a device, pipe or socket; expected an ordinary file")
        if status.st_size > limit:
            raise error(f"{shown}: {status.st_size:,} bytes; at most {limit:,} are read")
        yield handle
    finally:
        os.close(handle)


def read_bytes(path: str | os.PathLike[str], *, limit: int, error: type[ForecastError] = DataError) -> bytes:
    """Return the whole of a regular file, or raise `error` in one line that names it.

    Parameters
    ----------
    path : path-like
    limit : int
        A larger file is refused before anything is read.
    error : type of ForecastError
        What to raise: for a folder, FIFO, device, missing file, broken link, missing permission, file too large.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.txt")
    >>> _ = path.write_text("hello")
    >>> read_bytes(path, limit=1000)
    b'hello'
    """
    source = Path(path)
    with open_regular(source, limit, error) as handle, open(handle, "rb", closefd=False) as stream:
        try:
            data = stream.read(limit + 1)
        except OSError as fault:
            raise error(f"{printable(source)}: {os_reason(fault)}") from fault
    if len(data) > limit:  # it grew while it was read
        raise error(f"{printable(source)}: more than {limit:,} bytes; at most {limit:,} are read")
    return data


def check_regular(path: Path, *, limit: int = 1 << 40, error: type[ForecastError] = DataError) -> None:
    """Raise `error` unless `path` is an ordinary, readable file of at most `limit` bytes.

    Examples
    --------
    >>> check_regular(Path("/"))
    Traceback (most recent call last):
    forecast.errors.DataError: /: is a folder; expected a file
    """
    with open_regular(path, limit, error):
        pass


def file_hash(path: str | os.PathLike[str], *, limit: int = 1 << 40) -> str:
    """Return ``"sha256:..."`` over a file's bytes, as ``datapackage.json`` states it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.txt")
    >>> _ = path.write_text("hello")
    >>> file_hash(path)[:15]
    'sha256:2cf24dba'
    """
    import hashlib

    source = Path(path)
    with open_regular(source, limit, DataError) as handle, open(handle, "rb", closefd=False) as stream:
        try:
            return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as fault:
            raise DataError(f"{printable(source)}: {os_reason(fault)}") from fault


def safe_output(path: str | os.PathLike[str]) -> Path:
    """Check the name of an output file and return it as a path.

    The rule: a user may name any ordinary file, anywhere, absolute or not. Refused are an empty name, a NUL, a folder
    (or a name that ends like one), a name longer than file systems take, a parent folder that does not exist, and
    an existing FIFO, device or socket. A symbolic link at the final name is not followed: writing replaces the link
    and leaves what it points to alone.

    Raises
    ------
    ResultError

    Examples
    --------
    >>> safe_output("forecast.nc").name
    'forecast.nc'
    >>> safe_output("")
    Traceback (most recent call last):
    forecast.errors.ResultError: output file: the name is empty
    """
    text = os.fspath(path)
    shown = printable(text)
    if not text.strip():
        raise ResultError("output file: the name is empty")
    if "\0" in text:
        raise ResultError(f"output file '{shown}': a file name cannot hold a NUL character")
    if text.endswith(("/", os.sep)):
        raise ResultError(f"output file '{shown}': names a folder; expected a file")
    target = Path(text)
    if target.name in ("", ".", ".."):
        raise ResultError(f"output file '{shown}': names a folder; expected a file")
    if len(os.fsencode(target.name)) > NAME_MAX:
        raise ResultError(f"output file '{shown}': the name is longer than {NAME_MAX} bytes")
    try:
        if not stat.S_ISDIR(target.parent.stat().st_mode):
            raise ResultError(f"output file '{shown}': '{printable(target.parent)}' is not a folder")
    except OSError as fault:
        raise ResultError(f"output file '{shown}': folder '{printable(target.parent)}': {os_reason(fault)}") from fault
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return target
    except OSError as fault:
        raise ResultError(f"output file '{shown}': {os_reason(fault)}") from fault
    if stat.S_ISDIR(mode):
        raise ResultError(f"output file '{shown}': is a folder; expected a file")
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise ResultError(f"output file '{shown}': is a device, pipe or socket; expected an ordinary file")
    return target


def _try_lock(handle: int) -> bool:
    """Lock an open file for its writer; False where somebody else holds it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as fault:
        return fault.errno not in (errno.EWOULDBLOCK, errno.EACCES)  # some file systems have no locks
    return True


def _is_open_file(handle: int, path: Path) -> bool:
    """Tell whether a name still is the open file."""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except OSError:
        return False


@contextlib.contextmanager
def temporary_file(folder: Path, *, inside: bool = False) -> Iterator[Path]:
    """Give a new temporary file in `folder`, or a folder with `inside`; nobody sweeps it while its writer lives.

    What killed writers left there is swept first. A writer holds a lock on what it writes to, and a lock ends with its
    process, however that ends: what can be locked has no writer.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    sweep(folder)
    handle = -1
    try:
        while True:
            # Short, so that a name at the limit still has room; random and exclusive, so that nobody's file is opened.
            path = folder / f".{os.urandom(8).hex()}.part"
            # Between making, opening and locking it, a sweeper may take it for one that was left.
            if inside:
                path.mkdir()
                try:
                    handle = os.open(path, os.O_RDONLY) if fcntl else -1
                except FileNotFoundError:
                    continue
            else:
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
            if handle < 0 or (_try_lock(handle) and _is_open_file(handle, path)):
                break
            os.close(handle)
            handle = -1
        try:
            yield path
        finally:
            _remove(path)
    finally:
        if handle >= 0:
            os.close(handle)


def sweep(folder: Path) -> None:
    """Remove what killed writers left in a folder: names of our pattern that nobody holds a lock on."""
    try:
        left = [Path(entry.path) for entry in os.scandir(folder) if _TEMPORARY_NAME.fullmatch(entry.name)]
    except OSError:
        return
    for path in left:
        with contextlib.suppress(OSError):
            _sweep_one(path)


def _sweep_one(path: Path) -> None:
    status = path.lstat()
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        return
    if fcntl is None:
        if time.time() - status.st_mtime > ABANDONED_SECONDS:
            _remove(path)
        return
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error, and so nothing is done, where there are no locks
        if _is_open_file(handle, path):
            _remove(path)
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    """Remove a temporary file, or a temporary folder and the files right in it."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            for each in path.iterdir():
                each.unlink()
            path.rmdir()
        else:
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def replace_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name in the folder of `path`; on leaving, it is renamed to `path`, or removed after an error.

    What killed writers left in that folder is removed (see `temporary_file`).

    Raises
    ------
    ResultError
        For a name that `safe_output` refuses and for any failure of the file system; `path` is then as it was.
    """
    target = safe_output(path)
    try:
        with temporary_file(target.parent) as temporary:
            yield temporary
            with temporary.open("rb") as handle:
                os.fsync(handle.fileno())
            temporary.replace(target)
    except OSError as fault:
        raise ResultError(f"{printable(target)}: cannot write: {os_reason(fault)}") from fault


def write_atomic(path: str | os.PathLike[str], content: bytes | memoryview | str) -> Path:
    r"""Write a file whole or not at all, and return its path.

    Text is written as UTF-8 with the line ends it has; a lone surrogate, which UTF-8 cannot hold, as ``\udXXX``.

    Raises
    ------
    ResultError
        See `safe_output`; also for a full disk. What stood there before is then untouched.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> write_atomic(pathlib.Path(tempfile.mkdtemp(), "a.json"), "{}").read_text()
    '{}'
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    with replace_atomically(path) as temporary:
        temporary.write_bytes(data)
    return Path(path)
