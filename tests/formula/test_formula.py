"""The safe grammar: what it reads, computes and solves."""

import math

import numpy as np
import pytest

from forecast.errors import FormulaError
from forecast.formula import parse
from forecast.laws.program import FormulaProgram

# --- what it reads ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("2 + 3*4**2/8 - 1", {}, 7.0),
        ("-x**2", {"x": 3.0}, -9.0),
        ("2**-x", {"x": 1.0}, 0.5),
        ("2**3**2", {}, 512.0),
        ("a - (b - c)", {"a": 1.0, "b": 2.0, "c": 3.0}, 2.0),
        ("a/b/c", {"a": 12.0, "b": 2.0, "c": 3.0}, 2.0),
        ("+x", {"x": 2.0}, 2.0),
        ("log(exp(1))", {}, 1.0),
        ("log2(8) + log10(100) + sqrt(9)", {}, 8.0),
        ("min(3, x, 5)*max(1, x)", {"x": 2.0}, 4.0),
        ("abs(x) + sign(x) + heaviside(x)", {"x": -2.0}, 1.0),
        ("sin(x)**2 + cos(x)**2", {"x": 0.3}, 1.0),
        ("tanh(x) - (exp(2*x) - 1)/(exp(2*x) + 1)", {"x": 0.4}, 0.0),
        ("erf(x)", {"x": 0.5}, math.erf(0.5)),
        ("1.5e3 + .5 + 2.", {}, 1502.5),
        (
            "E + I + N*S + beta*gamma + lambda_",
            dict.fromkeys(["E", "I", "N", "S", "beta", "gamma", "lambda_"], 2.0),
            14.0,
        ),
        ("x +\n\ty", {"x": 1.0, "y": 2.0}, 3.0),
    ],
)
def test_values(text, values, expected):
    assert parse(text).evaluate(values) == pytest.approx(expected, rel=1e-14, abs=1e-14)


def test_names_stand_in_order_of_appearance():
    assert parse("E + A*N**-alpha + B*D**-beta + A").names == ("E", "A", "N", "alpha", "B", "D", "beta")


def test_canonical_text():
    assert parse("((a))+b *( c+d)-( e - f )/ (g*h)").text == "a + b*(c + d) - (e - f)/(g*h)"
    assert parse("(-x)**2").text == "(-x)**2"
    assert parse("1e25*x").text == "1e25*x"


# --- what it computes -------------------------------------------------------------------------------------------------


def test_inputs_are_left_alone():
    x = np.array([1.0, 2.0])
    found = parse("x").evaluate({"x": x})
    found[0] = 9
    assert x[0] == 1


def test_missing_and_wrong_values_are_named():
    with pytest.raises(FormulaError, match="no value for 'b'"):
        parse("a + b").evaluate({"a": 1})
    with pytest.raises(FormulaError, match="value of 'a': expected numbers, got str"):
        parse("a").evaluate({"a": "two"})
    with pytest.raises(FormulaError, match=r"do not broadcast: a \(2,\), b \(3,\)"):
        parse("a + b").evaluate({"a": [1, 2], "b": [1, 2, 3]})


@pytest.mark.parametrize(
    "text", ["exp(1000*log(2*x)*1000*1000)", "((2*x)**90)**90", "(3*x)**10000", "exp(1e6*log(2*x))"]
)
def test_a_power_of_powers_has_a_derivative(text):
    assert len(FormulaProgram(parse(text).root, ["x"], []).evaluate({"x": 0.4}, 2)[1]) == 1


@pytest.mark.parametrize("text", ["tanh(sin(" * 28 + "x" + "))" * 28, "log(" * 55 + "x" + ")" * 55])
def test_deep_nesting_cannot_hang_a_derivative(text):
    assert len(FormulaProgram(parse(text).root, ["x"], []).evaluate({"x": 0.4}, 2)[1]) == 1


@pytest.mark.parametrize(
    ("text", "tex"),
    [
        ("E + A/N**alpha", r"E + \frac{A}{N^{\alpha}}"),
        ("(a + b)*c", r"\left(a + b\right) \, c"),
        ("(a/b)**2", r"\left(\frac{a}{b}\right)^{2}"),
        ("sqrt(x_0)*1.5e25", r"\sqrt{x_{0}} \cdot 1.5 \cdot 10^{25}"),
        ("firing_rate*b1*lambda_", r"\mathrm{firing}_{\mathrm{rate}} \, b_{1} \, \lambda"),
        ("-(a + b)", r"-\left(a + b\right)"),
        ("abs(x)**2", r"\left(\left|x\right|\right)^{2}"),
    ],
)
def test_latex(text, tex):
    assert parse(text).latex() == tex


# --- what it solves ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "truth"),
    [
        ("2015 + d*log2(r)", "d", 1.7), ("2015 + d*log2(r)", "r", 40.0), ("E + A*N**-alpha", "alpha", 0.34),
        ("E + A*N**-alpha", "N", 1.3), ("a*exp(-b*t) - 3", "b", 0.2), ("a/(b - sqrt(c))", "c", 4.0),
        ("log10(tanh(x))/2", "x", 0.8), ("a*x**2 + b*x", "x", 1.5), ("x/(x + k)", "x", 2.5), ("1 - 2**-x", "x", 3.0),
    ],
)  # fmt: skip
def test_solutions_give_the_value_back(text, name, truth):
    formula = parse(text)
    values = {n: 2.0 + i for i, n in enumerate(formula.names)} | {name: truth}
    target = formula.evaluate(values)
    others = {n: v for n, v in values.items() if n != name}
    for found in (formula.solve(name, target, others), formula.substitute(others).solve(name, target)):
        assert any(f == pytest.approx(truth, rel=1e-9) for f in found)


def test_what_cannot_be_solved_says_so():
    for text, says in [
        ("a + b", "does not depend"),
        ("sin(x)", "no single inverse"),
        ("a*x + exp(x)", "is solved for 'x' in numbers, which a must be"),
    ]:
        with pytest.raises(FormulaError, match=says):
            parse(text).solve("x", 1.0)
    assert parse("x + 1/x").solve("x", 1.0) == []  # the value is nowhere
    assert parse("x + 1/x").solve("x", 2.5) == pytest.approx([0.5, 2.0])  # and none at the pole
    assert parse("a*x + x**3").solve("x", 0.0, {"a": -4.0}) == pytest.approx([-2.0, 0.0, 2.0])
