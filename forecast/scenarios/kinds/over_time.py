"""A function over time of another quantity, such as ``previous(x)``: `hidden_quantities` makes it for formulas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forecast import units
from forecast.formula import SCENARIO_FUNCTIONS, Call, Formula, Name, tree
from forecast.scenarios.quantities.node import Combination, Node, Plan, QuantityKind, stated_by_needs
from forecast.units.qualifiers import Qualifiers

if TYPE_CHECKING:
    from forecast.scenarios.scenario import Scenario
    from forecast.scenarios.table_values import Tables


@dataclass(frozen=True, kw_only=True)
class OverTime(QuantityKind):
    """A function over time of another quantity; made for formulas that call one.

    Parameters
    ----------
    function : str
        ``previous``, ``lag``, ``growth``, ``maximum``, ``since``, ``once`` or ``at``.
    of : str
        The quantity whose path it reads.
    argument : float, str or None
        The years, or the date: a number, or the quantity that gives it.
    """

    IN_CYCLE, LOOKS_BACK = True, True

    function: str
    of: str
    argument: float | str | None = None

    def node(self, scenario: Scenario, name: str, tables: Tables) -> Node:
        """Return the node, which needs the past of a quantity."""
        argument = (self.argument,) if isinstance(self.argument, str) else ()
        now = () if self.function in ("previous", "lag") else (self.of,)
        return Node(name=name, unit="", dims=(), needs=now + argument, past=(self.of,), quantity=self)

    def unit_in(self, node: Node, nodes: Mapping[str, Node], unit_of: Mapping[str, str | None], where: str) -> str:
        """Return the unit by the rule of the table of functions."""
        argument = self.argument
        rest = (
            () if argument is None else (Name(argument) if isinstance(argument, str) else tree.number_node(argument),)
        )
        inferred = units.infer(Formula(Call(self.function, (Name(self.of), *rest))), unit_of, where=where, rates=False)
        result = SCENARIO_FUNCTIONS[self.function].result
        return unit_of[self.of] or "" if result == 1.0 else result if isinstance(result, str) else inferred

    def steady(self, node: Node, nodes: Mapping[str, Node]) -> bool:
        """Tell whether what it reads is steady, and it does not look back to before the first step."""
        looks_back = self.function in ("since", "previous", "lag", "growth")
        return not looks_back and all(nodes[n].steady for n in node.sources)

    def qualifiers_in(self, node: Node, chosen: Mapping[str, str], nodes: Mapping[str, Node], where: str) -> Qualifiers:
        """Return those of what it reads; conditions have none, and neither have since and once of a condition."""
        return stated_by_needs(node, chosen, nodes)[self.of]

    def lower(self, plan: Plan, node: Node, combination: Combination) -> int:
        """Return the function of the path."""
        return plan.over_time(node, self.function, self.of, self.argument, combination)
