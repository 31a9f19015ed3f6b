"""Predictions: two bands, means without bias, and points where nothing can be said."""

import numpy as np
import pytest
import xarray as xr

import forecast
from forecast.errors import DataError, FitError, UnknownNameError, UsageError
from toolkit import saturating


@pytest.fixture(scope="module")
def fit():
    return forecast.law("scaling/saturating-power").fit(saturating(60, 0.1, seed=1))


@pytest.fixture(scope="module")
def line():
    x = np.arange(1.0, 9.0)
    return forecast.Law("a + b*x", variables=["x"]).fit({"x": x, "y": [3.1, 4.9, 7.2, 8.8, 11.1, 13.0, 14.8, 17.2]})


def test_the_band_of_an_observation_is_wider_by_the_scatter(fit):
    found = fit.predict(x=[20.0, 500.0], level=0.9)
    half = np.log(found["upper"] / found["median"])
    wide = np.log(found["observed_upper"] / found["median"])
    q = float(fit.uncertainty.quantile(0.95)[0])
    np.testing.assert_allclose(np.sqrt((wide / q) ** 2 - (half / q) ** 2), fit.residual_scale, rtol=1e-9)


def test_the_mean_of_a_log_fit_is_not_its_median(fit, line):
    found = fit.predict(x=100.0, statistic="mean")
    s = fit.residual_scale
    assert float(found["mean"] / found["median"]) == pytest.approx(np.exp(s**2 / 2), rel=1e-12)
    assert "lognormal" in found.attrs["mean_by"]
    draws = fit.scatter(np.full(200_000, float(found["median"])), np.random.default_rng(0))
    assert float(found["mean"]) == pytest.approx(draws.mean(), rel=4 * s / np.sqrt(200_000))
    assert abs(draws.mean() / float(found["median"]) - 1) > 4 * s / np.sqrt(200_000)  # the median would be biased
    plain = line.predict(x=3.0, statistic="mean")
    assert float(plain["mean"]) == float(plain["median"])
    assert "mean" not in fit.predict(x=100.0)


def test_an_unknown_statistic_suggests_the_nearest(fit):
    with pytest.raises(UnknownNameError, match="did you mean 'median'"):
        fit.predict(x=1.0, statistic="medain")


def test_no_mean_of_logs_without_scatter(fit):
    bare = fit.law.fit(
        {"x": [1.0, 10.0, 100.0][: len(fit.values)], "y": [3.0, 2.5, 2.2][: len(fit.values)]},
        objective="least_squares_log",
    )
    assert bare.residual_scale is None
    with pytest.raises(FitError, match="no mean"):
        bare.predict(x=1.0, statistic="mean")


def test_bad_input_046_far_outside_is_flagged_and_wider(fit):
    near, far = fit.predict(x=1e5), fit.predict(x=1e10)
    assert far.attrs["extrapolation_decades"] == pytest.approx(6.0)
    assert "6.0 decades outside its data" in far.attrs["warnings"]
    widths = [float(np.log(p["upper"] / p["lower"])) for p in (near, far)]
    assert widths[1] > widths[0]


def test_bad_input_047_each_point_by_itself_and_the_shape_kept(fit):
    x = np.array([[100.0, 0.0, -1.0], [np.nan, np.inf, 1e3]])
    found = fit.predict(x=x)
    assert found["median"].shape == (2, 3)
    known = np.isfinite(found["median"].values)
    assert known.tolist() == [[True, False, False], [False, True, True]]  # at infinity the law is its asymptote
    assert float(found["median"][0, 0]) == float(fit.predict(x=100.0)["median"])
    assert "3 of 6 points cannot be computed (number 2, 3, 4" in found.attrs["warnings"]
    for name in ("lower", "upper", "observed_lower", "observed_upper"):
        assert np.isnan(found[name].values[~known]).all()


def test_bad_input_047_nothing_asked_is_nothing_answered(fit):
    found = fit.predict(x=np.empty((0, 3)))
    assert found["median"].shape == found["upper"].shape == (0, 3)
    assert found.attrs["extrapolation_decades"] == 0.0


def test_bad_input_047_zero_and_negative_where_the_law_has_a_value(line):
    found = line.predict(x=[0.0, -5.0])
    assert np.isfinite(found.to_array()).all()
    assert "at 0 or below, outside its data" in found.attrs["warnings"]


@pytest.mark.parametrize("wrong", [["a", "b"], [1j], [object()], [["a"], [1, 2]]])
def test_bad_input_043_points_that_are_no_numbers(fit, wrong):
    with pytest.raises(DataError, match="expected numbers"):
        fit.predict(x=wrong)


def test_masked_points_are_unknown(fit):
    found = fit.predict(x=np.ma.array([10.0, 20.0], mask=[False, True]))
    assert np.isfinite(found["median"]).values.tolist() == [True, False]


def test_labels_are_kept(fit):
    points = xr.DataArray([10.0, 100.0], dims="size", coords={"size": ["s", "m"]})
    assert list(fit.predict(x=points)["size"].values) == ["s", "m"]


@pytest.mark.parametrize("level", [0, 1, 1.5, -0.1, float("nan"), True, "0.9", 1e-300, 0.9999999999999999])
def test_a_level_is_a_share(fit, level):
    with pytest.raises(UsageError, match="level: expected a number between 0 and 1"):
        fit.predict(x=1.0, level=level)


def test_bands_come_from_the_replicates_where_there_are_enough():
    x, y = saturating(60, 0.1, seed=1).values()
    law = forecast.law("scaling/saturating-power")
    fit = law.fit({"x": x, "y": y}, bootstrap=400, seed=3)
    out = fit.predict(x=[20.0, 900.0], level=0.9)
    replicates = fit.bootstrap
    good = replicates.isel(replicate=replicates["converged"].values)
    values = good["E"].values + good["beta"].values * np.array([[20.0], [900.0]]) ** -good["c"].values
    np.testing.assert_allclose(out["lower"], np.quantile(values, 0.05, axis=1), rtol=1e-12)
    np.testing.assert_allclose(out["upper"], np.quantile(values, 0.95, axis=1), rtol=1e-12)
    assert out.attrs["bands"] == f"percentiles of {good.sizes['replicate']} bootstrap replicates (pairs)"
    assert (out["observed_upper"] > out["upper"]).all()
    assert (out["observed_lower"] < out["lower"]).all()
    plain = law.fit({"x": x, "y": y}).predict(x=[20.0, 900.0], level=0.9)
    assert plain.attrs["bands"] == "standard errors of the parameters"
    np.testing.assert_allclose(out["observed_upper"], plain["observed_upper"], rtol=0.05)
    few = fit.predict(x=20.0, level=0.999)
    assert "too few for 0.999" in few.attrs["bands"]


def test_bands_of_code_come_from_the_replicates_too():
    from forecast.laws.forms import Code

    code = Code(lambda p, x: float(p["a"]) + float(p["b"]) * np.asarray(x), ("a", "b"), ("x",), "law")
    options = {"variables": {"x": ""}, "output": "y", "unit": "", "objective": "least_squares"}
    law = forecast.Law._from_form(code, options)
    x = np.arange(1.0, 31.0)
    y = 1 + 2 * x + np.cos(5 * x)
    found = [
        made.fit({"x": x, "y": y}, bootstrap=120, start={"a": 1.0, "b": 2.0}).predict(x=[3.0, 40.0])
        for made in (law, forecast.Law("a + b*x", variables=["x"]))
    ]
    np.testing.assert_allclose(found[0]["upper"], found[1]["upper"], rtol=1e-6)
    assert "bootstrap" in found[0].attrs["bands"]
