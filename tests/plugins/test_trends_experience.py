"""The experience curve: exact curves, the published variance, Sahal's identity, production that slows, any spacing."""

import numpy as np
import pytest

from forecast.errors import DataError, FitError, UsageError
from forecast.streams import DRAWS_PER_BLOCK, Streams
from forecast_trends.learning.experience import POOLED_STEP_CORRELATION, Experience, error_variance
from forecast_trends.learning.production import Production, swell
from forecast_trends.lines.exponential import Exponential
from forecast_trends.walks.echo import Increments, forecast_variance
from forecast_trends.walks.walk import RandomWalk
from toolkit import sample

T = np.arange(2000.0, 2016.0)


def made(seed=0, years=16, growth=0.2, noise=0.15):
    """What was made up to the end of every year."""
    rng = np.random.default_rng(seed)
    return 3.0 + np.cumsum(np.exp(growth * np.arange(years) + noise * rng.standard_normal(years)))


def cost(total, seed=1, w=0.4, sigma=0.1, rho=0.0):
    """A cost that obeys the law, from 1."""
    v = sigma * np.random.default_rng(seed).standard_normal(len(total))
    return np.exp(np.append(0.0, np.cumsum(-w * np.diff(np.log(total)) + v[1:] + rho * v[:-1])))


def fit(value, total, time=T, frontier=False, **options):
    return Experience(**options).fit(time[: len(value)], value, frontier=frontier, columns={"cumulative": total})


def drawn(fitted, time, blocks=1, seed=0):
    return np.log(np.concatenate([fitted.sample(time, Streams(seed, "test", b)) for b in range(blocks)], axis=1))


# --- exact curves -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("w", [0.32, pytest.param(1.0, marks=pytest.mark.slow), 0.0, -0.7])
@pytest.mark.parametrize("rho", [0.0, POOLED_STEP_CORRELATION, pytest.param(-0.5, marks=pytest.mark.slow)])
def test_an_exact_curve_is_found_exactly_and_has_no_width(w, rho):
    total = made()
    fitted = fit(50 * total**-w, total, growth=0.1, rho=rho)
    facts = fitted.describe().facts
    assert (facts["w"], facts["w_p05"], facts["w_p95"]) == pytest.approx([w] * 3, abs=1e-7)
    assert facts["learning_rate"] == pytest.approx(1 - 2**-w, abs=1e-7)
    # production goes on from that of the last year, ten per cent (in logs) more every year
    to_come = total[-1] + np.cumsum((total[-1] - total[-2]) * np.exp(0.1 * np.arange(1, 31)))
    ahead = T[-1] + np.arange(1.0, 31.0)
    assert fitted.central(ahead) == pytest.approx(50 * to_come**-w, rel=1e-9)
    worlds = fitted.sample(ahead, Streams(0, "test", 0))
    assert worlds.shape == (30, DRAWS_PER_BLOCK)
    np.testing.assert_allclose(worlds, np.broadcast_to(50 * to_come[:, None] ** -w, worlds.shape), rtol=1e-5)


@pytest.mark.parametrize("dates", [T, np.array([2000.0, 2000.5, 2003, 2004, 2004.25, 2009, 2010, 2015])])
@pytest.mark.parametrize("growth", [0.05, 0.6, -0.1])
def test_an_exponential_of_production_goes_on_whatever_the_dates(dates, growth):
    rate = lambda t: np.exp(growth * (t - 2000))  # noqa: E731
    total = 1 / abs(growth) * (rate(dates) - (0 if growth > 0 else 2)) * np.sign(growth)  # the integral of the rate
    found = Production.of(dates, np.log(total))
    assert found.growth == pytest.approx(growth, abs=1e-9)
    assert found.noise == pytest.approx(0.0, abs=1e-7)
    ahead = found.period * np.arange(1.0, 40.0)
    expected = np.sign(growth) / abs(growth) * (rate(2015 + ahead) - (0 if growth > 0 else 2))
    assert found.steady(ahead, np.array([growth]))[:, 0] == pytest.approx(np.log(expected / total[-1]), abs=1e-8)


