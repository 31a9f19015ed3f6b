"""Backtests: where a series is cut, that nothing after a cut leaks, and what is made of many."""

import json

import numpy as np
import pytest

import forecast
from forecast.errors import DataError, UsageError
from forecast.evaluation.rolling_origin import (
    REFERENCE_SHAPES,
    Drift,
    backtest,
    benchmark_models,
    choose_origins,
    choose_targets,
    frozen,
    of_name,
    score_rows,
)
from forecast.streams import Streams

YEARS = np.arange(1990.0, 2015.0)
VALUES = np.exp(0.3 * (YEARS - 1990) + np.cumsum(0.1 * np.random.default_rng(0).standard_normal(25)))
FEW = ("trends/exponential", "trends/random-walk")


def series(value=VALUES, *, shapes=FEW, time=YEARS, **options):
    def made(shape):
        return forecast.trend({"t": time, "y": value}, shape=shape, x="t", y="y", unit="FLOP/s", **options).model

    return benchmark_models(made, shapes)[0]


def test_origins_have_enough_behind_and_something_ahead():
    assert choose_origins(YEARS).tolist() == [2000.0, 2003.0, 2005.0, 2008.0, 2010.0, 2013.0]
    assert choose_origins(np.repeat(YEARS, 3)).tolist() == choose_origins(YEARS).tolist()  # dates, not rows
    assert choose_origins(YEARS[:8]).size == 0
    assert choose_origins(YEARS[:9]).tolist() == [1997.0]
    dense = np.r_[np.linspace(1990, 1991, 30), 2010.0, 2020.0]
    assert choose_origins(dense).tolist() == [2010.0]  # 40 % of the span has passed


def test_targets_are_later_within_ten_years_and_at_most_ten():
    assert YEARS[choose_targets(YEARS, 2000.0)].tolist() == list(range(2001, 2011))
    months = np.arange(1990, 2014, 1 / 12)
    chosen = months[choose_targets(months, 2000.0)]
    assert len(chosen) == 10
    assert chosen[0] > 2000.0
    assert chosen[-1] == pytest.approx(2010.0)
    np.testing.assert_allclose(np.diff(chosen), 119 / 12 / 9, atol=1 / 12)


@pytest.mark.parametrize("poison", [np.nan, 1e99])
def test_nothing_after_the_origin_leaks(poison):
    """Later values are replaced: every forecast from before keeps every bit."""
    shapes = [
        f"trends/{name}"
        for name in ("pool", "exponential", "changepoint", "random-walk", "local-linear", "damped-trend")
    ]
    clean = backtest(series(shapes=shapes), seed=3)
    first = float(clean["origin"][0])
    value = np.where(first < YEARS, poison, VALUES)
    models = series(value, shapes=shapes)
    for label, model in models.items():
        time = first + clean["years"].values[0]
        drawn = frozen(model, first, time, 3)
        assert not isinstance(drawn, str), drawn
        stated = np.quantile(drawn, clean["quantile"].values, axis=1).T
        np.testing.assert_array_equal(stated, clean["forecast"].sel(model=label).values[0])


def test_a_table_is_read_by_its_vintage():
    """A value that was revised after the origin is not the one that was known."""
    time = np.r_[YEARS, 2000.0]
    known = np.r_[YEARS, 2009.5]
    data = {"t": time, "y": np.r_[VALUES, 1e6], "vintage": known}
    models = benchmark_models(lambda shape: forecast.trend(data, shape=shape, x="t", y="y", unit="W").model, FEW)[0]
    early, late = (backtest(m, seed=0)["forecast"].sel(origin=2005.0) for m in (series(), models))
    np.testing.assert_array_equal(early[:4], late[:4])


def test_any_number_of_workers_gives_the_same():
    one, two = backtest(series()), backtest(series(), workers=2)
    assert one.identical(two)


def test_a_perfect_forecast_scores_zero_and_a_hopeless_one_badly():
    exact = np.exp(0.3 * (YEARS - 1990))
    rows = {row["model"]: row for row in score_rows([backtest(series(exact, shapes=["trends/exponential"]))])}
    assert rows["trends/exponential"]["weighted-interval"] == pytest.approx(0, abs=1e-9)
    assert rows["trends/exponential"]["skill_last_value"] == pytest.approx(1)
    assert rows["drift"]["weighted-interval"] == pytest.approx(0, abs=1e-9)
    assert rows["last-value"]["weighted-interval"] > 0.3


def test_means_are_over_forecasts_then_over_series():
    long, short = backtest(series(), name="long"), backtest(series(VALUES[:14], time=YEARS[:14]), name="short")
    (row,) = (row for row in score_rows([long, short]) if row["model"] == "trends/exponential")
    means = [float(each["weighted-interval"].sel(model="trends/exponential").mean()) for each in (long, short)]
    assert row["weighted-interval"] == pytest.approx(np.mean(means))
    assert row["series"] == 2
    assert row["forecasts"] == int(long["observed"].notnull().sum() + short["observed"].notnull().sum())


def test_the_walk_with_drift_has_the_interval_of_the_textbook():
    fitted = Drift().fit(YEARS, VALUES)
    drawn = np.log(fitted.sample(np.array([2018.0]), Streams(seed=0, node="n", block=0)))
    steps = np.diff(np.log(VALUES))
    expected = np.std(steps, ddof=1) * np.sqrt(4 * (1 + 4 / 24))
    assert np.median(drawn) == pytest.approx(np.log(VALUES[-1]) + 4 * steps.mean(), abs=0.1 * expected)
    assert np.std(drawn) == pytest.approx(expected, rel=0.1)
    assert set(REFERENCE_SHAPES) == {"last-value", "drift"}


def test_what_cannot_be_fitted_says_why_and_the_rest_goes_on():
    models = series(shapes=["trends/exponential", "trends/frontier"])
    found = backtest(models)
    why = json.loads(found.attrs["failures"])["trends/frontier"]
    assert set(why) == {f"{origin:.2f}" for origin in found["origin"].values}
    assert all("needs at least 50 points" in reason for reason in why.values())
    assert "trends/frontier" not in [row["model"] for row in score_rows([found])]
    with pytest.raises(DataError, match="too short to be cut"):
        backtest(series(VALUES[:8], time=YEARS[:8]))
    with pytest.raises(UsageError, match="rests on no observations in time"):
        backtest("brain/dettmers-2015")


def test_a_registered_series_is_tried_with_every_shape_and_a_scored_name_is_found():
    models, refused = of_name("hardware/linpack")
    assert {"trends/exponential", "trends/local-linear", "last-value", "drift"} <= set(models)
    assert not set(models) & set(refused)
    one, _ = of_name("hardware/linpack@random-walk")
    assert list(one) == ["trends/random-walk", "last-value", "drift"]
    found = backtest(one, scores=["weighted-interval", "crps"], most_origins=2)
    assert {"crps", "weighted-interval"} <= set(found.data_vars)
    assert found.sizes["origin"] == 2
