"""Units as text, and numbers to and from the coherent base units of a dimension."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from forecast.units.reader import fail, registry


def multiplicative(parsed: Any) -> bool:
    """Tell whether a unit is a plain factor; a scale with a zero of its own is none."""
    return not any(name in ("degree_Celsius", "delta_degree_Celsius") for name in parsed._units)


def scale(parsed: Any, where: str) -> float:
    """Return how many coherent base units one of this unit is."""
    known = registry().scales
    if parsed in known:
        return known[parsed]
    try:
        found = float(registry().pint.get_base_units(parsed)[0])
    except OverflowError:
        found = math.inf
    if not 0 < found < math.inf:
        fail(f"unit '{unit_text(parsed)}' is out of the range of numbers", where)
    known[parsed] = found
    return found


def join(powers: Mapping[str, float]) -> str:
    """Write names and powers in this module's grammar: ``kg*m/s**2``."""

    def part(name: str, power: float) -> str:
        return name if power == 1 else f"{name}**{power:g}"

    above = "*".join(part(n, p) for n, p in powers.items() if p > 0)
    below = "".join("/" + part(n, -p) for n, p in powers.items() if p < 0)
    return (above or ("1" if below else "")) + below


def unit_text(parsed: Any) -> str:
    """Write a unit so that `unit` reads it back; what measures nothing is dimensionless."""
    if parsed.dimensionless:
        return ""
    return join({str(registry().pint.get_symbol(name)): float(power) for name, power in parsed._units.items()})


def reduce_unit(parsed: Any) -> Any:
    """Return a unit in which no two names measure the same: ``FLOP*s/TFLOP`` is ``s``; the same where none do."""
    units = registry().pint
    measured = [units.Unit(name).dimensionality for name in parsed._units]
    if all(each not in measured[place + 1 :] for place, each in enumerate(measured)):
        return parsed
    return units.Quantity(1, parsed).to_reduced_units().units


def to_base(values: Any, parsed: Any, where: str) -> Any:
    """Convert to the coherent base unit of the same dimension."""
    import numpy as np

    numbers = np.asarray(values, dtype=np.float64)[()]
    if multiplicative(parsed):
        factor = scale(parsed, where)
        return numbers if factor == 1 else numbers * factor
    return registry().pint.convert(numbers, parsed, registry().pint.get_base_units(parsed)[1])


def from_base(values: Any, parsed: Any, where: str) -> Any:
    """Convert from the coherent base unit of the same dimension."""
    if multiplicative(parsed):
        factor = scale(parsed, where)
        return values if factor == 1 else values / factor
    return registry().pint.convert(values, registry().pint.get_base_units(parsed)[1], parsed)
