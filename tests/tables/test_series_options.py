"""A column as a series: formulas over columns, records, rows since a date, rows with holes."""

import datetime

import numpy as np
import pytest

import forecast
from forecast.errors import EmptyDataError, PluginContractError, UnitError, UnknownNameError, UsageError
from forecast.tables import series

DATA = {
    "year": [2000.0, 2001.0, 2001.0, 2002.0, 2003.0, 2004.0],
    "speed": [1.0, 3.0, 4.0, 2.0, float("nan"), 8.0],
    "price": [10.0, 10.0, 20.0, 10.0, 10.0, 10.0],
}


def test_a_formula_over_columns():
    time, value, unit, *_ = series.read_columns(DATA, x="year", y="speed/price")
    assert value.tolist() == [0.1, 0.3, 0.2, 0.2, 0.8]
    assert time.tolist() == [2000, 2001, 2001, 2002, 2004]
    assert unit is None


def test_a_formula_has_the_unit_of_its_columns():
    _time, value, unit, *_ = series.read_columns(
        "datasets/supercomputers", x="date", y="rmax_top1/power_top1", where={"status": "verified"}
    )
    assert forecast.units.same_dimension(unit, "FLOP/s/W")
    assert (value > 0).all()
    with pytest.raises(UnitError):
        series.read_columns(
            "datasets/supercomputers", x="date", y="rmax_top1 + power_top1", where={"status": "verified"}
        )


def test_records_are_the_running_maximum_without_its_repetitions():
    time, value, *_ = series.read_columns(DATA, x="year", y="speed", records=True)
    assert value.tolist() == [1.0, 4.0, 8.0]
    assert time.tolist() == [2000.0, 2001.0, 2004.0]


def test_rows_since_a_date():
    time, _, *_ = series.read_columns(DATA, x="year", y="speed", since="2002-01-01")
    assert time.tolist() == [2002.0, 2004.0]
    with pytest.raises(EmptyDataError, match="since 2030-01-01"):
        series.read_columns(DATA, x="year", y="speed", since="2030-01-01")
    with pytest.raises(PluginContractError, match="since"):
        forecast.TrendSpec(
            name="a", title="t", reference="r", unit="", shape="s", table="t", x="x", y="y", since="then"
        )


@pytest.mark.parametrize("since", [2012, 2012.5, "now", "2001-13-01", np.datetime64("NaT"), ["2001"]])
def test_since_is_text_or_a_date(since):
    options = {"shape": "trends/exponential", "x": "year", "y": "speed", "unit": ""}
    with pytest.raises((UsageError, EmptyDataError), match=r"trend: (since: expected a date such as|no row)"):
        forecast.trend(DATA, **options, since=since).fit()
    for first in ("2001-06-01", datetime.date(2001, 6, 1), np.datetime64("2001-06-01")):
        assert series.read_columns(DATA, x="year", y="speed", since=first)[0].tolist() == [2002.0, 2004.0]


def test_further_columns_have_names():
    with pytest.raises(UsageError, match="series: covariates: expected a mapping of name to column, got None"):
        series.read_columns(DATA, x="year", y="speed", covariates=None)


def test_an_unknown_column_of_a_formula_is_named():
    with pytest.raises(UnknownNameError, match=r"'prize'.*'price'"):
        series.read_columns(DATA, x="year", y="speed/prize")


def test_rows_with_holes_are_left_out():
    columns = forecast.tables.to_columns(DATA, where="test")
    whole = series.complete(columns, ["speed/price", "year"], "test")
    assert whole.rows == 5
    assert np.isfinite(whole.numeric("speed")).all()
    empty = {**DATA, "speed": [float("nan")] * 6}
    with pytest.raises(EmptyDataError, match="speed"):
        series.complete(forecast.tables.to_columns(empty, where="test"), ["speed"], "test")


def test_records_end_at_the_last_date_at_which_the_last_one_still_stands():
    data = {
        "year": [2000.0, 2001.0, 2002.0, 2003.0, 2004.0],
        "y": [1.0, 3.0, 2.0, 5.0, 4.0],
        "n": [1.0, 2.0, 3.0, 4.0, 5.0],
    }
    time, value, _, covariates, *_ = series.read_columns(data, x="year", y="y", covariates={"n": "n"}, records=True)
    assert time.tolist() == [2000.0, 2001.0, 2003.0, 2004.0]
    assert value.tolist() == [1.0, 3.0, 5.0, 5.0]
    assert covariates["n"].tolist() == [1.0, 2.0, 4.0, 5.0]
    time, value, *_ = series.read_columns(data, x="year", y="y", covariates={}, records=True, as_of=2003.5)
    assert (time[-1], value[-1]) == (2003.0, 5.0)  # the last record is the last row: nothing to add
