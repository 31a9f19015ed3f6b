"""Residuals that follow each other widen what is predicted; independent ones leave it as it is, to the last bit."""

import numpy as np
import pytest

import forecast
from forecast.fit.data.residual_autocorrelation import autocorrelation, error_inflation

LINE = forecast.Law("a + b*x", variables=["x"])
X = np.linspace(1.0, 10.0, 60)


def noise(seed: int, follow: float, n: int = X.size) -> np.ndarray:
    rng = np.random.default_rng(seed)
    made = rng.standard_normal(n)
    for i in range(1, n):
        made[i] = follow * made[i - 1] + np.sqrt(1 - follow**2) * made[i]
    return made


def found(residuals: np.ndarray, along: np.ndarray | None = None) -> float:
    places = np.arange(residuals.size, dtype=float) if along is None else along
    return float(autocorrelation(places[None], residuals[None], np.ones((1, residuals.size)))[0])


def test_independent_residuals_have_none():
    none = [found(noise(seed, 0.0)) == 0 for seed in range(400)]
    assert 0.92 <= np.mean(none) <= 0.98


def test_nothing_jumps_where_it_becomes_significant():
    """From residuals that follow each other to independent ones in small steps, no step moves it far."""
    mixed = [found((1 - share) * noise(0, 0.9) + share * noise(1, 0.0)) for share in np.linspace(0, 1, 201)]
    assert mixed[0] > 0.7
    assert mixed[-1] == 0
    assert np.abs(np.diff(mixed)).max() < 0.06


def test_order_is_of_places_and_not_of_rows():
    made = noise(0, 0.9)
    mixed = np.random.default_rng(0).permutation(X.size)
    assert found(made[mixed], X[mixed]) == pytest.approx(found(made), abs=1e-12)
    assert found(made, np.repeat(X[::2], 2)) == 0  # rows that share a place have no order


def test_the_band_of_the_law_is_wider_by_what_residuals_say():
    follows = LINE.fit({"x": X, "y": 1 + X + 0.1 * noise(0, 0.9)})
    times = float(error_inflation(follows.solutions.correlation)[0])
    assert times > 2
    band = follows.predict(x=[5.0, 9.0], level=0.9)
    errors = follows.covariance.values
    at = np.array([[1.0, 1.0], [5.0, 9.0]])
    width = np.sqrt(np.einsum("ip,ij,jp->p", at, errors, at)) * follows.uncertainty.quantile(0.95)
    np.testing.assert_allclose(band["upper"] - band["median"], times * width, rtol=1e-9)
    assert "residuals follow each other" in band.attrs["bands"]
    assert "residuals follow each other" not in band.attrs["warnings"]  # the band holds it
    assert any("intervals of parameters take them for independent" in line for line in follows.warnings)
    assert "residuals follow each other" in follows.verdict


def test_independent_residuals_leave_the_band_as_it_was():
    plain = LINE.fit({"x": X, "y": 1 + X + 0.1 * noise(2, 0.0)})
    assert plain.solutions.correlation[0] == 0
    band = plain.predict(x=5.0)
    assert band.attrs["bands"] == "standard errors of the parameters"
    assert band.attrs["warnings"] == ""


@pytest.mark.slow
def test_bands_hold_where_residuals_follow_each_other():
    """Without widening a nominal 90 % band of the law holds less than half of the time."""
    held = []
    for seed in range(200):
        band = LINE.fit({"x": X, "y": 1 + X + 0.1 * noise(seed, 0.8)}).predict(x=12.0, level=0.9)
        held.append(float(band["lower"]) <= 13 <= float(band["upper"]))
    assert 0.75 <= np.mean(held) <= 0.97


def test_many_fits_are_widened_as_one_is():
    y = np.array([1 + X + 0.1 * noise(seed, follow) for seed, follow in ((0, 0.9), (2, 0.0), (1, 0.6))])
    table = {"x": np.tile(X, 3), "y": y.ravel(), "curve": np.repeat(["a", "b", "c"], X.size)}
    many = LINE.fit(table, by="curve").predict(x=[5.0, 20.0])
    for i, label in enumerate("abc"):
        one = LINE.fit({"x": X, "y": y[i]}).predict(x=[5.0, 20.0])
        np.testing.assert_allclose(many["upper"].sel(curve=label), one["upper"], rtol=1e-9)


def test_a_bootstrap_is_widened_too():
    y = 1 + X + 0.1 * noise(0, 0.9)
    fit = LINE.fit({"x": X, "y": y}, bootstrap=400, seed=0)
    times = float(error_inflation(fit.solutions.correlation)[0])
    band, again = fit.predict(x=9.0), fit.bootstrap.isel(replicate=fit.bootstrap["converged"].values)
    plain = np.quantile(again["a"] + again["b"] * 9.0, 0.95) - float(band["median"])
    assert float(band["upper"] - band["median"]) == pytest.approx(times * plain, rel=1e-9)


def test_what_the_verdict_finds_is_a_warning_of_a_prediction():
    x = np.geomspace(1, 100, 20)
    fit = forecast.law("scaling/saturating-power").fit({"x": x, "y": 3 + 0.1 * noise(2, 0.0, 20)})
    assert any("not identified" in line for line in fit.diagnostics.warnings(fit.name))
    assert set(fit.diagnostics.warnings(fit.name)) <= set(fit.predict(x=4.0).attrs["warnings"].splitlines())