def test_a_constant_production_adds_the_same_every_year():
    total = made()
    found = Production.of(T, np.log(total))
    grown = np.exp(found.steady(np.array([1.0, 2.0, 100.0]), np.zeros(1))[:, 0])
    assert grown == pytest.approx(1 + np.array([1, 2, 100]) * (total[-1] - total[-2]) / total[-1])


def test_a_swollen_period_is_sinh():
    x = np.array([1e-6, 1e-3, 0.1, 1.0, 30.0, 5000.0])
    with np.errstate(over="ignore"):
        expected = np.where(x < 300, np.log(np.sinh(x / 2) / (x / 2)), x / 2 - np.log(x))
    assert swell(x, 1.0) == pytest.approx(expected, abs=1e-9)
    assert swell(-x, 1.0) == pytest.approx(expected, abs=1e-9)


# --- Sahal: with steady production Wright is Moore --------------------------------------------------------------------


def test_with_steady_production_an_exact_curve_is_moores_line():
    total = np.exp(0.3 * (T - 2000))
    ahead = np.array([2016.0, 2030.5, 2060.0])
    moore = Exponential().fit(T, 7 * total**-0.5)
    assert fit(7 * total**-0.5, total).central(ahead) == pytest.approx(moore.central(ahead), rel=1e-9)
    assert moore.describe().facts["growth_per_year"] == pytest.approx(-0.5 * 0.3)


@pytest.mark.parametrize("rho", [0.0, POOLED_STEP_CORRELATION])
@pytest.mark.parametrize("dates", [T, np.delete(T, [2, 3, 9, 13])])
def test_with_steady_production_the_curve_is_the_random_walk_with_drift(rho, dates):
    total = np.exp(0.3 * (dates - 2000))
    value = cost(total, sigma=0.2)
    wright, walk = fit(value, total, dates, rho=rho), RandomWalk(rho).fit(dates, value)
    ahead = np.array([2016.0, 2020.0, 2035.0])
    assert wright.central(ahead) == pytest.approx(walk.central(ahead), rel=1e-9)
    facts, drift = wright.describe().facts, walk.describe().facts
    assert facts["w"] * 0.3 == pytest.approx(-drift["growth_per_year"])
    assert facts["w_p95"] * 0.3 == pytest.approx(-drift["growth_p05"])
    assert facts["degrees_of_freedom"] == pytest.approx(drift["degrees_of_freedom"])
    ours, theirs = (np.quantile(drawn(f, ahead, blocks=20), [0.05, 0.5, 0.95], axis=1) for f in (wright, walk))
    # a quantile of 20 blocks of pairs is known to 0.7 % of the width; four times that of a difference
    assert np.abs(ours - theirs).max(axis=0) / np.ptp(theirs, axis=0) == pytest.approx(np.zeros(3), abs=0.04)


def test_when_production_stops_growing_the_cost_falls_more_slowly_than_moore_says():
    total, ahead = np.exp(0.3 * (T - 2000)), np.array([2025.0, 2045.0])
    value = cost(total, sigma=0.05, w=0.5)
    on, stopped = (np.median(drawn(fit(value, total, growth=g), ahead), axis=1) for g in (0.3, 0.0))
    last = np.log(value[-1])
    # Moore: w·0.3 a year. Stopped: by w·log(1 + years·production/all that was made)
    w = fit(value, total).w
    assert on - last == pytest.approx(-w * 0.3 * np.array([10.0, 30.0]), abs=1e-6)
    assert stopped - last == pytest.approx(-w * np.log1p(np.array([10, 30]) * (1 - np.exp(-0.3))), abs=1e-6)
    assert stopped[1] > on[1] + 1


# --- the published variance -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rho", [0.0, POOLED_STEP_CORRELATION, -0.5, 0.8])
@pytest.mark.parametrize("horizon", [1, 5, 20])
def test_the_variance_formula_is_that_of_simulated_forecasts(rho, horizon):
    rng = np.random.default_rng(1)
    past, ahead = rng.uniform(0.02, 0.3, 12), rng.uniform(0.02, 0.3, horizon)
    v = rng.standard_normal((13 + horizon, 40_000))
    noise = v[1:] + rho * v[:-1]
    error = noise[12:].sum(axis=0) - past @ noise[:12] / (past @ past) * ahead.sum()
    # the variance of 40,000 normal errors is known to sqrt(2/40000) = 0.7 %; three of those
    assert np.var(error) == pytest.approx(error_variance(past, ahead, rho), rel=0.025)


