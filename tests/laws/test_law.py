"""Laws: values, Jacobians, refusals, LaTeX."""

import math
import sys
import types
import warnings

import numpy as np
import pytest

from forecast.contract.specs import LawSpec, PublishedFit
from forecast.errors import FormulaError, PluginError, UnitError, UnknownNameError, UsageError
from forecast.laws import Law, law, lookup

X = np.array([0.5, 1.0, 3.0, 40.0])

CLOSED = {
    "power": ("beta*x**-c", {"beta": 3.0, "c": 0.4}, lambda x, beta, c: (x**-c, -beta * x**-c * np.log(x))),
    "saturating power": (
        "E + A*x**-alpha",
        {"E": 1.7, "A": 400.0, "alpha": 0.34},
        lambda x, E, A, alpha: (np.ones_like(x), x**-alpha, -A * x**-alpha * np.log(x)),
    ),
    "logistic": (
        "A/(1 + exp(-k*(x - x0)))",
        {"A": 2.0, "k": 0.7, "x0": 3.0},
        lambda x, A, k, x0: (
            1 / (1 + (e := np.exp(-k * (x - x0)))),
            A * e * (x - x0) / (1 + e) ** 2,
            -A * e * k / (1 + e) ** 2,
        ),
    ),
    "log-linear": ("a + b*log(x)", {"a": 1.0, "b": 2.0}, lambda x, a, b: (np.ones_like(x), np.log(x))),
}


@pytest.mark.parametrize("name", CLOSED)
def test_jacobian_in_closed_form(name):
    text, parameters, closed = CLOSED[name]
    made = Law(text, variables=["x"])
    assert made.parameters == tuple(parameters)
    np.testing.assert_allclose(made.jacobian(parameters, x=X), np.array(closed(X, **parameters)), rtol=1e-13)


def test_chinchilla():
    made = Law("E + A*N**-alpha + B*D**-beta", variables={"N": "param", "D": "token"}, output="loss", unit="nat/token")
    p = {"E": 1.8172, "A": 477.8, "B": 2143.4, "alpha": 0.3473, "beta": 0.3672}
    n, d = np.array([7e8, 7e10]), np.array([1.4e10, 1.4e12])
    a, b = n ** -p["alpha"], d ** -p["beta"]
    np.testing.assert_allclose(made.value(p, N=n, D=d), p["E"] + p["A"] * a + p["B"] * b, rtol=1e-14)
    expected = [np.ones(2), a, -p["A"] * a * np.log(n), b, -p["B"] * b * np.log(d)]
    assert made.parameters == ("E", "A", "alpha", "B", "beta")
    np.testing.assert_allclose(made.jacobian(p, N=n, D=d), expected, rtol=1e-13)


def test_shapes_broadcast():
    made = Law("a*x + b*z", variables=["x", "z"])
    batch = {"a": np.ones((5, 1)), "b": 2.0}
    assert made.value(batch, x=np.arange(3.0), z=1.0).shape == (5, 3)
    assert made.jacobian(batch, x=np.arange(3.0), z=1.0).shape == (2, 5, 3)
    scalar = made.value({"a": 1, "b": 2}, x=3, z=4)
    assert isinstance(scalar, np.ndarray)
    assert (scalar.shape, float(scalar)) == ((), 11.0)
    np.testing.assert_array_equal(made.jacobian({"a": 1, "b": 2}, x=3, z=4), [3.0, 4.0])
    with pytest.raises(UsageError, match=r"do not broadcast: x \(2,\), z \(3,\)"):
        made.value({"a": 1, "b": 2}, x=[1, 2], z=[1, 2, 3])


