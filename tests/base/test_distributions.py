from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from forecast.base.distributions import FAMILIES, distribution, numbers_in, scale_record
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
    assert str(distribution({"normal": [1, 2]})) == "normal, p05 = 1, p95 = 2"
    assert str(distribution({"normal": [1, 2], "width": 0.95})) == "normal, p02.5 = 1, p97.5 = 2"
    assert str(distribution({"uniform": [1, 2], "width": 0.8})) == "uniform, p10 = 1, p90 = 2"
    cut = {"normal": [1, 2], "truncate": [0, math.inf]}
    assert str(distribution(cut)) == "normal, p05 = 1, p95 = 2, truncated to 0 to inf"


# --- intervals, their width, and what is cut -------------------------------------------------------------------------

U = np.concatenate([[1e-9, 1e-4], np.linspace(0.01, 0.99, 99), [1 - 1e-4, 1 - 1e-9]])


def reference(family, low, high, width):
    """Return scipy's distribution of which the middle `width` lies in [low, high]."""
    from scipy import stats

    a, b = (math.log(low), math.log(high)) if family.startswith("log") else (low, high)
    if family.endswith("normal"):
        scale = (b - a) / 2 / stats.norm.isf((1 - width) / 2)
        made = stats.norm((a + b) / 2, scale)
        return made if family == "normal" else stats.lognorm(scale, scale=math.exp((a + b) / 2))
    half = (b - a) / width / 2
    ends = (a + b) / 2 - half, (a + b) / 2 + half
    if family == "uniform":
        return stats.uniform(ends[0], ends[1] - ends[0])
    return stats.loguniform(math.exp(ends[0]), math.exp(ends[1]))


@pytest.mark.parametrize("width", [None, 0.5, 0.8, 0.9, 0.99])
@pytest.mark.parametrize("family", ["normal", "lognormal", "uniform", "loguniform"])
def test_an_interval_is_scipys(family, width):
    record = {family: [1.5, 20.0]} | ({} if width is None else {"width": width})
    default = 0.9 if family.endswith("normal") else 1.0
    expected = reference(family, 1.5, 20.0, width or default)
    np.testing.assert_allclose(distribution(record).ppf(U), expected.ppf(U), rtol=1e-11)


@pytest.mark.parametrize("cut", [(0.0, math.inf), (-math.inf, 3.0), (2.0, 5.0), (21.0, math.inf), (-5.0, 1.6)])
@pytest.mark.parametrize("family", ["normal", "lognormal", "uniform", "loguniform"])
def test_a_truncated_interval_is_scipys(family, cut):
    whole = reference(family, 1.5, 20.0, 0.8)
    low, high = cut
    made = distribution({family: [1.5, 20.0], "width": 0.8, "truncate": list(cut)})
    lower = whole.cdf(low) + U * (whole.cdf(high) - whole.cdf(low))
    upper = whole.sf(high) + (1 - U) * (whole.sf(low) - whole.sf(high))
    expected = np.where(lower < 0.5, whole.ppf(lower), whole.isf(upper))  # in scipy too each tail is exact as itself
    assert made.mass() == pytest.approx(whole.cdf(high) - whole.cdf(low), rel=1e-9)
    # a cut at 0 leaves the lowest values as differences of larger ones
    np.testing.assert_allclose(made.ppf(U), expected, rtol=1e-9, atol=1e-12 if low == 0 else 0)


def test_a_far_tail_is_scipys_truncnorm():
    from scipy.stats import norm, truncnorm

    scale = 1 / norm.isf(0.05)
    for low, high in ((12.0, math.inf), (-math.inf, -12.0), (8.0, 8.5), (0.2, 0.3)):
        made = distribution({"normal": [-1, 1], "truncate": [low, high]})
        expected = truncnorm(low / scale, high / scale, scale=scale).ppf(U)
        np.testing.assert_allclose(made.ppf(U), expected, rtol=1e-8)


@pytest.mark.parametrize("cut", [None, (0.0, 1.5), (1.5, 9.0), (2.5, 3.5), (-1.0, 2.0), (2.0, 9.0)])
def test_a_triangular_is_scipys(cut):
    from scipy.stats import triang

    whole = triang(0.25, loc=1, scale=4)
    below, above = (0.0, 0.0) if cut is None else (whole.cdf(cut[0]), whole.sf(cut[1]))
    made = distribution({"triangular": [1, 2, 5]} | ({} if cut is None else {"truncate": cut}))
    np.testing.assert_allclose(made.ppf(U), whole.ppf(below + U * (1 - above - below)), rtol=1e-8)


def test_one_distribution_has_several_spellings():
    spelt = [{"p05": 1, "p50": 2, "p95": 9}, {"quantiles": {"0.05": 1, "0.5": 2, ".95": 9}},
             {"quantiles": {0.05: 1, 0.5: 2, 0.95: 9}}, {"quantiles": {"0": {"05": 1, "5": 2, "95": 9}}}]  # fmt: skip
    assert len({distribution(record) for record in spelt}) == 1
    assert distribution({"lognormal": [1, 4]}) == distribution({"p05": 1, "p95": 4})
    assert distribution({"uniform": [1, 4]}) == distribution({"low": 1, "high": 4})
    assert distribution({"triangular": [1, 2, 4]}) == distribution({"low": 1, "mode": 2, "high": 4})
    assert distribution({"quantiles": {"0.05": 1, "0.95": 4}, "family": "normal"}).family == "normal"


