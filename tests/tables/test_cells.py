"""Cells: what is a number, a date, a truth value or nothing, and what is an error that names the cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pytest
import xarray as xr
from hypothesis import given, strategies as st

from forecast.errors import DataError, TableError
from forecast.tables import decimal_year, from_decimal_year, table, to_columns
from forecast.tables.schema import cells
from toolkit import package, resource


def write(folder: Path, text: str, fields: list, **schema: object) -> Path:
    """Write a package of one resource whose key is the column ``k``."""
    return package(folder, "chips", resource(folder, "chips", text, fields, "k", **schema))


def number_table(folder: Path, cell: str, *, kind: str = "number", **field: object) -> xr.Dataset:
    """Load a table of one row with one cell of interest."""
    quoted = '"' + cell.replace('"', '""') + '"'
    spec = {"name": "x", "type": kind, **({"unit": ""} if kind == "number" else {}), **field}
    return table(write(folder, f"k,x\na,{quoted}\n", [{"name": "k", "type": "string"}, spec]))


@pytest.mark.parametrize(
    ("cells", "kind"),
    [(["RTX 4090", "RTX 3090", "H100"], "text"), (["GTX 1080", "GTX 970"], "text"), (["USD 12", "USD 15"], "number")],
)
def test_capitals_before_a_number_are_a_name_unless_they_are_a_currency(cells, kind):
    assert to_columns({"x": cells}).kind("x") == kind


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (["1.234", "2.345"], ["2,5", "3,5"], "'1.234' is 1.234 or 1234"),
        (["0.234", "2.345"], ["2,5", "3,5"], [0.234, 2.345]),
        (["1.234", "2.345"], ["2.5", "3.5"], [1.234, 2.345]),
    ],
)
def test_points_are_doubted_where_the_file_has_decimal_commas(tmp_path, x, y, expected):
    (tmp_path / "a.csv").write_text("x;y\n" + "".join(f"{a};{b}\n" for a, b in zip(x, y, strict=True)))
    if isinstance(expected, str):
        with pytest.raises(DataError, match=expected):
            to_columns(tmp_path / "a.csv").numeric("x")
    else:
        assert to_columns(tmp_path / "a.csv").numeric("x").tolist() == expected


@pytest.mark.parametrize(
    "cell",
    [
        "1,234", "3,14", "1_000", "１２３", "٣", " 5 ", "5e", "0x10", "NaN", "N/A", "-", "TRUE", "inf", "-inf", "5.",
        "1e", "1 000", "1e999", "1e-999", "--1", "1.2.3", "1'000", "½", "5\n", "+", ".", "1f", "nan",
    ],
)  # fmt: skip
def test_bad_input_037_other_spellings_of_numbers(cell: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"chips\.csv:2:x: "):
        number_table(tmp_path, cell)
    with pytest.raises(TableError, match=r"chips\.csv:2:x: "):
        number_table(tmp_path, cell, kind="integer")


@pytest.mark.parametrize(
    ("cell", "value"), [("1234.5", 1234.5), ("-1e9", -1e9), (".5", 0.5), ("+2", 2.0), ("0e5", 0.0), ("1E-3", 1e-3)]
)
def test_numbers(cell: str, value: float, tmp_path: Path) -> None:
    assert float(number_table(tmp_path, cell)["x"][0]) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_round_trips_through_its_text(value: float) -> None:
    assert cells.parse_cell_number(repr(value)) == value


@given(st.text(max_size=12))
def test_the_grammar_takes_no_more_than_float_does(text: str) -> None:
    try:
        value = cells.parse_cell_number(text)
    except ValueError:
        return
    assert text.isascii()
    assert value == float(text)
    assert "_" not in text


def test_empty_and_declared_cells_are_missing(tmp_path: Path) -> None:
    fields = [
        {"name": "k", "type": "string"},
        {"name": "x", "type": "number", "unit": ""},
        {"name": "t", "type": "string"},
    ]
    ds = table(write(tmp_path, "k,x,t\na,,\nb,n/a,n/a\n", fields, missingValues=["n/a"]))
    assert np.isnan(ds["x"].values).all()
    assert ds["t"].values.tolist() == ["", ""]


def test_integers_and_truth(tmp_path: Path) -> None:
    assert float(number_table(tmp_path, "9007199254740992", kind="integer")["x"][0]) == 2**53
    with pytest.raises(TableError, match="lose digits"):
        number_table(tmp_path, "9007199254740993", kind="integer")
    ds = number_table(tmp_path, "true", kind="boolean")
    assert float(ds["x"][0]) == 1.0
    assert to_columns(ds).where("x", "true", "here").rows == 1
    with pytest.raises(TableError, match="expected true or false"):
        number_table(tmp_path, "TRUE", kind="boolean")


@pytest.mark.parametrize(
    "cell",
    [
        "12/11/2024", "11.12.2024", "1900-01-00", "2023-02-29", "10000-01-01", "24-11-12", "2024-13", "2024-1-2",
        "0000-01-01", "2024-01-01T00:00:00", "2024-01-01T00:00:00+02:00", "2024-03-31 02:30 Europe/Berlin",
        "20240101", "2024-W05", "-001-01-01", "２０２４",
    ],
)  # fmt: skip
def test_bad_input_036_dates_that_are_none(cell: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"chips\.csv:2:x: .*(expected a date YYYY|no such date)"):
        number_table(tmp_path, cell, kind="date")


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


def test_bad_input_036_time_zones_in_frames() -> None:
    aware = pd.Series(pd.to_datetime(["2024-01-01", "2024-07-01"]).tz_localize("Europe/Berlin"))
    for frame in (pd.DataFrame({"t": aware}), pd.DataFrame({"x": [1, 2]}, pd.Index(aware, name="t")),
                  polars.from_pandas(aware.to_frame("t"))):  # fmt: skip
        assert to_columns(frame)["t"].astype(str).tolist() == ["2023-12-31T23:00:00", "2024-06-30T22:00:00"]


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