def test_bad_input_076_overflow_is_infinite_and_silent():
    made = Law("exp(a*x)", variables=["x"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made.value({"a": 1.0}, x=1e6) == math.inf
        assert not np.isfinite(made.jacobian({"a": 1.0}, x=1e6)).any()


def test_values_that_are_missing_or_wrong_are_named():
    made = Law("a*x", variables=["x"], name="demo/line")
    with pytest.raises(UsageError, match="law 'demo/line': no value for the parameter 'a'"):
        made.value({}, x=1)
    with pytest.raises(UsageError, match="no value for the variable 'x'"):
        made.value({"a": 1})
    with pytest.raises(UnknownNameError, match="unknown variable 'X'; did you mean 'x'"):
        made.value({"a": 1}, X=1)
    with pytest.raises(UsageError, match="parameter 'a': expected numbers, got str"):
        made.value({"a": "one"}, x=1)


def test_a_variable_may_be_called_self_or_parameters():
    made = Law("a*self + parameters", variables=["self", "parameters"])
    assert made.value({"a": 2.0}, **{"self": 3.0, "parameters": 1.0}) == 7.0


def test_bounds_and_attributes():
    made = Law("a*x + b", variables=["x"], bounds={"b": (-1, 1)}, positive=["a"], output="speed", unit="m/s", name="n")
    assert dict(made.bounds) == {"a": (0.0, math.inf), "b": (-1.0, 1.0)}
    assert (made.expression, made.output, made.unit, dict(made.variables)) == ("a*x + b", "speed", "m/s", {"x": ""})
    assert made.objective == "least_squares"
    assert made.latex() == r"\mathrm{speed} = a \, x + b"
    assert "a*x + b" in repr(made)


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("2*x", {}, "no parameter left"),
        ("a + b", {}, "the declared variable 'x' is not in 'a + b'"),
        ("a*x", {"variables": []}, "has no variable"),
        ("a*x + X", {}, "the parameter 'X' differs from the variable 'x' only in case"),
        ("a*x + y", {}, "the output 'y' is also a name"),
        ("a*x", {"output": "x"}, "the output 'x' is also a name"),
        ("a*x", {"variables": "x"}, "expected a list of names, got the text"),
        ("a*x", {"positive": "a"}, "expected a list of names, got the text"),
        ("a*x", {"bounds": {"a": (2, 1)}}, "expected low <= high"),
        ("a*x", {"bounds": {"a": (math.nan, 1)}}, "expected low <= high"),
        ("a*x", {"bounds": {"a": (math.inf, math.inf)}}, "expected low <= high"),
        ("a*x", {"linear": "a"}, "expected a list of names, got the text"),
        ("a*x", {"between": (0, 1)}, "give equals= for an implicit law"),
        ("a*x", {"variables": ["x", "lambda"]}, "Python keyword"),
        ("a*x", {"variables": ["x", "__import__('os')"]}, "expected letters"),
        ("a*x", {"output": "time"}, "dimension of every result"),
        ("a*x^2", {}, "write **"),
    ],
)
def test_bad_input_077_laws_refused(text, options, says):
    with pytest.raises(FormulaError) as caught:
        Law(text, **{"variables": ["x"], "name": "demo/bad", **options})
    assert says in str(caught.value)
    assert str(caught.value).startswith("law 'demo/bad'")


def test_bad_input_077_parameter_not_in_formula():
    with pytest.raises(UnknownNameError, match="bounds: unknown parameter 'alpa'; did you mean 'alpha'"):
        Law("alpha*x", variables=["x"], positive=["alpa"])


def test_bad_input_077_a_product_of_parameters_is_flagged():
    fit = Law("a*b*x", variables=["x"]).fit({"x": [1.0, 2, 3, 4], "y": [2.0, 4.1, 5.9, 8.0]})
    said = f"{fit.verdict} {fit.warnings} {fit.summary()}"
    assert "identif" in said


def test_units_are_checked():
    with pytest.raises(UnitError, match="law 'demo/x': unit 'FLOPS'"):
        Law("a*x", variables={"x": "FLOPS"}, name="demo/x")


def spec(**options):
    return LawSpec(**{"name": "demo", "variables": {"x": ""}, "reference": "here", **options})


def fake_registry(monkeypatch, record_spec):
    record = types.SimpleNamespace(full_name="demo/demo", spec=record_spec)
    registry = types.SimpleNamespace(find=lambda kind, name, where="": record)
    monkeypatch.setattr("forecast.contract.registry.get_registry", lambda: registry)
    monkeypatch.setattr(lookup, "_made", {})


def test_law_from_the_registry(monkeypatch):
    published = (PublishedFit(name="here", parameters={"a": 1.0}, reference="us"),)
    fake_registry(monkeypatch, spec(expression="a*x", positive=("a",), published=published, objective="huber_log"))
    found = law("demo")
    assert (found.name, found.parameters, found.objective) == ("demo/demo", ("a",), "huber_log")
    assert law("demo") is found
    assert law(found) is found
    assert found.published_fits == published
    with pytest.raises(UnknownNameError, match="unknown published fit 'heer'; did you mean 'here'"):
        found.published("heer")


