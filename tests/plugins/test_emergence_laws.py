"""The reference fits on LLM.int8(), table 4, to the digits given; the laws in size; the honest test."""

import numpy as np
import pytest

import forecast
from forecast import tables
from forecast_emergence.features import hindsight


@pytest.fixture(scope="module")
def rows():
    return tables.to_columns("datasets/outlier-features")


COLUMNS = {
    "count": "outlier_count",
    "layers": "layers_affected",
    "sequence": "seq_dims_affected",
    "median": "quartile2",
}


def fitted(rows, measure, law, keep=slice(None)):
    x = {"outlier-count": ("PPL", "ppl_c4"), "power-in-parameters": ("N", "params")}[law]
    y = np.abs(rows.numeric(COLUMNS[measure]))[keep]
    fit = forecast.law(f"emergence/{law}").fit({x[0]: rows.numeric(x[1])[keep], "y": y}, y="y")
    logs = np.log(y)
    return fit, 1 - fit.objective / np.sum((logs - logs.mean()) ** 2)


@pytest.mark.parametrize(
    ("measure", "by_perplexity", "by_parameters"),
    [("count", 0.940, 0.829), ("layers", 0.821, 0.869), ("sequence", 0.660, 0.585), ("median", 0.498, 0.403)],
)
def test_perplexity_beats_parameters_but_for_the_layers(rows, measure, by_perplexity, by_parameters):
    found = [fitted(rows, measure, law)[1] for law in ("outlier-count", "power-in-parameters")]
    assert found == pytest.approx([by_perplexity, by_parameters], abs=5.1e-4)
    assert bool(found[0] > found[1]) == (measure != "layers")


@pytest.mark.parametrize(("measure", "power", "error"), [("count", 0.364, 0.059), ("layers", 0.302, 0.042)])
def test_powers_in_parameters(rows, measure, power, error):
    fit, _ = fitted(rows, measure, "power-in-parameters")
    assert fit.values["c"] == pytest.approx(power, abs=5.1e-4)
    assert float(fit.stderr["c"]) == pytest.approx(error, abs=5.1e-4)


def test_fairseq_alone(rows):
    fit, r2 = fitted(rows, "count", "outlier-count", rows.column("family") == "FSEQ")
    assert (fit.n, r2) == (5, pytest.approx(0.960, abs=5e-4))
    assert (fit.values["a"], fit.values["b"]) == (pytest.approx(2.9453, abs=5e-5), pytest.approx(0.0892, abs=5e-5))


def test_the_logistic_in_log_parameters(rows):
    fit = forecast.law("emergence/logistic-in-parameters").fit(
        {"N": rows.numeric("params"), "y": rows.numeric("layers_affected")}, y="y"
    )
    assert fit.values["m"] == pytest.approx(9.077, abs=5e-4)
    assert fit.values["s"] == pytest.approx(0.601, abs=5e-4)
    assert [float(fit.stderr[p]) for p in "ms"] == pytest.approx([0.140, 0.160], abs=5e-4)
    assert 10 ** fit.values["m"] == pytest.approx(1.19e9, abs=5e6)


def test_the_essays_magnitudes_saturate_at_95_5():
    law = forecast.law("emergence/saturating-magnitude")
    fit = law.fit({"N": [6e9, 13e9, 66e9], "y": [15.0, 60.0, 95.0]}, y="y")
    assert fit.values["top"] == pytest.approx(95.5, abs=0.1)
    assert "leave nothing to judge" in fit.verdict


def test_counts_have_a_poisson_likelihood(rows):
    model = forecast.model("emergence/outlier-count-poisson").model
    assert "Poisson" in model.fit().describe().summary
    fit = forecast.law("emergence/outlier-count").fit(
        {"PPL": rows.numeric("ppl_c4"), "y": rows.numeric("outlier_count")}, objective="poisson", y="y"
    )
    slope, _ = fitted(rows, "count", "outlier-count")
    assert float(fit.stderr["b"]) > 3 * float(slope.stderr["b"])
    low, high = fit.interval("b", 0.9)
    assert low < slope.values["b"] < high


def test_the_backtest_row():
    rows = {(r.measure, r.model): r for r in hindsight.backtest_features()}
    said = {m: [rows[m, f"fseq-{s}"].smooth for s in ("6.7b", "13b")] for m in hindsight.MEASURES}
    assert said["count"] == pytest.approx([5.2, 5.6], abs=0.05)
    assert said["layers"] == pytest.approx([59.7, 62.3], abs=0.05)
    assert said["magnitude"] == pytest.approx([17.0, 17.6], abs=0.05)
    assert not any(rows["layers", m].inside for m in ("fseq-6.7b", "fseq-13b"))
    assert all(rows["count", m].inside for m in ("fseq-6.7b", "fseq-13b"))
    assert [rows["layers", m].two_regimes for m in ("fseq-6.7b", "fseq-13b")] == [100.0, 100.0]
    assert np.isnan(rows["count", "fseq-13b"].two_regimes)


def test_the_backtest_is_printed_with_the_model():
    said = forecast.model("emergence/layers-two-regimes").fit().describe()
    assert "forecasts the count tolerably and misses the layers and the magnitude" in said.summary
    assert said.facts["layers_6_7b"] == pytest.approx(59.7, abs=0.05)
    assert hindsight.report().count("\n") == 8


def test_a_jump_not_yet_seen_is_not_expected_soon():
    early, late = hindsight.chance_of_jump()
    assert 0 < early < late < 0.1
