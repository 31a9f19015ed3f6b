"""The random walk: the published variance, its parameters, its coverage, any spacing, any grid."""

import numpy as np
import pytest

from forecast.errors import DataError, FitError, UsageError
from forecast.streams import DRAWS_PER_BLOCK, Streams
from forecast_trends.walks.echo import Increments, drift_variance, forecast_variance
from forecast_trends.walks.walk import POOLED_THETA, RandomWalk
from toolkit import sample


def ima(rng, steps, *, mu=0.3, theta=0.0, sigma=0.2, walks=None):
    """Log values of an IMA(1,1): y(t) = y(t−1) + mu + v(t) + theta·v(t−1), from y(0) = 0."""
    shape = (steps + 1,) if walks is None else (steps + 1, walks)
    v = sigma * rng.standard_normal(shape)
    return np.concatenate([np.zeros((1, *shape[1:])), np.cumsum(mu + v[1:] + theta * v[:-1], axis=0)])


def years(n):
    return 2000.0 + np.arange(n)


def drawn(fitted, time, blocks=1, seed=0):
    return np.log(np.concatenate([fitted.sample(time, Streams(seed, "test", b)) for b in range(blocks)], axis=1))


# --- the published formula --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theta", [0.0, 0.25, POOLED_THETA, -0.4])
@pytest.mark.parametrize("window", [5, 20])
def test_the_variance_formula_is_that_of_simulated_forecasts(theta, window):
    walks = ima(np.random.default_rng(1), window + 20, theta=theta, sigma=1.0, walks=40_000)
    past, drift = walks[window], (walks[window] - walks[0]) / window
    for horizon in (1, 5, 20):
        error = walks[window + horizon] - past - drift * horizon
        # the variance of 40,000 normal errors is known to sqrt(2/40000) = 0.7 %; three of those
        assert np.var(error) == pytest.approx(forecast_variance(horizon, window, theta), rel=0.025)


@pytest.mark.parametrize("theta", [0.0, POOLED_THETA, -0.5])
def test_the_draws_have_the_published_variance(theta):
    y = ima(np.random.default_rng(2), 20, theta=theta)
    fitted = RandomWalk(theta).fit(years(21), np.exp(y))
    scale, dof = fitted.scales[0], fitted.dofs[0]
    found = drawn(fitted, 2020.0 + np.array([1.0, 2.0, 5.0, 20.0]), blocks=40)
    expected = forecast_variance(np.array([1.0, 2.0, 5.0, 20.0]), 20, theta) * scale**2 * dof / (dof - 2)
    assert found.var(axis=1) == pytest.approx(expected, rel=0.06)


def test_draws_are_student_t_with_one_degree_less_than_there_are_steps():
    from scipy.stats import kstest, t

    y = ima(np.random.default_rng(3), 5)
    fitted = RandomWalk(0.0).fit(years(6), np.exp(y))
    assert fitted.dofs[0] == pytest.approx(4.0)
    scale = np.std(np.diff(y), ddof=1)  # K̂ of the paper
    assert fitted.scales[0] == pytest.approx(scale)
    found = np.concatenate([drawn(fitted, np.array([2008.0]), seed=s)[0, ::2] for s in range(20)])
    size = scale * np.sqrt(forecast_variance(3.0, 5))
    assert kstest((found - y[5] - 3 * (y[5] - y[0]) / 5) / size, t(4).cdf).statistic < 1.63 / np.sqrt(len(found))


def test_sigma_is_unbiased_for_any_spacing_and_the_naive_one_is_not():
    rng, theta = np.random.default_rng(4), POOLED_THETA
    fine = ima(rng, 60, theta=theta, sigma=1.0, walks=4000)
    for at in (np.arange(6), np.array([0, 1, 4, 5, 6, 9, 15]), np.arange(0, 30, 3)):
        found = [
            Increments.of(at.astype(float), fine[at, i], 1.0).scales(np.array([theta]))[0][0] ** 2 for i in range(1000)
        ]
        assert np.mean(found) == pytest.approx(1.0, rel=0.12)
    naive = np.var(np.diff(fine[:6], axis=0), axis=0, ddof=1).mean() / (1 + theta**2)
    assert naive == pytest.approx(1 - 2 * theta / 5 / (1 + theta**2), rel=0.05)


# --- recovery ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theta", [-0.5, 0.0, 0.3, 0.7])
def test_theta_and_drift_are_recovered(theta):
    rng = np.random.default_rng(5)
    fits = [RandomWalk("fitted").fit(years(401), np.exp(ima(rng, 400, theta=theta))).describe().facts for _ in range(8)]
    assert np.mean([f["theta"] for f in fits]) == pytest.approx(theta, abs=0.05)
    assert np.mean([f["growth_per_year"] for f in fits]) == pytest.approx(
        0.3, abs=3 * 0.2 * (1 + theta) / np.sqrt(3200)
    )
    assert np.mean([f["noise_per_year"] for f in fits]) == pytest.approx(0.2 * np.sqrt(1 + theta**2), rel=0.05)
    assert sum(f["theta_p05"] <= theta <= f["theta_p95"] for f in fits) >= 5


