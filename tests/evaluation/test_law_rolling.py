"""Backtests of laws: where points are cut, that nothing beyond a cut leaks, and what is compared."""

import json

import numpy as np
import pytest

import forecast
from forecast.errors import DataError, UnknownNameError, UsageError
from forecast.evaluation.law_rolling import DEFAULT_LAWS, POOL_NAME, backtest_laws
from forecast.evaluation.rolling_origin import score_rows

X = np.geomspace(1e3, 1e6, 24)
FLOOR = forecast.law("scaling/saturating-power")
POWER = forecast.law("scaling/power")


def curve(seed: int = 0, scale: float = 0.01, x: np.ndarray = X) -> dict[str, np.ndarray]:
    noise = np.exp(scale * np.random.default_rng(seed).standard_normal(x.size))
    return {"x": x, "loss": (1.7 + 40 * x**-0.4) * noise}


def scored(*laws, **options):
    return backtest_laws(laws, options.pop("data", curve()), y="loss", **options)


@pytest.fixture(scope="module")
def two_laws():
    """Both laws on the curve as it is."""
    return scored(POWER, FLOOR)


def test_origins_are_places_with_eight_behind_and_targets_lie_beyond():
    found = scored(POWER)
    assert found["origin"].values[0] == pytest.approx(X[10])  # 40 % of the places, which are more than eight
    assert found["origin"].values[-1] == X[22]
    assert found.sizes["origin"] == 6
    first = found.isel(origin=0)
    assert (first["ahead"] > 0).all()
    np.testing.assert_allclose(first["ahead"].values[-1], np.log10(X[-1] / X[10]), rtol=1e-12)
    assert first["observed"].values[-1] == curve()["loss"][-1]
    assert list(found["model"].values) == ["scaling/power", POOL_NAME, "last-value", "drift"]


@pytest.mark.parametrize(("poison", "cut"), [pytest.param(np.nan, 0, marks=pytest.mark.slow), (1e99, 3)])
def test_nothing_beyond_the_origin_leaks(two_laws, poison, cut):
    """Held-out rows are replaced: every forecast from the cut keeps every bit."""
    clean, data = two_laws, curve()
    data["loss"] = np.where(clean["origin"].values[cut] < X, poison, data["loss"])
    again = scored(POWER, FLOOR, data=data)
    for before in range(cut + 1):
        now, then = (each["forecast"].isel(origin=before) for each in (again, clean))
        np.testing.assert_array_equal(now, then)
    assert bool(clean["forecast"].notnull().any())


@pytest.fixture(scope="module")
def by_run():
    """Both laws on the curve in three parts, each of which is left out."""
    return scored(POWER, FLOOR, data={**curve(), "run": np.repeat(["a", "b", "c"], 8)}, leave_out="run")


@pytest.mark.parametrize("poison", [np.nan, pytest.param(1e99, marks=pytest.mark.slow)])
def test_a_group_that_is_left_out_does_not_leak(by_run, poison):
    clean, data = by_run, {**curve(), "run": np.repeat(["a", "b", "c"], 8)}
    assert list(clean["origin"].values) == ["a", "b", "c"]
    data["loss"] = np.where(data["run"] == "b", poison, data["loss"])
    again = scored(POWER, FLOOR, data=data, leave_out="run")
    np.testing.assert_array_equal(*(each["forecast"].sel(origin="b") for each in (again, clean)))
    assert clean["ahead"].sel(origin="c").values[-1] == pytest.approx(np.log10(X[-1] / X[15]))


def test_the_forecast_is_the_band_of_predict():
    found = scored(FLOOR, objective="least_squares_log").isel(origin=2)
    known = {name: column[found["origin"].item() >= X] for name, column in curve().items()}
    band = FLOOR.fit(known, y="loss", objective="least_squares_log").predict(x=X[len(known["x"]) :], level=0.9)
    said = found["forecast"].sel(model="scaling/saturating-power").dropna("horizon")[: band.sizes["point"]]
    rows = np.searchsorted(
        band["x"].values, found["origin"].item() * 10 ** found["ahead"].dropna("horizon").values - 1e-6
    )
    for level, name, share in ((0.05, "observed_lower", 2e-3), (0.5, "median", 1e-8), (0.95, "observed_upper", 2e-3)):
        np.testing.assert_allclose(said.sel(quantile=level), band[name].values[rows], rtol=share)


