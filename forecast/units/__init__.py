"""Units: read, checked, converted, and inferred through formulas. The only module that knows pint.

A unit is a product of names: ``FLOP/s/USD``, ``GB/s``, ``W*year``, ``m**2``, ``1/s``; ``""`` is dimensionless. The text
is read here, name by name: pint sees single names only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from forecast.errors import printable
from forecast.formula import Binary, Call, Formula, Name, Node, Number, Unary, parse, tree
from forecast.units.reader import MAX_POWER, check_definition, fail, registry, unit

__all__ = [
    "check",
    "check_definition",
    "convert",
    "evaluate",
    "factor",
    "infer",
    "label",
    "same_dimension",
    "unit",
]


def _multiplicative(parsed: Any) -> bool:
    return not any(name in ("degree_Celsius", "delta_degree_Celsius") for name in parsed._units)


def _scale(parsed: Any, where: str) -> float:
    """Return how many coherent base units one of this unit is."""
    known = registry().scales
    if parsed in known:
        return known[parsed]
    try:
        scale = float(registry().pint.get_base_units(parsed)[0])
    except OverflowError:
        scale = math.inf
    if not 0 < scale < math.inf:
        fail(f"unit '{_text(parsed)}' is out of the range of numbers", where)
    known[parsed] = scale
    return scale


def factor(source: str, target: str, *, where: str = "") -> float:
    """Return what a number in `source` is multiplied by to be in `target`.

    Examples
    --------
    >>> factor("TFLOP/s", "FLOP/s")
    1000000000000.0
    """
    check(source, target, where=where)
    if source == target:
        return 1.0
    a, b = unit(source, where=where), unit(target, where=where)
    if not (_multiplicative(a) and _multiplicative(b)):
        fail(f"'{source}' to '{target}' is no plain factor: a scale has its own zero", where)
    ratio = _scale(a, where) / _scale(b, where)
    plain = float(f"{ratio:.12g}")  # 1000.0000000000001 is 1000
    return plain if abs(plain - ratio) <= 4 * math.ulp(ratio) else ratio


def convert(values: Any, source: str, target: str, *, where: str = "") -> Any:
    """Convert numbers from one unit to another; the input is not written to.

    Parameters
    ----------
    values : float, array or xarray.DataArray
    source, target : str

    Raises
    ------
    UnitError
        If the two have different dimensions; the message names both and `where`.
    """
    import numpy as np

    check(source, target, where=where)
    if isinstance(values, (list, tuple, int)):
        values = np.asarray(values, dtype=np.float64)[()]
    if source == target:
        return values
    a, b = unit(source, where=where), unit(target, where=where)
    if _multiplicative(a) and _multiplicative(b):
        ratio = factor(source, target, where=where)
        return values * ratio if ratio >= 1 else values / factor(target, source, where=where)
    try:
        return registry().pint.convert(values, a, b)
    except Exception as error:  # pint refuses products with a scale of its own zero in several ways
        fail(f"cannot convert '{printable(source, 60)}' to '{printable(target, 60)}': {printable(error)}", where)


def same_dimension(a: str, b: str) -> bool:
    """Tell whether two units measure the same thing.

    Examples
    --------
    >>> same_dimension("GiB", "bit"), same_dimension("FLOP/s", "TEPS")
    (True, False)
    """
    return bool(unit(a).dimensionality == unit(b).dimensionality)


def check(a: str, b: str, *, where: str = "") -> None:
    """Refuse two units that do not measure the same thing.

    Raises
    ------
    UnitError
        Naming both, their dimensions, and `where`.
    """
    x, y = unit(a, where=where), unit(b, where=where)
    if x.dimensionality != y.dimensionality:
        fail(f"units do not balance: {_say(a, x)} against {_say(b, y)}", where)


def _say(text: str, parsed: Any) -> str:
    if not text:
        return "dimensionless"
    dimension = _join({name.strip("[]"): power for name, power in parsed.dimensionality.items()}) or "dimensionless"
    return f"'{printable(text, 60)}' [{dimension}]"


def _join(powers: Mapping[str, float]) -> str:
    """Write names and powers in this module's grammar: ``kg*m/s**2``."""

    def part(name: str, power: float) -> str:
        return name if power == 1 else f"{name}**{power:g}"

    above = "*".join(part(n, p) for n, p in powers.items() if p > 0)
    below = "".join("/" + part(n, -p) for n, p in powers.items() if p < 0)
    return (above or ("1" if below else "")) + below


def _text(parsed: Any) -> str:
    """Write a unit so that `unit` reads it back; what measures nothing is dimensionless."""
    if parsed.dimensionless:
        return ""
    return _join({str(registry().pint.get_symbol(name)): float(power) for name, power in parsed._units.items()})


