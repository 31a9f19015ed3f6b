"""Laws made of laws."""

import math

import numpy as np
import pytest

from forecast.contract.specs import PublishedFit
from forecast.errors import FormulaError, UnknownNameError, UsageError
from forecast.laws import Law

X = np.array([0.5, 1.0, 3.0])


def chinchilla():
    published = PublishedFit(
        name="here", parameters=dict.fromkeys(("E", "A", "alpha", "B", "beta"), 1.0), reference="r"
    )
    return Law(
        "E + A*N**-alpha + B*D**-beta", variables={"N": "param", "D": "token"}, output="loss", unit="nat/token",
        positive=["A", "B"], bounds={"alpha": (0, 2), "beta": (0.1, 3)}, objective="huber_log", published=[published],
        name="demo/chinchilla", reference="here",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("op", "text", "expected"),
    [
        (lambda a, b: a + b, "a*x + b*exp(c*x)", lambda x: 2 * x + 3 * np.exp(0.5 * x)),
        (lambda a, b: a - b, "a*x - b*exp(c*x)", lambda x: 2 * x - 3 * np.exp(0.5 * x)),
        (lambda a, b: a * b, "a*x*(b*exp(c*x))", lambda x: 2 * x * 3 * np.exp(0.5 * x)),
        (lambda a, b: a / b, "a*x/(b*exp(c*x))", lambda x: 2 * x / (3 * np.exp(0.5 * x))),
    ],
)
def test_two_laws(op, text, expected):
    made = op(Law("a*x", variables=["x"], positive=["a"]), Law("b*exp(c*x)", variables=["x"], bounds={"c": (-1, 1)}))
    assert (made.expression, made.parameters) == (text, ("a", "b", "c"))
    assert dict(made.bounds) == {"a": (0, math.inf), "b": (-math.inf, math.inf), "c": (-1, 1)}
    np.testing.assert_allclose(made.value({"a": 2, "b": 3, "c": 0.5}, x=X), expected(X), rtol=1e-14)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda a: a + 1.5, "a*x + 1.5"),
        (lambda a: 1 - a, "1 - a*x"),
        (lambda a: -2 * a, "-2*(a*x)"),
        (lambda a: a / 4, "a*x/4"),
        (lambda a: 1 / a, "1/(a*x)"),
        (lambda a: a + -1, "a*x + -1"),
    ],
)
def test_a_law_and_a_number(made, text):
    assert made(Law("a*x", variables=["x"])).expression == text


@pytest.mark.parametrize("other", ["a", None, True, [1]])
def test_what_cannot_be_added(other):
    with pytest.raises(UsageError, match="expected a law or a number"):
        Law("a*x", variables=["x"]) + other
    with pytest.raises(UsageError, match="expected a finite number"):
        Law("a*x", variables=["x"]) + math.nan


def test_all_clashes_are_named_at_once():
    one = Law("A*x**-alpha + E + z", variables={"x": "s", "z": ""}, unit="m", name="demo/one")
    two = Law("A*x**-alpha + z*k", variables={"x": "m", "k": ""}, unit="s", name="demo/two")
    with pytest.raises(FormulaError) as caught:
        one + two
    said = str(caught.value)
    assert said.startswith("law 'demo/one' + law 'demo/two': parameters of both: A, alpha (rename")
    assert "a parameter on one side and a variable on the other: z" in said
    assert "variables in different units: 'x' [s] and [m]" in said
    assert "outputs in different units: [m] and [s]" in said


def test_a_prefix_ends_a_clash():
    law = Law("A*x**-alpha", variables=["x"], positive=["A"])
    made = law + law.prefixed("b_")
    assert made.parameters == ("A", "alpha", "b_A", "b_alpha")
    assert made.bounds["b_A"] == (0, math.inf)
    one = made.with_(tie=("alpha", "b_alpha"))
    assert one.expression == "A*x**-alpha + b_A*x**-alpha"
    with pytest.raises(FormulaError, match="prefix"):
        law.prefixed("2")


