"""The damped trend and the local linear trend: statsmodels' forecasts, honest widths, any spacing."""

import warnings

import numpy as np
import pytest
from statsmodels.tsa.statespace.exponential_smoothing import ExponentialSmoothing
from statsmodels.tsa.statespace.structural import UnobservedComponents

import forecast
from forecast.errors import DataError, FitError
from forecast.streams import DRAWS_PER_BLOCK, Streams
from forecast_trends.points import path
from forecast_trends.walks.damped import DampedTrend
from forecast_trends.walks.local_linear import LocalLinear
from forecast_trends.walks.states import FittedStates, Point, cells

SHAPES = [DampedTrend(), LocalLinear()]
IDS = ["damped-trend", "local-linear"]


def years(n):
    return 2000.0 + np.arange(n)


def wandering(seed, n=40):
    """A local linear trend: shocks of level .1 and of growth .05, scatter .1."""
    rng = np.random.default_rng(seed)
    growth = 0.3 + np.cumsum(0.05 * rng.standard_normal(n))
    return np.cumsum(growth + 0.1 * rng.standard_normal(n)) + 0.1 * rng.standard_normal(n)


def dying(seed, n=40, phi=0.9, alpha=0.6, beta=0.1):
    """An ETS(A,Ad,N)."""
    rng, level, growth, out = np.random.default_rng(seed), 0.0, 0.5, []
    for _ in range(n):
        e = 0.15 * rng.standard_normal()
        out.append(level + phi * growth + e)
        level, growth = level + phi * growth + alpha * e, phi * growth + beta * e
    return np.array(out)


def only(fitted, point):
    """The fitted shape with one set of parameters, known for certain."""
    return FittedStates(
        grid=fitted.grid, points=(point,), weights=np.ones(1), climb=lambda: point, dof=1e9, summarise=fitted.summarise
    )


def drawn(fitted, time, blocks=1, seed=0, observed=False):
    found = [fitted.sample(time, Streams(seed, "test", b), observed=observed) for b in range(blocks)]
    return np.log(np.concatenate(found, axis=1))


# --- the same forecasts as statsmodels --------------------------------------------------------------------------------


@pytest.mark.parametrize("holes", [[], [3, 4, 11, 30]])
def test_the_local_linear_forecast_is_that_of_statsmodels(holes):
    y = wandering(1)
    y[holes] = np.nan
    oracle = UnobservedComponents(y, "local linear trend", use_exact_diffuse=True).fit(disp=False)
    expected = oracle.get_forecast(10)
    seen = np.isfinite(y)
    fitted = LocalLinear().fit(years(40)[seen], np.exp(y[seen]))
    ahead = 2039.0 + np.arange(1, 11)
    assert np.log(fitted.central(ahead)) == pytest.approx(expected.predicted_mean, abs=2e-3)
    # and with its parameters known for certain, draws have its mean and its standard error
    known = only(fitted, fitted.best)
    found = drawn(known, ahead, blocks=20, observed=True)
    assert found.mean(axis=1) == pytest.approx(expected.predicted_mean, abs=0.03)
    assert found.std(axis=1) == pytest.approx(np.sqrt(expected.var_pred_mean), rel=0.08)


@pytest.mark.parametrize("holes", [[], [3, 4, 11, 30]])
def test_the_damped_forecast_is_that_of_statsmodels(holes):
    y = dying(2)
    y[holes] = np.nan
    seen = np.isfinite(y)
    fitted = DampedTrend().fit(years(40)[seen], np.exp(y[seen]))
    oracle = ExponentialSmoothing(y, trend=True, damped_trend=True).smooth([*fitted.best.parameters.values()])
    ahead = 2039.0 + np.arange(1, 11)
    # statsmodels forecasts the observation, which is its level
    assert np.log(fitted.central(ahead)) == pytest.approx(oracle.forecast(10), abs=1e-9)


