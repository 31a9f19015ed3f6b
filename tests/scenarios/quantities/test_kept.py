"""What a quantity keeps because its model declares it, and how a scenario says otherwise."""

import numpy as np
import pytest

import forecast
from forecast import Scenario
from forecast.errors import ScenarioError, UnknownNameError, UsageError
from forecast.scenarios.graph import build

PLUGIN = """
def made(name, low, high, unit, **more):
    n = Input(name="n", unit=unit, distribution={"low": low, "high": high}, source="s")
    return EstimateSpec(name=name, unit=unit, expression="n", inputs=(n,), reference="r", **more)

def forecast_models():
    yield made("share", 0.2, 0.9, "", scale="share")
    yield made("percent", 10, 90, "percent", scale="share")
    yield made("beyond", 0.2, 1.4, "", scale="share")
    yield made("power", 1, 5, "GW", at_most=6.0)
    yield made("plain", 1, 5, "GW")
"""


def record(choices=None, **stated):
    made = {"start": 2026, "until": 2030, "quantities": {"x": stated}}
    return {**made, "choices": choices} if choices else made


def bounds(choices=None, **stated):
    limits = build(Scenario.from_dict(record(choices, **stated))).nodes["x"].limits
    return None if limits is None else limits.plain


@pytest.fixture(autouse=True)
def plugin(fake_plugins):
    fake_plugins.add("kept", PLUGIN)


def test_a_quantity_keeps_what_its_model_declares():
    assert bounds(model="hardware/hpcg") == {"keeps": "frontier"}
    assert bounds(model="kept/share") == {"scale": "share"}
    assert bounds(model="kept/power", limit="3 GW") == {"limit": "3 GW", "how": "hard", "at_most": 6.0}
    assert bounds(model="kept/power", at_most=2) == {"at_most": 2.0}
    assert bounds(model="kept/plain") is None


def test_models_of_choices_promise_what_all_of_them_do():
    every = {"m": ["kept/share", "kept/beyond"]}
    assert bounds(every, model="{m}") == {"scale": "share"}
    mixed = {"m": ["kept/power", "kept/plain"]}
    assert bounds(mixed, model="{m}") is None


def test_what_leaves_a_declared_share_fails_the_quantity():
    run = forecast.project(record({"m": ["kept/share", "kept/beyond"]}, model="{m}"), draws=50)
    (failed,) = run.attributes["failures"]
    assert "x (m = kept/beyond): quantities.x.scale: expected shares from 0 to 1, got 1." in failed
    whole = forecast.project(record(model="kept/percent"), draws=50)["projection"]["x"]
    assert float(whole.max()) > 80  # the whole of a percent is 100


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        (
            {"model": "kept/share", "scale": "linear"},
            r"quantities\.x\.scale: 'linear' contradicts the model 'kept/share'",
        ),
        ({"model": "hardware/hpcg", "keeps": "positive"}, r"which keeps 'frontier'; keeps = \"nothing\" sets aside"),
        ({"model": "kept/plain", "keeps": "share"}, r"quantities\.x\.keeps: 'share' is a scale: scale = \"share\""),
        ({"model": "kept/power", "at_most": 7}, r"at_most: 7 contradicts the model 'kept/power', never above 6"),
        ({"value": 1, "unit": "", "keeps": "nothing"}, r"sets aside what a model declares, and there is no model"),
    ],
)
def test_a_contradiction_is_refused(stated, says):
    with pytest.raises(ScenarioError, match=says):
        bounds(**stated)


def test_it_may_be_said_that_nothing_is_kept():
    assert bounds(model="kept/power", keeps="nothing") == {"keeps": "nothing"}
    made = forecast.project(record(model="hardware/gpu-bandwidth@random-walk", keeps="nothing"), draws=300)
    assert (np.diff(made["projection"]["x"].values, axis=0) < 0).any()
    beyond = forecast.project(record(model="kept/beyond", keeps="nothing"), draws=50)
    assert float(beyond["projection"]["x"].max()) > 1
    with pytest.raises(UnknownNameError, match=r"unknown word 'nothin'; did you mean 'nothing'"):
        bounds(model="kept/power", keeps="nothin")


def test_a_series_that_declares_nothing_keeps_a_frontier_where_the_scenario_says_so():
    named = "resources/horizon-th1-1@random-walk"
    assert bounds(model=named) is None
    kept = forecast.project(record(model=named, keeps="frontier"), draws=300)
    assert (np.diff(kept["projection"]["x"].values, axis=0) >= 0).all()
    assert "warnings" not in kept.to_xarray().attrs  # nothing had to be raised
    both = record(model=named, keeps="frontier")
    both["quantities"]["y"] = {"model": named}
    with pytest.raises(UsageError, match="differ in the shape, its options or what they keep"):
        build(Scenario.from_dict(both))
