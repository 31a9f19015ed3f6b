"""A figure that is read in a table, where choices may say in which row.

::

    [quantities.price]
    table = "datasets/accelerators"
    column = "price"
    where = { device = "{device}" }
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from forecast import units
from forecast.contract.fields import is_number
from forecast.errors import EmptyDataError, NoDataAtDateError
from forecast.scenarios.quantities.node import Combination, Node, Plan, QuantityKind
from forecast.scenarios.spec import Choice, choices_in_braces
from forecast.scenarios.templates import check_size, combinations

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader
    from forecast.scenarios.scenario import Scenario
    from forecast.scenarios.table_values import Tables


@dataclass(frozen=True, kw_only=True)
class ByChoice:
    """What a column must hold, where that depends on a choice: value of the choice to what will do."""

    NAMES: ClassVar = ("choice",)

    choice: str
    values: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class TableValue(QuantityKind):
    """A figure read in a table, where choices may say which row.

    Parameters
    ----------
    table : str
        The name of a table, or a file of any kind beside the scenario.
    column : str
    where : mapping of str to tuple of str or ByChoice
        Column to the values that will do; the first for which the table holds a figure is taken. A value may hold
        choices in braces.
    latest : str
        A column of dates: only the last ones count.
    within : float, optional
        Only the dates in these many years before the start of the scenario count, and none after it: a product has
        to be on sale at the start to have a price. Without it every date counts.
    own : bool
        Only the rows that a user sets beside the table's own count; with `latest`, where such rows go first anyway.
    aggregate : {"", "lowest", "highest"}
        Which of several different figures; where this is not said they are an error.
    fallback : TableValue, optional
        Where this one finds nothing.
    absent : str
        What is said of a combination of choices for which there is no figure: "not rented there". What rests on it is
        not answered. Without it, a combination without a figure is an error of the scenario.
    qualifiers : mapping of str to str
        Instead of what the table's columns state.
    reading : mapping of str to str
        How a file is read where it does not tell: ``decimal``, ``dates``, ``missing``, ``reader``.
    published : str
        When the figure was published: as of a date before it there is none.
    """

    KIND, IDENTIFYING_KEYS, FORM = "table", ("table",), "a table"
    CONSTANT = True

    table: str
    column: str
    where: Mapping[str, tuple[str, ...] | ByChoice] = field(default_factory=dict)
    latest: str = ""
    within: float | None = None
    own: bool = field(default=False, repr=False)
    aggregate: str = ""
    fallback: TableValue | None = None
    absent: str = ""
    qualifiers: Mapping[str, str] = field(default_factory=dict)
    reading: Mapping[str, str] = field(default_factory=dict, repr=False)
    published: str = ""

    @property
    def dated(self) -> bool:
        """Whether it depends on when the scenario starts."""
        return self.within is not None or (self.fallback is not None and self.fallback.dated)

    @property
    def chosen_by(self) -> tuple[str, ...]:
        """The choices on which it depends."""
        return tuple(dict.fromkeys(_choices_of(self)))

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables in which it may be found."""
        return (self.table, *(() if self.fallback is None else self.fallback.tables))

    @classmethod
    def read(
        cls, reader: ScenarioReader, record: Mapping[str, Any], key: str, choices: Mapping[str, Any]
    ) -> TableValue:
        """Return a figure to be read in a table."""
        reader.only(record, tuple(each.name for each in fields(cls)), key)

        where: dict[str, tuple[str, ...] | ByChoice] = {}
        for column, value in reader.mapping(record, "where", key).items():
            at = f"{key}.where.{column}"
            if isinstance(value, Mapping):
                where[column] = _read_by_choice(reader, value, choices, at)
                continue
            texts = reader.cell_texts(value, at)
            for text in texts:
                reader.filled(text, choices, at)
            where[column] = texts
        within = record.get("within")
        if within is not None and (not is_number(within) or within <= 0 or "latest" not in record):
            raise reader.fail(f"{key}.within", "expected a number of years above 0, beside latest = a column of dates")
        own = record.get("own", False)
        if not isinstance(own, bool) or (own and "latest" not in record):
            raise reader.fail(f"{key}.own", "expected true or false, beside latest = a column of dates")
        other = record.get("fallback")
        if other is not None and not isinstance(other, Mapping):
            raise reader.fail(f"{key}.fallback", f"expected a table, got {type(other).__name__}")
        return cls(
            table=reader.source(record, "table", key),
            column=reader.text(record, "column", key),
            where=where,
            latest=reader.text(record, "latest", key, default=""),
            within=None if within is None else float(within),
            own=own,
            aggregate=reader.word(record, "aggregate", key, ("lowest", "highest"), what="aggregate", default=""),
            fallback=cls.read(reader, other, f"{key}.fallback", choices) if other is not None else None,
            absent=reader.text(record, "absent", key, default=""),
            qualifiers=reader.qualifiers(record, key),
            reading=reader.reading(record, key, ("decimal", "dates", "missing", "reader")),
            published=reader.published(record, key),
        )

    def node(self, scenario: Scenario, name: str, tables: Tables) -> Node:
        """Return the node, with the figure of every combination of its choices."""
        used = self.chosen_by
        own = tuple(c for c in scenario.choices if c in used)
        key = f"quantities.{name}"
        check_size(scenario, own, f"{scenario.where}: {key}")
        figures = {}
        for values in combinations(scenario.choices, own):
            try:
                figures[values] = tables.figure(self, dict(zip(own, values, strict=True)), key)
            except EmptyDataError:
                if not self.absent:
                    raise
        unit = next(iter(figures.values())).unit if figures else tables.unit(self)
        return Node(
            name=name,
            unit=unit,
            dims=own,
            own=own,
            quantity=self,
            figures={at: units.convert(f.value, f.unit, unit, where=key) for at, f in figures.items()},
            histories={
                at: tuple((f.table, day, units.convert(value, f.unit, unit, where=key)) for day, value in f.history)
                for at, f in figures.items()
                if f.history
            },
            since={at: f.since for at, f in figures.items() if f.since},
            bases={at: f.qualifiers for at, f in figures.items()}
            if any(f.qualifiers for f in figures.values())
            else {},
        )

    def lower(self, plan: Plan, node: Node, combination: Combination) -> int:
        """Return the figure of this combination."""
        at = node.own_values(combination)
        if at not in node.figures:
            return plan.add("absent", (), self.absent, of=node.name)
        dated = [each[1:] for each in node.histories.get(at, ())] or [(node.since.get(at, ""), node.figures[at])]
        *later, oldest = ((max(self.published, day), figure) for day, figure in dated)
        for day, figure in later:  # as of a date the newest of then
            with contextlib.suppress(NoDataAtDateError):
                return plan.add("constant", (), plan.known(node.name, day, figure, None), of=node.name)
        figure = plan.known(node.name, *oldest, None)
        return plan.add("constant", (), figure, of=node.name)

    def described(self) -> str:
        """Return it without the folder of a table."""
        short = "/".join(Path(self.table).parts[-2:]) if Path(self.table).is_absolute() else self.table
        own = [place for place, cell in enumerate(self.cells()) if cell.own]
        return f"{replace(self, table=short)!r}{f', own {own}' if own else ''}"

    def cells(self) -> Iterator[TableValue]:
        """Yield it, and where it is looked for after that."""
        yield self
        if self.fallback is not None:
            yield from self.fallback.cells()

    def files(self, node: Node) -> tuple[tuple[str, Any], ...]:
        """Return the tables."""
        return tuple((table, None) for table in self.tables) if node.figures else ()


def _read_by_choice(
    reader: ScenarioReader, record: Mapping[str, Any], choices: Mapping[str, Any], key: str
) -> ByChoice:
    """Read what depends on a choice: its keys are the values of one."""
    owners = [n for n, v in choices.items() if isinstance(v, Choice) and set(v.values) == set(record)]
    if len(owners) != 1:
        raise reader.fail(key, "expected the values of one choice as keys, all of them")
    values = {k: reader.cell_texts(v, f"{key}.{k}") for k, v in record.items()}
    return ByChoice(choice=owners[0], values=values)


def _choices_of(cell: TableValue) -> Iterator[str]:
    """Walk the choices that a cell depends on."""
    for values in cell.where.values():
        if isinstance(values, ByChoice):
            yield values.choice
        for text in (t for v in values.values.values() for t in v) if isinstance(values, ByChoice) else values:
            yield from choices_in_braces(text, where=cell.table)
    if cell.fallback is not None:
        yield from _choices_of(cell.fallback)
