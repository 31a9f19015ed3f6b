"""The exception hierarchy.

Every error this package raises on purpose is one of these, says in one line which thing is at fault,
where it stands and what was expected, and knows the exit code of the command line.

::

    ForecastError                    exit 1: something failed
    ├── UsageError                   exit 2: a request that cannot be met
    │   ├── UnknownNameError         no law, table, model, ... of that name (suggests the nearest)
    │   ├── AmbiguousNameError       a bare name that several plugins offer
    │   ├── FormulaError             a formula, condition or name outside the safe grammar
    │   ├── UnitError                units that do not parse or do not balance
    │   │   └── QualifierError           dense against sparse, nominal against real: what units cannot tell apart
    │   └── ScenarioError            a scenario with a wrong key, type or value
    │       └── CycleError           quantities that need one another in a circle
    ├── DataError                    observations that cannot be used
    │   ├── EmptyDataError           no rows at all
    │   ├── NoDataAtDateError        a model that had no data as of the date of a run
    │   ├── TableError               cells that fail their schema (all of them, as file:row:column)
    │   └── DownloadError            a described table that cannot be fetched or verified
    ├── ResultError                  a saved result that cannot be read or written
    ├── FitError                     a fit that cannot be made
    ├── BudgetError                  work that would take longer than its limit of seconds
    └── PluginError                  a plugin that cannot be used
        ├── PluginContractError      a record or a return value that breaks its contract
        └── ConflictError            one full name offered by two distributions (resolves to neither)
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = [
    "AmbiguousNameError",
    "BudgetError",
    "ConflictError",
    "CycleError",
    "DataError",
    "DownloadError",
    "EmptyDataError",
    "FitError",
    "ForecastError",
    "FormulaError",
    "NoDataAtDateError",
    "PluginContractError",
    "PluginError",
    "QualifierError",
    "ResultError",
    "ScenarioError",
    "TableError",
    "UnitError",
    "UnknownNameError",
    "UsageError",
    "nearest",
    "one_line",
    "printable",
]


def printable(text: object, limit: int = 200) -> str:
    r"""Return `text` on one line with control characters shown escaped, cut to `limit` characters.

    Names and messages may come from files and plugins: a newline or an ANSI escape in one must not reach a
    terminal or a log as it is.

    Examples
    --------
    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    try:
        raw = str(text)
    except Exception:  # Python refuses to write an integer of thousands of digits, and foreign text may raise anything
        raw = f"<{type(text).__name__}>"
    if len(raw) > limit:
        raw = raw[: limit - 1] + "…"
    # a lone surrogate is not printable either, so the result always encodes
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in raw)


def one_line(error: BaseException, limit: int = 300) -> str:
    r"""Return a foreign error's type and the first line of what it says, even where it cannot say anything.

    Examples
    --------
    >>> one_line(ValueError("wrong\nand more"))
    'ValueError: wrong'
    """
    try:
        said = str(error).strip().splitlines()
    except Exception:  # an error that cannot even be shown
        said = []
    return printable(f"{type(error).__name__}: {said[0]}" if said else type(error).__name__, limit)


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate closest to `name`, or None where none is near.

    Bare names count: ``chinchila`` finds ``scaling/chinchilla``.

    Examples
    --------
    >>> nearest("chinchila", ["scaling/chinchilla", "scaling/power"])
    'scaling/chinchilla'
    """
    table: dict[str, str] = {}
    for full in candidates:
        table.setdefault(full.rpartition("/")[2].lower(), full)
        table[full.lower()] = full
    found = difflib.get_close_matches(name[:200].lower(), table, n=1, cutoff=0.55)
    return table[found[0]] if found else None


class ForecastError(Exception):
    """Base of every error raised on purpose by this package."""

    exit_code = 1

    def __reduce__(self) -> tuple[Any, ...]:
        """Come back from another process with the same words, whatever the class is made of."""
        return _again, (type(self), self.args, self.__dict__.copy())


def _again(kind: type[ForecastError], words: tuple[Any, ...], attributes: dict[str, Any]) -> ForecastError:
    error = kind.__new__(kind, *words)
    error.__dict__.update(attributes)
    return error


class UsageError(ForecastError):
    """A request that cannot be met: a wrong option, name, formula or scenario."""

    exit_code = 2


class UnknownNameError(UsageError):
    """No such thing. The message names the nearest one that exists.

    Parameters
    ----------
    kind : str
        What was looked for, in the singular: ``"law"``.
    name : str
        The unknown name.
    candidates : iterable of str
        The names that exist.
    where : str
        Where the name was written (a file and key), if it was not typed.
    note : str
        Why it is absent, if that is known: its plugin failed.
    """

    def __init__(
        self, kind: str, name: object, candidates: Iterable[str] = (), *, where: str = "", note: str = ""
    ) -> None:
        known = sorted(set(candidates))
        hint = nearest(str(name), known)
        message = f"{where + ': ' if where else ''}unknown {kind} '{printable(name, 80)}'"
        if note:
            message += f"; {note}"
        elif hint:
            message += f"; did you mean '{printable(hint)}'?"
        elif known:
            shown = ", ".join(known[:8]) + (", …" if len(known) > 8 else "")
            message += f"; known: {printable(shown, 400)}"
        else:
            message += "; there are none"
        super().__init__(message)
        self.kind, self.name, self.hint = kind, name, hint


class AmbiguousNameError(UsageError):
    """A bare name that several plugins offer; the message lists the full names."""


class FormulaError(UsageError):
    """A formula, a condition or a name that is outside the safe grammar."""


class UnitError(UsageError):
    """A unit that does not parse, or two that do not balance."""


class QualifierError(UnitError):
    """Two figures of one unit that do not measure the same: dense and sparse, nominal and real, one-way and two-way."""


class ScenarioError(UsageError):
    """A scenario with an unknown key, a wrong type or a value that cannot be."""


class CycleError(ScenarioError):
    """Quantities that need one another in a circle; the message walks it."""


class DataError(ForecastError):
    """Observations that cannot be used as they are."""


class EmptyDataError(DataError):
    """A table, file or selection without a single row."""


class NoDataAtDateError(DataError):
    """What is asked for rests on a model that had no data as of the date of the run: nothing failed."""


class TableError(DataError):
    """Cells that fail their table's schema.

    Parameters
    ----------
    failures : sequence of str
        One ``file:row:column: reason`` each; all of them are kept in `failures`.
    """

    def __init__(self, failures: Sequence[str] | str) -> None:
        self.failures = (failures,) if isinstance(failures, str) else tuple(failures)
        shown = "; ".join(printable(f) for f in self.failures[:5])
        more = f"; and {len(self.failures) - 5} more" if len(self.failures) > 5 else ""
        super().__init__(shown + more)


class DownloadError(DataError):
    """A described table that cannot be fetched, or whose bytes are not those that were described."""


class ResultError(ForecastError):
    """A saved result that cannot be read or written."""


class FitError(ForecastError):
    """A fit that cannot be made from these data."""


class BudgetError(ForecastError):
    """Work that used up its seconds (`forecast.resource_limits`, ``--max-seconds``); it says how far it got."""


class PluginError(ForecastError):
    """A plugin, or the code a plugin names, that cannot be used."""


class PluginContractError(PluginError):
    """A record or a return value of a plugin that breaks its contract."""


class ConflictError(PluginError):
    """One full name offered by two distributions: it resolves to neither."""
