"""Other names of quantities and choices in a part of a scenario.

A kind of quantity says in ``NAMES`` which of its fields hold names; formulas and texts with choices in braces are found
wherever they stand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from forecast.formula import Condition, Formula, Name

T = TypeVar("T")

_ANY_BRACES_PATTERN = re.compile(r"\{([^{}]*)\}")


def renamed_name(name: str, names: Mapping[str, str]) -> str:
    """Return what a name becomes: of a quantity, a choice, or a number of a quantity, ``machine.growth``.

    Examples
    --------
    >>> renamed_name("machine.growth", {"machine": "brain.machine"})
    'brain.machine.growth'
    """
    if name in names:
        return names[name]
    own, mark, rest = name.rpartition(".")
    return f"{names[own]}{mark}{rest}" if own in names else name


def rename_part(part: T, names: Mapping[str, str]) -> T:
    """Return a part of a scenario with other names of quantities and choices in it; the same object if none changes.

    Examples
    --------
    >>> from forecast.formula import parse_expression
    >>> rename_part(parse_expression("run/price"), {"run": "mc.run"}).text
    'mc.run/price'
    >>> rename_part("hardware/{metric}", {"metric": "brain.metric"})
    'hardware/{brain.metric}'
    """
    result: Any = _rename(part, names)
    return result  # type: ignore[no-any-return]


def _rename(part: Any, names: Mapping[str, str]) -> Any:
    if isinstance(part, Formula):
        # the number of a choice is a name in braces
        new = {n: f"{{{names.get(n[1:-1], n[1:-1])}}}" if n.startswith("{") else names.get(n, n) for n in part.names}
        changed = {n: Formula(Name(each)) for n, each in new.items() if each != n}
        return part.substitute(changed) if changed else part
    if isinstance(part, Condition):
        left, right = _rename(part.left, names), _rename(part.right, names)
        return part if left is part.left and right is part.right else Condition(left, part.op, right)
    if isinstance(part, str):
        return (
            _ANY_BRACES_PATTERN.sub(lambda brace: f"{{{names.get(brace[1], brace[1])}}}", part) if "{" in part else part
        )
    if isinstance(part, Mapping):
        new_values = {key: _rename(each, names) for key, each in part.items()}
        return part if all(new_values[key] is each for key, each in part.items()) else new_values
    if isinstance(part, (list, tuple)):
        items = [_rename(each, names) for each in part]
        return part if all(a is b for a, b in zip(items, part, strict=True)) else type(part)(items)
    own = is_dataclass(part) and not isinstance(part, type) and type(part).__module__.startswith("forecast.scenarios.")
    if not own:  # no record of a scenario, but an object of somebody's own
        return part
    changes: dict[str, Any] = {}
    for each in fields(part):
        value = getattr(part, each.name)
        new_value = _rename_names(value, names) if each.name in getattr(part, "NAMES", ()) else _rename(value, names)
        if new_value is not value:
            changes[each.name] = new_value
    return replace(part, **changes) if changes else part


def _rename_names(value: Any, names: Mapping[str, str]) -> Any:
    """Return a field that holds names with other ones: a name, several, or those that stand under keys."""
    if isinstance(value, str):
        return renamed_name(value, names)
    if isinstance(value, Mapping):
        return {key: renamed_name(each, names) for key, each in value.items()}
    return tuple(renamed_name(each, names) for each in value)
