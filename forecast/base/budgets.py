"""What one command or call may take: so far memory. A limit is set for a process or for a block of code."""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Iterator
from contextvars import ContextVar

from forecast.errors import ForecastError, UsageError, printable

__all__ = ["VARIABLE", "budget", "check_memory", "memory", "shown"]

#: The environment variable that sets the limit of memory.
VARIABLE = "FORECAST_MAX_MEMORY"
DEFAULT = 4 << 30

_UNITS = {"": 1, "b": 1}
_UNITS |= {f"{letter}b": 1000**i for i, letter in enumerate("kmgt", start=1)}
_UNITS |= {f"{letter}ib": 1024**i for i, letter in enumerate("kmgt", start=1)}
_SIZE = re.compile(r"\s*(\d{1,18}(?:\.\d{1,9})?)\s*([A-Za-z]{0,3})\s*", re.ASCII)

_memory: ContextVar[int | None] = ContextVar("memory", default=None)


def _bytes(given: object, where: str) -> int:
    match = _SIZE.fullmatch(given) if isinstance(given, str) else None
    if match and match[2].lower() in _UNITS:
        size = int(float(match[1]) * _UNITS[match[2].lower()])
    elif isinstance(given, int) and not isinstance(given, bool):
        size = given
    else:
        size = 0
    if not 0 < size < 1 << 60:
        raise UsageError(f"{where}: expected a size such as '8GiB', '500MB' or a number of bytes, got '{_said(given)}'")
    return size


def _said(given: object) -> str:
    return printable(given, 40)


@contextlib.contextmanager
def budget(*, memory: int | str) -> Iterator[None]:
    """Set what calls within may take.

    Parameters
    ----------
    memory : int or str
        Bytes, or text: ``"8GiB"``, ``"500MB"``. What needs more is refused before it starts; nothing is counted while
        it runs. Without it the environment variable FORECAST_MAX_MEMORY says the limit, else it is 4 GiB.

    Raises
    ------
    UsageError
        For what is no size.

    Examples
    --------
    >>> import forecast
    >>> with forecast.budget(memory="1MB"):
    ...     forecast.project("brain-parity", draws=100_000)
    Traceback (most recent call last):
    forecast.errors.UsageError: ...
    """
    token = _memory.set(_bytes(memory, "budget: memory"))
    try:
        yield
    finally:
        _memory.reset(token)


def memory() -> int:
    """Return the limit of memory in bytes.

    Raises
    ------
    UsageError
        If FORECAST_MAX_MEMORY holds what is no size.

    Examples
    --------
    >>> with budget(memory="500MB"):
    ...     memory()
    500000000
    """
    own = _memory.get()
    if own is not None:
        return own
    stated = os.environ.get(VARIABLE)
    return _bytes(stated, VARIABLE) if stated else DEFAULT


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
    most = memory() if limit is None else limit
    if size > most:
        raise error(
            f"{what} {shown(size)}; {shown(most)} is the limit, which {VARIABLE} sets{instead and f': {instead}'}"
        )


def shown(size: int) -> str:
    """Return a size for people.

    Examples
    --------
    >>> shown(4 << 30), shown(1_500_000), shown(10)
    ('4 GiB', '1.43 MiB', '10 bytes')
    """
    step = min(int(math.log(size, 1024)) if size >= 1024 else 0, 4)
    return f"{size / 1024**step:.3g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[step]}"
