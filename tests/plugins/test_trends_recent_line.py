"""The recent line as a shape of its own, and the members of the pool as a question shows them."""

import datetime
import math

import numpy as np
import pytest
from scipy import stats

import forecast
from forecast.contract import track_record
from forecast.contract.registry import get_registry
from forecast.evaluation.rolling_origin import backtest
from forecast.models import Anchored, model, shape
from forecast.streams import Streams
from forecast_trends.pool.shape import FittedPool, Pool, PoolOfRecords
from toolkit import command, json_of, sample

TIME = np.arange(1990.0, 2015.0)
RNG = np.random.default_rng(5)
VALUE = np.exp(0.3 * (TIME - 1990) + np.cumsum(0.1 * RNG.standard_normal(25)))
STREAMS = Streams(seed=0, node="n", block=0)
MEMBERS = ("local-linear", "damped-trend", "changepoint", "recent-line")


def weighted_line(time, y):
    """Return level and growth at the last date, their covariance, the scatter and the points, from numpy's own fit."""
    age, half_life = time[-1] - time, 0.03 * (time[-1] - time[0])
    while np.sum(weight := 0.5 ** (age / half_life)) ** 2 / np.sum(weight**2) < min(5, 0.8 * len(time)):
        half_life *= 1.15
    points = np.sum(weight) ** 2 / np.sum(weight**2)
    growth, level = np.polyfit(-age, y, 1, w=np.sqrt(weight))
    scatter = np.average((y - level + growth * age) ** 2, weights=weight) * points / (points - 2)
    inverse = np.linalg.pinv(np.sqrt(weight)[:, None] * np.stack([np.ones_like(age), -age], axis=1))
    covariance = scatter * (inverse * weight) @ inverse.T
    return level, growth, covariance, scatter, points


def test_it_is_the_weighted_least_squares_line_whose_growth_dies_away():
    level, growth, covariance, scatter, points = weighted_line(TIME, np.log(VALUE))
    fitted = shape("trends/recent-line").fit(TIME, VALUE)
    ahead = np.array([0.0, 1.0, 5.0, 40.0])
    carried = 12.0 * (1 - np.exp(-ahead / 12.0))  # half of the 24 years
    np.testing.assert_allclose(np.log(fitted.central(2014.0 + ahead)), level + growth * carried, rtol=1e-9)
    facts = fitted.describe().facts
    assert facts["growth_per_year"] == pytest.approx(growth)
    assert facts["n_effective"] == pytest.approx(points)
    t = stats.t(points - 2).ppf(0.95)
    assert facts["growth_p95"] == pytest.approx(growth + t * math.sqrt(covariance[1, 1]))
    wide = np.stack([np.ones(4), carried], axis=1)
    variance = np.einsum("ti,ij,tj->t", wide, covariance, wide)
    for observed in (False, True):
        high = np.quantile(fitted.marginals(2014.0 + ahead, observed=observed).ordered(2**15), 0.95, axis=1)
        expected = level + growth * carried + t * np.sqrt(variance + observed * scatter)
        np.testing.assert_allclose(high, expected, atol=0.01 * t * math.sqrt(scatter))
    back = np.log(fitted.central(np.array([2000.0, 2014.0])))
    assert back[1] - back[0] == pytest.approx(14 * growth)  # straight back, as it was fitted


@pytest.mark.parametrize("observed", [False, True])
def test_its_distribution_is_that_of_its_draws(observed):
    dates = np.array([2005.5, 2015.0, 2025.0])
    fitted = shape("trends/recent-line").fit(TIME, VALUE)
    blocks = (fitted.sample(dates, Streams(seed=0, node="n", block=i), observed=observed) for i in range(40))
    drawn = np.log(np.concatenate(list(blocks), axis=1))
    stated = fitted.marginals(dates, observed=observed).ordered(2048)
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    away = np.quantile(stated, levels, axis=1) - np.quantile(drawn, levels, axis=1)
    assert (np.abs(away) <= 0.06 * drawn.std(axis=1)).all()


def test_growth_that_is_set_dies_away_too():
    fitted = shape("trends/recent-line").fit(TIME, VALUE)
    assert set(fitted.settable) == {"log_level", "growth"}
    held = fitted.with_parameters({"growth": np.full(STREAMS.draws, 0.7)})
    level = np.log(held.sample(np.array([2014.0, 2020.0]), STREAMS))
    np.testing.assert_allclose(level[1] - level[0], 0.7 * 12 * (1 - math.exp(-0.5)), rtol=1e-9)


@pytest.mark.parametrize("scatter", [0.0, 1e-9])
def test_what_grows_exactly_exponentially_and_three_points_are_enough(scatter):
    exact = np.exp(0.3 * (TIME - 1990) + scatter * np.arange(25) % 2)
    for count in (3, 25):
        drawn = np.log(shape("trends/recent-line").fit(TIME[:count], exact[:count]).sample(TIME[:count] + 30, STREAMS))
        assert np.isfinite(drawn).all()
        assert np.median(drawn[-1]) > math.log(exact[count - 1])


