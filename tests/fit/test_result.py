import numpy as np
import pandas as pd
import pytest
import xarray as xr

import forecast
import toolkit
from forecast.errors import FitError, UnknownNameError, UsageError

X = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
Y = np.array([3.1, 4.9, 7.2, 8.8, 11.1, 13.0, 14.8, 17.2])


def line():
    return forecast.Law("a + b*x", variables=["x"])


def saturating(noise=0.02, n=60, seed=1):
    return forecast.law("scaling/saturating-power"), toolkit.saturating(n, noise, seed)


def test_a_line_agrees_with_the_textbook():
    fit = line().fit({"x": X, "y": Y})
    b = np.sum((X - X.mean()) * (Y - Y.mean())) / np.sum((X - X.mean()) ** 2)
    a = Y.mean() - b * X.mean()
    rss = np.sum((Y - a - b * X) ** 2)
    error = np.sqrt(rss / 6 / np.sum((X - X.mean()) ** 2))
    assert fit.values == pytest.approx({"a": a, "b": b}, rel=1e-10)
    assert fit.objective == pytest.approx(rss, rel=1e-9)  # the plain sum, not halved
    assert float(fit.stderr["b"]) == pytest.approx(error, rel=1e-8)
    low, high = fit.interval("b", 0.95)
    assert (low, high) == pytest.approx((b - 2.446911851144969 * error, b + 2.446911851144969 * error), rel=1e-8)
    assert fit.residual_scale == pytest.approx(np.sqrt(rss / 6), rel=1e-8)
    assert fit.converged
    assert fit.n == 8


def test_confidence_and_observation_bands_are_two_things():
    fit = line().fit({"x": X, "y": Y})
    out = fit.predict(x=[4.5, 20.0], level=0.9)
    error = fit.residual_scale * np.sqrt(1 / 8 + (np.array([4.5, 20.0]) - 4.5) ** 2 / np.sum((X - 4.5) ** 2))
    t = 1.9431802803927818
    np.testing.assert_allclose(out["upper"] - out["median"], t * error, rtol=1e-7)
    wide = np.sqrt(error**2 + fit.residual_scale**2)
    np.testing.assert_allclose(out["observed_upper"] - out["median"], t * wide, rtol=1e-7)
    assert out["median"].dims == ("point",)
    assert out.attrs["extrapolation_decades"] == pytest.approx(np.log10(20 / 8))


def test_predict_refuses_an_unknown_variable_and_a_missing_one():
    fit = line().fit({"x": X, "y": Y})
    with pytest.raises(UnknownNameError, match="'X'"):
        fit.predict(X=1.0)
    with pytest.raises(UsageError, match="no value for the variable 'x'"):
        fit.predict()


@pytest.mark.parametrize("kind", ["dict", "dataset", "frame"])
def test_let_and_y_are_formulas_over_any_kind_of_columns(kind):
    columns = {"thousands": X / 1000, "score": Y}
    data = {
        "dict": columns,
        "dataset": xr.Dataset({k: ("row", v) for k, v in columns.items()}),
        "frame": pd.DataFrame(columns),
    }[kind]
    fit = line().fit(data, let={"x": "thousands*1000"}, y="2*score")
    plain = line().fit({"x": X, "y": 2 * Y})
    assert fit.values == pytest.approx(plain.values, rel=1e-9)


def test_unknown_columns_suggest_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean 'thousands'"):
        line().fit({"thousands": X, "y": Y}, let={"x": "thousand*1000"})
    with pytest.raises(UnknownNameError, match="unknown variable 'X'"):
        line().fit({"x": X, "y": Y}, let={"X": "x"})
    with pytest.raises(UnknownNameError, match="say y="):
        line().fit({"x": X, "score": Y})


def test_fewer_points_than_parameters_are_refused_and_as_many_give_no_interval():
    with pytest.raises(FitError, match="1 point cannot determine 2 parameters"):
        line().fit({"x": X[:1], "y": Y[:1]})
    exact = line().fit({"x": X[:2], "y": Y[:2]})
    np.testing.assert_allclose(exact.law.value(exact.values, x=X[:2]), Y[:2], rtol=1e-10)
    with pytest.raises(FitError, match="leave nothing to judge the fit by"):
        exact.interval("a")
    assert np.isinf(float(exact.stderr["a"]))


