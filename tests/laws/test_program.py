"""Programs agree with the formula, and with differences."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from forecast.formula import parse
from forecast.laws import Law
from forecast.laws.program import DifferenceProgram

LAWS = {
    "chinchilla": ("E + A*N**-alpha + B*D**-beta", ["N", "D"]),
    "broken": ("a + b*x**-c0*(1 + (x/d)**(1/f))**(-c1*f)", ["x"]),
    "kaplan": ("((Nc/N)**(aN/aD) + Dc/D)**aD", ["N", "D"]),
    "logistic": ("A/(1 + exp(-k*(x - x0)))", ["x"]),
    "bump": ("-(a/x) - b/(c*x) + 2*a*x**3/(3 - b)", ["x"]),
    "functions": ("sin(a*x) + tanh(b - x)*cos(c) + erf(a*b*x) + sqrt(a + x**2) + log2(b*x) + log10(c + x)", ["x"]),
    "powers": ("a**2*x**-2 + b**-3*x**4 + c**0.5*x**-0.5 + (a*x)**1.7 + 2**(b*x) + x**7", ["x"]),
    "kinks": ("max(a*x, b, c + x) - min(a, x) + abs(b - x)*sign(c - x) + heaviside(a*x - b)*c**2", ["x"]),
}


def setting(names, variables, rng, sign=1.0):
    values = {n: sign * rng.uniform(0.3, 1.2, (5, 1)) for n in names if n not in variables}
    return values | {n: rng.uniform(0.4, 2.0, 7) for n in variables}


def broadcast(entry, shape):
    return np.broadcast_to(np.asarray(entry, dtype=float), shape)


def _assert_close_where_known(ours, differences, tolerance):
    known = np.isfinite(differences)  # where the law has no value there are none
    np.testing.assert_allclose(ours[known], differences[known], tolerance, tolerance)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("name", LAWS)
def test_value_gradient_and_hessian(name, sign):
    text, variables = LAWS[name]
    law = Law(text, variables=variables)
    values = setting(law.formula.names, variables, np.random.default_rng(0), sign)
    f, g, h = law.program().evaluate(values, 2)
    np.testing.assert_allclose(f, np.broadcast_to(law.formula.evaluate(values), (5, 7)), rtol=1e-12, atol=1e-13)
    apart = DifferenceProgram(lambda values, shape: law.formula.evaluate(values), law.parameters, variables)
    _, slopes, curves = apart.evaluate(values, 2)
    for i, slope in enumerate(slopes):
        _assert_close_where_known(broadcast(g[i], (5, 7)), broadcast(slope, (5, 7)), 1e-7)
        for j in range(i, len(slopes)):
            _assert_close_where_known(broadcast(h.get((i, j), 0.0), (5, 7)), broadcast(curves[i, j], (5, 7)), 1e-4)
    assert all(0 <= i <= j < len(law.parameters) for i, j in h)


names = st.sampled_from(["a", "b", "x", "z"])
leaves = names | st.sampled_from(["1", "2", "0.5", "3", "10"])
formulas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, st.sampled_from(["2", "-1", "0.5", "-0.5", "3", "1.3", "b", "(-a)"])).map(
            lambda t: f"({t[0]})**{t[1]}"
        ),
        st.tuples(st.sampled_from(["exp", "log", "sqrt", "tanh", "-", "abs"]), inner).map(lambda t: f"{t[0]}({t[1]})"),
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(text=formulas, signs=st.tuples(*[st.booleans()] * 4))
def test_any_formula_keeps_its_value(text, signs):
    try:
        formula = parse(f"a*x + b*z + ({text})")
    except Exception:
        return
    law = Law(formula.text, variables=["x", "z"])
    rng = np.random.default_rng(1)
    values = {"a": rng.uniform(0.5, 2, (3, 1)), "b": rng.uniform(0.5, 2, (3, 1)), "x": rng.uniform(0.5, 2, 4)}
    values["z"] = rng.uniform(0.5, 2, (3, 4))
    values = {n: v if plus else -v for (n, v), plus in zip(values.items(), signs, strict=True)}
    expected = np.broadcast_to(formula.evaluate(values), (3, 4))
    found = law.program().evaluate(values, 0)[0]
    sound = np.isfinite(expected) & (np.abs(expected) < 1e8)
    np.testing.assert_allclose(found[sound], expected[sound], rtol=1e-8, atol=1e-8)


def test_structure():
    law = Law("E + A*N**-alpha + B*D**-beta", variables=["N", "D"])
    values = setting(law.formula.names, ["N", "D"], np.random.default_rng(0))
    f, g, h = law.program().evaluate(values, 2)
    assert (f.shape, float(g[0]), set(h)) == ((5, 7), 1.0, {(1, 2), (2, 2), (3, 4), (4, 4)})
    assert law.program().evaluate(values, 0)[1:] == ([], {})
    assert law.program().evaluate(values, 1)[2] == {}
    assert law.program() is law.program()
