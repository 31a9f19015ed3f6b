import re
import tracemalloc

import numpy as np
import pytest

import forecast
from forecast.errors import BudgetError, FitError, UnknownNameError, UsageError
from forecast.fit.inference import bootstrap
from forecast.fit.inference.bootstrap import REPLICATES_PER_BLOCK, resampled_row_counts

LINE = forecast.Law("a + b*x", variables=["x"])
LAW = forecast.Law("E + b*x**-c", variables=["x"], positive=["E", "b", "c"])


def data(seed=0, n=60, noise=0.02):
    x = np.geomspace(1, 1e4, n)
    return {"x": x, "y": (1 + 5 * x**-0.4) * np.exp(noise * np.random.default_rng(seed).standard_normal(n))}


def test_counts_are_resampled_rows_and_fewer_are_a_prefix():
    many = resampled_row_counts("pairs", 3, 40, 2 * REPLICATES_PER_BLOCK + 7)
    assert many.shape == (2 * REPLICATES_PER_BLOCK + 7, 40)
    assert (many.sum(axis=1) == 40).all()
    np.testing.assert_array_equal(resampled_row_counts("pairs", 3, 40, 9), many[:9])
    assert not np.array_equal(resampled_row_counts("pairs", 4, 40, 9), many[:9])
    assert not np.array_equal(many[:REPLICATES_PER_BLOCK], many[REPLICATES_PER_BLOCK : 2 * REPLICATES_PER_BLOCK])
    assert many.mean(axis=0) == pytest.approx(1.0, abs=0.2)


def test_replicates_of_a_line_are_the_textbook_lines():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 9, 50)
    y = 1 + 2 * x + rng.standard_normal(50)
    fit = LINE.fit({"x": x, "y": y}, bootstrap=300, seed=2)
    counts = resampled_row_counts("pairs", 2, 50, 300)
    for i in (0, 150, 299):
        b, a = np.polyfit(x, y, 1, w=np.sqrt(counts[i]))
        assert float(fit.bootstrap["a"][i]) == pytest.approx(a, rel=1e-7)
        assert float(fit.bootstrap["b"][i]) == pytest.approx(b, rel=1e-7)
    assert float(fit.stderr["b"]) == pytest.approx(fit.bootstrap["b"].values.std(ddof=1))
    assert fit.interval("b", 0.9, method="bootstrap") == pytest.approx(
        tuple(np.quantile(fit.bootstrap["b"].values, [0.05, 0.95]))
    )
    wald = LINE.fit({"x": x, "y": y}).interval("b", 0.9)
    assert fit.interval("b", 0.9, method="wald") == pytest.approx(wald)


@pytest.mark.parametrize("objective", ["least_squares_log", "huber_log"])
def test_each_replicate_is_the_fit_of_its_rows(objective):
    points = data()
    options = {"delta": 0.01} if objective == "huber_log" else None
    fit = LAW.fit(points, objective=objective, options=options, bootstrap=40, seed=1)
    counts = resampled_row_counts("pairs", 1, 60, 40).astype(int)
    assert fit.bootstrap["converged"].all()
    assert fit.bootstrap.attrs["audited"] == 24
    assert fit.bootstrap.attrs["changed"] == 0
    for i in (0, 20, 39):
        rows = {k: np.repeat(v, counts[i]) for k, v in points.items()}
        alone = LAW.fit(rows, objective=objective, options=options)
        assert float(fit.bootstrap["objective"][i]) == pytest.approx(alone.objective, rel=1e-9)


def test_the_same_seed_gives_the_same_bytes_and_fewer_are_a_prefix():
    one, two = (LAW.fit(data(), bootstrap=50, seed=5).bootstrap for _ in range(2))
    assert one.identical(two)
    many = LAW.fit(data(), bootstrap=1500, seed=5).bootstrap
    for few in (20, 50, 256, 700):
        some = LAW.fit(data(), bootstrap=few, seed=5).bootstrap
        assert some.equals(many.isel(replicate=slice(few)))


def test_bootstrap_standard_errors_are_near_walds_where_both_hold():
    fit = LAW.fit(data(n=200), objective="least_squares_log", bootstrap=600)
    wald = LAW.fit(data(n=200), objective="least_squares_log").stderr
    for name in LAW.parameters:
        assert float(fit.stderr[name]) == pytest.approx(float(wald[name]), rel=0.25)


