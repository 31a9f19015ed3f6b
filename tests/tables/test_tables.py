"""Tables: the descriptor, the schema, the grid, and every other way data come in."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from forecast import tables
from forecast.errors import DataError, EmptyDataError, TableError, UnitError, UnknownNameError, UsageError
from forecast.jsontext import strict_json
from forecast.tables import cells, columns, decimal_year, file_hash, from_decimal_year, rows, select, table

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
    (folder / "chips.csv").write_text(text, encoding="utf-8", newline="")
    schema = {"fields": FIELDS if fields is None else fields, "primaryKey": key}
    package: dict = {
        "name": "chips",
        "title": "Chips",
        "version": "1.0",
        "licenses": [{"name": "CC0-1.0"}],
        "sources": [{"title": "data sheets"}],
        "resources": [
            {"name": "chips", "path": "chips.csv", "hash": file_hash(folder / "chips.csv"), "schema": schema}
        ],
    }
    package.update(changes)
    path = folder / "datapackage.json"
    path.write_text(json.dumps({k: v for k, v in package.items() if v is not None}))
    return path


def number_table(folder: Path, cell: str, *, kind: str = "number", **field: object) -> xr.Dataset:
    """Load a table of one row with one cell of interest."""
    quoted = '"' + cell.replace('"', '""') + '"'
    spec = {"name": "x", "type": kind, **({"unit": ""} if kind == "number" else {}), **field}
    return table(write(folder, f"k,x\na,{quoted}\n", [{"name": "k", "type": "string"}, spec], key="k"))


def test_a_composite_key_spans_a_grid(tmp_path: Path) -> None:
    ds = table(write(tmp_path))
    assert dict(ds.sizes) == {"chip": 2, "precision": 2}
    np.testing.assert_array_equal(ds["speed"].values, [[19.5, 312], [np.nan, 989.5]])
    assert ds["speed"].attrs == {"unit": "TFLOP/s", "title": "Peak", "type": "number"}
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


@pytest.mark.bad_input(62)
def test_bad_input_062_keys_are_one_in_nfc(tmp_path: Path) -> None:
    fields = [{"name": "k", "type": "string"}, {"name": "x", "type": "number", "unit": ""}]
    with pytest.raises(TableError, match="is that of line 2 too"):
        table(write(tmp_path, "k,x\ne\u0301,1\n\u00e9,2\n", fields, key="k"))
    ds = table(write(tmp_path, "k,x\ne\u0301,1\n\u200b,2\n\u202e,3\n😀,4\n", fields, key="k"))
    assert float(select(ds, {"k": "e\u0301"})["x"][0]) == float(select(ds, {"k": "\u00e9"})["x"][0]) == 1


@pytest.mark.bad_input(62)
def test_bad_input_062_messages_print_under_the_c_locale(tmp_path: Path) -> None:
    write(tmp_path, "k😀\u202e,x\n1,2\n")
    code = (
        "import forecast.tables as t, forecast.errors as e\n"
        f"try: t.table({str(tmp_path)!r})\n"
        "except e.TableError as x: print(ascii(str(x)))"
    )
    environment = {**os.environ, "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment)
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
        ({"version": 1}, r"package\.version: expected text, got a number"),
        ({"licenses": []}, r"package\.licenses: is empty"),
        ({"licenses": [{"nam": "x"}]}, r"licenses\[0\]: expected one of name"),
        ({"sources": None}, r"package\.sources: is missing"),
        ({"sources": ["x"]}, r"sources\[0\]: expected an object of texts"),
        ({"ressources": []}, r"package\.ressources: unknown key; did you mean 'resources'\?"),
        ({"resources": {}}, r"package\.resources: expected a list, got an object"),
        ({"resources": [3]}, r"resources\[0\]: expected an object, got a number"),
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
        ({"name": "", "type": "string"}, "name: is empty"),
        ({"name": "x", "type": "string", "constraints": {"min": 3}}, r"constraints\.min: unknown key"),
        ({"name": "x", "type": "string", "constraints": {"minimum": 3}}, "a string has no order"),
        ({"name": "x", "type": "integer", "constraints": {"minimum": "3"}}, "expected a integer, got text"),
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
    flat = columns(ds)
    assert flat["speed"].tolist() == [19.5, 312, 989.5]
    assert flat["maker"].tolist() == ["x", "x", ""]
    schema["fields"][1]["name"] = "speed"  # type: ignore[index]
    path.write_text(json.dumps(package))
    with pytest.raises(TableError):
        table(path)


@pytest.mark.bad_input(37)
@pytest.mark.parametrize(
    "cell",
    [
        "1,234",
        "3,14",
        "1_000",
        "１２３",
        "٣",
        " 5 ",
        "5e",
        "0x10",
        "NaN",
        "N/A",
        "-",
        "TRUE",
        "inf",
        "-inf",
        "5.",
        "1e",
        "1 000",
        "1e999",
        "1e-999",
        "--1",
        "1.2.3",
        "1'000",
        "½",
        "5\n",
        "+",
        ".",
        "1f",
        "nan",
    ],
)
def test_bad_input_037_other_spellings_of_numbers(cell: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"chips\.csv:2:x: "):
        number_table(tmp_path, cell)
    with pytest.raises(TableError, match=r"chips\.csv:2:x: "):
        number_table(tmp_path, cell, kind="integer")


@pytest.mark.bad_input(37)
@pytest.mark.parametrize("cell", ["1,234", "3,14", "1_000", "１２３", "٣", " 5 ", "5e", "0x10", "5."])
def test_bad_input_037_a_bare_csv_is_as_strict(cell: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f'x\n"{cell}"\n')
    with pytest.raises(TableError, match=r"a\.csv:2:x: .*expected a number \(|a\.csv:2:x: .*in ASCII digits"):
        columns(path)["x"]
    path.write_text("x\n1\n2\nN/A\n")
    with pytest.raises(TableError, match=r"a\.csv:4:x: 'N/A': expected a number or an empty cell"):
        columns(path)["x"]


@pytest.mark.parametrize(
    ("cell", "value"), [("1234.5", 1234.5), ("-1e9", -1e9), (".5", 0.5), ("+2", 2.0), ("0e5", 0.0), ("1E-3", 1e-3)]
)
def test_numbers(cell: str, value: float, tmp_path: Path) -> None:
    assert float(number_table(tmp_path, cell)["x"][0]) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_round_trips_through_its_text(value: float) -> None:
    assert cells.number(repr(value)) == value


@given(st.text(max_size=12))
def test_the_grammar_takes_no_more_than_float_does(text: str) -> None:
    if cells.is_number(text):
        assert text.isascii()
        assert float(text) is not None
        assert "_" not in text
    else:
        with pytest.raises(ValueError, match="expected a number"):
            cells.number(text)


def test_empty_and_declared_cells_are_missing(tmp_path: Path) -> None:
    fields = [
        {"name": "k", "type": "string"},
        {"name": "x", "type": "number", "unit": ""},
        {"name": "t", "type": "string"},
    ]
    path = write(tmp_path, "k,x,t\na,,\nb,n/a,n/a\n", fields, key="k")
    package = json.loads(path.read_text())
    package["resources"][0]["schema"]["missingValues"] = ["n/a"]
    path.write_text(json.dumps(package))
    ds = table(path)
    assert np.isnan(ds["x"].values).all()
    assert ds["t"].values.tolist() == ["", ""]


def test_integers_and_truth(tmp_path: Path) -> None:
    assert float(number_table(tmp_path, "9007199254740992", kind="integer")["x"][0]) == 2**53
    with pytest.raises(TableError, match="lose digits"):
        number_table(tmp_path, "9007199254740993", kind="integer")
    ds = number_table(tmp_path, "true", kind="boolean")
    assert float(ds["x"][0]) == 1.0
    assert select(ds, {"x": "true"}).sizes == {"row": 1}
    with pytest.raises(TableError, match="expected true or false"):
        number_table(tmp_path, "TRUE", kind="boolean")


@pytest.mark.bad_input(36)
@pytest.mark.parametrize(
    "cell",
    [
        "12/11/2024",
        "11.12.2024",
        "1900-01-00",
        "2023-02-29",
        "10000-01-01",
        "24-11-12",
        "2024-13",
        "2024-1-2",
        "0000-01-01",
        "2024-01-01T00:00:00",
        "2024-01-01T00:00:00+02:00",
        "2024-03-31 02:30 Europe/Berlin",
        "20240101",
        "2024-W05",
        "-001-01-01",
        "２０２４",
    ],
)
def test_bad_input_036_dates_that_are_none(cell: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"chips\.csv:2:x: .*(expected a date YYYY|no such date)"):
        number_table(tmp_path, cell, kind="date")


@pytest.mark.bad_input(36)
@pytest.mark.parametrize(
    ("cell", "day"),
    [
        ("2024", "2024-01-01"),
        ("2024-06", "2024-06-01"),
        ("2024-02-29", "2024-02-29"),
        ("9999-12-31", "9999-12-31"),
        ("0001", "0001-01-01"),
    ],
)
def test_bad_input_036_dates(cell: str, day: str, tmp_path: Path) -> None:
    assert str(number_table(tmp_path, cell, kind="date")["x"].values[0]) == f"{day}T00:00:00"


@pytest.mark.bad_input(36)
def test_bad_input_036_time_zones_in_frames() -> None:
    aware = pd.Series(pd.to_datetime(["2024-01-01", "2024-07-01"]).tz_localize("Europe/Berlin"))
    with pytest.raises(DataError, match="time zone"):
        columns(pd.DataFrame({"t": aware}))["t"]


@pytest.mark.bad_input(38)
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


def test_a_unit_that_does_not_parse_names_its_field(tmp_path: Path) -> None:
    with pytest.raises(UnitError, match="field 'x'"):
        number_table(tmp_path, "1", unit="furlongs per fortnite")


@pytest.mark.bad_input(61)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": [-Infinity]}', "-Infinity is not JSON"),
        ('{"a": 1, "a": 2}', "the key 'a' is given twice"),
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("[" + "9" * 5000 + "]", "too long"),
        ("[1e999]", "outside the range"),
        ('["\\ud800"]', "lone surrogate"),
        (b'["\xff"]', "not UTF-8"),
        ("{", r"demo:1:2: not JSON"),
        ("", "not JSON"),
    ],
    ids=["nan", "infinity", "twice", "deep", "digits", "overflow", "surrogate", "bytes", "cut", "empty"],
)
def test_bad_input_061_json_is_read_strictly(text: str | bytes, says: str) -> None:
    with pytest.raises(DataError, match=says) as caught:
        strict_json(text, where="demo")
    assert "\n" not in str(caught.value)


@pytest.mark.bad_input(61)
def test_bad_input_061_a_number_written_as_text(tmp_path: Path) -> None:
    field = {"name": "x", "type": "number", "unit": "", "constraints": {"maximum": "1e9"}}
    with pytest.raises(TableError, match=r"maximum: expected a number, got text"):
        table(write(tmp_path, fields=[field], key=[]))


# Everything else that is tabular


@pytest.mark.parametrize("kind", ["dict", "frame", "dataset", "csv", "columns"])
def test_every_kind_of_data_gives_the_same_columns(kind: str, tmp_path: Path) -> None:
    plain = {"x": [1, 2], "name": ["a", ""], "when": [datetime.date(2020, 1, 1), None]}
    frame = pd.DataFrame({"x": [1, 2], "name": ["a", None], "when": pd.to_datetime(["2020-01-01", None])}, index=[7, 7])
    path = tmp_path / "a.csv"
    path.write_text("x,name,when\n1,a,2020-01-01\n2,,\n")
    data = {
        "dict": plain,
        "frame": frame,
        "dataset": xr.Dataset({n: ("i", c.values) for n, c in frame.items()}),
        "csv": path,
        "columns": columns(plain),
    }[kind]
    found = columns(data)
    assert list(found) == ["x", "name", "when"]
    assert found.rows == 2
    assert found["x"].dtype == np.float64
    assert found["x"].tolist() == [1, 2]
    assert found["name"].dtype.kind == "U"
    assert found["name"].tolist() == ["a", ""]
    assert found["when"].dtype == np.dtype("datetime64[s]")
    assert str(found["when"][0]) == "2020-01-01T00:00:00"
    assert np.isnat(found["when"][1])


def test_the_callers_array_is_not_shared() -> None:
    mine = np.array([1.0, 2.0])
    columns({"x": mine})["x"][0] = 9
    assert mine[0] == 1.0


@pytest.mark.bad_input(30)
@pytest.mark.parametrize(
    "data", [{}, {"x": []}, pd.DataFrame(), pd.DataFrame({"x": []}), xr.Dataset(), xr.Dataset({"x": ("i", [])})]
)
def test_bad_input_030_nothing_in_it(data: object) -> None:
    with pytest.raises(EmptyDataError):
        columns(data)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (3, "expected a Dataset, DataFrame"),
        ({"x": 3}, "column 'x': expected one value a row"),
        ({"x": "abc"}, "expected one value a row"),
        ({"x": [[1, 2], [3, 4]]}, "column 'x'"),
        ({"x": np.ones((2, 2))}, "expected one dimension, got 2"),
        ({"x": [1, 2], "y": [1]}, "column 'y' has 1 rows, 'x' has 2"),
        ({"x": [1, "a", 2]}, "column 'x': row 1: text 'a' among number"),
        ({"x": [1 + 2j]}, "complex"),
        ({"x": [b"a"]}, "a bytes"),
        ({"x": [object()]}, "a object"),
        ({1: [1]}, "expected text as a column's name"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "given twice"),
    ],
)
def test_what_is_no_table(data: object, says: str) -> None:
    with pytest.raises(DataError, match=says):
        list(columns(data, where="fit").values())


def test_masked_values_are_missing() -> None:
    assert np.isnan(columns({"x": np.ma.array([1, 2], mask=[False, True])})["x"]).tolist() == [False, True]


@pytest.mark.bad_input(8)
def test_bad_input_008_numpy_archives_are_not_unpickled(tmp_path: Path) -> None:
    marker = tmp_path / "marker"

    class Payload:
        def __reduce__(self) -> tuple:
            return (Path.touch, (marker,))

    for name in ("a.npz", "a.npy", "b.csv"):
        with (tmp_path / name).open("wb") as stream:
            save = np.save if name.endswith(".npy") else np.savez
            save(stream, np.array([Payload()], dtype=object))  # type: ignore[operator]
        with pytest.raises((DataError, UsageError), match=name):
            columns(tmp_path / name)
    assert not marker.exists()


@pytest.mark.bad_input(4)
def test_bad_input_004_a_column_name_is_only_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = "__import__('os').system('touch marker')"
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.csv"
    path.write_text(f'"{hostile}",y\n1,2\n')
    assert columns(path)[hostile].tolist() == [1.0]
    fields = [{"name": hostile, "type": "number", "unit": ""}]
    assert columns(table(write(tmp_path, f'"{hostile}"\n1\n', fields, key=[])))[hostile].tolist() == [1.0]
    assert not (tmp_path / "marker").exists()


def test_rows_and_select_keep_units(tmp_path: Path) -> None:
    ds = table(write(tmp_path))
    flat = rows(ds)
    assert flat.sizes == {"row": 3}
    chosen = select(ds, {"precision": "fp16", "launched": "2020-05"})
    assert chosen["speed"].values.tolist() == [312]
    assert chosen["speed"].attrs["unit"] == "TFLOP/s"
    assert select(ds, {"speed": "312.0"})["chip"].values.tolist() == ["A"]
    with pytest.raises(UnknownNameError, match="did you mean 'precision'"):
        select(ds, {"precison": "fp16"})
    with pytest.raises(EmptyDataError, match="no row has precision = 'fp8'; there are: fp16, fp32"):
        select(ds, {"precision": "fp8"})
    with pytest.raises(UsageError, match="expected a number"):
        select(ds, {"speed": "fast"})


def test_a_column_asked_for_by_a_wrong_name() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'speed'"):
        columns({"speed": [1.0]}).column("sped")
    with pytest.raises(TableError, match=r"column 'name': expected numbers, got text \('a'\)"):
        columns({"name": ["a"]}).numeric("name")


@pytest.mark.parametrize(
    ("date", "year"),
    [
        ("2000-01-01", 2000.0),
        ("2000-07-02", 2000.5),
        ("2001-01-01", 2001.0),
        ("2300-01-01", 2300.0),
        ("1969-01-01", 1969.0),
        ("0001-01-01", 1.0),
    ],
)
def test_decimal_years(date: str, year: float) -> None:
    stamp = np.array([date], dtype="datetime64[s]")
    assert decimal_year(stamp)[0] == year
    assert from_decimal_year([year])[0] == stamp[0]


@given(st.integers(-62_000_000_000, 250_000_000_000))
def test_dates_round_trip_through_decimal_years(second: int) -> None:
    stamp = np.array([second]).astype("datetime64[s]")
    assert abs((from_decimal_year(decimal_year(stamp)) - stamp).astype(int)[0]) <= 1


def test_missing_and_impossible_dates() -> None:
    assert np.isnan(decimal_year(np.array(["NaT"], dtype="datetime64[s]")))[0]
    assert np.isnat(from_decimal_year([np.nan, np.inf])).all()
    with pytest.raises(DataError, match="no date"):
        from_decimal_year([1e12])
    with pytest.raises(DataError, match="expected dates"):
        decimal_year([2020.5])


def test_importing_tables_is_cheap() -> None:
    heavy = {"numpy", "xarray", "pandas", "pint", "pooch"}
    code = f"import sys, forecast.tables, forecast.results; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_all_is_sorted() -> None:
    assert tables.__all__ == sorted(tables.__all__)
