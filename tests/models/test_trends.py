from __future__ import annotations

import numpy as np
import pytest

import forecast
from forecast.errors import (
    DataError,
    FitError,
    ForecastError,
    PluginContractError,
    PluginError,
    UnitError,
    UnknownNameError,
)
from forecast.models import Shape, shape, trend
from forecast.models.check_output import checked_model
from forecast.streams import DRAWS_PER_BLOCK, Streams

DATA = {"year": [2000.0, 2005.0, 2010.0, 2015.0, 2020.0], "speed": [1.0, 9.0, 110.0, 900.0, 8800.0]}


def mine(data=DATA, **options):
    given = {"x": "year", "y": "speed", "unit": "TFLOP/s", "shape": "trends/exponential", **options}
    return trend(data, **given)


def test_a_trend_from_a_shape_and_a_column():
    fitted = mine().fit()
    assert fitted.describe().facts["doubling_years"] == pytest.approx(1.52, abs=0.02)
    points = fitted.observed()
    assert (points.time.tolist(), points.value.tolist(), points.unit) == (DATA["year"], DATA["speed"], "TFLOP/s")
    level = fitted.sample(np.array([2025.0, 2030.0]), {}, Streams(0, "mine", 0))
    assert level.shape == (2, DRAWS_PER_BLOCK)
    assert np.median(level, axis=1) == pytest.approx(fitted.central(np.array([2025.0, 2030.0])), rel=2e-3)


def test_a_model_keeps_the_protocol():
    assert checked_model(mine(name="machine"), "test").name == "machine"
    assert mine().inputs == {}


def test_a_column_with_a_unit_is_converted():
    import xarray as xr

    data = xr.Dataset({"speed": ("year", DATA["speed"], {"unit": "PFLOP/s"})}, coords={"year": DATA["year"]})
    assert mine(data).fit().observed().value == pytest.approx(np.array(DATA["speed"]) * 1000)
    with pytest.raises(UnitError, match=r"trend: column 'speed'.*PFLOP/s.*USD"):
        mine(data, unit="USD").fit()


def test_rows_are_chosen_and_cut_by_date():
    data = {**DATA, "kind": ["a", "a", "a", "a", "b"]}
    assert mine(data, where={"kind": "a"}).fit().observed().time.max() == 2015
    assert mine(data).fit(as_of=2012.0).observed().time.max() == 2010


def test_observed_adds_the_scatter_of_one_observation():
    fitted = mine().fit()
    time = np.array([2020.0])
    level, seen = (np.log(fitted.sample(time, {}, Streams(0, "m", 0), observed=o)) for o in (False, True))
    assert np.std(seen) > np.std(level)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"shape": "trends/exponentail"}, UnknownNameError, "unknown shape 'trends/exponentail'; did you mean"),
        ({"y": "sped"}, UnknownNameError, "unknown column 'sped'; did you mean 'speed'"),
        ({"x": "yaer"}, UnknownNameError, "unknown column 'yaer'; did you mean 'year'"),
        ({"data": "no-table"}, ForecastError, "no-table"),
        ({"data": {"year": [2000.0, 2001.0], "speed": [1.0, 2.0]}}, FitError, "at least 3 points, got 2"),
        ({"data": {"year": [2000.0] * 3, "speed": [1.0, 2.0, 3.0]}}, FitError, "more than one date"),
        (
            {"data": {**DATA, "speed": [1.0, 0.0, 1.0, 1.0, 1.0]}, "scale": "level"},
            DataError,
            "a value is 0, which a level never reaches; say scale count or signed",
        ),
        (
            {"data": {**DATA, "speed": [1.0, -3.0, 1.0, 1.0, 1.0]}, "scale": "level"},
            DataError,
            "-3 lies below its floor",
        ),
        ({"data": {**DATA, "speed": [1.0, 3.0, 2.0, 4.0, 5.0]}, "frontier": True}, DataError, "cannot fall"),
        ({"unit": "FLOPPY"}, UnitError, "FLOPPY"),
    ],
)
def test_what_makes_no_trend(change, error, says):
    data = change.pop("data", DATA)
    with pytest.raises(error, match=says) as caught:
        forecast.project({"start": 2025, "until": 2030, "quantities": {"x": {"model": mine(data, **change)}}}, draws=1)
    assert "\n" not in str(caught.value)


SHAPES = """
def forecast_shapes():
    for name in ("NotAShape", "Raises", "Wrong", "Missing"):
        yield ShapeSpec(name=name.lower(), target=f"fake_shapes:{name}", reference="a test")

def NotAShape():
    return 3

def Raises():
    raise RuntimeError("no shape today")

def Wrong():
    from forecast.models import Shape

    class Made(Shape):
        def fit(self, time, value, *, frontier=False, seed=0):
            return "fitted"

    return Made()
"""


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [
        ("notashape", PluginContractError, r"shape 'fake/notashape': expected a forecast\.models\.Shape, got int"),
        ("wrong", PluginContractError, "shape 'fake/wrong': fit returned str, not a FittedShape"),
        ("missing", PluginError, "shape 'fake/missing': cannot load 'fake_shapes:Missing'"),
        ("raises", PluginError, "no shape today"),
    ],
)
def test_a_shape_that_breaks_its_contract_is_named(fake_plugins, name, error, says):
    fake_plugins.add("fake", SHAPES, module="fake_shapes")
    model = mine(shape=f"fake/{name}", name="machine")
    with pytest.raises(error, match=says):
        forecast.project({"start": 2025, "until": 2030, "quantities": {"x": {"model": model}}}, draws=1)


def test_a_shape_may_be_given_itself():
    found = shape("trends/changepoint")
    assert isinstance(found, Shape)
    assert shape(found) is found
