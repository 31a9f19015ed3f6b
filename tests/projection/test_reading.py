"""One figure out of a projection, as a claim names it."""

import numpy as np
import pytest

import forecast
from forecast.errors import FormulaError
from forecast.projection.claim_values import read_claim_value

SCENARIO = {
    "start": 2025,
    "until": 2030,
    "quantities": {"x": {"uniform": [1, 3], "unit": ""}, "gained": {"expression": "x*(t - start)"}},
    "questions": {"there": {"when": "gained >= 8"}},
}


def read(text, **more):
    return read_claim_value(forecast.project({**SCENARIO, **more}, draws=4096), text, where="demo")


def test_quantiles_shares_and_levels():
    # x is uniform: 8/x years, never where x < 1.6
    assert read("there p50") == pytest.approx(2025 + 8 / 2, abs=0.01)
    assert read("there p90") == np.inf
    assert read("there never") == pytest.approx(0.3, abs=0.01)
    assert read("there already") == 0
    assert read("there by 2029") == pytest.approx(0.5, abs=0.01)
    assert read("gained p50 2027") == pytest.approx(4, abs=0.02)
    assert read("gained mean 2029") == pytest.approx(8, abs=0.02)
    assert read("x p2.5") == pytest.approx(1.05, abs=0.01)


def test_worlds_count_by_their_weights():
    update = {"x": {"log_likelihood": "2*log(x)"}}  # density proportional to x squared: the median cubes to 14
    assert read("x p50", update=update) == pytest.approx(14 ** (1 / 3), abs=0.01)
    assert read("there never", update=update) == pytest.approx((1.6**3 - 1) / 26, abs=0.01)


def test_a_figure_is_of_one_combination():
    choices = {"low": {"values": ["1", "2"], "kind": "definition"}}
    quantities = {**SCENARIO["quantities"], "x": {"uniform": ["{low}", 3], "unit": ""}}
    with pytest.raises(FormulaError, match="demo: choose one of each choice in settings: low"):
        read("there p50", choices=choices, quantities=quantities)
