"""``forecast tables``: observations, their columns, units, licences and sources; and two versions side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forecast.cli.catalogue import catalogue
from forecast.cli.diff import diff
from forecast.registry import Record
from forecast.specs import TableSpec


def _describe(record: Record) -> dict[str, Any]:
    from forecast.tables import csvfile, descriptor

    assert isinstance(record.spec, TableSpec)
    package = descriptor.read(Path(record.spec.descriptor))
    resources = []
    fields = []
    for resource in package.resources:
        rows = None
        if not resource.remote:
            columns = csvfile.read(package.folder / resource.path)
            rows = max((len(column) for column in columns.values()), default=0)
        resources.append(
            {
                "name": resource.name,
                "rows": rows,
                "key": list(resource.key),
                "data": resource.path if resource.remote else "shipped",
                "licence": resource.licenses,
                "hash": resource.hash,
            }
        )
        for field in resource.fields:
            fields.append(
                {
                    "name": field.name,
                    "type": field.type,
                    "unit": field.unit,
                    "title": field.title,
                    "basis": dict(field.basis),
                    "resource": resource.name if len(package.resources) > 1 else "",
                }
            )
    return {
        "description": package.title,
        "data version": package.version,
        "licences": [dict(entry) for entry in package.licenses],
        "resources": resources,
        "fields": fields,
        "sources": [dict(entry) for entry in package.sources],
    }


tables = catalogue("tables", "table", columns={}, describe=_describe)
tables.add_command(diff)
