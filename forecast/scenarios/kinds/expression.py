"""A formula over other quantities.

::

    [quantities.wait]
    expression = "run/machine"
    unit = "day"                     # what it is checked against and given in; else that of the formula
    observed = "longest_wait"        # another quantity: what was observed of that was observed of this
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from forecast import units
from forecast.errors import UnknownNameError
from forecast.formula import TIME_NAMES, Condition, Formula
from forecast.scenarios.quantities.node import Combination, Node, Plan, QuantityKind, quantity_names, stated_by_needs
from forecast.scenarios.spec import fill
from forecast.units.qualifiers import Qualifiers, infer

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader
    from forecast.scenarios.scenario import Scenario
    from forecast.scenarios.table_values import Tables


@dataclass(frozen=True, kw_only=True)
class Expression(QuantityKind):
    """A formula over other quantities.

    Parameters
    ----------
    tree : Formula
    unit : str, optional
        Without it the unit that the formula gives.
    qualifiers : mapping of str to str
        What it states of its own (see `forecast.units.qualifiers`).
    rates : bool, optional
        Quantities in 1/time are plain numbers a year (see `forecast.units.infer`).
    observed : str
        The quantity whose observations are those of this one; empty where nobody observes it.
    """

    KIND, IDENTIFYING_KEYS, FORM = "expression", ("expression",), "an expression"
    IN_CYCLE, UNIT_OF_NEEDS = True, True
    NAMES = ("observed",)

    tree: Formula
    unit: str | None = None
    qualifiers: Mapping[str, str] = field(default_factory=dict)
    rates: bool | None = None
    observed: str = ""

    @classmethod
    def read(
        cls, reader: ScenarioReader, record: Mapping[str, Any], key: str, choices: Mapping[str, Any]
    ) -> Expression:
        """Return a formula; whether its names are quantities is for the graph."""
        reader.only(record, ("expression", "unit", "qualifiers", "observed"), key)
        tree = reader.formula(reader.text(record, "expression", key), f"{key}.expression")
        stated = reader.qualifiers(record, key)
        for text in stated.values():
            reader.filled(text, choices, f"{key}.qualifiers")
        unit = reader.unit(record, key) if "unit" in record else None
        observed = reader.text(record, "observed", key) if "observed" in record else ""
        return cls(tree=tree, unit=unit, qualifiers=stated, observed=observed)

    def mapped(
        self, formula: Callable[..., Formula], condition: Callable[[Condition, str], Condition], name: str
    ) -> Self:
        """Return it with another formula."""
        return replace(self, tree=formula(self.tree, f"quantities.{name}.expression", " needs an input"))

    def node(self, scenario: Scenario, name: str, tables: Tables) -> Node:
        """Return the node, which needs the names of the formula."""
        if self.observed and self.observed not in scenario.quantities:
            where = f"{scenario.where}: quantities.{name}.observed"
            raise UnknownNameError("quantity", self.observed, [*scenario.quantities], where=where)
        return Node(name=name, unit=self.unit or "", dims=(), needs=quantity_names(self.tree.names), quantity=self)

    def unit_in(self, node: Node, nodes: Mapping[str, Node], unit_of: Mapping[str, str | None], where: str) -> str:
        """Return the stated unit, against which the formula is checked, or that of the formula."""
        at = where if node.hidden else f"{where}.expression"
        inferred = units.infer(self.tree, unit_of, where=at, rates=self.rates)
        if self.unit is None and not node.cycle:
            return inferred
        units.check(inferred, self.unit or "", where=f"{where}: the expression against its unit")
        return node.unit

    def steady(self, node: Node, nodes: Mapping[str, Node]) -> bool:
        """Tell whether neither time nor what it needs changes it."""
        return not any(n in TIME_NAMES for n in self.tree.names) and all(nodes[n].steady for n in node.needs)

    @property
    def observed_by(self) -> tuple[str, ...]:
        """The quantity that it names, if any."""
        return (self.observed,) if self.observed else ()

    @property
    def states_qualifiers(self) -> bool:
        """Whether it states qualifiers of its own."""
        return bool(self.qualifiers)

    def qualifiers_in(self, node: Node, chosen: Mapping[str, str], nodes: Mapping[str, Node], where: str) -> Qualifiers:
        """Return what the formula makes of what its quantities state."""
        stated = {name: fill(value, chosen) for name, value in self.qualifiers.items()}
        return infer(self.tree, stated_by_needs(node, chosen, nodes), qualifiers=stated, where=f"{where}.expression")

    def lower(self, plan: Plan, node: Node, combination: Combination) -> int:
        """Return the formula of the draws."""
        where = node.owner or f"quantities.{node.name}"
        return plan.formula(self.tree, node.dims, combination, target=node.unit, where=where, rates=self.rates)

    def described(self) -> str:
        """Return the formula, and what is stated of it."""
        stated = f" {sorted(self.qualifiers.items())}" if self.qualifiers else ""
        return f"expression {self.tree.text} {self.unit}{stated}"
