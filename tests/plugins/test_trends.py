"""The shapes: known slopes and breaks, honest widths, false alarms."""

import numpy as np
import pytest

from forecast.errors import DataError, FitError, ForecastError
from forecast.streams import DRAWS_PER_BLOCK, Streams
from forecast_trends.autoregression import regressions
from forecast_trends.evidence import autocorrelation, first_of_each_record
from forecast_trends.lines.changepoint import Changepoint
from forecast_trends.lines.exponential import Exponential
from forecast_trends.lines.line import design, regressed_lines

SHAPES = [Exponential(), Changepoint()]
IDS = ["exponential", "changepoint"]


def ar1(rng, size, rho):
    """Noise of unit variance whose neighbours correlate by rho."""
    noise = rng.standard_normal(size)
    for i in range(1, size):
        noise[i] = rho * noise[i - 1] + np.sqrt(1 - rho**2) * noise[i]
    return noise


# --- known answers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
@pytest.mark.parametrize("doubling", [0.25, 1.0, 7.5, -2.0])
def test_a_noiseless_doubling_time_is_exact(shape, doubling):
    t = np.linspace(1990, 2020, 31)
    fitted = shape.fit(t, 3.0 * 2 ** ((t - 1990) / doubling))
    assert fitted.describe().facts["doubling_years"] == pytest.approx(doubling, rel=1e-9)
    assert fitted.central(np.array([2030.0])) == pytest.approx([3.0 * 2 ** (40 / doubling)], rel=1e-9)
    drawn = fitted.sample(np.array([2030.0]), Streams(0, "test", 0))
    assert drawn == pytest.approx(np.full((1, DRAWS_PER_BLOCK), 3.0 * 2 ** (40 / doubling)), rel=1e-6)


def test_a_noiseless_break_is_found_where_it_is():
    t = np.linspace(1990, 2020, 61)
    log_y = 0.7 * (t - 1990) - 0.4 * np.maximum(0, t - 2008)
    facts = Changepoint().fit(t, np.exp(log_y)).describe().facts
    assert facts["break"] == pytest.approx(2008.0)
    assert facts["growth_before"] == pytest.approx(0.7)
    assert facts["growth_per_year"] == pytest.approx(0.3)


def test_a_break_in_noise_is_recovered_within_its_interval():
    rng = np.random.default_rng(5)
    t = np.linspace(1990, 2020, 61)
    found, inside = [], 0
    for _ in range(40):
        y = 0.7 * (t - 1990) - 0.4 * np.maximum(0, t - 2008) + 0.3 * rng.standard_normal(61)
        facts = Changepoint(simulations=199).fit(t, np.exp(y)).describe().facts
        found.append(facts["break"])
        inside += facts["growth_p05"] <= 0.3 <= facts["growth_p95"]
    assert abs(np.mean(found) - 2008) < 0.5
    assert np.std(found) < 1.5
    assert inside >= 30  # nominal 36 of 40


def test_the_slope_is_that_of_ordinary_least_squares_and_the_draws_have_the_width_that_is_said():
    from statsmodels.api import OLS

    rng = np.random.default_rng(11)
    t = np.sort(rng.uniform(1990, 2020, 40))
    y = 1.5 + 0.35 * (t - 2005) + 0.5 * rng.standard_normal(40)
    fitted = Exponential().fit(t, np.exp(y))
    oracle = OLS(y, design(t, t.mean(), None)).fit()
    facts = fitted.describe().facts
    assert facts["growth_per_year"] == pytest.approx(oracle.params[1], rel=1e-10)
    low, high = facts["growth_p05"], facts["growth_p95"]
    assert high - low == pytest.approx(np.diff(oracle.conf_int(0.1)[1])[0], rel=0.2)  # for white noise, of unknown ρ
    # the draws have that width: their 5 % and 95 % quantiles, within four standard errors of 20 blocks
    drawn = np.concatenate([fitted.posterior(Streams(0, "test", b))["growth"] for b in range(20)])
    tolerance = 4 * np.sqrt(0.05 * 0.95 / len(drawn))
    assert abs((drawn < low).mean() - 0.05) < tolerance
    assert abs((drawn > high).mean() - 0.05) < tolerance


