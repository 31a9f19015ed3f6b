"""Parameters that are set: the others follow as they vary together."""

import numpy as np
import pytest

import forecast
from forecast.models import condition_draws
from forecast.models.relations import fitted_law
from forecast.streams import Streams
from tests.toolkit import assert_bitwise, training_runs

MEAN = np.array([1.0, 2.0, -1.0])
COVARIANCE = np.array([[2.0, 0.6, 0.3], [0.6, 1.0, -0.4], [0.3, -0.4, 0.5]])


def test_jointly_normal_draws_get_their_conditional_distribution():
    root = np.linalg.cholesky(COVARIANCE)
    normal = MEAN[:, None] + root @ np.random.default_rng(0).standard_normal((3, 200_000))
    drawn = dict(zip("abc", normal, strict=True))
    moved = condition_draws(drawn, {"b": np.full(200_000, 4.0)}, "abc", COVARIANCE)
    rest = np.stack([moved["a"], moved["c"]])
    slope = COVARIANCE[[0, 2], 1] / COVARIANCE[1, 1]
    expected = COVARIANCE[np.ix_([0, 2], [0, 2])] - np.outer(slope, COVARIANCE[[0, 2], 1])
    assert rest.mean(axis=1) == pytest.approx(MEAN[[0, 2]] + slope * 2.0, abs=0.01)
    assert np.cov(rest) == pytest.approx(expected, abs=0.02)
    assert (moved["b"] == 4.0).all()


def test_what_does_not_vary_together_stays():
    drawn = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 5.0]), "other": np.array([7.0, 8.0])}
    moved = condition_draws(drawn, {"b": np.zeros(2)}, ["a", "b"], np.diag([2.0, 0.0]))
    assert (moved["a"] == drawn["a"]).all()
    assert (moved["other"] == drawn["other"]).all()


LAW = forecast.law("scaling/chinchilla")


def test_the_parameters_of_a_law_with_a_covariance_move_together():
    runs = training_runs()
    fit = LAW.fit(runs, y="loss", seed=0)
    streams, model = Streams(0, "loss", 0), fitted_law(LAW, name="loss", parameters=fit).fit()
    drawn = model.posterior(streams)
    alpha = np.full(streams.draws, np.quantile(drawn["alpha"], 0.9))
    conditional = model.with_parameters({"alpha": alpha})
    moved = conditional.posterior(streams)
    assert (moved["alpha"] == alpha).all()
    # A and alpha rise together
    spread = np.corrcoef(np.log(drawn["A"]), np.log(drawn["alpha"]))[0, 1]
    assert spread > 0.9
    left = np.std(np.log(moved["A"])) / np.std(np.log(drawn["A"]))
    assert left == pytest.approx(np.sqrt(1 - spread**2), rel=0.05)
    assert np.median(moved["A"]) > np.median(drawn["A"])
    given = {"N": np.full((1, streams.draws), 7e10), "D": np.full((1, streams.draws), 1.4e12)}
    time = np.array([2025.0])
    np.testing.assert_array_equal(conditional.sample(time, given, streams), LAW.value(moved, **given))
    same = model.with_parameters({"alpha": drawn["alpha"]})
    assert same.sample(time, given, streams) == pytest.approx(model.sample(time, given, streams), rel=1e-9)


def test_published_parameters_without_a_covariance_keep_their_draws():
    streams = Streams(0, "loss", 0)
    model = fitted_law(LAW, name="loss", parameters=LAW.published("besiroglu2024")).fit()
    drawn, moved = (each.posterior(streams) for each in (model, model.with_parameters({"E": np.full(1024, 1.7)})))
    for name in drawn:
        assert_bitwise(moved[name], np.full(1024, 1.7) if name == "E" else drawn[name])