def test_in_hindcasts_it_sees_the_rows_before_the_date_alone_and_has_a_record():
    then, now = (model("hardware/linpack@recent-line").fit(as_of=date) for date in (2012.0, None))
    points = now.observed()
    early = points.time < 2012.0
    line = shape("trends/recent-line").fit(points.time[early], points.value[early], frontier=True)
    assert then.describe().facts["growth_per_year"] == line.describe().facts["growth_per_year"]
    drawn = then.sample(np.array([2012.0, 2013.0]), {}, STREAMS)
    assert (drawn >= points.value[early][-1] * (1 - 1e-12)).all()  # a frontier: from its record on
    found = backtest({"line": model("hardware/linpack@recent-line")}, name="linpack").sel(model="line")
    assert int(found["observed"].count()) > 10
    whole = track_record.of_shape("trends/recent-line")[0]
    assert (whole["series"], whole["forecasts"]) == tuple(
        track_record.of_shape("trends/pool")[0][key] for key in ("series", "forecasts")
    )


# --- members ----------------------------------------------------------------------------------------------------------


def test_the_pool_declares_what_it_is_made_of():
    spec = get_registry().find("shape", "trends/pool").spec
    fitted = Pool().fit(TIME, VALUE)
    assert isinstance(fitted, FittedPool)
    assert set(spec.members) == {f"trends/{name}" for name in (*fitted.fitted, "recent-line")}
    dates = np.array([2015.0, 2020.0])
    for name, member in fitted.fitted.items():  # and each is the shape as it is alone
        np.testing.assert_array_equal(member.central(dates), shape(f"trends/{name}").fit(TIME, VALUE).central(dates))
    line = shape("trends/recent-line").fit(TIME, VALUE)
    np.testing.assert_allclose(np.log(line.central(dates)), fitted.line.at(dates), rtol=1e-12)
    record = np.maximum.accumulate(VALUE)
    of_records = Pool().fit(TIME, record, frontier=True).as_record(TIME, record)
    assert isinstance(of_records, PoolOfRecords)
    assert isinstance(of_records, Anchored)
    assert spec.record_members == ("trends/steps",)
    steps = shape("trends/steps").fit(TIME, record, frontier=True).as_record(TIME, record)
    np.testing.assert_array_equal(of_records.steps.sample(dates, STREAMS), steps.sample(dates, STREAMS))


def test_the_members_are_what_the_screen_shows(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ask = command("ask")
    shown = ask(capsys, "hardware/gpu-bandwidth >= 100 TB/s", "--draws", "128").out
    rows = ["ensemble", "local linear", "damped trend", "changepoint", "recent line"]
    at = [shown.index(f"{row} ") for row in rows]
    assert at == sorted(at)
    assert "exponential" not in shown
    years = (2000, 2001, 2003, 2004, 2007, 2008, 2011, 2013, 2014, 2018)  # uneven, and some repeat: a record
    rows = [f"{year}-01-01,{2 ** (i // 2)},{2 ** (i % 5)}\n" for i, year in enumerate(years)]
    (tmp_path / "mine.csv").write_text("date,best,each\n" + "".join(rows), encoding="utf-8")
    for column, more in (("best", ["steps"]), ("each", [])):
        found = json_of(ask(capsys, f"mine.csv:{column}", "--draws", "128", "--json").out)["result"]["values"]
        assert [row["choices"]["shape"] for row in found if row["choices"]] == ["pool", *MEMBERS, *more]


def test_beside_a_shape_that_pools_none_stands_the_ensemble():
    asked = forecast.ask("capability/run-price-performance", draws=64).scenario
    assert asked.stated["choices"]["shape"]["values"] == ["exponential", "pool"]
    mixed = forecast.ask("capability/time-horizon-80", draws=64).scenario  # a mixture, by weights of the series
    assert mixed.stated["choices"]["shape"]["values"] == ["pooled", "pool", "random-walk"]


@pytest.mark.parametrize("name", ["hardware/gpu-capability", "brain/brain-parity"])
def test_scenarios_put_the_members_beneath_the_ensemble_and_mark_what_is_none(name):
    scenario = forecast.scenario(name)
    values = next(each["values"] for each in scenario.stated["choices"].values() if "changepoint" in each["values"])
    assert tuple(values[:5]) == ("pool", *MEMBERS)
    for other in values[5:]:
        assert other == "pooled" or scenario.labels[other].endswith("(no member)")


@pytest.mark.parametrize(
    "question",
    sample(
        [
            "hardware/linpack >= 1e20 FLOP/s",
            "hardware/gpu-best-per-watt-fp32 >= 1 TFLOP/s/W",
            "hardware/gpu-best-per-watt-fp8 >= 20 TFLOP/s/W",
            "hardware/gpu-peak-fp32 >= 1 PFLOP/s",
            "hardware/gpu-per-dollar-fp32 >= 1 TFLOP/s/USD",
            "capability/training-compute >= 1e29 FLOP",
        ],
        3,
    ),
)
def test_the_ensemble_lies_among_its_members(question):
    found = forecast.ask(question, draws=512).to_dict()["result"]["questions"]
    never = datetime.date.max.isoformat()
    medians = {row["choices"]["shape"]: row["crossing"]["p50"] or never for row in found}
    pool = medians.pop("pool")
    assert set(medians) == set(MEMBERS)
    assert min(medians.values()) <= pool <= max(medians.values())
