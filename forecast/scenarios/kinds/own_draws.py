"""Draws of one's own: a column of a file, or of Python, of which each world reads a row.

::

    [quantities.exponent]
    draws = "posterior.csv"
    column = "alpha"
    unit = ""
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.arrays import Array
from forecast.errors import ScenarioError, UnknownNameError, UsageError, printable
from forecast.scenarios.quantities.node import Combination, Node, Plan, StatedKind

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader
    from forecast.scenarios.scenario import Scenario
    from forecast.scenarios.table_values import Tables


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawTable:
    """Draws of one's own that Python holds: columns of one length, a row a world.

    Parameters
    ----------
    name : str
        Chooses the rows, as the name of a file does.
    columns : mapping of str to array

    Raises
    ------
    UsageError
        Where these are no columns of finite numbers, or not of one length.
    """

    name: str
    columns: Mapping[str, Array] = field(repr=False)

    def __post_init__(self) -> None:

        shapes = {np.shape(each) for each in self.columns.values()}
        if len(shapes) != 1 or len(next(iter(shapes))) != 1 or not next(iter(shapes))[0]:
            told = ", ".join(f"{name} {np.shape(each)}" for name, each in self.columns.items())
            raise UsageError(f"draws '{printable(self.name, 60)}': expected columns of one length, got {told}")
        for name, each in self.columns.items():
            if bad := int((~np.isfinite(each)).sum()):
                raise UsageError(
                    f"draws '{printable(self.name, 60)}': column '{printable(name, 60)}': {bad} of {len(each)} are no "
                    "finite numbers"
                )

    @property
    def hash(self) -> str:
        """A hash of the contents, as a file has one."""
        digest = hashlib.sha256()
        for name, each in self.columns.items():
            digest.update(name.encode() + np.ascontiguousarray(each, dtype=np.float64).tobytes())
        return f"sha256:{digest.hexdigest()}"


@dataclass(frozen=True, kw_only=True)
class OwnDraws(StatedKind):
    """A column of draws of one's own: each world reads a row, the same one in every quantity that names the file."""

    KIND, IDENTIFYING_KEYS, FORM = "draws", ("draws",), "draws"
    CONSTANT = True

    draws: str | DrawTable
    column: str
    unit: str
    qualifiers: Mapping[str, str] = field(default_factory=dict)

    @property
    def stream(self) -> str:
        """The name of the uniforms that choose rows; the folder is no part of it, so that a file may be moved."""
        return f"draws {self.source}"

    @property
    def source(self) -> str:
        """What the draws are called."""
        return Path(self.draws).name if isinstance(self.draws, str) else self.draws.name

    def values(self, *, where: str) -> Array:
        """Read the column.

        Raises
        ------
        ScenarioError
            For cells that are no finite numbers.
        """
        from forecast import tables, units

        if not isinstance(self.draws, str):
            if self.column not in self.draws.columns:
                raise UnknownNameError("column", self.column, self.draws.columns, where=f"{where}.column")
            return self.draws.columns[self.column]
        read = tables.to_columns(self.draws, where=where)
        if self.column not in read:
            raise UnknownNameError("column", self.column, read, where=f"{where}.column")
        values = read[self.column]
        if values.dtype.kind != "f":
            raise ScenarioError(f"{where}.column: '{printable(self.column, 60)}': expected a column of numbers")
        if bad := int((~np.isfinite(values)).sum()):
            raise ScenarioError(
                f"{where}.column: '{printable(self.column, 60)}': {bad} of {len(values)} cells are no finite numbers"
            )
        stated = read.units.get(self.column)
        if stated is None:
            return values
        return np.asarray(units.convert(values, stated, self.unit, where=f"{where}.unit"))

    @classmethod
    def read(cls, reader: ScenarioReader, record: Mapping[str, Any], key: str, choices: Mapping[str, Any]) -> OwnDraws:
        """Return the column of a file that the scenario may reach, or of draws in hand."""
        reader.only(record, ("draws", "column", "unit", "qualifiers"), key)
        draws = record["draws"]
        return cls(
            draws=draws if isinstance(draws, DrawTable) else reader.source(record, "draws", key),
            column=reader.text(record, "column", key),
            unit=reader.unit(record, key),
            qualifiers=reader.qualifiers(record, key),
        )

    def node(self, scenario: Scenario, name: str, tables: Tables) -> Node:
        """Return the node, with the column."""
        column = self.values(where=f"{scenario.where}: quantities.{name}")
        return Node(name=name, unit=self.unit, dims=(), quantity=self, own_draws=column)

    @property
    def rows(self) -> tuple[str, Any] | None:
        """The name of the uniforms that choose rows, and the file."""
        return self.stream, self.draws

    def lower(self, plan: Plan, node: Node, combination: Combination) -> int:
        """Return a row a world."""
        assert node.own_draws is not None
        hashed = hashlib.sha256(node.own_draws.tobytes()).hexdigest()
        rows = partial(chosen_rows, node.own_draws)
        return plan.add("drawn", [plan.uniform(self.stream)], rows, stated=("row", hashed), of=node.name)

    def described(self) -> str:
        """Return it with the name of the file, which chooses the rows."""
        return repr(replace(self, draws=self.source))

    def files(self, node: Node) -> tuple[tuple[str, Any], ...]:
        """Return the file."""
        return ((self.draws, None),) if isinstance(self.draws, str) else ()

    def hashes(self) -> dict[str, str]:
        """Return the hash of draws that Python holds."""
        return {} if isinstance(self.draws, str) else {self.source: self.draws.hash}


def chosen_rows(values: Array, u: Array) -> Array:
    """Return the values of the rows that uniforms in (0, 1) choose.

    Examples
    --------
    >>> chosen_rows(np.array([5.0, 7.0]), np.array([0.2, 0.9])).tolist()
    [5.0, 7.0]
    """
    row = np.minimum((u * len(values)).astype(np.intp), len(values) - 1)
    return np.asarray(values[row])
