import numpy as np
import pytest

import forecast


def test_the_law_asks_an_exponential_resource_for_linear_progress():
    law = forecast.law("resources/log-linear")
    values = law.value({"a": 1.0, "b": 2.0}, x=np.exp([0.0, 1.0, 2.0, 3.0]))
    np.testing.assert_allclose(np.diff(values), 2.0)


def test_perplexity_from_parameters_is_the_least_squares_line():
    table = forecast.table("datasets/outlier-features")
    rows = table.family.values == "FSEQ"
    x, y = np.log(table.params.values[rows]), table.ppl_c4.values[rows]
    slope = np.sum((x - x.mean()) * (y - y.mean())) / np.sum((x - x.mean()) ** 2)
    fit = forecast.model("resources/perplexity-from-parameters").fit().fit
    assert fit.n == 5
    assert fit.values["b"] == pytest.approx(slope, rel=1e-9)
    assert fit.values["b"] == pytest.approx(-2.88, abs=5e-3)


def test_the_model_says_that_n_is_tiny_and_what_it_cannot_say():
    text = forecast.model("resources/perplexity-from-parameters").fit().describe()
    assert "Five models" in text.summary
    assert "cannot say" in text.summary
    assert text.facts["n"] == 5
