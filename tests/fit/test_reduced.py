"""Curves of laws that are linear in all but one parameter, against the general solver and against scipy."""

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import least_squares

import forecast
from forecast.fit.solve import separable

RNG = np.random.default_rng(7)
COUNT = 60
X = np.geomspace(1, 1e3, 20)
Z = np.linspace(0.5, 10.0, 20)


def some(low, high):
    return RNG.uniform(low, high, (COUNT, 1))


def law(text, **options):
    return forecast.Law(text, variables=["x"], **options)


#: Law, points, true curves, whether its columns are exponentials.
LAWS = {
    "power": (forecast.law("scaling/power"), X, some(1, 5) * X ** -some(0.1, 1), True),
    "saturating": (
        forecast.law("scaling/saturating-power"), X, some(0.5, 2) + some(1, 5) * X ** -some(0.2, 1), True,
    ),
    "signs": (law("c - a*x**-b"), X, some(-2, 2) - some(-5, -1) * X ** -some(0.2, 1), True),
    "decay": (law("c + a*exp(-k*x) + 2*x*d"), Z, some(1, 2) + some(1, 5) * np.exp(-some(0.3, 1) * Z) + Z, True),
    "rational": (law("v*x/(k + x)", positive=["v", "k"]), Z, some(1, 5) * Z / (some(0.5, 5) + Z), False),
    "shift": (law("a + b*log(x + d)", positive=["d"]), Z, some(1, 5) + some(1, 2) * np.log(Z + some(0.5, 5)), False),
    "offset": (law("exp(-k*x) + a*x + b", positive=["k"]), Z, np.exp(-some(0.2, 1) * Z) + some(1, 2) * Z + 1, False),
}  # fmt: skip


def noisy(curves_):
    return curves_ + 0.01 * np.ptp(curves_, axis=1, keepdims=True) * np.random.default_rng(1).standard_normal(
        (COUNT, 20)
    )


def dataset(law_, x, y, **columns):
    points = ("point",) if x.ndim == 1 else ("curve", "point")
    more = {name: (("curve", "point"), values) for name, values in columns.items()}
    return xr.Dataset({"x": (points, x), law_.output: (("curve", "point"), y), **more})


def compared(law_, data, monkeypatch, **options):
    """Return the fits by the quick way and by the general solver."""
    used = []
    solve = separable.Projected.solve
    monkeypatch.setattr(separable.Projected, "solve", lambda *a: used.append(solve(*a)) or used[-1])
    quick = law_.fit(data, by="curve", objective="least_squares", **options)
    assert used[0].settled.mean() > 0.9, "the quick way does not do the work"
    monkeypatch.setattr(separable, "project_problem", lambda *a: None)
    return quick, law_.fit(data, by="curve", objective="least_squares", **options)


@pytest.mark.parametrize("name", LAWS)
def test_scipy_finds_the_same(name):
    law_, x, y, _ = LAWS[name]
    y = noisy(y)
    fits = law_.fit(dataset(law_, x, y), by="curve", objective="least_squares")
    names = list(law_.parameters)
    for i in range(0, COUNT, 12):
        begin = np.array([float(fits.params[p][i]) for p in names])

        def left(p, i=i):
            return law_.value(dict(zip(names, p, strict=True)), x=x) - y[i]

        def slopes(p):
            return law_.jacobian(dict(zip(names, p, strict=True)), x=x).T

        there = least_squares(left, begin * 1.001, slopes, xtol=1e-15, ftol=1e-15, gtol=1e-15, x_scale="jac")
        assert float(fits.objective[i]) == pytest.approx(2 * there.cost, rel=1e-9)
        np.testing.assert_allclose(begin, there.x, rtol=1e-5)
        spread = np.sqrt(np.diag(np.linalg.inv(there.jac.T @ there.jac)) * 2 * there.cost / (20 - len(names)))
        np.testing.assert_allclose([float(fits.stderr[p][i]) for p in names], spread, rtol=1e-5)


@pytest.mark.parametrize("own", ["weights", "points", "lengths"])
def test_curves_with_weights_points_and_lengths_of_their_own(own, monkeypatch):
    law_, x, y, _ = LAWS["saturating"]
    y, options, columns = noisy(y), {}, {}
    if own == "weights":
        columns, options = {"w": RNG.uniform(0.5, 2, y.shape)}, {"weights": "w"}
    elif own == "points":
        x = x * np.exp(0.1 * RNG.standard_normal(y.shape))
        y = noisy(1.0 + 3.0 * x**-0.5)
    else:
        y = np.where(np.arange(20) < RNG.integers(12, 21, (COUNT, 1)), y, np.nan)
    quick, slow = compared(law_, dataset(law_, x, y, **columns), monkeypatch, **options)
    assert quick.converged.all()
    np.testing.assert_allclose(quick.objective, slow.objective, rtol=1e-9)


def test_a_coefficient_at_its_bound_is_left_to_the_general_solver():
    law_ = forecast.law("scaling/saturating-power")
    y = 3 * X**-0.3 * (1 - 0.05 * np.log10(X))  # bends down: the best constant is negative
    fits = law_.fit(dataset(law_, X, np.tile(y, (COUNT, 1))), by="curve", objective="least_squares")
    one = law_.fit({"x": X, law_.output: y}, objective="least_squares")
    assert float(fits.params["E"].max()) < 1e-6
    np.testing.assert_allclose(fits.objective, one.objective, rtol=1e-6)
