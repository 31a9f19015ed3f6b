"""Quantising: rounding that is as good as its step, exact products of integers, outlier columns kept apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from forecast.errors import UnknownNameError, UsageError
from forecast_emergence.quantisation.hidden import hidden_states, weights
from forecast_emergence.quantisation.primitives import Quantised, absmax, decompose, levels, zeropoint
from forecast_emergence.quantisation.products import METHODS, multiply, product

MATRICES = arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    elements=st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda v: 0.0 if abs(v) < 1e-6 else v),
)
BITS = st.integers(2, 16)
AXES = st.sampled_from([None, 0, 1])


def steps(x: np.ndarray, bits: int, axis: int | None, *, shifted: bool) -> np.ndarray:
    """The distance of neighbouring codes, from its definition."""
    if shifted:
        span = x.max(axis=axis, keepdims=True) - x.min(axis=axis, keepdims=True)
        return np.where(span > 0, span / (2 * levels(bits)), np.abs(x).max(axis=axis, keepdims=True))
    return np.abs(x).max(axis=axis, keepdims=True) / levels(bits)


@settings(max_examples=60, deadline=None)
@given(x=MATRICES, bits=BITS, axis=AXES)
def test_absmax_is_within_half_a_step(x, bits, axis):
    left = absmax(x, bits=bits, axis=axis).dequantised()
    assert (abs(left - x) <= 0.5 * steps(x, bits, axis, shifted=False) * (1 + 1e-9)).all()


@settings(max_examples=60, deadline=None)
@given(x=MATRICES, bits=BITS, axis=AXES)
def test_zeropoint_is_within_a_step(x, bits, axis):
    # half a step for the rounding, and half for a zero that must be a whole code; of numbers all alike that of a float
    left = zeropoint(x, bits=bits, axis=axis).dequantised()
    assert (abs(left - x) <= steps(x, bits, axis, shifted=True) * (1 + 1e-6) + 1e-12 + 1e-15 * abs(x).max()).all()


@settings(max_examples=40, deadline=None)
@given(x=MATRICES, bits=BITS, axis=AXES)
def test_absmax_again_changes_nothing_and_a_sign_or_a_power_of_two_goes_through(x, bits, axis):
    once = absmax(x, bits=bits, axis=axis)
    np.testing.assert_array_equal(absmax(once.dequantised(), bits=bits, axis=axis).codes, once.codes)
    np.testing.assert_array_equal(absmax(-x, bits=bits, axis=axis).codes, -once.codes)
    np.testing.assert_array_equal(absmax(x * 1024, bits=bits, axis=axis).dequantised(), once.dequantised() * 1024)


def test_the_input_is_left_alone():
    x = hidden_states(tokens=16, width=64)
    before = x.copy()
    for quantise in (absmax, zeropoint, decompose):
        quantise(x)
    product(x, weights(64, 8))
    np.testing.assert_array_equal(x, before)


def test_what_is_stored_is_small():
    assert absmax([1.0, 2.0]).codes.dtype == np.int8
    assert absmax([1.0, 2.0], bits=9).codes.dtype == np.int16
    assert abs(zeropoint(np.linspace(-3, 5, 100), bits=16).codes.astype(int)).max() == levels(16)


@pytest.mark.parametrize("x", [np.zeros((2, 3)), np.full((2, 3), 7.0), np.full((2, 3), -7.0), np.full((1, 1), 1e-300)])
@pytest.mark.parametrize("quantise", [absmax, zeropoint])
def test_constant_rows_come_back(x, quantise):
    np.testing.assert_allclose(quantise(x, axis=1).dequantised(), x, rtol=1e-12)


def test_zeropoint_halves_the_error_of_one_sided_numbers():
    x = np.random.default_rng(0).uniform(0, 1, 10_000)
    error = [np.sqrt(np.mean((q(x).dequantised() - x) ** 2)) for q in (absmax, zeropoint)]
    assert error[0] / error[1] == pytest.approx(2, rel=0.05)


def test_far_from_zero_no_digits_are_lost():
    x = (1e6 + np.linspace(0, 1, 50)).astype(np.float32)
    assert abs(zeropoint(x).dequantised() - x.astype(float)).max() <= np.ptp(x.astype(float)) / 254


@pytest.mark.parametrize(
    ("kind", "bits", "inner"), [("absmax", 8, 3000), ("absmax", 4, 200), ("zeropoint", 8, 3000), ("absmax", 16, 700)]
)
def test_products_of_integers_are_exact(kind, bits, inner):
    rng = np.random.default_rng(1)
    quantise = {"absmax": absmax, "zeropoint": zeropoint}[kind]
    # the same sign everywhere makes the sums as large as they get
    a = quantise(rng.uniform(0.9, 1, (5, inner)).astype(np.float32), bits=bits)
    b = quantise(rng.uniform(0.9, 1, (inner, 3)).astype(np.float32), bits=bits)
    exact = (a.codes - a.zero).astype(np.int64) @ (b.codes - b.zero).astype(np.int64)

    def bare(q):  # a scale of 1, so that the integers show
        return Quantised(codes=q.codes, zero=q.zero, scale=np.ones_like(q.scale, dtype=float), bits=q.bits)

    np.testing.assert_array_equal(multiply(bare(a), bare(b)), exact.astype(float))


@pytest.mark.parametrize("method", METHODS)
def test_more_bits_come_nearer_to_the_product(method):
    x, w = hidden_states(tokens=32, width=256, seed=3), weights(256, 16, seed=3)
    exact = x.astype(float) @ w.astype(float)
    errors = [np.linalg.norm(product(x, w, method, bits=b) - exact) / np.linalg.norm(exact) for b in (4, 8, 12, 16)]
    assert errors[0] > 4 * errors[1] > 16 * errors[2]  # at 16 bits the 16-bit floats of the outliers set the limit
    assert errors[-1] < 1e-3


def test_decomposition_finds_the_features_and_keeps_them_to_16_bits():
    x = hidden_states(13e9, tokens=64, width=512)
    columns = np.flatnonzero((abs(x) >= 6).any(axis=0))
    split = decompose(x)
    np.testing.assert_array_equal(split.columns, columns)
    np.testing.assert_array_equal(split.kept, x[:, columns].astype(np.float16))
    assert (split.rest.codes[:, columns] == 0).all()
    np.testing.assert_allclose(split.dequantised()[:, columns], x[:, columns], rtol=2**-11)
    assert split.bits_per_value == pytest.approx(8 + 16 / 512 + 7 / 512 * (8 - 16 / 512))


def test_without_outliers_decomposition_is_vector_wise():
    x, w = hidden_states(tokens=32, width=128, outliers=False), weights(128, 8)
    assert len(decompose(x).columns) == 0
    np.testing.assert_array_equal(product(x, w, "absmax-llm-int8"), product(x, w, "absmax-vector-wise"))


def test_a_threshold_below_all_keeps_all_in_16_bits():
    x, w = hidden_states(tokens=8, width=64), weights(64, 4)
    half = x.astype(np.float16).astype(np.float32) @ w.astype(np.float16).astype(np.float32)
    np.testing.assert_allclose(product(x, w, threshold=1e-9), half, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: absmax([1.0], bits=1), r"bits: expected a whole number from 2 to 16, got 1"),
        (lambda: absmax([1.0], bits=-8), r"bits: expected a whole number from 2 to 16, got -8"),
        (lambda: absmax([1.0], bits=7.5), r"got 7\.5"),
        (lambda: absmax([[1.0, np.inf]]), r"expected finite numbers, got inf at \[0, 1\]"),
        (lambda: absmax([]), r"at least one number"),
        (lambda: absmax(["a"]), r"expected real numbers"),
        (lambda: absmax([1.0], axis=1), r"axis: .* an array of 1 dimensions, got 1"),
        (lambda: decompose([[1.0, 1e5]]), r"column 1 reaches 1e\+05: a 16-bit float holds at most 65504"),
        (lambda: decompose([[1.0]], threshold=0), r"threshold: expected a magnitude above 0"),
        (lambda: decompose([1.0]), r"expected 2 dimensions, got 1"),
        (lambda: product(np.ones((2, 3)), np.ones((4, 1))), r"3 features of x, 4 of w"),
        (
            lambda: multiply(absmax(np.ones((2, 3)), axis=0), absmax(np.ones((3, 2)))),
            r"constants of shape \(1, 3\) and \(1, 1\) differ along the sum",
        ),
        (lambda: multiply(absmax(np.ones((2, 3))), absmax(np.ones((2, 3)))), r"\(2, 3\) and \(2, 3\) do not match"),
    ],
)
def test_wrong_use_is_said(call, message):
    with pytest.raises(UsageError, match=message):
        call()


def test_an_unknown_method_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match="absmax-llm-int8"):
        product(np.ones((1, 1)), np.ones((1, 1)), "absmax-llm-int4")
