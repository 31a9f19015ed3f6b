"""What a user sets, ``--set KEY=VALUE``: read as it is meant, and refused where it cannot be."""

from __future__ import annotations

import contextlib
import math
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from typing import Any

from forecast.base.distributions import Distribution, distribution
from forecast.base.number_checks import is_real
from forecast.contract.inputs import below
from forecast.errors import UsageError, printable
from forecast.formula.numbers import NUMBER_PATTERN, parse_number as read_number

_SIGNED_NUMBER_PATTERN = rf"[+-]?{NUMBER_PATTERN}"
#: A number with a unit, and a range of two numbers that may have one.
_UNIT_PATTERN = r"\s+((?:1/)?[A-Za-z(%$].*)"
_MEASURED_PATTERN = re.compile(rf"({_SIGNED_NUMBER_PATTERN}){_UNIT_PATTERN}", re.ASCII)
_RANGE = re.compile(rf"({_SIGNED_NUMBER_PATTERN})\s*\.\.\s*({_SIGNED_NUMBER_PATTERN})(?:{_UNIT_PATTERN})?", re.ASCII)

#: Families that hold no negative number.
_POSITIVE_FAMILIES = ("lognormal", "loguniform")


#: The name of a registered model begins with that of its plugin.
_MODEL_PATTERN = re.compile(r"[A-Za-z][\w.-]*(::[\w.-]+)?/\S+", re.ASCII)


def names_model(value: object) -> bool:
    """Tell a text that names a model from a number with a unit, a range or the value of a choice.

    Examples
    --------
    >>> names_model("hardware/linpack@random-walk"), names_model("1 FLOP/s"), names_model("changepoint")
    (True, False, False)
    """
    return isinstance(value, str) and _MODEL_PATTERN.fullmatch(value) is not None


def names_target(key: str, quantities: Collection[str], choices: Collection[str]) -> bool:
    """Return True for the name of a quantity, a choice, a number of a quantity's model, or an input of a model."""
    return any(each in quantities or each in choices for each in (key, key.rpartition(".")[0])) or "/" in key


def parse_texts(choice: str, value: object) -> tuple[str, ...]:
    """Return the values that a choice is narrowed to: several in a text are separated by commas."""
    listed = tuple(value.split(",")) if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)) or not listed or not all(isinstance(v, str) for v in listed):
        raise UsageError(f"set {choice}: expected a value of the choice, got '{printable(value, 40)}'")
    return tuple(dict.fromkeys(listed))


def parse_set_number(
    key: str, value: object, *, lower: float | None = None, unit: str = "", verb: str = "set"
) -> float:
    """Return the number that a quantity or an input is set to.

    Raises
    ------
    UsageError
        For what is no finite number, or lies below `lower`.

    Examples
    --------
    >>> parse_set_number("memory", "24", lower=0.0, unit="GiB")
    24.0
    """
    given = math.nan
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            given = read_number(value)
    elif is_real(value):
        try:
            given = float(value)
        except OverflowError:  # an integer that no float holds
            given = math.inf
    if not math.isfinite(given):
        joined = re.fullmatch(r"([\d.e+-]*\d)([A-Za-z%$].*)", value.strip()) if isinstance(value, str) else None
        behind = f"; a unit stands behind a blank: '{printable(' '.join(joined.groups()), 40)}'" if joined else ""
        raise UsageError(f"{verb} {printable(key, 80)}: expected a finite number, got '{printable(value, 40)}'{behind}")
    if lower is not None and given < lower:
        raise UsageError(
            f"{verb} {printable(key, 80)}: expected at least {f'{lower:g} {unit}'.rstrip()}, got {given:g}"
        )
    return given


def parse_measured(text: str) -> tuple[float, str] | None:
    """Return the number and the unit of a text; None where it is no number with a unit.

    Examples
    --------
    >>> parse_measured("1.5 EFLOP/s"), parse_measured("70M USD"), parse_measured("1.5")
    ((1.5, 'EFLOP/s'), (70000000.0, 'USD'), None)
    """
    found = _MEASURED_PATTERN.fullmatch(text.strip())
    return None if found is None else (parse_set_number(text, found[1]), found[2].strip())


