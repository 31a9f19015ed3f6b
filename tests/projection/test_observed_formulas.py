"""What was observed of formulas, and of pools of shapes: that of the quantity that they say, or are made of."""

import numpy as np
import pytest

import forecast
from forecast.errors import ScenarioError, UnknownNameError
from forecast.projection.result.observed_values import last_observation, observed_points

CARD = {"model": "hardware/gpu-peak-fp32", "shape": "trends/exponential"}


def record(**quantities):
    return {
        "title": "t", "start": 2026, "until": 2030, "questions": {"q": {"when": "y >= 1 EFLOP/s"}},
        "quantities": {"x": CARD, **quantities},
    }  # fmt: skip


def of(run, name="y", unit="TFLOP/s"):
    answer = run.answers["q"]
    return observed_points(answer, name, unit, answer.default)


def test_a_formula_is_observed_as_the_quantity_it_names_in_its_own_unit():
    y = {"expression": "maximum(x)", "unit": "PFLOP/s", "observed": "x"}
    run = forecast.project(record(y=y), draws=16)
    dates, values, names = of(run)
    assert dates.size > 10
    assert list(dates) == list(of(run, "x")[0])
    assert values == pytest.approx(of(run, "x")[1])
    assert run["observed/y"]["value"].attrs["units"] == "PFLOP/s"
    assert [name for name in names if name] == [name for name in of(run, "x")[2] if name]
    # a frontier stands at its record
    assert last_observation(run.answers["q"]).value == pytest.approx(max(values) / 1000)
    again = record(y={key: value for key, value in y.items() if key != "observed"})
    assert not of(forecast.project(again, draws=16))[0].size


def test_whose_observations_they_are_moves_with_a_name_in_front(tmp_path):
    home = tmp_path / "home.toml"
    home.write_text(
        forecast.scenario(record(y={"expression": "maximum(x)", "unit": "PFLOP/s", "observed": "x"})).to_toml()
    )
    made = {
        "title": "t", "use": {"mine": str(home)}, "start": 2026, "until": 2030,
        "questions": {"q": {"when": "mine.y >= 1 EFLOP/s"}},
    }  # fmt: skip
    run = forecast.project(made, draws=16)
    assert of(run, "mine.y")[0].size > 10


def test_a_name_that_is_no_quantity_is_refused():
    with pytest.raises((UnknownNameError, ScenarioError), match=r"quantities\.y\.observed.*'nothing'"):
        forecast.project(record(y={"expression": "2*x", "observed": "nothing"}), draws=4)


def test_what_is_set_is_no_more_observed():
    y = {"expression": "maximum(x)", "unit": "PFLOP/s", "observed": "x"}
    run = forecast.project(record(y=y), draws=16, with_={"y": "1 PFLOP/s"})
    assert not of(run)[0].size


def test_a_pool_of_shapes_is_observed_as_its_series():
    one = {"model": "hardware/gpu-peak-fp32", "shape": "trends/pooled"}
    run = forecast.project(record(y=one), draws=16)
    assert list(of(run)[1]) == list(of(run, "x")[1])


def test_formulas_are_followed_and_those_through_time_are_not():
    quantities = {"half": {"value": 0.5, "unit": ""}, "y": {"expression": "half*z"}, "z": {"expression": "4*x"}}
    run = forecast.project(record(**quantities), draws=16)
    assert of(run)[1] == pytest.approx(2 * of(run, "x")[1])
    # what rests on itself, and what is read over time, was not observed
    loop = {
        "y": {"expression": "2*back", "unit": "FLOP/s", "before": 1e12},
        "back": {"expression": "previous(y) + x", "unit": "FLOP/s"},
    }
    for quantities in ({"y": {"expression": "maximum(x)"}}, {"y": {"expression": "x*(1 + t - start)"}}, loop):
        assert not np.size(of(forecast.project(record(**quantities), draws=8))[0])
