"""A law has no value where what it requires does not hold; a fit that is asked for one refuses."""

from __future__ import annotations

import numpy as np
import pytest

import forecast
from forecast.errors import UsageError

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