@pytest.mark.slow
def test_the_maximum_that_was_found_is_no_worse_than_statsmodels_own():
    for seed in range(5):
        y = dying(seed, n=30)
        model = ExponentialSmoothing(y, trend=True, damped_trend=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            own = model.fit(disp=False)
        best = DampedTrend().fit(years(30), np.exp(y)).best
        assert model.loglike([*best.parameters.values()]) >= own.llf - 0.05


def test_draws_of_known_parameters_have_the_variance_of_statsmodels():
    y = dying(3)
    model = ExponentialSmoothing(y, trend=True, damped_trend=True, concentrate_scale=False)
    oracle = model.smooth([0.6, 0.1, 0.9, 0.0225, 0.0, 0.5])
    point = Point.of(oracle.model.ssm, {"damping": 0.9}, level=1, growth=[0, 0, 0.9], scatter=0.8)
    fitted = DampedTrend().fit(years(40), np.exp(y))
    # filtered with a variance of .0225 the point's own unit is 1
    point = Point(**{**vars(point), "scale": 1.0, "scatter": 0.15 * point.scatter})
    ahead = 2039.0 + np.arange(1, 11)
    found, expected = drawn(only(fitted, point), ahead, blocks=20, observed=True), oracle.get_forecast(10)
    assert found.mean(axis=1) == pytest.approx(expected.predicted_mean, abs=0.02)
    assert found.std(axis=1) == pytest.approx(np.sqrt(expected.var_pred_mean), rel=0.05)


# --- what they say ----------------------------------------------------------------------------------------------------


def test_the_damping_is_found_and_the_level_ends():
    found = [DampedTrend().fit(years(80), np.exp(dying(s, n=80, phi=0.85, beta=0.3))) for s in range(4)]
    facts = [f.describe().facts for f in found]
    assert np.mean([f["damping"] for f in facts]) == pytest.approx(0.85, abs=0.04)
    ends = drawn(found[0], np.array([2079.0, 2300.0]), blocks=4)
    gained = np.quantile(ends[1] - ends[0], [0.05, 0.5, 0.95])
    assert gained[1] == pytest.approx(facts[0]["log_growth_to_come"], abs=0.1)
    assert gained[0] < facts[0]["log_growth_to_come_p05"] < facts[0]["log_growth_to_come_p95"] < gained[2]  # no shocks


@pytest.mark.parametrize("model", ["hardware/gpu-bandwidth@damped-trend", "hardware/gpu-peak-fp16@damped-trend"])
def test_what_it_says_of_growth_lies_inside_what_it_draws(model):
    """The maximum of the likelihood may lie outside: what is said is the median of what is drawn."""
    facts = forecast.model(model).fit().describe().facts
    assert facts["growth_p05"] < facts["growth_per_year"] < facts["growth_p95"]
    assert facts["log_growth_to_come_p05"] < facts["log_growth_to_come"] < facts["log_growth_to_come_p95"]


@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
def test_the_growth_now_is_within_its_interval_and_the_draws_agree(shape):
    fitted = shape.fit(years(30), np.exp(wandering(4, 30)))
    facts = fitted.describe().facts
    assert facts["growth_p05"] < facts["growth_per_year"] < facts["growth_p95"]
    growth = np.concatenate([fitted.posterior(Streams(0, "test", b))["growth"] for b in range(20)])
    assert np.quantile(growth, [0.05, 0.95]) == pytest.approx([facts["growth_p05"], facts["growth_p95"]], abs=0.01)


@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
def test_parameters_are_uncertain(shape):
    fitted = shape.fit(years(15), np.exp(wandering(5, 15)))
    assert len(fitted.points) > 10
    assert fitted.weights.sum() == pytest.approx(1.0)
    ahead = np.array([2024.0])
    assert drawn(fitted, ahead, blocks=4).std() > 1.1 * drawn(only(fitted, fitted.points[0]), ahead, blocks=4).std()


# --- spacing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("time", "step", "filled"),
    [
        (np.arange(2000.0, 2010), 1.0, 10),
        (np.arange(2000.0, 2020, 2), 1.0, 19),
        (np.arange(2000.0, 2010, 0.5), 0.5, 20),
        (2000 + np.arange(48) / 12, 1 / 12, 48),
        (np.array([2000.0, 2001.1, 2001.9, 2003.0, 2006.0, 2007.05]), 1.0, 8),
    ],
)
def test_a_series_is_put_on_an_even_grid(time, step, filled):
    grid = cells(path(time, np.exp(time - 2000), frontier=False, least=3, what="a test"))
    assert (grid.step, len(grid.y)) == (pytest.approx(step), filled)
    assert grid.counted == len(time)
    assert grid.time[-1] == time[-1]
    assert grid.moved <= step / 2
    assert ("moved" in grid.said()) == (grid.moved > 1e-3)
    assert ("without an observation" in grid.said()) == (filled > len(time))


@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
def test_holes_widen_and_hardly_move_the_forecast(shape):
    y, keep = wandering(6), np.delete(np.arange(40), np.arange(25, 39, 2))
    whole, holed = shape.fit(years(40), np.exp(y)), shape.fit(years(40)[keep], np.exp(y[keep]))
    ahead = np.array([2041.0])
    assert drawn(holed, ahead, blocks=4).mean() == pytest.approx(drawn(whole, ahead, blocks=4).mean(), abs=0.5)
    assert "7 of 40 without an observation" in " ".join(holed.describe().assumptions)


# --- warnings, edges, what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
def test_a_flat_series_does_not_grow(shape):
    fitted = shape.fit(years(12), np.full(12, 7.0))
    assert fitted.describe().summary.startswith("does not now grow")
    assert fitted.sample(np.array([2100.0]), Streams(0, "test", 0)) == pytest.approx(
        np.full((1, DRAWS_PER_BLOCK), 7.0), rel=1e-6
    )


def test_a_noiseless_exponential_is_continued_by_the_local_linear_trend():
    fitted = LocalLinear().fit(years(12), 3.0 * 2.0 ** np.arange(12))
    assert fitted.describe().facts["doubling_years"] == pytest.approx(1.0, rel=1e-6)
    assert fitted.central(np.array([2030.0])) == pytest.approx([3.0 * 2.0**30], rel=1e-6)


@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
@pytest.mark.parametrize(
    ("time", "value", "error", "says"),
    [
        (years(4), np.ones(4), FitError, "trend needs at least [56] dates, got 4"),
        (years(6), np.array([1.0, 2, np.nan, 4, 5, 6]), DataError, "point 3 of 6"),
        (np.full(9, 2000.0), np.arange(1.0, 10), FitError, "more than one date"),
    ],
)
def test_what_cannot_be_fitted_is_refused(shape, time, value, error, says):
    with pytest.raises(error, match=says):
        shape.fit(time, value)
