"""Units: read, checked, converted, and inferred through formulas. The only module that knows pint.

A unit is a product of names: ``FLOP/s/USD``, ``GB/s``, ``W*year``, ``m**2``, ``1/s``; ``""`` is dimensionless. The text
is read here, name by name: pint sees single names only.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from forecast.errors import UnitError, printable
from forecast.formula import Condition, Formula, Measured, parse, tree
from forecast.units import conversion
from forecast.units.inference import Inference
from forecast.units.reader import MAX_UNIT_POWER, check_definition, fail, registry, unit

__all__ = [
    "Prepared",
    "Sides",
    "check",
    "check_definition",
    "convert",
    "factor",
    "infer",
    "label",
    "prepared",
    "same_dimension",
    "sides",
    "unit",
    "value_of",
]


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
    if not (conversion.multiplicative(a) and conversion.multiplicative(b)):
        fail(f"'{source}' to '{target}' is no plain factor: a scale has its own zero", where)
    ratio = conversion.scale(a, where) / conversion.scale(b, where)
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
    if conversion.multiplicative(a) and conversion.multiplicative(b):
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
    powers = {name.strip("[]"): power for name, power in parsed.dimensionality.items()}
    dimension = conversion.join(powers) or "dimensionless"
    return f"'{printable(text, 60)}' [{dimension}]"


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


def _as_formula(formula: Formula | str, where: str) -> Formula:
    return formula if isinstance(formula, Formula) else parse(formula, where=where)


def infer(
    formula: Formula | str, units: Mapping[str, str | None], *, where: str = "", rates: bool | None = None
) -> str:
    """Return the unit of a formula whose names have the units given; bare numbers are dimensionless.

    Parameters
    ----------
    formula : Formula or str
    units : mapping of str to str or None
        The unit of each name; None for one that stands for texts, which can only be compared with one.
    where : str
        For the message.
    rates : bool, optional
        Names in 1/time are plain numbers a year. By default they are where the formula uses `t`, `start` or `dt`, and
        no unit is given for these: they are plain numbers of years then.

    Raises
    ------
    UnitError
        Where the formula does not balance, naming the part and both sides.

    Examples
    --------
    >>> infer("machine/price", {"machine": "FLOP/s", "price": "USD"})
    'FLOP/s/USD'
    >>> infer("run/machine", {"run": "FLOP", "machine": "TFLOP/s"})
    's'
    >>> infer("spend*(1 + rate)**(t - start)", {"spend": "USD", "rate": "1/year"})
    'USD'
    """
    made = _as_formula(formula, where)
    return _infer(made, _known_units(made, units), where, rates)


@functools.lru_cache(maxsize=4096)  # scenarios are read again for every lever
def _infer(formula: Formula, declared_units: tuple[tuple[str, str | None], ...], where: str, rates: bool | None) -> str:
    inferred = Inference(formula, dict(declared_units), where, rates=rates).of(formula.root).unit
    if any(abs(power) > MAX_UNIT_POWER for power in inferred._units.values()):
        given = conversion.unit_text(inferred)
        fail(f"formula '{printable(formula.text, 80)}': gives '{given}', a power beyond {MAX_UNIT_POWER}", where)
    return conversion.unit_text(conversion.reduce_unit(inferred))


class Sides(NamedTuple):
    """The two sides of a condition, to be computed in one unit.

    Parameters
    ----------
    unit : str
    left, right : Formula
        A side that was a bare number has the unit of the other.
    rates : bool
        Names in 1/time are plain numbers a year on both sides, because one uses `t`, `start` or `dt`.
    """

    unit: str
    left: Formula
    right: Formula
    rates: bool


def sides(condition: Condition, units: Mapping[str, str | None], *, where: str = "") -> Sides:
    """Return the two sides of a condition over numbers, and the unit in which they are compared.

    Raises
    ------
    UnitError
        If they do not measure the same thing.

    Examples
    --------
    >>> from forecast.formula import parse_condition
    >>> found = sides(parse_condition("machine >= 1e18"), {"machine": "FLOP/s"})
    >>> found.right.text
    '1e18 FLOP/s'
    """
    return _condition_sides(condition, _known_units(condition.formula, units), where)


def _known_units(formula: Formula, units: Mapping[str, str | None]) -> tuple[tuple[str, str | None], ...]:
    """Return the units of a formula's names, as what was found of it is remembered by."""
    return tuple((name, units[name]) for name in formula.names if name in units)


@functools.lru_cache(maxsize=4096)  # a scenario asks once for every combination of its choices
def _condition_sides(condition: Condition, declared_units: tuple[tuple[str, str | None], ...], where: str) -> Sides:
    units = dict(declared_units)
    whole = Inference(condition.formula, units, where)
    left, right = condition.left, condition.right
    unit_of = {side: infer(side, units, where=where, rates=whole.yearly) for side in (left, right)}
    bare = [tree.constant(side.root) for side in (left, right)]
    if bare[0] != bare[1]:
        number, other = (left, right) if bare[0] else (right, left)
        given = whole.unit_of_side(other.root, unit(unit_of[other]))
        unit_of[number] = unit_of[other]
        measured = Formula(Measured(number.evaluate({}), given)) if given else number
        left, right = (measured, right) if bare[0] else (left, measured)
    elif not same_dimension(unit_of[left], unit_of[right]):
        both = (f"'{side.text}' is [{unit_of[side] or 'dimensionless'}]" for side in (left, right))
        raise UnitError(f"{where + ': ' if where else ''}units do not balance: {', '.join(both)}")
    return Sides(unit_of[condition.left], left, right, whole.yearly)


