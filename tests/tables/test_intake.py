"""Any table people have becomes the same columns, and the same fit."""

import datetime
import decimal
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import forecast
from forecast.errors import DataError, EmptyDataError, UsageError
from forecast.tables import delimited_text, to_columns

X = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
Y = np.array([3.1, 4.9, 7.2, 8.8, 11.1, 13.0, 14.8, 17.2])


def line(data, **options):
    return forecast.Law("a + b*x", variables=["x"]).fit(data, **options).values


@pytest.fixture(scope="module")
def truth():
    return line({"x": X, "y": Y})


polars = pytest.importorskip("polars", reason="polars is not installed")


FRAMES = {
    "duplicate index": lambda: pd.DataFrame({"x": X, "y": Y}, index=[0] * 8),
    "multi index": lambda: pd.DataFrame({"k": list("abcdefgh"), "x": X, "y": Y}).set_index(["k", "x"]),
    "named index": lambda: pd.DataFrame({"y": Y}, index=pd.Index(X, name="x")),
    "categorical numbers": lambda: pd.DataFrame({"x": pd.Categorical(X), "y": Y}),
    "nullable": lambda: pd.DataFrame({"x": X.astype(int), "y": Y}).astype({"x": "Int64", "y": "Float64"}),
    "object": lambda: pd.DataFrame({"x": X.astype(object), "y": Y}),
    "decimal": lambda: pd.DataFrame({"x": [decimal.Decimal(int(v)) for v in X], "y": Y}),
    "polars": lambda: polars.DataFrame({"x": X, "y": Y}),
    "polars integers": lambda: polars.DataFrame({"x": X.astype(int), "y": Y}),
    "polars decimal": lambda: polars.DataFrame({"x": X, "y": Y}).cast({"x": polars.Decimal(20, 2)}),
    "polars lazy": lambda: polars.DataFrame({"x": X, "y": Y}).lazy(),
    "polars series": lambda: {"x": polars.Series(X), "y": polars.Series(Y)},
    "dataset": lambda: xr.Dataset({"x": ("run", X), "y": ("run", Y)}),
    "named array": lambda: xr.DataArray(Y, dims="x", coords={"x": X}, name="y"),
    "stacked": lambda: xr.Dataset({"x": (("k", "j"), X.reshape(4, 2)), "y": (("k", "j"), Y.reshape(4, 2))}).stack(
        run=("k", "j")
    ),
    "other order of dims": lambda: xr.Dataset(
        {"x": (("a", "b"), X.reshape(4, 2)), "y": (("b", "a"), Y.reshape(4, 2).T)}
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", FRAMES)
def test_bad_input_044_every_kind_of_table_gives_the_same_fit(kind, truth):
    assert line(FRAMES[kind]()) == pytest.approx(truth, rel=1e-9)


def test_bad_input_044_missing_is_missing_in_every_library():
    for data in (
        pd.DataFrame({"x": pd.array([1, None, 3], dtype="Int64")}),
        pd.DataFrame({"x": pd.Categorical([1.0, None, 3.0])}),
        polars.DataFrame({"x": [1, None, 3]}),
        {"x": np.ma.array([1, 2, 3], mask=[0, 1, 0])},
    ):
        np.testing.assert_array_equal(to_columns(data)["x"], [1, np.nan, 3])
    for data in (
        pd.DataFrame({"t": ["a", None]}),
        pd.DataFrame({"t": pd.Categorical(["a", None])}),
        polars.DataFrame({"t": ["a", None]}),
        polars.DataFrame({"t": ["a", None]}, schema={"t": polars.Categorical}),
    ):
        assert to_columns(data)["t"].tolist() == ["a", ""]
    nullable = pd.DataFrame({"x": X, "y": pd.array([*Y[:-1], None], dtype="Float64")})
    assert line(nullable) == line({"x": X[:-1], "y": Y[:-1]})


def test_bad_input_044_labels_are_respected_and_order_is_irrelevant(truth):
    order = [5, 2, 7, 0, 1, 3, 6, 4]
    x, y = pd.Series(X, index=list("abcdefgh")), pd.Series(Y, index=list("abcdefgh"))
    assert line({"x": x, "y": y.iloc[order]}) == pytest.approx(truth, rel=1e-9)
    xa, ya = (xr.DataArray(v, dims="run", coords={"run": list("abcdefgh")}) for v in (X, Y))
    assert line({"x": xa, "y": ya.isel(run=order)}) == pytest.approx(truth, rel=1e-9)
    for a, b in ((x, y.iloc[:7]), (x, y.rename({"a": "z"})), (xa, ya.isel(run=slice(7))), (xa, ya.isel(run=[0] * 8))):
        with pytest.raises(DataError, match=r"labels .*differ"):
            line({"x": a, "y": b})


def test_bad_input_044_a_number_for_all_rows_in_a_dataset():
    ds = xr.Dataset({"x": ("run", X), "y": ("run", Y), "offset": 2.0})
    assert to_columns(ds)["offset"].tolist() == [2.0] * 8
    with pytest.raises(EmptyDataError):
        to_columns(xr.Dataset({"x": 1.0}))


def test_bad_input_044_lazy_arrays(truth):
    pytest.importorskip("dask.array", reason="dask is not installed")
    assert line(xr.Dataset({"x": ("run", X), "y": ("run", Y)}).chunk(run=3)) == pytest.approx(truth, rel=1e-9)


def test_bad_input_042_integers_become_floats_before_arithmetic():
    big = np.array([10**7, 2 * 10**7, 3 * 10**7, 4 * 10**7])
    data = {"x": big, "y": 1e-21 * big.astype(float) ** 3 + [1.0, 1.1, 0.9, 1.0]}
    whole = line(data, let={"x": "x**3"})
    assert whole == pytest.approx(line({**data, "x": big.astype(float)}, let={"x": "x**3"}))
    assert to_columns({"x": [2**53 + 1, 2**70, 1]})["x"].tolist() == [float(2**53 + 1), float(2**70), 1.0]
    assert to_columns({"x": np.array([2**63], dtype=np.uint64)})["x"].tolist() == [2.0**63]
    with pytest.raises(DataError, match="outside the range"):
        to_columns({"x": [10**400, 1]})["x"]


def test_bad_input_043_types_of_arrays(truth):
    for kind in (np.float32, np.float16):
        assert line({"x": X.astype(kind), "y": Y.astype(np.float32)}) == pytest.approx(truth, rel=1e-5)
    assert line({"x": [decimal.Decimal(str(v)) for v in X], "y": Y}) == pytest.approx(truth, rel=1e-9)
    assert to_columns({"on": np.array([True, False])})["on"].tolist() == [1.0, 0.0]
    assert np.isnan(to_columns({"x": [decimal.Decimal("nan"), decimal.Decimal(1)]})["x"][0])
    masked = np.ma.array(Y, mask=np.arange(8) == 2)
    assert line({"x": X, "y": masked}) == line({"x": np.delete(X, 2), "y": np.delete(Y, 2)})
    for wrong in (
        X.astype(complex),
        [1j] * 8,
        np.array([object()] * 8),
        [{}] * 8,
        X.astype("timedelta64[s]"),
        np.zeros(8, dtype=[("a", float)]),
    ):
        with pytest.raises(DataError):
            line({"x": wrong, "y": Y})


@pytest.mark.parametrize("what", ["struct", "list", "duration"])
def test_bad_input_043_polars_columns_that_are_no_numbers(what):
    frame = polars.DataFrame({
        "struct": [{"a": 1}], "list": [[1]], "duration": [datetime.timedelta(1)], "x": [3],
    })  # fmt: skip
    assert to_columns(frame)["x"].tolist() == [3]
    with pytest.raises(DataError, match=f"'{what}'"):
        to_columns(frame)[what]


@pytest.mark.parametrize("layout", ["read-only", "reversed", "strided", "big-endian"])
def test_bad_input_045_layouts_in_memory(layout, truth):
    def laid(values):
        if layout == "read-only":
            copy = values.copy()
            copy.flags.writeable = False
            return copy
        return {"reversed": values[::-1], "strided": np.repeat(values, 2)[::2], "big-endian": values.astype(">f8")}[
            layout
        ]

    assert line({"x": laid(X), "y": laid(Y)}) == pytest.approx(truth, rel=1e-9)


def test_dates_of_every_library_are_one():
    days = [datetime.date(2020, 1, 1), datetime.date(2021, 6, 1)]
    want = np.array(days, dtype="datetime64[s]")
    for data in ({"t": days}, polars.DataFrame({"t": days}), pd.DataFrame({"t": pd.to_datetime(days)})):
        np.testing.assert_array_equal(to_columns(data)["t"], want)


@pytest.mark.parametrize("data", [None, 5, [1, 2], b"x", {1, 2}, object(), np.zeros(3), pd.Series(X)])
def test_what_is_no_table_says_so(data):
    with pytest.raises(DataError, match="expected a Dataset, DataFrame"):
        to_columns(data)


def test_parquet_is_read_like_a_frame(tmp_path, truth):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    path = tmp_path / "runs.parquet"
    pd.DataFrame({"x": X, "y": Y, "kind": ["a"] * 8}).to_parquet(path)
    assert line(path) == pytest.approx(truth, rel=1e-9)
    assert to_columns(path)["kind"].tolist() == ["a"] * 8
    import pyarrow.parquet as pq

    assert line(pq.read_table(path)) == pytest.approx(truth, rel=1e-9)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"runs\.parquet: not a Parquet file"):
        to_columns(path)
    with pytest.raises(DataError, match="no such file"):
        to_columns(tmp_path / "none.parquet")


def test_parquet_without_pyarrow_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(UsageError, match=r"lawcast\[parquet\]"):
        to_columns(tmp_path / "a.parquet")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_numbers_of_a_large_file_are_read_without_a_text_of_any_cell(tmp_path, monkeypatch, separator):
    head, row = separator.join(f"c{i}" for i in range(30)), separator.join(["1.25"] * 30)
    count = delimited_text.MIN_LARGE_BYTES // len(row) + 1
    (tmp_path / "wide.csv").write_text("\n".join([head, *[row] * count]) + "\n")
    monkeypatch.setattr(delimited_text, "_read_texts", lambda *_: pytest.fail("a column is taken out as text"))
    read = to_columns(tmp_path / "wide.csv")
    assert (read.numeric("c3").size, float(read.numeric("c3")[-1])) == (count, 1.25)
