"""Where a law has a meaning: what it requires of its parameters and variables."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from forecast.base.arrays import Array
from forecast.errors import UnknownNameError
from forecast.formula import parse

_parsed = functools.lru_cache(maxsize=256)(parse)


def parse_requirements(given: Mapping[str, str] | None, names: tuple[str, ...], where: str) -> Mapping[str, str]:
    """Return what a law requires, in canonical spelling.

    Raises
    ------
    FormulaError, UnknownNameError
        If a requirement is no formula, or names what is no part of the law.
    """
    found = {}
    for text, what in (given or {}).items():
        requirement = parse(text, where=f"{where}: requires")
        for name in requirement.names:
            if name not in names:
                raise UnknownNameError("name", name, names, where=f"{where}: requires")
        found[requirement.text] = what
    return MappingProxyType(found)


def unmet(
    requires: Mapping[str, str], values: Mapping[str, Any], shape: tuple[int, ...]
) -> Iterator[tuple[str, tuple[str, ...], Array]]:
    """Walk the requirements that somewhere do not hold: the formula, its names, and what it gives at every point."""
    for text in requires:
        requirement = _parsed(text)
        with np.errstate(all="ignore"):
            found = np.broadcast_to(requirement.evaluate({n: values[n] for n in requirement.names}), shape)
        if (found <= 0).any():
            yield text, requirement.names, found


def meaningful(requires: Mapping[str, str], values: Mapping[str, Any], found: Array) -> Array:
    """Return values of a law, nan where one of its requirements does not hold."""
    for _, _, given in unmet(requires, values, found.shape):
        found = np.where(given <= 0, np.nan, found)
    return found
