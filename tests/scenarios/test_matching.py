"""Whatever an answer names can be set; what it does not depend on, and what nobody has, is refused."""

import numpy as np
import pytest

import forecast
from forecast.errors import UnitError, UnknownNameError, UsageError
from forecast.sensitivity.first_order import first_order
from tests.toolkit import assert_bitwise
from toolkit import sample

YEARS = np.arange(2000.0, 2021.0)
SERIES = {"t": YEARS, "y": np.exp(0.3 * (YEARS - 2000) + np.random.default_rng(0).normal(0, 1.5, 21))}
MACHINE = forecast.trend(SERIES, shape="trends/exponential", x="t", y="y", unit="FLOP/s", name="mine/machine").model
SCENARIO = {
    "until": 2060,
    "quantities": {
        "machine": {"model": MACHINE},
        "brain": {"lognormal": [1e5, 2e5], "unit": "FLOP/s"},
        "price": {"lognormal": [1, 9], "unit": "USD"},
        "reward": {"expression": "price*2"},
    },
    "questions": {"parity": {"when": "machine >= brain"}},
}
GROWTH = ("machine.growth", "mine/machine.growth")


def run(draws=500, scenario=SCENARIO, **given):
    return forecast.project(scenario, draws=draws, with_=given)


def test_every_driver_of_an_answer_can_be_set():
    tree = run()
    named = [row["name"] for row in first_order(tree, "parity")]
    assert {"brain", "mine/machine.growth"} <= set(named)
    for name in {*named} - {"price"}:  # of which a little may be blamed on chance
        value = 5.0 if name == "brain" else float(tree["posterior/mine/machine"][name.rpartition(".")[2]].median())
        rest = [row["name"] for row in first_order(run(**{name: value}), "parity")]
        assert name not in rest


@pytest.mark.parametrize("key", sample(GROWTH, 3))
@pytest.mark.parametrize("value", [0.2, "0.2", "20 percent/year", {"value": 0.2}])
def test_a_parameter_is_set_and_nothing_else_is_drawn_anew(key, value):
    before, after = run(), run(**{key: value})
    posterior = after["posterior/mine/machine"]
    assert (posterior["growth"] == 0.2).all()
    np.testing.assert_allclose(posterior["log_level"], before["posterior/mine/machine"]["log_level"], atol=1e-9)
    assert_bitwise(after["projection"]["brain"].values, before["projection"]["brain"].values)
    path = np.log(after["projection"]["machine"].values)
    np.testing.assert_allclose(np.diff(path, axis=0).mean(axis=0), 0.2, atol=1e-4)  # years of 365 and 366 days


def test_a_parameter_takes_a_range_or_a_distribution():
    ranged = run(**{"machine.growth": "0.1..0.3"})["posterior/mine/machine"]["growth"].values
    assert 0.1 <= ranged.min() < 0.105 < 0.29 < ranged.max() <= 0.3
    normal = run(2000, **{"machine.growth": {"normal": [0.1, 0.3]}})["posterior/mine/machine"]["growth"]
    assert np.quantile(normal, [0.05, 0.95]) == pytest.approx([0.1, 0.3], abs=0.01)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"machine.grwth": 1}, UnknownNameError, "did you mean 'mine/machine.growth'"),
        ({"machine.noise": 1}, UnknownNameError, "mine/machine.growth"),
        ({"machin.growth": 1}, UnknownNameError, "unknown choice, quantity or input 'machin.growth'"),
        ({"machine.growth": "1 USD"}, UnitError, "set mine/machine.growth: "),
        ({"machine.growth": "fast"}, UsageError, "set mine/machine.growth: expected a finite number, got 'fast'"),
        ({"brain.growth": 1}, UnknownNameError, "unknown choice, quantity or input 'brain.growth'"),
    ],
)
def test_what_is_no_parameter_is_refused(given, error, says):
    with pytest.raises(error) as caught:
        run(**given)
    assert says in str(caught.value)


def test_what_no_answer_depends_on_is_refused_with_what_it_depends_on():
    says = "no answer depends on it; what is asked depends on machine, brain"
    with pytest.raises(UsageError, match=f"swap reward: {says}"):
        forecast.project(SCENARIO, with_={"reward": "hardware/gpu-cost"}, draws=10)
    with pytest.raises(UsageError, match=f"set price: {says}"):
        run(scenario={**SCENARIO, "show": ["machine"]}, price=3)
    asked = {**SCENARIO["questions"], "paid": {"when": "reward >= 9 USD"}}
    # a run shows all quantities, or one of the questions depends on it, or it is shown by name
    for wider in ({}, {"questions": asked, "show": ["machine"]}, {"show": ["reward"]}, {"questions": {}}):
        assert float(run(scenario={**SCENARIO, **wider}, price=3)["projection"]["price"].max()) == 3.0


def test_what_is_swapped_in_moves_together_with_nothing_and_the_others_keep_their_draws():
    asked = {
        "start": 2025, "until": 2026,
        "quantities": {n: {"lognormal": [1, 4], "unit": ""} for n in "xyz"} | {"sum": {"expression": "x + y + z"}},
        "correlations": [{"of": ["x", "y", "z"], "rho": 0.9}],
        "questions": {"there": {"when": "sum >= 5"}},
    }  # fmt: skip
    before, after = (forecast.project(asked, draws=500, with_=swap)
                     for swap in ({}, {"x": "capability/ho-2024-pace"}))  # fmt: skip
    for name in "yz":
        np.testing.assert_array_equal(after["projection"][name].values, before["projection"][name].values)

    def together(run):
        return np.corrcoef(*(np.log(run["projection"][name].values[0]) for name in "xy"))[0, 1]

    assert together(before) > 0.85
    assert abs(together(after)) < 0.15
    assert "drawn on its own now: x" in str(after.warnings)
    assert "warnings" not in before.attributes
