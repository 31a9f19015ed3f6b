"""Fields of records that check themselves: a wrong value names the record, the field and what was expected."""

from __future__ import annotations

import copyreg
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from types import MappingProxyType
from typing import Any, TypeGuard

from forecast.base.number_checks import is_real
from forecast.base.saved_records import DAY
from forecast.errors import PluginContractError, printable

#: What a quantity can promise: never to fall, to lie above 0.
KEEPS = ("frontier", "positive")
#: On which a quantity is straight: a logarithm, a logit (of 0 to 1, of 0 to 100), as it is, in arcsinh.
SCALES = ("level", "share", "percent", "linear", "signed", "count")


def read_only(items: Mapping[Any, Any]) -> MappingProxyType[Any, Any]:
    """Return a copy that cannot be written to."""
    return MappingProxyType(dict(items))


# by themselves such mappings neither pickle nor copy
copyreg.pickle(MappingProxyType, lambda proxy: (read_only, (dict(proxy),)))


def _brief_value(value: object) -> str:
    """Show a wrong value briefly; its type always, its text only where that is short."""
    brief = repr(value) if isinstance(value, (bool, float, str, tuple, dict, type(None))) else ""
    return f"{type(value).__name__} {printable(brief, 60)}".rstrip()


def is_text(value: object) -> bool:
    """Tell whether a value is text."""
    return isinstance(value, str)


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether a value is a number that a float holds; infinities are, NaN and booleans are not."""
    if not is_real(value):
        return False
    try:
        return not math.isnan(value)
    except OverflowError:  # an integer that no float holds
        return False


def date(value: object) -> bool:
    """Tell whether a value is a date of the calendar, written YYYY-MM-DD."""
    return DAY.good(value)


def mapping_of(of: Callable[[object], bool]) -> Callable[[object], bool]:
    """Return a test for a mapping of text to what passes `of`."""
    return lambda value: isinstance(value, Mapping) and all(is_text(k) and of(v) for k, v in value.items())


def tuple_of(of: Callable[[object], bool]) -> Callable[[object], bool]:
    """Return a test for a tuple of what passes `of`."""
    return lambda value: isinstance(value, tuple) and all(of(v) for v in value)


def pair(value: object) -> bool:
    """Tell whether a value is (low, high), low <= high."""
    return isinstance(value, tuple) and len(value) == 2 and all(map(is_number, value)) and bool(value[0] <= value[1])


numbers = mapping_of(is_number)


def checked_field(test: Callable[[object], bool], says: str, *, names: str = "", **options: Any) -> Any:
    """Declare a field whose value must pass `test`; a failure names the record, the field and what was expected.

    `names` is the kind of record that its text, or the keys of its mapping, name; ``"fact"`` are values of a mapping,
    each a fact of a model.
    """
    return field(metadata={"test": test, "says": says, "names": names}, **options)


def text_field(**options: Any) -> Any:
    """Declare a field that holds text."""
    return checked_field(is_text, "text", **options)


def optional_field(test: Callable[[object], bool], says: str) -> Any:
    """Declare a field that holds None, by default, or what passes `test`."""
    return checked_field(lambda v: v is None or test(v), says, default=None)


def maybe_text() -> Any:
    """Declare a field that holds text or None."""
    return optional_field(is_text, "text or None")


def flag_field(default: bool, says: str = "True or False") -> Any:
    """Declare a field that holds True or False."""
    return checked_field(lambda v: isinstance(v, bool), says, default=default)


def text_tuple_field(what: str, *, names: str = "") -> Any:
    """Declare a field that holds a tuple of text, by default none; `names` is as in `checked_field`."""
    return checked_field(tuple_of(is_text), f"a tuple of {what}", names=names, default=())


def mapping_field(of: Callable[[object], bool], what: str, *, names: str = "") -> Any:
    """Declare a field that holds a mapping of text to what passes `of`, by default an empty one."""
    return checked_field(mapping_of(of), f"a mapping {what}", names=names, default_factory=dict)


def record_tuple_field(of: type, **options: Any) -> Any:
    """Declare a field that holds a tuple of records; in a file they are tables, each under its name."""
    says = {"test": tuple_of(lambda v: isinstance(v, of)), "says": f"a tuple of {of.__name__}", "record": of}
    return field(metadata=says, **options)


@functools.cache
def reference_fields(kind: type[Any]) -> tuple[tuple[str, str], ...]:
    """Return the fields of a record that name other records, each with what it names; ``""``: records that may.

    Examples
    --------
    >>> from forecast import TrendSpec
    >>> reference_fields(TrendSpec)
    (('table', 'table'), ('shape', 'shape'), ('shapes', ''))
    """
    named = ((f.name, f.metadata.get("names", ""), f.metadata.get("record")) for f in fields(kind))
    return tuple((name, to) for name, to, inner in named if to or (inner is not None and reference_fields(inner)))


class Checked:
    """Checks the fields of a record when it is made and freezes its mappings."""

    name: str

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value, test = getattr(self, each.name), each.metadata.get("test")
            if test is not None and not test(value):
                self._refuse(each.name, f"expected {each.metadata['says']}, got {_brief_value(value)}")
            if not isinstance(value, (str, tuple)) and isinstance(value, Mapping):
                object.__setattr__(self, each.name, read_only(value))

    def _refuse(self, field_name: str, reason: str) -> None:
        raise PluginContractError(f"{type(self).__name__} '{printable(self.name, 80)}': {field_name}: {reason}")
