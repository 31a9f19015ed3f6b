"""What was read a moment ago is given again, never shared, and never when a file has changed."""

import pytest

from forecast import tables
from toolkit import package, resource


@pytest.fixture
def folder(tmp_path):
    def write(loss):
        fields = [{"name": "run", "type": "string"}, {"name": "loss", "type": "number", "unit": ""}]
        package(tmp_path, "runs", resource(tmp_path, "runs", f"run,loss\na,{loss}\nb,2.25\n", fields, ["run"]))
        return str(tmp_path)

    return write


def test_rows_are_flattened_once(folder, monkeypatch):
    name, calls = folder("2.5"), []
    original = tables.flatten_rows
    monkeypatch.setattr(tables, "flatten_rows", lambda *a, **k: (calls.append(1), original(*a, **k))[1])
    first, second = tables.to_columns(name), tables.to_columns(name)
    assert len(calls) == 1
    assert list(first["loss"]) == list(second["loss"]) == [2.5, 2.25]
    assert first.units == second.units == {}


def test_nobody_writes_to_the_columns_of_another(folder):
    name = folder("2.5")
    for column, wrong in (("loss", -1.0), ("run", "z")):
        mine = tables.to_columns(name)
        mine[column][:] = wrong
        assert mine[column][0] == wrong
    assert list(tables.to_columns(name)["loss"]) == [2.5, 2.25]
    assert list(tables.to_columns(name)["run"]) == ["a", "b"]
    assert list(tables.table(name)["loss"].values) == [2.5, 2.25]


def test_a_changed_file_is_read_anew(folder):
    assert tables.to_columns(folder("2.5"))["loss"][0] == 2.5
    assert tables.to_columns(folder("3.125"))["loss"][0] == 3.125