@pytest.mark.parametrize("rho", [0.0, POOLED_STEP_CORRELATION])
def test_with_even_growth_it_is_farmer_and_lafonds(rho):
    for m, tau in ((5, 1), (5, 20), (30, 8)):
        found = error_variance(np.full(m, 0.1), np.full(tau, 0.1), rho)
        assert found == pytest.approx(forecast_variance(tau, m, rho))
    assert error_variance([0.1, 0.3], [0.2, 0.2]) == pytest.approx(2 + 0.4**2 / 0.1)


@pytest.mark.parametrize("rho", [0.0, POOLED_STEP_CORRELATION, -0.5])
def test_the_draws_have_the_published_variance(rho):
    total = made(noise=0.4)
    fitted = fit(cost(total, rho=rho), total, growth=0.05, rho=rho)
    years = np.array([1, 2, 5, 20])
    log_made = fitted.production.steady(np.arange(21.0), np.array([0.05]))[:, 0]
    expected = [error_variance(np.diff(np.log(total)), np.diff(log_made[: n + 1]), rho) for n in years]
    found = drawn(fitted, T[-1] + years, blocks=40)
    assert found.var(axis=1) == pytest.approx(
        np.array(expected) * fitted.scale**2 * fitted.dof / (fitted.dof - 2), rel=0.06
    )


def test_the_moments_of_the_squares_are_those_of_the_full_matrices():
    at = np.array([0.0, 0.3, 0.9, 2.4, 3.0, 3.1, 5.5, 6.5])
    rng = np.random.default_rng(0)
    along = np.cumsum(rng.uniform(0.1, 1.0, 8))
    steps = Increments.of(at, rng.standard_normal(8), 1.0, along=along)
    d, x = np.diag(1 / steps.length), np.diff(along)
    for rho in (0.0, POOLED_STEP_CORRELATION, -0.8):
        covariance = (1 + rho**2) * np.diag(steps.length) + rho * steps.shared
        form = d - d @ np.outer(x, x) @ d / (x @ d @ x)
        mean, spread = np.trace(form @ covariance), 2 * np.trace(form @ covariance @ form @ covariance)
        sigma, dof = steps.scales(np.array([rho]))
        assert sigma[0] ** 2 == pytest.approx(steps.step @ form @ steps.step / mean)
        assert dof[0] == pytest.approx(2 * mean**2 / spread)
        by = d @ x / (x @ d @ x)
        assert steps.slope == pytest.approx(by @ steps.step)
        assert steps.variance(rho) == pytest.approx(by @ covariance @ by)
    # the shocks of the last year, a month each: their share of the slope's error is that of the step they fall in
    recent = steps.recent(1.0)
    assert recent == pytest.approx(np.full(12, by[-1] / 12))
    assert steps.recent(2.0).sum() == pytest.approx(by[-1] + by[-2] * 1.0)


# --- ninety per cent is ninety per cent -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rho", "window", "known", "noise"),
    sample([(POOLED_STEP_CORRELATION, 15, False, 0.1), (0.0, 15, False, 0.1),
     (POOLED_STEP_CORRELATION, 15, True, 0.0), (0.0, 7, False, 0.1),
     (POOLED_STEP_CORRELATION, 30, False, 0.3)], 0, 5),
)  # fmt: skip
def test_ninety_per_cent_intervals_hold_ninety_per_cent(rho, window, known, noise):
    rng, inside, series = np.random.default_rng(9), np.zeros(3), 300
    ahead, t = np.array([1, 5, 20]), 2000.0 + np.arange(window + 21)
    for i in range(series):
        total = 5 + np.cumsum(np.exp(np.cumsum(0.12 + noise * rng.standard_normal(len(t)))))
        y, seen = np.log(cost(total, rng.integers(2**31), rho=rho)), slice(0, window + 1)
        fitted = fit(np.exp(y[seen]), total[seen], t, rho=rho, growth=0.12 if known else None)
        low, high = np.quantile(drawn(fitted, t[window] + ahead, seed=i), [0.05, 0.95], axis=1)
        inside += (low <= y[window + ahead]) & (y[window + ahead] <= high)
    share = inside / series
    said = "known" if known else "estimated"
    print(f"90 % intervals at 1, 5, 20 years, rho {rho}, {window} steps, production {said} (±{noise}): {share}")
    # 300 series know a share of 90 % to 1.7 %
    assert share == pytest.approx(np.full(3, 0.90), abs=3 * np.sqrt(0.09 / series))


