"""What a variable must be for an output, with the probability of never."""

import numpy as np
import pytest

import forecast
from forecast.errors import FitError, UnknownNameError, UsageError
from toolkit import training_runs


@pytest.fixture(scope="module")
def chinchilla():
    law = forecast.law("scaling/chinchilla")
    return law.fit(training_runs(80))


@pytest.fixture(scope="module")
def published():
    return forecast.law("scaling/chinchilla").published("besiroglu2024")


def test_the_answer_gives_the_output(published):
    found = published.invert(y=2.0, solve_for="N", D=1e12)
    v = published.values
    exact = ((2.0 - v["E"] - v["B"] * 1e12 ** -v["beta"]) / v["A"]) ** (-1 / v["alpha"])
    assert float(found["N"]) == pytest.approx(exact, rel=1e-10)
    assert found["N"].attrs["unit"] == "param"
    assert set(found.data_vars) == {"N"}
    assert "states no uncertainty" in found.attrs["no_interval"]


def test_the_interval_holds_the_estimate_and_never_is_a_probability(chinchilla):
    found = chinchilla.invert(y=2.1, solve_for="N", D=1e12, level=0.9)
    assert float(found["N_lower"]) < float(found["N"]) < float(found["N_upper"])
    assert 0 <= float(found["never"]) < 0.1
    wider = chinchilla.invert(y=2.1, solve_for="N", D=1e12, level=0.99)
    assert float(wider["N_lower"]) < float(found["N_lower"])
    assert float(wider["N_upper"]) > float(found["N_upper"])
    again = chinchilla.invert(y=2.1, solve_for="N", D=1e12, level=0.9)
    assert again.identical(found)


def test_below_the_asymptote_is_never(chinchilla):
    low = float(chinchilla.params["E"]) - 6 * float(chinchilla.stderr["E"])
    found = chinchilla.invert(y=max(low, 0.1), solve_for="N", D=1e12)
    assert float(found["never"]) > 0.98
    assert np.isinf(found["N"])
    assert np.isinf(found["N_upper"])
    assert "never reaches" in found.attrs["warnings"]


def test_what_is_passed_everywhere_is_already():
    x = np.linspace(-3, 3, 40)
    y = 5 + 2 * np.tanh(x) + 0.01 * np.random.default_rng(0).standard_normal(40)
    fit = forecast.Law("a + b*tanh(x)", variables=["x"]).fit({"x": x, "y": y})
    assert float(fit.invert(y=1.0, solve_for="x")["already"]) == 1.0
    assert float(fit.invert(y=9.0, solve_for="x")["never"]) == 1.0
    middle = fit.invert(y=5.0, solve_for="x")
    assert float(middle["x"]) == pytest.approx(0.0, abs=0.02)
    assert float(middle["x_lower"]) < float(middle["x"]) < float(middle["x_upper"])


def test_the_least_compute_is_the_inverse_of_the_best_split(chinchilla):
    found = chinchilla.invert(y=2.05, solve_for="compute", draws=200)
    best = chinchilla.allocate(compute=float(found["compute"]), draws=100)
    assert float(best["loss"]) == pytest.approx(2.05, rel=1e-9)
    assert float(found["compute_lower"]) < float(found["compute"]) < float(found["compute_upper"])
    never = chinchilla.invert(y=0.5, solve_for="compute", draws=200)
    assert float(never["never"]) == 1.0


def test_an_answer_far_from_the_data_is_flagged(chinchilla):
    found = chinchilla.invert(y=1.95, solve_for="N", D=1e12)
    assert found.attrs["extrapolation_decades"] > 1
    assert "decades outside its data" in found.attrs["warnings"]


def test_a_law_that_turns_back_says_so():
    x = np.linspace(-2, 4, 40)
    y = (x - 1) ** 2 + 0.01 * np.random.default_rng(0).standard_normal(40)
    fit = forecast.Law("a + b*(x - c)**2", variables=["x"]).fit({"x": x, "y": y})
    found = fit.invert(y=1.0, solve_for="x")
    assert float(found["x"]) == pytest.approx(0.0, abs=0.05)
    assert "more than once" in found.attrs["warnings"]


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"y": 2.0, "solve_for": "N"}, UsageError, "no value for the variable 'D'"),
        ({"y": 2.0, "solve_for": "N", "D": 1e12, "N": 1.0}, UsageError, "asked for and given"),
        ({"y": 2.0, "solve_for": "M", "D": 1e12}, UnknownNameError, "unknown variable 'M'"),
        ({"y": float("nan"), "solve_for": "N", "D": 1e12}, UsageError, "finite"),
        ({"y": "2", "solve_for": "N", "D": 1e12}, UsageError, "expected a number"),
        ({"y": 2.0, "solve_for": "N", "D": float("nan")}, UsageError, "finite"),
        ({"y": 2.0, "solve_for": "compute", "D": 1e12}, UsageError, "leaves both variables free"),
        ({"y": 2.0, "solve_for": "N", "D": 1e12, "level": 2}, UsageError, "between 0 and 1"),
        ({"y": 2.0, "solve_for": "compute", "cost": "6*N"}, FitError, "does not depend on 'D'"),
    ],
)
def test_wrong_questions(published, options, error, says):
    with pytest.raises(error, match=says):
        published.invert(**options)


def test_draws_are_bounded(chinchilla):
    with pytest.raises(UsageError, match="draws: expected an integer from 100"):
        chinchilla.invert(y=2.0, solve_for="N", D=1e12, draws=5)
