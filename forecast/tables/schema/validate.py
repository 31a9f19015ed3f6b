"""Cells against their schema: text in, values out, and every failure as ``file:row:column``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forecast.errors import UnitError, did_you_mean, printable
from forecast.tables.raw_table import RawTable
from forecast.tables.schema.descriptor import Field, Resource


def parse_resource(resource: Resource, csv: RawTable, failures: list[str]) -> dict[str, list[Any]]:
    """Read every cell in its column's type; None is missing. Failures are added to the list.

    Parameters
    ----------
    resource : Resource
        The schema.
    csv : RawTable
        The cells.
    failures : list of str
        Grows by one ``file:row:column: reason`` for each cell that fails.

    Examples
    --------
    >>> from forecast.tables.raw_table import RawTable
    >>> field = Field(name="x", type="number", unit="")
    >>> resource = Resource(name="a", path="a.csv", hash="", fields=(field,), key=(), missing=frozenset([""]))
    >>> failures = []
    >>> parse_resource(resource, RawTable({"x": ["1", "2,5", ""]}, [2, 3, 4], "a.csv", ""), failures)
    {'x': [1.0, None, None]}
    >>> failures
    ["a.csv:3:x: '2,5': expected a number"]
    """
    names = {field.name for field in resource.fields}
    for name in csv:
        if name not in names:
            hint = did_you_mean(name, names)
            failures.append(f"{csv.label}:1:{printable(name, 80)}: the schema has no such field{hint}")
    values: dict[str, list[Any]] = {}
    for field in resource.fields:
        if field.name not in csv:
            failures.append(f"{csv.label}:1:{printable(field.name, 80)}: the column is missing")
            continue
        required = field.required or field.name in resource.key
        column = csv[field.name]
        parsed = {cell: _parse_cell(field, cell, resource.missing, required) for cell in set(column)}
        if any(reason for _, reason in parsed.values()):
            reasons = ((row, parsed[cell][1]) for row, cell in enumerate(column))
            failures += [f"{csv.at(row, field.name)}: {reason}" for row, reason in reasons if reason]
        values[field.name] = [parsed[cell][0] for cell in column]
    if set(values) == names:
        _check_row_units(resource, values, csv, failures)
    return values


def _parse_cell(field: Field, cell: str, missing: frozenset[str], required: bool) -> tuple[Any, str | None]:
    if cell in missing:
        return None, "is required" if required else None
    try:
        value = field.value(cell)
    except ValueError as error:
        return None, f"'{printable(cell, 60)}': {error}"
    return value, field.check(value)


def _check_row_units(resource: Resource, values: Mapping[str, list[Any]], csv: RawTable, failures: list[str]) -> None:
    """Hold rows that state a unit to the one their column declares."""
    numbers = {f.name: f for f in resource.fields if f.type == "number"}
    for field in resource.fields:
        if field.type != "string":
            continue
        of = numbers.get(field.name.removesuffix("_unit")) if field.name.endswith("_unit") else None
        if field.name == "unit":
            if len(numbers) != 1:
                failures.append(f"{csv.label}:1:unit: of which column? Name it '<column>_unit'")
                continue
            of = next(iter(numbers.values()))
        if of is None:
            continue
        for row, stated in enumerate(values[field.name]):
            if stated is not None and not _same_unit(stated, of.unit):
                says = f"'{printable(stated, 40)}', but column '{of.name}' is in '{of.unit}'"
                failures.append(f"{csv.at(row, field.name)}: {says}: convert the value; a column has one unit")


def _same_unit(stated: str, declared: str) -> bool:
    if stated == declared:
        return True
    from forecast.units import unit

    try:
        return bool(unit(stated) == unit(declared))
    except UnitError:
        return False
