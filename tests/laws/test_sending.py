import copy

import numpy as np
import pytest

import forecast
from forecast.errors import UsageError
from forecast.laws.forms import Code
from forecast.laws.sendable import check_sendable

X = np.linspace(1.0, 3.0, 5)
LAWS = [
    forecast.Law("E + A*x**-a", variables={"x": "FLOP"}, positive=["A"], bounds={"E": (0, 5)}, output="loss"),
    forecast.Law("(y-e0)/(1-y)**a", equals="b*x**-c", between=("e0", 1), variables=["x"], positive=["a", "b", "c"]),
    forecast.Law("E + A*x**-a", variables=["x"], positive=["A"]).with_(a=0.5),
    forecast.Law("E + A*x**-a", variables=["x"]).grouped("family", ["one", "two"], varying=["E"]),
    forecast.law("scaling/chinchilla"),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_copy_is_the_same_law(law):
    again = copy.deepcopy(law)
    assert (again.name, again.text, again.output, again.unit) == (law.name, law.text, law.output, law.unit)
    assert (again.parameters, dict(again.variables)) == (law.parameters, dict(law.variables))
    assert dict(again.bounds) == dict(law.bounds)
    assert (again.objective, again.reference) == (law.objective, law.reference)
    assert again.published_fits == law.published_fits
    assert again.linear == law.linear
    values = {p: 0.3 + 0.1 * i for i, p in enumerate(law.parameters)}
    variables = {
        v: (X if v not in law.levels else np.array(["one", "two", "one", "two", "one"])) for v in law.variables
    }
    assert np.array_equal(law.value(values, **variables), again.value(values, **variables), equal_nan=True)
    assert np.array_equal(law.jacobian(values, **variables), again.jacobian(values, **variables), equal_nan=True)


def line(parameters, x):
    return parameters["a"] + parameters["b"] * x


def coded(code, **options):
    form = Code(code, ("a", "b"), ("x",), "law 'code'")
    plain = {"variables": {"x": ""}, "output": "y", "unit": "", "objective": "least_squares"}
    return forecast.Law._from_form(form, plain | options)


def test_code_goes_by_where_it_stands():
    law = coded(line, bounds={"a": (0, 9)})
    again = copy.deepcopy(law)
    assert again.bounds["a"] == (0, 9)
    np.testing.assert_array_equal(again.value({"a": 1, "b": 2}, x=X), 1 + 2 * X)
    with pytest.raises(UsageError, match="fits: the law is code that was made in this process"):
        check_sendable(coded(lambda parameters, x: x), "fits")
    with pytest.raises(UsageError, match="made in this process"):
        check_sendable(law.with_(a=1.0), "fits")
