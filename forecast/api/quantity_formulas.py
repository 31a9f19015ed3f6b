"""Formulas of quantities: operations, functions of the language and comparisons of objects.

A formula holds the quantities themselves. Written into a scenario, one that has no name of its own stands where it is
used, as a person would write it: ``60e6*(1 + g)**(t - start)`` is one expression, not five quantities.
"""

from __future__ import annotations

import datetime
import functools
import math
import numbers
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from forecast.api import automatic_names as names
from forecast.base.dates import parse_year
from forecast.base.number_checks import is_real
from forecast.errors import UsageError, printable
from forecast.formula import (
    FUNCTIONS,
    SCENARIO_FUNCTIONS,
    Binary,
    Call,
    Formula,
    Measured,
    Name,
    Node,
    Sequence as Listed,
    Text,
    Unary,
    parse_condition,
    tree,
)
from forecast.formula.tree import MIRRORED_OPERATORS

if TYPE_CHECKING:
    from forecast.api.quantity import Quantity, QuantityCondition

#: A formula of more parts than this is a quantity of its own: formulas stay ones that can be read.
MAX_FORMULA_PARTS = 60

Compared = Literal[">=", ">", "<=", "<", "=="]

#: numpy's functions that have a word in the grammar, and those that are an operation or a comparison.
_FUNCTIONS = {"absolute": "abs", **{f.numpy: name for name, f in FUNCTIONS.items() if f.numpy}}
_OPERATIONS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**", "negative": "-"}
_COMPARISON_OPERATORS: Mapping[str, Compared] = {"greater_equal": ">=", "greater": ">", "less_equal": "<=", "less": "<"}


#: A condition of the values at a date.
_AT_DATE_PATTERN = re.compile(r"(?P<condition>.*\S)\s+at\s+(?P<date>\d{4}[-\d.]*)\s*", re.DOTALL)


@dataclass(frozen=True, eq=False)
class QuantityFormula:
    """A formula of quantities.

    Parameters
    ----------
    root : Node
        In which ``#0``, ``#1`` … stand for the quantities.
    of : tuple of Quantity
    """

    root: Node
    of: tuple[Quantity, ...] = ()

    @functools.cached_property
    def size(self) -> int:
        """How many parts it has, with those of the formulas that stand in it."""
        return sum(1 for _ in tree.walk(self.root)) + sum(each._size for each in self.of)

    def _tree(self, own_names: Collection[str] = ()) -> Node:
        """Return the formula with the names of quantities; those `own_names` have a name wherever they stand."""
        stands = {f"#{place}": each._tree(own_names) for place, each in enumerate(self.of)}

        return tree.rewrite(self.root, lambda node: stands.get(node.name, node) if isinstance(node, Name) else node)


class _FormulaBuilder:
    """Turns operands, one after the other, into nodes of a formula."""

    def __init__(self, where: str) -> None:
        self.where, self.of, self.words, self.labels = where, list[Any](), list[str](), list[str]()

    def node(self, operand: Any) -> Node:
        if isinstance(operand, (list, tuple)):
            return Listed(tuple(map(self.node, operand)))
        if isinstance(operand, numbers.Real):
            number = finite(operand, self.where)
            self.words.append(names.number_as_word(number))
            return tree.number_node(number)
        from forecast.api.quantity import as_quantity

        quantity = as_quantity(operand)
        self.words.append(quantity._its_name)
        self.labels += quantity._labels
        self.of.append(quantity)
        return Name(f"#{len(self.of) - 1}")

    def quantity(self, root: Node, name: str) -> Quantity:
        from forecast.api.quantity import Quantity

        record = {"expression": QuantityFormula(root, tuple(self.of))}
        return Quantity(stated=record, name=name, automatic=True, depth=self.depth)

    @property
    def depth(self) -> int:
        return 1 + max((each.depth for each in self.of), default=0)


def operation(op: str, *operands: Any) -> Quantity:
    """Return an operation of quantities and numbers: ``+ - * / **``, and the minus sign alone."""
    former = _FormulaBuilder(op)
    parts = [former.node(each) for each in operands]
    if len(parts) == 1:
        name = names.operation_name("minus", former.words, former.depth, former.labels)
        return former.quantity(Unary("-", parts[0]), name)
    return former.quantity(Binary(op, *parts), names.infix(op, former.words, former.depth, former.labels))


def call(function: str, *arguments: Any) -> Quantity:
    """Return a function of the language, of quantities, conditions and numbers."""
    signature = SCENARIO_FUNCTIONS[function]
    if not signature.least <= len(arguments) <= signature.most:
        count = str(signature.least) if signature.least == signature.most else f"{signature.least} to {signature.most}"
        raise UsageError(f"{function}: expected {count} argument{'s' if count != '1' else ''}, got {len(arguments)}")
    for place, each in enumerate(arguments):
        if (place in signature.lists) != isinstance(each, (list, tuple)):
            expected = "a list" if place in signature.lists else "a quantity or a number"
            raise UsageError(f"{function}: argument {place + 1}: expected {expected}, got {type(each).__name__}")
    if function == "at" and isinstance(arguments[1], (str, datetime.date)):
        arguments = (arguments[0], parse_year(arguments[1], "at"))
    former = _FormulaBuilder(function)
    root = Call(function, tuple(former.node(each) for each in arguments))
    return former.quantity(root, names.operation_name(function, former.words, former.depth, former.labels))


