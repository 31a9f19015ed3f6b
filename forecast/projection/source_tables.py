"""The tables and files behind a projection: which they are, their hashes, and how far their dates reach."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import tables
from forecast.base.dates import from_decimal_year, year_of
from forecast.base.lazy import xr
from forecast.contract.registry import get_registry
from forecast.errors import DataError, ForecastError, UnknownNameError, UsageError
from forecast.models import Model
from forecast.models.nesting import walk_models
from forecast.models.relations import LawModel
from forecast.scenarios.graph import ScenarioGraph
from forecast.tables import editions
from forecast.tables.file_formats import read_file
from forecast.tables.raw_table import RawTable
from forecast.tables.schema import descriptor
from forecast.tables.schema.descriptor import Package

if TYPE_CHECKING:
    from forecast.projection.model_fits import ModelFits
    from forecast.scenarios.quantities.node import Node, QuantityKind

#: The column, yes or no, of what a table holds as planned and not as observed.
PLANNED_COLUMN = "plan"


def tables_read(graph: ScenarioGraph) -> Iterator[tuple[str, Model | None]]:
    """Walk what is read, a table's name or a file's path, with the model that reads it where one does."""
    from forecast.contract.specs import ModelSpec

    registry = get_registry()
    known = set(registry.names("model"))
    for node in graph.nodes.values():
        yield from node.quantity.files(node)
        for at, outer in node.models.items():
            stated = node.variants.get(at, node.quantity)
            for made in walk_models(outer):
                series = made.name.partition("@")[0]
                if isinstance(made, LawModel):
                    yield from ((each, None) for each in (made.data, made.file) if each)
                elif not stated.registered:  # a trend that Python holds was made of a registered one, or is its own
                    if series in known and isinstance(table := getattr(made, "data", None), str):
                        yield table, made
                elif series in known or "::" in series:
                    spec = registry.find("model", series).spec
                    if isinstance(spec, ModelSpec) and spec.table:
                        yield spec.table, made


def is_file(name: str) -> bool:
    """Tell a file of somebody's from a table with a description."""
    return tables.is_plain_file(name) or name.endswith(".nc")


def table_label(name: str) -> str:
    """Return how a result calls a table or a file: never by its folder."""
    if is_file(name):
        return Path(name).name
    if Path(name).suffix == ".json":  # a name has no suffix
        return str(tables.look(name).attrs["name"])
    return get_registry().find("table", name).full_name


def read_by(quantity: QuantityKind, node: Node, model: Model) -> Iterator[str]:
    """Walk the tables and files to which a model is fitted that the scenario states."""
    yield from (name for name, made in quantity.files(node) if made is model)
    if isinstance(model, LawModel):
        yield from filter(None, (model.data, model.file))


def read_hash(name: str) -> str:
    """Return the hash of a table or file; empty where it cannot be read, which fails its model."""
    from forecast.base import files

    try:
        return files.file_hash(name) if is_file(name) else tables.cited_hashes(tables.look(name))
    except ForecastError:
        return ""


def table_hashes(graph: ScenarioGraph) -> dict[str, str]:
    """Return the hash of every table and file behind a model, and of data that Python holds, by its label.

    Of several files of one name in several folders the later ones have a number.
    """
    found = {name: each for node in graph.nodes.values() for name, each in node.quantity.hashes().items()}
    for name in dict.fromkeys(name for name, _ in tables_read(graph)):
        with contextlib.suppress(ForecastError):
            if not (hashed := read_hash(name)):
                continue
            own, number = table_label(name), 1
            while found.setdefault(own, hashed) != hashed:
                number += 1
                own = f"{table_label(name)} ({number})"
    return dict(sorted(found.items()))


def reach(graph: ScenarioGraph, fits: ModelFits, read: Iterable[Path] = ()) -> dict[str, str]:
    """Return the date of the newest datum by table or file, ISO; what states no date is not listed.

    Of what a trend is fitted to it is the last observation that counts, under the name of the quantity where the data
    have none; of a table in which figures are looked up by date the newest of theirs; of any other table the last date
    in the one column that holds dates, where it has exactly one.

    Parameters
    ----------
    graph : ScenarioGraph
    fits : ModelFits
    read : iterable of Path
        Descriptors of what was read besides, as by the code of a model.
    """
    found: dict[str, list[Any]] = {}
    told: set[str] = set()
    looked_up: dict[str, str] = {}
    for name, day, _ in (row for node in graph.nodes.values() for each in node.histories.values() for row in each):
        if fits.as_of is None or year_of(day) <= fits.as_of:
            looked_up[name] = max(day, looked_up.get(name, ""))
    for name, model in tables_read(graph):
        with contextlib.suppress(ForecastError):
            date = None if model is None else _last_observed(model, fits)
            if date is not None and model is not None:
                told.add(model.name)
            if model is None and name in looked_up:
                date = np.datetime64(looked_up[name])
            date = _last_date(name, fits.as_of) if date is None else date
            if date is not None:
                found.setdefault(table_label(name), []).append(date)
    for quantity, node in graph.nodes.items():
        for made in (each for outer in node.models.values() for each in walk_models(outer)):
            if made.name not in told and (date := _last_observed(made, fits)) is not None:
                found.setdefault(quantity, []).append(date)
    described = {str(getattr(r.spec, "descriptor", "")): r.full_name for r in get_registry().records("table")}
    for path in read:
        with contextlib.suppress(ForecastError):
            name = described.get(str(path)) or table_label(str(path))
            if name not in found and (date := _last_date(described.get(str(path), str(path)), fits.as_of)) is not None:
                found[name] = [date]
    return {name: str(max(dates).astype("datetime64[D]")) for name, dates in sorted(found.items())}


def _last_observed(model: Model, fits: ModelFits) -> Any:
    seen = fits.observed(model)
    return from_decimal_year(seen.time[-1:])[0] if seen else None


def _last_date(name: str, as_of: float | None) -> Any:
    """Return the last observed date in the one column of dates of a table; None where there are none, or several."""
    if is_file(name):
        return None
    table = tables.shared_table(name)
    return table.once(("last date", as_of), lambda: _last_in(table.table, as_of))


def _last_in(dataset: xr.Dataset, as_of: float | None) -> Any:
    dated = [column for column in dataset.variables.values() if column.dtype.kind == "M"]
    if len(dated) != 1:
        return None
    values, planned = dated[0].values.ravel(), dataset.get(PLANNED_COLUMN)
    if planned is not None and planned.shape == dated[0].shape:  # nobody has observed what is planned
        values = values[planned.values.ravel() != "yes"]
    values = values[~np.isnat(values)]
    if as_of is not None:
        values = values[values < from_decimal_year([as_of])[0]]
    return values.max() if len(values) else None


# --- Rows of one's own ------------------------------------------------------------------------------------------------
# Rows of one's own beside those of a table: which table they belong to, and whether a model reads them.


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
    for table, path in data.items() if isinstance(data, Mapping) else [("", data)]:
        rows = read_file(os.fspath(path))
        package = _table_of_columns(rows, known, str(table))
        edition = found.get(package.file) or editions.Edition(package=package)
        found[package.file] = editions.with_rows(edition, rows, str(Path(path).absolute()))
    return found


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
