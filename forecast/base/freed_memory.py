"""Memory that was freed, and that the C library keeps for what comes next: a process that goes on gives it back."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

__all__ = ["give_back", "resident_bytes"]

_PAGE_BYTES = 4096
_STATM = Path("/proc/self/statm")


def resident_bytes() -> int:
    """Return how much memory this process holds; 0 where the system does not tell."""
    try:
        return int(_STATM.read_text().split()[1]) * _PAGE_BYTES
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
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
