"""The number of a choice in a formula: ``{cost}`` is a quantity there.

A bare one that is a whole side of a comparison has the unit of the other side, as numbers there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from forecast import units
from forecast.errors import ScenarioError, printable
from forecast.formula import Formula, Name, tree
from forecast.scenarios.quantities.node import Combination, Node, Plan, QuantityKind, quantity_names

if TYPE_CHECKING:
    from forecast.scenarios.scenario import Scenario
    from forecast.scenarios.table_values import Tables

_CHOICE_NUMBER_PATTERN = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?:\s+([A-Za-z(%$1].*))?", re.ASCII)
_BRACES = re.compile(r"\{([A-Za-z_]\w{0,63}(?:\.[A-Za-z_]\w{0,63})*)\}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Chosen(QuantityKind):
    """The number of a choice, in a formula.

    Parameters
    ----------
    choice : str
    like : Formula, optional
        What has the unit of bare numbers, beside which it is a side of a comparison.
    of : str
        The quantity that it bounds, which has that unit.
    """

    CONSTANT = True

    choice: str
    like: Formula | None = None
    of: str = ""

    def node(self, scenario: Scenario, name: str, tables: Tables) -> Node:
        """Return the node, with the number of every value; a bare one gets its unit with the other side."""
        where, choice = scenario.where, self.choice
        values, unit = _choice_numbers(
            choice, scenario.choices[choice].values, where=where, convert=partial(units.convert, where=where)
        )
        quantity = self if unit is None else Chosen(choice=choice)
        needs = () if quantity.like is None else quantity_names(quantity.like.names)
        return Node(name=name, unit=unit or "", dims=(), own=(choice,), needs=needs, figures=values, quantity=quantity)

    def unit_in(self, node: Node, nodes: Mapping[str, Node], unit_of: Mapping[str, str | None], where: str) -> str:
        """Return its unit: of a bare number that of what it bounds, or is compared with."""
        if self.of:
            return nodes[self.of].unit
        return node.unit if self.like is None else units.infer(self.like, unit_of, where=where)

    def lower(self, plan: Plan, node: Node, combination: Combination) -> int:
        """Return the number of this combination."""
        return plan.add("constant", (), node.figures[node.own_values(combination)], of=node.name)


def with_placeholders(text: str) -> tuple[str, dict[str, str]]:
    """Return a text with names in the place of choices in braces, and what stands for which.

    Examples
    --------
    >>> with_placeholders("machine >= {goal}")
    ('machine >= _goal', {'_goal': '{goal}'})
    """
    names: dict[str, str] = {}

    def named(brace: re.Match[str]) -> str:
        name = f"_{brace[1].replace('.', '_')}"[:64]
        while names.get(name, brace[0]) != brace[0] or (name in text and name not in names):
            name = f"_{name}"[:64]
        names[name] = brace[0]
        return name

    return _BRACES.sub(named, text), names


def as_written(text: str) -> str:
    """Return a formula's text as it was written: a choice that is a number in two units has two names inside.

    Examples
    --------
    >>> as_written("machine >= {goal}'")
    'machine >= {goal}'
    """
    return re.sub(rf"({_BRACES.pattern})'+", r"\1", text, flags=re.ASCII)


def with_choice_names(formula: Formula, names: Mapping[str, str]) -> Formula:
    """Return a formula with choices in braces where names stand for them."""

    def swapped(node: tree.Node) -> tree.Node:
        return Name(names[node.name]) if isinstance(node, Name) and node.name in names else node

    return Formula(tree.rewrite(formula.root, swapped)) if names else formula


def _choice_numbers(
    choice: str, values: Sequence[str], *, where: str, convert: Callable[[float, str, str], float]
) -> tuple[dict[tuple[str, ...], float], str | None]:
    """Return the numbers of a choice, and their unit; None of bare ones.

    Raises
    ------
    ScenarioError
        Where its values are no numbers, or only some have a unit.
    """
    numbers: dict[tuple[str, ...], tuple[float, str]] = {}
    for value in values:
        found = _CHOICE_NUMBER_PATTERN.fullmatch(value)
        if found is None:
            expected = f"expected numbers as the values of choice '{choice}', such as '1e9' or '1 EFLOP/s'"
            raise ScenarioError(
                f"{where}: '{{{choice}}}' stands for a number: {expected}, got '{printable(value, 60)}'"
            )
        numbers[(value,)] = float(found[1]), (found[2] or "").strip()
    stated = list(dict.fromkeys(unit for _, unit in numbers.values()))
    if "" in stated and len(stated) > 1:
        raise ScenarioError(f"{where}: choice '{choice}': expected a unit with every number, or with none")
    if stated == [""]:
        return {key: number for key, (number, _) in numbers.items()}, None
    return {key: convert(number, unit, stated[0]) for key, (number, unit) in numbers.items()}, stated[0]
