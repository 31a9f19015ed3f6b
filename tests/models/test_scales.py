"""On which scale a series is straight, who decides it, and what stays between its ends."""

import numpy as np
import pytest

import forecast
from forecast.errors import DataError, UsageError
from forecast.models import trend
from forecast.models.scales import Bounds, Scale, find_scale
from forecast.streams import Streams

YEARS = np.arange(2015.0, 2025.0)
SCORES = np.array([0.26, 0.3, 0.38, 0.45, 0.55, 0.66, 0.74, 0.8, 0.86, 0.88])


def drawn(value, at=(2030.0,), name="y", **stated):
    made = trend({"year": YEARS, name: value}, shape="trends/pool", x="year", y=name, **stated).fit()
    return made, made.sample(np.array(at), {}, Streams(seed=0, node="n", block=0))


@pytest.mark.parametrize(
    "scale",
    [
        Scale(), Scale(kind="share", ceiling=1.0), Scale(kind="percent", ceiling=100.0),
        Scale(kind="share", floor=0.25, ceiling=1.0), Scale(kind="level", ceiling=47.0),
        Scale(kind="linear", centre=3.0, size=2.0), Scale(kind="signed", size=0.1), Scale(kind="count"),
    ],
)  # fmt: skip
def test_a_scale_goes_there_and_back(scale):
    value = scale.floor + np.array([0.01, 0.2, 0.7])
    np.testing.assert_allclose(scale.back(scale.to(value)), value, rtol=1e-12)
    z = np.linspace(-3, 3, 7)
    assert (np.diff(scale.back(z)) >= 0).all()


@pytest.mark.parametrize(
    ("value", "stated", "kind"),
    [
        (SCORES, {"name": "accuracy"}, "share"),
        (100 * SCORES, {"name": "f1"}, "percent"),
        (100 * SCORES, {"name": "score", "unit": "percent"}, "percent"),
        (SCORES, {"name": "price"}, "level"),  # a price that falls below 1 is none
        (SCORES, {"name": "accuracy", "unit": "USD"}, "level"),
        (SCORES, {"name": "anything", "limits": (0.0, 1.0)}, "share"),
        (SCORES, {"name": "accuracy", "declared": Bounds(scale="level")}, "level"),  # what is declared wins
        (100 * SCORES, {"name": "accuracy", "declared": Bounds(scale="linear")}, "linear"),
        (1000 + SCORES, {"name": "elo"}, "linear"),
        (SCORES - 0.5, {"name": "anything"}, "linear"),
        (10.0 ** np.arange(5) - 2, {"name": "anything"}, "signed"),
        (np.arange(5.0), {"name": "launches"}, "count"),
        (SCORES - 0.26, {"name": "anything"}, "signed"),
        (SCORES, {"name": "rating", "declared": Bounds(floor=0.1)}, "level"),
    ],
)
def test_what_decides(value, stated, kind):
    assert find_scale(value, **stated).kind == kind


@pytest.mark.parametrize(
    ("value", "name", "says"),
    [
        (SCORES, "y", "all values lie in 0 to 1: say scale 'share' if it ends at 1"),
        (SCORES + 0.13, "accuracy", "by the name 'accuracy' a share, and 1.01 lies above its end"),
        (np.full(10, 5.0), "y", "all 10 values are 5: nothing in them says how it moves"),
    ],
)
def test_what_nothing_decides_is_said(value, name, says):
    assert says in drawn(value, name=name)[0].describe().read


def test_a_share_never_exceeds_its_end_and_says_what_it_is():
    fitted, paths = drawn(SCORES, at=(2030.0, 2100.0), name="accuracy")
    assert ((paths > 0) & (paths <= 1)).all()
    assert fitted.describe().read == "accuracy: share, ends at 100 % (the name 'accuracy')."
    _, plain = drawn(SCORES, at=(2030.0,), scale="level")
    assert (plain > 1).mean() > 0.5


def test_percent_is_the_share_times_100():
    (_, share), (_, percent) = drawn(SCORES, scale="share"), drawn(100 * SCORES, scale="percent")
    np.testing.assert_allclose(100 * share, percent, rtol=1e-9)
    (_, error) = drawn(1 - SCORES, scale="share")  # an error rate is a share upside down
    np.testing.assert_allclose(np.median(1 - error), np.median(share), rtol=1e-4)


def test_a_floor_and_a_ceiling_hold():
    _, paths = drawn(SCORES, scale="share", floor=0.25, at=(2016.0, 2030.0, 2060.0))
    assert ((paths >= 0.25) & (paths <= 1)).all()
    _, paths = drawn(SCORES, scale="level", ceiling=2.0, at=(2060.0,))
    assert np.median(paths) > 1.7
    assert (paths <= 2).all()


def test_values_at_an_end_are_moved_inside_and_it_is_said():
    at_end = np.append(SCORES[:-2], [1.0, 1.0])
    fitted, paths = drawn(at_end, scale="share")
    assert "2 values are exactly 1, and taken as 0.9" in fitted.describe().read
    assert (paths <= 1).all()


