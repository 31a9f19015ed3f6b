"""Tables: the descriptor, the schema, the grid, and the units of rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from forecast.base.json_text import strict_json
from forecast.errors import DataError, TableError, UnitError, UnknownNameError, UsageError
from forecast.tables import file_hash, table, to_columns
from toolkit import package, resource, starts_in_the_c_locale

CHIPS = "chip,precision,speed,launched\nA,fp32,19.5,2020-05\nA,fp16,312,2020-05\nB,fp16,989.5,2022-09-20\n"


FIELDS = [
    {"name": "chip", "type": "string"},
    {"name": "precision", "type": "string", "constraints": {"enum": ["fp32", "fp16"]}},
    {
        "name": "speed",
        "type": "number",
        "unit": "TFLOP/s",
        "title": "Peak",
        "constraints": {"minimum": 0, "maximum": 1e4},
    },
    {"name": "launched", "type": "date", "constraints": {"required": True, "minimum": "2000-01"}},
]


def write(
    folder: Path,
    text: str = CHIPS,
    fields: list | None = None,
    *,
    key: object = ("chip", "precision"),
    **changes: object,
) -> Path:
    """Write a package of one resource; `changes` replace or (None) remove keys of the package."""
    chips = resource(folder, "chips", text, FIELDS if fields is None else fields, key)
    return package(folder, "chips", chips, **changes)


def test_a_composite_key_spans_a_grid(tmp_path: Path) -> None:
    ds = table(write(tmp_path))
    assert dict(ds.sizes) == {"chip": 2, "precision": 2}
    np.testing.assert_array_equal(ds["speed"].values, [[19.5, 312], [np.nan, 989.5]])
    assert ds["speed"].attrs.items() >= {"unit": "TFLOP/s", "title": "Peak", "type": "number"}.items()
    assert ds["launched"].dtype == np.dtype("datetime64[s]")
    assert str(ds["launched"].sel(chip="A", precision="fp16").values) == "2020-05-01T00:00:00"
    assert ds.attrs["hash"] == file_hash(tmp_path / "chips.csv")
    assert json.loads(ds.attrs["licenses"]) == [{"name": "CC0-1.0"}]
    assert all(isinstance(v, str) for v in ds.attrs.values())


def test_a_folder_a_descriptor_and_a_relative_path_are_one_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path)
    monkeypatch.chdir(tmp_path.parent)
    for name in (path, str(path), tmp_path, str(tmp_path), f"./{tmp_path.name}", tmp_path.name):
        assert table(name).identical(table(path))


@pytest.mark.parametrize("name", ["no-such-table", "datasets/no-such-table", "x" * 5000, "a\0b"])
def test_an_unknown_name(name: str) -> None:
    with pytest.raises(UnknownNameError, match="unknown table"):
        table(name)


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"datapackage\.json: no such file"):
        table(tmp_path)
    with pytest.raises(TableError, match=r"gone\.json: no such file"):
        table(tmp_path / "gone.json")
    with pytest.raises(UsageError):
        table(3)  # type: ignore[arg-type]


def test_all_failures_are_named_at_once(tmp_path: Path) -> None:
    text = CHIPS.replace("19.5", "fast").replace("fp16,312,2020-05", "fp8,-1,") + "B,fp16,1,1999\n"
    with pytest.raises(TableError) as caught:
        table(write(tmp_path, text))
    assert caught.value.failures == (
        "chips.csv:3:precision: 'fp8' is not one of fp32, fp16",
        "chips.csv:2:speed: 'fast': expected a number",
        "chips.csv:3:speed: -1.0 is below the minimum 0",
        "chips.csv:3:launched: is required",
        "chips.csv:5:launched: 1999-01-01 is below the minimum 2000-01-01",
    )


def test_a_duplicate_key_names_both_lines(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"chips\.csv:5:chip: the key chip=A, precision=fp32 is that of line 2 too"):
        table(write(tmp_path, CHIPS + "A,fp32,1,2021\n"))


def test_bad_input_062_keys_are_one_in_nfc(tmp_path: Path) -> None:
    fields = [{"name": "k", "type": "string"}, {"name": "x", "type": "number", "unit": ""}]
    with pytest.raises(TableError, match="is that of line 2 too"):
        table(write(tmp_path, "k,x\ne\u0301,1\n\u00e9,2\n", fields, key="k"))
    ds = table(write(tmp_path, "k,x\ne\u0301,1\n\u200b,2\n\u202e,3\n😀,4\n", fields, key="k"))
    assert [to_columns(ds).where("k", k, "here")["x"].tolist() for k in ("e\u0301", "\u00e9")] == [[1], [1]]


def test_bad_input_062_messages_print_under_the_c_locale(tmp_path: Path) -> None:
    starts_in_the_c_locale()
    write(tmp_path, "k😀\u202e,x\n1,2\n")
    code = (
        "import forecast.tables as t, forecast.errors as e\n"
        f"try: t.table({str(tmp_path)!r})\n"
        "except e.TableError as x: print(ascii(str(x)))"
    )
    environment = {**os.environ, "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    assert r"\\u202e" in done.stdout, done.stderr


def test_the_hash_is_checked_and_told(tmp_path: Path) -> None:
    path = write(tmp_path)
    true = file_hash(tmp_path / "chips.csv")
    with (tmp_path / "chips.csv").open("a") as stream:
        stream.write("B,fp32,67,2022-09\n")
    with pytest.raises(TableError, match=f"described is {true}"):
        table(path)
    package = json.loads(path.read_text())
    del package["resources"][0]["hash"]
    path.write_text(json.dumps(package))
    with pytest.raises(TableError, match=f"hash: is missing; the file's is {file_hash(tmp_path / 'chips.csv')}"):
        table(path)


def test_a_spreadsheet_of_columns_must_be_the_schema(tmp_path: Path) -> None:
    with pytest.raises(TableError) as caught:
        table(write(tmp_path, CHIPS.replace("precision", "precison")))
    assert "chips.csv:1:precison: the schema has no such field; did you mean 'precision'?" in caught.value.failures
    assert "chips.csv:1:precision: the column is missing" in caught.value.failures


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"title": None}, r"package\.title: is missing"),
        ({"version": 1}, r"package\.version: expected text that is not empty, got 1"),
        ({"licenses": []}, r"package\.licenses: expected a list that is not empty"),
        ({"licenses": [{"nam": "x"}]}, r"licenses\[0\]: expected one of name"),
        ({"sources": None}, r"package\.sources: is missing"),
        ({"sources": ["x"]}, r"sources\[0\]: expected an object"),
        ({"ressources": []}, r"package\.ressources: unknown key; did you mean 'resources'\?"),
        ({"resources": {}}, r"package\.resources: expected a list that is not empty"),
        ({"resources": [3]}, r"resources\[0\]: expected an object, got 3"),
        ({"name": "Chips!"}, r"package\.name: expected lower case"),
    ],
)
def test_the_package_is_checked(change: dict, says: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=says):
        table(write(tmp_path, **change))


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ({"name": "speed", "type": "number"}, r"fields\[0\]\.unit: is missing"),
        ({"name": "speed", "type": "numbr", "unit": ""}, "'numbr'; expected one of .*did you mean 'number'"),
        ({"name": "speed", "type": "string", "unit": "m"}, "a string has none"),
        ({"name": "a/b", "type": "string"}, "'a/b': no '/'"),
        ({"name": "", "type": "string"}, "name: expected text that is not empty"),
        ({"name": "x", "type": "string", "constraints": {"min": 3}}, r"constraints\.min: unknown key"),
        ({"name": "x", "type": "string", "constraints": {"minimum": 3}}, "a string has no order"),
        ({"name": "x", "type": "integer", "constraints": {"minimum": "3"}}, "expected an integer, got '3'"),
        ({"name": "x", "type": "date", "constraints": {"minimum": "1/2/2020"}}, "expected a date"),
        ({"name": "x", "type": "date", "constraints": {"required": "yes"}}, "expected true or false"),
        ({"name": "x", "type": "date", "constraints": {"enum": "yes"}}, "enum: expected a list"),
    ],
)
def test_fields_are_checked(field: dict, says: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=says):
        table(write(tmp_path, fields=[field], key=[]))


def test_the_primary_key_is_checked(tmp_path: Path) -> None:
    for key, says in (
        ("chp", "no field 'chp'; did you mean 'chip'"),
        (3, "expected a field"),
        (["chip", "chip"], "twice"),
    ):
        with pytest.raises(TableError, match=says):
            table(write(tmp_path, key=key))


@pytest.mark.parametrize(
    "path", ["../chips.csv", "/etc/passwd", "a/../../chips.csv", "..\\chips.csv", "c:chips.csv", "out.csv"]
)
def test_a_path_stays_in_its_folder(path: str, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "chips.csv").write_text(CHIPS)
    (inner / "out.csv").symlink_to(tmp_path / "chips.csv")
    descriptor = write(inner)
    package = json.loads(descriptor.read_text())
    package["resources"][0]["path"] = path
    descriptor.write_text(json.dumps(package))
    with pytest.raises(TableError, match="leaves the descriptor's folder"):
        table(descriptor)


def test_two_keys_that_hardly_meet_do_not_fill_the_memory(tmp_path: Path) -> None:
    fields = [
        {"name": "a", "type": "integer"},
        {"name": "b", "type": "integer"},
        {"name": "x", "type": "number", "unit": ""},
    ]
    text = "a,b,x\n" + "".join(f"{i},{i},1\n" for i in range(3000))
    with pytest.raises(TableError, match="a grid of 3,000 x 3,000 cells"):
        table(write(tmp_path, text, fields, key=["a", "b"]))


def test_resources_share_one_grid(tmp_path: Path) -> None:
    path = write(tmp_path)
    (tmp_path / "makers.csv").write_text("chip,maker,memory\nC,z,\nA,x,40\n")
    package = json.loads(path.read_text())
    schema = {
        "fields": [
            {"name": "chip", "type": "string"},
            {"name": "maker", "type": "string"},
            {"name": "memory", "type": "number", "unit": "GB"},
        ],
        "primaryKey": "chip",
    }
    makers = {"name": "makers", "path": "makers.csv", "hash": file_hash(tmp_path / "makers.csv"), "schema": schema}
    package["resources"].append(makers)
    path.write_text(json.dumps(package))
    ds = table(path)
    assert ds["chip"].values.tolist() == ["A", "B", "C"]
    assert ds["maker"].values.tolist() == ["x", "", "z"]
    assert ds["maker"].dims == ("chip",)
    flat = to_columns(ds)
    assert flat["speed"].tolist() == [19.5, 312, 989.5]
    assert flat["maker"].tolist() == ["x", "x", ""]
    del schema["primaryKey"]
    path.write_text(json.dumps(package))
    with pytest.raises(TableError, match="several resources need a primaryKey each"):
        table(path)
    schema |= {"primaryKey": "chip"}
    schema["fields"][1]["name"] = "speed"  # type: ignore[index]
    path.write_text(json.dumps(package))
    with pytest.raises(TableError):
        table(path)


def test_bad_input_038_rows_that_state_another_unit(tmp_path: Path) -> None:
    fields = [
        {"name": "k", "type": "string"},
        {"name": "speed", "type": "number", "unit": "TFLOP/s"},
        {"name": "speed_unit", "type": "string"},
    ]
    text = "k,speed,speed_unit\na,1,TFLOP/s\nb,2,PFLOP/s\nc,3,TFLOP\nd,4,\ne,5,nonsense!\n"
    with pytest.raises(TableError) as caught:
        table(write(tmp_path, text, fields, key="k"))
    assert [f.split(":")[1] for f in caught.value.failures] == ["3", "4", "6"]
    assert "'PFLOP/s', but column 'speed' is in 'TFLOP/s'" in caught.value.failures[0]
    fields[2]["name"] = "unit"
    with pytest.raises(TableError, match=r"chips\.csv:3:unit"):
        table(write(tmp_path, text.replace("speed_unit", "unit"), fields, key="k"))
    fields.append({"name": "power", "type": "number", "unit": "W"})
    with pytest.raises(TableError, match="of which column"):
        table(write(tmp_path, "k,speed,unit,power\na,1,TFLOP/s,1\n", fields, key="k"))


def test_bad_input_004_a_column_name_is_only_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = "__import__('os').system('touch marker')"
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.csv"
    path.write_text(f'"{hostile}",y\n1,2\n')
    assert to_columns(path)[hostile].tolist() == [1.0]
    fields = [{"name": hostile, "type": "number", "unit": ""}]
    assert to_columns(table(write(tmp_path, f'"{hostile}"\n1\n', fields, key=[])))[hostile].tolist() == [1.0]
    assert not (tmp_path / "marker").exists()


def test_a_unit_that_does_not_parse_names_its_field(tmp_path: Path) -> None:
    with pytest.raises(UnitError, match="field 'x'"):
        table(write(tmp_path, "x\n1\n", [{"name": "x", "type": "number", "unit": "furlongs per fortnite"}], key=[]))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": NaN}', "NaN is not JSON"), ('{"a": [-Infinity]}', "-Infinity is not JSON"),
        ('{"a": 1, "a": 2}', "the key 'a' is given twice"), ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("[" + "9" * 5000 + "]", "too long"), ("[1e999]", "outside the range"), ('["\\ud800"]', "lone surrogate"),
        (b'["\xff"]', "not UTF-8"), ("{", r"demo:1:2: not JSON"), ("", "not JSON"),
    ],
    ids=["nan", "infinity", "twice", "deep", "digits", "overflow", "surrogate", "bytes", "cut", "empty"],
)  # fmt: skip
def test_bad_input_061_json_is_read_strictly(text: str | bytes, says: str) -> None:
    with pytest.raises(DataError, match=says) as caught:
        strict_json(text, where="demo")
    assert "\n" not in str(caught.value)


def test_bad_input_061_a_number_written_as_text(tmp_path: Path) -> None:
    field = {"name": "x", "type": "number", "unit": "", "constraints": {"maximum": "1e9"}}
    with pytest.raises(TableError, match=r"maximum: expected a number, got '1e9'"):
        table(write(tmp_path, fields=[field], key=[]))


def test_rows_of_a_table_keep_units(tmp_path: Path) -> None:
    rows = to_columns(write(tmp_path))
    chosen = rows.where("precision", "fp16", "here").where("launched", "2020-05", "here")
    assert (rows.rows, chosen["speed"].tolist(), chosen.units["speed"]) == (3, [312], "TFLOP/s")
    assert rows.where("speed", "312.0", "here")["chip"].tolist() == ["A"]
    with pytest.raises(UnknownNameError, match="did you mean 'precision'"):
        rows.where("precison", "fp16", "here")
    with pytest.raises(UsageError, match="expected a number"):
        rows.where("speed", "fast", "here")


def test_a_column_asked_for_by_a_wrong_name() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'speed'"):
        to_columns({"speed": [1.0]}).column("sped")
    with pytest.raises(TableError, match=r"column 'name': expected numbers, got text \('a'\)"):
        to_columns({"name": ["a"]}).numeric("name")
