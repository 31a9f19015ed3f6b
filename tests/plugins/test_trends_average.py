"""Shapes that follow one path may follow the mean of every so many years."""

import numpy as np
import pytest

from forecast.errors import UsageError
from forecast_trends.points import path
from forecast_trends.walks.damped import DampedTrend
from forecast_trends.walks.local_linear import LocalLinear
from forecast_trends.walks.walk import RandomWalk

SHAPES = [RandomWalk, DampedTrend, LocalLinear]


def devices(seed, a_year=8, years=15, scatter=0.5):
    """Many devices of every year around a line: growth of 0.3, none of which wanders."""
    rng = np.random.default_rng(seed)
    time = 2005 + np.sort(rng.uniform(0, years, a_year * years))
    return time, np.exp(0.3 * (time - 2005) + scatter * rng.standard_normal(time.size))


def test_the_mean_is_that_of_the_logarithms_and_stands_at_the_mean_date():
    time, value = np.array([2010.2, 2010.6, 2011.5, 2013.1]), np.array([1.0, 100.0, 7.0, 3.0])
    seen = path(time, value, frontier=False, least=2, what="it", average=1.0)
    assert seen.time == pytest.approx([2010.4, 2011.5, 2013.1])
    assert np.exp(seen.y) == pytest.approx([10.0, 7.0, 3.0])
    assert seen.points == 4
    assert "4 points were averaged in logs over every 1 year" in seen.notes
    halves = path(time, value, frontier=False, least=2, what="it", average=0.5)
    assert halves.time == pytest.approx(time)


def test_a_walk_through_means_has_the_level_of_a_line_and_does_not_take_scatter_for_shocks():
    found, wild = [], []
    for seed in range(20):
        time, value = devices(seed)
        fitted = RandomWalk(average=1.0).fit(time, value)
        found.append(float(np.log(fitted.central(np.array([2019.5]))[0])) - 0.3 * 14.5)
        wild.append(RandomWalk().fit(time, value).describe().facts["noise_per_year"])
        assert fitted.describe().facts["noise_per_year"] < 0.15 * wild[-1]
    assert np.mean(found) == pytest.approx(0.0, abs=3 * np.std(found) / 20**0.5)


@pytest.mark.parametrize("shape", [DampedTrend, LocalLinear])
def test_the_steps_are_years_however_dense_the_points(shape):
    time, value = devices(1)
    fitted = shape(average=1.0).fit(time, value)
    assert fitted.describe().facts["step_years"] == 1.0
    assert fitted.grid.counted == 15  # no two years share a cell, whatever their mean dates
    assert fitted.grid.moved < 0.5
    assert shape().fit(time, value).describe().facts["step_years"] < 0.3


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("average", [-1.0, float("inf"), float("nan"), "year", True, None])
def test_an_average_that_is_no_number_of_years_is_refused(shape, average):
    with pytest.raises(UsageError, match=r"average: expected a number of years, or 0 for none, got '"):
        shape(average=average)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_running_maximum_is_not_averaged(shape):
    with pytest.raises(UsageError, match="average: a running maximum is not averaged"):
        shape(average=1.0).fit(2000.0 + np.arange(10), np.exp(np.arange(10.0)), frontier=True)