@given(st.sampled_from(FAMILIES), st.data())
def test_quantiles_never_cross_whatever_is_cut(family, data):
    tens = st.floats(0.01, 1e4)
    ends = sorted(data.draw(st.lists(tens, min_size=3, max_size=3, unique=True)))
    if not increasing(ends, 1e-3):
        return
    record = {family: ends if family == "triangular" else [ends[0], ends[2]]}
    if family != "triangular":
        record["width"] = data.draw(st.floats(0.05, 0.99))
    cut = sorted(data.draw(st.lists(tens | st.just(math.inf), min_size=2, max_size=2, unique=True)))
    if not increasing(cut):
        return
    try:
        made = distribution({**record, "truncate": cut})
    except ScenarioError:
        made = distribution(record)
        inside = made.ppf(np.array([1e-15, 1 - 1e-15]))
        assert inside[0] >= cut[1] or inside[1] <= cut[0]
        return
    u = np.concatenate([[2.0**-54, 1e-10], np.linspace(0.001, 0.999, 501), [1 - 2.0**-53]])
    values = made.ppf(u)
    assert np.isfinite(values).all()
    assert (np.diff(values) >= 0).all()
    assert values.min() >= cut[0]
    assert values.max() <= cut[1]


def test_a_record_in_another_unit_is_the_same_distribution():
    for record in (
        {"lognormal": [1, 4], "width": 0.8, "truncate": [0.5, math.inf]},
        {"quantiles": {"0": {"05": 1, "95": 4}}},
        {"triangular": [1, 2, 4]},
        {"p05": 1, "p95": 4, "family": "normal"},
    ):
        np.testing.assert_allclose(
            distribution(scale_record(record, 8.0)).ppf(U), 8 * distribution(record).ppf(U), rtol=1e-13
        )
    assert list(numbers_in({"quantiles": {"0": {"05": 1, "95": 4}}})) == [1, 4]
    assert min(numbers_in({"normal": [-3, 4], "truncate": [-1, math.inf]})) == -1


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
        ({"normal": 3}, r"normal: expected \[low, high\], got '3'"),
        ({"normal": [1]}, r"normal: expected \[low, high\]"),
        ({"normal": [1, "a"]}, "normal: expected a finite number, got 'a'"),
        ({"normal": [1, math.inf]}, "normal: expected a finite number"),
        ({"normal": [2, 1]}, "normal: expected low < high"),
        ({"lognormal": [0, 1]}, "a lognormal distribution needs low > 0"),
        ({"loguniform": [-1, 1]}, "a loguniform distribution needs low > 0"),
        ({"triangular": [1, 2]}, r"triangular: expected \[low, mode, high\]"),
        ({"triangular": [1, 5, 2]}, "with the mode between"),
        ({"normal": [1, 2], "family": "normal"}, "family: 'normal' is one already"),
        ({"normal": [1, 2], "uniform": [1, 2]}, "expected value, or quantiles"),
        ({"normal": [1, 2], "width": 1}, "width: expected the probability within the interval, from 0.01 to below 1"),
        ({"normal": [1, 2], "width": 80}, "width: expected the probability within the interval"),
        ({"uniform": [1, 2], "width": 0}, "width: expected the probability within the interval, from 0.01 to 1"),
        ({"uniform": [1, 2], "width": "wide"}, "width: expected a finite number, got 'wide'"),
        ({"p05": 1, "p95": 2, "width": 0.8}, "width: goes with an interval alone"),
        ({"triangular": [1, 2, 3], "width": 0.8}, "width: goes with an interval alone"),
        ({"quantiles": [1, 2]}, "quantiles: expected probabilities to values"),
        ({"quantiles": {"5": 1, "95": 2}}, "quantiles: expected a probability between 0 and 1, got '5'"),
        ({"quantiles": {"0.0": 1, "0.95": 2}}, "expected a probability between 0 and 1, got '0.0'"),
        ({"quantiles": {"0.5": 1, "0.50": 2}}, "the probability 0.5 stands there twice"),
        ({"quantiles": {"0.5": 1}}, "one quantile makes no distribution"),
        ({"quantiles": {"0.05": 2, "0.95": 1}}, "quantiles must increase"),
        ({"value": 1, "truncate": [0, 2]}, "truncate: a fixed number has nothing to cut"),
        ({"normal": [1, 2], "truncate": 3}, r"truncate: expected \[low, high\], inf allowed, got '3'"),
        ({"normal": [1, 2], "truncate": [0, math.nan]}, r"truncate: expected \[low, high\]"),
        ({"normal": [1, 2], "truncate": [2, 1]}, "truncate: expected low < high"),
        ({"uniform": [1, 2], "truncate": [3, 4]}, "truncate: nothing is left: the probability from 3 to 4 is 0"),
        ({"lognormal": [1, 2], "truncate": [-3, 0]}, "truncate: nothing is left"),
        ({"triangular": [1, 2, 3], "truncate": [3, 4]}, "truncate: nothing is left"),
        ({"normal": [1, 2], "truncate": [1e6, math.inf]}, "truncate: nothing is left"),
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
        ({"lognorml": [1, 2]}, "unknown key 'lognorml'; did you mean 'lognormal'"),
        ({"normal": [1, 2], "widht": 0.8}, "unknown key 'widht'; did you mean 'width'"),
        ({"normal": [1, 2], "truncated": [0, 1]}, "unknown key 'truncated'; did you mean 'truncate'"),
    ],
)
def test_a_misspelt_key_names_the_nearest(record, says):
    with pytest.raises(UnknownNameError, match=says):
        distribution(record)