def test_a_line_with_a_break_is_least_squares_too():
    from statsmodels.api import OLS

    rng = np.random.default_rng(12)
    t, y = np.linspace(0, 10, 30), rng.standard_normal(30)
    plain, found = regressed_lines(design(t, 5.0, np.array([6.0])), y, None, np.zeros(1))
    oracle = OLS(y, design(t, 5.0, 6.0)).fit()
    assert plain[0] == pytest.approx(oracle.params, rel=1e-9)
    root = found.roots(np.array([0]), np.array([0]))[0]
    assert root @ root.T == pytest.approx(oracle.cov_params(), rel=1e-9)


def test_one_observation_scatters_and_the_level_does_not():
    rng = np.random.default_rng(3)
    t = np.linspace(1990, 2020, 200)
    fitted = Exponential().fit(t, np.exp(0.3 * (t - 1990) + 0.5 * rng.standard_normal(200)))
    level, seen = (np.log(fitted.sample(t[-1:], Streams(0, "test", 0), observed=o)).std() for o in (False, True))
    assert level < 0.15
    assert seen == pytest.approx(np.hypot(level, 0.5), rel=0.15)


def counted(noise):
    """How many independent points the noise of a level is worth, and its autocorrelation."""
    n = len(noise)
    basis = np.full((1, n, 1), n**-0.5)
    found = regressions(basis, (noise - noise.mean())[None], np.eye(1)[None])
    return found.counted(found.shares())


# --- evidence ---------------------------------------------------------------------------------------------------------


def test_a_running_maximum_counts_its_records_alone():
    values = np.array([1, 1, 2, 2, 2, 4, 4, 8, 8, 8, 8], dtype=float)
    assert (
        first_of_each_record(np.log(values)).tolist()
        == [True, False, True, False, False, True, False, True] + [False] * 3
    )
    t = np.arange(2000.0, 2011.0)
    facts = Exponential().fit(t, values, frontier=True).describe().facts
    assert (facts["n"], facts["n_records"]) == (11, 4)
    assert facts["n_effective"] <= 4
    plain = Exponential().fit(t, values).describe().facts
    width = facts["growth_p95"] - facts["growth_p05"]
    assert width > 1.5 * (plain["growth_p95"] - plain["growth_p05"])


def test_a_record_printed_with_other_rounding_is_the_same_record():
    assert first_of_each_record(np.log([100.0, 100.00005, 200.0])).tolist() == [True, False, True]


def test_rows_written_twice_narrow_a_running_maximum_by_nothing():
    rng = np.random.default_rng(2)
    t = np.arange(2000.0, 2020.0)
    y = np.maximum.accumulate(np.exp(0.4 * (t - 2000) + 0.3 * rng.standard_normal(20)))
    once = Exponential().fit(t, y, frontier=True).describe().facts
    often = Exponential().fit(np.repeat(t, 5), np.repeat(y, 5), frontier=True).describe().facts
    assert often["n_records"] == once["n_records"]
    widths = [f["growth_p95"] - f["growth_p05"] for f in (once, often)]
    assert widths[1] > 0.85 * widths[0]


@pytest.mark.parametrize("rho", [0.3, 0.6, 0.8])
def test_autocorrelation_is_estimated_and_the_effective_size_follows(rho):
    rng = np.random.default_rng(8)
    found = np.array([autocorrelation(ar1(rng, 200, rho)) for _ in range(100)])
    assert abs(found.mean() - rho) < 0.05
    size, told = counted(ar1(rng, 5000, rho))
    assert size == pytest.approx(5000 * (1 - rho) / (1 + rho), rel=0.15)
    assert told == pytest.approx(rho, abs=0.05)


def test_white_noise_keeps_nearly_all_its_evidence():
    rng = np.random.default_rng(1)
    found = [counted(rng.standard_normal(50))[0] for _ in range(50)]
    assert max(found) <= 50
    assert 35 < np.mean(found) < 48


def test_nothing_hangs_on_whether_the_autocorrelation_is_significant():
    """Of noise that follows itself a little more closely, a little less evidence counts: there is no jump."""
    rng = np.random.default_rng(4)
    t, white = np.arange(14.0), rng.standard_normal(14)
    slow = np.cumsum(white) / 3
    width, size = [], []
    for share in np.linspace(0, 1, 201):
        facts = Exponential().fit(t, np.exp(0.3 * t + (1 - share) * white + share * slow)).describe().facts
        width.append(np.log(facts["growth_p95"] - facts["growth_p05"]))
        size.append(np.log(facts["n_effective"]))
    assert size[0] - size[-1] > 0.7  # the test goes from one end to the other
    assert np.abs(np.diff(size)).max() < 0.05
    assert np.abs(np.diff(width)).max() < 0.05


