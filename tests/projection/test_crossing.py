from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

from forecast.base.quantiles import QUANTILES
from forecast.projection.answers.crossing_dates import DateDraws
from forecast.projection.crossing import date_quantiles, find_crossing

T = np.array([2020.0, 2021.0, 2022.0, 2025.0])


def one(greater, lesser, time=T, **options):
    """Ask about one draw."""
    found = find_crossing(
        time, np.array(greater, dtype=float)[:, None], np.array(lesser, dtype=float)[:, None], **options
    )
    return float(found[0]), bool(found[0] <= time[0]), bool(np.isposinf(found[0]))


def test_an_exponential_crosses_where_its_closed_form_does():
    level = 10.0 ** (0.7 * (T - 2020))
    for threshold in (1.5, 10.0, 99.0, 2000.0):
        date, already, never = one(level, np.full(4, threshold))
        assert date == pytest.approx(2020 + np.log10(threshold) / 0.7, abs=1e-9)
        assert not already
        assert not never


def test_two_exponentials_cross_where_their_closed_forms_do():
    date, _, _ = one(3 * np.exp(0.9 * (T - 2020)), 40 * np.exp(0.2 * (T - 2020)))
    assert date == pytest.approx(2020 + np.log(40 / 3) / 0.7, abs=1e-9)


def test_what_is_not_positive_is_interpolated_as_it_is():
    assert one([-3, -1, 3, 3], [0, 0, 0, 0])[0] == pytest.approx(2021.25)
    # one value that is not positive puts the whole draw there: no kink between two ways
    assert one([0, 1, 3, 100], [2, 2, 2, 2])[0] == pytest.approx(2021.5)


def test_time_runs_in_uneven_steps():
    assert one([1, 1, 1, 16], [4, 4, 4, 4])[0] == pytest.approx(2023.5)


def test_bad_input_054_already_is_the_first_step():
    assert one([5, 6, 7, 8], [1, 1, 1, 1]) == (2020.0, True, False)
    assert one([5, 0.1, 7, 8], [1, 1, 1, 1]) == (2020.0, True, False)  # and it stays the first, whatever follows


def test_bad_input_054_a_declining_trend_is_never_not_a_negative_year():
    assert one(10.0 ** -(T - 2020), [2, 2, 2, 2]) == (np.inf, False, True)


def test_the_first_upcrossing_counts():
    assert one([0.1, 10, 0.1, 10], [1, 1, 1, 1])[0] == pytest.approx(2020.5)


def test_strict_and_not_strict_differ_at_equality_alone():
    flat = [1, 1, 1, 1]
    assert one(flat, flat) == (2020.0, True, False)
    assert one(flat, flat, strict=True) == (np.inf, False, True)
    assert one([1, 1, 10, 10], flat, strict=True) == (2021.0, False, False)  # above it from then on
    for options in ({}, {"strict": True}):
        assert one([0.1, 10, 10, 10], flat, **options)[0] == pytest.approx(2020.5)


def test_a_value_that_is_not_a_number_gives_no_answer():
    date, already, never = one([1, np.nan, 3, 4], [2, 2, 2, 2])
    assert np.isnan(date)
    assert not never
    assert not already


def test_an_infinite_step_is_crossed_by_its_end():
    assert one([1, 1, np.inf, np.inf], [2, 2, 2, 2])[0] == 2022.0


@given(st.lists(st.floats(-30, 30), min_size=4, max_size=4), st.floats(-30, 30))
def test_the_level_at_the_date_is_the_threshold(logs, threshold):
    date, already, never = one(np.exp(logs), np.full(4, np.exp(threshold)))
    if never:
        assert max(logs) < threshold + 1e-9
    elif already:
        assert logs[0] >= threshold - 1e-9
    else:
        assert T[0] <= date <= T[-1]
        assert np.interp(date, T, logs) == pytest.approx(threshold, abs=1e-5)


@given(st.lists(st.floats(2020, 2100) | st.just(np.inf), min_size=1, max_size=60))
def test_quantiles_are_dates_of_draws_monotone_and_infinite_exactly_inside_the_never_mass(dates):
    found = date_quantiles(np.array(dates))
    assert set(found) <= set(dates)
    assert all(a <= b for a, b in itertools.pairwise(found))
    never, n = sum(map(np.isinf, dates)), len(dates)
    for percent, value in zip((5, 25, 50, 75, 95), found, strict=True):
        assert np.isinf(value) == (100 * never > (100 - percent) * n)
        # the smallest date by which that share has crossed
        assert 100 * sum(d <= value for d in dates) >= percent * n
        assert 100 * sum(d < value for d in dates) < percent * n


@pytest.mark.parametrize("n", [1, 2, 19, 20, 21, 100, 1000, 2000, 2001])
def test_the_edge_of_the_never_mass_is_exact(n):
    for never in {0, n // 20, n // 20 + 1, n // 2, n // 2 + 1, n}:
        if never <= n:
            found = date_quantiles(np.concatenate([np.arange(n - never), np.full(never, np.inf)]))
            assert [bool(b) for b in np.isinf(found)] == [100 * never > (100 - p) * n for p in (5, 25, 50, 75, 95)]


def test_without_an_answer_there_is_no_quantile():
    assert np.isnan(date_quantiles(np.array([np.nan, np.nan]))).all()
    assert len(QUANTILES) == 5


def test_quantiles_of_dates_are_those_that_are_asked_for():
    years = np.array([2030.0, 2031.0, 2032.0, np.inf, np.nan])
    assert date_quantiles(years, [0.5, 0.9]).tolist() == [2031.0, np.inf]
    assert DateDraws(years, 2030.0).quantiles([0.75]).tolist() == [2032.0]
    assert date_quantiles(years).tolist() == DateDraws(years, 2030.0).quantiles(QUANTILES).tolist()
