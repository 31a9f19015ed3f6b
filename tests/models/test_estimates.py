from __future__ import annotations

import numpy as np
import pytest

import forecast
from forecast.contract.specs import Input
from forecast.errors import FormulaError, PluginContractError, ScenarioError, UnitError, UsageError
from forecast.models.check_output import checked_model
from forecast.streams import DRAWS_PER_BLOCK, Streams

INPUTS = {"synapses": {"p05": 1e14, "p95": 1e15, "unit": "FLOP"}, "rate": {"value": 2.0, "unit": "1/s"}}


def brain(expression="synapses*rate", **options):
    return forecast.estimate(expression, **{"inputs": INPUTS, "unit": "FLOP/s", "name": "brain", **options}).model


def sample(model, **drawn):
    given = {k: np.full(DRAWS_PER_BLOCK, v) if np.isscalar(v) else v for k, v in drawn.items()}
    return model.fit().sample(np.array([2025.0, 2026.0]), given, Streams(0, model.name, 0))


def test_the_formula_is_evaluated_over_the_draws_of_its_inputs():
    drawn = np.linspace(1, 2, DRAWS_PER_BLOCK)
    level = sample(brain(), synapses=drawn, rate=3.0)
    assert level.shape == (2, DRAWS_PER_BLOCK)
    assert (level == 3 * drawn).all()


def test_inputs_in_other_units_are_converted():
    made = brain("synapses*rate", inputs={**INPUTS, "rate": {"value": 1.0, "unit": "1/minute"}})
    assert sample(made, synapses=60.0, rate=1.0)[0, 0] == pytest.approx(1.0)
    assert sample(brain(unit="TFLOP/s"), synapses=1e12, rate=1.0)[0, 0] == pytest.approx(1.0)


def test_a_number_an_input_and_a_record_are_the_same():
    ways = [
        {"x": 3.0},
        {"x": {"value": 3.0}},
        {"x": Input(name="x", unit="", distribution={"value": 3.0}, source="given")},
        (Input(name="x", unit="", distribution={"value": 3.0}, source="given"),),
    ]
    made = [forecast.estimate("2*x", inputs=w, unit="", name="a").model for w in ways]
    assert len({m.inputs["x"].distribution["value"] for m in made}) == 1
    assert all(checked_model(m, "test") is m for m in made)
    run = forecast.project({"start": 2025, "until": 2026, "quantities": {"x": {"model": made[0]}}}, draws=2)
    assert (run["projection"]["x"].values == 6).all()


def test_it_says_what_it_rests_on():
    said = brain(note="a lower bound", sources=("a book",)).fit().describe()
    assert said.summary == "a formula over 2 inputs, 1 of them uncertain (synapses); a lower bound"
    assert said.sources == ("a book",)
    assert said.assumptions[0] == "brain = synapses*rate"
    assert "synapses [FLOP]: lognormal, p05 = 1e+14, p95 = 1e+15 (given)" in said.assumptions


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"expression": "synapses*rat"}, UsageError, "brain: the formula uses 'rat', which is not among its inputs"),
        ({"expression": "synapses + rate"}, UnitError, "brain"),
        ({"expression": "synapses"}, UnitError, "brain: the formula against its declared unit"),
        ({"expression": "synapses*"}, FormulaError, "brain"),
        ({"expression": "__import__('os').system('touch P')"}, FormulaError, "brain"),
        ({"inputs": {"__import__('os')": 1}}, FormulaError, "brain"),
        ({"inputs": {"x": {"p05": 2, "p95": 1}}, "expression": "x"}, ScenarioError, "brain.x: quantiles must"),
        ({"inputs": {"x": {"value": "3"}}, "expression": "x"}, ScenarioError, "brain.x.value: expected a finite"),
        ({"inputs": {"x": {"value": 3, "unit": 7}}, "expression": "x"}, PluginContractError, "unit: expected text"),
        ({"inputs": {"x": {"value": 3, "unit": "FLOPP"}}, "expression": "x"}, UnitError, "FLOPP"),
        ({"unit": "furlongs per"}, UnitError, "brain"),
    ],
)  # fmt: skip
def test_what_makes_no_estimate(change, error, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=says) as caught:
        brain(**change)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
