"""A stock, which remembers what it was.

::

    [stocks.S]
    initial = 1
    log_rate = "k*(L/(1-f))**a*C**z*S**(-b)"   # or rate = "...", or next = "S*(1-d)**dt + invest"
    method = "rk4"                             # or "euler"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from forecast.contract.fields import is_number
from forecast.formula import Condition, Formula, Measured, parse_expression, tree
from forecast.scenarios.quantities.node import Node, QuantityKind, quantity_names

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader
    from forecast.scenarios.scenario import Scenario
    from forecast.scenarios.table_values import Tables

#: How a stock goes on: the derivative of its logarithm, its derivative, or what it is at the next step.
UPDATE_RULES = ("log_rate", "rate", "next")
STEP_METHODS = ("rk4", "euler")


@dataclass(frozen=True, kw_only=True)
class Stock(QuantityKind):
    """A quantity that goes on from what it was.

    Parameters
    ----------
    initial : Formula
        At the first step.
    move : {"log_rate", "rate", "next"}
    change : Formula
        A year, for rates; the next value, for ``next``.
    method : {"rk4", "euler"}
        For rates: classical Runge-Kutta of fourth order, or the rate at the beginning of a step.
    ceiling : Formula, optional
        What it never exceeds.
    unit : str
    """

    KIND = "stock"
    IN_CYCLE, STEPPED = True, True

    initial: Formula
    move: Literal["log_rate", "rate", "next"]
    change: Formula
    method: Literal["rk4", "euler"] = "rk4"
    ceiling: Formula | None = None
    unit: str = ""

    @classmethod
    def walk(cls, reader: ScenarioReader, record: Mapping[str, Any]) -> Iterator[tuple[str, Stock]]:
        """Walk the stocks of a scenario, which stand under a heading of their own."""
        for name, given in reader.tables(record, "stocks"):
            key = f"stocks.{name}"
            reader.only(given, ("initial", *UPDATE_RULES, "method", "ceiling", "unit"), key)
            moves = [move for move in UPDATE_RULES if move in given]
            if len(moves) != 1:
                raise reader.fail(key, f"expected one of {', '.join(UPDATE_RULES)}: how it goes on")
            if "initial" not in given:
                raise reader.fail(f"{key}.initial", "is missing: what it is at the first step")
            unit = reader.unit(given, key) if "unit" in given else ""
            method = reader.word(given, "method", key, STEP_METHODS, what="method", default="rk4")
            if moves == ["next"] and "method" in given:
                raise reader.fail(f"{key}.method", "is for rates: next says the value itself")
            yield (
                name,
                cls(
                    initial=_in(unit, _as_formula(reader, given["initial"], f"{key}.initial")),
                    move=cast(Literal["log_rate", "rate", "next"], moves[0]),
                    change=_as_formula(reader, given[moves[0]], f"{key}.{moves[0]}"),
                    method=method,
                    ceiling=_in(unit, _as_formula(reader, given["ceiling"], f"{key}.ceiling"))
                    if "ceiling" in given
                    else None,
                    unit=unit,
                ),
            )

    def mapped(
        self, formula: Callable[..., Formula], condition: Callable[[Condition, str], Condition], name: str
    ) -> Self:
        """Return it with other formulas."""
        key = f"stocks.{name}"
        return replace(
            self,
            initial=formula(self.initial, f"{key}.initial"),
            change=formula(self.change, f"{key}.{self.move}"),
            ceiling=None if self.ceiling is None else formula(self.ceiling, f"{key}.ceiling"),
        )

    def node(self, scenario: Scenario, name: str, tables: Tables) -> Node:
        """Return the node, which needs the past of what its change names."""
        named = [*self.initial.names, *(self.ceiling.names if self.ceiling else ())]
        needs, past = quantity_names(named), quantity_names(self.change.names)
        return Node(name=name, unit=self.unit, dims=(), needs=needs, past=past, quantity=self)


def _in(unit: str, formula: Formula) -> Formula:
    """Return a bare number in the unit of the stock; other formulas bring theirs."""
    bare = bool(unit) and tree.constant(formula.root)
    return Formula(Measured(formula.evaluate({}), unit)) if bare else formula


def _as_formula(reader: ScenarioReader, given: object, key: str) -> Formula:
    """Return a formula, of which a number is one."""
    text = repr(float(given)) if is_number(given) else given
    return parse_expression(text, where=f"{reader.where}: {key}")