def label(text: str, *, where: str = "") -> str:
    """Return a unit's text as figures and tables show it; ``m**2`` is ``m²``.

    Examples
    --------
    >>> label("FLOP/s/m**2")
    'FLOP/s/m²'
    """
    unit(text, where=where)
    raised = re.sub(r"\s*\*\*\s*(-?\d)", lambda m: m[1].translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")), text)
    return re.sub(r"\s*([*/])\s*", r"\1", raised).replace("*", "·").strip()


class _Inference:
    """Walks a formula with units in the place of numbers."""

    def __init__(self, formula: Formula, units: Mapping[str, str], where: str) -> None:
        self.formula, self.where = formula, where
        self.units = {n: unit(units[n], where=where) for n in formula.names if n in units}
        # a scale with a zero of its own (degC) is computed with as kelvin, so that is what comes out
        self.units = {n: u if _multiplicative(u) else unit("K") for n, u in self.units.items()}
        self.none = registry().pint.Unit("")

    def fail(self, node: Node, reason: str) -> NoReturn:
        at = f"formula '{printable(self.formula.text, 80)}': in '{printable(tree.text(node), 40)}'"
        fail(f"{at}, {reason}", self.where)

    def show(self, parsed: Any) -> str:
        return f"'{_text(parsed)}'" if _text(parsed) else "dimensionless"

    def of(self, node: Node) -> Any:
        match node:
            case Number():
                return self.none
            case Name(name):
                if name not in self.units:
                    self.fail(node, f"'{printable(name, 60)}' has no unit")
                return self.units[name]
            case Unary(operand=operand):
                return self.of(operand)
            case Call():
                return self.call(node)
        left, right = self.of(node.left), self.of(node.right)
        match node.op:
            case "*":
                return left * right
            case "/":
                return left / right
            case "**":
                return self.power(node, left, right)
        return self.alike(node, [left, right])

    def alike(self, node: Node, parts: list[Any]) -> Any:
        for other in parts[1:]:
            if other.dimensionality != parts[0].dimensionality:
                self.fail(node, f"units do not balance: {self.show(parts[0])} against {self.show(other)}")
        return parts[0]

    def call(self, node: Call) -> Any:
        parts = [self.of(a) for a in node.args]
        match node.function:
            case "min" | "max" | "abs":
                return self.alike(node, parts)
            case "sqrt" | "cbrt" as root:
                return self.none if parts[0].dimensionless else parts[0] ** (1 / 2 if root == "sqrt" else 1 / 3)
            case "sign" | "heaviside":
                return self.none
        if not parts[0].dimensionless:
            self.fail(node, f"{node.function}() needs a dimensionless argument, got {self.show(parts[0])}")
        return self.none

    def power(self, node: Binary, base: Any, exponent: Any) -> Any:
        if not exponent.dimensionless:
            self.fail(node, f"an exponent must be dimensionless, got {self.show(exponent)}")
        if base.dimensionless:
            return self.none
        if not tree.constant(node.right):
            self.fail(node, f"{self.show(base)} is raised to a power that is no plain number")
        value = float(tree.evaluate(node.right, {}))
        if not abs(value) <= MAX_POWER:
            self.fail(node, f"{self.show(base)} is raised to {value:g}, beyond {MAX_POWER}")
        return base**value


def _formula(formula: Formula | str, where: str) -> Formula:
    return formula if isinstance(formula, Formula) else parse(formula, where=where)


def infer(formula: Formula | str, units: Mapping[str, str], *, where: str = "") -> str:
    """Return the unit of a formula whose names have the units given; bare numbers are dimensionless.

    Raises
    ------
    UnitError
        Where the formula does not balance, naming the part and both sides.

    Examples
    --------
    >>> infer("machine/price", {"machine": "FLOP/s", "price": "USD"})
    'FLOP/s/USD'
    """
    made = _formula(formula, where)
    inferred = _Inference(made, units, where).of(made.root)
    if any(abs(power) > MAX_POWER for power in inferred._units.values()):
        fail(f"formula '{printable(made.text, 80)}': gives '{_text(inferred)}', a power beyond {MAX_POWER}", where)
    return _text(inferred)


def evaluate(
    formula: Formula | str,
    values: Mapping[str, Any],
    units: Mapping[str, str],
    *,
    target: str | None = None,
    where: str = "",
) -> Any:
    """Compute a formula over quantities with units.

    Every name is converted to coherent base units first, so that GB and GiB, or hours and years, meet correctly.

    Parameters
    ----------
    formula : Formula or str
    values : mapping of str to float or array
    units : mapping of str to str
        The unit of each name.
    target : str, optional
        The unit of the answer; without it the unit that `infer` gives.
    where : str
        For the message.

    Returns
    -------
    float or numpy.ndarray

    Examples
    --------
    >>> evaluate("size/rate", {"size": 8.0, "rate": 2.0}, {"size": "GB", "rate": "MB/s"}, target="s")
    4000.0
    """
    made = _formula(formula, where)
    inferred = _Inference(made, units, where).of(made.root)
    answer = infer(made, units, where=where) if target is None else target
    goal = unit(answer, where=where)
    if goal.dimensionality != inferred.dimensionality:
        shown = _text(inferred)
        sides = f"gives {_say(shown, inferred)}, expected {_say(answer, goal)}"
        fail(f"formula '{printable(made.text, 80)}': units do not balance: {sides}", where)
    base = {n: _to_base(values[n], unit(units[n], where=where), where) for n in made.names if n in values}
    return _from_base(made.evaluate(base), goal, where)


def _to_base(values: Any, parsed: Any, where: str) -> Any:
    """Convert to the coherent base unit of the same dimension."""
    import numpy as np

    numbers = np.asarray(values, dtype=np.float64)[()]
    if _multiplicative(parsed):
        scale = _scale(parsed, where)
        return numbers if scale == 1 else numbers * scale
    return registry().pint.convert(numbers, parsed, registry().pint.get_base_units(parsed)[1])


def _from_base(values: Any, parsed: Any, where: str) -> Any:
    """Convert from the coherent base unit of the same dimension."""
    if _multiplicative(parsed):
        scale = _scale(parsed, where)
        return values if scale == 1 else values / scale
    return registry().pint.convert(values, registry().pint.get_base_units(parsed)[1], parsed)