def parse_setting(key: str, value: object, unit: Callable[[], str], *, lower: float | None = None) -> dict[str, Any]:
    """Return what a quantity or an input is set to, as the record of a distribution in its unit.

    Parameters
    ----------
    key : str
    value : object
        A number, a number with a unit (``"1 EFLOP/s"``), a range (``"1e13..1e17"``, with a unit or without), or a
        distribution of the language: a mapping, or a text such as ``"{lognormal = [1e14, 1e18]}"``.
    unit : callable
        Returns the unit of the quantity; called where the value says one.
    lower : float, optional
        No number in it may lie below.

    Raises
    ------
    UsageError, ScenarioError, UnitError

    Examples
    --------
    >>> parse_setting("brain", "1 EFLOP/s", lambda: "FLOP/s")
    {'value': 1e+18}
    >>> parse_setting("brain", "1e13..1e17", lambda: "FLOP/s")
    {'loguniform': [10000000000000.0, 1e+17]}
    """
    from forecast import units

    where = f"set {printable(key, 80)}"
    text = value.strip() if isinstance(value, str) else ""
    if (record := parse_table(value, where, expected="a distribution such as {lognormal = [1e14, 1e18]}")) is not None:
        distribution(record, where=where)
    elif (ends := _RANGE.fullmatch(text)) is not None:
        low, high = (parse_set_number(key, end) for end in ends.groups()[:2])
        if ends[3]:
            low, high = (float(units.convert(end, ends[3].strip(), unit(), where=where)) for end in (low, high))
        if not low < high:
            raise UsageError(f"{where}: expected a range that rises, such as 1e13..1e17, got '{printable(text, 60)}'")
        record = {_family(low): [low, high]}
        distribution(record, where=where)
    elif (with_unit := parse_measured(text)) is not None:
        record = {"value": float(units.convert(*with_unit, unit(), where=where))}
    else:
        record = {"value": parse_set_number(key, value)}
    if (low_one := below(record, lower)) is not None:
        least = f"{lower:g} {unit()}".rstrip()
        raise UsageError(f"{where}: expected at least {least}, got {low_one:g}")
    return record


def _family(low: float) -> str:
    """Return how a range is distributed: evenly in the logarithm where both ends are positive."""
    return "loguniform" if low > 0 else "uniform"


def parse_table(value: object, where: str, *, expected: str) -> dict[str, Any] | None:
    """Return the table that a value is, as a mapping or as an inline table of TOML; None for anything else.

    Raises
    ------
    UsageError
        Saying what is `expected`, for a text that opens as a table and is none.

    Examples
    --------
    >>> parse_table("{fast = 0.2, slow = 0.8}", "set kind", expected="probabilities")
    {'fast': 0.2, 'slow': 0.8}
    >>> parse_table("fast", "set kind", expected="probabilities")
    """
    if isinstance(value, Mapping):
        return dict(value)
    if not isinstance(value, str) or not (text := value.strip()).startswith("{"):
        return None
    problem = f"{where}: expected {expected}"
    try:
        read = tomllib.loads(f"it = {text}") if text.isprintable() else {}
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{problem}: {printable(error, 80)}") from None
    if set(read) != {"it"} or not isinstance(read["it"], dict):
        raise UsageError(f"{problem}, got '{printable(text, 60)}'")
    return dict(read["it"])


def as_text(settings: Mapping[str, Any]) -> list[str]:
    """Say settings of quantities and inputs as they are typed, a range with how it is distributed.

    Examples
    --------
    >>> as_text({"brain": "1e13..1e17", "rate": 3})
    ['brain = 1e13..1e17 (loguniform)', 'rate = 3']
    """
    told = []
    for key, value in settings.items():
        text = " ".join(as_phrase(value).split())
        ends = _RANGE.fullmatch(text)
        told.append(f"{key} = {text}{f' ({_family(float(ends[1]))})' if ends else ''}")
    return told


def as_phrase(value: Any) -> str:
    """Say a value as it is typed.

    Examples
    --------
    >>> as_phrase(1e16), as_phrase({"lognormal": [1, 4]})
    ('1e+16', '{lognormal = [1, 4]}')
    """
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key} = {as_phrase(each)}' for key, each in value.items())}}}"
    return f"[{', '.join(map(as_phrase, value))}]" if isinstance(value, (list, tuple)) else str(value)


def floor(distribution: Distribution | None, lower: float | None) -> float | None:
    """Return what a number may not be set below: what is said, else 0 where it is stated as one above 0.

    Zero itself is allowed, to leave a cost or a delay out.

    Examples
    --------
    >>> from forecast.base.distributions import distribution
    >>> floor(distribution({"p05": 1, "p95": 9}), None), floor(distribution({"value": 0.1}), None)
    (0.0, None)
    """
    if lower is None and distribution is not None and distribution.family in _POSITIVE_FAMILIES:
        return 0.0
    return lower
