"""Frontiers: every path starts at the last record and never falls, and what a shape gains is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import forecast
from forecast.base.arrays import accumulate
from forecast.errors import RaisedPathsWarning, UnknownNameError
from forecast.models import Anchored, Description, FittedShape, Shape, shape, trend
from forecast.models.shapes import row_gap
from forecast.streams import DRAWS_PER_BLOCK, Streams
from tests.toolkit import noise

TIME = np.arange(2000.0, 2020.0)
#: Records with years in which none is set.
RECORD = np.maximum.accumulate(2.0 ** (0.5 * (TIME - 2000)) * np.exp(10 * noise(20)))
AHEAD = np.arange(2019.0, 2040.0)
SHAPES = (
    "exponential", "changepoint", "logistic", "gompertz", "staircase", "random-walk", "damped-trend", "local-linear",
)  # fmt: skip


def streams() -> Streams:
    return Streams(0, "mine", 0)


def fitted(name: str, **options: object) -> FittedShape:
    return shape(f"trends/{name}", options).fit(TIME, RECORD, frontier=True)


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_starts_at_the_record_and_never_falls(name):
    free = fitted(name)
    kept = free.anchored(TIME, RECORD)
    drawn = kept.sample(AHEAD, streams())
    assert np.unique(drawn[0]).tolist() == [RECORD[-1]]
    assert (np.diff(drawn, axis=0) >= 0).all()
    assert (np.diff(free.sample(AHEAD, streams()), axis=0) < 0).any() or name in (
        "exponential",
        "changepoint",
        "staircase",
        "logistic",
        "gompertz",
    )
    assert np.array_equal(kept.sample(AHEAD[:9], streams()), drawn[:9])  # a longer horizon keeps the earlier steps
    low, high = np.quantile(kept.sample(TIME[-1:], streams(), observed=True), [0.05, 0.95])
    assert low * (1 - 1e-9) <= RECORD[-1] <= high * (1 + 1e-9)
    assert np.all(np.diff(kept.central(AHEAD)) >= 0)
    assert set(kept.posterior(streams())) == set(free.posterior(streams()))
    assert "as a frontier it starts at the last record" in kept.describe().assumptions[-1]


def test_before_the_last_date_it_is_the_record_that_stood():
    kept = fitted("random-walk").anchored(TIME, RECORD)
    drawn = kept.sample(np.array([1990.0, 1995.0, 2003.5, 2010.0, 2019.0]), streams())
    assert np.unique(drawn[2:4], axis=1).ravel().tolist() == [RECORD[3], RECORD[10]]
    assert (drawn[:2] <= RECORD[0]).all()
    assert (np.diff(drawn, axis=0) >= 0).all()


def test_a_walk_as_a_frontier_is_the_running_maximum_of_the_walk_from_the_record():
    walk = fitted("random-walk")
    dates = np.concatenate([TIME[-1:], AHEAD[1:]])
    expected = np.maximum.accumulate(np.maximum(walk.sample(dates, streams()), RECORD[-1]), axis=0)
    np.testing.assert_allclose(walk.anchored(TIME, RECORD).sample(AHEAD, streams()), expected, rtol=1e-9)


def test_the_distance_from_the_level_is_an_autoregression():
    """Far above the line nothing is gained at first; far ahead it is the line with its scatter, in closed form."""

    class Flat(FittedShape):
        def posterior(self, streams):
            return {}

        def sample(self, time, streams, *, observed=False):
            return np.exp(
                10.0 * (time[:, None] - 2000) + np.zeros(DRAWS_PER_BLOCK)
            )  # so fast that the maximum is the last

        def central(self, time):
            return np.exp(10.0 * (time - 2000))

        def describe(self):
            return Description(summary="a line without doubt")

    record = np.array([1.0, np.exp(12.0)])
    kept = Anchored(shape=Flat(), time=np.array([2000.0, 2001.0]), record=record, forgets=0.7, scatter=0.5)
    logs = np.log(kept.sample(np.array([2001.0, 2002.0, 2004.0, 2030.0]), streams()))
    for row, years in ((1, 1.0), (2, 3.0), (3, 29.0)):
        kept_share = np.exp(-0.7 * years)
        spread = 0.5 * np.sqrt(1 - kept_share**2)
        assert logs[row].mean() == pytest.approx(
            10 * (1 + years) + 2 * kept_share, abs=5 * spread / DRAWS_PER_BLOCK**0.5
        )
        assert logs[row].std() == pytest.approx(spread, rel=0.1)
    still = Anchored(shape=Flat(), time=np.array([2000.0, 2001.0]), record=record)
    assert np.log(still.sample(np.array([2002.0]), streams())[0]) == pytest.approx(22.0, rel=1e-12)


def test_a_frontier_stays_below_its_cap():
    cap = 2 * RECORD[-1]
    drawn = fitted("logistic", cap=cap).anchored(TIME, RECORD).sample(np.arange(2019.0, 2200.0, 20.0), streams())
    assert (drawn <= cap * (1 + 1e-9)).all()
    assert drawn.max() > 1.5 * RECORD[-1]
    below = fitted("logistic", cap=0.9 * RECORD[-1]).anchored(TIME, RECORD)  # the record has passed it: it stands
    np.testing.assert_allclose(below.sample(AHEAD, streams()), RECORD[-1], rtol=1e-9)


def series(**options):
    data = {"year": TIME, "speed": RECORD}
    return trend(
        data, x="year", y="speed", unit="TFLOP/s", **{"shape": "trends/random-walk", "frontier": True, **options}
    )


def test_a_trend_that_keeps_a_frontier_is_anchored():
    kept = series(keeps="frontier")
    assert (kept.keeps, series().keeps) == ("frontier", "")
    drawn = kept.fit().sample(AHEAD, {}, streams())
    anchored = replace(fitted("random-walk").anchored(TIME, RECORD), can_wait=True, gap=row_gap(TIME))
    assert np.array_equal(drawn, anchored.sample(AHEAD, streams()))
    assert np.array_equal(drawn, kept.fit().sample(AHEAD, {}, streams(), observed=True))  # a row to come is a record
    at = np.array([2027.3])  # whatever is looked at on the way
    assert np.array_equal(
        kept.fit().sample(at, {}, streams())[0], kept.fit().sample(np.append(AHEAD[:5], at), {}, streams())[-1]
    )
    assert kept.fit().warnings({}) == ()
    assert np.array_equal(
        kept.keeping("").fit().sample(AHEAD, {}, streams()), series().fit().sample(AHEAD, {}, streams())
    )
    with pytest.raises(UnknownNameError, match=r"trend: keeps: unknown word 'frontiers'; did you mean 'frontier'"):
        series(keeps="frontiers")


def test_a_shape_without_an_anchored_form_is_raised_and_says_so():
    class Wave(Shape):
        def fit(self, time, value, *, frontier=False, seed=0):
            return _Wave()

    class _Wave(FittedShape):
        def posterior(self, streams):
            return {}

        def sample(self, time, streams, *, observed=False):
            return RECORD[-1] * (1.5 + np.sin(time)[:, None] + np.zeros(DRAWS_PER_BLOCK) + 0.1 * observed)

        def central(self, time):
            return RECORD[-1] * (1.5 + np.sin(time))

        def describe(self):
            return Description(summary="a wave")

    made = series(shape=Wave(), keeps="frontier").fit()
    drawn = made.sample(AHEAD, {}, streams())
    assert np.array_equal(
        drawn, np.maximum(np.maximum.accumulate(_Wave().sample(AHEAD, streams()), axis=0), RECORD[-1])
    )
    assert np.array_equal(made.sample(AHEAD, {}, streams(), observed=True), drawn)
    assert made.warnings({}) == (RaisedPathsWarning(),)
    assert made.describe().assumptions[-1].startswith("as a frontier it is raised to its running maximum")


def test_a_pool_keeps_a_frontier_in_every_member_and_knows_its_series():
    run = forecast.project(
        {"start": 2026, "until": 2036, "quantities": {"peak": {"model": "hardware/gpu-peak-fp8"}}}, draws=500
    )
    assert (np.diff(run["projection"]["peak"].values, axis=0) >= 0).all()
    pool = forecast.model("hardware/gpu-peak-fp8@pooled").model
    assert pool.rests_on().name == "hardware/gpu-peak-fp8@exponential"
    free = pool.keeping("")
    assert {free.inputs[n].model.keeps for n in free.weights} == {""}


@pytest.mark.parametrize("metric", ["linpack", "hpcg", "ai-cluster", "gpu-peak-fp32", "gpu-bandwidth", "gpu-best"])
def test_shipped_frontiers_start_at_the_record(metric):
    model = forecast.model(f"hardware/{metric}@exponential").model
    fit = model.fit()
    seen = fit.observed()
    start = fit.sample(seen.time[-1:], {}, streams())
    assert np.unique(start).tolist() == [seen.value.max()]
    free = np.median(model.keeping("").fit().sample(seen.time[-1:], {}, streams()))
    assert metric != "linpack" or free > 4 * seen.value.max()  # where the straight line starts


@pytest.mark.parametrize("size", [(1, 3), (7, 1), (40, 12), (0, 4)])
def test_the_highest_so_far_is_the_running_maximum(size):
    path = np.random.default_rng(0).normal(size=size)
    before = path.copy()
    assert (accumulate(np.maximum, path) == np.maximum.accumulate(path, axis=0)).all()
    assert (path == before).all()


def test_the_highest_so_far_of_what_is_no_number_is_none():
    path = np.array([[1.0, 2.0], [np.nan, 3.0], [5.0, 1.0]])
    assert np.array_equal(accumulate(np.maximum, path), np.maximum.accumulate(path, axis=0), equal_nan=True)


def test_a_row_that_stands_for_many_is_not_written_to():
    assert accumulate(np.maximum, np.broadcast_to(np.array([[1.0, 2.0]]), (3, 2))).tolist() == [[1.0, 2.0]] * 3
