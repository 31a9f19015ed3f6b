from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecast.base.distributions import FAMILIES, distribution
from forecast.errors import ScenarioError, UnknownNameError

finite = st.floats(-1e12, 1e12)
positive = st.floats(1e-30, 1e30)


def increasing(values, gap=1e-9):
    """Keep values that are told apart by more than rounding."""
    return all(b > a + gap * max(abs(a), abs(b), 1e-300) for a, b in itertools.pairwise(values))


@given(st.lists(st.integers(1, 99), min_size=2, max_size=5, unique=True), st.data())
def test_quantiles_are_matched_exactly(percents, data):
    family = data.draw(st.sampled_from(["normal", "lognormal"]))
    values = sorted(data.draw(st.lists(positive if family == "lognormal" else finite,
                                       min_size=len(percents), max_size=len(percents), unique=True)))  # fmt: skip
    if not increasing(values):
        return
    percents = sorted(percents)
    record = {f"p{p:02d}": v for p, v in zip(percents, values, strict=True)}
    found = distribution({**record, "family": family}).ppf(np.array(percents) / 100)
    scale = max(map(abs, values)) if family == "normal" else np.abs(values)
    assert (np.abs(found - values) <= 1e-12 * scale).all()


RECORDS = {
    "fixed": {"value": 3},
    "lognormal": {"p05": 1, "p95": 100},
    "normal": {"p05": -1, "p50": 4, "p95": 5},
    "uniform": {"low": -1, "high": 4},
    "loguniform": {"low": 1e-3, "high": 1e9, "family": "loguniform"},
    "triangular": {"low": 0, "mode": 0, "high": 4},
}


def test_every_family_is_tried():
    assert set(RECORDS) == {"fixed", *FAMILIES}


@pytest.mark.bad_input(55)
@pytest.mark.parametrize("family", RECORDS)
def test_bad_input_055_quantiles_never_cross(family):
    made = distribution(RECORDS[family])
    assert made.family == family
    u = np.concatenate([[2.0**-54, 1e-10], np.linspace(0.0001, 0.9999, 5001), [1 - 2.0**-53]])
    values = made.ppf(u)
    assert np.isfinite(values).all()
    assert (np.diff(values) >= 0).all()


@given(st.floats(1e-300, 1e300), st.floats(1e-300, 1e300))
def test_the_widest_quantiles_give_finite_values(a, b):
    low, high = sorted((a, b))
    if not increasing([low, high]):
        return
    u = np.array([2.0**-54, 0.05, 0.5, 0.95, 1 - 2.0**-53])
    for record in ({"p05": low, "p95": high}, {"p05": -high, "p95": high}, {"low": -high, "high": high},
                   {"low": low, "high": high, "family": "loguniform"}):  # fmt: skip
        values = distribution(record).ppf(u)
        assert np.isfinite(values).all()
        assert (np.diff(values) >= 0).all()


def test_closed_forms():
    u = np.array([0.1, 0.25, 0.5, 0.9])
    assert distribution({"low": 1, "high": 3}).ppf(u).tolist() == pytest.approx([1.2, 1.5, 2.0, 2.8])
    assert distribution({"low": 1, "high": 100, "family": "loguniform"}).ppf(u) == pytest.approx(10 ** (2 * u))
    triangular = distribution({"low": 0, "mode": 1, "high": 2}).ppf(u)
    assert triangular == pytest.approx(np.where(u < 0.5, np.sqrt(2 * u), 2 - np.sqrt(2 * (1 - u))))
    from scipy.stats import norm

    z = norm.ppf(u) / norm.ppf(0.95)
    assert distribution({"p05": -2, "p95": 2}).ppf(u) == pytest.approx(2 * z)
    assert distribution({"p05": 1, "p95": 1e4}).ppf(u) == pytest.approx(10 ** (2 + 2 * z))


def test_two_pieces_meet_at_the_median():
    made = distribution({"p05": 1.0, "p50": 10.0, "p95": 1e4})
    below, at, above = made.ppf(np.array([0.5 - 1e-9, 0.5, 0.5 + 1e-9]))
    assert at == pytest.approx(10.0, rel=1e-12)
    assert below == pytest.approx(at, rel=1e-6)
    assert above == pytest.approx(at, rel=1e-6)


def test_positive_quantiles_are_lognormal_and_others_normal():
    assert distribution({"p05": 1, "p95": 2}).family == "lognormal"
    assert distribution({"p05": 0, "p95": 2}).family == "normal"
    assert distribution({"p05": 1, "p95": 2, "family": "normal"}).family == "normal"


def test_it_says_what_it_is():
    assert str(distribution({"value": 1e16})) == "1e+16"
    assert str(distribution({"p05": 1, "p95": 2})) == "lognormal, p05 = 1, p95 = 2"
    assert str(distribution({"low": 1, "high": 2})) == "uniform, 1 to 2"


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({}, "expected value, or quantiles"),
        ({"value": 1, "low": 2}, "expected value, or quantiles"),
        ({"value": True}, "expected a finite number, got 'True'"),
        ({"value": "3"}, "expected a finite number, got '3'"),
        ({"value": None}, "expected a finite number"),
        ({"value": math.nan}, "expected a finite number"),
        ({"value": math.inf}, "expected a finite number"),
        ({"value": 10**400}, "expected a finite number"),
        ({"value": 1e301}, "at most 1e\\+300"),
        ({"p05": 1}, "one quantile makes no distribution"),
        ({"p05": 2, "p95": 1}, "quantiles must increase"),
        ({"p05": 1, "p95": 1}, "quantiles must increase"),
        ({"p05": 1, "p50": 3, "p95": 2}, "quantiles must increase"),
        ({"p00": 1, "p95": 2}, "p00"),
        ({"p05": -1, "p95": 1, "family": "lognormal"}, "needs positive quantiles"),
        ({"p05": 1, "p95": 2, "family": "uniform"}, "not uniform"),
        ({"low": 2, "high": 1}, "expected low < high"),
        ({"low": 1, "high": 1}, "expected low < high"),
        ({"low": 1, "mode": 5, "high": 2}, "with the mode between"),
        ({"low": 1, "mode": 1, "high": 2, "family": "uniform"}, "triangular"),
        ({"low": 0, "high": 1, "family": "loguniform"}, "needs low > 0"),
        ({"low": 0, "high": 1, "family": "normal"}, "not normal"),
        ({"low": 0}, "expected value, or quantiles"),
    ],
)
def test_what_makes_no_distribution_is_refused(record, says):
    with pytest.raises(ScenarioError, match=says) as caught:
        distribution(record, where="mine.toml: quantities.x")
    assert str(caught.value).startswith("mine.toml: quantities.x")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"valeu": 1}, "unknown key 'valeu'; did you mean 'value'"),
        ({"p5": 1, "p95": 2}, "unknown key 'p5'; did you mean 'p\\d5'"),
        ({"p05": 1, "p95": 2, "p100": 3}, "unknown key 'p100'"),
        ({"value": 1, "family": "lognorml"}, "unknown distribution family 'lognorml'; did you mean 'lognormal'"),
        ({"value": 1, "family": 3}, "unknown distribution family '3'"),
    ],
)
def test_a_misspelt_key_names_the_nearest(record, says):
    with pytest.raises(UnknownNameError, match=says):
        distribution(record)
