"""What a user sets is refused where it cannot be, with the name and the limit."""

from __future__ import annotations

import pytest

import forecast
from forecast.contract.specs import Input
from forecast.errors import PluginContractError, ScenarioError, UsageError
from forecast.scenarios import settings
from forecast.sensitivity.estimates import attribution

SPAN = {"start": 2025, "until": 2027}


def run(quantities, **given):
    return forecast.project({**SPAN, "quantities": quantities}, draws=2, set=given)


def test_a_number_is_read_as_it_is_typed():
    assert [settings.number("x", text) for text in ("24", "-1e3", " 5".strip(), ".5")] == [24.0, -1000.0, 5.0, 0.5]
    for wrong in ("1_000", "nan", "inf", "", "ten", True, None, 10**400):
        with pytest.raises(UsageError, match=r"^set x: expected a finite number, got "):
            settings.number("x", wrong)


def test_a_bound_is_named_with_its_unit_and_is_itself_allowed():
    assert settings.number("memory", "0", lower=0.0) == 0.0
    with pytest.raises(UsageError, match=r"^set memory: expected at least 0 GiB, got -5$"):
        settings.number("memory", "-5", lower=0.0, unit="GiB")
    with pytest.raises(UsageError, match=r"^set stages: expected at least 1, got 0$"):
        settings.number("stages", 0, lower=1.0)


def test_a_quantity_that_is_stated_as_positive_cannot_be_set_below_0():
    for stated in ({"p05": 0.4, "p95": 1.4}, {"low": 1, "high": 4, "family": "loguniform"}):
        size = {**stated, "unit": "nm"}
        with pytest.raises(UsageError, match=r"^set size: expected at least 0 nm, got -1$"):
            run({"size": size}, size=-1)
        assert float(run({"size": size}, size=0)["projection"]["size"].max()) == 0.0


@pytest.mark.parametrize("stated", [{"value": 0.05}, {"p05": -1, "p95": 2}, {"low": 0, "high": 4}])
def test_a_growth_may_be_set_negative(stated):
    assert float(run({"growth": {**stated, "unit": "1/year"}}, growth="-0.02")["projection"]["growth"].max()) == -0.02


@pytest.mark.parametrize(
    "quantity",
    [
        {"value": 3000, "unit": "USD"},
        {"model": forecast.estimate("a", inputs={"a": {"value": 1.0, "unit": "USD"}}, unit="USD", name="money")},
        {"expression": "other*2"},
    ],
    ids=["number", "model", "expression"],
)
def test_a_scenario_states_the_least_that_a_quantity_may_be_set_to(quantity):
    quantities = {"other": {"value": 1, "unit": "USD"}, "budget": {**quantity, "lower": 10}}
    with pytest.raises(UsageError, match=r"^set budget: expected at least 10.*, got 9$"):
        run(quantities, budget=9)
    assert float(run(quantities, budget=10)["projection"]["budget"].max()) == 10
    run(quantities)


def test_a_bound_that_is_none_is_refused():
    with pytest.raises(ScenarioError, match=r"quantities\.x\.lower: expected a number, got zero"):
        run({"x": {"value": 1, "unit": "", "lower": "zero"}})
    with pytest.raises(ScenarioError, match=r"quantities\.x\.lower: the quantity itself holds 1, below 2"):
        run({"x": {"value": 1, "unit": "", "lower": 2}})
    with pytest.raises(PluginContractError, match="Input 'a': lower: its distribution holds 1, below 2"):
        Input(name="a", unit="", distribution={"value": 1.0}, source="s", lower=2.0)
    with pytest.raises(PluginContractError, match="lower: expected a number or None"):
        Input(name="a", unit="", distribution={"value": 1.0}, source="s", lower="0")  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["stages", "hardware/pipeline-bubble.stages", "pipeline-bubble.stages", "x.stages"])
def test_an_input_states_its_own_under_every_name_it_has(key):
    model = {"model": "hardware/pipeline-bubble"}
    if key != "stages":
        with pytest.raises(UsageError, match=rf"^set {key}: expected at least 1, got 0$"):
            run({"x": model}, **{key: 0})
        assert float(run({"x": model}, **{key: 1})["projection"]["x"].max()) == 0.0
    else:
        with pytest.raises(UsageError, match=r"^set stages: expected at least 1, got 0$"):
            attribution("hardware/pipeline-bubble", draws=1000, set={"stages": 0})


@pytest.mark.parametrize(
    ("scenario", "key", "unit"),
    [
        ("gpu-limit", "smallest", " nm"),
        ("gpu-limit", "area", " mm**2"),
        ("scaling-ends", "ceiling_power", " MW"),
        ("scaling-ends", "ceiling-power.most", " MW"),
        ("gpu-choice", "memory", " GiB"),
        ("gpu-choice", "budget", " USD"),
        ("gpu-choice", "training-16bit-memory.layers", ""),
        ("gpu-capability", "gpu-peak-fp32@logistic.cap", " TFLOP/s"),
        ("brain-parity", "dettmers-2015.firing_rate", " 1/s"),
    ],
)
def test_what_is_never_negative_is_not_answered_as_if_it_could_be(scenario, key, unit):
    with pytest.raises(UsageError, match=rf"^set {key}: expected at least 0{unit.replace('*', '.')}, got -5$"):
        forecast.project(scenario, draws=2, set={key: -5})


@pytest.mark.parametrize(
    ("scenario", "given"),
    [
        ("gpu-cluster", {"chips": 0}),
        ("gpu-delivered", {"columns": 0}),
        ("gpu-limit", {"area": -1}),
        ("scaling-ends", {"ceiling_power": -5}),
        ("brain-parity", {"brain": -5}),
    ],
)
def test_what_no_machine_can_have_is_refused(scenario, given):
    with pytest.raises(UsageError, match=rf"^set {next(iter(given))}: expected at least [01]"):
        forecast.project(scenario, set=given, draws=10)
