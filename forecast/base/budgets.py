"""What one command or call may take: memory, and seconds. A limit is set for a process or for a block of code.

Memory is estimated before it is taken. Time is looked at by every long loop, with `check_time`: work that has used up
its seconds ends there, with one sentence.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from time import monotonic
from typing import TypeAlias

from forecast.base.number_checks import is_integer, is_real
from forecast.errors import BudgetError, ForecastError, UsageError, printable

#: Where the system tells how much memory the process holds, in pages.
_STATM = Path("/proc/self/statm")

#: The environment variables that set the limits: of memory anywhere, of seconds for a command.
MEMORY_VARIABLE, SECONDS_VARIABLE = "FORECAST_MAX_MEMORY", "FORECAST_MAX_SECONDS"
DEFAULT_MEMORY_BYTES = 4 << 30
#: A limit of more seconds than this is a mistake: thirty years.
MAX_SECONDS = 1e9

_UNITS = {"": 1, "b": 1}
_UNITS |= {f"{letter}b": 1000**i for i, letter in enumerate("kmgt", start=1)}
_UNITS |= {f"{letter}ib": 1024**i for i, letter in enumerate("kmgt", start=1)}
_SIZE = re.compile(r"\s*(\d{1,18}(?:\.\d{1,9})?)\s*([A-Za-z]{0,3})\s*", re.ASCII)
_SECONDS_PATTERN = re.compile(r"\s*\d{1,12}(?:\.\d{0,9})?\s*", re.ASCII)

#: A limit of memory in bytes, and what set it.
_memory: ContextVar[tuple[int, str] | None] = ContextVar("memory", default=None)
#: When time is up by the monotonic clock, after how many seconds that is, and what set it.
_deadline: ContextVar[tuple[float, float, str] | None] = ContextVar("deadline", default=None)


#: The limits at some place: what both variables hold.
Limits: TypeAlias = "tuple[tuple[int, str] | None, tuple[float, float, str] | None]"


def _parse_bytes(given: object, where: str) -> int:
    match = _SIZE.fullmatch(given) if isinstance(given, str) else None
    if match and match[2].lower() in _UNITS:
        size = int(float(match[1]) * _UNITS[match[2].lower()])
    elif is_integer(given):
        size = given
    else:
        size = 0
    if not 0 < size < 1 << 60:
        raise UsageError(
            f"{where}: expected a size such as '8GiB', '500MB' or a number of bytes, got '{printable(given, 40)}'"
        )
    return size


def _parse_seconds(given: object, where: str) -> float:
    text = isinstance(given, str) and _SECONDS_PATTERN.fullmatch(given) is not None
    if not (text or is_real(given)) or not 0 < (found := float(given)) <= MAX_SECONDS:  # type: ignore[arg-type]
        raise UsageError(f"{where}: expected a number of seconds above 0, such as 60, got '{printable(given, 40)}'")
    return found


def resource_limits(
    *, memory: int | str | None = None, seconds: float | str | None = None
) -> contextlib.AbstractContextManager[None]:
    """Set what calls within may take.

    Parameters
    ----------
    memory : int or str, optional
        Bytes, or text: ``"8GiB"``, ``"500MB"``. What needs more is refused before it starts; nothing is counted while
        it runs. Without it the environment variable FORECAST_MAX_MEMORY says the limit, else it is 4 GiB.
    seconds : float, optional
        Of the clock, from here. Work that takes longer ends with a `BudgetError`, which says how far it got. A block
        within another one ends with it at the latest. Without it there is no limit.

    Raises
    ------
    UsageError
        For what is no size, or no number of seconds.

    Examples
    --------
    >>> import forecast
    >>> with forecast.resource_limits(memory="1MB"):
    ...     forecast.project("brain-parity", draws=100_000)
    Traceback (most recent call last):
    forecast.errors.UsageError: ...
    >>> with forecast.resource_limits(seconds=0.001):
    ...     forecast.project("brain-parity", draws=100_000)
    Traceback (most recent call last):
    forecast.errors.BudgetError: ...
    """
    where = "resource_limits: memory", "resource_limits: seconds"
    return _parse_limits(memory, seconds, where, ("forecast.resource_limits",) * 2)


def of_request(memory: str | None, seconds: float) -> contextlib.AbstractContextManager[None]:
    """Set what one request to ``forecast explore`` may take: its options."""
    names = "--request-memory", "--request-seconds"
    return _parse_limits(memory, seconds, names, names)


def of_command_line(memory: str | None, seconds: str | None) -> contextlib.AbstractContextManager[None]:
    """Set what a command may take: its options, else what the environment says of seconds."""
    names = "--max-memory", "--max-seconds"
    if seconds is None and (stated := os.environ.get(SECONDS_VARIABLE)):
        seconds, names = stated, (names[0], SECONDS_VARIABLE)
    return _parse_limits(memory, seconds, names, names)


@contextlib.contextmanager
def _parse_limits(memory: object, seconds: object, where: tuple[str, str], setters: tuple[str, str]) -> Iterator[None]:
    size = None if memory is None else _parse_bytes(memory, where[0])
    left = None if seconds is None else _parse_seconds(seconds, where[1])
    sizes = _memory.set(_memory.get() if size is None else (size, setters[0]))
    outer = _deadline.get()
    own = outer if left is None else (monotonic() + left, left, setters[1])
    deadlines = _deadline.set(min((d for d in (outer, own) if d is not None), default=None))
    try:
        yield
    finally:
        _deadline.reset(deadlines)
        _memory.reset(sizes)


def current() -> Limits:
    """Return the limits here, for `inherit`."""
    return _memory.get(), _deadline.get()


def inherit(limits: Limits) -> None:
    """Take the limits of another thread, or of another process of this machine, which share its clock."""
    _memory.set(limits[0])
    _deadline.set(limits[1])


def check_time(what: str, done: int = 0, of: int = 0, things: str = "") -> None:
    """Raise `BudgetError` where the seconds are used up; to be called in every loop that may take long.

    Parameters
    ----------
    what : str
        The work.
    done, of : int
        How far it got.
    things : str
        What is counted.

    Examples
    --------
    >>> check_time("draws")  # no limit is set
    """
    limit = _deadline.get()
    if limit is not None and monotonic() >= limit[0]:
        reached = f"{done:,} of {of:,} {things}".rstrip() if of else f"{done:,} {things}" if things else ""
        raise BudgetError(
            f"{what} stopped{reached and f' after {reached}'}: {limit[1]:g} s is the limit, which {limit[2]} sets"
        )


@contextlib.contextmanager
def work(what: Callable[[], str]) -> Iterator[None]:
    """Say of work that ran out of seconds within what it was for, and how far that got.

    Examples
    --------
    >>> with resource_limits(seconds=1e-9), work(lambda: "scaling/power: bootstrap, 512 of 1,000 replicates done"):
    ...     check_time("Newton's method")
    Traceback (most recent call last):
    forecast.errors.BudgetError: scaling/power: bootstrap, 512 of 1,000 replicates done: Newton's method stopped: ...
    """
    try:
        yield
    except BudgetError as stopped:
        raise BudgetError(f"{what()}: {stopped}") from None


def memory() -> int:
    """Return the limit of memory in bytes.

    Raises
    ------
    UsageError
        If FORECAST_MAX_MEMORY holds what is no size.

    Examples
    --------
    >>> with resource_limits(memory="500MB"):
    ...     memory()
    500000000
    """
    return _memory_limit()[0]


def _memory_limit() -> tuple[int, str]:
    own = _memory.get()
    if own is not None:
        return own
    stated = os.environ.get(MEMORY_VARIABLE)
    return _parse_bytes(stated, MEMORY_VARIABLE) if stated else DEFAULT_MEMORY_BYTES, MEMORY_VARIABLE


def check_memory(
    size: int, what: str, *, error: type[ForecastError] = UsageError, instead: str = "", limit: int | None = None
) -> None:
    """Raise `error` where something would take more memory than the limit.

    Parameters
    ----------
    size : int
        Bytes.
    what : str
        What takes them, with its verb: ``"a.csv: reading it takes"``.
    error : type of ForecastError
    instead : str
        What could be done instead.
    limit : int, optional
        Default: `memory`.

    Examples
    --------
    >>> check_memory(8 << 40, "a.csv: reading it takes")
    Traceback (most recent call last):
    forecast.errors.UsageError: a.csv: reading it takes 8 TiB; 4 GiB is the limit, which FORECAST_MAX_MEMORY sets
    """
    most, setter = _memory_limit() if limit is None else (limit, MEMORY_VARIABLE)
    if size > most:
        raise error(
            f"{what} {format_bytes(size)}; {format_bytes(most)} is the limit, which {setter} sets"
            f"{instead and f': {instead}'}"
        )


def format_bytes(size: int) -> str:
    """Return a size for people.

    Examples
    --------
    >>> format_bytes(4 << 30), format_bytes(1_500_000), format_bytes(10)
    ('4 GiB', '1.43 MiB', '10 bytes')
    """
    step = min(int(math.log(size, 1024)) if size >= 1024 else 0, 4)
    return f"{size / 1024**step:.3g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[step]}"


def resident_bytes() -> int:
    """Return how much memory this process holds; 0 where the system does not tell."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def give_back(above: int) -> None:
    """Return freed memory to the system where the process holds more than `above` bytes; only glibc keeps any.

    Examples
    --------
    >>> give_back(above=2**60)  # it holds less
    """
    if sys.platform != "linux" or resident_bytes() <= above:
        return
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
