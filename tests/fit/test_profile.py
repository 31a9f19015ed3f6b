import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

import forecast
from forecast.errors import FitError, UnknownNameError, UsageError
from toolkit import sample

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
    low, high = fit.interval("c", 0.95)
    assert (low, high) == fit.interval("c", 0.95, method="profile") != fit.interval("c", 0.95, method="wald")
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
    assert fit.uncertainty.absolute_sigma
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


WIDE = np.geomspace(10, 1e4, 24)


def risen(law, data, name, end, fit, level, **keywords):
    """Return by how much of what the level allows the objective of a refit with a parameter at an end has risen."""
    again = law.with_(**{name: end}).fit(data, **keywords)
    dof = fit.n - len(fit.values)
    return (again.objective - fit.objective) / (stats.t.ppf(0.5 + level / 2, dof) ** 2 * fit.objective / dof)


@pytest.mark.parametrize("seed", sample([*range(12), 43], 3))
def test_ends_of_a_saturating_law_lie_on_the_profile(seed):
    rng = np.random.default_rng(seed)
    true = {"E": rng.uniform(0.2, 3), "beta": rng.uniform(2, 9), "c": rng.uniform(0.05, 0.3)}
    data = {"x": WIDE, "y": SATURATING.value(true, x=WIDE) * np.exp(0.03 * rng.standard_normal(24))}
    fit = SATURATING.fit(data)
    for end in fit.interval("c", 0.9):
        if 1e-9 < end < np.inf:
            assert risen(SATURATING, data, "c", end, fit, 0.9) == pytest.approx(1, rel=1e-5)
    if fit.values["E"] == 0:
        assert "E at boundary (0)" in fit.verdict
        assert fit.interval("E", 0.9)[0] == 0


RANDOM = {
    "power": ("b*x**-c", {"b": (1, 5), "c": (0.1, 0.6)}, np.geomspace(1, 1e3, 15)),
    "two powers": ("b*x**-c + d*x**0.4", {"b": (2, 5), "c": (0.4, 0.9), "d": (0, 0.2)}, np.geomspace(1, 1e3, 30)),
    "decay": ("a*exp(-k*x) + e", {"a": (2, 5), "k": (0.3, 1), "e": (0, 0.5)}, np.linspace(0, 6, 20)),
    "rise": ("k*x/(m + x)", {"k": (1, 4), "m": (1, 5)}, np.linspace(0.3, 12, 16)),
    "line": ("a + b*x", {"a": (0, 0.5), "b": (0.1, 1)}, np.linspace(0, 3, 12)),
}


@pytest.mark.slow
@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    name=st.sampled_from(sorted(RANDOM)),
    seed=st.integers(0, 10_000),
    level=st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]),
    unit=st.sampled_from([1e-6, 1.0, 1e9]),
)
def test_every_end_lies_on_the_profile_is_a_bound_or_infinite(name, seed, level, unit):
    text, spans, x = RANDOM[name]
    law, rng = forecast.Law(text, variables=["x"], positive=list(spans)), np.random.default_rng(seed)
    true = {p: rng.uniform(*span) for p, span in spans.items()}
    noise = 1 + 0.05 * np.clip(rng.standard_normal(x.size), -3, 3)
    data = {"x": x, "y": unit * law.value(true, x=x) * noise}
    fit = law.fit(data)
    for parameter in law.parameters:
        ends = fit.interval(parameter, level, "profile")
        for end in ends:
            if 0 < end < np.inf:
                assert risen(law, data, parameter, end, fit, level) == pytest.approx(1, rel=1e-5), parameter
        if ends[0] == 0:  # the bound, where the profile is still below the level
            assert risen(law, data, parameter, 0.0, fit, level) <= 1 + 1e-6