def test_one_more_point_than_parameters_gives_a_very_wide_interval():
    fit = line().fit({"x": X[:3], "y": Y[:3]})
    low, high = fit.interval("b", 0.95)
    assert (high - low) / float(fit.stderr["b"]) == pytest.approx(2 * 12.706204736432095, rel=1e-6)


NOISE_FREE = {
    "line": ("a + b*x", [], {"a": 1.3, "b": -0.7}, np.linspace(0, 10, 12)),
    "power": ("b*x**-c", ["b", "c"], {"b": 3.3, "c": 0.7}, np.geomspace(1, 1e4, 20)),
    "saturating": ("E + b*x**-c", ["E", "b", "c"], {"E": 1.7, "b": 8.0, "c": 0.35}, np.geomspace(10, 1e4, 24)),
}


@pytest.mark.parametrize("objective", ["least_squares", "least_squares_log", "huber_log", "quantile"])
@pytest.mark.parametrize("name", NOISE_FREE)
def test_intervals_of_noise_free_points_shrink_to_the_parameter_alone_and_over_a_dimension(name, objective):
    text, positive, true, x = NOISE_FREE[name]
    if name == "line" and objective.endswith("log"):
        return
    law = forecast.Law(text, variables=["x"], positive=positive)
    fit = law.fit({"x": x, "y": law.value(true, x=x)}, objective=objective)
    assert fit.converged
    assert "the data lie on the law to rounding" in fit.verdict
    assert any("as wide as the rounding of y" in line for line in fit.warnings)
    two = {"x": np.tile(x, 2), "y": np.tile(law.value(true, x=x), 2), "curve": np.repeat([0, 1], x.size)}
    fits = law.fit(two, by="curve", objective=objective)
    assert fits.verdict.values[1] == fit.verdict
    for parameter, value in true.items():
        low, high = fit.interval(parameter, 0.95)
        assert low < high
        assert low <= fit.values[parameter] <= high
        assert low <= value <= high
        assert high - low < 1e-8 * abs(value)
        many = fits.interval(parameter, 0.95).isel(curve=1)
        assert [float(many.lower), float(many.upper)] == pytest.approx([low, high], rel=1e-8)
        assert 0 < float(fit.stderr[parameter]) < 1e-8 * abs(value)
    with pytest.raises(FitError, match="no profile: the data lie on the law to rounding"):
        fit.interval(next(iter(true)), method="profile")
    again = fit.resample(200)
    assert float(again.stderr[next(iter(true))]) == float(fit.stderr[next(iter(true))])  # replicates repeat the fit
    assert float(fit.predict(x=5.0)["upper"]) == pytest.approx(float(fit.predict(x=5.0)["median"]), rel=1e-8)


def test_a_product_of_two_parameters_is_not_identified():
    fit = forecast.Law("a*b*x", variables=["x"]).fit({"x": X, "y": Y})
    assert fit.values["a"] * fit.values["b"] == pytest.approx(np.sum(X * Y) / np.sum(X * X), rel=1e-8)
    with pytest.raises(FitError, match="'a': it is not identified by these data \\(only a combination with b is\\)"):
        fit.interval("a")
    assert "not identified: a, b" in fit.verdict
    assert any("not identified" in w for w in fit.warnings)
    with pytest.raises(FitError, match="not identified"):
        fit.sample_parameters(np.random.default_rng(0), 5)


def test_a_parameter_that_runs_to_zero_is_at_its_boundary_with_a_one_sided_interval():
    x = np.linspace(1, 10, 30)
    y = 5 * np.exp(0.05 * np.random.default_rng(3).standard_normal(30)) - 0.02 * x**2
    fit = forecast.Law("a + b*x**2", variables=["x"], positive=["a", "b"]).fit({"x": x, "y": y})
    assert "b at boundary (0)" in fit.verdict
    low, high = fit.interval("b", 0.95)
    assert low == 0
    assert high > 0
    assert np.all(fit.sample_parameters(np.random.default_rng(0), 50)["b"] >= 0)


