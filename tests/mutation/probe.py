"""Copied into the tree with the mutants: which one is awake, and which tests come by. Imports nothing that is heavy."""

import os

_AWAKE = int(os.environ.get("FORECAST_MUTANT", "-1"))
_HITS = os.environ.get("FORECAST_MUTANT_HITS", "")
_noted: set[tuple[str, int]] = set()


def note(*words: object) -> None:
    """Append a line to the record; it is short, so that processes do not cut each other's lines."""
    line = "\t".join(map(str, words)) + "\n"
    descriptor = os.open(_HITS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def is_active(number: int) -> bool:
    """Whether the mutant is awake."""
    return number == _AWAKE


if _HITS:

    def is_active(number: int) -> bool:
        """Note who came by, once a process; in a map no mutant is awake."""
        who = os.environ.get("FORECAST_MUTANT_CONTEXT", "")
        if (who, number) not in _noted:
            _noted.add((who, number))
            note("site", who, number)
        return False
