"""Production: what is seen of a walk between dates far apart, and time in which nothing was made."""

import itertools

import numpy as np
import pytest

from forecast.errors import FitError
from forecast.streams import Streams
from forecast_trends.learning.experience import Experience
from forecast_trends.learning.production import Production, averaged
from toolkit import sample

YEARS = np.arange(2000.0, 2046.0)

#: Which of 46 years are dates.
SEEN = {
    1: lambda rng: np.arange(46),
    2: lambda rng: np.arange(45, -1, -2)[::-1],
    5: lambda rng: np.arange(45, -1, -5)[::-1],
    "uneven": lambda rng: np.sort(np.r_[0, 45, rng.choice(np.arange(1, 45), 13, replace=False)]),
}


def walked(rng, years, growth=0.1, noise=0.1):
    """All that was made up to the end of each year, whose log production is a random walk with drift."""
    return 5 + np.cumsum(np.exp(np.append(0.0, np.cumsum(growth + noise * rng.standard_normal(years - 1)))))


def means(lengths, onward=0):
    """Return weights of a yearly walk's steps in its means over so many years each, and in the years to come."""
    edges = np.append(0, np.cumsum([*lengths, *[1] * onward]))
    levels = np.tril(np.ones((edges[-1], edges[-1])))
    return np.array([levels[a:b].mean(axis=0) for a, b in itertools.pairwise(edges)])


@pytest.mark.parametrize("k", [1, 2, 3, 5, 40])
def test_means_over_k_periods_vary_as_working_says(k):
    own, across = averaged(np.array([float(k)]), 1.0)
    assert 2 * own[0] / k == pytest.approx((2 * k**2 + 1) / (3 * k**2))
    # and their neighbouring changes are correlated, by a quarter in the end
    assert across[0] / (2 * own[0]) == pytest.approx((k**2 - 1) / (2 * (2 * k**2 + 1)))


@pytest.mark.parametrize("lengths", [[1, 1, 1, 1], [5, 5, 5, 5], [1, 7, 2, 3, 1, 4]])
def test_the_covariance_is_that_of_means_of_a_walk(lengths):
    weights = np.diff(means(lengths, onward=1), axis=0)  # the last: from the last period to the first to come
    own, across = averaged(np.array(lengths, dtype=float), 1.0)
    variance = np.append(own[1:] + own[:-1], own[-1] + 0.5)
    covariance = np.diag(variance) + np.diag(across[1:], 1) + np.diag(across[1:], -1)
    assert weights @ weights.T == pytest.approx(covariance)


def test_months_among_years_are_steps_from_middle_to_middle():
    own, across = averaged(np.array([1 / 12, 0.5]), 1.0)
    assert own == pytest.approx([1 / 24, 0.25])
    assert across == pytest.approx([0.0, 0.0])


@pytest.mark.slow
@pytest.mark.parametrize("spacing", SEEN)
def test_growth_and_noise_hold_at_any_spacing(spacing):
    rng, series = np.random.default_rng(5), 1000
    inside, squares = 0, 0.0
    for _ in range(series):
        seen = SEEN[spacing](rng)
        found = Production.of(YEARS[seen], np.log(walked(rng, 46)[seen]))
        low, high = found.interval
        inside += low <= 0.1 <= high
        squares += found.noise**2 / 0.1**2
    print(f"dates every {spacing} years: mean of squares {squares / series:.3f}, 90 % of growth: {inside / series:.3f}")
    # 8 differences, as of dates every five years, give the mean of their squares to sqrt(2/7/1000) = 1.7 %
    assert squares / series == pytest.approx(1.0, abs=0.06)
    assert inside / series == pytest.approx(0.90, abs=3 * np.sqrt(0.09 / series))


@pytest.mark.parametrize("spacing", sample(SEEN, 0, 4))
def test_ninety_per_cent_intervals_of_experience_to_come_hold(spacing):
    rng, series, ahead = np.random.default_rng(6), 300, np.array([5, 10, 20])
    inside = np.zeros(3)
    for i in range(series):
        seen, total = SEEN[spacing](rng), np.log(walked(rng, 66, noise=0.3))
        found = Production.of(YEARS[seen], total[seen])
        drawn = found.drawn(ahead.astype(float), Streams(i, "test", 0))
        low, high = np.quantile(drawn, [0.05, 0.95], axis=1)
        inside += (low <= total[45 + ahead] - total[45]) & (total[45 + ahead] - total[45] <= high)
    print(f"experience 5, 10, 20 years ahead, dates every {spacing} years: {inside / series}")
    assert inside / series == pytest.approx(np.full(3, 0.90), abs=3 * np.sqrt(0.09 / series))


def test_time_in_which_nothing_was_made_counts_with_what_follows():
    total = np.array([1.0, 2.0, 4.0, 4.0, 7.0, 9.0, 14.0])
    t, kept = 2000.0 + np.arange(7), [0, 1, 2, 4, 5, 6]
    assert Production.of(t, np.log(total)) == Production.of(t[kept], np.log(total[kept]))
    value = total**-0.4 * np.exp(0.01 * np.array([0, 1, -1, 2, 0, -1, 1]))
    fitted, shorter = (Experience().fit(t[i], value[i], columns={"cumulative": total[i]}) for i in (slice(None), kept))
    # the change of cost in that year, without any experience, is evidence of noise
    assert fitted.dof > shorter.dof + 0.5
    assert fitted.w == pytest.approx(0.4, abs=0.05)
    assert np.isfinite(list(fitted.describe().facts.values())).all()
    assert np.isfinite(np.log(fitted.sample(np.array([1999.0, 2003.5, 2030.0]), Streams(0, "test", 0)))).all()


def test_a_standstill_leaves_too_few_periods_and_growth_may_be_stated():
    t, value, total = 2000.0 + np.arange(5), np.array([5.0, 5.2, 5.1, 4.0, 3.0]), np.array([1.0, 1.0, 1.0, 2.0, 3.0])
    with pytest.raises(FitError, match=r"at least 4 dates between which something was made: state it, growth = 0.1"):
        Experience().fit(t, value, columns={"cumulative": total})
    stated = Experience(growth=0.0).fit(t, value, columns={"cumulative": total})
    assert np.isfinite(list(stated.describe().facts.values())).all()


def test_points_that_scatter_around_a_curve_are_said_to():
    rng, t = np.random.default_rng(2), 1980.0 + np.arange(40)
    total = walked(rng, 40)
    noise = 0.1 * rng.standard_normal(40)
    scattered, shocks = (
        Experience().fit(t, total**-0.4 * np.exp(by), columns={"cumulative": total}).describe().summary
        for by in (noise, np.cumsum(noise))
    )
    assert "the points scatter around a level, which the curve takes for shocks" in scattered
    assert "scatter" not in shocks