def test_known_sigma_sets_the_standard_error():
    fit = line().fit({"x": X, "y": Y}, sigma=0.5)
    assert float(fit.stderr["b"]) == pytest.approx(0.5 / np.sqrt(np.sum((X - X.mean()) ** 2)), rel=1e-8)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"start": {"a": 1}}, "start: 'b' is missing"),
        ({"start": {"a": 1, "b": float("nan")}}, "start: 'b': expected a finite number"),
        ({"start": {"a": 1, "b": 1, "d": 1}}, "unknown parameter 'd'"),
        ({"objective": "huber"}, "did you mean 'huber_log'"),
        ({"seed": -1}, "seed: expected an integer from 0 to"),
        ({"seed": 2**64}, "seed: expected an integer from 0 to"),
        ({"bootstrap": 10**9}, "bootstrap: expected at most 1,000,000 replicates, got 1000000000"),
        ({"level": 1.5}, "level: expected a number between 0 and 1"),
        ({"weights": "x", "sigma": "x"}, "not both"),
    ],
)
def test_impossible_options_are_refused(options, says):
    with pytest.raises(UsageError, match=says):
        line().fit({"x": X, "y": Y}, **options)


def test_huber_standard_errors_are_near_wald_where_the_noise_is_normal():
    law, data = saturating(n=400)
    huber, squares = (law.fit(data, objective=o) for o in ("huber_log", "least_squares_log"))
    for name in law.parameters:
        assert float(huber.stderr[name]) == pytest.approx(float(squares.stderr[name]), rel=0.2)


def test_the_same_seed_gives_the_same_bytes_and_the_global_state_stays():
    law, data = saturating()
    np.random.seed(5)
    before = np.random.get_state()[1].copy()
    first, second = law.fit(data, seed=3), law.fit(data, seed=3)
    assert first.values == second.values
    np.testing.assert_array_equal(before, np.random.get_state()[1])


def test_draws_have_the_covariance_of_the_fit():
    fit = line().fit({"x": np.tile(X, 20), "y": np.tile(Y, 20) + np.random.default_rng(0).normal(0, 0.5, 160)})
    drawn = fit.sample_parameters(np.random.default_rng(1), 40_000)
    table = np.cov(np.array([drawn["a"], drawn["b"]]))
    np.testing.assert_allclose(table, fit.covariance.values * 158 / 156, rtol=0.05)


def test_the_summary_says_what_matters():
    text = line().fit({"x": X, "y": Y}).summary()
    assert "least_squares" in text
    assert "converged" in text
    assert "90% interval" in text
    assert "a + b*x" in text


def test_published_without_uncertainty_says_so():
    fit = forecast.law("scaling/chinchilla").published("besiroglu2024")
    with pytest.raises(FitError, match="the source states no uncertainty for this fit"):
        fit.interval("alpha")
    out = fit.predict(N=7e10, D=1.4e12)
    assert set(out.data_vars) == {"median"}
    assert "states no uncertainty" in out.attrs["no_interval"]
    assert fit.n is None
    assert dict(fit.stderr) == {}


def test_published_standard_errors_give_intervals_of_parameters_but_no_band():
    fit = forecast.law("scaling/chinchilla").published("besiroglu2024-mle")
    low, high = fit.interval("alpha", 0.95)
    assert (low, high) == pytest.approx((0.3478 - 1.959964 * 0.0154, 0.3478 + 1.959964 * 0.0154), rel=1e-6)
    assert "vary together" in fit.predict(N=1e9, D=1e10).attrs["no_interval"]
    assert fit.interval("B", 0.95) == (0.0, pytest.approx(2085.43 + 1.959964 * 1293.28, rel=1e-6))  # B is positive


def test_rounded_sources_warn():
    fit = forecast.law("scaling/chinchilla").published("hoffmann2022")
    assert any("rounded constants give biased forecasts" in w for w in fit.warnings)
    assert "biased" in fit.predict(N=1e9, D=1e10).attrs["warnings"]
    assert "biased" in fit.allocate(compute=1e22).attrs["warnings"]
