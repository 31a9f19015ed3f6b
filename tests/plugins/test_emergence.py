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