def test_law_as_code(monkeypatch):
    module = types.ModuleType("law_as_code")
    module.f = lambda parameters, x: parameters["a"] * np.sin(parameters["b"] * x)
    module.broken = lambda parameters, x: 1 / 0
    monkeypatch.setitem(sys.modules, "law_as_code", module)
    fake_registry(monkeypatch, spec(target="law_as_code:f", example={"a": 2.0, "b": 0.5}, positive=("a",)))
    found = law("demo")
    assert found.expression is None
    assert found.parameters == ("a", "b")
    p = {"a": 2.0, "b": 0.5}
    expected = [np.sin(0.5 * X), 2.0 * X * np.cos(0.5 * X)]
    np.testing.assert_allclose(found.jacobian(p, x=X), expected, rtol=1e-7, atol=1e-8)
    with pytest.raises(UsageError, match="no text form"):
        found.latex()
    fake_registry(monkeypatch, spec(target="law_as_code:broken", example={"a": 2.0}))
    with pytest.raises(PluginError, match="law 'demo/demo': its code: ZeroDivisionError"):
        law("demo").value({"a": 1.0}, x=X)


def test_unknown_law_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match="unknown law"):
        law("no-such-law-anywhere")


def test_bad_input_050_equal_bounds_fix_a_parameter():
    made = Law("a*x + b", variables=["x"], bounds={"b": (2, 2)})
    assert made.bounds["b"] == (2.0, 2.0)
    fit = made.fit({"x": [1.0, 2, 3, 4], "y": [5.0, 8.0, 11.0, 14.0]})
    assert (float(fit.params["a"]), float(fit.params["b"])) == (pytest.approx(3.0, rel=1e-9), 2.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("E + A*x**-alpha", ("E", "A")),
        ("a*b*x + c", ("a", "c")),
        ("a*exp(b*x)", ("a",)),
        ("a + b*x + c*x**2", ("a", "b", "c")),
        ("max(a, b*x) + c", ("c",)),
        ("abs(a*x) + b**2*x", ()),
    ],
)
def test_linear_parameters_are_found(text, expected):
    assert Law(text, variables=["x"]).linear == expected


def test_linear_parameters_may_be_given():
    assert Law("E + A*x**-alpha", variables=["x"], linear=["A"]).linear == ("A",)
    with pytest.raises(UnknownNameError, match="linear: unknown parameter 'a'; did you mean 'A'"):
        Law("E + A*x**-alpha", variables=["x"], linear=["a"])


@pytest.mark.parametrize(
    "made",
    [
        Law("a*x + b", variables={"x": "s"}, unit="m", output="way", positive=["a"], bounds={"b": (1, 2)}, title="t"),
        Law("(y-e)/(f-y)**a", equals="b*x", variables=["x"], between=("e", "f"), linear=[], name="demo/implicit"),
    ],
)
def test_a_record_makes_the_law_again(made):
    again = Law(**made.record())
    assert again.record() == made.record()
    assert (again.text, again.parameters, dict(again.bounds)) == (made.text, made.parameters, dict(made.bounds))


def test_code_has_no_record(monkeypatch):
    monkeypatch.setitem(sys.modules, "law_as_code", types.SimpleNamespace(f=lambda p, x: p["a"] * p["b"] * x))
    fake_registry(monkeypatch, spec(target="law_as_code:f", example={"a": 2.0, "b": 1.0}))
    with pytest.raises(UsageError, match="is code and has no text form"):
        law("demo").record()
    fixed = law("demo").with_(b=3.0)
    assert (fixed.parameters, float(fixed.value({"a": 2.0}, x=4.0))) == (("a",), 24.0)


def test_an_implicit_law_comes_from_a_record(monkeypatch):
    given = {"expression": "(y - e)/(f - y)", "equals": "b/x", "between": ("e", "f")}
    fake_registry(monkeypatch, spec(**given))
    assert law("demo").text == "(y - e)/(f - y) = b/x"


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ({"a": (1, 0)}, "expected low <= high, got"), ({"a": (math.nan, 1)}, "expected low <= high, got"),
        ({"a": (math.inf, math.inf)}, "expected low <= high, got"), ({"a": ("x", 1)}, "bounds of 'a': expected"),
        ({"a": (1,)}, "bounds of 'a': expected"), ({"a": (1, 2, 3)}, "bounds of 'a': expected"),
        ({"a": (None, 1)}, "bounds of 'a': expected"), ({"a": 1}, "bounds of 'a': expected"),
        ({"a": "12"}, "bounds of 'a': expected"), ([(0, 1)], "bounds: expected a mapping"),
    ],
)  # fmt: skip
def test_bad_input_050_bounds_that_are_none(bounds, says):
    with pytest.raises(FormulaError, match=says):
        Law("a*x", variables=["x"], bounds=bounds)


def test_a_variable_given_twice_is_refused():
    with pytest.raises(FormulaError, match="variables: 'x' is given twice"):
        Law("a*x", variables=["x", "x"])
