"""A law has no value where what it requires does not hold; a fit that is asked for one refuses."""

import copy
import pickle

import numpy as np
import pytest

import forecast
from forecast.errors import FormulaError, UnknownNameError, UsageError

BITS = np.array([2.0, 3.0, 4.0, 8.0, 16.0])


def test_the_value_is_nan_where_a_requirement_does_not_hold():
    fit = forecast.law("emergence/effective-parameters").published("kumar2024-keys-and-values")
    kept = 1 - np.exp(-BITS / fit.values["gamma"] + fit.values["offset"])
    found = fit.law.value(fit.values, N=1e9, P=BITS)
    assert kept[0] < 0 < kept[-1]
    np.testing.assert_array_equal(np.isnan(found), kept <= 0)
    np.testing.assert_allclose(found[kept > 0], 1e9 * kept[kept > 0])


def test_two_factors_below_zero_make_no_positive_number_of_parameters():
    """The product of two negative shares is positive: the formula alone would give a loss."""
    fit = forecast.law("scaling/precision").published("kumar2024")
    points = {"N": 1e9, "D": 1e11, "P_w": 8.0, "P_a": 1.0, "P_kv": 1.0}
    assert np.isfinite(fit.law.formula.evaluate({**fit.values, **points}))
    value = fit.law.value(fit.values, **points)
    assert value.shape == ()
    assert np.isnan(value)
    assert np.isfinite(fit.law.value(fit.values, **{**points, "P_a": 8.0, "P_kv": 8.0}))


@pytest.mark.parametrize("shape", [(), (1,), (2, 3)])
def test_value_and_predict_agree_on_where_there_is_none(shape):
    fit = forecast.law("emergence/effective-parameters").published("kumar2024-keys-and-values")
    for bits in (1.0, 12.0):
        points = {"N": np.full(shape, 1e9), "P": bits}
        value = fit.law.value(fit.values, **points)
        assert value.shape == shape
        if bits > 2:
            np.testing.assert_array_equal(fit.predict(**points)["median"].values.ravel(), value.ravel())
        else:
            assert np.isnan(value).all()
            with pytest.raises(UsageError, match="N_eff <= 0"):
                fit.predict(**points)


def test_a_law_that_requires_nothing_keeps_its_negative_values():
    law = forecast.Law("a - x", variables=["x"])
    assert law.value({"a": 1.0}, x=[0.0, 3.0]).tolist() == [1.0, -2.0]


MADE = {
    "as it is": (lambda law: law, {}),
    "fixed": (lambda law: law.with_(b=2.0), {"b": None}),
    "tied": (lambda law: law.with_(tie=("b", "c")), {"c": None}),
    "all fixed": (lambda law: law.with_(b=2.0, c=2.0), {"b": None, "c": None}),
    "prefixed": (lambda law: law.prefixed("left_"), {"a": "left_a", "b": "left_b", "c": "left_c"}),
    "number": (lambda law: 1 * law + 0, {}),
    "copied": (copy.deepcopy, {}),
    "sent": (lambda law: pickle.loads(pickle.dumps(law)), {}),
    "written": (lambda law: forecast.Law(**law.record()), {}),
}  # fmt: skip


@pytest.mark.parametrize("how", MADE)
def test_laws_made_of_a_law_have_no_value_where_it_has_none(how):
    make, renamed = MADE[how]
    law = make(
        forecast.Law("a*(b - x)*(c - x)", variables=["x"], requires={"b - x": "the first", "c - x": "the second"})
    )
    values = {renamed.get(n, n): v for n, v in {"a": 3.0, "b": 2.0, "c": 2.0}.items()}
    found = law.value({n: v for n, v in values.items() if n is not None}, x=[1.0, 2.0, 3.0])
    np.testing.assert_array_equal(found, [3.0, np.nan, np.nan])


def test_a_sum_requires_what_its_parts_do():
    left = forecast.Law("a*(b - x)**2", variables=["x"], requires={"b - x": "the first"}).prefixed("l_")
    right = forecast.Law("c*(x - d)**2", variables=["x"], requires={"x - d": "the second"})
    both = left + right
    assert dict(both.requires) == {"l_b - x": "the first", "x - d": "the second"}
    found = both.value({"l_a": 1.0, "l_b": 3.0, "c": 1.0, "d": 1.0}, x=[0.0, 2.0, 4.0])
    np.testing.assert_array_equal(found, [np.nan, 2.0, np.nan])


def test_each_group_requires_it_by_itself():
    law = forecast.Law("a*(b - x)", variables=["x"], requires={"b - x": "what is left"})
    grouped = law.grouped("who", ["one", "two"], varying=["b"])
    found = grouped.value({"a": 1.0, "b_one": 1.0, "b_two": 3.0}, x=[2.0, 2.0], who=["one", "two"])
    np.testing.assert_array_equal(found, [np.nan, 1.0])


def test_a_requirement_is_a_formula_of_the_laws_own_names():
    with pytest.raises(UnknownNameError, match="law: requires: unknown name 'z'"):
        forecast.Law("a*x", variables=["x"], requires={"z - x": "it"})
    with pytest.raises(FormulaError, match="law: requires: "):
        forecast.Law("a*x", variables=["x"], requires={"x -": "it"})


def test_a_saved_fit_keeps_what_its_law_requires(tmp_path):
    law = forecast.Law("a*(b - x)", variables=["x"], requires={"b - x": "what is left"})
    law.fit({"x": [0.0, 1.0, 2.0, 3.0], "y": [4.0, 3.1, 2.0, 1.0]}).save(tmp_path / "fit.nc")
    found = forecast.load(tmp_path / "fit.nc").law
    assert dict(found.requires) == {"b - x": "what is left"}