def test_w_and_the_growth_of_production_are_recovered():
    found = [fit(cost(made(s, 200), s + 1), made(s, 200), 1800 + np.arange(200.0)).describe().facts for s in range(8)]
    assert np.mean([f["w"] for f in found]) == pytest.approx(0.4, abs=4 * 0.1 / (0.2 * np.sqrt(8 * 199)))
    assert sum(f["w_p05"] <= 0.4 <= f["w_p95"] for f in found) >= 5
    assert np.mean([f["growth_of_production"] for f in found]) == pytest.approx(0.2, abs=0.002)
    assert np.mean([f["noise_per_year"] for f in found]) == pytest.approx(
        0.1 * np.sqrt(1 + POOLED_STEP_CORRELATION**2), rel=0.05
    )


# --- units, the time axis and the streams -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    return fit(cost(made(), sigma=0.1), made())


def test_units_change_nothing(fitted):
    other = fit(1000 * cost(made(), sigma=0.1), 1e-9 * made())
    time = np.array([1990.0, 2003.3, 2016.0, 2030.0])
    assert drawn(other, time) - np.log(1000) == pytest.approx(drawn(fitted, time), abs=1e-6)
    assert other.describe().facts == pytest.approx(fitted.describe().facts, abs=1e-7)
    later = fit(cost(made(), sigma=0.1), made(), T + 37)
    assert drawn(later, time + 37) == pytest.approx(drawn(fitted, time), abs=1e-6)


def test_the_median_draw_is_near_the_central_forecast_and_with_stated_production_it_is_the_same(fitted):
    time = np.array([1995.0, 2005.5, 2015.0, 2025.0])
    assert np.median(drawn(fitted, time, blocks=4), axis=1) == pytest.approx(np.log(fitted.central(time)), abs=0.03)
    stated = fit(cost(made()), made(), growth=0.2)
    assert np.median(drawn(stated, time), axis=1) == pytest.approx(np.log(stated.central(time)), abs=1e-9)
    assert stated.central(time[::-1]) == pytest.approx(stated.central(time)[::-1])


def test_the_posterior_is_what_the_paths_use(fitted):
    found, facts = fitted.posterior(Streams(0, "test", 0)), fitted.describe().facts
    for name in ("w", "growth_of_production"):
        assert np.median(found[name]) == pytest.approx(facts[name], abs=1e-9)
    assert set(found) == {"w", "noise_per_year", "growth_of_production"}  # none of them follows from another
    many = np.concatenate([fitted.posterior(Streams(0, "test", b))["w"] for b in range(20)])
    assert np.quantile(many, [0.05, 0.95]) == pytest.approx([facts["w_p05"], facts["w_p95"]], abs=0.01)
    path = drawn(fitted, np.array([2115.0]))[0]
    assert np.corrcoef(path, found["w"] * found["growth_of_production"])[0, 1] < -0.8


def test_within_the_series_the_level_is_what_was_seen_and_before_it_it_runs_back(fitted):
    found = drawn(fitted, np.array([1980.0, 1999.0, 2003.0, 2003.5]), blocks=20)
    assert found[2:].std(axis=1) == pytest.approx([0.0, 0.0], abs=1e-12)
    assert found[3, 0] == pytest.approx(fitted.seen.y[3:5].mean())
    # of what was made before, that it grew as it did on average
    pace = np.log(made()[-1] / made()[0]) / 15
    assert np.median(found[:2], axis=1) == pytest.approx(
        fitted.seen.y[0] + fitted.w * pace * np.array([20.0, 1.0]), abs=1e-9
    )
    variance = [
        error_variance(np.diff(np.log(made()))[::-1], np.full(n, pace), POOLED_STEP_CORRELATION) for n in (20, 1)
    ]
    assert found[:2].var(axis=1) == pytest.approx(
        np.array(variance) * fitted.scale**2 * fitted.dof / (fitted.dof - 2), rel=0.08
    )


