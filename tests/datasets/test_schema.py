"""What holds for every table that is shipped."""

import csv
import hashlib
import json
import math
import re
import shutil
from pathlib import Path

import pytest

import forecast
import forecast_datasets
from forecast.errors import TableError
from forecast.tables.schema.descriptor import read_descriptor

ALL = [spec.name for spec in forecast_datasets.forecast_tables()]
#: Fetched at first use: nothing of them is here to be checked.
DESCRIBED = [
    spec.name
    for spec in forecast_datasets.forecast_tables()
    if any(r.remote for r in read_descriptor(Path(spec.descriptor)).resources)
]
NAMES = [name for name in ALL if name not in DESCRIBED]


def test_all_folders_are_declared():
    folders = {path.parent.name for path in Path(forecast_datasets.__file__).parent.glob("*/datapackage.json")}
    assert folders == set(ALL)


@pytest.mark.parametrize("name", NAMES)
def test_descriptor_is_complete(name, shipped):
    package = shipped(name).package
    assert package.name == name
    assert package.licenses
    assert package.sources
    for resource in package.resources:
        assert resource.key
        assert all(field.title for field in resource.fields)
        assert {f.name for f in resource.fields if f.required} >= set(resource.key)


@pytest.mark.parametrize("name", NAMES)
def test_hash_is_that_of_the_file(name, shipped):
    package = shipped(name).package
    for resource in package.resources:
        data = (package.folder / resource.path).read_bytes()
        assert resource.hash == "sha256:" + hashlib.sha256(data).hexdigest(), resource.path
        assert data.endswith(b"\n")
        assert b"\r" not in data


@pytest.mark.parametrize("name", NAMES)
def test_header_is_the_schema_and_no_row_is_ragged(name, shipped):
    package = shipped(name).package
    for resource in package.resources:
        with (package.folder / resource.path).open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
        assert lines[0] == [f.name for f in resource.fields]
        assert {len(line) for line in lines} == {len(resource.fields)}


@pytest.mark.parametrize("name", NAMES)
def test_cells_keep_their_constraints(name, shipped):
    table = shipped(name)
    broken = []
    for resource in table.package.resources:
        keys = [tuple(row[k] for k in resource.key) for row in table.rows[resource.name]]
        assert len(set(keys)) == len(keys)
        for key, row in zip(keys, table.rows[resource.name], strict=True):
            for field in resource.fields:
                value = row[field.name]
                why = ("is required" if field.required else None) if value is None else field.check(value)
                if why:
                    broken.append(f"{resource.name}{key}.{field.name}: {why}")
    assert broken == []


#: Checks of what must not be there: no row is about them.
OF_NOTHING = {
    "sparse-has-matrix-units", "rented-is-not-bought", "bought-is-not-rented", "announced-has-no-release-date",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_check_is_about_some_row_and_says_why(name, shipped, tmp_path):
    """Turned round, a check refuses the rows that it is about; one that refuses none could never reject anything."""
    package = shipped(name).package
    checks = [check for resource in package.resources for check in resource.checks]
    assert len({check.name for check in checks}) == len(checks)
    assert all(len(check.reason) > 30 for check in checks)
    if not checks:
        return
    folder = tmp_path / name
    shutil.copytree(package.folder, folder)
    path = folder / "datapackage.json"
    raw = json.loads(path.read_text(encoding="utf-8"))
    turned = {">=": "<", "<=": ">", "<": ">=", ">": "<="}
    for resource in raw["resources"]:
        for check in resource["schema"].get("checks", []):
            left, op, right = re.fullmatch(r"(.*?)\s*(>=|<=|<|>)\s*(.*)", check["condition"]).groups()
            check["condition"] = f"{left} {turned[op]} {right}"
    path.write_text(json.dumps(raw), encoding="utf-8")
    with pytest.raises(TableError) as caught:
        forecast.table(folder)
    said = {match for failure in caught.value.failures for match in re.findall(r"check '([\w-]+)'", failure)}
    assert said == {check.name for check in checks} - OF_NOTHING


@pytest.mark.parametrize("name", NAMES)
def test_every_row_has_a_source_and_a_status(name, shipped):
    for rows in shipped(name).rows.values():
        for row in rows:
            source = row.get("source") or row.get("peak_source")
            status = row.get("status") or row.get("peak_status")
            assert source, row
            assert status in ("verified", "unverified", "computed")
            assert ("from memory" in source) <= (status == "unverified"), row
            assert not re.search(r"(^|[\s(])(\.\.?/|/)", source), f"a path of a machine: {source}"


@pytest.mark.parametrize("name", NAMES)
def test_it_loads_under_its_name_and_keeps_every_row(name, shipped):
    table = shipped(name)
    loaded = forecast.table(name)
    for resource in table.package.resources:
        columns = {field.name: loaded[field.name].transpose(*resource.key, ...).values for field in resource.fields
                   if field.name not in resource.key}  # fmt: skip
        places = {key: {label: place for place, label in enumerate(loaded[key].values)} for key in resource.key}
        for row in table.rows[resource.name]:
            at = tuple(places[key][row[key]] for key in resource.key)
            for field in resource.fields:
                if field.name in resource.key:
                    continue
                value, cell = row[field.name], columns[field.name][at]
                if field.type in ("number", "integer"):
                    assert float(cell) == value or (value is None and math.isnan(cell))
                elif field.type == "string":
                    assert str(cell) == (value or "")
    assert loaded.attrs["version"] == table.package.version