def test_variables_and_units_are_joined():
    left = Law("a*x", variables={"x": "s"}, unit="m", output="way", reference="one")
    right = Law("b*z", variables={"z": "kg"}, unit="m", reference="two")
    made = left + right
    assert (dict(made.variables), made.unit, made.output) == ({"x": "s", "z": "kg"}, "m", "way")
    assert made.reference == "one; two"
    assert (left * right).unit == "(m)*(m)"
    assert (left / right).unit == "(m)/(m)"
    assert (2 * left).unit == "m"
    assert (1 / left).unit == ""


def test_fixed_parameters_leave():
    law = chinchilla()
    made = law.with_(E=1.6, alpha=0.5)
    assert made.expression == "1.6 + A*N**-0.5 + B*D**-beta"
    assert made.parameters == ("A", "B", "beta")
    assert dict(made.bounds) == {"A": (0, math.inf), "B": (0, math.inf), "beta": (0.1, 3)}
    assert (dict(made.variables), made.output, made.unit) == (dict(law.variables), "loss", "nat/token")
    assert (made.objective, made.published_fits, made.name) == ("huber_log", (), None)
    p = {"E": 1.6, "A": 3.0, "alpha": 0.5, "B": 4.0, "beta": 0.3}
    np.testing.assert_allclose(made.value(p, N=X, D=2 * X), law.value(p, N=X, D=2 * X), rtol=1e-15)
    assert law.with_({"E": 1.6}).expression == law.with_(E=1.6).expression
    assert law.with_() is law
    assert law.published_fits  # the law itself is as it was


def test_negative_numbers():
    made = Law("a*x**b - c", variables=["x"]).with_(b=-2.0, c=-1)
    assert made.expression == "a*x**-2 - -1"
    np.testing.assert_allclose(made.value({"a": 2.0}, x=X), 2 * X**-2 + 1)


def test_tied_parameters():
    law = chinchilla()
    made = law.with_(tie=("alpha", "beta"), E=0)
    assert made.expression == "0 + A*N**-alpha + B*D**-alpha"
    assert made.parameters == ("A", "alpha", "B")
    assert made.bounds["alpha"] == (0.1, 2)
    two = law.with_(tie=[("alpha", "beta"), ("A", "B")])
    assert two.parameters == ("E", "A", "alpha")
    assert two.linear == ("E", "A")


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"e": 1.0}, UnknownNameError, "with_: unknown parameter 'e'"),
        ({"N": 1.0}, UnknownNameError, "with_: unknown parameter 'N'"),
        ({"tie": ("alpha", "gamma")}, UnknownNameError, "tie: unknown parameter 'gamma'"),
        ({"tie": "alpha"}, UsageError, "got the text 'alpha'"),
        ({"tie": ("alpha",)}, UsageError, "two parameters or more"),
        ({"tie": ("alpha", "alpha")}, UsageError, "named twice among what is fixed and tied: alpha"),
        ({"tie": ("alpha", "beta"), "alpha": 1.0}, UsageError, "named twice among what is fixed and tied: alpha"),
        ({"alpha": 2.5}, UsageError, r"alpha = 2.5 is outside its bounds \(0, 2\)"),
        ({"E": math.nan}, UsageError, "'E': expected a finite number"),
        ({"E": "1"}, UsageError, "'E': expected a finite number"),
        (dict.fromkeys(("E", "A", "alpha", "B", "beta"), 1.0), FormulaError, "no parameter left"),
    ],
)
def test_refused(arguments, error, says):
    with pytest.raises(error, match=says):
        chinchilla().with_(**arguments)


def test_bounds_that_do_not_meet():
    law = Law("a*x + b", variables=["x"], bounds={"a": (0, 1), "b": (2, 3)})
    with pytest.raises(UsageError, match="the bounds of 'b' and 'a' have no number in common"):
        law.with_(tie=("a", "b"))


def test_given_linear_parameters_follow():
    law = Law("a*x + b*x**c", variables=["x"], linear=["a", "b"])
    assert law.with_(a=1.0).linear == ("b",)
    assert law.with_(tie=("b", "c")).linear == ("a",)
    assert law.prefixed("q_").linear == ("q_a", "q_b")


def test_implicit_laws_do_not_add():
    law = Law("(y-e)/(f-y)", equals="b/x", variables=["x"], between=("e", "f"))
    with pytest.raises(UsageError, match="is implicit: only laws that are formulas can be combined"):
        law + 1