# --- what goes in -----------------------------------------------------------------------------------------------------


def test_values_of_one_date_are_averaged():
    total, value = made(), cost(made())
    twice = fit(np.repeat(value, 2) * np.tile([0.9, 1 / 0.9], 16), np.repeat(total, 2), np.repeat(T, 2))
    assert twice.seen.y == pytest.approx(np.log(value))
    assert twice.w == pytest.approx(fit(value, total).w)


def test_of_a_running_maximum_its_records_count():
    total = made()
    value = np.maximum.accumulate(total**0.5 * np.exp(0.2 * np.random.default_rng(0).standard_normal(16)))
    records = np.append(np.diff(value, prepend=0) > 0, True)[:16]
    records[-1] = True
    found = fit(value, total, frontier=True)
    assert found.w == pytest.approx(fit(value[records], total[records], T[records]).w)
    assert found.w < 0
    assert found.describe().summary.startswith("rises by")


def changed(values, at, to):
    out = np.array(values)
    out[at] = to
    return out


WRONG = {
    "falls": (lambda: fit(cost(made()), changed(made(), 4, 1.0)), DataError,
              "which never falls, got 1 at 2004.00 after .* at 2003.00"),
    "stops": (lambda: fit(cost(made()), changed(made(), 15, made()[14])), DataError,
              "cumulative: nothing was made from 2014.00 to 2015.00, the last date"),
    "text": (lambda: fit(cost(made()), ["a"] * 16), DataError, r"cumulative: expected numbers, got \['a', "),
    "falls by its mean": (lambda: fit(np.ones(6), [100.0, 5.0, 7.0, 50.0, 60.0, 70.0],
                                      np.array([2000.0, 2000, 2001, 2002, 2003, 2004])), DataError,
                          "got 7 at 2001.00 after 22.3607 at 2000.00"),
    "zero": (lambda: fit(cost(made()), changed(made(), 0, 0.0)), DataError,
             r"cumulative: point 1 of 16 \(2000.00\): expected a positive finite amount, got 0"),
    "nan": (lambda: fit(cost(made()), changed(made(), 2, np.nan)), DataError, "cumulative: point 3 of 16"),
    "length": (lambda: fit(cost(made()), made()[:5]), DataError, "expected 16 values, one for each date, got 5"),
    "value": (lambda: fit(changed(cost(made()), 1, -1.0), made()), DataError, "point 2 of 16"),
    "few": (lambda: fit(cost(made())[:3], made()[:3]), FitError, "at least 4 dates, got 3"),
    "fewer": (lambda: fit(cost(made())[:2], made()[:2], growth=0.1), FitError, "at least 3 points, got 2"),
    "no column": (lambda: Experience().fit(T, cost(made())), FitError, "needs what was made up to each date"),
    "other column": (lambda: Experience().fit(T, cost(made()), columns={"q": made()}), FitError, "'cumulative'"),
    "many": (lambda: fit(np.ones(3001), np.arange(1.0, 3002), np.arange(3001.0)), FitError, "at most 3000 dates"),
    "rho": (lambda: Experience(rho=1.0), UsageError, "rho: expected a number between -1 and 1, got '1.0'"),
    "fitted rho": (lambda: Experience(rho="fitted"), UsageError, "rho: expected a number"),
    "growth": (lambda: Experience(growth="fast"), UsageError, "growth: expected a number a year in logs"),
    "infinite": (lambda: Experience(growth=float("inf")), UsageError, "growth"),
    "cumulative": (lambda: Experience(cumulative=3), UsageError, "cumulative: expected the column"),
    "empty": (lambda: Experience(cumulative=""), UsageError, "cumulative: expected the column"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_makes_no_experience_curve_is_refused(case):
    call, error, says = WRONG[case]
    with pytest.raises(error, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_three_dates_do_where_production_is_stated():
    found = fit(cost(made())[:3], made()[:3], growth=0.1)
    assert "production is said to grow by 10.5 % a year" in found.describe().summary
    assert np.isfinite(list(found.describe().facts.values())).all()
    assert np.isfinite(drawn(found, np.array([2010.0, 2050.0]))).all()