@pytest.mark.parametrize(
    ("value", "stated", "error", "says"),
    [
        (SCORES + 0.13, {"scale": "share"}, DataError, "1.01 lies above its end, 1, so it is no share"),
        (300 * SCORES, {"scale": "share"}, DataError, "lies above its end, 1, so it is no share"),
        (SCORES, {"scale": "share", "unit": "USD"}, UsageError, "a share has no unit, and this is in USD"),
        (SCORES, {"floor": 0.5}, DataError, "0.26 lies below its floor, 0.5"),
        (SCORES, {"scale": "share", "floor": 2.0}, UsageError, "floor: 2 is not below the end of a share, 1"),
        (SCORES, {"floor": 2.0, "ceiling": 1.0}, UsageError, "floor: 2 is not below the ceiling, 1"),
        (SCORES, {"scale": "linear", "floor": 0.1}, UsageError, "'linear' has none"),
        (np.ones(10), {"scale": "share"}, DataError, "all values are 1, which a share never reaches"),
        (-np.arange(10.0), {"scale": "count"}, DataError, "a count cannot be -1"),
        (np.where(YEARS == 2020, 72, SCORES), {"name": "win rate"}, DataError, "0.26 and 72 in one column"),
    ],
)  # fmt: skip
def test_what_is_not_on_its_scale_is_refused(value, stated, error, says):
    with pytest.raises(error, match=says):
        drawn(value, **stated)


def test_a_change_of_growth_acts_on_the_scale():
    machine = trend(
        {"year": YEARS, "score": SCORES}, shape="trends/exponential", x="year", y="score", scale="share", name="m"
    )
    record = {"start": 2025, "until": 2030, "quantities": {"x": {"model": machine}}}
    plain = forecast.project(record, draws=64)["projection"]["x"].values
    record["changes"] = [{"of": "x", "growth": "0.5*", "since": 2027}]
    slower = forecast.project(record, draws=64)["projection"]["x"].values
    share = Scale(kind="share", ceiling=1.0)
    np.testing.assert_array_equal(slower[:3], plain[:3])
    np.testing.assert_allclose(
        np.diff(share.to(slower), axis=0)[2:], 0.5 * np.diff(share.to(plain), axis=0)[2:], rtol=1e-6
    )


def test_a_shape_with_a_cap_of_its_own_takes_no_scale():
    with pytest.raises(UsageError, match="is of a level, in the column's unit: it takes no scale"):
        trend({"year": YEARS, "y": SCORES}, shape="trends/logistic", x="year", y="y", scale="share").fit()


RECORD = {
    "year": np.array([2012.0, 2013.0, 2013.3, 2014.0, 2015.5, 2016.0, 2018.0, 2020.0]),
    "error": np.array([9.0, 7.5, 6.1, 6.1, 4.0, 3.1, 2.9, 2.7]),
}


def rows_of(data=RECORD, y="error", **stated):
    return trend(data, shape="trends/pool", x="year", y=y, of_rows=True, **stated).fit()


def test_a_record_starts_at_its_last_row_and_never_goes_back_whichever_way_is_better():
    fitted = rows_of(scale="percent")
    assert "a record, lower is better: it has never gone back" in fitted.describe().read
    paths = fitted.sample(np.array([2020.0, 2020.5, 2025.0, 2040.0]), {}, Streams(0, "n", 0))
    np.testing.assert_allclose(paths[0], 2.7, rtol=1e-12)
    assert (np.diff(paths, axis=0) <= 1e-12).all()
    alone = fitted.sample(np.array([2040.0]), {}, Streams(0, "n", 0))
    np.testing.assert_allclose(alone[0], paths[-1], rtol=1e-12)  # whatever is looked at on the way
    assert 0.1 < (paths[1] > 2.7 * (1 - 1e-9)).mean() < 0.9  # that nothing comes by then is possible, and not certain


def test_a_record_that_began_at_zero_is_one():
    scores = {"year": RECORD["year"], "score": np.array([0.0, 0.0, 0.02, 0.02, 0.1, 0.1, 0.3, 0.5])}
    fitted = rows_of(scores, y="score", scale="share")
    assert "2 values are exactly 0, and taken as 0.01" in fitted.describe().read
    assert "a record, higher is better" in fitted.describe().read
    np.testing.assert_allclose(fitted.sample(np.array([2020.0]), {}, Streams(0, "n", 0)), 0.5, rtol=1e-12)


def test_a_long_wait_makes_the_next_record_less_likely():
    long = {key: np.append(column, last) for (key, column), last in zip(RECORD.items(), (2026.0, 2.7), strict=True)}
    still = [(f.sample(t, {}, Streams(0, "n", 0)) > 2.699).mean()
             for f, t in ((rows_of(), np.array([2021.0])), (rows_of(long), np.array([2027.0])))]  # fmt: skip
    assert still[1] > still[0] + 0.15


def test_rows_to_come_go_on_from_the_last_row_and_are_the_same_at_any_step():
    rng = np.random.default_rng(0)
    years = np.arange(2000.0, 2021.0)
    data = {"year": years, "y": np.exp(0.2 * (years - 2000) + 0.4 * rng.standard_normal(len(years)))}
    fitted = rows_of(data, y="y")
    months, each_year = 2020 + np.arange(121) / 12, 2020 + np.arange(11.0)
    by_month, by_year = (fitted.sample(time, {}, Streams(0, "n", 0)) for time in (months, each_year))
    np.testing.assert_allclose(by_month[0], data["y"][-1], rtol=1e-9)
    np.testing.assert_allclose(by_month[::12], by_year, rtol=0.02)
    one = (
        trend(data, shape="trends/pool", x="year", y="y").fit().sample(each_year, {}, Streams(0, "n", 0), observed=True)
    )
    ends = [np.quantile(np.log(paths[1:]), [0.05, 0.95], axis=1) for paths in (by_year, one)]
    np.testing.assert_allclose(*ends, atol=0.15)  # a row is as wide as one observation
