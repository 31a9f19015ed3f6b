"""The pool of shapes: what it is made of, how wide it is, and whose record it may use."""

import csv

import numpy as np
import pytest

import forecast
from forecast.evaluation.rolling_origin import backtest, benchmark_models, score_rows
from forecast.models import shape
from forecast.streams import Streams
from forecast_trends.lines.recent_line import recent
from forecast_trends.pool import interval_calibration, make
from forecast_trends.pool.interval_calibration import Calibration, calibration, families, family_of
from forecast_trends.pool.shape import Pool

T = np.arange(1990.0, 2015.0)
RNG = np.random.default_rng(5)
Y = np.exp(0.3 * (T - 1990) + np.cumsum(0.1 * RNG.standard_normal(25)))
STREAMS = Streams(seed=0, node="n", block=0)
AHEAD = np.array([2015.0, 2018.0, 2025.0])


def test_the_middle_lies_between_the_latest_points_and_the_shapes():
    fitted = Pool().fit(T, Y)
    middle = np.log(np.median(fitted.sample(AHEAD, STREAMS), axis=1))
    observed = np.log(np.median(fitted.sample(AHEAD, STREAMS, observed=True), axis=1))
    names = ("local-linear", "damped-trend", "changepoint")
    shapes = [np.median(np.log(shape(f"trends/{n}").fit(T, Y).sample(AHEAD, STREAMS)), axis=1) for n in names]
    line = recent(T, np.log(Y)).at(AHEAD)
    share = (middle - np.mean(shapes, axis=0)) / (line - np.mean(shapes, axis=0))
    assert ((share > 0.25) & (share < 0.8)).all()
    np.testing.assert_allclose(middle, observed, atol=0.05)


def test_the_latest_points_count_less_where_points_scatter():
    rng = np.random.default_rng(1)
    smooth, rough = (np.exp(0.1 * (T - 1990) + s * rng.standard_normal(25)) for s in (0.001, 1.0))
    walk = np.exp(np.cumsum(0.1 + 0.3 * rng.standard_normal(25)))
    last = [float(Pool().fit(T, y)._shares[1][-1]) for y in (walk, rough)]
    assert last[0] > last[1]
    assert np.isfinite(Pool().fit(T, smooth).sample(AHEAD, STREAMS)).all()


def test_the_line_knows_how_uncertain_it_is():
    """Over many series of white scatter around a level the line's errors are as large as it says."""
    errors, said = [], []
    for seed in range(400):
        y = np.random.default_rng(seed).standard_normal(25)
        line = recent(T, y)
        errors.append(line.at(np.array([2018.0]))[0])
        said.append(line.variance(np.array([2018.0]))[0])
    assert np.mean(np.square(errors)) == pytest.approx(np.mean(said), rel=0.35)


def test_the_spread_is_the_geometric_mean_of_theirs_times_what_the_record_asks_for():
    fitted = Pool().fit(T, Y)
    names = ("local-linear", "damped-trend", "changepoint")

    def drawn(made, **options):
        blocks = (made.sample(AHEAD, Streams(seed=0, node="n", block=i), **options) for i in range(20))
        return np.log(np.concatenate(list(blocks), axis=1))

    def half(made):
        low, middle, high = np.quantile(drawn(made, observed=True), [0.05, 0.5, 0.95], axis=1)
        return np.stack([middle - low, high - middle])

    each = [half(shape(f"trends/{n}").fit(T, Y)) for n in names]
    within = np.exp(np.mean(np.log(each), axis=0)) * fitted.told.factor * fitted.width(AHEAD)
    middle = np.mean([np.median(drawn(made), axis=1) for made in fitted.fitted.values()], axis=0)
    share = fitted._share(AHEAD)
    # and what the line and the shapes disagree on: the variance of a mixture
    expected = np.hypot(
        within, np.sqrt(share * (1 - share)) * np.abs(fitted.line.at(AHEAD) - middle) * 1.6448536269514722
    )
    np.testing.assert_allclose(half(fitted), expected, rtol=0.03)
    assert fitted.told.factor > 1
    assert (half(fitted) > half(Pool(calibrated=False).fit(T, Y))).all()


