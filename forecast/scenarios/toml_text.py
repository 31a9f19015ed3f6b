"""Plain data as TOML text, in the order in which they stand."""

from __future__ import annotations

import json
import math
import numbers
import re
from collections.abc import Mapping
from datetime import date, time
from typing import Any

from forecast.errors import ScenarioError, printable

__all__ = ["toml_text"]

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def toml_text(record: Mapping[str, Any]) -> str:
    """Write a record as TOML that reads back equal.

    A group of tables is written a table each, one that holds anything else a line each: the order of choices and of
    questions has a meaning, and stays.

    Raises
    ------
    ScenarioError
        Naming the key of what TOML cannot hold: a function, a model or a fit.

    Examples
    --------
    >>> print(toml_text({"quantities": {"x": {"value": 3, "unit": "FLOP"}}, "until": 2030}))
    until = 2030
    <BLANKLINE>
    [quantities.x]
    value = 3
    unit = "FLOP"
    <BLANKLINE>
    """
    plain = {key: value for key, value in record.items() if not _grouped(value)}
    parts = [_lines(plain, "")] if plain else []
    for key, value in record.items():
        if not _grouped(value):
            continue
        if not isinstance(value, Mapping):
            parts += [f"[[{_key(key)}]]\n{_lines(each, f'{key}[{i}]')}" for i, each in enumerate(value, 1)]
        elif value and all(isinstance(each, Mapping) for each in value.values()):
            parts += [f"[{_key(key)}.{_key(name)}]\n{_lines(each, f'{key}.{name}')}" for name, each in value.items()]
        else:
            parts.append(f"[{_key(key)}]\n{_lines(value, key)}")
    return "\n".join(parts)


def _grouped(value: object) -> bool:
    """Tell whether a value has headings of its own: a table, or a list of tables."""
    if isinstance(value, Mapping):
        return True
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _lines(record: Mapping[str, Any], at: str) -> str:
    return "".join(f"{_key(key)} = {_value(value, f'{at}.{key}' if at else key)}\n" for key, value in record.items())


def _key(key: object) -> str:
    text = str(key)
    return text if _BARE.fullmatch(text) else _text(text)


def _text(text: str) -> str:
    # what JSON escapes TOML escapes alike; it also wants the delete character escaped
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: object, at: str) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        number = float(value)
        return repr(number) if math.isfinite(number) else str(number)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_value(each, f'{at}.{key}')}" for key, each in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_value(each, at) for each in value)}]"
    raise ScenarioError(f"{printable(at, 120)}: only Python holds a {type(value).__name__}: no file can")
