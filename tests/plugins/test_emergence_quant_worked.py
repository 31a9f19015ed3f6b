"""The essay's worked examples, their claims, and the error against bits that the engine can reach."""

from __future__ import annotations

import numpy as np
import pytest

import forecast
from forecast.claim_verdicts import FAILED, evaluate
from forecast.contract.registry import get_registry
from forecast.errors import ForecastError, UsageError
from forecast.report import result_data
from forecast_emergence.quantisation.errors import error_table
from forecast_emergence.quantisation.hidden import hidden_states
from forecast_emergence.quantisation.worked import VECTOR, facts, feature_removal, squeeze, vector_error

ROWS = {
    "quant-absmax": "disagrees", "quant-vectorwise": "disagrees", "quant-vectorwise-first": "disagrees",
    "quant-vectorwise-second": "agrees", "quant-outlier": "rounds", "quant-no-outlier": "disagrees",
    "quant-no-outlier-changes": "disagrees", "quant-absmax-errors": "agrees", "quant-vectorwise-before": "ours",
    "quant-types": "constant",
    "feature-removal": "agrees",
}  # fmt: skip


@pytest.fixture(scope="module")
def claims():
    return {r.spec.name: evaluate(r.spec) for r in get_registry().records("claim") if r.plugin.name == "emergence"}


@pytest.fixture(scope="module")
def run():
    return forecast.project("quantisation", draws=500)


@pytest.mark.slow
def test_every_row_is_there_with_its_verdict(claims):
    assert {name: claims[name]["verdict"] for name in ROWS} == ROWS
    assert not [c["id"] for c in claims.values() if c["verdict"] == FAILED]


@pytest.mark.parametrize(
    ("name", "computed"),
    [
        ("quant-absmax", 2), ("quant-vectorwise", 1), ("quant-vectorwise-before", 4), ("quant-vectorwise-first", 3),
        ("quant-outlier", 0.1233), ("quant-no-outlier", 0.0031), ("quant-no-outlier-changes", 2),
        ("feature-removal", 0.5),
    ],
)  # fmt: skip
def test_known_figures(claims, name, computed):
    assert claims[name]["computed"] == pytest.approx(computed, abs=6e-5)


def test_to_nearest_and_down():
    assert squeeze([3, 1, 2, 3]).codes.tolist() == [4, 2, 2, 4]
    assert squeeze([3, 1, 2, 3]).after.tolist() == [3, 2, 2, 3]
    down = squeeze([3, 1, 2, 3], down=True)
    assert down.codes.tolist() == [4, 0, 2, 4]
    assert down.before.tolist() == [3, 0, 1.5, 3]
    assert down.after.tolist() == [3, 0, 2, 3]


def test_the_second_vector_with_its_own_constant_and_with_the_others():
    own, shared = squeeze([0, 2, 2, 0]), squeeze([0, 2, 2, 0], constant=3)
    assert own.before.tolist() == [0, 2, 2, 0]
    assert (shared.errors_before, shared.errors) == (2, 0)


def test_what_the_outlier_does_to_the_vector():
    error, left = vector_error()
    assert left.round(2).tolist() == [0, 0, 0, -0.53, -0.53, -0.53, -2.11, 0.53, -0.53, -67]
    assert error == pytest.approx(0.1233, abs=5e-5)
    error, left = vector_error(outlier=False)
    assert left.round(2).tolist() == [-0.10, -0.23, 0.08, -0.38, -0.28, -0.28, -2.11, 0.33, -0.53]
    assert error == pytest.approx(0.0031, abs=5e-5)
    assert (len(VECTOR), facts()["changed"]) == (10, 2)


def test_a_large_feature_removes_two_of_four():
    np.testing.assert_allclose(feature_removal(100), [0, 0.5, 0.5, 0], atol=1e-12)
    assert feature_removal(0).tolist() == [0.25] * 4  # without it nothing is removed


@pytest.mark.parametrize(("vector", "constant"), [([-1, 2], None), ([0, 0], None), ([3], 2), ([3], 0)])
def test_what_does_not_fit_the_small_type_is_refused(vector, constant):
    with pytest.raises(UsageError, match="expected numbers from 0 to a constant above 0"):
        squeeze(vector, constant=constant)


def engine(model: str, bits: float, **more: float):
    quantities = {"bits": {"value": bits, "unit": "bit"}, "error": {"model": f"emergence/{model}"}}
    quantities |= {name: {"value": value, "unit": ""} for name, value in more.items()}
    return forecast.project({"start": 2025, "until": 2026, "quantities": quantities}, draws=200)["projection"]["error"]


@pytest.mark.parametrize("bits", [6, 8, 10])
def test_the_law_says_what_generated_states_show(bits):
    x = hidden_states(13e9, tokens=128, width=1024)
    found = error_table(13e9, bits=(bits,), methods=("absmax", "absmax-llm-int8"))["features"].sel(bits=bits)
    law = forecast.law("emergence/rounding-error")
    told = float(law.value({"crest": float(abs(x).max())}, bits=float(bits)))
    assert told == pytest.approx(float(found.sel(scheme="absmax")), rel=0.02)
    plain, kept = engine("rounding-error-absmax", bits, magnitude=58), engine("rounding-error-decomposed", bits)
    low, high = plain.quantile([0.01, 0.99])
    assert low < float(found.sel(scheme="absmax")) < high
    assert float(kept.median()) == pytest.approx(float(found.sel(scheme="absmax-llm-int8")), rel=0.1)


def test_the_crest_can_be_fitted_to_an_error_table():
    bits = np.arange(5, 13)
    table = error_table(6.7e9, bits=bits.tolist(), methods=("absmax-llm-int8",))["features"].sel(
        scheme="absmax-llm-int8"
    )
    fit = forecast.law("emergence/rounding-error").fit({"bits": bits.astype(float), "error": table.values}, y="error")
    # rows of 1024 normal numbers reach 3.2 to 3.5
    assert 3.2 < float(fit.params["crest"]) < 3.6


def test_nothing_is_left_at_most():
    assert float(engine("rounding-error-absmax", 3, magnitude=60).max()) == 1


def test_the_vector_in_other_widths():
    assert float(engine("vector-error", 8).max()) == pytest.approx(0.1233, abs=5e-5)
    assert float(engine("vector-error", 16).max()) == pytest.approx(vector_error(16)[0])
    between = [float(engine("vector-error", bits).max()) for bits in (4, 4.5, 5)]
    assert between[1] == pytest.approx((between[0] + between[2]) / 2)
    assert float(engine("vector-error-without-outlier", 8).max()) == pytest.approx(0.0031, abs=5e-5)


@pytest.mark.parametrize(
    ("model", "bits", "message"),
    [
        ("vector-error", 1, r"got 1 bits; a sign takes one, so absmax needs more than 1, and at most 16"),
        ("vector-error", 17, r"got 17 bits"),
        ("rounding-error-decomposed", -4, r"got -4 bits; a sign takes one, so absmax needs more than 1$"),
    ],
)
def test_bits_that_cannot_be_fail_by_name(model, bits, message):
    with pytest.raises(ForecastError, match=message):
        engine(model, bits)


def test_large_models_need_more_than_8_bits_without_decomposition(run):
    def best(question):
        return {
            row["choices"].get("size"): max(row["order"], key=lambda entry: entry["first"])["name"]
            for row in result_data.ranking_rows(run)
            if row["name"] == question
        }

    plain = best("absmax")
    assert plain["1.3B"] == "7"
    assert plain["13B"] == plain["175B"] == "12"
    assert set(best("decomposed").values()) == {"6"}