def test_theta_by_likelihood_is_that_of_statsmodels():
    from statsmodels.tsa.arima.model import ARIMA

    y = ima(np.random.default_rng(6), 300, theta=0.5)
    oracle = ARIMA(y, order=(0, 1, 1), trend="t").fit()
    facts = RandomWalk("fitted").fit(years(301), np.exp(y)).describe().facts
    assert facts["theta"] == pytest.approx(oracle.params[1], abs=0.02)  # the grid's step


def test_theta_is_recovered_from_uneven_dates():
    rng, kept = np.random.default_rng(7), []
    for _ in range(6):
        y = ima(rng, 600, theta=0.7)
        at = np.sort(rng.choice(601, 400, replace=False))
        kept.append(RandomWalk("fitted").fit(2000.0 + at, np.exp(y[at])).describe().facts)
    assert np.mean([f["theta"] for f in kept]) == pytest.approx(0.7, abs=0.07)
    assert np.mean([f["noise_per_year"] for f in kept]) == pytest.approx(0.2 * np.sqrt(1.49), rel=0.06)


def test_a_missing_year_changes_the_drift_by_nothing_and_the_noise_by_little():
    y = ima(np.random.default_rng(8), 40, theta=POOLED_THETA)
    whole = RandomWalk().fit(years(41), np.exp(y)).describe().facts
    holes = np.delete(np.arange(41), [3, 4, 11, 20, 30])
    holed = RandomWalk().fit(years(41)[holes], np.exp(y[holes])).describe().facts
    assert holed["growth_per_year"] == whole["growth_per_year"]
    assert holed["noise_per_year"] == pytest.approx(whole["noise_per_year"], rel=0.25)
    assert holed["degrees_of_freedom"] < whole["degrees_of_freedom"]


# --- coverage ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theta", "given", "window"),
    sample([(POOLED_THETA, POOLED_THETA, 20), (0.0, 0.0, 5), (0.0, 0.0, 20), (0.63, "fitted", 30)], 0, 4),
)
def test_ninety_per_cent_intervals_hold_ninety_per_cent(theta, given, window):
    rng, inside, series = np.random.default_rng(9), np.zeros(3), 400
    ahead = np.array([1, 5, 20])
    for i in range(series):
        y = ima(rng, window + 20, theta=theta)
        fitted = RandomWalk(given).fit(years(window + 1), np.exp(y[: window + 1]))
        low, high = np.quantile(drawn(fitted, 2000.0 + window + ahead, seed=i), [0.05, 0.95], axis=1)
        inside += (low <= y[window + ahead]) & (y[window + ahead] <= high)
    print(f"90 % intervals at 1, 5, 20 years, theta {theta} ({given}), {window} steps: {inside / series}")
    # 400 series know a share of 90 % to 1.5 %
    assert inside / series == pytest.approx(np.full(3, 0.90), abs=3 * np.sqrt(0.09 / series))


def scattered(y, t=None):
    t = years(len(y)) if t is None else t
    return "changes are taken back" in RandomWalk().fit(t, np.exp(y)).describe().summary


def test_points_that_scatter_around_a_level_are_no_walk_and_that_is_said():
    rng = np.random.default_rng(13)
    line = [scattered(0.3 * np.arange(60) + 0.2 * rng.standard_normal(60)) for _ in range(100)]
    walk = [scattered(ima(rng, 39)) for _ in range(500)]
    assert np.mean(line) > 0.8
    assert np.mean(walk) <= 0.02  # one in a hundred, and three standard errors are 1.3 %
    # many devices at uneven dates around one line: yearly noise is far above the scatter
    t = 2000 + np.sort(rng.uniform(0, 20, 200))
    assert scattered(0.3 * (t - 2000) + 0.5 * rng.standard_normal(200), t)


# --- the time axis and the streams ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    return RandomWalk().fit(years(21), np.exp(ima(np.random.default_rng(11), 20, theta=POOLED_THETA)))


def test_the_width_between_steps_follows_the_formula(fitted):
    ahead = np.array([0.25, 0.5, 0.75, 1.0])
    found = drawn(fitted, 2020.0 + ahead, blocks=30).var(axis=1)
    # below a year the echo of what is ahead has not begun: only that of the past year, which the drift knows in part
    theta, span = POOLED_THETA, 20.0
    expected = ahead * (1 + theta**2) - 2 * ahead * theta * ahead / span + ahead**2 * drift_variance(span, 1.0, theta)
    dof = fitted.dofs[0]
    assert found == pytest.approx(expected * fitted.scales[0] ** 2 * dof / (dof - 2), rel=0.08)