# --- what cannot be fitted --------------------------------------------------------------------------------------------

T = [2000.0, 2001.0, 2002.0, 2003.0]
WRONG = {
    "no points": ([], [], FitError, "at least 3 points, got 0"),
    "one point": (T[:1], [1.0], FitError, "at least 3 points, got 1"),
    "two points": (T[:2], [1.0, 2.0], FitError, "at least 3 points, got 2"),
    "one date": ([2000.0] * 4, [1.0, 2.0, 3.0, 4.0], FitError, "more than one date"),
    "nan": (T, [1.0, np.nan, 3.0, 4.0], DataError, r"point 2 of 4 \(2001.00\): expected a positive finite value"),
    "infinity": (T, [1.0, 2.0, np.inf, 4.0], DataError, "point 3 of 4 .*got inf"),
    "zero": (T, [1.0, 2.0, 3.0, 0.0], DataError, "point 4 of 4 .*got 0"),
    "negative": (T, [-1.0, 2.0, 3.0, 4.0], DataError, "point 1 of 4 .*got -1"),
    "nan date": ([2000.0, np.nan, 2002.0, 2003.0], [1.0, 2.0, 3.0, 4.0], DataError, "point 2 of 4"),
}


@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
@pytest.mark.parametrize("case", WRONG)
def test_what_has_no_trend_in_logs_is_refused(shape, case):
    time, value, error, says = WRONG[case]
    with pytest.raises(error, match=says) as caught:
        shape.fit(np.array(time), np.array(value))
    assert isinstance(caught.value, ForecastError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
def test_a_running_maximum_cannot_fall(shape):
    with pytest.raises(DataError, match=r"point 3 \(2002.00\): a running maximum cannot fall, got 2 after 3"):
        shape.fit(np.array(T), np.array([1.0, 3.0, 2.0, 4.0]), frontier=True)
    assert shape.fit(np.array(T), np.array([1.0, 3.0, 2.0, 4.0])).describe().facts["n"] == 4


@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
def test_a_flat_series_does_not_grow_and_does_not_fail(shape):
    fitted = shape.fit(np.arange(2000.0, 2012.0), np.full(12, 7.0))
    assert fitted.describe().facts["growth_per_year"] == pytest.approx(0.0, abs=1e-12)
    assert fitted.sample(np.array([2100.0]), Streams(0, "test", 0)) == pytest.approx(
        np.full((1, DRAWS_PER_BLOCK), 7.0), rel=1e-6
    )


def test_bad_input_090_no_break_closer_to_an_edge_than_a_segment():
    t = np.arange(2000.0, 2040.0)
    for at, expected in ((2001, None), (2038, None), (2020, 2020)):
        y = np.exp(0.5 * np.abs(t - at) + 0.01 * np.random.default_rng(0).standard_normal(40))
        facts = Changepoint().fit(t, y).describe().facts
        if expected is not None:
            assert facts["break"] == pytest.approx(expected, abs=0.05)
        elif "break" in facts:
            assert t[3] <= facts["break"] <= t[-5]


def test_a_series_too_short_for_a_break_says_so():
    fitted = Changepoint().fit(np.arange(2000.0, 2006.0), np.exp(np.arange(6.0)))
    assert "too short to look for a break" in fitted.describe().summary


# --- simulations ------------------------------------------------------------------------------------------------------


def alarms(rho, series=1000, n=40):
    rng = np.random.default_rng(2024)
    t = np.arange(float(n))
    shape = Changepoint(simulations=199)
    found = sum("break" in shape.fit(t, np.exp(ar1(rng, n, rho))).describe().facts for _ in range(series))
    return found / series


@pytest.mark.slow
def test_bad_input_090_a_break_in_white_noise_is_found_one_time_in_twenty():
    rate = alarms(0.0)
    print(f"false alarms on white noise: {rate:.1%} of 1000 series of 40")
    assert rate <= 0.064, f"{rate:.1%}"


@pytest.mark.slow
@pytest.mark.parametrize(("rho", "bound"), [pytest.param(0.3, 0.10, marks=pytest.mark.xslow), (0.6, 0.10)])
def test_false_alarms_on_noise_that_follows_itself(rho, bound):
    rate = alarms(rho)
    print(f"false alarms on AR(1) noise, rho = {rho}: {rate:.1%} of 1000 series of 40")
    assert rate <= bound, f"rho = {rho}: {rate:.1%} of 1000 series"
