"""The exception hierarchy, and that of warnings.

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
    │   │   └── AbsentValueError         a figure that a table need not have
    │   ├── NoDataAtDateError        a model that had no data as of the date of a run
    │   ├── TableError               cells that fail their schema (all of them, as file:row:column)
    │   └── DownloadError            a described table that cannot be fetched or verified
    ├── ResultError                  a saved result that cannot be read or written
    ├── FitError                     a fit that cannot be made
    │   └── UncertaintyError             an uncertainty that a fit does not have
    ├── BudgetError                  work that would take longer than its limit of seconds
    └── PluginError                  a plugin that cannot be used
        ├── PluginContractError      a record or a return value that breaks its contract
        └── ConflictError            one full name offered by two distributions (resolves to neither)

Every warning is one of these. It is a record: which quantity it is about, and what it says in fields; its English is
made here, of the fields.

::

    ForecastWarning
    ├── FixedParametersWarning       published parameters without any uncertainty
    ├── IndependentParametersWarning published parameters, drawn independently of each other
    ├── RoundedConstantsWarning      published parameters that are rounded
    ├── BeyondDataWarning            a variable far outside the data that a law was fitted to
    ├── RaisedPathsWarning           draws that are raised to their running maximum
    ├── UncorrelatedWarning          what moved together with others is drawn on its own
    ├── FewWorldsWarning             an update or a condition leaves few worlds
    ├── FailedWorldsWarning          worlds that fail are left out
    ├── AsOfWarning                  what is left out as of a date
    ├── HindcastWarning              the first steps lie before the last observation
    ├── ChangedDataWarning           data that changed since a file was saved
    └── NoteWarning                  a sentence that comes as such
        ├── FitWarning               of a fit
        ├── ModelWarning             of a model of a plugin
        └── LeftOutWarning           a plugin, or a row of a table, that cannot be used and is left out
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

__all__ = [
    "AbsentValueError", "AmbiguousNameError", "AsOfWarning", "BeyondDataWarning", "BudgetError",
    "ChangedDataWarning", "ConflictError", "CycleError", "DataError", "DownloadError", "EmptyDataError",
    "FailedWorldsWarning", "FewWorldsWarning", "FitError", "FitWarning", "FixedParametersWarning",
    "ForecastError", "ForecastWarning", "FormulaError", "HindcastWarning", "IndependentParametersWarning",
    "LeftOutWarning", "ModelWarning", "NoDataAtDateError", "NoteWarning", "PluginContractError", "PluginError",
    "QualifierError", "RaisedPathsWarning", "ResultError", "RoundedConstantsWarning", "ScenarioError",
    "TableError", "UncertaintyError", "UncorrelatedWarning", "UnitError", "UnknownNameError", "UsageError",
    "did_you_mean", "first_names", "join_lines", "nearest", "one_line", "printable", "shown_value",
]  # fmt: skip


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
    if raw.isprintable():
        return raw
    # a lone surrogate is not printable either, so the result always encodes
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in raw)


def shown_value(value: object) -> str:
    """Return a wrong value as Python writes it, cut short.

    Examples
    --------
    >>> shown_value("a")
    "'a'"
    """
    return printable(repr(value), 60)


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


def first_names(names: Iterable[object], most: int = 8) -> str:
    """Return the first of several names, on one line, and how many more there are.

    Examples
    --------
    >>> first_names(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    texts = [printable(name, 80) for name in names]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return f"{', '.join(texts[:most])}{more}"


def join_lines(text: object) -> str:
    r"""Return text on one line, its words a blank apart.

    Examples
    --------
    >>> join_lines("one\n  and two")
    'one and two'
    """
    return " ".join(str(text).split())


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate closest to `name`, or None where none is near.

    Bare names count: ``chinchila`` finds ``scaling/chinchilla``.

    Examples
    --------
    >>> nearest("chinchila", ["scaling/chinchilla", "scaling/power"])
    'scaling/chinchilla'
    >>> nearest("rtx-4090", ["rtx-a4500", "GeForce RTX 4090"])
    'GeForce RTX 4090'
    """
    table: dict[str, str] = {}
    for full in candidates:
        table.setdefault(_bare_text(full.rpartition("/")[2]), full)
        table[_bare_text(full)] = full
    bare = _bare_text(name[:200])
    within = [each for each in table if bare in each] if len(bare) > 3 else []  # a part of a name is nearer than a typo
    found = [min(within, key=len)] if within else difflib.get_close_matches(bare, table, n=1, cutoff=0.55)
    ends = [each.rpartition(".")[2] for each in (bare, *found)]  # numbers of one model share its name
    if not found or (ends[0] != bare and not difflib.get_close_matches(ends[0], ends[1:], cutoff=0.4)):
        return None
    return table[found[0]]


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return the end of a message that names the candidate closest to `name`; empty where none is near.

    Examples
    --------
    >>> did_you_mean("unti", ["unit", "title"])
    "; did you mean 'unit'?"
    """
    hint = nearest(name, candidates)
    return f"; did you mean '{printable(hint, 60)}'?" if hint else ""


def _bare_text(name: str) -> str:
    """Return a name without its case, blanks, hyphens, underscores and zeros in front, which nobody remembers."""
    return re.sub(r"(?<=[a-z])0+(?=\d)", "", "".join(name.replace("-", " ").replace("_", " ").split()).lower())


class ForecastError(Exception):
    """Base of every error raised on purpose by this package.

    Attributes
    ----------
    exit_code : int
        With which the command line ends.
    """

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
            message += f"; known: {printable(first_names(known), 400)}"
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


class AbsentValueError(EmptyDataError):
    """What is asked for rests on a figure that a scenario lets a table lack: nothing failed."""


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


class UncertaintyError(FitError):
    """An uncertainty that a fit does not have.

    Parameters
    ----------
    fit : str
        Its name.
    what : str
        The uncertainty: ``"interval"``, ``"interval for 'alpha'"``, ``"posterior"``.
    reason : str
    unidentified : bool
        Whether the data do not identify a parameter: that is the reason.

    Examples
    --------
    >>> str(UncertaintyError("chinchilla", "profile", "published parameters come without data"))
    'chinchilla: no profile: published parameters come without data'
    """

    def __init__(self, fit: str, what: str, reason: str, *, unidentified: bool = False) -> None:
        super().__init__(f"{fit}: no {what}: {reason}")
        self.fit, self.what, self.reason, self.unidentified = fit, what, reason, unidentified


class BudgetError(ForecastError):
    """Work that used up its seconds (`forecast.resource_limits`, ``--max-seconds``); it says how far it got."""


class PluginError(ForecastError):
    """A plugin, or the code a plugin names, that cannot be used."""


class PluginContractError(PluginError):
    """A record or a return value of a plugin that breaks its contract."""


class ConflictError(PluginError):
    """One full name offered by two distributions: it resolves to neither."""


# --- Warnings ---------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class ForecastWarning(UserWarning):
    """Base of every warning of this package: a record, whose text is made of its fields.

    Parameters
    ----------
    subject : str
        The quantity, if it is about one.
    model : str
        The model of that quantity, if it is of one; of one's own it has the quantity's name.

    Examples
    --------
    >>> one = HindcastWarning(first=2020, last=2024)
    >>> ForecastWarning.from_record(one.record) == one
    True
    """

    subject: str = ""
    model: str = ""

    @property
    def text(self) -> str:
        """What it says of its subject."""
        raise NotImplementedError(type(self).__name__)

    @classmethod
    def together(cls, several: Sequence[Any]) -> str:
        """Return one line for several of this kind; empty where each stands for itself."""
        return ""

    @property
    def record(self) -> dict[str, Any]:
        """What it is as plain data: the name of its class under ``kind``, and those fields that say something."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return {"kind": type(self).__name__, **{name: value for name, value in plain.items() if value not in ("", [])}}

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> ForecastWarning:
        """Return the warning that a record is of.

        Raises
        ------
        KeyError, TypeError
            For a kind or a field that is none.
        """
        plain: dict[str, Any] = {n: tuple(each) if isinstance(each, list) else each for n, each in record.items()}
        return _WARNINGS[plain.pop("kind")](**plain)

    def __str__(self) -> str:
        """Say it in one sentence, its subject first."""
        of = (self.subject, "" if self.model == self.subject else self.model)
        return ": ".join([*filter(None, of), self.text])

    def __repr__(self) -> str:
        """Name its kind, and say it."""
        return f"<{type(self).__name__} {self}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Come back from another process as it was."""
        return partial(ForecastWarning.from_record, self.record), ()


class FixedParametersWarning(ForecastWarning):
    """The parameters of a published law are fixed."""

    @property
    def text(self) -> str:
        """What it says of its subject."""
        return "its parameters are fixed: the source states no uncertainty of them"

    @classmethod
    def together(cls, several: Sequence[Any]) -> str:
        """Return one line for several of this kind."""
        return f"{len(several)} fits state no uncertainty: {_subjects(several)}"


class IndependentParametersWarning(ForecastWarning):
    """The parameters of a published law are drawn independently of each other."""

    @property
    def text(self) -> str:
        """What it says of its subject."""
        return "its parameters are drawn independently of each other: the source states only standard errors"

    @classmethod
    def together(cls, several: Sequence[Any]) -> str:
        """Return one line for several of this kind."""
        return f"{len(several)} fits draw their parameters independently of each other: {_subjects(several)}"


@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class RoundedConstantsWarning(ForecastWarning):
    """The parameters of a published law, the `fit`, are rounded."""

    fit: str

    @property
    def text(self) -> str:
        """What it says of its subject."""
        return f"{self.fit}: the source prints rounded figures, and rounded constants give biased forecasts"

    @classmethod
    def together(cls, several: Sequence[Any]) -> str:
        """Return one line for several of this kind."""
        return f"{len(several)} fits have rounded constants, which give biased forecasts: {_subjects(several)}"


@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class BeyondDataWarning(ForecastWarning):
    """A variable of a law lies far outside the data that the law was fitted to.

    Parameters
    ----------
    variable : str
    values : tuple of float
        The least and the greatest of it in the median draw.
    data : tuple of float
        The ends of the data.
    decades : float or None
        How far outside; None where it is at 0 or below, which no number of decades reaches.
    """

    variable: str
    values: tuple[float, float]
    data: tuple[float, float]
    decades: float | None

    @property
    def text(self) -> str:
        """What it says of its subject."""
        values = " to ".join(dict.fromkeys(f"{value:.3g}" for value in self.values))
        where = "at 0 or below," if self.decades is None else f"{self.decades:.1f} decades"
        low, high = self.data
        reach = f"{self.variable} is {values} in the median draw, {where} outside the data it was fitted to"
        return f"{reach} ({low:.3g} to {high:.3g})"

    @classmethod
    def together(cls, several: Sequence[Any]) -> str:
        """Return one line for several of this kind."""
        far = [math.inf if each.decades is None else round(each.decades, 1) for each in several]
        low, high = min(far), max(far)
        reach = f"{low:g}" if low == high else f"{low:g} or more" if high == math.inf else f"{low:g} to {high:g}"
        reach = "at 0 or below, outside" if low == math.inf else f"{reach} decades beyond"
        quantities = len({each.subject for each in several})
        return f"{quantities} quantities lie {reach} their data: {_subjects(several)}" if quantities > 1 else ""


@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class RaisedPathsWarning(ForecastWarning):
    """Draws of what keeps a frontier are raised to their running maximum: the `share` of values, where counted."""

    share: float | None = None

    @property
    def text(self) -> str:
        """What it says of its subject."""
        if self.share is None:
            return "its shape offers no anchored form of a frontier: its draws are raised to their running maximum"
        return (
            f"{self.share:.1%} of the values of the first worlds had to be raised by a running maximum, from the last "
            "observed record on: its draws are no path of records of their own"
        )


@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class UncorrelatedWarning(ForecastWarning):
    """What moved together with others was swapped, and is drawn on its own."""

    names: tuple[str, ...]

    @property
    def text(self) -> str:
        """What it says."""
        return f"what moved together with others is drawn on its own now: {', '.join(self.names)}"


@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class FewWorldsWarning(ForecastWarning):
    """The weights of an update leave few of the worlds, or a `condition` does where there is one."""

    left: float
    draws: int
    least: int
    condition: str = ""

    @property
    def text(self) -> str:
        """What it says."""
        count = f"{self.left:.0f} of {self.draws:,} worlds are"
        if self.condition:
            return f"given '{self.condition}': {count} left, fewer than {self.least}: draw more"
        rest = f"update: {count} effective; answers rest on fewer than {self.least}"
        return f"{rest}: draw more, or look for a mistake in log_likelihood"


@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class FailedWorldsWarning(ForecastWarning):
    """Worlds that fail are left out: what fails in how many of all, and why the first of them does."""

    draws: int
    failing: tuple[str, ...]
    reason: str

    @property
    def text(self) -> str:
        """What it says."""
        return f"worlds that fail are left out, of {self.draws:,}: {'; '.join(self.failing)}: {self.reason}"


@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class AsOfWarning(ForecastWarning):
    """What is left out as of a date, or rests on what is: what it is, under which names, or why a model is."""

    date: str
    what: str
    names: tuple[str, ...] = ()
    reason: str = ""

    @property
    def text(self) -> str:
        """What it says."""
        names = first_names(self.names)
        said = {
            "model": f"left out: {self.reason}",
            "younger": f"numbers that were published later, of which older ones stand or none: {names}",
            "quantities": f"quantities that rest on what is left out: {names}",
            "questions": f"questions without an answer: {names}",
            "rivals": f"{self.reason}: only {names}, since no other rival has data",
            "limits": f"limits without data, which do not bind: {names}",
        }
        return f"as of {self.date}: {said[self.what]}"

    @classmethod
    def together(cls, several: Sequence[Any]) -> str:
        """Return one line for several of this kind: how many of what is not there."""
        kinds = {
            "model": "models without data", "younger": "numbers published later", "limits": "limits",
            "rivals": "choices cut to rivals with data", "quantities": "quantities that rest on these",
            "questions": "questions",
        }  # fmt: skip
        counts = dict.fromkeys(kinds, 0)
        for each in several:
            counts[each.what] += 1 if each.what == "rivals" else len(each.names) or 1
        told = ", ".join(f"{kinds[kind]} ({count})" for kind, count in counts.items() if count)
        return f"as of {several[0].date}, left out: {told} (--show warnings)"


@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class HindcastWarning(ForecastWarning):
    """The projection starts before the last year of its observations."""

    first: int
    last: int

    @property
    def text(self) -> str:
        """What it says."""
        until = f"its data end in {self.last}; until then it shows the fit"
        return f"hindcast: the projection starts in {self.first}, {until}"


@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class ChangedDataWarning(ForecastWarning):
    """The data behind a saved answer are others now."""

    names: tuple[str, ...]

    @property
    def text(self) -> str:
        """What it says."""
        return f"the data have changed since the file was saved: {first_names(self.names)}"


@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class NoteWarning(ForecastWarning):
    """A sentence that comes as such."""

    note: str

    @property
    def text(self) -> str:
        """What it says of its subject."""
        return self.note


class FitWarning(NoteWarning):
    """What a fit says of its data and its search."""


class ModelWarning(NoteWarning):
    """What a model of a plugin says."""


class LeftOutWarning(NoteWarning):
    """What is left out: a plugin, or a row of a table, that cannot be used."""


_WARNINGS: Mapping[str, type[ForecastWarning]] = {
    kind.__name__: kind
    for kind in (
        AsOfWarning,
        BeyondDataWarning,
        ChangedDataWarning,
        FailedWorldsWarning,
        FewWorldsWarning,
        FitWarning,
        FixedParametersWarning,
        HindcastWarning,
        IndependentParametersWarning,
        LeftOutWarning,
        ModelWarning,
        RaisedPathsWarning,
        RoundedConstantsWarning,
        UncorrelatedWarning,
    )
}


def _subjects(several: Sequence[ForecastWarning]) -> str:
    return first_names(list(dict.fromkeys(each.subject for each in several)), 3)
