import numpy as np
import pytest

import forecast
from forecast.errors import FitError
from forecast.fit.inference import profile_endpoints

X = np.geomspace(10, 1e4, 40)


def noise(n, seed=0):
    return np.exp(0.02 * np.random.default_rng(seed).standard_normal(n))


POWER, SATURATING = forecast.law("scaling/power"), forecast.law("scaling/saturating-power")
LOGISTIC = forecast.Law("K/(1 + exp(-r*(t - t0)))", variables=["t"], positive=["K", "r"], objective="least_squares_log")


def test_a_good_design_is_identified():
    fit = SATURATING.fit({"x": X, "y": (1.7 + 8 * X**-0.35) * noise(40)})
    assert fit.verdict.endswith("all parameters identified")
    assert fit.diagnostics.flagged == ()


@pytest.mark.parametrize("seed", range(3))
def test_bad_input_048_a_saturating_law_without_slope_is_flagged(seed):
    fit = SATURATING.fit({"x": X, "y": 2 * noise(40, seed)})
    assert {"c"} <= set(fit.diagnostics.unidentified)
    assert "not identified" in fit.verdict


def test_bad_input_029_identical_x():
    with pytest.raises(FitError, match="beta, c are not identified: all 40 rows have x = 1; add rows"):
        POWER.fit({"x": np.ones(40), "y": 2 * noise(40)})
    fixed = POWER.with_(c=0.3).fit({"x": np.ones(40), "y": 2 * noise(40)})
    assert fixed.values["beta"] == pytest.approx(2, rel=0.02)


@pytest.mark.parametrize("scatter", [0.0, 0.001, 0.02, 0.1])
@pytest.mark.parametrize("row", [0, 7, 29])
def test_bad_input_039_wherever_the_outlier_is_the_robust_objective_finds_the_law(row, scatter):
    x = np.geomspace(10, 1e4, 30)
    y = 8 * x**-0.3 * np.exp(scatter * np.random.default_rng(1).standard_normal(30))
    clean = POWER.fit({"x": x, "y": y}, objective="huber_log")
    y[row] *= 1e6
    robust = POWER.fit({"x": x, "y": y}, objective="huber_log")
    assert robust.converged
    assert robust.values["c"] == pytest.approx(clean.values["c"], rel=0.05)


def test_bad_input_032_rows_a_hundred_times_are_pointed_out():
    fit = POWER.fit({"x": np.tile(X, 100), "y": np.tile(3 * X**-0.3 * noise(40), 100)})
    assert any("4000 rows are only 40 different ones" in w for w in fit.warnings)
    replicates = POWER.fit({"x": np.tile(X, 2), "y": np.tile(3 * X**-0.3, 2) * noise(80)})
    assert not any("different ones" in w for w in replicates.warnings)


def test_bad_input_039_one_gross_outlier_is_named_and_the_robust_objective_stands_it():
    x, y = X[:30], 8 * X[:30] ** -0.35 * noise(30)
    clean = POWER.fit({"x": x, "y": y})
    assert clean.diagnostics.influential == ""
    y = np.where(np.arange(30) == 12, y * 1e6, y)
    assert "row 13 decides" in POWER.fit({"x": x, "y": y}).verdict
    robust = POWER.fit({"x": x, "y": y}, objective="huber_log")
    assert robust.values["c"] == pytest.approx(clean.values["c"], rel=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_bad_input_049_a_logistic_seen_to_its_midpoint_is_flagged(seed):
    half, whole = np.linspace(0, 10, 60), np.linspace(0, 20, 60)
    for t, flagged in ((half, ("t0",)), (whole, ())):
        y = LOGISTIC.value({"K": 10, "r": 0.6, "t0": 10.0}, t=t) * noise(60, seed)
        assert LOGISTIC.fit({"t": t, "y": y}).diagnostics.flagged == flagged


@pytest.mark.parametrize("objective", ["least_squares_log", pytest.param("huber_log", marks=pytest.mark.slow)])
def test_bad_input_089_a_collinear_design_is_flagged(objective):
    size = np.geomspace(1e7, 1e10, 60)
    loss = (1.8 + 480 * size**-0.35 + 2100 * (20 * size) ** -0.37) * noise(60, 1)
    law = forecast.law("scaling/chinchilla")
    fit = law.fit({"N": size, "D": 20 * size, "loss": loss}, objective=objective)
    assert {"A", "alpha", "B", "beta"} <= set(fit.diagnostics.unidentified)
    assert "D = 20*N" in fit.diagnostics.unidentified["A"] or objective == "least_squares_log"


def test_bad_input_091_a_break_outside_the_data_is_not_identified_and_equals_the_power_fit():
    x = np.geomspace(1, 1e4, 60)
    y = 3 * x**-0.3
    fit = forecast.law("scaling/broken-power").fit({"x": x, "y": y})
    assert "d1" in fit.diagnostics.unidentified
    assert "not identified: " in fit.verdict
    for name in ("c0", "d1", "f1", "c1"):
        with pytest.raises(FitError, match="no interval"):
            fit.interval(name)
    single = POWER.fit({"x": x, "y": y})
    np.testing.assert_allclose(fit.law.value(fit.values, x=x), single.law.value(single.values, x=x), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 12])
def test_bad_input_091_a_break_that_only_the_noise_has_is_not_identified(seed):
    x = np.geomspace(1, 1e4, 60)
    data = {"x": x, "y": 3 * x**-0.3 * noise(60, seed)}
    fit, single = forecast.law("scaling/broken-power").fit(data), POWER.fit(data)
    assert {"d1", "f1"} <= set(fit.diagnostics.unidentified)
    apart = np.log(fit.law.value(fit.values, x=x) / single.law.value(single.values, x=x))
    assert np.sqrt(np.mean(apart**2)) < 0.01  # half the scatter of one point


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2])
def test_limits_that_are_not_there_are_given_up_soon(seed, monkeypatch):
    """Where a profile levels off below what is allowed, or breaks off, it is not followed for ever."""
    x = np.geomspace(1, 1e4, 60)
    y = (1 + 3 * x**-0.3) * np.exp(0.02 * np.random.default_rng(seed).standard_normal(60))  # no break at all
    law = forecast.law("scaling/broken-power")
    fit = law.fit({"x": x, law.output: y}, objective="least_squares_log")
    rounds = []
    make = profile_endpoints.refit
    monkeypatch.setattr(profile_endpoints, "refit", lambda *a, **k: rounds.append(a) or make(*a, **k))
    assert "f1" in fit.diagnostics.unidentified
    assert 0 < len(rounds) <= 120
    assert any(name in fit.diagnostics.flagged for name in ("d1", "c1"))


def test_a_ridge_says_which_parameters_move_together():
    fit = forecast.Law("a*b*x", variables=["x"], positive=["a", "b"]).fit({"x": X, "y": 3 * X * noise(40)})
    assert "a, b move together (a times 1.11, b times 0.905)" in fit.verdict


def test_published_parameters_are_not_judged():
    fit = forecast.law("scaling/chinchilla").published("besiroglu2024")
    assert fit.verdict.startswith("published parameters")
