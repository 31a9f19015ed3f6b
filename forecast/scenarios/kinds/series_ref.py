"""Data of one's own with a shape: how a series of a file or a table grows.

::

    [quantities.peak]
    data = "peaks.csv"               # or the name of a table; choices in braces, as in shape
    x = "date"
    y = "peak"
    unit = "FLOP/s"
    shape = "trends/{trend}"
    reading = { dates = "dmy", reduce = "median" }      # where the file does not tell
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast import models
from forecast.errors import printable
from forecast.scenarios.quantities.node import Combination, Node, Plan, QuantityKind
from forecast.scenarios.spec import choices_in_braces, fill
from forecast.scenarios.templates import choices_in_templates, chosen_name, source_of, walk_choices
from forecast.tables.series import common_qualifiers
from forecast.units.qualifiers import Qualifiers, of_rows

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader
    from forecast.scenarios.scenario import Scenario
    from forecast.scenarios.table_values import Tables


@dataclass(frozen=True, kw_only=True)
class SeriesRef(QuantityKind):
    """Shape + column of the user's own data; what it holds is what `forecast.models.trend` takes.

    `shape` and `data` may hold choices in braces.
    """

    KIND, IDENTIFYING_KEYS, FORM = "trend", ("shape", "data"), "a shape with data"

    shape: str
    data: str
    x: str
    y: str
    unit: str
    frontier: bool = False
    records: bool = False
    of_rows: bool = False
    yearly: bool = False
    since: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    qualifiers: Mapping[str, str] = field(default_factory=dict)
    reading: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, reader: ScenarioReader, record: Mapping[str, Any], key: str, choices: Mapping[str, Any]) -> SeriesRef:
        """Return a shape and a column; the shape and the data may hold choices in braces."""
        reader.only(record, tuple(each.name for each in fields(cls)), key)
        data, shape = reader.source(record, "data", key, choices), reader.text(record, "shape", key)
        reader.filled(shape, choices, f"{key}.shape")
        where = reader.texts_by_name(record, "where", key)
        for column, text in where.items():
            if choices_in_braces(text, where=f"{printable(reader.where)}: {key}.where"):
                raise reader.fail(f"{key}.where.{column}", "a choice may stand in shape and in data, not here")
        return cls(
            shape=shape,
            data=data,
            x=reader.text(record, "x", key),
            y=reader.text(record, "y", key),
            unit=reader.unit(record, key),
            **{each: reader.flag(record, each, key) for each in ("frontier", "records", "of_rows", "yearly")},
            since=reader.date(record["since"], f"{key}.since") if "since" in record else "",
            where=where,
            options=dict(reader.mapping(record, "options", key)),
            qualifiers=reader.qualifiers(record, key),
            reading=reader.reading(record, key, ("decimal", "dates", "missing", "reader", "reduce")),
        )

    def node(self, scenario: Scenario, name: str, tables: Tables) -> Node:
        """Return the node of the trend for each combination of the choices in the shape and the data."""
        key = f"{scenario.where}: quantities.{name}"
        own = choices_in_templates(scenario, {"shape": self.shape, "data": self.data}, key=key)
        stated: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        trends = {}
        for values, chosen in walk_choices(scenario, own):
            data = source_of(scenario, self.data, chosen, key=f"{key}.data")
            filled = {"data": data, "shape": fill(self.shape, chosen), "name": chosen_name(name, values)}
            trends[values] = models.trend(**{**stated, **filled})
        return Node(name=name, unit=self.unit, dims=(), own=own, models=trends, quantity=self)

    def qualifiers_in(self, node: Node, chosen: Mapping[str, str], nodes: Mapping[str, Node], where: str) -> Qualifiers:
        """Return what the rows state, and what is stated of them here."""
        stated = {**of_rows(self.where), **self.qualifiers}
        data = node.models[node.own_in(chosen)].data  # type: ignore[attr-defined]
        return common_qualifiers(data, self.y, stated=stated, where=f"{where}.y")

    def lower(self, plan: Plan, node: Node, combination: Combination) -> int:
        """Return the draws of the trend."""
        return plan.level(node, combination)

    def described(self) -> str:
        """Return it without where the file stands: its contents have a hash of their own."""
        said = repr(replace(self, data=Path(self.data).name if "{" in self.data else ""))
        return f"{said} {dict(self.reading)}" if self.reading else said

    def files(self, node: Node) -> tuple[tuple[str, Any], ...]:
        """Return the data of each trend, with the trend."""
        return tuple((made.data, made) for made in node.models.values())  # type: ignore[attr-defined]
