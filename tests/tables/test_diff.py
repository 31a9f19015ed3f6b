"""Two versions of a table: rows matched by key, cells compared in one unit."""

import pytest
from hypothesis import given, settings, strategies as st

from forecast.errors import DataError, UnitError, UnknownNameError, UsageError
from forecast.tables import diff
from toolkit import package, resource


def part(key=("run",), units=None, **columns):
    return diff.ChangedResource(key=key, columns=columns, units=units or {})


def version(*parts, name="runs", text=None):
    return diff.Version(name=name, version="1", hash="", parts=parts, data=None, text=text or {})


def only(before, after):
    (found,) = diff.compare_versions(version(before), version(after))
    return found


def described(folder, rows, *, unit="TFLOP/s", version="1"):
    """Write a table of speeds of machines and return its folder."""
    folder.mkdir()
    fields = [
        {"name": "machine", "type": "string"},
        {"name": "date", "type": "date"},
        {"name": "speed", "type": "number", "unit": unit},
        {"name": "note", "type": "string"},
    ]
    machines = resource(folder, "machines", "machine,date,speed,note\n" + rows, fields, ["machine"])
    package(folder, "machines", machines, version=version)
    return folder


def test_rows_come_go_and_change():
    before = part(run=["a", "b", "c"], loss=[3.0, 2.0, 1.0], note=["x", None, "z"])
    after = part(run=["c", "b", "d"], loss=[1.0, 2.5, 0.5], note=["z", "new", None])
    found = only(before, after)
    assert found.added == ({"run": "d"},)
    assert found.removed == ({"run": "a"},)
    assert [(c.key["run"], c.column, c.before, c.after, c.relative) for c in found.changed] == [
        ("b", "loss", 2.0, 2.5, 0.25),
        ("b", "note", None, "new", None),
    ]
    assert (found.before, found.after, found.rows_changed) == (3, 3, 1)


def test_columns_that_are_in_one_version_only_are_named_and_not_compared():
    found = only(part(run=["a"], loss=[1.0], old=[1.0]), part(run=["a"], loss=[1.0], new=["x"]))
    assert (found.columns_added, found.columns_removed, found.changed) == (("new",), ("old",), ())


def test_another_unit_is_converted_and_said():
    before = part(run=["a", "b"], speed=[2.0, 3.0], units={"speed": "TFLOP/s"})
    after = part(run=["a", "b"], speed=[2e12, 3.3e12], units={"speed": "FLOP/s"})
    found = only(before, after)
    assert found.units_changed == {"speed": ("TFLOP/s", "FLOP/s")}
    (change,) = found.changed
    assert (change.key, change.before) == ({"run": "b"}, 3.0)
    assert change.after == pytest.approx(3.3)


def test_a_unit_of_another_kind_is_an_error_that_names_both():
    before = part(run=["a"], speed=[2.0], units={"speed": "TFLOP/s"})
    with pytest.raises(UnitError, match=r"speed.*TFLOP.*|speed.*FLOP"):
        only(before, part(run=["a"], speed=[2.0], units={"speed": "TFLOP"}))


def test_a_key_that_stands_twice_is_an_error():
    with pytest.raises(DataError, match=r"runs: two rows have run = a; name more columns with --key"):
        only(part(run=["a", "a"], loss=[1.0, 2.0]), part(run=["a"], loss=[1.0]))


def test_a_part_that_is_new_has_only_added_rows():
    one, two = part(run=["a"], loss=[1.0]), part(key=("run", "step"), run=["a"], step=[1.0], grad=[2.0])
    first, second = diff.compare_versions(version(one), version(one, two))
    assert (first.added, first.removed, first.changed) == ((), (), ())
    assert (second.key, second.before, second.after) == (("run", "step"), 0, 1)
    assert second.added == ({"run": "a", "step": 1.0},)


def test_without_a_key_whole_rows_are_counted():
    before = diff.ChangedResource(key=(), columns={"x": [1.0, 1.0, 2.0]}, types={"x": "number"})
    after = diff.ChangedResource(key=(), columns={"x": [1.0, 2.0, 3.0]}, types={"x": "number"})
    found = only(before, after)
    assert (found.added, found.removed) == (({"x": 3.0},), ({"x": 1.0},))


