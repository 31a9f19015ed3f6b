"""What a file may hold, stated as a value and checked in one way: records of JSON, and arrays by name.

A form says what is expected in words that go into the message. Nothing is computed from what is read, and nothing in a
file chooses a form: a record has the fields that its form names, and no others unless the form says so.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from forecast.base.number_checks import is_integer, is_real
from forecast.errors import ForecastError, ResultError, did_you_mean, printable, shown_value

if TYPE_CHECKING:
    import numpy as np

MAX_TEXT_LENGTH = 20_000
MAX_COUNT = 1 << 62


@dataclass(frozen=True)
class ValueSchema:
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
class OptionalSchema:
    """Null, or a value of a form."""

    form: Form


@dataclass(frozen=True)
class ListSchema:
    """A list whose members have one form."""

    form: Form
    least: int = 0
    most: int = 1_000_000


@dataclass(frozen=True)
class MappingSchema:
    """An object whose members, of any name, have one form."""

    form: Form


@dataclass(frozen=True)
class ObjectSchema:
    """An object with these fields and no others.

    Parameters
    ----------
    fields : mapping of str to form
    optional : mapping of str to form
        Fields that may be missing.
    more : bool
        Fields of any other name may stand beside them; they are left alone.
    """

    fields: Mapping[str, Form]
    optional: Mapping[str, Form] = field(default_factory=dict)
    more: bool = False


@dataclass(frozen=True)
class RefinedSchema:
    """A value of a form of which something else is true.

    Parameters
    ----------
    form : Form
    expected : str
    good : callable
        Asked where the value has the form.
    """

    form: Form
    expected: str
    good: Callable[[Any], bool]


Form: TypeAlias = ValueSchema | OptionalSchema | ListSchema | MappingSchema | ObjectSchema | RefinedSchema


def _is_finite_number(value: object) -> bool:
    return is_real(value) and (math.isfinite(value) if isinstance(value, float) else abs(value) < 1 << 1023)


TEXT = ValueSchema("text", lambda v: isinstance(v, str) and len(v) <= MAX_TEXT_LENGTH)
FLAG = ValueSchema("true or false", lambda v: isinstance(v, bool))
NUMBER = ValueSchema("a finite number", _is_finite_number)
NAME = ValueSchema("text", lambda v: isinstance(v, str) and len(v) <= MAX_TEXT_LENGTH and bool(v.strip()))
ANYTHING = ValueSchema("anything", lambda v: True)
WHOLE = ValueSchema("a whole number", lambda v: is_integer(v) and abs(v) < MAX_COUNT)
SHARE = ValueSchema("a number from 0 to 1", lambda v: _is_finite_number(v) and 0 <= v <= 1)
COUNT = ValueSchema("a count", lambda v: is_integer(v) and 0 <= v < MAX_COUNT)


def _is_iso_date(value: object) -> bool:
    if not isinstance(value, str) or not re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII):
        return False
    try:
        datetime.date.fromisoformat(value)
    except ValueError:
        return False
    return True


#: A day, as ISO has it.
DAY = ValueSchema("a date YYYY-MM-DD", _is_iso_date)


def one_of(*values: str) -> ValueSchema:
    """Return the form of one of some words.

    Examples
    --------
    >>> one_of("left", "right").expected
    'one of left, right'
    """
    return ValueSchema(f"one of {', '.join(values)}", lambda v: isinstance(v, str) and v in values)


def find_problems(value: Any, form: Form, at: str = "") -> Iterator[tuple[str, str]]:
    """Go over everything that keeps a value from having a form: the place in it, and the reason.

    Examples
    --------
    >>> list(find_problems({"naem": "a"}, ObjectSchema({"n": COUNT}, {"name": TEXT})))
    [('n', 'is missing; expected a count'), ('naem', "unknown key; did you mean 'name'?")]
    """
    if isinstance(form, OptionalSchema):
        if value is not None:
            yield from find_problems(value, form.form, at)
    elif isinstance(form, RefinedSchema):
        found = list(find_problems(value, form.form, at))
        yield from found
        if not found and not form.good(value):
            yield at, f"expected {form.expected}, got {shown_value(value)}"
    elif isinstance(form, ListSchema) and isinstance(value, list) and form.least <= len(value) <= form.most:
        for place, member in enumerate(value):
            yield from find_problems(member, form.form, f"{at}[{place}]")
    elif isinstance(form, MappingSchema) and isinstance(value, dict):
        for name, member in value.items():
            yield from find_problems(member, form.form, _below(at, name))
    elif isinstance(form, ObjectSchema) and isinstance(value, dict):
        known = {**form.fields, **form.optional}
        for name in form.fields:
            if name not in value:
                yield _below(at, name), f"is missing; expected {_describe_form(known[name])}"
        for name, member in value.items():
            if name in known:
                yield from find_problems(member, known[name], _below(at, name))
            elif not form.more:
                yield _below(at, printable(name, 60)), f"unknown key{did_you_mean(name, known)}"
    elif not (isinstance(form, ValueSchema) and form.good(value)):
        yield at, f"expected {_describe_form(form)}, got {shown_value(value)}"


def _below(at: str, name: object) -> str:
    return f"{at}.{name}" if at else str(name)


def _describe_form(form: Form) -> str:
    """Say in words what a form is."""
    if isinstance(form, (ValueSchema, RefinedSchema)):
        return form.expected
    if isinstance(form, OptionalSchema):
        return f"{_describe_form(form.form)} or null"
    if isinstance(form, ListSchema):
        least = ("", " that is not empty")[form.least] if form.least < 2 else f" of at least {form.least} members"
        return f"a list{least}"
    return "an object"


def check_record(value: Any, form: Form, *, where: str, at: str = "", error: type[ForecastError] = ResultError) -> None:
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
    >>> check_record({"n": 3, "name": "a"}, ObjectSchema({"n": COUNT}, {"name": TEXT}), where="a.json")
    >>> check_record({"n": -3}, ObjectSchema({"n": COUNT}), where="a.json")
    Traceback (most recent call last):
    forecast.errors.ResultError: a.json: n: expected a count, got -3
    """
    for place, reason in find_problems(value, form, at):
        raise error(": ".join(part for part in (where, printable(place, 120), reason) if part))


