"""Observations that say "at least": a Tobit likelihood, and trends that rest on it."""

import numpy as np
import pytest

import forecast
from forecast.errors import FitError
from forecast.streams import Streams
from forecast_capability.quantities.censored import AtLeast, PoolAtLeast, WalkAtLeast, tobit


class LineAtLeast(AtLeast):
    of = "trends/exponential"


def line(t):
    return np.stack([np.ones_like(t), t - t.mean()], axis=1)


def test_without_a_censored_row_it_is_least_squares():
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(30), rng.normal(size=30), 1e6 * rng.normal(size=30)])
    y = x @ [3.0, -1.0, 2e-6] + rng.normal(size=30)
    got = tobit(x, y, np.zeros(30, dtype=bool))
    found, left, *_ = np.linalg.lstsq(x, y, rcond=None)
    np.testing.assert_allclose(got.found, found, rtol=1e-9)
    np.testing.assert_allclose(got.scatter, np.sqrt(left[0] / 27), rtol=1e-9)
    np.testing.assert_allclose(got.covariance, left[0] / 27 * np.linalg.inv(x.T @ x), rtol=1e-7)
    assert got.dof == 27


def test_it_is_the_maximum_of_the_censored_likelihood():
    """Against a general optimiser on the likelihood as Tobin wrote it."""
    from scipy.optimize import minimize
    from scipy.stats import norm

    rng = np.random.default_rng(2)
    t = np.linspace(0, 10, 40)
    y = 1 + 0.7 * t + rng.normal(size=40)
    at_limit = y > 6
    x, y = line(t), np.minimum(y, 6.0)

    def lost(p):
        middle, scatter = x @ p[:2], np.exp(p[2])
        sure = norm.logpdf(y[~at_limit], middle[~at_limit], scatter)
        return -sure.sum() - norm.logsf(y[at_limit], middle[at_limit], scatter).sum()

    best = minimize(lost, [4.0, 0.5, 0.0], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14})
    got = tobit(x, y, at_limit)
    np.testing.assert_allclose(got.found, best.x[:2], rtol=1e-6)
    np.testing.assert_allclose(got.scatter, np.exp(best.x[2]) * np.sqrt(40 / 38), rtol=1e-6)


def test_left_out_or_taken_as_read_the_slope_is_too_low_and_censored_it_is_not():
    rng = np.random.default_rng(3)
    t = np.linspace(2019, 2026, 24)
    x, slopes, held = line(t), [], []
    for _ in range(400):
        y = 1.4 * (t - t.mean()) + rng.normal(scale=0.6, size=24)
        at_limit = y > 3.0
        got = tobit(x, np.minimum(y, 3.0), at_limit)
        out = np.linalg.lstsq(x[~at_limit], y[~at_limit], rcond=None)[0][1]
        at = np.linalg.lstsq(x, np.minimum(y, 3.0), rcond=None)[0][1]
        slopes.append([got.found[1], out, at])
        held.append(abs(got.found[1] - 1.4) < 1.72 * np.sqrt(got.covariance[1, 1]))
    censored, left_out, as_read = np.mean(slopes, axis=0) - 1.4
    error = np.std([s[0] for s in slopes]) / 20
    assert abs(censored) < 3 * error
    assert left_out < -5 * error
    assert as_read < -5 * error
    assert 0.85 < np.mean(held) < 0.95  # of a 90 % interval


def test_a_line_is_refused_where_nearly_all_is_censored():
    with pytest.raises(FitError, match="more than 2 observations that are not censored, got 2"):
        tobit(line(np.arange(4.0)), np.ones(4), np.array([False, False, True, True]))


# --- Trends -----------------------------------------------------------------------------------------------------------


def test_a_shape_agrees_with_the_censored_likelihood():
    rng = np.random.default_rng(4)
    t = np.linspace(2000, 2020, 41)
    whole = np.exp(0.4 * (t - 2000) + rng.normal(scale=0.5, size=41))
    limit = np.exp(6.5)
    value = np.minimum(whole, limit)
    growth = LineAtLeast(limit=limit).fit(t, value).posterior(Streams(0, "a", 0))["growth"].mean()
    by_likelihood = tobit(line(t), np.log(value), value >= limit).found[1]
    read = forecast.models.shape("trends/exponential").fit(t, value).posterior(Streams(0, "a", 0))["growth"].mean()
    assert growth == pytest.approx(by_likelihood, abs=0.02)
    assert read < growth - 0.03


@pytest.mark.parametrize(("shape", "other"), [(PoolAtLeast, "trends/pool"), (WalkAtLeast, "trends/random-walk")])
def test_without_an_observation_at_the_limit_it_is_the_other_shape(shape, other):
    rng = np.random.default_rng(5)
    t = np.arange(2000.0, 2020.0)
    value = np.exp(0.3 * (t - 2000) + 0.1 * rng.normal(size=20))
    ahead = np.array([2020.0, 2030.0])
    mine = shape(limit=1e9).fit(t, value).sample(ahead, Streams(0, "a", 0))
    np.testing.assert_array_equal(mine, forecast.models.shape(other).fit(t, value).sample(ahead, Streams(0, "a", 0)))


def test_what_lies_above_the_limit_says_no_more():
    t = np.arange(2000.0, 2012.0)
    value = 2.0 ** (t - 2000) * (1 + 0.1 * (t % 3))
    ahead = np.array([2013.0])
    drawn = []
    for last in (1000.0, 50_000.0):
        value[-1] = last
        drawn.append(WalkAtLeast(limit=900.0).fit(t, value).sample(ahead, Streams(0, "a", 0)))
    np.testing.assert_array_equal(*drawn)


def test_the_shipped_horizon_is_a_frontier_that_starts_above_what_is_reliable():
    fitted = forecast.model("capability/time-horizon@pool-at-least").fit()
    assert "1 at the limit of 960 count as at least that" in fitted.describe().summary
    seen = fitted.observed()
    drawn = fitted.sample(np.append(seen.time[-2:], [2026.3, 2026.75, 2028.0, 2035.0]), {}, Streams(0, "a", 0))
    assert (np.diff(drawn, axis=0) >= 0).all()
    # what was read stands at its date; from then on each world has what it takes it to be
    np.testing.assert_allclose(drawn[:2], np.repeat(seen.value[-2:, None], drawn.shape[1], axis=1), rtol=1e-12)
    assert len(np.unique((drawn[2] / seen.value[-1]).round(1))) > 2
    earlier = forecast.model("capability/time-horizon@pool").fit(as_of=2026.0)
    same = forecast.model("capability/time-horizon@pool-at-least").fit(as_of=2026.0)
    ahead = np.array([2027.0])
    np.testing.assert_array_equal(
        same.sample(ahead, {}, Streams(0, "a", 0)), earlier.sample(ahead, {}, Streams(0, "a", 0))
    )


def test_a_parameter_of_it_can_be_set():
    asked = {
        "start": 2026.5, "until": 2030.0, "quantities": {"x": {"model": "capability/time-horizon@pool-at-least"}},
    }  # fmt: skip
    free = forecast.project(asked, draws=128)["projection"]["x"].values
    held = forecast.project(asked, draws=128, with_={"x.growth": 0.5})["projection"]["x"].values
    assert np.ptp(np.log(held[-1])) < np.ptp(np.log(free[-1]))