def test_two_files_are_told_apart_by_the_fewest_leading_columns(tmp_path):
    (tmp_path / "a.csv").write_text("name,year,v\nx,2000,1\nx,2001,2\ny,2000,3\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("name,year,v\nx,2000,1\nx,2001,9\n", encoding="utf-8")
    (found,) = diff.compare_versions(diff.read_version(tmp_path / "a.csv"), diff.read_version(tmp_path / "b.csv"))
    assert found.key == ("name", "year")
    assert found.removed == ({"name": "y", "year": 2000.0},)
    assert [(c.before, c.after) for c in found.changed] == [(2.0, 9.0)]


def test_a_file_whose_rows_cannot_be_told_apart_is_an_error(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n1,2\n", encoding="utf-8")
    version = diff.read_version(tmp_path / "a.csv")
    with pytest.raises(UsageError, match=r"no columns tell the rows apart.*--key"):
        diff.compare_versions(version, version)
    with pytest.raises(UnknownNameError, match=r"unknown column 'z'"):
        diff.read_version(tmp_path / "a.csv", key=["z"])


def test_files_without_a_common_column_are_an_error(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("y\n1\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"'a\.csv' and 'b\.csv' have no column in common"):
        diff.compare_versions(diff.read_version(tmp_path / "a.csv"), diff.read_version(tmp_path / "b.csv"))


def test_described_tables_are_compared_in_their_types(tmp_path):
    old = described(tmp_path / "old", "a,2000-01-01,1,\nb,2005,2,x\n")
    new = described(tmp_path / "new", "a,2000-01-01,1,\nb,2005-01-01,2.5,x\nc,2010,4,y\n", version="2")
    before, after = diff.read_version(old), diff.read_version(new / "datapackage.json")
    assert (before.version, after.version) == ("1", "2")
    (found,) = diff.compare_versions(before, after)
    assert (found.added, found.removed) == (({"machine": "c"},), ())
    (change,) = found.changed  # 2005 and 2005-01-01 are one date
    assert (change.column, change.relative) == ("speed", 0.25)


def test_a_described_table_and_a_file_are_compared_by_its_key_and_its_types(tmp_path):
    """The name 2024-11 is text in the table; a bare file would take it for a date."""
    old = described(tmp_path / "old", "2024-06,2024-06-15,1,\n2024-11,2024-11-15,2,x\n")
    (tmp_path / "new.csv").write_text("machine,date,speed,note\n2024-11,2024-11-15,2,\n", encoding="utf-8")
    (found,) = diff.compare_versions(diff.read_version(old), diff.read_version(tmp_path / "new.csv"))
    assert found.removed == ({"machine": "2024-06"},)
    assert [(c.column, c.before, c.after) for c in found.changed] == [("note", "x", None)]


@pytest.mark.parametrize("turn", [False, True])
def test_a_key_given_for_a_file_stands_before_the_described_one(tmp_path, turn):
    old = described(tmp_path / "old", "a,2000-01-01,1,\nb,2001-01-01,2,x\n")
    (tmp_path / "new.csv").write_text("machine,date,speed,note\nA,2000-01-01,1,\n", encoding="utf-8")
    pair = [diff.read_version(old), diff.read_version(tmp_path / "new.csv", key=["date"])]
    (found,) = diff.compare_versions(*(reversed(pair) if turn else pair))
    assert found.key == ("date",)
    assert [{c.before, c.after} for c in found.changed] == [{"a", "A"}]


def test_a_table_of_two_resources_is_compared_part_by_part():
    shipped = diff.read_version("datasets/accelerators")
    assert {p.key for p in shipped.parts} >= {("device",)}
    assert len(shipped.parts) == 2
    found = diff.compare_versions(shipped, shipped)
    assert [(d.added, d.removed, d.changed) for d in found] == [((), (), ())] * 2


CELLS = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-10, 10) | st.none(), min_size=1)


@settings(max_examples=60, deadline=None)
@given(CELLS, CELLS)
def test_applying_the_difference_gives_the_other_version(one, two):
    """Property: what was removed, added and changed is all there is."""
    before, after = (part(run=list(rows), v=list(rows.values())) for rows in (one, two))
    found = only(before, after)
    made = {k: v for k, v in one.items() if {"run": k} not in found.removed}
    made |= {c.key["run"]: c.after for c in found.changed}
    made |= {row["run"]: two[row["run"]] for row in found.added}
    assert made == {k: pytest.approx(v, rel=1e-12) if v is not None else None for k, v in two.items()}
    back = only(after, before)
    assert {r["run"] for r in back.added} == {r["run"] for r in found.removed}
    assert {c.key["run"] for c in back.changed} == {c.key["run"] for c in found.changed}
