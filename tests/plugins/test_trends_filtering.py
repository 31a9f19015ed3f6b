"""The filter of many state spaces at once, against statsmodels' filter and smoother of each."""

import numpy as np
import pytest

from forecast.streams import Streams
from forecast_trends.walks.damped import DampedTrend

RNG = np.random.default_rng(0)


def test_a_gap_in_which_the_first_growth_dies_away_is_bridged():
    """Monthly records after one of 1950: where a first growth is forgotten before it is seen, nothing settles it."""
    y = np.concatenate([[0.0], np.full(700, np.nan), 30 + 0.1 * np.arange(60) + 0.3 * RNG.standard_normal(60)])
    time = np.concatenate([[1950.0], 1950 + (701 + np.arange(60)) / 12])
    fitted = DampedTrend().fit(time, np.exp(y[np.isfinite(y)]))
    assert sum(fitted.weights) == pytest.approx(1.0)
    drawn = np.log(fitted.sample(time[-1:] + 1.0, Streams(seed=0, node="n", block=0)))
    assert abs(np.median(drawn) - y[-1]) < 3
