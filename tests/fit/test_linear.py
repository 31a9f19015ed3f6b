"""Laws that are linear in all parameters are solved as linear: one data set or thousands, in any scale, with bounds."""

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import lsq_linear

from forecast import Law
from forecast.fit.solve.linear import bounded_squares
from toolkit import sample

LINE = Law("a + b*x", variables=["x"])


def lines(rng, count, scale=1.0, offset=0.0):
    x = rng.uniform(1, 2, (count, 10)) * scale + offset
    y = 3 + 2 * x + 0.1 * np.ptp(x, axis=1)[:, None] * rng.standard_normal((count, 10))
    return xr.Dataset({"x": (("curve", "n"), x), "y": (("curve", "n"), y)})


@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (1e9, 0.0), (1e-9, 0.0), (1.0, 1e6), (1e12, -1e12)])
def test_lines_of_any_scale_are_the_regression(scale, offset):
    data = lines(np.random.default_rng(1), 60, scale, offset)
    fits = LINE.fit(data, by="curve")
    assert np.all(fits.converged)
    for i in (0, 30, 59):
        x, y = data.x.values[i], data.y.values[i]
        slope = np.sum((x - x.mean()) * (y - y.mean())) / np.sum((x - x.mean()) ** 2)
        assert float(fits.params["b"][i]) == pytest.approx(slope, rel=1e-8)
        alone = LINE.fit({"x": x, "y": y})
        assert alone.converged
        assert alone.values["b"] == pytest.approx(slope, rel=1e-8)


@pytest.mark.parametrize("objective", ["least_squares", "huber_likelihood", "quantile"])
def test_a_search_of_a_linear_law_is_one_start(objective):
    data = lines(np.random.default_rng(2), 1, 1e9).isel(curve=0)
    fit = LINE.fit({"x": data.x.values, "y": data.y.values}, objective=objective)
    assert fit.converged
    assert fit.starts == (1, 1)
    assert fit.values["b"] == pytest.approx(2, abs=0.5)


def test_bounds_are_kept_as_scipy_keeps_them():
    rng = np.random.default_rng(3)
    k, n, count = 4, 12, 40
    columns = [rng.standard_normal((count, n)) * 10.0**j for j in range(k)]
    left, weights = rng.standard_normal((count, n)), rng.uniform(0.5, 2, (count, n))
    lower, upper = np.array([0.0, -np.inf, -0.001, 0.0]), np.array([np.inf, 0.01, 0.001, 0.0001])
    found, held = bounded_squares(columns, left, weights, lower, upper)
    assert held.any()
    assert not held.all()
    for b in range(count):
        root = np.sqrt(weights[b])
        table = np.array([c[b] * root for c in columns]).T
        size = np.linalg.norm(table, axis=0)
        best = lsq_linear(table / size, left[b] * root, (lower * size, upper * size), method="bvls", tol=1e-15).x / size
        cost = [np.sum((table @ p - left[b] * root) ** 2) for p in (found[:, b], best)]
        assert cost[0] <= cost[1] * (1 + 1e-12)
        assert (found[:, b] >= lower).all()
        assert (found[:, b] <= upper).all()


def test_columns_that_are_one_are_left_to_the_search():
    x = np.linspace(1, 2, 10)
    found, _ = bounded_squares(
        [x[None], 2 * x[None]], x[None], np.ones((1, 10)), np.full(2, -np.inf), np.full(2, np.inf)
    )
    assert np.isnan(found).any()
    fit = Law("a*x + b*x", variables=["x"]).fit({"x": x, "y": x + 0.01 * np.sin(9 * x)})
    assert any("not identified" in line for line in fit.warnings)


@pytest.mark.parametrize(
    ("scale", "offset"), sample([(1.0, 0.0), (1.0, 1e6), (1.0, 1e9), (1e12, -1e12), (1e-9, 1e-3)], 2)
)
def test_an_offset_or_a_scale_is_no_ridge(scale, offset):
    data = lines(np.random.default_rng(4), 200, scale, offset)
    fits = LINE.fit(data, by="curve")
    assert set(fits.uncertainty.unidentified) == set()
    for i in (0, 99, 199):
        x, y = data.x.values[i], data.y.values[i]
        away = x - x.mean()
        rest = y - y.mean() - away * np.sum(away * (y - y.mean())) / np.sum(away**2)
        error = np.sqrt(np.sum(rest**2) / 8 / np.sum(away**2))
        assert float(fits.stderr["b"][i]) == pytest.approx(error, rel=1e-6)
        alone = LINE.fit({"x": x, "y": y})
        assert "not identified" not in alone.verdict
        for name in ("a", "b"):
            assert float(fits.stderr[name][i]) == pytest.approx(float(alone.stderr[name]), rel=1e-9)
            assert fits.interval(name).isel(curve=i).to_array().values == pytest.approx(alone.interval(name), rel=1e-9)


def test_columns_that_are_one_are_a_ridge_at_any_scale():
    x = np.linspace(1, 2, 10) * 1e9
    fit = Law("a*x + b*x + c", variables=["x"]).fit({"x": x, "y": x + 0.01 * np.sin(x)})
    assert set(fit.uncertainty.reasons()) == {"a", "b"}
