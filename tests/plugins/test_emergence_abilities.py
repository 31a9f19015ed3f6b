"""Thresholds that are censored, scores above chance, passes that are counted, jumps of the metric; Ruan's curves."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import nbinom

import forecast
import forecast_datasets
from forecast import tables
from forecast.errors import DataError, EmptyDataError, UnknownNameError, UsageError
from forecast.tables import file_hash
from forecast.tables.schema import descriptor
from forecast_emergence.abilities.censored import bracket, thresholds
from forecast_emergence.abilities.chance import above_chance, jump, pass_rate, unseen
from forecast_emergence.features import threshold

HERE = Path(forecast_datasets.__file__).parent
FILES = {"benchmarks": "base_llm_benchmark_eval.csv", "emergent": "base_llm_emergent_capability_eval.csv"}


# --- Ruan et al., through the described table -------------------------------------------------------------------------


@pytest.fixture
def scores(tmp_path, monkeypatch, reference_data):
    monkeypatch.setenv("FORECAST_DATA", str(tmp_path))
    for resource in descriptor.read_descriptor(HERE / "observational-scores/datapackage.json").resources:
        file = reference_data / "scaling" / "obsscaling" / FILES[resource.name]
        assert file_hash(file) == resource.hash
        for suffix in ("csv", "data"):
            shutil.copy(file, tmp_path / f"{resource.hash[7:19]}-{resource.name}.{suffix}")
    return tables.to_columns("datasets/observational-scores")


@pytest.mark.parametrize(
    ("column", "chance", "beta", "alpha", "train", "test", "rows"),
    [
        ("word_unscramble", 0.0, 1.044, -7.027, 2.59e-4, 1.33e-2, (44, 29)),
        ("persian_qa", 0.25, 0.570, -6.403, 2.70e-4, 2.08e-2, (40, 25)),
    ],
)
def test_ruans_curves(scores, column, chance, beta, alpha, train, test, rows):
    compute = scores.numeric("compute") / 1e21
    score = above_chance(scores.numeric(column), chance, noise=0.05)
    known = np.isfinite(compute) & np.isfinite(score)
    early = known & (compute <= 84 * (1 + 1e-12))
    fit = forecast.law("scaling/observational").fit({"S": np.log(compute[early]), "y": score[early]}, y="y")
    assert (fit.values["beta"], fit.values["alpha"]) == (
        pytest.approx(beta, abs=5.1e-4),
        pytest.approx(alpha, abs=5.1e-4),
    )
    late = known & ~early
    missed = fit.predict(S=np.log(compute[late]))["median"].values - score[late]
    assert (early.sum(), late.sum()) == rows
    assert fit.objective / fit.n == pytest.approx(train, rel=5e-3)
    assert np.mean(missed**2) == pytest.approx(test, rel=5e-3)


def test_the_readers_refuse_another_file(tmp_path):
    from forecast_datasets import observational

    other = tmp_path / "other.csv"
    other.write_text("Model,x\na,1\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"other\.csv: column 'parsinlu_qa_2_acc' is missing"):
        observational.emergent(other)


# --- scores above chance ----------------------------------------------------------------------------------------------


def test_a_floor_above_a_score_names_both():
    with pytest.raises(DataError, match=r"chance floor 0\.25 lies above the score 0\.2 of row 2"):
        above_chance([0.3, 0.2], 0.25)
    assert above_chance([0.3, 0.2], 0.25, trials=100)[1] < 0  # within four binomial errors, and not clipped
    with pytest.raises(DataError, match=r"floor 1 does not lie below the ceiling 0\.9"):
        above_chance([0.3], 1.0, top=0.9)
    assert float(above_chance(0.625, 0.25)) == 0.5
    assert np.isnan(above_chance([np.nan], 0.25)).all()  # a score that is not known is no wrong one


@pytest.mark.parametrize(
    ("score", "chance", "trials", "error", "says"),
    [
        ([0.3, -0.1], 0.25, None, DataError, r"row 2: expected a share from 0 to 1, got -0\.1"),
        ([62.5], 0.25, None, DataError, r"row 1: expected a share from 0 to 1, got 62\.5"),
        ([0.3], -0.25, 10, UsageError, r"chance: expected a share from 0 to 1, got -0\.25"),
        ([0.3], 0.25, 0, UsageError, "trials: expected at least one question, got 0"),
    ],
)
def test_what_is_no_share_is_refused(score, chance, trials, error, says):
    with pytest.raises(error, match=says):
        above_chance(score, chance, trials=trials)


# --- passes that are counted ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("passes", [2, 3, 5])
def test_passes_until_are_unbiased_from_two_on(passes):
    p = 0.02
    tries = np.arange(passes, 3000)  # beyond lies less than 1e-20 of the probability
    chance = nbinom.pmf(tries - passes, passes, p)
    rate, low, high = np.array([pass_rate(passes, int(k)) for k in tries]).T
    assert chance @ rate == pytest.approx(p, rel=1e-9)
    assert chance @ ((low <= p) & (p <= high)) >= 0.9  # exact intervals cover at least what they say
    assert chance @ (p < low) <= 0.05
    assert chance @ (p > high) <= 0.05


def test_wrong_counts():
    with pytest.raises(UsageError, match="3 passes in 2 tries"):
        pass_rate(3, 2)
    with pytest.raises(UsageError, match="at least one try"):
        unseen(0)
    with pytest.raises(UsageError, match="pass_rate: level: expected a probability between 0 and 1, got 2"):
        pass_rate(2, 100, level=2.0)
    with pytest.raises(UsageError, match="unseen: level"):
        unseen(100, level=1.0)
    assert unseen(1000) == pytest.approx(3e-3, rel=0.01)


def test_counted_passes_are_binomial_and_none_is_a_count_too():
    law, rng = forecast.law("scaling/passuntil"), np.random.default_rng(4)
    size, tries, true = np.geomspace(3e7, 2.4e9, 10), np.full(10, 4000.0), {"c": 400.0, "alpha": 0.23}
    passes = rng.binomial(4000, law.value(true, N=size)).astype(float)
    passes[0] = 0.0  # its logarithm is none; its likelihood is
    fit = law.fit({"N": size, "y": passes, "n": tries}, y="y", objective="binomial", options={"trials": "n"})
    assert fit.converged
    foretold = fit.predict(N=2e10)
    assert float(foretold["lower"]) < float(law.value(true, N=2e10)) < float(foretold["upper"])
    with pytest.raises(DataError, match="takes the log of y"):
        law.fit({"N": size, "y": passes / tries}, y="y", objective="least_squares_log")


# --- thresholds of the loss -------------------------------------------------------------------------------------------


def test_a_jump_of_the_metric_and_one_that_is_more():
    size, trials = np.geomspace(1e8, 1e11, 12), np.full(12, 3000.0)
    rng = np.random.default_rng(1)
    smooth = rng.binomial(3000, np.exp(-5 * (1e7 / size) ** 0.4)).astype(float)
    assert jump(size, smooth, trials, 5).only_metric
    x = np.log10(size) - 9.5
    bent = rng.binomial(3000, np.exp(-5 * np.exp(-1.5 - x - 0.5 * x**2))).astype(float)
    found = jump(size, bent, trials, 5)
    assert not found.only_metric
    assert found.curvature < 0
    assert "bends" in found.sentence


def test_wrong_jumps():
    with pytest.raises(DataError, match="four sizes or more, got 3"):
        jump([1e8, 1e9, 1e10], [1, 2, 3], [9, 9, 9], 5)
    with pytest.raises(DataError, match="row 2: 10 passes in 9 trials"):
        jump([1e8, 1e9, 1e10, 1e11], [1, 10, 3, 4], [9, 9, 9, 9], 5)
    sizes, asked = [1e8, 1e9, 1e10, 1e11], [9, 9, 9, 9]
    with pytest.raises(DataError, match="no question is answered at any size"):
        jump(sizes, [0, 0, 0, 0], asked, 5)
    with pytest.raises(DataError, match="every question is answered"):
        jump(sizes, asked, asked, 5)
    with pytest.raises(UsageError, match="tokens: expected an answer of more than 0 tokens, got 0"):
        jump(sizes, [0, 1, 2, 3], asked, 0)
    with pytest.raises(UsageError, match="as many sizes as passes and trials"):
        jump(sizes, [0, 1, 2], asked, 5)
    with pytest.raises(DataError, match=r"sizes above 0, got -1e\+08"):
        jump([-1e8, 1e9, 1e10, 1e11], [0, 1, 2, 3], asked, 5)


# --- thresholds -------------------------------------------------------------------------------------------------------


def test_censored_thresholds_recover_their_middle_and_their_none():
    rng = np.random.default_rng(2)
    grid = np.array([1e8, 1e9, 1e10, 1e11])
    true = 10 ** rng.normal(9.7, 0.5, 80)
    true[rng.random(80) < 0.25] = np.inf
    at = np.searchsorted(grid, true)
    low = np.concatenate([[0.0], grid])[at]
    high = np.concatenate([grid, [np.inf]])[at]
    found = thresholds(low, high)
    assert found.middle[0] < 10**9.7 < found.middle[2]
    assert found.width[0] < 0.5 < found.width[2]
    assert found.none == pytest.approx(0.25, abs=0.1)
    assert np.isinf(found.following[2])


def test_thresholds_that_cannot_be():
    with pytest.raises(DataError, match=r"row 2: absent at 1e\+10 and there at 1e\+09"):
        thresholds([1e8, 1e10], [1e9, 1e9])
    with pytest.raises(EmptyDataError, match="no interval has an end"):
        thresholds([0.0], [np.inf])
    with pytest.raises(DataError, match="no one threshold parts them"):
        bracket([1e9, 2e9], [True, False])
    assert bracket([1e9, 2e9], [False, False]) == (2e9, float("inf"))
    with pytest.raises(DataError, match="row 1: expected a size above 0, got nan"):
        bracket([float("nan"), 2e9], [False, True])
    with pytest.raises(DataError, match="thresholds: row 2: expected a size above 0, got -1"):
        thresholds([1e8, -1.0], [1e9, 1e9])
    with pytest.raises(DataError, match="thresholds: row 1: expected a size above 0, got nan"):
        thresholds([1e8], [float("nan")])


def test_the_table_of_thresholds_is_interval_censored():
    rows = tables.to_columns("datasets/emergence-thresholds")
    found = thresholds(rows.numeric("params_below"), rows.numeric("params"))
    assert (found.n, found.bracketed, found.above) == (22, 6, 0)
    assert found.none < 0.1  # the table lists only what emerged


@pytest.mark.parametrize("route", threshold.ROUTES)
def test_a_threshold_foretold_from_small_models(route):
    found = threshold.predict_threshold(route)
    assert (found.n, found.observed) == (6, (6.0e9, 6.7e9))
    low, middle, high = found.interval
    assert 1.5e9 <= low <= middle <= high
    assert low < 6.7e9 or route == "logistic"  # the logistic misses what came
    assert 0 < found.none < 0.6
    assert f"none by 1e+13 with probability {found.none:.0%}" in str(found)
    assert threshold.predict_threshold(route) == found


def test_more_data_without_a_jump_make_it_less_likely():
    few, more = (threshold.predict_threshold("hazard", upto=size) for size in (4e8, 6e9))
    assert (few.n, more.n) == (3, 8)
    assert more.none > few.none
    with pytest.raises(UnknownNameError, match="did you mean 'hazard'"):
        threshold.predict_threshold("hazzard")
    for route in threshold.ROUTES:
        with pytest.raises(
            UsageError, match=r"upto: 1e\+10 includes the model of 6\.7e\+09 parameters that has reached"
        ):
            threshold.predict_threshold(route, upto=1e10)
        with pytest.raises(UsageError, match=r"1\.2e\+08 leaves fewer than three sizes; expected 3\.45e\+08 or more"):
            threshold.predict_threshold(route, upto=1.2e8)