def test_the_pool_is_that_of_extrapolate():
    found = scored(POWER).isel(origin=1)
    known = found["origin"].item() >= X
    to = X[~known]
    answer = forecast.extrapolate(X[known], curve()["loss"][known], to=to)
    said = found["forecast"].sel(model=POOL_NAME).dropna("horizon")
    places = np.searchsorted(to, found["origin"].item() * 10 ** found["ahead"].dropna("horizon").values - 1e-6)
    np.testing.assert_allclose(said.sel(quantile=0.5), answer.median[places], rtol=1e-3)
    np.testing.assert_allclose(said.sel(quantile=0.95), answer.upper[places], rtol=1e-3)


def test_the_law_behind_the_data_does_best_and_beats_the_last_value(two_laws):
    rows = {row["model"]: row for row in score_rows([two_laws])}
    own = rows["scaling/saturating-power"]
    assert own["skill_last_value"] > 0.5
    assert own["weighted-interval"] < rows["scaling/power"]["weighted-interval"]
    assert own["origins"] == 6


@pytest.mark.slow
def test_without_a_law_the_usual_six_are_tried():
    found = backtest_laws(data=curve(), y="loss", most_origins=1)
    assert list(found["model"].values) == [*DEFAULT_LAWS, POOL_NAME, "last-value", "drift"]
    reasons = json.loads(found.attrs["failures"])
    assert set(reasons) <= set(DEFAULT_LAWS)  # and a law that fails says why
    assert all(why for each in reasons.values() for why in each.values())


def test_two_variables_go_along_what_is_asked():
    rng = np.random.default_rng(0)
    size, tokens = 10 ** rng.uniform(7, 10, 60), 10 ** rng.uniform(9, 12, 60)
    loss = (1.7 + 400 * size**-0.34 + 400 * tokens**-0.28) * np.exp(0.005 * rng.standard_normal(60))
    data = {"params_b": size / 1e9, "D": tokens, "loss": loss}
    law = forecast.law("scaling/chinchilla")
    found = backtest_laws([law], data, let={"N": "params_b*1e9"}, y="loss", along="6*params_b*1e9*D", most_origins=2)
    assert list(found["model"].values) == ["scaling/chinchilla", "last-value", "drift"]  # no pool of two variables
    compute = np.sort(6 * size * tokens)
    assert set(found["origin"].values) <= set(compute)
    rows = {row["model"]: row for row in score_rows([found])}
    assert rows["scaling/chinchilla"]["skill_last_value"] > 0.5


def test_any_number_of_workers_gives_the_same_and_progress_is_told():
    told = []
    one = scored(POWER, most_origins=2, progress=lambda done, of: told.append((done, of)))
    assert told == [(i + 1, 8) for i in range(8)]
    assert one.identical(scored(POWER, most_origins=2, workers=2))


def test_points_that_need_no_logarithm_have_no_reference_but_a_forecast():
    t = np.linspace(-10, 10, 24)
    data = {"t": t, "y": 5 + 0.1 * t + 0.01 * np.random.default_rng(0).standard_normal(24)}
    found = backtest_laws([forecast.Law("a + b*t", variables=["t"])], data)
    assert list(found["model"].values) == ["a + b*t"]
    assert found["ahead"].values[0, 0] == pytest.approx(t[11] - t[10])
    assert score_rows([found])[0]["coverage"] > 0.7


def test_refusals():
    with pytest.raises(DataError, match="a point after eight different places, got 8 places"):
        scored(POWER, data={name: column[:8] for name, column in curve().items()})
    with pytest.raises(DataError, match="at least two groups in 'run'"):
        scored(POWER, data={**curve(), "run": np.repeat("a", 24)}, leave_out="run")
    holes = {**curve(), "x": np.where(X > 1e5, np.nan, X)}
    with pytest.raises(DataError, match="has no 'x'"):
        scored(POWER, data=forecast.read(holes, missing="error"))
    with pytest.raises(UnknownNameError, match="did you mean 'x'"):
        scored(POWER, let={"xx": "loss"})
    with pytest.raises(UnknownNameError, match="did you mean 'run'"):
        scored(POWER, data={**curve(), "run": np.repeat(["a", "b"], 12)}, leave_out="runs")
    with pytest.raises(UsageError, match="named twice"):
        scored(POWER, POWER)
