"""Bounds of a law's parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from forecast.errors import FormulaError, UnknownNameError, shown_value


def bounds_of(
    parameters: Iterable[str], positive: Iterable[str], bounds: Mapping[str, tuple[float, float]] | None, where: str
) -> Mapping[str, tuple[float, float]]:
    """Return the bounds of every parameter; what is stated in `bounds` comes before `positive`.

    Raises
    ------
    UnknownNameError, FormulaError

    Examples
    --------
    >>> dict(bounds_of(["a", "b"], ["b"], {"a": (0, 1)}, "law"))
    {'a': (0.0, 1.0), 'b': (0.0, inf)}
    """
    if not isinstance(bounds or {}, Mapping):
        raise FormulaError(
            f"{where}: bounds: expected a mapping of parameter to (low, high), got {shown_value(bounds)}"
        )
    found = dict.fromkeys(parameters, (-math.inf, math.inf))
    for name, pair in {**dict.fromkeys(positive, (0.0, math.inf)), **(bounds or {})}.items():
        if name not in found:
            raise UnknownNameError("parameter", name, list(found), where=f"{where}: bounds")
        try:
            if isinstance(pair, str):
                raise TypeError
            low, high = map(float, pair)
        except (TypeError, ValueError):
            raise FormulaError(f"{where}: bounds of '{name}': expected (low, high), got {shown_value(pair)}") from None
        if not low <= high or low == math.inf or high == -math.inf:
            raise FormulaError(f"{where}: bounds of '{name}': expected low <= high, got ({low:g}, {high:g})")
        found[name] = (low, high)
    return MappingProxyType(found)
