"""Files that grow or are taken up again, such as ledgers and checkpoints: never half written, and checked when read.

`update` reads a file, changes it and writes it anew while it holds the operating system's lock, so that of many writers
none loses what another has added. The lock is on a file of its own beside it, ``NAME.lock``, for the file itself is
replaced. A lock ends with its process, however that ends; the lock file goes with it, or with the next writer.

`save_arrays` and `load_arrays` keep arrays with what is said of them, under a checksum. Nothing is packed: a file takes
as much memory as its header says, which is compared with its size before any of it is read.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast.base import budgets
from forecast.base.files import open_regular, read_bytes, replacing, safe_output
from forecast.base.json_text import strict_json
from forecast.base.schema import ANYTHING, COUNT, TEXT, Each, Kind, Named, Record, check as check_form
from forecast.errors import DataError, ForecastError, ResultError, printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

fcntl: Any = None
msvcrt: Any = None
try:
    import fcntl
except ImportError:  # Windows
    with contextlib.suppress(ImportError):
        import msvcrt

__all__ = ["load_arrays", "locked", "save_arrays", "update"]

#: So long a writer waits for another one, and how often it asks.
PATIENCE, PAUSE = 60.0, 0.01
#: What `flock` and `locking` say where somebody else holds the lock.
_TAKEN = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, getattr(errno, "EDEADLK", errno.EACCES)}

#: What a file of arrays begins with, before its checksum.
_MAGIC = b"lawcast arrays 1 "
#: The first line: this, the SHA-256 of everything after the line, and its end.
_FIRST_LINE = len(_MAGIC) + 64 + 1
#: A longer header is refused unread; it holds a line for each array and what models warned of.
_HEADER_BYTES = 1 << 26


# --- one writer at a time ---------------------------------------------------------------------------------------------


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


# --- arrays under a checksum ------------------------------------------------------------------------------------------


def save_arrays(path: Path, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays of numbers and what is said of them, whole or not at all; see `load_arrays`.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.part")
    >>> save_arrays(path, {"next": 3}, {"x": np.arange(2.0)})
    >>> load_arrays(path, what="checkpoint", check=lambda about, layout: None)
    ({'next': 3}, {'x': array([0., 1.])})
    """
    import numpy as np

    layout = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    header = json.dumps({"about": about, "arrays": layout}, allow_nan=False).encode("ascii") + b"\n"
    digest = hashlib.sha256(header)
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(_MAGIC + b"0" * 64 + b"\n" + header)
        for array in arrays.values():
            content = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            digest.update(content)
            file.write(content)
        file.seek(len(_MAGIC))
        file.write(digest.hexdigest().encode("ascii"))


Layout = dict[str, tuple["np.dtype[Any]", tuple[int, ...]]]


def load_arrays(
    path: Path, *, what: str, check: Callable[[Mapping[str, Any], Layout], None]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what `save_arrays` wrote: what is said of the arrays, and the arrays.

    Parameters
    ----------
    path : Path
    what : str
        What it is, for errors: ``"checkpoint"``.
    check : callable
        Called with what is said and with the type and shape of every array, once the checksum is right and before
        memory is taken; raises for what it will not have.

    Raises
    ------
    DataError
        For a file that is none of these, was cut, altered or lengthened, or takes more memory than the budget.
    """
    import numpy as np

    shown = printable(path.name)
    with open_regular(path, 1 << 60, DataError) as handle, open(handle, "rb", closefd=False) as file:
        try:
            size = os.fstat(handle).st_size
            first = file.read(_FIRST_LINE)
            if not first.startswith(_MAGIC) or len(first) < _FIRST_LINE or not first.endswith(b"\n"):
                raise DataError(f"{shown}: is no {what}, or one of another version")
            if hashlib.file_digest(file, "sha256").hexdigest().encode("ascii") != first[len(_MAGIC) : -1]:
                raise DataError(f"{shown}: the {what} was cut or altered: its checksum is not that of what it holds")
            file.seek(_FIRST_LINE)
            line = file.readline(_HEADER_BYTES)
            about, layout = _header(line, f"{shown}: the header of the {what}")
            check(about, layout)
            takes = sum(_bytes(*each) for each in layout.values())
            if takes != size - _FIRST_LINE - len(line):
                raise DataError(f"{shown}: the arrays of the {what} are not of the size that its header says")
            budgets.check_memory(takes, f"{shown}: the {what} takes", error=DataError)
            arrays = {}
            for name, (dtype, shape) in layout.items():
                arrays[name] = np.empty(shape, dtype=dtype)
                file.readinto(arrays[name].reshape(-1).view(np.uint8).data)
        except OSError as fault:
            raise DataError(f"{shown}: {_why(fault)}") from fault
    return about, arrays


def _bytes(dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    return dtype.itemsize * math.prod(shape)


#: The types of numbers that are kept.
_KINDS = ("<f8", "<i8", "<i4", "|b1", "|i1", "|u1", "<i2", "<f4", "<u4", "<u8", "<u2")
_LENGTH = Kind("a length", lambda v: COUNT.good(v) and v < 1 << 48)
_ARRAY = Kind(
    "a name, a type and lengths",
    lambda v: (
        isinstance(v, list) and len(v) == 3 and TEXT.good(v[0]) and v[1] in _KINDS
        and isinstance(v[2], list) and all(map(_LENGTH.good, v[2]))
    ),
)  # fmt: skip
_HEADER = Record({"arrays": Each(_ARRAY), "about": Named(ANYTHING)})


def _header(line: bytes, where: str) -> tuple[dict[str, Any], Layout]:
    """Read the header: of arrays only names, plain numbers as their type, and whole lengths."""
    import numpy as np

    header = strict_json(line, where=where)
    check_form(header, _HEADER, where=where, error=DataError)
    layout: Layout = {name: (np.dtype(kind), tuple(shape)) for name, kind, shape in header["arrays"]}
    if len(layout) < len(header["arrays"]):
        raise DataError(f"{where}: arrays: expected each name once")
    return header["about"], layout
