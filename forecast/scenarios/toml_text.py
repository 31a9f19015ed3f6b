"""Plain data as TOML text, in the order in which they stand."""

from __future__ import annotations

import numbers
import re
from collections.abc import Mapping
from datetime import date, time
from typing import Any

from forecast.errors import ScenarioError, printable

#: A list as `tomli_w` lays it out, a value a line; no value holds a line break, nor a list that would begin with one.
_LIST_PATTERN = re.compile(r"^(\S.* = \[)\n((?:  \S.*(?<!\[)\n)+)\]$", re.MULTILINE)
_MAX_COLUMNS = 120


def toml_text(record: Mapping[str, Any]) -> str:
    """Write a record as TOML that reads back equal.

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
    import tomli_w

    return _LIST_PATTERN.sub(_short_list, tomli_w.dumps(_to_toml_value(record, ""), indent=2))


def _short_list(match: re.Match[str]) -> str:
    """Return a list on one line, where it fits."""
    line = f"{match[1]}{', '.join(each.strip().removesuffix(',') for each in match[2].splitlines())}]"
    return line if len(line) <= _MAX_COLUMNS else match[0]


def _to_toml_value(value: object, at: str) -> Any:
    """Return a value with Python's own numbers, text, dates, lists and tables, and nothing else."""
    if type(value) in (str, bool, int, float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _to_toml_value(each, f"{at}.{key}" if at else str(key)) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_toml_value(each, at) for each in value]
    if isinstance(value, (str, bool, date, time)):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise ScenarioError(f"{printable(at, 120)}: only Python holds a {type(value).__name__}: no file can")
