import numpy as np
import pytest

import forecast
from forecast.errors import FitError, UnknownNameError, UsageError

X = np.geomspace(10, 1e4, 40)
NOISE = np.exp(0.02 * np.random.default_rng(0).standard_normal(40))
SATURATING = forecast.law("scaling/saturating-power")


def saturating():
    return SATURATING.fit({"x": X, "y": (1.7 + 8 * X**-0.35) * NOISE})


def test_a_linear_law_has_students_interval():
    fit = forecast.Law("a + b*x", variables=["x"]).fit({"x": X, "y": 2 + 3 * X + 40 * np.log(NOISE)})
    for name in ("a", "b"):
        assert fit.interval(name, method="profile") == pytest.approx(fit.interval(name, method="wald"), rel=1e-8)


def test_the_default_is_the_profile_and_its_ends_are_where_a_refit_says_so():
    fit = saturating()
    low, high = fit.interval("c")
    assert (low, high) == fit.interval("c", method="profile") != fit.interval("c", method="wald")
    t = 2.026192463029109  # Student's .975 for 37
    for end in (low, high):
        held = SATURATING.with_(c=end).fit({"x": X, "y": (1.7 + 8 * X**-0.35) * NOISE})
        assert held.objective == pytest.approx(fit.objective * (1 + t**2 / 37), rel=1e-8)


def test_the_interval_does_not_depend_on_how_the_law_is_written():
    data = {"x": X, "y": (1.7 + 8 * X**-0.35) * NOISE}
    options = {"variables": ["x"], "objective": "least_squares_log"}
    plain = forecast.Law("e + b*x**-c", **options).fit(data).interval("b")
    logs = forecast.Law("e + exp(k)*x**-c", **options).fit(data).interval("k")
    assert np.log(plain) == pytest.approx(logs, rel=1e-6)


def test_the_curve_has_its_minimum_at_the_estimate_and_spans_the_interval():
    fit = saturating()
    curve = fit.profile("c", points=21, level=0.99)
    assert float(curve["objective"].min()) == pytest.approx(fit.objective, rel=1e-12)
    assert (float(curve["c"][0]), float(curve["c"][-1])) == pytest.approx(fit.interval("c", 0.99))
    assert np.all(np.diff(curve["signed_root"]) > 0)
    assert float(curve["signed_root"][-1]) == pytest.approx(2.7154087, rel=1e-6)


def test_what_the_data_do_not_limit_has_an_infinite_end():
    fit = SATURATING.fit({"x": X, "y": 2 * NOISE})
    low, high = fit.interval("c", method="profile")
    assert low == 0 or high == np.inf
    assert not np.isnan([low, high]).any()


def test_a_parameter_on_its_bound_has_one_side():
    fit = SATURATING.fit({"x": X, "y": 8 * X**-0.35 * NOISE**2 * (1 - 1e-5 * X)})
    low, high = fit.interval("E")
    assert low == 0
    assert 0 < high < 1


def test_known_sigma_and_counts_use_the_normal():
    line = forecast.Law("a + b*x", variables=["x"])
    fit = line.fit({"x": X, "y": 2 + 3 * X}, sigma=0.5)
    assert fit.uncertainty.scale_known
    assert fit.verdict.endswith("all parameters identified")  # and no row of exact data decides anything
    assert fit.interval("b") == pytest.approx(fit.interval("b", method="wald"), rel=1e-6)
    counts = np.random.default_rng(1).poisson(20 + 0.01 * X)
    fit = line.fit({"x": X, "y": counts.astype(float)}, objective="poisson")
    low, high = fit.interval("a")
    assert low < fit.values["a"] < high
    assert (low, high) == pytest.approx(fit.interval("a", method="wald"), rel=0.1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("level", [1e-12, 0.999999999999])
def test_the_last_levels_that_can_be_told_from_0_and_1(level):
    fit = SATURATING.fit({"x": X, "y": (1.7 + 8 * X**-0.35) * NOISE}, level=level)
    low, high = fit.interval("c", level)
    assert low <= fit.values["c"] <= high
    for no in (level / 10 if level < 0.5 else 1 - (1 - level) / 10,):
        with pytest.raises(UsageError, match="level: expected a number between 0 and 1, at least 1e-12 from both"):
            SATURATING.fit({"x": X, "y": X}, level=no)
        with pytest.raises(UsageError, match="at least 1e-12 from both"):
            fit.profile("c", level=no)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sigma", [1e-100, 1e-20, 1e20])
def test_rounding_of_a_large_objective_is_no_better_optimum(sigma):
    fit = SATURATING.fit({"x": X, "y": (1.7 + 8 * X**-0.35) * NOISE}, sigma=sigma)
    assert fit.converged
    assert "better optimum" not in fit.verdict


def test_huber_stays_with_the_sandwich_and_its_profile_is_near_it():
    fit = SATURATING.fit({"x": X, "y": (1.7 + 8 * X**-0.35) * NOISE}, objective="huber_log")
    assert fit.interval("c") == fit.interval("c", method="wald")
    assert fit.interval("c", method="profile") == pytest.approx(fit.interval("c"), rel=0.05)


def test_a_published_fit_has_no_profile_and_says_why():
    with pytest.raises(FitError, match="published parameters come without data"):
        forecast.law("scaling/chinchilla").published("besiroglu2024").profile("E")


def test_impossible_questions():
    fit = saturating()
    with pytest.raises(UnknownNameError, match="unknown parameter 'C'"):
        fit.profile("C")
    with pytest.raises(UsageError, match="points"):
        fit.profile("c", points=2)
    with pytest.raises(UnknownNameError, match="method"):
        fit.interval("c", method="profil")


def test_a_saved_fit_gives_the_same_interval(tmp_path):
    fit = saturating()
    again = forecast.load(fit.save(tmp_path / "fit.nc"))
    assert again.interval("c") == pytest.approx(fit.interval("c"), rel=1e-9)
    assert again.verdict == fit.verdict
