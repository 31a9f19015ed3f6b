"""The filter of many state spaces at once, against statsmodels' filter and smoother of each."""

import numpy as np
import pytest

from forecast.streams import Streams
from forecast_trends.walks.damped import DampedTrend, _spaces
from forecast_trends.walks.filtering import StateSpaces, filtered
from forecast_trends.walks.states import Point

RNG = np.random.default_rng(0)
LONG = 50 + np.cumsum(0.3 + 0.1 * RNG.standard_normal(66))
HOLES = np.where(np.isin(np.arange(66), [2, 9, 40, 41]), np.nan, LONG)


def held_to(points, found, rel=1e-8):
    for i, point in enumerate(points):
        assert found.state[i] == pytest.approx(point.state, rel=rel, abs=1e-9)
        assert found.covariance[i] == pytest.approx(point.root @ point.root.T, rel=1e-6, abs=1e-7)
        assert (found.squares[i] / found.free) ** 0.5 == pytest.approx(point.scale, rel=rel)
        assert found.past[:, i] == pytest.approx(point.past, rel=rel)
        # where a cell is all but known, the root of statsmodels' variance is that of its rounding
        assert found.past_spread[:, i] == pytest.approx(point.past_spread, rel=1e-4, abs=1e-4)
    # the constant is the same for all
    apart = found.likelihood - [point.likelihood for point in points]
    assert np.ptp(apart) < 1e-6


@pytest.mark.parametrize("y", [LONG, HOLES, LONG[:6]])
def test_a_local_linear_trend_is_filtered_as_statsmodels_does(y):
    from statsmodels.tsa.statespace.structural import UnobservedComponents

    model = UnobservedComponents(y, "local linear trend", use_exact_diffuse=True)
    ratios = np.array([(a, b) for a in (0.0, 0.3, 3.0, 30.0) for b in (0.0, 0.1, 10.0)])
    points = []
    for level, growth in ratios:
        model.update(np.array([1.0, level**2, growth**2]))
        points.append(Point.of(model.ssm, {}, level=0, growth=[0, 1], scatter=1.0))
    count = len(ratios)
    spaces = StateSpaces(
        design=np.array([1.0, 0.0]), transition=np.broadcast_to([[1.0, 1.0], [0.0, 1.0]], (count, 2, 2)),
        selection=ratios[:, :, None] * np.eye(2), scatter=np.ones(count), observed=np.ones(count),
        first=np.zeros((count, 2, 2)), diffuse=(0, 1),
    )  # fmt: skip
    held_to(points, filtered(y, spaces, np.array([1.0, 0.0])))


@pytest.mark.parametrize("y", [LONG, HOLES, LONG[:7]])
def test_a_damped_trend_is_filtered_as_statsmodels_does(y):
    from statsmodels.tsa.statespace.exponential_smoothing import ExponentialSmoothing
    from statsmodels.tsa.statespace.initialization import Initialization

    model = ExponentialSmoothing(y, trend=True, damped_trend=True, concentrate_scale=False)
    each = np.array([(a, a * b, c) for a in (0.05, 0.5, 0.95) for b in (0.05, 0.9) for c in (0.8, 0.97)])
    points = []
    for alpha, beta, phi in each:
        model.update(np.array([alpha, beta, phi, 1.0, 0.0, 0.0]))
        start = Initialization(3)
        start.set(0, "known", constant=[0.0], stationary_cov=[[(1 - alpha) ** 2]])
        start.set((1, 3), "diffuse")
        model.ssm.initialize(start)
        points.append(Point.of(model.ssm, {}, level=1, growth=[0, 0, phi], scatter=1.0))
    held_to(points, filtered(y, _spaces(*each.T), np.array([0.0, 1.0, 0.0])))


def test_a_constant_on_top_moves_the_level_alone():
    spaces = _spaces(np.array([0.3]), np.array([0.1]), np.array([0.9]))
    pick = np.array([0.0, 1.0, 0.0])
    here, there = filtered(HOLES, spaces, pick), filtered(HOLES + 1e6, spaces, pick)
    assert there.state[0] - here.state[0] == pytest.approx([0.0, 1e6, 0.0], abs=1e-6)
    assert there.squares[0] == pytest.approx(here.squares[0], rel=1e-6)


def test_a_gap_in_which_the_first_growth_dies_away_is_bridged():
    """Monthly records after one of 1950: where a first growth is forgotten before it is seen, nothing settles it."""
    y = np.concatenate([[0.0], np.full(700, np.nan), 30 + 0.1 * np.arange(60) + 0.3 * RNG.standard_normal(60)])
    time = np.concatenate([[1950.0], 1950 + (701 + np.arange(60)) / 12])
    fitted = DampedTrend().fit(time, np.exp(y[np.isfinite(y)]))
    assert sum(fitted.weights) == pytest.approx(1.0)
    drawn = np.log(fitted.sample(time[-1:] + 1.0, Streams(seed=0, node="n", block=0)))
    assert abs(np.median(drawn) - y[-1]) < 3
