"""Scores: known answers, what the package `scores` says, one grammar, and refusals."""

import sys

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import forecast
from forecast.contract.registry import get_registry
from forecast.errors import DataError, UnknownNameError, UsageError
from forecast.evaluation import scores
from forecast.evaluation.scores import QUANTILES, SCORES
from toolkit import every


def ensemble(n: int = 400, draws: int = 51) -> tuple[xr.DataArray, xr.DataArray]:
    """Return positive draws along two dimensions, and what was observed."""
    rng = np.random.default_rng(0)
    made = np.exp(rng.normal(1.0, 0.7, (n // 4, 4, draws)))
    seen = np.exp(rng.normal(1.1, 0.9, (n // 4, 4)))
    return xr.DataArray(made, dims=("origin", "horizon", "draw")), xr.DataArray(seen, dims=("origin", "horizon"))


FORECAST, OBSERVED = ensemble()


def test_scores_of_one_forecast_are_known():
    stated = xr.DataArray([1.0, 2.0, 4.0, 8.0, 16.0], coords={"quantile": list(QUANTILES)})
    seen = xr.DataArray(32.0)
    apart = np.log(2) * np.array([5, 4, 3, 2, 1])
    assert float(scores.weighted_interval(stated, seen)) == pytest.approx(2 * np.mean(np.array(QUANTILES) * apart))
    assert float(scores.pinball(stated, seen, level=0.25)) == pytest.approx(0.25 * 30)
    assert float(scores.pinball(stated, xr.DataArray(1.0), level=0.25)) == pytest.approx(0.75)
    assert float(scores.coverage(stated, seen)) == 0.0
    assert float(scores.coverage(stated, xr.DataArray(16.0))) == 1.0
    assert float(scores.coverage(stated, xr.DataArray(9.0), level=0.5)) == 0.0
    assert float(scores.width(stated, seen)) == pytest.approx(np.log(16))
    assert float(scores.rmsle(stated, seen)) == pytest.approx(np.log(8))
    draws = xr.DataArray([1.0, 2.0, 2.0, 4.0], dims="draw")
    assert float(scores.pit(draws, xr.DataArray(2.0))) == 0.5
    assert float(scores.crps(draws, xr.DataArray(0.0))) == pytest.approx(2.25 - (0 + 1 + 1 + 3 + 0 + 2 + 2) / 16)
    assert scores.skill(3.0, 4.0) == 0.25


def test_scores_of_probabilities_are_known():
    said = xr.DataArray([0.8, 0.3, np.nan, 0.5], dims="event")
    came = xr.DataArray([1.0, 1.0, 1.0, np.nan], dims="event")
    assert float(scores.brier(said, came)) == pytest.approx((0.04 + 0.49) / 2, abs=1e-12)
    assert float(scores.log_loss(said, came)) == pytest.approx(-(np.log(0.8) + np.log(0.3)) / 2, abs=1e-12)
    assert float(scores.log_loss(xr.DataArray(0.2), xr.DataArray(0))) == pytest.approx(-np.log(0.8), abs=1e-12)
    assert float(scores.log_loss(xr.DataArray(0.0), xr.DataArray(1))) == np.inf
    for score in (scores.brier, scores.log_loss):
        with pytest.raises(DataError, match="probabilities from 0 to 1"):
            score(xr.DataArray(1.5), xr.DataArray(1))
        with pytest.raises(DataError, match="1 where the event happened"):
            score(xr.DataArray(0.5), xr.DataArray(2))


def test_the_interval_score_of_dates_is_in_years():
    stated = xr.DataArray([2030.0, 2031.0, 2032.0, 2033.0, 2034.0], coords={"quantile": list(QUANTILES)})
    apart = np.array([0.05 * 5, 0.25 * 4, 0.5 * 3, 0.75 * 2, 0.95 * 1])
    found = float(scores.weighted_interval(stated, xr.DataArray(2035.0), logs=False))
    assert found == pytest.approx(2 * apart.mean(), abs=1e-12)


def test_the_crps_of_normal_draws_is_that_of_the_normal():
    """Gneiting & Raftery (2007), equation 21 in closed form: σ(z(2Φ(z) − 1) + 2φ(z) − 1/√π)."""
    draws = xr.DataArray(3 + 2 * stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000), dims="draw")
    for seen in (-1.0, 3.0, 4.5):
        z = (seen - 3) / 2
        exact = 2 * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - np.pi**-0.5)
        assert float(scores.crps(draws, xr.DataArray(seen))) == pytest.approx(exact, abs=2e-4)


def test_the_log_score_of_normal_draws_is_that_of_the_normal():
    draws = xr.DataArray(3 + 2 * stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000), dims="draw")
    for seen in (1.0, 3.0, 6.0):
        exact = -stats.norm.logpdf(seen, 3, 2)
        assert float(scores.log_score(draws, xr.DataArray(seen))) == pytest.approx(exact, abs=0.02)


def test_the_package_scores_agrees():
    others = pytest.importorskip("scores")
    kept = {"preserve_dims": ["origin"]}
    theirs = others.probability.crps_for_ensemble(FORECAST, OBSERVED, "draw", method="ecdf", **kept)
    np.testing.assert_allclose(scores.crps(FORECAST, OBSERVED, **kept), theirs, rtol=1e-12)
    for level in (0.05, 0.5, 0.9):
        middle = FORECAST.quantile(level, "draw", skipna=False).drop_vars("quantile")
        theirs = others.continuous.quantile_score(middle, OBSERVED, alpha=level, **kept)
        np.testing.assert_allclose(scores.pinball(FORECAST, OBSERVED, level=level, **kept), theirs, rtol=1e-12)
    logs = np.log(FORECAST)
    low, high = (logs.quantile(q, "draw").drop_vars("quantile") for q in (0.05, 0.95))
    theirs = others.continuous.quantile_interval_score(low, high, np.log(OBSERVED), 0.05, 0.95, **kept)["total"]
    ends = [scores.pinball(logs, np.log(OBSERVED), level=q, **kept) for q in (0.05, 0.95)]
    np.testing.assert_allclose(2 / 0.1 * sum(ends), theirs, rtol=1e-12)
    middle = logs.quantile(0.5, "draw").drop_vars("quantile")
    theirs = others.continuous.rmse(middle, np.log(OBSERVED), **kept)
    np.testing.assert_allclose(scores.rmsle(FORECAST, OBSERVED, **kept), theirs, rtol=1e-12)


def test_draws_and_their_quantiles_score_alike():
    logs = np.exp(np.log(FORECAST).quantile(list(QUANTILES), "draw"))
    a, b = (scores.weighted_interval(made, OBSERVED) for made in (FORECAST, logs))
    assert float(a) == pytest.approx(float(b), rel=1e-9)


@pytest.mark.parametrize("name", SCORES)
def test_every_score_has_the_one_grammar(name):
    score = scores.score(name)
    whole, each = score(FORECAST, OBSERVED), score(FORECAST, OBSERVED, preserve_dims="all")
    assert whole.dims == ()
    assert set(each.dims) == {"origin", "horizon"}
    by = score(FORECAST, OBSERVED, reduce_dims="horizon")
    assert by.dims == ("origin",)
    xr.testing.assert_allclose(by, score(FORECAST, OBSERVED, preserve_dims=["origin"]))
    if name != "rmsle":
        assert float(whole) == pytest.approx(float(each.mean()))
    first = xr.DataArray(np.eye(1, OBSERVED.sizes["origin"])[0], dims="origin")
    weighed = score(FORECAST, OBSERVED, weights=first)
    assert float(weighed) == pytest.approx(float(score(FORECAST[:1], OBSERVED[:1])))


@pytest.mark.parametrize("name", SCORES)
def test_what_is_missing_does_not_count(name):
    score, hole = scores.score(name), OBSERVED.copy()
    hole[0] = np.nan
    assert float(score(FORECAST, hole)) == pytest.approx(float(score(FORECAST[1:], OBSERVED[1:])))
    made = FORECAST.copy()
    made[0] = np.nan
    assert float(score(made, OBSERVED)) == pytest.approx(float(score(FORECAST[1:], OBSERVED[1:])))


def test_refusals_say_what_was_expected():
    both = {"reduce_dims": "origin", "preserve_dims": "origin"}
    quantiles = FORECAST.quantile([0.1, 0.5, 0.9], "draw")
    with every() as case:
        with case("both"), pytest.raises(UsageError, match="twice: give one"):
            scores.crps(FORECAST, OBSERVED, **both)
        with case("no such dimension"), pytest.raises(UnknownNameError, match="did you mean 'origin'"):
            scores.crps(FORECAST, OBSERVED, reduce_dims="orign")
        with case("no draws"), pytest.raises(UsageError, match="expected a dimension 'draw', got quantile, origin"):
            scores.crps(quantiles, OBSERVED)
        with case("no such quantile"), pytest.raises(UsageError, match=r"states no quantile 0\.05; nearest: 0\.1"):
            scores.coverage(quantiles, OBSERVED)
        with case("level"), pytest.raises(UsageError, match="expected a share between 0 and 1, got 90"):
            scores.coverage(FORECAST, OBSERVED, level=90)
        with case("no logarithm"), pytest.raises(DataError, match="forecast: expected positive values"):
            scores.weighted_interval(-FORECAST, OBSERVED)
        with case("one number"), pytest.raises(DataError, match="has no density"):
            scores.log_score(FORECAST * 0 + 1, OBSERVED)
        with case("weights"), pytest.raises(UsageError, match="weights: expected numbers from 0"):
            scores.crps(FORECAST, OBSERVED, weights=-OBSERVED)
        with case("one weight below 0"), pytest.raises(UsageError, match="weights: expected numbers from 0"):
            scores.crps(FORECAST, OBSERVED, weights=xr.where(OBSERVED.max() == OBSERVED, -1.0, 1.0))
        with case("no such score"), pytest.raises(UnknownNameError, match="did you mean 'crps'"):
            scores.score("crsp")


def test_a_plugin_brings_its_own(tmp_path, monkeypatch):
    path = tmp_path / "mine.py"
    path.write_text(
        "from forecast import ScoreSpec, hookimpl\n"
        "def bias(forecast, observed, *, reduce_dims=None, preserve_dims=None, weights=None):\n"
        "    return (forecast.median('draw') - observed).mean()\n"
        "@hookimpl\n"
        "def forecast_scores():\n"
        "    yield ScoreSpec(name='bias', target=f'{__name__}:bias', reference='ours')\n",
        encoding="utf-8",
    )
    monkeypatch.delitem(sys.modules, "mine", raising=False)  # another test's
    monkeypatch.setenv("FORECAST_PLUGINS", str(path))
    get_registry.cache_clear()
    try:
        found = scores.score("mine/bias")
        assert float(found(FORECAST + 1, OBSERVED) - found(FORECAST, OBSERVED)) == pytest.approx(1.0)
        assert forecast.catalogue("score") == ["mine/bias"]
    finally:
        get_registry.cache_clear()
        sys.modules.pop("mine", None)


def test_rounding_takes_no_outcome_out_of_an_interval():
    """A forecast of one value has been through logarithms and back."""
    draws = xr.DataArray(np.full((3, 9), 1 - 7e-16), dims=("origin", "draw"))
    observed = xr.DataArray([1.0, 1 + 1e-9, 1 - 1e-9], dims="origin")
    assert scores.coverage(draws, observed, preserve_dims="all").values.tolist() == [1, 0, 0]
