"""What the summaries of the shapes say where a series falls, and the contract of the plugins that use them."""

from __future__ import annotations

import numpy as np
import pytest

from forecast.testing import run_checks
from forecast_trends.changepoint import Changepoint
from forecast_trends.exponential import Exponential

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


@pytest.mark.parametrize("plugin", ["trends", "resources"])
def test_the_plugins_meet_their_contract(plugin):
    """The frontier refuses twenty points and is tried on sixty."""
    assert [f"{o.label}: {o.message}" for o in run_checks(plugin) if not o.ok and o.status != "skipped"] == []
