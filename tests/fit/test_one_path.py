"""Many fits are the loop of single ones: in numbers, in intervals and in words; and have all that a single one has."""

import numpy as np
import pytest
import xarray as xr

import forecast
from forecast.errors import FitError
from forecast.fit.fit import Fit, Fits
from toolkit import sample

X, T = np.geomspace(10, 1e4, 24), np.linspace(0, 20, 24)
LAWS = {
    "power": ("b*x**-c", ["b", "c"], X, lambda r, x: r.uniform(2, 9) * x ** -r.uniform(0.05, 0.5)),
    "saturating": (
        "E + b*x**-c", ["E", "b", "c"], X,
        lambda r, x: r.uniform(0.2, 3) + r.uniform(2, 9) * x ** -r.uniform(0.05, 0.3),
    ),
    "logistic": (
        "K/(1 + exp(-r*(x - m)))", ["K", "r"], T,
        lambda r, x: r.uniform(1, 5) / (1 + np.exp(-r.uniform(0.4, 1) * (x - r.uniform(6, 14)))),
    ),
    "exponential": ("a*exp(g*x)", ["a"], T / 2, lambda r, x: r.uniform(1, 5) * np.exp(r.uniform(-0.2, 0.3) * x)),
}  # fmt: skip
OBJECTIVES = ("least_squares", "least_squares_log", "huber_log", "gaussian_log")
#: What two searches of the same optimum may differ by, in anything that follows from it; the standard errors of plain
#: squares are of the curvature one step before the solution, which the solver has at hand.
CLOSE, CLOSE_SQUARES_ERRORS = 1e-9, 1e-8


def curves(name, seeds):
    text, positive, x, make = LAWS[name]
    rows = [make(np.random.default_rng(s), x) for s in seeds]
    noise = [np.exp(0.03 * np.random.default_rng(s + 999).standard_normal(x.size)) for s in seeds]
    return forecast.Law(text, variables=["x"], positive=positive), x, np.array(rows) * np.array(noise)


def ends(fit, name):
    try:
        return fit.interval(name, 0.9)
    except FitError:
        return np.nan, np.nan


def held_to_the_loop(name, objective, seeds):
    law, x, y = curves(name, seeds)
    count = len(seeds)
    long = {"x": np.tile(x, count), "y": y.ravel(), "curve": np.repeat(np.arange(count), x.size)}
    fits = law.fit(long, by="curve", objective=objective)
    intervals = {p: fits.interval(p, 0.9) for p in law.parameters}
    errors = CLOSE_SQUARES_ERRORS if objective == "least_squares" else CLOSE
    for i in range(count):
        alone = law.fit({"x": x, "y": y[i]}, objective=objective)
        assert str(fits.verdict.values[i]) == alone.verdict, i
        assert bool(fits.converged[i]) == alone.converged
        for p in law.parameters:
            least = CLOSE * float(abs(alone.values[p]))
            assert float(fits.params[p][i]) == pytest.approx(alone.values[p], rel=CLOSE, abs=least)
            assert float(fits.stderr[p][i]) == pytest.approx(float(alone.stderr[p]), rel=errors)
            found = [float(intervals[p][side][i]) for side in ("lower", "upper")]
            assert found == pytest.approx(ends(alone, p), rel=CLOSE, abs=least, nan_ok=True), (i, p)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("name", sample(LAWS, 4, 3))
def test_over_equals_the_loop(name, objective):
    held_to_the_loop(name, objective, range(2))


def test_a_threshold_does_not_depend_on_the_fits_beside_it():
    law, x, y = curves("saturating", range(6))
    data = {"x": np.tile(x, 6), "y": y.ravel(), "curve": np.repeat(np.arange(6), x.size)}
    whole = law.fit(data, by="curve", objective="huber_log")
    for i in range(6):
        part = {name: column[data["curve"] == i] for name, column in data.items()}
        alone = law.fit(part, by="curve", objective="huber_log")
        assert float(whole.delta[i]) == pytest.approx(float(alone.delta[0]), rel=1e-13)


def test_many_fits_have_every_member_of_one():
    members = {n for n in {*dir(Fit), *Fit.__dataclass_fields__} if not n.startswith("_")}
    assert sorted(members - set(dir(Fits)) - set(Fits.__dataclass_fields__)) == []


def test_what_is_written_once_answers_for_one_and_for_many():
    law, x, y = curves("power", range(2))
    fits = law.fit({"x": np.tile(x, 2), "y": y.ravel(), "curve": np.repeat(["a", "b"], x.size)}, by="curve")
    one = fits.select("b")
    assert fits.params["b"].dims == ("curve",)
    assert one.params["b"].dims == ()
    for name in ("params", "stderr", "covariance"):
        found = getattr(fits, name).sel(curve="b", drop=True)
        xr.testing.assert_allclose(found, getattr(one, name), rtol=CLOSE_SQUARES_ERRORS)
    assert fits.stderr.attrs == one.stderr.attrs
    for answer in (
        lambda fit: fit.predict(x=[3.0, 1e5])["upper"],
        lambda fit: fit.invert(y=2.0, solve_for="x", draws=200)["x_upper"],
        lambda fit: fit.posterior(100, seed=3)["c"],
        lambda fit: fit.profile("c", points=5)["objective"],
        lambda fit: fit.resample(20).bootstrap["c"],
    ):
        np.testing.assert_allclose(answer(fits).sel(curve="b"), answer(one), rtol=CLOSE_SQUARES_ERRORS)
