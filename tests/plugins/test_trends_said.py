"""What the summaries of the shapes say where a series falls, and the contract of the plugins that use them."""

import numpy as np
import pytest

from forecast_trends.learning.experience import Experience
from forecast_trends.lines.changepoint import Changepoint
from forecast_trends.lines.exponential import Exponential

YEARS = np.arange(1990.0, 2030.0)


def noisy(level):
    return np.exp(level + 0.02 * np.random.default_rng(3).standard_normal(len(YEARS)))


def test_a_falling_series_halves():
    said = Exponential().fit(YEARS, noisy(-0.2 * (YEARS - 1990))).describe()
    assert said.summary.startswith("halves every 3.4")
    assert said.facts["doubling_years"] == pytest.approx(-np.log(2) / 0.2, rel=0.02)
    low, high = (float(v) for v in said.summary.partition("90 %: ")[2].partition("]")[0].split(", "))
    assert low < np.log(2) / 0.2 < high


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (0.3, 0.1, "doubled every 2.31 years until 2010.0 [2010.0, 2010.0], since then every 6.9"),
        (0.3, -0.1, "doubled every 2.31 years until 2010.0 [2010.0, 2010.0], since then it halves every 6.9"),
        (-0.1, 0.3, "halved every 6.93 years until 2010.0 [2010.0, 2010.0], since then it doubles every 2.31"),
        (-0.3, -0.1, "halved every 2.31 years until 2010.0 [2010.0, 2010.0], since then every 6.93"),
    ],
)
def test_a_break_says_what_turned(before, after, says):
    level = before * (YEARS - 2010) + (after - before) * np.maximum(0.0, YEARS - 2010)
    said = Changepoint().fit(YEARS, np.exp(level)).describe().summary
    assert said.startswith(says)


def learnt(w, noise=0.0, *, dates=16, **options):
    """Return the summary of an experience curve of this w."""
    made = np.cumsum(1.3 ** np.arange(dates) * np.exp(0.2 * np.random.default_rng(2).standard_normal(dates)))
    shocks = np.cumsum(noise * np.random.default_rng(3).standard_normal(dates))
    fitted = Experience(**options).fit(YEARS[:dates], made**-w * np.exp(shocks), columns={"cumulative": made})
    return fitted.describe().summary


def test_a_share_that_rounds_to_nothing_has_no_sign():
    for w in (1e-4, -1e-4):
        assert "by 0 % [90 %: 0 %, 0 %]" in learnt(w)
    assert "production is said to grow by 0.0 % a year" in learnt(0.3, growth=-1e-5)


def test_what_may_be_a_tenth_or_ten_times_is_said_as_a_factor():
    """Of these few points w may be anything: "rises by 709 % [-38 %, 104-fold]" mixes two measures."""
    said = learnt(-3.0, 1.0, dates=6)
    factors = said.partition("is multiplied by ")[2].partition("]")[0].replace("[90 %: ", "").replace(",", "").split()
    middle, low, high = map(float, factors)
    assert low < middle < high
    assert middle == pytest.approx(2 ** -float(said.partition("(w = ")[2].partition(")")[0]), rel=0.02)
    assert "fold" not in said
    assert learnt(0.32, 0.01).startswith("falls by 21 % [90 %: 20 %, 22 %]")


@pytest.mark.parametrize("growth", [1000.0, -1000.0, 2.5])
def test_a_growth_beyond_percentages_is_said_in_logs(growth):
    said = learnt(0.3, growth=growth)
    assert f"production is said to grow by {growth:g} a year in logs" in said
    assert len(said) < 400
