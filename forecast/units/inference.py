"""Units through formulas: what comes out, where it does not balance, and the formula over base units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from forecast.errors import printable
from forecast.formula import (
    SCENARIO_FUNCTIONS,
    TIME_NAMES,
    Binary,
    Call,
    Comparison,
    Formula,
    Measured,
    Name,
    Node,
    Number,
    Sequence,
    Text,
    Unary,
    tree,
)
from forecast.formula.functions import CONDITION, DIMENSIONLESS, SAME_UNIT, TIME_UNIT
from forecast.units import conversion
from forecast.units.reader import MAX_UNIT_POWER, fail, registry, unit


class Inferred(NamedTuple):
    """The unit of a part of a formula, and that part over base units."""

    unit: Any
    node: Node


class Inference:
    """Walks a formula with units in the place of numbers.

    Parameters
    ----------
    formula : Formula
    units : mapping of str to str or None
        The unit of each name; None for one that stands for texts.
    where : str
        For the message.
    rates : bool, optional
        Names in 1/time are plain numbers a year. By default they are where the formula uses `t`, `start` or `dt` and
        these have no unit of their own.

    Attributes
    ----------
    rates : frozenset of str
        The names that are plain numbers a year.
    """

    def __init__(
        self, formula: Formula, units: Mapping[str, str | None], where: str, *, rates: bool | None = None
    ) -> None:
        self.formula, self.where, self.stated = formula, where, units
        self.none = registry().pint.Unit("")
        self.units: dict[str, Any] = {n: self.none for n in formula.names if n in TIME_NAMES and n not in units}
        self.yearly = bool(self.units) if rates is None else rates
        for name in formula.names:
            stated = units.get(name)
            if stated is not None:
                self.units[name] = unit(stated, where=where)
        self.rates = frozenset(n for n, u in self.units.items() if self.yearly and _a_rate(u))
        # a scale with a zero of its own (degC) is computed with as kelvin, so that is what comes out
        self.units = {n: u if conversion.multiplicative(u) else unit("K") for n, u in self.units.items()}

    def fail(self, node: Node, reason: str) -> NoReturn:
        """Raise the error that names the part of the formula."""
        at = f"formula '{printable(self.formula.text, 80)}': in '{printable(tree.to_text(node), 40)}'"
        fail(f"{at}, {reason}", self.where)

    def show(self, parsed: Any) -> str:
        """Write a unit for a message."""
        return f"'{conversion.unit_text(parsed)}'" if conversion.unit_text(parsed) else "dimensionless"

    def of(self, node: Node) -> Inferred:
        """Return the unit of a part, and the part over base units."""
        match node:
            case Number():
                return Inferred(self.none, node)
            case Measured(value, stated):
                parsed = unit(stated, where=self.where)
                return Inferred(parsed, tree.number_node(float(conversion.to_base(value, parsed, self.where))))
            case Name(name):
                return Inferred(self.name(node, name), node)
            case Unary(op, operand):
                inner = self.of(operand)
                return Inferred(inner.unit, node if inner.node is operand else Unary(op, inner.node))
            case Call():
                return self.call(node)
            case Comparison():
                return self.comparison(node)
            case Binary():
                return self.binary(node)
        self.fail(node, "a text or a list stands where a number belongs")

    def name(self, node: Node, name: str) -> Any:
        """Return the unit of a name."""
        if name in self.rates:
            return self.none
        if name in self.units:
            return self.units[name]
        if name in self.stated:
            self.fail(node, f"'{printable(name, 60)}' stands for texts; compare it with one: {name} == \"...\"")
        self.fail(node, f"'{printable(name, 60)}' has no unit")

    def binary(self, node: Binary) -> Inferred:
        """Return the unit of a sum, a product or a power."""
        left, right = self.of(node.left), self.of(node.right)
        match node.op:
            case "*":
                found = left.unit * right.unit
            case "/":
                found = left.unit / right.unit
            case "**":
                found = self.power(node, left.unit, right.unit)
            case _:
                found = self.common_unit(node, [left.unit, right.unit])
        kept = left.node is node.left and right.node is node.right
        return Inferred(found, node if kept else Binary(node.op, left.node, right.node))

    def common_unit(self, node: Node, parts: list[Any]) -> Any:
        """Return the unit of parts that must measure the same thing."""
        for other in parts[1:]:
            if other.dimensionality != parts[0].dimensionality:
                self.fail(node, f"units do not balance: {self.show(parts[0])} against {self.show(other)}")
        return parts[0]

    def power(self, node: Binary, base: Any, exponent: Any) -> Any:
        """Return the unit of a power."""
        if not exponent.dimensionless:
            self.fail(node, f"an exponent must be dimensionless, got {self.show(exponent)}")
        if base.dimensionless:
            return self.none
        if not tree.constant(node.right):
            self.fail(node, f"{self.show(base)} is raised to a power that is no plain number")
        value = float(tree.evaluate(node.right, {}))
        if not abs(value) <= MAX_UNIT_POWER:
            self.fail(node, f"{self.show(base)} is raised to {value:g}, beyond {MAX_UNIT_POWER}")
        return base**value

    def comparison(self, node: Comparison) -> Inferred:
        """Return that a comparison is a plain number; a bare number on one side has the unit of the other."""
        texts = [side for side in (node.left, node.right) if isinstance(side, Text)]
        if texts:
            for side in (node.left, node.right):
                if isinstance(side, Name) and self.stated.get(side.name, "") is not None:
                    self.fail(node, f"'{printable(side.name, 60)}' stands for numbers, not for texts")
            return Inferred(self.none, node)
        sides = [self.of(side) for side in (node.left, node.right)]
        bare = [tree.constant(side) for side in (node.left, node.right)]
        if bare[0] != bare[1]:
            index = bare.index(True)
            given = unit(self.unit_of_side((node.right, node.left)[index], sides[1 - index].unit), where=self.where)
            value = tree.evaluate(tree.children(node)[index], {})
            number = tree.number_node(float(conversion.to_base(value, given, self.where)))
            sides[index] = Inferred(sides[1 - index].unit, number)
        self.common_unit(node, [side.unit for side in sides])
        return Inferred(self.none, Comparison(node.op, sides[0].node, sides[1].node))

    def unit_of_side(self, side: Node, inferred: Any) -> str:
        """Return the unit of a bare number that is compared with a side: a name's own, else what the side gives."""
        if isinstance(side, Name) and side.name not in self.rates:
            return self.stated.get(side.name) or ""
        return conversion.unit_text(inferred)

    def call(self, node: Call) -> Inferred:
        """Return the unit of a function, by the rules of the table."""
        function = SCENARIO_FUNCTIONS[node.function]
        same: list[Any] = []
        nodes: list[Node] = []
        for rule, argument in zip(function.rules(len(node.args)), node.args, strict=True):
            items = argument.items if isinstance(argument, Sequence) else (argument,)
            parts = [self.of(item) for item in items]
            over = tuple(part.node for part in parts)
            nodes.append(Sequence(over) if isinstance(argument, Sequence) else over[0])
            if rule == SAME_UNIT:
                same += [part.unit for part in parts]
            for part in parts:
                self.check(rule, node, part.unit)
        kept = all(a is b for a, b in zip(nodes, node.args, strict=True))
        return Inferred(self.result(function.result, node, same), node if kept else Call(node.function, tuple(nodes)))

    def check(self, rule: str, node: Call, found: Any) -> None:
        """Hold an argument to the rule for its unit."""
        if rule == TIME_UNIT and found.dimensionality == unit("year").dimensionality:
            return
        if rule in (DIMENSIONLESS, CONDITION, TIME_UNIT) and not found.dimensionless:
            expected = {
                DIMENSIONLESS: "a dimensionless argument",
                CONDITION: "a condition",
                TIME_UNIT: "a number of years",
            }[rule]
            self.fail(node, f"{node.function}() needs {expected}, got {self.show(found)}")

    def result(self, result: float | str, node: Call, same: list[Any]) -> Any:
        """Return the unit of what a function gives."""
        if isinstance(result, str):
            found = unit(result)
            return self.none if self.yearly and _a_rate(found) else found
        if not result:
            return self.none
        common = self.common_unit(node, same)
        return common if result == 1 else self.none if common.dimensionless else common**result


def _a_rate(parsed: Any) -> bool:
    """Tell whether a unit is one over a time."""
    return dict(parsed.dimensionality) == {"[time]": -1}
