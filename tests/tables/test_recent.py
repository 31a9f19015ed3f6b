"""What was read a moment ago is given again, never shared, and never when a file has changed."""

from __future__ import annotations

import json

import pytest

from forecast import tables


@pytest.fixture
def folder(tmp_path):
    def write(loss):
        (tmp_path / "runs.csv").write_text(f"run,loss\na,{loss}\nb,2.25\n", encoding="utf-8")
        fields = [{"name": "run", "type": "string"}, {"name": "loss", "type": "number", "unit": ""}]
        schema = {"fields": fields, "primaryKey": ["run"]}
        made = {"name": "runs", "path": "runs.csv", "hash": tables.file_hash(tmp_path / "runs.csv"), "schema": schema}
        package = {
            "name": "runs", "title": "Runs", "version": "1", "licenses": [{"name": "CC0-1.0"}],
            "sources": [{"title": "ours"}], "resources": [made],
        }  # fmt: skip
        (tmp_path / "datapackage.json").write_text(json.dumps(package), encoding="utf-8")
        return str(tmp_path)

    return write


def test_rows_are_flattened_once(folder, monkeypatch):
    name, calls = folder("2.5"), []
    original = tables.rows
    monkeypatch.setattr(tables, "rows", lambda *a, **k: (calls.append(1), original(*a, **k))[1])
    first, second = tables.columns(name), tables.columns(name)
    assert len(calls) == 1
    assert list(first["loss"]) == list(second["loss"]) == [2.5, 2.25]
    assert first.units == second.units == {}


def test_nobody_writes_to_the_columns_of_another(folder):
    name = folder("2.5")
    for column, wrong in (("loss", -1.0), ("run", "z")):
        mine = tables.columns(name)
        mine[column][:] = wrong
        assert mine[column][0] == wrong
    assert list(tables.columns(name)["loss"]) == [2.5, 2.25]
    assert list(tables.columns(name)["run"]) == ["a", "b"]
    assert list(tables.table(name)["loss"].values) == [2.5, 2.25]


def test_a_changed_file_is_read_anew(folder):
    assert tables.columns(folder("2.5"))["loss"][0] == 2.5
    assert tables.columns(folder("3.125"))["loss"][0] == 3.125
