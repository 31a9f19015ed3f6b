"""Tables as their rows stand, without the loader: what is shipped is checked by itself."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

import forecast
import forecast_datasets
from forecast.tables import file_hash
from forecast.tables.schema import descriptor

FOLDER = Path(forecast_datasets.__file__).parent
Rows = list[dict[str, object]]


class Shipped:
    """The descriptor of a table and, by resource, its rows with typed values (None is missing)."""

    def __init__(self, name: str) -> None:
        self.package = descriptor.read_descriptor(FOLDER / name / "datapackage.json")
        self.rows: dict[str, Rows] = {}
        for resource in self.package.resources:
            with (self.package.folder / resource.path).open(encoding="utf-8", newline="") as file:
                self.rows[resource.name] = [
                    {f.name: None if row[f.name] == "" else f.value(row[f.name]) for f in resource.fields}
                    for row in csv.DictReader(file)
                ]

    def by_key(self, resource: str) -> dict[object, dict[str, object]]:
        """Return the rows under their key: a value, or a tuple where the key is composite."""
        key = next(r.key for r in self.package.resources if r.name == resource)
        return {row[key[0]] if len(key) == 1 else tuple(row[k] for k in key): row for row in self.rows[resource]}


@pytest.fixture(scope="session")
def shipped() -> type[Shipped]:
    return Shipped


@pytest.fixture
def altered(tmp_path):
    """Load a copy of a shipped table with some cells of one row replaced, as an edit with a new hash would leave it."""

    def load(name: str, resource: str, key: tuple[str, ...], **cells: str):
        folder = tmp_path / name
        shutil.copytree(FOLDER / name, folder)
        path = folder / "datapackage.json"
        package = json.loads(path.read_text(encoding="utf-8"))
        described = next(r for r in package["resources"] if r["name"] == resource)
        with (folder / described["path"]).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        (row,) = [r for r in rows if tuple(r[k] for k in described["schema"]["primaryKey"]) == key]
        assert set(cells) <= set(row)
        row.update(cells)
        with (folder / described["path"]).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        described["hash"] = file_hash(folder / described["path"])
        path.write_text(json.dumps(package), encoding="utf-8")
        return forecast.table(folder)

    return load


@pytest.fixture(scope="session")
def differences():
    """Compare figures with reference figures; print every difference and return those beyond the tolerance."""

    def compare(pairs: list[tuple[str, float | None, float | None]], tolerance: float) -> list[str]:
        beyond = []
        compared = 0
        for label, ours, theirs in pairs:
            if ours is None or theirs is None:
                continue
            compared += 1
            relative = abs(ours - theirs) / abs(theirs) if theirs else abs(ours)
            if relative > 1e-9:
                line = f"{label}: ours {ours:g}, reference {theirs:g} ({relative:.2g})"
                print(line)
                if relative > tolerance:
                    beyond.append(line)
        assert compared, "nothing was compared"
        return beyond

    return compare
