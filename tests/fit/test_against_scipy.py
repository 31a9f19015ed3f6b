"""Bootstraps, batches and hard fits against the same work by scipy: no optimum of ours is worse than theirs."""

import warnings

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import curve_fit, least_squares

import forecast
from benchmarks.fits import FORMS, Chinchilla
from forecast.fit.inference.bootstrap import resampled_row_counts

DELTA = {"delta": 1e-3}


def test_no_refit_of_240_points_is_worse_than_scipys(chinchilla_points):
    fit = forecast.law("scaling/chinchilla").fit(chinchilla_points, options=DELTA, bootstrap=60, seed=0)
    assert fit.bootstrap["converged"].all()
    p = fit.values
    begin = np.array([np.log(p["A"]), np.log(p["B"]), np.log(p["E"]), p["alpha"], p["beta"]])
    theirs = [Chinchilla(chinchilla_points, c).refit(begin).cost for c in resampled_row_counts("pairs", 0, 240, 60)]
    assert (fit.bootstrap["objective"].values / theirs - 1).max() <= 1e-9


@pytest.mark.slow
def test_standard_errors_of_bootstraps_are_the_published_ones(chinchilla_points):
    law = forecast.law("scaling/chinchilla")
    fits = [law.fit(chinchilla_points, options=DELTA, bootstrap=4000, seed=seed) for seed in range(5)]
    published = law.published("besiroglu2024-mle").stderr
    for name in law.parameters:
        mean = np.mean([float(fit.stderr[name]) for fit in fits])
        assert mean == pytest.approx(float(published[name]), rel=0.15 if name == "B" else 0.08), name


def test_no_refit_of_a_law_from_text_is_worse_than_scipys():
    law = forecast.Law(
        "E + A*(x + d)**-b*exp(-k*x)", variables=["x"], positive=["E", "A", "d", "b", "k"],
        objective="least_squares_log",
    )  # fmt: skip
    x = np.geomspace(1, 1000, 100)
    true = {"E": 1.0, "A": 5.0, "d": 3.0, "b": 0.5, "k": 1e-3}
    y = law.value(true, x=x) * np.exp(0.01 * np.random.default_rng(0).standard_normal(100))
    fit = law.fit({"x": x, "y": y}, bootstrap=60)

    def refit(count):
        def residuals(u):
            return np.sqrt(count) * np.log(law.value(dict(zip(true, np.exp(u), strict=True)), x=x) / y)

        return least_squares(residuals, np.log([fit.values[n] for n in true]), x_scale="jac")

    theirs = [2 * refit(c).cost for c in resampled_row_counts("pairs", 0, 100, 20)]
    assert (fit.bootstrap["objective"].values[:20] / theirs - 1).max() <= 1e-9


@pytest.mark.parametrize("name", FORMS)
def test_many_curves_at_once_have_the_optima_of_curve_fit(name):
    law, (form, begin, spans) = forecast.law(name), FORMS[name]
    rng, x = np.random.default_rng(1), np.geomspace(1, 1e4, 20)
    y = form(x, *(rng.uniform(*span, (1000, 1)) for span in spans)) * (1 + 0.01 * rng.standard_normal((1000, 20)))
    curves = xr.Dataset({"x": ("point", x), law.output: (("curve", "point"), y)})
    fits = law.fit(curves, by="curve", objective="least_squares")
    assert fits.converged.all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = [np.sum((form(x, *curve_fit(form, x, row, p0=begin, maxfev=5000)[0]) - row) ** 2) for row in y[:200]]
    assert fits.objective.values[:200] == pytest.approx(np.array(theirs), rel=1e-9)


@pytest.mark.slow
def test_eight_exponentials_where_four_are_seen():
    x, rng = np.linspace(0, 10, 200), np.random.default_rng(0)
    y = sum(a * np.exp(-b * x) for a, b in ((5, 0.1), (3, 0.5), (2, 2), (1, 6)))
    law = forecast.Law("+".join(f"a{i}*exp(-b{i}*x)" for i in range(8)), variables=["x"])
    assert law.fit({"x": x, "y": y + 0.01 * rng.standard_normal(200)}).objective < 0.0178