def test_few_points_are_solved_from_fresh_starts_and_degenerate_replicates_are_counted():
    fit = LAW.fit(data(n=5), bootstrap=400, objective="least_squares_log")
    counts = resampled_row_counts("pairs", 0, 5, 400)
    degenerate = int(np.sum((counts > 0).sum(axis=1) < 3))
    attrs = fit.bootstrap.attrs
    assert degenerate > 0
    assert attrs["degenerate"] == degenerate
    assert attrs["audited"] == 400
    lost = ~fit.bootstrap["converged"].values
    assert lost.sum() == attrs["not_converged"] >= degenerate
    assert np.isnan(fit.bootstrap["c"].values[lost]).all()
    assert np.isfinite(fit.bootstrap["c"].values[~lost]).all()
    assert any("could not be fitted" in w for w in fit.warnings)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"bootstrap": 1}, UsageError, "at least 2"),
        ({"bootstrap": True}, UsageError, "at least 2"),
        ({"bootstrap": 9, "resample": "paris"}, UnknownNameError, "did you mean 'pairs'"),
        ({"bootstrap": 9, "resample": "cluster"}, UsageError, "needs groups=, one label a row"),
        ({"bootstrap": 9, "resample": "wild", "objective": "poisson"}, FitError, "counts have none"),
        ({"bootstrap": 9, "resample": "cluster", "groups": "y", "by": "x"}, UsageError, "by= does not take"),
    ],
)
def test_impossible_bootstraps_are_refused(options, error, says):
    with pytest.raises(error, match=says):
        LINE.fit(data(), **options)


def test_without_a_bootstrap_there_is_none():
    fit = LINE.fit(data())
    with pytest.raises(FitError, match="fit with bootstrap="):
        _ = fit.bootstrap
    with pytest.raises(FitError, match="bootstrap=1000 first"):
        fit.interval("a", method="bootstrap")
    with pytest.raises(UnknownNameError, match="did you mean 'bootstrap'"):
        fit.interval("a", method="boostrap")


@pytest.mark.parametrize("resample", ["pairs", "residuals", "wild", "cluster"])
def test_every_kind_is_one_keyword_and_the_same_as_afterwards(resample):
    points = {**data(), "family": np.repeat(np.arange(12), 5)}
    groups = "family" if resample == "cluster" else None
    fit = LAW.fit(points, objective="least_squares_log", bootstrap=300, resample=resample, groups=groups, seed=4)
    assert fit.bootstrap.attrs["resample"] == resample
    assert fit.bootstrap["converged"].all()
    labels = points["family"] if groups else None
    later = LAW.fit(points, objective="least_squares_log").resample(300, resample=resample, groups=labels, seed=4)
    for name in LAW.parameters:
        np.testing.assert_allclose(fit.bootstrap[name].values, later.bootstrap[name].values, rtol=1e-7)


def test_residuals_are_those_of_the_textbook():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 9, 40)
    y = 1 + 2 * x + rng.standard_normal(40)
    fit = LINE.fit({"x": x, "y": y}, bootstrap=300, resample="residuals", seed=2)
    # for a line the replicates' variance is that of the residuals, made wide, through the design
    residuals = (y - fit.values["a"] - fit.values["b"] * x) * np.sqrt(40 / 38)
    expected = np.std(residuals) / np.sqrt(np.sum((x - x.mean()) ** 2))
    assert float(fit.stderr["b"]) == pytest.approx(expected, rel=0.15)
    assert fit.bootstrap["b"].values.mean() == pytest.approx(fit.values["b"], abs=4 * expected / np.sqrt(300))


def test_where_the_optimum_misleads_all_replicates_get_starts_of_their_own():
    # two dips of nearly the same depth: which is the lower one is a matter of the rows drawn
    law = forecast.Law("a*exp(-(x - m)**2)", variables=["x"], positive=["a"])
    rng = np.random.default_rng(1)
    x = np.tile(np.linspace(-1, 1, 12), 2) + np.repeat([0.0, 9.0], 12)
    y = np.exp(-((x - np.repeat([0.0, 9.0], 12)) ** 2)) + 0.02 * rng.standard_normal(24)
    fit = law.fit({"x": x, "y": y}, bootstrap=300, seed=1)
    assert fit.bootstrap.attrs["audited"] == 300
    assert fit.bootstrap.attrs["changed"] > 60
    near = np.abs(fit.bootstrap["m"].values - 9) < 1
    assert 0.2 < near.mean() < 0.8
    assert any("had a better optimum elsewhere" in w for w in fit.warnings)


