"""Nested records (JSON, YAML, what plugins' readers return) -> rows with names such as ``metrics.loss``."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from forecast.base.number_checks import is_real
from forecast.errors import DataError, EmptyDataError

#: Nobody nests observations deeper; a stranger's file that does would use up the stack.
MAX_RECORD_DEPTH = 64
#: Rows repeat the values of the record around them: a small file could become a large table.
MAX_RECORD_CELLS = 10_000_000

Row = dict[str, Any]


def flatten_document(document: Any, where: str) -> tuple[str, list[Row]]:
    """Return the rows of the largest list of records in a document, and the path to it (``results.*``).

    A list of mappings, a mapping of mappings (their keys become the column ``name``), a mapping of equally long lists
    and a mapping of names to dates are records. A list of records within a record is unrolled: each of its rows repeats
    the values around it.

    Raises
    ------
    DataError
        If it is nested too deeply or unrolls to too many cells.
    EmptyDataError
        If there is no record.

    Examples
    --------
    >>> flatten_document({"of": "us", "runs": {"a": {"m": {"loss": 2.5}}, "b": {"m": {"loss": 2.25}}}}, "a.json")
    ('runs.*', [{'name': 'a', 'm.loss': 2.5}, {'name': 'b', 'm.loss': 2.25}])
    >>> flatten_document([{"run": "a", "log": [{"step": 1}, {"step": 2}]}], "a.json")[1]
    [{'run': 'a', 'log.step': 1}, {'run': 'a', 'log.step': 2}]
    """
    found = [(path, rows) for path, rows in _record_lists(document, "", 0, where) if rows]
    if not found and isinstance(document, Mapping):
        found = [("", [row]) for row in _rows_of(document, 0, where) if row]
    if not found:
        raise EmptyDataError(f"{where}: no records; expected a list of them, or columns")
    return max(found, key=lambda each: len(each[1]))


def holds_records(node: Any) -> bool:
    """Return True for a list of mappings and for a mapping of mappings.

    Examples
    --------
    >>> holds_records([{"a": 1}]), holds_records({"x": {"a": 1}}), holds_records({"a": 1})
    (True, True, False)
    """
    mappings = isinstance(node, Mapping) and bool(node) and all(isinstance(value, Mapping) for value in node.values())
    return mappings or _is_records(node)


def to_cells(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return records as columns; None where a record lacks a name.

    Examples
    --------
    >>> to_cells([{"a": 1}, {"a": 2, "b": 3}])
    {'a': [1, 2], 'b': [None, 3]}
    """
    names = dict.fromkeys(str(name) for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _record_lists(node: Any, path: str, depth: int, where: str) -> Iterator[tuple[str, list[Row]]]:
    if depth > MAX_RECORD_DEPTH:
        raise DataError(f"{where}: nested more than {MAX_RECORD_DEPTH} deep")
    at = f"{path}.*".lstrip(".")
    if _is_records(node):
        yield at, _joined((_rows_of(each, depth + 1, where) for each in node if isinstance(each, Mapping)), where)
    elif _is_grid(node):
        header, *rows = node if _is_names(node[0]) else [[f"column {i + 1}" for i in range(len(node[0]))], *node]
        yield at, [dict(zip(header, row, strict=True)) for row in rows]
    elif isinstance(node, Mapping) and node:
        node = _as_columns(node)
        if grid := _split_frame(node):
            yield from _record_lists(grid, path, depth + 1, where)
        elif _are_alike(node.values()):
            named = ([{"name": str(key), **row} for row in _rows_of(value, depth + 1, where)]
                     for key, value in node.items())  # fmt: skip
            yield at, _joined(named, where)
        elif all(map(_is_cells, node.values())) and len({len(value) for value in node.values()}) == 1:
            yield path, [dict(zip(map(str, node), row, strict=True)) for row in zip(*node.values(), strict=True)]
        elif len(node) > 2 and path and all(isinstance(value, datetime.date) for value in node.values()):
            column = path.rpartition(".")[2]  # dates alone are one column, whose rows have names
            yield path, [{"name": str(key), column: value} for key, value in node.items()]
        for key, value in node.items():
            yield from _record_lists(value, f"{path}.{key}".lstrip("."), depth + 1, where)


def _is_records(node: Any) -> bool:
    return isinstance(node, list) and bool(node) and all(isinstance(each, Mapping) or each is None for each in node)


def _is_grid(node: Any) -> bool:
    """Return True for rows of one length, at least two of them."""
    return isinstance(node, list) and len(node) > 1 and all(map(_is_cells, node)) and len(set(map(len, node))) == 1


def _split_frame(node: Mapping[Any, Any]) -> list[Any]:
    """Return names in one list beside rows of values in another, and their labels in a third, as rows; empty if not."""
    names, labels = node.get("columns", []), node.get("index")
    for rows in node.values() if _is_names(names) else ():
        if isinstance(rows, list) and _is_grid([names, *rows]):
            found = _row_labels(labels) if isinstance(labels, list) and len(labels) == len(rows) else []
            labelled = [[label, *row] for label, row in zip(found, rows, strict=False)]
            return [["index", *names], *labelled] if found else [names, *rows]
    return []


def _row_labels(labels: list[Any]) -> list[str]:
    """Return the labels of rows, dates for the milliseconds that pandas writes; none if they only count the rows."""
    texts = list(map(str, labels))
    if all(text.isdigit() and len(text) in (12, 13) for text in texts):
        epoch = datetime.datetime(1970, 1, 1)
        return [(epoch + datetime.timedelta(milliseconds=int(text))).isoformat() for text in texts]
    return texts if texts != [str(i) for i in range(len(texts))] else []


def _is_names(node: Any) -> bool:
    return isinstance(node, list) and bool(node) and all(isinstance(name, str) for name in node)


def _are_alike(values: Iterable[Any]) -> bool:
    """Return True for mappings that have a key in common: records of one kind, and no parts of a document."""
    found = list(values)
    return all(isinstance(value, Mapping) and value for value in found) and bool(set.intersection(*map(set, found)))


def _as_columns(node: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return columns as pandas writes a frame, ``{"x": {"0": 1, "1": 2}}``, as lists; anything else as it is.

    Rows that have names are columns if each holds values of one type, and not all of the same: else they are records.
    """
    keys = [list(value) if isinstance(value, Mapping) else [] for value in node.values()]
    if len(keys[0]) < 2 or any(each != keys[0] for each in keys):
        return node
    columns = {name: list(column.values()) for name, column in node.items()}
    labels = _row_labels(keys[0])
    if not labels:
        return columns
    if all(str(key).isdigit() for key in keys[0]):
        return {"index": labels, **columns}
    types = {frozenset("number" if is_real(v) else type(v) for v in each if v is not None) for each in columns.values()}
    return {"name": keys[0], **columns} if len(types) > 1 and all(len(each) < 2 for each in types) else node


def _is_cells(node: Any) -> bool:
    return isinstance(node, list) and bool(node) and not any(isinstance(each, (Mapping, list)) for each in node)


def _rows_of(record: Mapping[str, Any], depth: int, where: str) -> list[Row]:
    """Return the rows of one record: one, or as many as the longest list of records or of values in it has."""
    flat: Row = {}
    lists: dict[str, list[Row]] = {}
    _flatten(record, "", depth, where, flat, lists)
    nested = {name: rows for name, rows in lists.items() if name not in rows[0]}
    # one list of plain values is a list of tags; two of one length are columns
    longest = max(map(len, (nested or lists).values()), default=0)
    alike = [rows for rows in (nested or lists).values() if len(rows) == longest]
    if not longest or (not nested and len(alike) < 2):
        return [flat] if flat else []
    if len(flat) * longest > MAX_RECORD_CELLS:
        raise DataError(f"{where}: its records unroll to more than {MAX_RECORD_CELLS:,} cells")
    return [{**flat, **{k: v for row in rows for k, v in row.items()}} for rows in zip(*alike, strict=True)]


def _flatten(
    record: Mapping[str, Any], prefix: str, depth: int, where: str, flat: Row, lists: dict[str, list[Row]]
) -> None:
    if depth > MAX_RECORD_DEPTH:
        raise DataError(f"{where}: nested more than {MAX_RECORD_DEPTH} deep")
    for key, value in record.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            _flatten(value, f"{name}.", depth + 1, where, flat, lists)
        elif _is_records(value):
            rows = _joined((_rows_of(each, depth + 1, where) for each in value if each is not None), where)
            if rows:
                lists[name] = [{f"{name}.{inner}": cell for inner, cell in row.items()} for row in rows]
        elif _is_grid(value):
            lists[name] = [{f"{name}.{i}": cell for i, cell in enumerate(row, start=1)} for row in value]
        elif _is_cells(value):
            if len(value) > 1:
                lists[name] = [{name: cell} for cell in value]
            else:
                flat[name] = value[0]
        elif not isinstance(value, list):
            flat[name] = value


def _joined(parts: Any, where: str) -> list[Row]:
    rows: list[Row] = []
    cells = 0
    for part in parts:
        rows += part
        cells += sum(map(len, part))
        if cells > MAX_RECORD_CELLS:
            raise DataError(f"{where}: its records hold more than {MAX_RECORD_CELLS:,} cells")
    return rows
