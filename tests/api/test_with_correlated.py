"""`Scenario.with_` of what moves together with others, and of a regime."""

import pytest

import forecast
from forecast.errors import UnknownNameError

SCENARIO = {
    "start": 2025,
    "until": 2027,
    "quantities": {
        "a": {"lognormal": [1, 4], "unit": ""},
        "b": {"lognormal": [1, 4], "unit": ""},
        "kind": {"draw": {"fast": 0.3, "slow": 0.7}},
        "x": {"expression": "a*b*where(kind == 'fast', 2, 1)*(t - start + 1)"},
    },
    "correlations": [{"of": ["a", "b"], "rho": 0.5}],
    "questions": {"far": {"when": "x >= 5"}},
}


@pytest.fixture(scope="module")
def scenario():
    return forecast.scenario(SCENARIO)


def worlds(scenario, name, **how):
    return forecast.project(scenario, draws=64, **how).quantities[name].worlds


@pytest.mark.parametrize(("name", "other"), [("a", "b"), ("b", "a")])
@pytest.mark.parametrize("value", [2, {"expression": "1 + 1"}])
def test_what_moves_together_with_others_is_replaced_and_the_others_stay(scenario, name, other, value):
    changed = scenario.with_(**{name: value})
    assert worlds(changed, other).equals(worlds(scenario, other))
    assert (worlds(changed, name) == 2).all()
    # as by setting
    assert worlds(changed, "x").equals(worlds(scenario, "x", with_={name: 2}))


def test_another_distribution_still_moves_together(scenario):
    changed = scenario.with_(b={"lognormal": [2, 8], "unit": ""})
    assert worlds(changed, "b").values == pytest.approx(2 * worlds(scenario, "b").values)


def test_a_regime_is_one_of_its_labels(scenario):
    fast = scenario.with_(kind="fast")
    assert worlds(fast, "x").equals(worlds(scenario, "x", with_={"kind": "fast"}))
    assert (worlds(fast, "kind") == 0).all()
    with pytest.raises(UnknownNameError, match="unknown label 'fasst'; did you mean 'fast'"):
        scenario.with_(kind="fasst")