@pytest.mark.parametrize("name", ["local-linear", "damped-trend", "changepoint"])
@pytest.mark.parametrize("observed", [False, True])
def test_the_distribution_of_a_shape_is_that_of_its_draws(name, observed):
    """The pool takes quantiles of a shape from the mixture that its draws come from: here beside 40,000 draws."""
    dates = np.array([2005.5, *AHEAD])
    fitted = shape(f"trends/{name}").fit(T, Y)
    blocks = (fitted.sample(dates, Streams(seed=0, node="n", block=i), observed=observed) for i in range(40))
    drawn = np.log(np.concatenate(list(blocks), axis=1))
    said = fitted.marginals(dates, observed=observed).ordered(2048)
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    away = np.quantile(said, levels, axis=1) - np.quantile(drawn, levels, axis=1)
    assert (np.abs(away) <= 0.06 * drawn.std(axis=1)).all()


def test_beyond_the_record_the_shapes_growth_takes_over():
    """No hindcast reaches further than ten years: that growth goes on dying away is then told by nothing."""
    fitted = Pool().fit(T, Y)
    ten, far = fitted.line.last + np.array([1.0, 10.0]), fitted.line.last + np.array([200.0, 201.0])
    assert fitted._share(ten)[1] == pytest.approx(np.interp(ten[1], *fitted._shares))
    shapes = np.mean([np.log(shape.central(far)) for shape in fitted.fitted.values()], axis=0)
    assert np.diff(np.log(fitted.central(far)))[0] == pytest.approx(np.diff(shapes)[0], rel=0.01)
    years = fitted.line.last + np.arange(1.0, 60.0)
    assert (np.diff(np.log(fitted.central(years))) > 0).all()


def test_growth_that_is_set_is_that_of_the_next_year_in_every_draw():
    fitted = Pool().fit(T, Y)
    held = fitted.with_parameters({"growth": np.full(STREAMS.draws, 0.7)})
    near = fitted.line.last + np.array([1e-6, 1.0, 30.0])
    level, free = np.log(held.sample(near, STREAMS)), np.log(fitted.sample(near, STREAMS))
    np.testing.assert_allclose(level[1] - level[0], 0.7, atol=1e-4)
    np.testing.assert_allclose(level[0], free[0], atol=1e-4)  # growth moves nothing that was seen
    assert np.median(level[2] - free[2]) > 30 * (0.7 - 0.35) / 2
    assert fitted.settable.keys() == fitted.posterior(STREAMS).keys()


def test_a_short_series_is_forecast_by_what_can_be_fitted():
    fitted = Pool().fit(T[:3], Y[:3])
    assert list(fitted.fitted) == ["changepoint"]
    assert np.isfinite(fitted.sample(AHEAD, STREAMS)).all()


@pytest.mark.parametrize("scatter", [0, 1e-12, 1e-9, 1e-6])
@pytest.mark.parametrize("seed", range(4))
def test_what_grows_exactly_exponentially_goes_on_in_every_draw(seed, scatter):
    rng = np.random.default_rng(seed)
    time = np.arange(2000.0, 2000 + rng.integers(5, 22))
    fitted = Pool().fit(time, np.exp(0.3 * (time - 2000) + scatter * rng.normal(size=len(time))))
    ahead = time[-1] + np.array([0.01, 0.5, 1, 7.3, 40])
    for observed in (False, True):
        found = np.log(fitted.sample(ahead, STREAMS, observed=observed))
        assert np.isfinite(found).all()
        assert (np.diff(found.mean(axis=1)) > 0).all()


def test_draws_hang_together_over_time():
    drawn = np.log(Pool().fit(T, Y).sample(np.array([2016.0, 2017.0, 2030.0]), STREAMS))
    near, far = np.corrcoef(drawn)[0, 1:]
    assert near > 0.6
    assert near > far > 0
    before = np.log(Pool().fit(T, Y).sample(np.array([2000.0, 2014.0]), STREAMS))
    np.testing.assert_allclose(np.median(before, axis=1), np.log(Y[[10, 24]]), atol=0.3)