def value_of(
    formula: Formula | str,
    values: Mapping[str, Any],
    units: Mapping[str, str | None],
    *,
    target: str | None = None,
    where: str = "",
    rates: bool | None = None,
) -> Any:
    """Compute a formula over quantities with units.

    Every name is converted to coherent base units first, so that GB and GiB, or hours and years, meet correctly.

    Parameters
    ----------
    formula : Formula or str
    values : mapping of str to float or array
        Of texts where the unit is None.
    units : mapping of str to str or None
        The unit of each name; None for one that stands for texts.
    target : str, optional
        The unit of the answer; without it the unit that `infer` gives.
    where : str
        For the message.
    rates : bool, optional
        As in `infer`.

    Returns
    -------
    float or numpy.ndarray

    Examples
    --------
    >>> value_of("size/rate", {"size": 8.0, "rate": 2.0}, {"size": "GB", "rate": "MB/s"}, target="s")
    4000.0
    """
    return prepared(formula, units, target=target, where=where, rates=rates).evaluate(values)


@dataclass(frozen=True)
class Prepared:
    """A formula over quantities with units, checked once and computed many times. Made by `prepared`.

    Parameters
    ----------
    formula : Formula
        Over base units.
    units : mapping of str to str or None
        What each name is converted from; None for one that stands for texts.
    rates : frozenset of str
        The names that are plain numbers a year.
    goal : pint.Unit
    where : str
    """

    formula: Formula
    units: Mapping[str, str | None]
    rates: frozenset[str]
    goal: Any
    where: str

    @functools.cached_property
    def _parsed(self) -> dict[str, Any]:
        return {name: unit(stated, where=self.where) for name, stated in self.units.items() if stated is not None}

    @functools.cached_property
    def _run(self) -> Callable[[Mapping[str, Any]], Any]:
        return tree.compile_tree(self.formula.root)

    @functools.cached_property
    def _as_is(self) -> frozenset[str]:
        """The names whose numbers are in base units, or texts."""
        plain = {n: parsed for n, parsed in self._parsed.items() if n not in self.rates}
        factors = {n: conversion.scale(p, self.where) for n, p in plain.items() if conversion.multiplicative(p)}
        return frozenset([*(n for n, u in self.units.items() if not u), *(n for n, f in factors.items() if f == 1)])

    @functools.cached_property
    def answers_base(self) -> bool:
        """Whether the answer is in base units."""
        return conversion.multiplicative(self.goal) and conversion.scale(self.goal, self.where) == 1

    def is_base(self, name: str) -> bool:
        """Tell whether `base` leaves the numbers of a name as they are."""
        return name in self._as_is or not self.units.get(name, "")

    def base(self, name: str, values: Any) -> Any:
        """Return the numbers of a name in base units, as `compute` takes them."""
        if self.is_base(name):
            return values
        if name in self.rates:
            return convert(values, self.units[name] or "", "1/year", where=self.where)
        return conversion.to_base(values, self._parsed[name], self.where)

    def compute(self, base: Mapping[str, Any]) -> Any:
        """Return the value in the unit of the answer, from arrays in base units: nothing is checked, numpy may warn."""
        return self.answer(self._run(base))

    def answer(self, value: Any) -> Any:
        """Return a value in base units in the unit of the answer."""
        return value if self.answers_base else conversion.from_base(value, self.goal, self.where)

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """Return the value in the unit of the answer."""
        known = {n: self.base(n, v) for n, v in values.items() if n in self.formula.names}
        return conversion.from_base(self.formula.evaluate(known), self.goal, self.where)


def prepared(
    formula: Formula | str,
    units: Mapping[str, str | None],
    *,
    target: str | None = None,
    where: str = "",
    rates: bool | None = None,
) -> Prepared:
    """Check the units of a formula and return it ready to be computed; see `value_of` for the arguments."""
    result = _as_formula(formula, where)
    return _prepare(result, _known_units(result, units), target, where, rates)


@functools.lru_cache(maxsize=4096)  # a scenario asks once for every combination of its choices
def _prepare(
    formula: Formula,
    declared_units: tuple[tuple[str, str | None], ...],
    target: str | None,
    where: str,
    rates: bool | None,
) -> Prepared:
    units = dict(declared_units)
    inference = Inference(formula, units, where, rates=rates)
    inferred = inference.of(formula.root)
    answer = infer(formula, units, where=where, rates=rates) if target is None else target
    goal = unit(answer, where=where)
    if goal.dimensionality != inferred.unit.dimensionality:
        shown = conversion.unit_text(inferred.unit)
        shapes = f"gives {_say(shown, inferred.unit)}, expected {_say(answer, goal)}"
        fail(f"formula '{printable(formula.text, 80)}': units do not balance: {shapes}", where)
    over = formula if inferred.node is formula.root else Formula(inferred.node)
    return Prepared(over, units, inference.rates, goal, where)