def make_comparison(left: Any, op: str, right: Any) -> QuantityCondition:
    """Return a comparison; a text is a number with a unit, ``"1 EFLOP/s"``, or by ``==`` the label of a regime."""
    from forecast.api.quantity import QuantityCondition, as_quantity

    if isinstance(right, str):
        side: Any = Text(right) if op == "==" else _parse_measured(right)
    else:
        side = finite(right, op) if isinstance(right, numbers.Real) else as_quantity(right)
    level = right.strip() if isinstance(right, str) and op != "==" else ""
    return QuantityCondition(as_quantity(left), op, side, level=level)  # type: ignore[arg-type]


def _parse_measured(text: str) -> Measured:
    found = parse_condition(f"x >= {text}", where="comparison").right.root
    if not isinstance(found, Measured):
        raise UsageError(f"expected a number with a unit, such as '1 EFLOP/s', got '{printable(text, 40)}'")
    return found


def formula_of(formula: Formula, quantities: Mapping[str, Quantity]) -> Quantity | QuantityFormula:
    """Return a formula with quantities in place of its names; of a name alone the quantity."""
    if isinstance(formula.root, Name):
        return quantities[formula.root.name]
    places = {name: Formula(Name(f"#{place}")) for place, name in enumerate(quantities)}
    return QuantityFormula(formula.substitute(places).root, tuple(quantities.values()))


def condition(text: str, known: Mapping[str, Quantity], *, where: str) -> QuantityCondition:
    """Return a condition that is written as in a scenario, or ends in a date: ``run >= 1e28 FLOP at 2030``.

    Its names are those of `known` quantities, and of others in the scenario.
    """
    from forecast.api.quantity import Quantity, QuantityCondition

    dated = _AT_DATE_PATTERN.fullmatch(text)
    read = parse_condition(dated["condition"] if dated else text, where=where)

    def side(formula: Formula) -> Any:
        if isinstance(formula.root, (Measured, Text)):
            return formula.root
        quantities = {name: known.get(name, Quantity(stated={}, name=name)) for name in formula.names}
        formed = formula_of(formula, quantities)
        if isinstance(formed, QuantityFormula):
            formed = Quantity(stated={"expression": formed}, name=names.plain_word(formula.text), automatic=True)
        return call("at", formed, dated["date"]) if dated and quantities else formed

    left, right = side(read.left), side(read.right)
    if not isinstance(left, Quantity):
        raise UsageError(f"{where}: '{printable(text, 80)}': write the quantity first, the number after it")
    return QuantityCondition(left, read.op, right)


def of_numpy(name: str, inputs: Sequence[Any]) -> Any:
    """Return a function of numpy of quantities; NotImplemented if the language has none."""
    # numpy hands a number of its own over as an array without dimensions
    operands = [float(each) if getattr(each, "shape", None) == () else each for each in inputs]
    if name in _OPERATIONS:
        return operation(_OPERATIONS[name], *operands)
    if name in _COMPARISON_OPERATORS:
        first, last = operands
        turned = isinstance(first, numbers.Real)
        return (
            make_comparison(last, MIRRORED_OPERATORS[_COMPARISON_OPERATORS[name]], first)
            if turned
            else make_comparison(first, _COMPARISON_OPERATORS[name], last)
        )
    return call(_FUNCTIONS[name], *operands) if name in _FUNCTIONS else NotImplemented


def finite(number: object, where: str) -> float:
    """Return a finite number."""
    if not is_real(number) or not math.isfinite(float(number)):
        raise UsageError(f"{where}: expected a quantity or a finite number, got '{printable(number, 40)}'")
    return float(number)


def quantities_in(part: Any) -> Iterator[Quantity]:
    """Yield the quantities in a record, a formula or a condition."""
    from forecast.api.quantity import Quantity, QuantityCondition

    if isinstance(part, Quantity):
        yield part
    elif isinstance(part, QuantityFormula):
        yield from part.of
    elif isinstance(part, QuantityCondition):
        yield from part._sides
    elif isinstance(part, (Mapping, list, tuple)):
        each: Iterable[Any] = part.values() if isinstance(part, Mapping) else part
        for value in each:
            yield from quantities_in(value)


#: Keys under which a formula stands; under all others a quantity stands by its name.
FORMULA_KEYS = (
    "expression", "limit", "at_least", "ceiling", "initial", "log_rate", "rate", "next", "so", "log_likelihood",
    "when", "value", "growth", "rank", "subject_to",
)  # fmt: skip


def fed_by_name(part: Any, key: str = "") -> Iterator[Quantity]:
    """Yield the quantities that a record holds by name, not in a formula."""
    from forecast.api.quantity import Quantity

    if isinstance(part, Mapping):
        for name, each in part.items():
            yield from fed_by_name(each, name)
    elif isinstance(part, (list, tuple)):
        for each in part:
            yield from fed_by_name(each, key)
    elif isinstance(part, Quantity) and key and key not in FORMULA_KEYS:
        yield part


def to_record(part: Any, own_names: Collection[str] = (), key: str = "") -> Any:
    """Return a record as a file has it: quantities by their names, or in formulas."""
    from forecast.api.quantity import Quantity, QuantityCondition

    if isinstance(part, Quantity):
        return tree.to_text(part._tree(own_names)) if key in FORMULA_KEYS else part._its_name
    if isinstance(part, (QuantityFormula, QuantityCondition)):
        return tree.to_text(part._tree(own_names))
    if isinstance(part, Mapping):
        return {name: to_record(each, own_names, name) for name, each in part.items()}
    return [to_record(each, own_names, key) for each in part] if isinstance(part, (list, tuple)) else part
