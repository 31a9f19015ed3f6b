"""``forecast tables``: observations, their columns, units, licences and sources; fetched, and two versions compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast.cli.catalogue.diff import diff
from forecast.cli.catalogue.fetch import fetch
from forecast.cli.catalogue.listing import catalogue
from forecast.cli.catalogue.refresh import refresh
from forecast.contract.registry import Record
from forecast.contract.specs import TableSpec

if TYPE_CHECKING:
    from forecast.tables.remote.snapshots import Snapshot
    from forecast.tables.schema.descriptor import Resource


def _table_details(record: Record) -> dict[str, Any]:
    from forecast.tables import file_formats
    from forecast.tables.schema import descriptor

    assert isinstance(record.spec, TableSpec)
    package = descriptor.read_descriptor(Path(record.spec.descriptor))
    resources = []
    fields = []
    for resource in package.resources:
        rows = None
        if not resource.remote:
            rows = file_formats.read_file(package.folder / resource.path, reader="none").rows
        snapshot = _snapshot(resource)
        resources.append(
            {
                "name": resource.name,
                "rows": rows,
                "key": list(resource.key),
                "data": resource.path if resource.remote else "shipped",
                "licence": resource.licenses,
                "hash": _resource_hash(resource, snapshot),
                "state": _state(resource, snapshot) if resource.remote else None,
                "recorded": snapshot.fetched if snapshot else None,
            }
        )
        for field in resource.fields:
            fields.append(
                {
                    "name": field.name,
                    "type": field.type,
                    "unit": field.unit,
                    "title": field.title,
                    "qualifiers": dict(field.qualifiers),
                    "resource": resource.name if len(package.resources) > 1 else "",
                }
            )
    return {
        "description": package.description or package.title,
        "data version": package.version,
        "licences": [dict(entry) for entry in package.licenses],
        "resources": resources,
        "fields": fields,
        "sources": [dict(entry) for entry in package.sources],
    }


def _snapshot(resource: Resource) -> Snapshot | None:
    """Return what is recorded of a file without a published hash."""
    from forecast.tables.remote import snapshots
    from forecast.tables.remote.download import cache_folder
    from forecast.tables.schema.descriptor import RECORDED_HASH

    if resource.hash != RECORDED_HASH:
        return None
    known = snapshots.find_snapshots(cache_folder(), resource.path)
    return known.current if known else None


def _resource_hash(resource: Resource, snapshot: Snapshot | None) -> str | None:
    from forecast.tables.schema.descriptor import RECORDED_HASH

    if resource.hash != RECORDED_HASH:
        return resource.hash
    return snapshot.hash if snapshot else None


def _state(resource: Resource, snapshot: Snapshot | None) -> str:
    from forecast.tables.remote.download import cache_folder
    from forecast.tables.schema.descriptor import RECORDED_HASH

    if not resource.remote:
        return "shipped"
    if resource.hash != RECORDED_HASH:
        return "published hash"
    if snapshot is None:
        return "not fetched yet"
    gone = "" if (cache_folder() / snapshot.file).is_file() else ", not in the cache"
    return f"recorded on {snapshot.fetched}{gone}"


def _data(record: Record) -> str:
    """Say where a table's files are; a descriptor that cannot be read must not spoil the listing of the others."""
    from forecast.errors import DataError
    from forecast.tables.schema import descriptor

    assert isinstance(record.spec, TableSpec)
    try:
        package = descriptor.read_descriptor(Path(record.spec.descriptor))
        return "; ".join(dict.fromkeys(_state(r, _snapshot(r)) for r in package.resources))
    except DataError:
        return "cannot be read"


def _file_details(name: str) -> dict[str, Any] | None:
    """Return what each column of a file is; None for the name of a table."""
    from forecast import tables as reading

    if not reading.is_plain_file(name):
        return None
    columns = reading.read(name)
    fields = []
    for column in columns:
        found = columns.meaning(column)
        cells = columns.texts(column)
        missing = int(found.missing_mask().sum())
        problem = "" if found.problem is None else str(found.problem)
        fields.append(
            {"name": column, "is": columns.kind(column), "unit": columns.units.get(column, ""), "missing": missing,
             "read as": ", ".join(found.notes) or problem, "first": cells[0], "last": cells[-1]}
        )  # fmt: skip
    return {"file": columns.label, "rows": columns.rows, "fields": fields, "read": columns.notes.line()}


tables = catalogue(
    "tables", "table", columns={"data": _data}, describe=_table_details, reads=True, describe_file=_file_details
)
tables.add_command(diff)
tables.add_command(fetch)
tables.add_command(refresh)
