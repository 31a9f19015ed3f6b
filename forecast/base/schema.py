"""What a file may hold, stated as a value and checked in one way: records of JSON, and arrays by name.

A form says what is expected in words that go into the message. Nothing is computed from what is read, and nothing in a
file chooses a form: a record has the fields that its form names, and no others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from forecast.errors import ForecastError, ResultError, printable

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "COUNT",
    "FLAG",
    "NUMBER",
    "TEXT",
    "Each",
    "Form",
    "Kind",
    "Maybe",
    "Named",
    "Record",
    "Table",
    "check",
    "check_tables",
    "one_of",
]

LONGEST_TEXT = 20_000
MOST = 1 << 62


@dataclass(frozen=True)
class Kind:
    """Values of one kind.

    Parameters
    ----------
    expected : str
        What they are, in words.
    good : callable
        Tells one.
    """

    expected: str
    good: Callable[[Any], bool]


@dataclass(frozen=True)
class Maybe:
    """Null, or a value of a form."""

    form: Form


@dataclass(frozen=True)
class Each:
    """A list whose members have one form."""

    form: Form
    least: int = 0
    most: int = 1_000_000


@dataclass(frozen=True)
class Named:
    """An object whose members, of any name, have one form."""

    form: Form


@dataclass(frozen=True)
class Record:
    """An object with these fields and no others.

    Parameters
    ----------
    fields : mapping of str to form
    optional : mapping of str to form
        Fields that may be missing.
    """

    fields: Mapping[str, Form]
    optional: Mapping[str, Form] = field(default_factory=dict)


Form: TypeAlias = Kind | Maybe | Each | Named | Record


def _finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 1 << 1023


TEXT = Kind("text", lambda v: isinstance(v, str) and len(v) <= LONGEST_TEXT)
FLAG = Kind("true or false", lambda v: isinstance(v, bool))
NUMBER = Kind("a finite number", _finite)
COUNT = Kind("a count", lambda v: isinstance(v, int) and not isinstance(v, bool) and 0 <= v < MOST)


def one_of(*values: str) -> Kind:
    """Return the form of one of some words.

    Examples
    --------
    >>> one_of("left", "right").expected
    'one of left, right'
    """
    return Kind(f"one of {', '.join(values)}", lambda v: isinstance(v, str) and v in values)


def check(value: Any, form: Form, *, where: str, at: str = "", error: type[ForecastError] = ResultError) -> None:
    """Raise unless a value has a form.

    Parameters
    ----------
    value
        As JSON has it.
    form : Form
    where : str
        For the message: what is read.
    at : str
        The place in it.
    error : type of ForecastError

    Examples
    --------
    >>> check({"n": 3, "name": "a"}, Record({"n": COUNT}, {"name": TEXT}), where="a.json")
    >>> check({"n": -3}, Record({"n": COUNT}), where="a.json")
    Traceback (most recent call last):
    forecast.errors.ResultError: a.json: n: expected a count, got -3
    """

    def refuse(expected: str, got: str) -> None:
        raise error(": ".join(p for p in (where, printable(at, 120), f"expected {expected}, got {got}") if p))

    def below(name: object) -> str:
        return f"{at}.{name}" if at else str(name)

    if isinstance(form, Kind):
        if not form.good(value):
            refuse(form.expected, printable(repr(value), 60))
    elif isinstance(form, Maybe):
        if value is not None:
            check(value, form.form, where=where, at=at, error=error)
    elif isinstance(form, Each):
        if not isinstance(value, list) or not form.least <= len(value) <= form.most:
            refuse(f"a list of {form.least} to {form.most:,} members", printable(repr(value), 60))
        for place, member in enumerate(value):
            check(member, form.form, where=where, at=below(place + 1), error=error)
    elif not isinstance(value, dict):
        refuse("an object", printable(repr(value), 60))
    elif isinstance(form, Named):
        for name, member in value.items():
            check(member, form.form, where=where, at=below(name), error=error)
    else:
        known = {**form.fields, **form.optional}
        for name in sorted(set(form.fields) - set(value)):
            refuse(f"the field '{name}'", f"only {printable(', '.join(value), 80) or 'nothing'}")
        for name in sorted(set(value) - set(known)):
            refuse(f"none but the fields {', '.join(known)}", f"'{printable(name, 60)}'")
        for name, member in value.items():
            check(member, known[name], where=where, at=below(name), error=error)


@dataclass(frozen=True)
class Table:
    """An array: of which kinds of numbers, how long along each dimension, and of which values.

    Parameters
    ----------
    kinds : str
        Letters of `numpy.dtype.kind`; numbers are of 8 bytes.
    dims : str
        A letter for each dimension; the same letter has the same length everywhere.
    expected, good : str, callable
        What the values are, in words, and how to tell (True, or an array of truth).
    """

    kinds: str
    dims: str
    expected: str = ""
    good: Callable[[Any], Any] | None = None


def check_tables(
    arrays: Mapping[str, np.ndarray[Any, Any]],
    tables: Mapping[str, Table],
    sizes: dict[str, int],
    *,
    where: str,
    error: type[ForecastError] = ResultError,
) -> None:
    """Raise unless these arrays are there, and no others, each as its table says.

    Parameters
    ----------
    arrays : mapping of str to ndarray
    tables : mapping of str to Table
    sizes : dict of str to int
        Lengths by letter; those that are new are set here.

    Examples
    --------
    >>> import numpy as np
    >>> line = {"x": Table("f", "n"), "y": Table("f", "n", "numbers above 0", lambda v: v > 0)}
    >>> check_tables({"x": np.array([1.0, 2.0]), "y": np.array([1.0, -2.0])}, line, {}, where="a.nc")
    Traceback (most recent call last):
    forecast.errors.ResultError: a.nc: y: expected numbers above 0
    """
    import numpy as np

    for name in sorted(set(tables) ^ set(arrays)):
        what = "is missing" if name in tables else "is none of its arrays"
        raise error(f"{where}: {printable(name, 80)}: {what}")
    for name, table in tables.items():
        array, at = arrays[name], f"{where}: {printable(name, 80)}"
        wide = array.dtype.kind in "bU" or array.dtype.itemsize == 8
        if array.dtype.kind not in table.kinds or array.ndim != len(table.dims) or not wide:
            raise error(f"{at}: expected {len(table.dims)} dimensions of kind {table.kinds}, got {array.dtype.name}")
        for letter, length in zip(table.dims, array.shape, strict=True):
            if sizes.setdefault(letter, length) != length:
                raise error(f"{at}: expected {sizes[letter]} along {letter}, got {length}")
        if table.good is not None and not np.all(table.good(array)):
            raise error(f"{at}: expected {table.expected}")
