"""Rows of one's own that nothing in a scenario reads: which they are, why, and what would read them."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from forecast import tables
from forecast.base.arrays import BoolArray
from forecast.contract.registry import get_registry
from forecast.errors import LeftOutWarning, UsageError, first_names, printable
from forecast.models import Model
from forecast.models.relations import LawModel
from forecast.projection.model_fits import ModelFits
from forecast.projection.source_tables import is_file, tables_read
from forecast.scenarios.graph import ScenarioGraph
from forecast.scenarios.kinds.table_value import TableValue
from forecast.scenarios.scenario import Scenario
from forecast.scenarios.spec import Choice
from forecast.scenarios.table_values import Tables
from forecast.tables import editions

#: The rows of a table that are found by each of the columns by which a figure is looked up.
_Lookup = dict[str, BoolArray]


def unread_rows(
    graph: ScenarioGraph, fits: ModelFits, added: Mapping[Path, editions.Edition]
) -> Iterator[LeftOutWarning]:
    """Yield a sentence about rows that nothing reads: which they are, why, and what would read them.

    Of tables that trends are fitted to it is only checked that one row of a file is read.

    Raises
    ------
    UsageError
        If every row of a file lacks what would be read: what is asked for is never passed over.
    """
    cells = {name: node.quantity for name, node in graph.nodes.items() if node.figures}
    laws = [made.data for made in graph.models.values() if isinstance(made, LawModel)]
    for path_of, edition in added.items():
        lookups = [*_lookups(graph.scenario, graph.scenario.choices, cells, path_of)]
        reading = [made for name, made in tables_read(graph) if _is_of(name, path_of)]
        models = [made for made in reading if made is not None]
        columns = {(spec.column, spec.each) for spec in map(_spec_of, models)}
        if all(column for column, _ in columns) and not any(_is_of(name, path_of) for name in laws):
            table, names = tables.shared_table(path_of).columns, [made.name.partition("@")[2] for made in models]
            lookups += [{name: ~np.isnan(table.numeric(name)), each: np.isin(table.column(each), names)}
                        for name, each in columns]  # fmt: skip
            yield from _unread_sentences(graph.scenario, path_of, edition, lookups)
        elif len(models) == len(reading) and all(map(fits.observed, models)):  # one that failed says why
            _check_series(graph, fits, models, edition)


def _is_of(name: str, path_of: Path) -> bool:
    """Return True if a name of a table or file is that of the table with this descriptor."""
    return bool(name) and not is_file(name) and tables.descriptor_of(name) == path_of


def _spec_of(model: Model) -> Any:
    return get_registry().find("model", model.name.partition("@")[0]).spec


def _lookups(
    scenario: Scenario, choices: Mapping[str, Choice], quantities: Mapping[str, object], path_of: Path
) -> Iterator[_Lookup]:
    """Yield how the figures of a scenario are looked up in a table."""
    read = Tables(scenario.where, scenario.start)
    for name, quantity in quantities.items():
        every = quantity.cells() if isinstance(quantity, TableValue) else ()
        yield from (
            read.lookup_masks(cell, choices, f"quantities.{name}") for cell in every if _is_of(cell.table, path_of)
        )


def _found(lookups: Sequence[_Lookup]) -> BoolArray:
    """Return the rows that some lookup finds."""
    return np.asarray(np.any([np.all([*masks.values()], axis=0) for masks in lookups], axis=0))


def _unread_sentences(
    scenario: Scenario, path_of: Path, edition: editions.Edition, lookups: Sequence[_Lookup]
) -> Iterator[LeftOutWarning]:
    """Yield a sentence for rows that are alike in why they are not found; raise if all lack something."""
    table = tables.shared_table(path_of)
    keys = table.columns.column(str(next(iter(table.table.dims)))).astype(str)
    own = np.isin(keys, json.loads(table.table.attrs["beside"]))
    unread = np.flatnonzero(own & ~_found(lookups)).tolist()
    others = _readers(path_of, edition.hash, scenario.name) if unread else {}
    why_out = {value: why for choice in scenario.choices.values() for value, why in choice.left_out.items()}
    alike: dict[tuple[str, str], list[int]] = {}
    for row in unread:
        masks = min(lookups, key=lambda each: sum(not mask[row] for mask in each.values()))
        cells = {name: table.columns.column(name)[row] for name, mask in masks.items() if not mask[row]}
        lacks = (_cell_text(name, cell, why_out) for name, cell in cells.items())
        would = " or ".join(f"'forecast {name}'" for name, found in others.items() if found[row])
        alike.setdefault((" and ".join(lacks), f"; {would} would" if would else ""), []).append(row)
    notes = [f"nothing here reads {first_names(keys[rows], 3)} ({why}){would}" for (why, would), rows in alike.items()]
    if sum(len(rows) for (why, _), rows in alike.items() if why.startswith("no ")) == own.sum():
        raise UsageError("; ".join(notes))
    yield from (LeftOutWarning(note=note) for note in notes)


def _cell_text(column: str, value: Any, why_out: Mapping[str, str]) -> str:
    """Say what a cell lacks: a value, a later date, or that its value be among those that are asked for."""
    text = printable(str(value), 60)
    if text in ("", "nan", "NaT"):
        return f"no {column}"
    if isinstance(value, np.datetime64):
        return f"of {text[:10]}, too old"
    return f"{column} = {text}{f': {why_out[text]}' if text in why_out else ''}"


@functools.cache
def _readers(path_of: Path, edition: str, but: str) -> dict[str, BoolArray]:
    """Return the rows of an edition that the other scenarios would read, and what plans by one, by what is typed."""
    found = {}
    for record in get_registry().records("scenario"):
        scenario = Scenario.load(record.full_name)
        wider = {name: replace(each, values=(*each.values, *each.left_out)) for name, each in scenario.choices.items()}
        ways: list[tuple[str, Mapping[str, Choice]]] = [("plan --device", wider)] if record.spec.plans else []
        ways += [(f"run {record.full_name.rpartition('/')[2]}", scenario.choices)] if record.full_name != but else []
        for name, choices in ways:
            if lookups := [*_lookups(scenario, choices, scenario.quantities, path_of)]:
                found[name] = _found(lookups)
    return dict(sorted(found.items()))


def _check_series(graph: ScenarioGraph, fits: ModelFits, models: Sequence[Model], edition: editions.Edition) -> None:
    """Raise if the series that are fitted to a table have no row of a file."""
    for path in dict.fromkeys(path for path, _ in edition.added.values()):
        called = editions.names_of(edition, path)
        if not any(called & set(fits.observed(made).names) for made in graph.models.values()):
            wanted = [getattr(_spec_of(made), "where", None) or {} for made in models]
            texts = (" and ".join(f"{column} = {value}" for column, value in each.items()) for each in wanted)
            said = "; ".join(f"rows with {each}" if each else "all rows" for each in dict.fromkeys(texts))
            raise UsageError(
                f"{printable(Path(path).name, 60)}: no model of the scenario reads a row of it; they read of "
                f"{edition.package.name} {said or 'other rows'}, and of some series only records"
            )
