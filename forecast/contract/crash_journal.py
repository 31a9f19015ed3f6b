"""Which code of a plugin this process is inside: written down where it outlives the process.

A plugin may end the whole process (``os._exit``, a segmentation fault, a memory limit), and then nobody is left to say
who did it. So the name of the code that is about to run is put into a small file that is mapped into memory, and taken
out when it returns: a store in memory each, no call of the system. The file is locked while its process lives. A file
that nobody locks and that still holds a name says inside which code a process ended; the next start reads it.

The files lie in ``FORECAST_STATE``, or the user's folder of state (``~/.local/state/lawcast``). Where no file can be
made, nothing is recorded and all else goes on.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import mmap
import os
import struct
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: without locks nobody can tell a live process from a dead one
    fcntl = None

__all__ = ["Entry", "begin", "deaths", "end", "entries", "inside", "keep", "mark", "state_folder"]

#: So many threads are recorded at once, each in a slot of so many bytes: when, how long the name is, the name.
SLOTS, SLOT = 16, 256
_HEAD = struct.Struct("<dH")
_SUFFIX = ".inside"


@dataclass(frozen=True)
class Entry:
    """Code that a process is inside, since when on the clock of `time.monotonic`; inf: it may run beside other code."""

    what: str
    since: float


def state_folder() -> Path | None:
    """Return the folder of the records: ``FORECAST_STATE`` (empty: none), or the user's; None where there is none.

    Examples
    --------
    >>> import os
    >>> os.environ["FORECAST_STATE"] = "/tmp/state"
    >>> state_folder().as_posix()
    '/tmp/state'
    >>> del os.environ["FORECAST_STATE"]
    """
    chosen = os.environ.get("FORECAST_STATE")
    if chosen is not None:
        return Path(chosen).absolute() if chosen else None
    base = os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.local/state"
    with contextlib.suppress(RuntimeError):  # a user without a home
        folder = Path(base).expanduser() / "lawcast"
        return folder if folder.is_absolute() else None
    return None


class _File:
    """The record of this process."""

    def __init__(self, path: Path) -> None:
        self.path, self.process = path, os.getpid()
        self._free = list(range(SLOTS))
        self._own = threading.local()
        self._guard = threading.Lock()
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            os.ftruncate(handle, SLOTS * SLOT)
            self._map = mmap.mmap(handle, SLOTS * SLOT)
            self._map[:] = bytes(SLOTS * SLOT)
        except BaseException:
            os.close(handle)
            raise
        self._handle = handle  # open, and with it locked, as long as the process lives

    def push(self, what: str) -> None:
        own = self._own.__dict__
        names: list[tuple[str, float]] = own.setdefault("names", [])
        if not names:
            with self._guard:
                own["slot"] = self._free.pop() if self._free else -1
        names.append((what, time.monotonic()))
        self._write(own["slot"], *names[-1])

    def pop(self) -> None:
        own = self._own.__dict__
        names, slot = own["names"], own["slot"]
        names.pop()
        if names:
            self._write(slot, *names[-1])
            return
        self._write(slot, "", 0.0)
        if slot >= 0:
            with self._guard:
                self._free.append(slot)

    def _write(self, slot: int, what: str, since: float) -> None:
        if slot >= 0:
            name = what.encode("utf-8", "backslashreplace")[: SLOT - _HEAD.size]
            self._map[slot * SLOT : slot * SLOT + _HEAD.size + len(name)] = _HEAD.pack(since, len(name)) + name

    def mark(self, what: str) -> None:
        with self._guard:
            slot = self._free.pop() if self._free else -1
        self._write(slot, what, math.inf)

    def remove(self) -> None:
        if os.getpid() == self.process:  # not a copy made by a fork
            with contextlib.suppress(OSError):
                self.path.unlink()


_file: _File | None = None
_tried = False


def begin(path: Path | None = None) -> None:
    """Begin the record of this process: in `path`, which stays after its end, or in the folder of state."""
    global _file, _tried
    _tried = True
    folder = None if path is not None else state_folder()
    if path is None and folder is None:
        return
    with contextlib.suppress(OSError, ValueError):
        if path is None:
            assert folder is not None
            folder.mkdir(parents=True, exist_ok=True)
        _file = _File(path or folder / f"{os.urandom(8).hex()}{_SUFFIX}")  # type: ignore[operator]
        if path is None:
            atexit.register(_file.remove)


def end() -> None:
    """End the record of this process, and remove it."""
    global _file
    if _file is not None:
        _file.remove()
        _file = None


def _forget() -> None:
    """Leave the record to the process that this one was copied from."""
    global _file, _tried
    _file, _tried = None, False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class inside:
    """Record that the code named `what` runs, as long as the context lasts."""

    __slots__ = ("file", "what")

    def __init__(self, what: str) -> None:
        self.what = what
        self.file: _File | None = None

    def __enter__(self) -> None:
        if not _tried:
            begin()
        self.file = _file
        if self.file is not None:
            self.file.push(self.what)

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.pop()


def mark(what: str) -> None:
    """Record code that goes on in this process after it has returned: in threads that it started."""
    if _file is not None:
        _file.mark(what)


def entries(path: Path) -> list[Entry]:
    """Return the code that the process of a record is, or was when it ended, inside."""
    try:
        data = path.read_bytes()[: SLOTS * SLOT]
    except OSError:
        return []
    read = []
    for at in range(0, len(data) - SLOT + 1, SLOT):
        since, length = _HEAD.unpack_from(data, at)
        if 0 < length <= SLOT - _HEAD.size:
            name = data[at + _HEAD.size : at + _HEAD.size + length]
            read.append(Entry(name.decode("utf-8", "replace"), since))
    return read


def deaths() -> list[str]:
    """Return inside which code earlier processes ended, and remove their records.

    Where there are no locks, a record is taken for one of a live process.
    """
    folder = state_folder()
    if folder is None or fcntl is None:
        return []
    names: dict[str, None] = {}
    try:
        paths = [Path(entry.path) for entry in os.scandir(folder) if entry.name.endswith(_SUFFIX)]
    except OSError:
        return []
    for path in paths:
        if _file is not None and path == _file.path:
            continue
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused while its process lives
                names.update(dict.fromkeys(entry.what for entry in entries(path)))
                path.unlink()
            finally:
                os.close(handle)
    return list(names)


def keep(what: str) -> None:
    """Record anew that a process ended inside this code, for the starts after this one."""
    folder = state_folder()
    if folder is None:
        return
    name = what.encode("utf-8", "backslashreplace")[: SLOT - _HEAD.size]
    with contextlib.suppress(OSError):
        data = (_HEAD.pack(0.0, len(name)) + name).ljust(SLOT, b"\0")
        (folder / f"{os.urandom(8).hex()}{_SUFFIX}").write_bytes(data)