def test_families_stand_in_one_table_and_a_series_is_not_judged_by_its_own():
    assert family_of("hardware/linpack@pool") == family_of("hardware/hpcg") == "top500"
    assert family_of("horizon") == "horizon"
    assert family_of("nobody/knows") == ""
    assert {family_of(f"resources/horizon-th1-{n}") for n in "01"} == {"horizon"}
    known = set(forecast.catalogue("model"))
    assert set(families()) <= known
    fitted = forecast.model("hardware/linpack@pool").fit()
    assert fitted.shape.shape.told == calibration("top500", before=float(fitted.observed().time[-1]))
    assert fitted.shape.shape.told.families == len(set(interval_calibration._hindcasts()[0]) - {"top500"})


def test_no_series_is_counted_twice_under_two_names():
    with interval_calibration.HINDCASTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    told = {}
    for row in rows:
        told.setdefault(row["series"], []).append((row["origin"], row["outcome"], row["miss"]))
    assert len({tuple(each) for each in told.values()}) == len(told) > 25


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A record of three families: one asks for 4, one for 2, one came later."""
    rows = [("a", 2000, 4.0)] * 10 + [("b", 2001, 2.0)] * 30 + [("c", 2010, 50.0)] * 10
    path = tmp_path / "hindcasts.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("family", "outcome", "miss"), *rows])
    monkeypatch.setattr(interval_calibration, "HINDCASTS", path)
    interval_calibration._hindcasts.cache_clear()
    yield
    interval_calibration._hindcasts.cache_clear()


@pytest.mark.usefixtures("small")
def test_the_record_is_of_other_families_and_of_what_was_known():
    prior = Calibration().factor
    assert calibration("", before=1999.0) == Calibration(factor=prior, families=0, hindcasts=0)

    def shrunk(asked, n):
        return pytest.approx(asked ** (n / (n + 17)) * prior ** (17 / (n + 17)))

    both, one, every = calibration("", before=2005.0), calibration("a", before=2005.0), calibration("", before=2011.0)
    assert (both.factor, both.families, both.hindcasts) == (shrunk(4.0, 2), 2, 40)
    assert (one.factor, one.families) == (shrunk(2.0, 1), 1)
    assert (every.factor, every.families) == (shrunk(50.0, 3), 3)


def test_the_shipped_record_is_what_its_command_writes():
    """One series made anew is, row by row, what is shipped."""
    with interval_calibration.HINDCASTS.open(encoding="utf-8", newline="") as file:
        shipped = [row for row in csv.DictReader(file) if row["series"] == "resources/us-research"]
    made = list(make.hindcasts(["resources/us-research"]))
    assert len(made) == len(shipped) > 40
    for new, old in zip(made, shipped, strict=True):
        assert {k: new[k] for k in ("family", "origin", "outcome")} == {
            k: old[k] for k in ("family", "origin", "outcome")
        }
        assert float(new["miss"]) == pytest.approx(float(old["miss"]), rel=0.15, abs=0.03)


@pytest.mark.slow
def test_walks_that_slow_are_forecast_better_than_by_a_straight_line():
    """Growth that dies away, 12 series: the pool scores better than its simplest rival, and its intervals hold."""
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        growth = 0.5 * 0.95 ** np.arange(30)
        y = np.exp(np.cumsum(growth + 0.08 * rng.standard_normal(30)))
        data = {"t": np.arange(1980.0, 2010.0), "y": y}
        models, _ = benchmark_models(
            lambda s, d=data: forecast.trend(d, shape=s, x="t", y="y", unit="").model,
            ["trends/pool", "trends/exponential"],
        )
        found.append(backtest(models, most_origins=3))
    rows = {row["model"]: row for row in score_rows(found)}
    assert rows["trends/pool"]["weighted-interval"] < rows["trends/exponential"]["weighted-interval"]
    assert rows["trends/pool"]["skill_last_value"] > 0.3
    assert 0.8 <= rows["trends/pool"]["coverage"] <= 1.0


def test_exact_data_have_no_autocorrelation_and_a_pool_with_two_sides():
    time = np.arange(2005.0, 2021.0)
    line = shape("trends/exponential").fit(time, 1.5 ** (time - 2005)).describe()
    assert "residuals follow" not in line.summary
    assert line.facts["n_effective"] == pytest.approx(16)
    drawn = shape("trends/pool").fit(time, 1.5 ** (time - 2005)).sample(np.array([2030.0]), Streams(0, "n", 0))
    low, middle, high = np.log(np.quantile(drawn, [0.05, 0.5, 0.95]))
    assert high - middle == pytest.approx(middle - low, rel=0.1)
