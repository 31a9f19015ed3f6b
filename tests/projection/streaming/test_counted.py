from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from forecast.projection.crossing import date_quantiles, weighted_quantiles
from forecast.projection.streaming.histograms import BIN_RTOL, DATE_BINS, DateHistogram, ValueHistogram, replicate_error

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]
ANY = st.floats(-1e300, 1e300) | st.sampled_from([0.0, np.inf, -np.inf, np.nan, 1e-310, -5e-324])


def close(found, wanted):
    """Whether quantiles lie in the bin of what they should be."""
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    with np.errstate(invalid="ignore"):
        return same | (np.abs(found - wanted) <= 1.001 * BIN_RTOL * np.maximum(np.abs(wanted), np.abs(found)) + 1e-307)


@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0, 200.0])
def test_quantiles_lie_in_their_bins(spread):
    values = np.exp(spread * np.random.default_rng(0).standard_normal((3, 50_000)))
    counts = ValueHistogram(3)
    for part in np.array_split(values, 7, axis=1):
        counts.add(part)
    exact = np.quantile(values, LEVELS, axis=1)
    assert close(counts.quantiles(LEVELS), exact).all()
    if spread == 1:
        assert np.abs(counts.quantiles(LEVELS) / exact - 1).max() < BIN_RTOL / 4


@given(st.lists(st.lists(ANY, min_size=1, max_size=30), min_size=1, max_size=4))
@settings(deadline=None)
def test_any_numbers_have_the_quantiles_of_their_order(parts):
    counts = ValueHistogram(1)
    for part in parts:
        counts.add(np.array(part)[None])
    every = np.array([v for part in parts for v in part])
    every = np.sort(every[~np.isnan(every)])
    found = counts.quantiles([0.0, 1.0])[:, 0]
    if not every.size:
        assert np.isnan(found).all()
        return
    assert close(found, every[[0, -1]]).all()


@pytest.mark.slow
@given(st.lists(st.lists(ANY, min_size=1, max_size=20), min_size=2, max_size=5), st.randoms())
@settings(deadline=None)
def test_batches_add_up_in_any_order(parts, order):
    def counted(some):
        counts = ValueHistogram(1)
        for part in some:
            counts.add(np.array(part)[None])
        return counts

    whole, shuffled, merged = counted(parts), list(parts), counted([])
    order.shuffle(shuffled)
    for part in shuffled:
        merged.merge(counted([part]))
    assert np.array_equal(whole.quantiles(LEVELS), merged.quantiles(LEVELS), equal_nan=True)
    again = ValueHistogram(1)
    again.restore(merged.arrays())
    assert np.array_equal(whole.quantiles(LEVELS), again.quantiles(LEVELS), equal_nan=True)


def test_weights_count_as_copies_do():
    rng = np.random.default_rng(1)
    values, weights = rng.lognormal(size=400), rng.integers(0, 4, 400)
    weighted, copied = ValueHistogram(1, weighted=True), ValueHistogram(1, weighted=True)
    weighted.add(values[None], weights.astype(float))
    copied.add(np.repeat(values, weights)[None], np.ones(weights.sum()))
    assert weighted.quantiles(LEVELS) == pytest.approx(copied.quantiles(LEVELS), rel=1e-12)
    assert close(weighted.quantiles(LEVELS)[:, 0], weighted_quantiles(values, weights.astype(float), LEVELS)).all()


def test_a_world_that_fails_counts_for_nothing_and_labels_have_shares():
    counts = ValueHistogram(1)
    counts.add(np.array([[0.0, 1.0, 1.0, 2.0, np.nan]]))
    assert counts.shares([0, 1, 2, 3]).tolist() == [0.25, 0.5, 0.25, 0.0]
    counts.clear()
    assert np.isnan(counts.quantiles(LEVELS)).all()


dates = st.lists(st.floats(2025, 2085) | st.just(np.inf) | st.just(np.nan) | st.just(2025.0), min_size=1, max_size=60)


@given(dates)
@settings(deadline=None)
def test_dates_have_the_quantiles_of_all_worlds_to_the_width_of_a_bin(drawn):
    counts = DateHistogram(2025.0, 2085.0, by=[2030.0])
    counts.add(np.array(drawn))
    exact = date_quantiles(np.array(drawn))
    found = counts.quantiles(LEVELS)
    assert (np.isposinf(found) == np.isposinf(exact)).all()
    assert (np.isnan(found) == np.isnan(exact)).all()
    known = np.isfinite(exact)
    assert found[known] == pytest.approx(exact[known], abs=1.001 * 60 / DATE_BINS)
    alive = [d for d in drawn if not np.isnan(d)]
    if alive:
        assert counts.never == pytest.approx(np.mean(np.isposinf(alive)))
        assert counts.already == pytest.approx(np.mean(np.array(alive) <= 2025))
        assert counts.reached == [pytest.approx(np.mean(np.array(alive) <= 2030))]


def test_the_error_of_a_date_is_what_repeated_runs_differ_by():
    rng, medians, errors = np.random.default_rng(0), [], []
    for _ in range(300):
        counts = DateHistogram(2025.0, 2085.0)
        counts.add(2040 + 5 * rng.standard_normal(800))
        medians.append(counts.quantiles([0.5])[0])
        errors.append(counts.error([0.5])[0])
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(medians), rel=0.2)


def test_an_error_is_unknown_where_a_replicate_is_never():
    assert np.isnan(replicate_error(np.array([[2030.0], [np.inf]]))).all()