@dataclass(frozen=True)
class ArraySchema:
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
    arrays: Mapping[str, np.ndarray[Any, Any]], tables: Mapping[str, ArraySchema], sizes: dict[str, int], *, where: str
) -> None:
    """Raise ResultError unless these arrays are there, and no others, each as its table says.

    Parameters
    ----------
    arrays : mapping of str to ndarray
    tables : mapping of str to Table
    sizes : dict of str to int
        Lengths by letter; those that are new are set here.

    Examples
    --------
    >>> import numpy as np
    >>> line = {"x": ArraySchema("f", "n"), "y": ArraySchema("f", "n", "numbers above 0", lambda v: v > 0)}
    >>> check_tables({"x": np.array([1.0, 2.0]), "y": np.array([1.0, -2.0])}, line, {}, where="a.nc")
    Traceback (most recent call last):
    forecast.errors.ResultError: a.nc: y: expected numbers above 0
    """
    import numpy as np

    for name in sorted(set(tables) ^ set(arrays)):
        what = "is missing" if name in tables else "is none of its arrays"
        raise ResultError(f"{where}: {printable(name, 80)}: {what}")
    for name, table in tables.items():
        array, at = arrays[name], f"{where}: {printable(name, 80)}"
        wide = array.dtype.kind in "bU" or array.dtype.itemsize == 8
        if array.dtype.kind not in table.kinds or array.ndim != len(table.dims) or not wide:
            raise ResultError(
                f"{at}: expected {len(table.dims)} dimensions of kind {table.kinds}, got {array.dtype.name}"
            )
        for letter, length in zip(table.dims, array.shape, strict=True):
            if sizes.setdefault(letter, length) != length:
                raise ResultError(f"{at}: expected {sizes[letter]} along {letter}, got {length}")
        if table.good is not None and not np.all(table.good(array)):
            raise ResultError(f"{at}: expected {table.expected}")