def test_a_bootstrap_that_was_asked_for_gives_the_intervals_where_it_is_large_enough():
    points = data()
    plain, many, few = (LAW.fit(points, objective="least_squares_log", bootstrap=b, seed=1) for b in (None, 400, 60))
    assert many.interval("c") == many.interval("c", method="bootstrap")
    assert many.interval("c", method="profile") == pytest.approx(plain.interval("c"))
    assert few.interval("c") == plain.interval("c")
    assert "intervals: percentiles of 400 bootstrap replicates (pairs)" in many.summary()
    assert "intervals: not from the bootstrap (pairs): 60 replicates are too few for 0.9" in few.summary()
    assert "intervals:" not in plain.summary()


def test_a_bootstrap_does_not_hide_that_a_parameter_is_not_identified():
    x = np.geomspace(1, 1e4, 40)
    flat = {"x": x, "y": 2 * np.exp(0.02 * np.random.default_rng(0).standard_normal(40))}
    fit = LAW.fit(flat, objective="least_squares_log", bootstrap=300)
    assert fit.diagnostics.unidentified
    for name in fit.diagnostics.unidentified:
        try:
            found = fit.interval(name)
        except FitError:  # it says that there is none
            continue
        assert found != fit.interval(name, method="bootstrap")


def test_a_kind_of_bootstrap_without_a_bootstrap_is_refused():
    with pytest.raises(UsageError, match="resample='wild' says what a bootstrap resamples: give bootstrap="):
        LAW.fit(data(), resample="wild")


@pytest.mark.parametrize("resample", ["pairs", "residuals", "wild", "cluster"])
def test_the_size_of_the_pieces_that_are_drawn_changes_no_replicate(resample, monkeypatch):
    rng = np.random.default_rng(0)
    x = np.geomspace(1, 1000, 60)
    law = forecast.law("scaling/saturating-power")
    data = {"x": x, law.output: (1 + 3 * x**-0.4) * np.exp(0.02 * rng.standard_normal(60))}
    fit = law.fit(data)
    groups = {"groups": np.arange(60) % 12} if resample == "cluster" else {}
    whole = fit.resample(300, resample=resample, **groups).bootstrap
    monkeypatch.setattr(bootstrap, "TABLE_ELEMENTS", 60 * 7)  # seven replicates at a time
    pieces = fit.resample(300, resample=resample, **groups).bootstrap
    for name in law.parameters:
        np.testing.assert_allclose(pieces[name], whole[name], rtol=1e-9)
    assert pieces.attrs == whole.attrs
    fewer = fit.resample(20, resample=resample, **groups).bootstrap
    for name in law.parameters:
        np.testing.assert_array_equal(fewer[name], pieces[name][:20])


@pytest.mark.slow
def test_a_bootstrap_of_many_rows_holds_the_memory():
    n = 300_000  # the counts of one block of 256 alone would take 614 MB
    rng = np.random.default_rng(0)
    x = np.exp(rng.uniform(0, 5, n))
    law = forecast.Law("a + b*x", variables=["x"])
    fit = law.fit({"x": x, "y": 1 + 2 * x + rng.standard_normal(n)})
    tracemalloc.start()
    fit.resample(12)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 500e6
    with (
        forecast.resource_limits(memory="100MB"),
        pytest.raises(FitError, match=r"bootstrap: 300,000 points take .* sets$"),
    ):
        fit.resample(12)


@pytest.mark.slow
def test_a_bootstrap_that_runs_out_of_seconds_says_how_far_it_got():
    x = np.geomspace(1, 1000, 60)
    law = forecast.law("scaling/saturating-power")
    fit = law.fit({"x": x, law.output: (1 + 3 * x**-0.4) * np.exp(0.02 * np.random.default_rng(0).standard_normal(60))})
    with forecast.resource_limits(seconds=0.5), pytest.raises(BudgetError) as caught:
        fit.resample(1_000_000)
    said = r"scaling/saturating-power: bootstrap, [\d,]+ of 1,000,000 replicates done: .* 0\.5 s is the limit, which "
    assert re.match(said, str(caught.value))
