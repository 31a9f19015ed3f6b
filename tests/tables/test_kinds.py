"""Every other kind of data: frames, mappings, files; and what is no table."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from forecast.errors import DataError, EmptyDataError, UsageError
from forecast.tables import to_columns


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
        "columns": to_columns(plain),
    }[kind]
    found = to_columns(data)
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
    to_columns({"x": mine})["x"][0] = 9
    assert mine[0] == 1.0


@pytest.mark.parametrize(
    "data", [{}, {"x": []}, pd.DataFrame(), pd.DataFrame({"x": []}), xr.Dataset(), xr.Dataset({"x": ("i", [])})]
)
def test_bad_input_030_nothing_in_it(data: object) -> None:
    with pytest.raises(EmptyDataError):
        to_columns(data)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (3, "expected a Dataset, DataFrame"), ({"x": 3}, "column 'x': expected one value a row"),
        ({"x": "abc"}, "expected one value a row"), ({"x": [[1, 2], [3, 4]]}, "column 'x'"),
        ({"x": np.ones((2, 2))}, "expected one dimension, got 2"),
        ({"x": [1, 2], "y": [1]}, "column 'y' has 1 rows, 'x' has 2"),
        ({"x": [1, "a", 2]}, "column 'x': row 1: text 'a' among number"), ({"x": [1 + 2j]}, "complex"),
        ({"x": [b"a"]}, "a bytes"), ({"x": [object()]}, "a object"), ({1: [1]}, "expected text as a column's name"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "given twice"),
    ],
)  # fmt: skip
def test_what_is_no_table(data: object, says: str) -> None:
    with pytest.raises(DataError, match=says):
        list(to_columns(data, where="fit").values())


def test_masked_values_are_missing() -> None:
    assert np.isnan(to_columns({"x": np.ma.array([1, 2], mask=[False, True])})["x"]).tolist() == [False, True]


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
            to_columns(tmp_path / name)
    assert not marker.exists()
