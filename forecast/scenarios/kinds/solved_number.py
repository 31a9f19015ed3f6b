"""A number a world that is solved for.

::

    [solve.k]
    so = "log_rate(S) == log(5)"               # at the first step
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from forecast.formula import Condition, Formula, parse_condition
from forecast.scenarios.quantities.node import Node, QuantityKind, quantity_names

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader
    from forecast.scenarios.scenario import Scenario
    from forecast.scenarios.table_values import Tables


@dataclass(frozen=True, kw_only=True)
class SolvedNumber(QuantityKind):
    """A number a world for which an equation holds at the first step.

    Parameters
    ----------
    so : Condition
        With ``==``.
    unit : str
    """

    KIND = "solved"
    CONSTANT, IN_CYCLE, STEPPED = True, True, True

    so: Condition
    unit: str = ""

    @classmethod
    def walk(cls, reader: ScenarioReader, record: Mapping[str, Any]) -> Iterator[tuple[str, SolvedNumber]]:
        """Walk the numbers that are solved for, which stand under a heading of their own."""
        for name, given in reader.tables(record, "solve"):
            key = f"solve.{name}"
            reader.only(given, ("so", "at", "unit"), key)
            if reader.text(given, "at", key, default="start") != "start":
                raise reader.fail(f"{key}.at", "expected 'start': what is solved for holds from the first step on")
            so = parse_condition(reader.text(given, "so", key), where=f"{reader.where}: {key}.so")
            if so.op != "==":
                raise reader.fail(f"{key}.so", "expected an equation, such as 'log_rate(S) == log(5)'")
            yield name, cls(so=so, unit=reader.unit(given, key) if "unit" in given else "")

    def mapped(
        self, formula: Callable[..., Formula], condition: Callable[[Condition, str], Condition], name: str
    ) -> Self:
        """Return it with another equation."""
        return replace(self, so=condition(self.so, f"solve.{name}.so"))

    def node(self, scenario: Scenario, name: str, tables: Tables) -> Node:
        """Return the node, which needs the past of what the equation names."""
        past = tuple(n for n in quantity_names(self.so.names) if n != name)
        return Node(name=name, unit=self.unit, dims=(), past=past, quantity=self)
