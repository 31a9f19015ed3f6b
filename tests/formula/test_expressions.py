"""What the expressions of scenarios add to the grammar: comparisons, texts, lists, units and more functions."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from forecast.errors import FormulaError
from forecast.formula import (
    FUNCTIONS,
    SCENARIO_FUNCTIONS,
    Binary,
    Call,
    Comparison,
    Formula,
    Measured,
    Name,
    Number,
    Sequence,
    Text,
    Unary,
    parse,
    parse_condition,
    parse_expression,
)

positive = st.floats(1e-6, 1e6)


def value(text, **values):
    return parse_expression(text).evaluate(values)


# --- text -------------------------------------------------------------------------------------------------------------

leaves = st.one_of(
    st.floats(0, 1e6, allow_nan=False).map(abs).map(Number),
    st.sampled_from(["x", "growth", "maximum", "at", "where", "t", "kind_"]).map(Name),
)
units = st.sampled_from(["EFLOP/s", "USD", "1/year", "FLOP/(s*USD)", "m**2/s", "USD**0.5"])


def grow(inner):
    measured = st.builds(Measured, positive, units)
    sides = st.one_of(inner, measured, st.builds(Binary, st.sampled_from(["+", "-", "*", "/"]), inner, measured))
    compared = st.one_of(
        st.builds(Comparison, st.sampled_from([">=", ">", "<=", "<", "=="]), inner, sides),
        st.builds(lambda v, u, b: Comparison("<", Measured(v, u), b), positive, units, inner),
        st.sampled_from(["super", "sub-linear", "a b"]).map(lambda text: Comparison("==", Name("kind"), Text(text))),
    )
    pair = st.builds(lambda a, b: Sequence((a, b)), inner, inner)
    return st.one_of(
        inner.map(lambda a: Unary("-", a)),
        st.builds(Binary, st.sampled_from(["+", "-", "*", "/", "**"]), st.one_of(inner, measured), inner),
        compared,
        compared.map(lambda c: Call("since", (c,))),
        st.builds(lambda c, a, b: Call("where", (c, a, b)), compared, inner, inner),
        inner.map(lambda a: Call("previous", (a,))),
        inner.map(lambda a: Call("growth", (a,))),
        st.builds(lambda a, y: Call("lag", (a, y)), inner, inner),
        st.builds(lambda a, b, r: Call("ces", (a, b, r)), pair, pair, inner),
    )


@given(st.recursive(leaves, grow, max_leaves=12))
def test_text_round_trips(root):
    formula = Formula(root)
    try:
        again = parse_expression(formula.text)
    except FormulaError as error:  # a constant part may be out of range; the text itself must always read
        assert any(why in str(error) for why in ("constant", "power", "expand", "by zero"))  # noqa: PT017
        return
    assert again == formula
    assert again.text == formula.text


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text):
    for read in (parse, parse_expression, parse_condition):
        try:
            read(text)
        except FormulaError as error:
            assert str(error).isprintable()  # noqa: PT017


@pytest.mark.parametrize(
    "text",
    [
        "where(machine >= 1 EFLOP/s, a, b)", "where(machine/price + 2*x >= 1e18 FLOP/(s*USD), a, b)",
        'where(kind == "super", a, b)', "1 USD <= price", "x >= -2 m**2", "x*(1000000 USD) >= 2 FLOP/s",
        "x*(-1 GB) - 1 GB", "x*(growth >= 0.1 1/year)", "(a > b)*(c > d)", "min(a > b, c > d) >= 1",
        "since(machine >= 1 EFLOP/s) + once(x < 3)", "growth(maximum(growth), 2)*growth**maximum",
        "(a > b) == (c > d)", "ces([x, y], [w, 1 - w], rho)",
    ],
)  # fmt: skip
def test_canonical_texts(text):
    assert parse_expression(text).text == text


def test_a_function_is_one_only_before_a_parenthesis():
    more = sorted(set(SCENARIO_FUNCTIONS) - set(FUNCTIONS))
    for name in more:
        assert parse_expression(f"2*{name}").names == (name,)
        assert parse(f"a*{name}").names == ("a", name)


def test_conditions_keep_their_sides():
    condition = parse_condition("machine/2 >= 1 EFLOP/s")
    assert condition.right.root == Measured(1.0, "EFLOP/s")
    assert condition.text == "machine/2 >= 1 EFLOP/s"
    assert condition.formula == parse_expression("machine/2 >= 1 EFLOP/s")
    assert parse_condition('kind == "super"').op == "=="


def test_latex():
    assert parse_expression("where(x >= 1 EFLOP/s, a, b)").latex() == (
        r"\operatorname{where}\left(x \ge 1\,\mathrm{EFLOP/s}, a, b\right)"
    )
    assert parse_expression('(k == "a")*ces([x, y], [w, v], 1)').latex() == (
        r"\left(k = \text{a}\right) \, \operatorname{ces}\left(\left[x, y\right], \left[w, v\right], 1\right)"
    )


# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("clip(x, 0, 1)", {"x": [-1.0, 0.5, 3.0]}, [0.0, 0.5, 1.0]),
        ("where(x > 1, 10, 1/x)", {"x": [0.5, 1.0, 2.0]}, [2.0, 1.0, 10.0]),
        ("where(x, 1, 2)", {"x": [0.0, 1.0]}, [2.0, 1.0]),
        ("(x >= 1) + (x == 1)", {"x": [0.0, 1.0, 2.0]}, [0.0, 2.0, 1.0]),
        ("logistic(x)", {"x": [0.0, 800.0, -800.0]}, [0.5, 1.0, 0.0]),
        ("saturate(v, 2)", {"v": [0.0, 2.0, 1e9]}, [0.0, 2 * (1 - math.exp(-1)), 2.0]),
        ("softmin(x, 2, 1)", {"x": [2.0, 0.0, 1e300]}, [1.0, 0.0, 2.0]),
        ("ces([x, 4], [0.5, 0.5], 1)", {"x": [2.0, 0.0]}, [3.0, 2.0]),
        ("ces([x, 4], [0.5, 0.5], 0)", {"x": [1.0, 0.0]}, [2.0, 0.0]),
        ("ces([x, 4], [0.5, 0.5], -1)", {"x": [4.0, 0.0, 2.0]}, [4.0, 0.0, 8 / 3]),
        ("ces([x, 4], [0, 1], 0.5)", {"x": [0.0, 1.0]}, [4.0, 4.0]),
        ('where(kind == "b", 1, 2)', {"kind": ["a", "b"]}, [2.0, 1.0]),
        ('("b" == kind)*x', {"kind": ["a", "b"], "x": 3.0}, [0.0, 3.0]),
    ],
)
def test_values(text, values, expected):
    np.testing.assert_allclose(parse_expression(text).evaluate(values), expected, rtol=1e-14, atol=1e-300)


def test_what_is_no_number_stays_none():
    nan = math.nan
    for text in ("x > 1", "1 >= x", "where(x > 1, 1, 2)", "clip(x, 0, 1)", "softmin(x, 1, 4)"):
        assert math.isnan(value(text, x=nan)), text
    assert value("where(y > 1, 1, x)", x=nan, y=2.0) == 1.0  # what is not taken does not count
    assert math.isnan(value("softmin(x, 1, 4)", x=-1.0))
    assert math.isnan(value("softmin(x, 1, s)", x=1.0, s=0.0))
    assert math.isnan(value("ces([x, 1], [0.5, 0.5], 1)", x=-1.0))
    assert math.isnan(value("ces([1, 2], [w, 0.5], 1)", w=0.6))
    assert math.isnan(value("ces([1, 2], [w, 1 - w], 1)", w=-0.5))


@given(positive, positive, st.floats(0.1, 200.0), st.floats(1e-3, 1e3))
def test_softmin_stays_below_the_smallest_and_scales(a, b, sharpness, factor):
    soft = value("softmin(a, b, s)", a=a, b=b, s=sharpness)
    assert min(a, b) * 2 ** (-1 / sharpness) * (1 - 1e-12) <= soft <= min(a, b) * (1 + 1e-15)
    scaled = value("softmin(f*a, f*b, s)", a=a, b=b, s=sharpness, f=factor)
    assert scaled == pytest.approx(factor * soft, rel=1e-11)


@given(positive, positive)
def test_softmin_tends_to_the_smallest(a, b):
    gaps = [min(a, b) - value("softmin(a, b, s)", a=a, b=b, s=s) for s in (1.0, 10.0, 100.0, 1e6)]
    assert all(x >= y - 1e-15 * min(a, b) for x, y in itertools.pairwise(gaps))
    assert gaps[-1] <= 1e-6 * min(a, b)


@given(positive, positive, st.floats(0.01, 0.99), st.floats(-20, 20))
def test_ces_agrees_with_its_definition_and_is_a_mean(x, y, w, rho):
    found = value("ces([x, y], [w, 1 - w], rho)", x=x, y=y, w=w, rho=rho)
    assert min(x, y) * (1 - 1e-12) <= found <= max(x, y) * (1 + 1e-12)
    if abs(rho) > 0.1:
        plain = (w * x**rho + (1 - w) * y**rho) ** (1 / rho)
        assert found == pytest.approx(plain, rel=1e-10)


@given(positive, positive, st.floats(0.01, 0.99), st.sampled_from([1, -1]), st.floats(-320, -4))
def test_ces_is_smooth_through_cobb_douglas(x, y, w, sign, decades):
    """To second order in rho, ln F = m + rho*v/2, with the mean m and the variance v of ln x."""
    rho = sign * 10.0**decades
    found = math.log(value("ces([x, y], [w, 1 - w], rho)", x=x, y=y, w=w, rho=rho))
    mean = w * math.log(x) + (1 - w) * math.log(y)
    spread = w * (1 - w) * math.log(x / y) ** 2
    third = abs(rho) ** 2 * abs(math.log(x / y)) ** 3
    assert found == pytest.approx(mean + rho * spread / 2, abs=1e-13 * (1 + abs(mean) + spread) + third)


def test_arrays_broadcast():
    found = value("ces([x, y], [w, 1 - w], rho)", x=np.ones((3, 1)), y=np.full(4, 4.0), w=0.5, rho=0.0)
    np.testing.assert_allclose(found, np.full((3, 4), 2.0))
    assert value("softmin(x, y, 4)", x=np.ones((3, 1)), y=np.ones(2)).shape == (3, 2)


def test_what_needs_more_than_numbers_says_so():
    with pytest.raises(FormulaError, match=r"'growth\(x\)' reads a path over time"):
        value("2*growth(x)", x=1.0)
    with pytest.raises(FormulaError, match="'1 USD' has a unit"):
        value("x > 1 USD", x=1.0)
    with pytest.raises(FormulaError, match="belongs to the expressions of scenarios"):
        parse_expression("clip(x, 0, 1)").solve("x", 1.0)
