from __future__ import annotations

import numpy as np
import pytest

import forecast
from forecast.errors import DataError, EmptyDataError, ForecastError, QualifierError, UnknownNameError, UsageError
from forecast.tables.series import read_columns, rows_as_of

DATA = {
    "date": np.array(["2003-01-01", "2001-01-01", "2002-01-01", "2004-01-01"], dtype="datetime64[s]"),
    "value": np.array([3.0, 1.0, np.nan, 4.0]),
    "kind": np.array(["a", "a", "a", "b"]),
}


def test_a_series_is_sorted_and_its_holes_are_left_out():
    time, value, unit, *_ = read_columns(DATA, x="date", y="value")
    assert time.tolist() == [2001.0, 2003.0, 2004.0]
    assert value.tolist() == [1.0, 3.0, 4.0]
    assert unit is None


def test_rows_are_chosen_by_a_column():
    assert read_columns(DATA, x="date", y="value", where={"kind": "a"})[1].tolist() == [1.0, 3.0]


def test_rows_are_those_known_before_a_date():
    assert read_columns(DATA, x="date", y="value", as_of=2003.5)[1].tolist() == [1.0, 3.0]
    late = {**DATA, "vintage": np.array(["2005-01-01"] * 3 + ["2004-01-01"], dtype="datetime64[s]")}
    assert read_columns(late, x="date", y="value", as_of=2004.5)[1].tolist() == [4.0]


def test_decimal_years_are_dates_too():
    assert read_columns({"t": [2001.5, 2000.25], "v": [1.0, 2.0]}, x="t", y="v")[0].tolist() == [2000.25, 2001.5]


def test_a_registered_table_brings_its_unit():
    time, value, unit, *_ = read_columns("datasets/supercomputers", x="date", y="rmax_top1")
    assert unit == "TFLOP/s"
    assert len(time) == len(value) == 67
    assert (np.diff(time) > 0).all()


def test_the_data_of_the_caller_are_left_alone():
    before = {k: v.copy() for k, v in DATA.items()}
    read_columns(DATA, x="date", y="value", where={"kind": "a"}, as_of=2003.5)
    assert all(np.array_equal(DATA[k], before[k], equal_nan=k == "value") for k in DATA)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"x": "dat"}, UnknownNameError, "unknown column 'dat'; did you mean 'date'"),
        ({"y": "values"}, UnknownNameError, "unknown column 'values'; did you mean 'value'"),
        ({"where": {"knd": "a"}}, UnknownNameError, "unknown column 'knd'; did you mean 'kind'"),
        ({"where": {"kind": "c"}}, EmptyDataError, "no row is left where kind = c"),
        ({"as_of": 1990.0}, EmptyDataError, "no row is left before 1990.00"),
        ({"x": "kind"}, DataError, "expected dates .* got text"),
        ({"y": "kind"}, DataError, "kind"),
        ({"where": {"kind": "a\x1b[2J"}}, EmptyDataError, r"a\\x1b\[2J"),
    ],
)
def test_what_cannot_be_read_is_said(change, error, says):
    with pytest.raises(error, match=says) as caught:
        read_columns(DATA, **{"x": "date", "y": "value", "name": "mine", **change})
    assert "\n" not in str(caught.value)


def test_no_value_at_all():
    with pytest.raises(EmptyDataError, match="column 'v' has no values"):
        read_columns({"t": [2000.0, 2001.0], "v": [np.nan, np.nan]}, x="t", y="v")


def test_a_value_without_a_date_is_left_out_and_said():
    data = {"t": [2000.0, np.nan, 2001.0, 2002.0, np.nan], "v": [1.0, 2.0, 4.0, np.nan, np.nan]}
    found = read_columns(data, x="t", y="v", covariates={})
    assert (found.time.tolist(), found.value.tolist()) == ([2000.0, 2001.0], [1.0, 4.0])
    assert (found.undated, found.empty) == (1, 2)
    data = {"t": [2000.0, 2001.0, 2002.0, np.nan, np.nan], "v": [1.0, 2.1, 3.9, 8.0, np.nan]}
    said = forecast.trend(data, shape="trends/exponential", x="t", y="v", unit="").fit().describe().summary
    assert said.endswith("; 1 row without a date left out; 1 row without a value left out")


def test_no_value_has_a_date():
    with pytest.raises(EmptyDataError, match="no row with 'v' has a date in 't'"):
        read_columns({"t": [np.nan, 2001.0], "v": [1.0, np.nan]}, x="t", y="v")


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinite_value_is_no_hole(value):
    data = {"t": [2000.0, 2001.0, 2002.0], "v": [1.0, value, 2.0], "w": [1.0, 0.0, 0.5]}
    with pytest.raises(DataError, match=r"mine: column 'v': infinite at 2001\.00; leave these rows out"):
        read_columns(data, x="t", y="v", name="mine")
    with pytest.raises(DataError, match=r"column '1/w': infinite at 2001\.00"):
        read_columns(data, x="t", y="1/w")
    with pytest.raises(DataError, match=r"column for 'more': column 'v': infinite at 2001\.00"):
        read_columns(data, x="t", y="w", covariates={"more": "v"})


@pytest.mark.parametrize("asked", [True, "true", "1"])
def test_truth_values_are_matched_as_they_are_written(asked):
    data = {"t": [2000.0, 2001.0, 2002.0], "v": [1.0, 2.0, 3.0], "ok": [True, False, True], "n": [0.0, 1.0, 2.0]}
    assert read_columns(data, x="t", y="v", where={"ok": asked})[1].tolist() == [1.0, 3.0]
    assert read_columns(data, x="t", y="v", where={"ok": "false"})[1].tolist() == [2.0]
    with pytest.raises(UsageError, match="ok: 'yes': expected a number, true or false"):
        read_columns(data, x="t", y="v", where={"ok": "yes"})
    with pytest.raises(UsageError, match=r"n: 'true': expected a number$"):
        read_columns(data, x="t", y="v", where={"n": "true"})


def test_rows_that_must_not_be_mixed_make_no_series():
    asked = {"x": "release_date", "y": "horizon"}
    says = r'mixes version TH1.0 and TH1.0-last and 3 more; keep one: where = \{ version = "TH1.0" \}'
    with pytest.raises(QualifierError, match=says):
        read_columns("datasets/time-horizons", **asked)
    one = read_columns("datasets/time-horizons", **asked, where={"version": "TH1.0"})[0]
    table = forecast.table("datasets/time-horizons")
    assert read_columns(table.sel(version="TH1.0"), **asked)[0].tolist() == one.tolist()


def test_without_dates_nothing_can_be_read_as_of_a_date():
    with pytest.raises(DataError, match="vintage"):
        rows_as_of({"n": [1.0, 2.0]}, where={}, as_of=2000.0, name="mine")


@pytest.mark.parametrize("data", ["no-such-table", "no-such-file.csv", {}, {"t": [1.0], "v": [1.0, 2.0]}])
def test_no_such_data(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ForecastError):
        read_columns(data, x="t", y="v")
