"""A distribution fitted to the moments of another quantity.

::

    [quantities.need]
    fitted = "normal"
    of = "raw"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from forecast.scenarios.quantities.node import Combination, Node, Plan, QuantityKind, stated_by_needs
from forecast.units.qualifiers import Qualifiers

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader
    from forecast.scenarios.scenario import Scenario
    from forecast.scenarios.table_values import Tables


@dataclass(frozen=True, kw_only=True)
class MomentFit(QuantityKind):
    """A distribution with the mean and the variance of another quantity's worlds, drawn independently of it."""

    KIND, IDENTIFYING_KEYS, FORM = "fitted", ("fitted",), "a fit to another quantity"
    NAMES = ("of",)
    CONSTANT, UNIT_OF_NEEDS = True, True

    fitted: Literal["normal", "lognormal"]
    of: str

    @classmethod
    def read(cls, reader: ScenarioReader, record: Mapping[str, Any], key: str, choices: Mapping[str, Any]) -> MomentFit:
        """Return the family and the quantity."""
        reader.only(record, ("fitted", "of"), key)
        family = reader.word(record, "fitted", key, ("normal", "lognormal"), what="family")
        return cls(fitted=family, of=reader.text(record, "of", key))

    def key_of(self, need: str) -> str:
        """Return the key that names a quantity it needs, for messages."""
        return "of needs an input"

    def node(self, scenario: Scenario, name: str, tables: Tables) -> Node:
        """Return the node, which needs the other quantity."""
        return Node(name=name, unit="", dims=(), needs=(self.of,), quantity=self)

    def unit_in(self, node: Node, nodes: Mapping[str, Node], unit_of: Mapping[str, str | None], where: str) -> str:
        """Return the unit of the other quantity."""
        return nodes[self.of].unit

    def qualifiers_in(self, node: Node, chosen: Mapping[str, str], nodes: Mapping[str, Node], where: str) -> Qualifiers:
        """Return those of the other quantity."""
        return stated_by_needs(node, chosen, nodes)[self.of]

    @property
    def one_uniform(self) -> bool:
        """Whether it is drawn through one uniform: always."""
        return True

    def lower(self, plan: Plan, node: Node, combination: Combination) -> int:
        """Return the quantiles of its uniforms."""
        read = plan.uniform(node.name), plan.moments(node, self.of, self.fitted, combination)
        return plan.add("quantiles_of_moments", read, of=node.name)
