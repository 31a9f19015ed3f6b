"""Rows at which a law has no value are named; laws that have one there are left alone."""

import numpy as np
import pytest

import forecast
from forecast.errors import DataError

X = np.geomspace(10, 1e4, 40)


@pytest.mark.parametrize("cell", [0.0, -5.0])
@pytest.mark.parametrize("law", ["E + A*x**-c", "a + b*log(x)", "a*sqrt(x) + b", "A*x**-c*exp(b/x)"])
@pytest.mark.parametrize("objective", ["least_squares", "least_squares_log"])
def test_bad_input_027_names_the_variable_the_rows_and_the_law(law, cell, objective):
    x = X.copy()
    x[[4, 9]] = cell
    made = forecast.Law(law, variables=["x"])
    if cell == 0 and "sqrt" in law:
        assert made.fit({"x": x, "y": 3 + 2 * np.sqrt(x)}, objective=objective).converged
        return
    with pytest.raises(DataError, match=r"variable 'x' is not positive in rows 5, 10 of 40") as caught:
        made.fit({"x": x, "y": 3 + X**-0.3}, objective=objective)
    assert made.text in str(caught.value)


def test_only_the_variable_at_fault_is_named():
    law = forecast.Law("a + b*log(N) + c*t", variables=["N", "t"])
    t = np.linspace(-3, 3, 40)
    n = np.where(np.arange(40) == 1, -1.0, X)
    with pytest.raises(DataError, match="variable 'N' is not positive in row 2 of 40"):
        law.fit({"N": n, "t": t, "y": 1 + t})


@pytest.mark.parametrize("law", ["a + b*x", "a*exp(b*x)", "a + b*x + c*x**2", "a/(1 + exp(b*(m - x)))", "a*tanh(b*x)"])
def test_laws_with_a_value_everywhere_take_any_x(law):
    x = np.linspace(-3, 3, 40)
    assert forecast.Law(law, variables=["x"]).fit({"x": x, "y": 2 + 0.5 * x + 0.01 * np.cos(40 * x)}).n == 40


def test_a_row_without_weight_is_not_asked_for():
    x = np.where(np.arange(40) == 4, -5.0, X)
    weights = (x > 0).astype(float)
    fit = forecast.Law("A*abs(x)**-c", variables=["x"]).fit({"x": x, "y": 3 * np.abs(x) ** -0.5}, weights=weights)
    assert fit.converged


@pytest.mark.parametrize("law", ["a*(x - x0)**c", "a*sqrt(x - x0)*c", "a + c*log(x - x0)"])
def test_a_place_below_the_data_makes_a_value(law):
    x = np.linspace(-5, 5, 40)
    made = forecast.Law(law, variables=["x"])
    truth = {"a": 2.0, "x0": -8.0, "c": 0.7}
    y = made.value(truth, x=x)
    assert made.fit({"x": x, "y": y}, start={"a": 1.9, "x0": -8.5, "c": 0.75}).objective < 1e-12
