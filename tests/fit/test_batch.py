import numpy as np
import pytest
import xarray as xr

import forecast
from forecast.errors import DataError, UnknownNameError

LAW = forecast.Law("E + b*x**-c", variables=["x"], positive=["E", "b", "c"])
X = np.geomspace(1, 1e4, 20)


def curves(rows=12, seed=0):
    rng = np.random.default_rng(seed)
    true = [rng.uniform(*span, (rows, 1)) for span in ((0.2, 2), (1, 5), (0.2, 0.9))]
    y = (true[0] + true[1] * X ** -true[2]) * np.exp(0.02 * rng.standard_normal((rows, 20)))
    return xr.Dataset(
        {"x": ("point", X), "y": (("curve", "point"), y)}, coords={"curve": [f"run {i}" for i in range(rows)]}
    )


@pytest.mark.parametrize("objective", ["least_squares", "least_squares_log", "huber_log", "gaussian_log"])
def test_each_curve_is_the_fit_of_its_points(objective):
    data = curves()
    fits = LAW.fit(data, over="curve", objective=objective)
    assert fits.converged.all()
    assert fits.params["c"].dims == ("curve",)
    assert list(fits.params["curve"].values) == list(data["curve"].values)
    for i in (0, 5, 11):
        alone = LAW.fit({"x": X, "y": data["y"].values[i]}, objective=objective)
        assert float(fits.objective[i]) == pytest.approx(alone.objective, rel=1e-6 if "huber" in objective else 1e-9)
        for name in LAW.parameters:
            assert float(fits.params[name][i]) == pytest.approx(alone.values[name], rel=1e-4)
            assert float(fits.stderr[name][i]) == pytest.approx(float(alone.stderr[name]), rel=1e-3)
        low, high = alone.interval("c", 0.9, method="wald")
        ours = fits.interval("c", 0.9)
        assert (float(ours["lower"][i]), float(ours["upper"][i])) == pytest.approx((low, high), rel=1e-3)


def test_curves_of_different_lengths_from_a_grid_and_from_a_table_agree():
    data = curves(6)
    y = data["y"].values.copy()
    y[2, 12:] = np.nan
    grid = LAW.fit(data.assign(y=(("curve", "point"), y)), over="curve")
    assert list(grid.n.values) == [20, 20, 12, 20, 20, 20]
    there = np.isfinite(y)
    rows, points = np.nonzero(there)
    shuffled = np.random.default_rng(0).permutation(rows.size)
    table = {"x": X[points][shuffled], "y": y[there][shuffled], "curve": rows[shuffled]}
    long = LAW.fit(table, over="curve")
    assert list(long.params["curve"].values) == [0, 1, 2, 3, 4, 5]
    alone = LAW.fit({"x": X[:12], "y": y[2, :12]})
    for name in LAW.parameters:
        np.testing.assert_allclose(long.params[name].values, grid.params[name].values, rtol=1e-5)
        assert float(grid.params[name][2]) == pytest.approx(alone.values[name], rel=1e-5)


def test_a_failed_row_is_marked_and_raises_nothing():
    data = curves(6)
    y = data["y"].values.copy()
    y[0] = -1.0
    y[1, 2:] = np.nan
    y[3, 4] = np.inf
    fits = LAW.fit(data.assign(y=(("curve", "point"), y)), over="curve", objective="least_squares_log")
    assert list(fits.converged.values) == [False, False, True, False, True, True]
    for name in LAW.parameters:
        assert list(np.isnan(fits.params[name].values)) == [True, True, False, True, False, False]
        assert list(np.isnan(fits.stderr[name].values)) == [True, True, False, True, False, False]
    assert "y is not positive" in str(fits.verdict.values[0])
    assert "fewer than 3 points" in str(fits.verdict.values[1])
    assert "missing or infinite" in str(fits.verdict.values[3])
    assert "3 of 6 fits failed, the first is curve run 0" in fits.warnings[0]
    assert "6 fits over 'curve', 3 converged" in fits.summary()


def test_a_constant_curve_is_not_known_beyond_its_level():
    data = curves(3)
    y = data["y"].values.copy()
    y[1] = 2.0 * np.exp(0.02 * np.random.default_rng(4).standard_normal(20))
    fits = LAW.fit(data.assign(y=(("curve", "point"), y)), over="curve", objective="least_squares_log")
    errors = fits.stderr["c"].values / fits.params["c"].values
    assert np.isnan(errors[1]) or errors[1] > 0.5
    assert (errors[[0, 2]] < 0.2).all()


def test_weights_let_and_y_go_through():
    data = curves(4)
    weights = np.ones((4, 20))
    weights[:, 3] = 0.0
    data = data.assign(w=(("curve", "point"), weights), thousands=data["x"] / 1000).drop_vars("x")
    fits = LAW.fit(data, over="curve", let={"x": "thousands*1000"}, y="2*y", weights="w")
    keep = np.arange(20) != 3
    alone = LAW.fit({"x": X[keep], "y": 2 * data["y"].values[2, keep]})
    assert float(fits.params["b"][2]) == pytest.approx(alone.values["b"], rel=1e-6)
    assert int(fits.n[2]) == 19


def test_predictions_have_the_dimension_too():
    fits = LAW.fit(curves(4), over="curve")
    out = fits.predict(x=[10.0, 1e5])
    assert out.dims == ("curve", "point")
    assert float(out[1, 0]) == pytest.approx(
        float(LAW.value({p: float(fits.params[p][1]) for p in LAW.parameters}, x=10))
    )


def test_what_is_wrong_with_all_of_them_is_raised():
    with pytest.raises(UnknownNameError, match="unknown column 'x'"):
        LAW.fit(curves(3).drop_vars("x"), over="curve")
    with pytest.raises(UnknownNameError, match="'curves'"):
        LAW.fit({"x": X, "y": X, "curve": X}, over="curves")
    with pytest.raises(DataError, match="one other dimension"):
        LAW.fit(curves(3).expand_dims("extra"), over="curve")
