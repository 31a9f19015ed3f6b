"""Rows of one's own beside those of a table: which table they belong to, and whether a model reads them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from forecast import tables
from forecast.contract.registry import get_registry
from forecast.errors import DataError, UnknownNameError, UsageError, printable
from forecast.models.nesting import walk_models
from forecast.projection.source_tables import is_file, table_label, tables_read
from forecast.scenarios.graph import ScenarioGraph
from forecast.tables import editions
from forecast.tables.file_formats import read_file
from forecast.tables.raw_table import RawTable
from forecast.tables.schema import descriptor
from forecast.tables.schema.descriptor import Package

if TYPE_CHECKING:
    from forecast.projection.model_fits import ModelFits

__all__ = ["OwnRows", "check_read", "tables_with_user_rows"]

#: A file, whose columns tell the table that its rows belong to, or a file for each table.
OwnRows = str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]]


def tables_with_user_rows(graph: ScenarioGraph, data: OwnRows) -> dict[Path, editions.Edition]:
    """Return the tables that a scenario reads with rows of one's own beside theirs.

    Parameters
    ----------
    graph : ScenarioGraph
    data : path, or mapping of str to path
        A CSV file with columns of one of these tables, in the table's units; by table where several have such columns.

    Raises
    ------
    UnknownNameError, UsageError, DataError
    """
    known = {
        table_label(name): descriptor.read_descriptor(tables.descriptor_of(name))
        for name in dict.fromkeys(name for name, _ in tables_read(graph))
        if not is_file(name)
    }
    if not known:
        raise UsageError("data: the scenario reads no table that rows could stand beside")
    found: dict[Path, editions.Edition] = {}
    for table, path in _file_pairs(data):
        rows = read_file(path)
        package = _table_of_columns(rows, known, table)
        edition = found.get(package.file) or editions.Edition(package=package)
        found[package.file] = editions.with_rows(edition, rows, str(Path(path).absolute()))
    return found


def check_read(graph: ScenarioGraph, fits: ModelFits, added: Mapping[Path, editions.Edition]) -> None:
    """Refuse rows of which no model reads one: what is asked for is never passed over.

    Raises
    ------
    UsageError
    """
    for path_of, edition in added.items():
        reading = [
            made for name, made in tables_read(graph) if not is_file(name) and tables.descriptor_of(name) == path_of
        ]
        if any(made is None or fits.observed(made) is None for made in reading):
            continue  # cells are looked up in it; or one of them failed, and says why
        for path in dict.fromkeys(path for path, _ in edition.added.values()):
            called = editions.names_of(edition, path)
            read = (
                fits.observed(made)
                for node in graph.nodes.values()
                for o in node.models.values()
                for made in walk_models(o)
            )
            if not any(seen is not None and called & set(seen.names) for seen in read):
                raise UsageError(
                    f"{printable(Path(path).name, 60)}: no model of the scenario reads a row of it; they read of "
                    f"{edition.package.name} {_row_filters(graph, edition.package)}, and of some series only records"
                )


def _row_filters(graph: ScenarioGraph, package: Package) -> str:
    """Say which rows of a table the series of a scenario read."""
    said = []
    for name, made in tables_read(graph):
        if made is None or is_file(name) or tables.descriptor_of(name) != package.file:
            continue
        spec = get_registry().find("model", made.name.partition("@")[0]).spec
        where = getattr(spec, "where", None) or {}
        said.append(" and ".join(f"{column} = {value}" for column, value in where.items()) or "all rows")
    return "; ".join(f"rows with {each}" if "=" in each else each for each in dict.fromkeys(said)) or "other rows"


def _file_pairs(data: OwnRows) -> Iterator[tuple[str, str]]:
    if isinstance(data, Mapping):
        yield from ((str(table), os.fspath(path)) for table, path in data.items())
    else:
        yield "", os.fspath(data)


def _table_of_columns(rows: RawTable, known: Mapping[str, Package], table: str) -> Package:
    """Return the table that has the columns of a file, in one of its own files or in several."""
    if table:
        wanted = [name for name in known if table in (name, name.rpartition("/")[2])]
        if not wanted:
            raise UnknownNameError("table", table, list(known), where="data")
        known = {name: known[name] for name in wanted}
    fields = {name: [f.name for each in package.resources for f in each.fields] for name, package in known.items()}
    fitting = [name for name in known if set(rows) <= set(fields[name])]
    if len(fitting) == 1:
        return known[fitting[0]]
    if fitting:
        names = ", ".join(fitting)
        raise UsageError(f"data: {rows.label}: several tables have these columns ({names}): say TABLE={rows.label}")
    every = list(dict.fromkeys(itertools.chain(*fields.values())))
    wrong = next((name for name in rows if name not in every), "")
    if wrong:
        raise UnknownNameError("column", wrong, every, where=f"{rows.label}: of {', '.join(known)}")
    raise DataError(f"{rows.label}: no table of the scenario has all of its columns: {', '.join(known)}")
