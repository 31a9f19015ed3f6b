import numpy as np
import pytest

import forecast


@pytest.fixture(scope="module")
def table():
    return forecast.table("datasets/outlier-features")


def squares(fit, values):
    logs = np.log(np.asarray(values, dtype=float))
    return 1 - fit.objective / np.sum((logs - logs.mean()) ** 2)


@pytest.mark.parametrize(
    ("name", "column", "a", "b", "r2"),
    [
        ("emergence/outlier-count", "outlier_count", 2.9263, 0.09041, 0.940),
        ("emergence/layers-affected", "layers_affected", 5.1995, 0.06842, 0.821),
    ],
)
def test_the_fit_to_table_4(table, name, column, a, b, r2):
    fit = forecast.law(name).fit(table, let={"PPL": "ppl_c4"}, y=column)
    assert fit.values["a"] == pytest.approx(a, abs=5.1e-5)
    assert fit.values["b"] == pytest.approx(b, abs=5.1e-6)
    assert squares(fit, table[column]) == pytest.approx(r2, abs=5e-4)
    assert fit.n == 10


def test_the_standard_errors_of_the_slopes(table):
    for name, column, error in (
        ("emergence/outlier-count", "outlier_count", 0.00805),
        ("emergence/layers-affected", "layers_affected", 0.0113),
    ):
        fit = forecast.law(name).fit(table, let={"PPL": "ppl_c4"}, y=column)
        assert float(fit.stderr["b"]) == pytest.approx(error, rel=5e-3)


@pytest.mark.parametrize(
    ("name", "column", "predicted", "observed"),
    [
        ("outlier-count", "outlier_count", (5.2, 5.6), (6, 7)),
        ("layers-affected", "layers_affected", (59.7, 62.3), (100, 100)),
    ],
)
def test_the_backtest_misses_the_phase_shift(table, name, column, predicted, observed):
    old = table.ppl_c4.values >= 13.5
    assert old.sum() == 8
    law = forecast.law(f"emergence/{name}")
    fit = law.fit({"PPL": table.ppl_c4.values[old], "y": table[column].values[old]}, y="y")
    out = fit.predict(PPL=[13.3, 12.5])
    np.testing.assert_allclose(out["median"], predicted, atol=0.05)
    seen = {float(p): float(v) for p, v in zip(table.ppl_c4, table[column], strict=True)}
    assert (seen[13.3], seen[12.5]) == observed
    if name == "layers-affected":  # outside even the band of one observation
        assert np.all(out["observed_upper"].values < 100)
    note = forecast.model(f"emergence/{name}").fit().describe().summary
    assert "phase shift at 6.7B" in note
    assert all(f"{value}" in note for value in predicted)


def test_the_ceiling_in_the_note(table):
    fit = forecast.law("emergence/layers-affected").fit(table, let={"PPL": "ppl_c4"}, y="layers_affected")
    assert (fit.values["a"] - np.log(100)) / fit.values["b"] == pytest.approx(8.7, abs=0.05)


def test_the_models_have_the_units_of_their_laws():
    assert forecast.model("emergence/outlier-count").model.unit == ""
    assert (
        forecast.model("emergence/layers-affected").model.unit
        == forecast.law("emergence/layers-affected").unit
        == "percent"
    )