def test_the_median_draw_is_the_central_forecast(fitted):
    time = np.array([1990.0, 2005.5, 2020.0, 2030.0])
    found = np.median(drawn(fitted, time), axis=1)
    assert found == pytest.approx(np.log(fitted.central(time)), abs=1e-9)


def test_the_posterior_is_what_the_paths_use(fitted):
    growth = fitted.posterior(Streams(0, "test", 0))["growth"]
    facts = fitted.describe().facts
    assert np.median(growth) == pytest.approx(facts["growth_per_year"], abs=1e-12)
    far = drawn(fitted, np.array([2020.0, 3020.0]))
    assert np.corrcoef((far[1] - far[0]) / 1000, growth)[0, 1] > 0.95


def test_within_the_series_the_level_is_what_was_seen(fitted):
    found = drawn(fitted, np.array([2003.0, 2003.5]))
    assert found.std(axis=1) == pytest.approx([0.0, 0.0], abs=1e-12)
    assert found[1, 0] == pytest.approx(fitted.seen.y[3:5].mean())


def test_before_the_series_it_walks_backwards(fitted):
    found = drawn(fitted, np.array([1980.0, 1999.0]), blocks=20)
    dof = fitted.dofs[0]
    expected = forecast_variance(np.array([20.0, 1.0]), 20, POOLED_THETA) * fitted.scales[0] ** 2 * dof / (dof - 2)
    assert found.var(axis=1) == pytest.approx(expected, rel=0.08)


# --- what goes in -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("doubling", [0.25, 1.0, -2.0])
def test_a_noiseless_doubling_time_is_exact(doubling):
    t = np.linspace(1990, 2020, 31)
    found = RandomWalk().fit(t, 3.0 * 2 ** ((t - 1990) / doubling))
    assert found.describe().facts["doubling_years"] == pytest.approx(doubling, rel=1e-9)
    assert found.sample(np.array([2030.0]), Streams(0, "test", 0)) == pytest.approx(
        np.full((1, DRAWS_PER_BLOCK), 3.0 * 2 ** (40 / doubling)), rel=1e-6
    )


def test_a_flat_series_says_that_it_does_not_grow():
    said = RandomWalk().fit(years(12), np.full(12, 7.0)).describe()
    assert said.summary.startswith("does not grow from 12 points")


def test_values_of_one_date_are_averaged_and_that_is_said():
    t = np.repeat(years(10), 2)
    y = np.exp(0.3 * (t - 2000) + np.tile([-0.1, 0.1], 10))
    found = RandomWalk().fit(t, y)
    assert found.seen.y == pytest.approx(0.3 * np.arange(10))
    assert "10 points that share a date" in " ".join(found.describe().assumptions)


def test_of_a_running_maximum_its_records_count_and_its_last_date():
    t = years(11)
    values = np.array([1, 1, 2, 2, 2, 4, 4, 8, 8, 8, 8], dtype=float)
    found = RandomWalk().fit(t, values, frontier=True)
    assert found.seen.time.tolist() == [2000, 2002, 2005, 2007, 2010]
    often = RandomWalk().fit(np.repeat(t, 4), np.repeat(values, 4), frontier=True)
    assert often.describe().facts["degrees_of_freedom"] == found.describe().facts["degrees_of_freedom"]
    with pytest.raises(DataError, match="a running maximum cannot fall"):
        RandomWalk().fit(t, values[::-1], frontier=True)


WRONG = {
    "two dates": (lambda: RandomWalk().fit(np.repeat(years(2), 2), np.ones(4)), FitError, "at least 3 dates, got 2"),
    "nine dates": (
        lambda: RandomWalk("fitted").fit(years(9), np.exp(np.sin(years(9)))),
        FitError,
        "whose theta is fitted needs at least 10 dates, got 9",
    ),
    "too many": (
        lambda: RandomWalk().fit(2000 + np.arange(3001) / 365, np.ones(3001)),
        FitError,
        "at most 3000 dates, got 3001",
    ),
    "zero": (lambda: RandomWalk().fit(years(3), np.array([1.0, 0.0, 2.0])), DataError, "point 2 of 3"),
    "theta one": (
        lambda: RandomWalk(1.0),
        UsageError,
        "theta: expected a number between -1 and 1 or 'fitted', got '1.0'",
    ),
    "theta text": (lambda: RandomWalk("fit"), UsageError, "theta: .* got 'fit'"),
    "theta nan": (lambda: RandomWalk(float("nan")), UsageError, "theta"),
    "lag": (lambda: RandomWalk(lag=0), UsageError, "lag: expected a positive number of years, got '0'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused(case):
    call, error, says = WRONG[case]
    with pytest.raises(error, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)
