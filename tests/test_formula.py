"""The safe grammar: what it reads, what it computes, what it refuses, and how soon."""

import math
import time
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forecast.errors import FormulaError
from forecast.formula import (
    FUNCTIONS,
    Binary,
    Call,
    Formula,
    Name,
    Number,
    Unary,
    check_name,
    from_sympy,
    parse,
    parse_condition,
)

SECOND = 1.0


def refused(text, read=parse, **options):
    """Read what must be refused; return the message."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FormulaError) as caught:
            read(text, **options)
    assert time.perf_counter() - began < SECOND
    message = str(caught.value)
    assert message.isprintable()
    return message


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


leaves = st.one_of(
    st.floats(0, 1e6, allow_nan=False).map(abs).map(Number),
    st.sampled_from(["x", "E", "N", "lambda_"]).map(Name),
)


def grow(inner):
    return st.one_of(
        inner.map(lambda a: Unary("-", a)),
        st.builds(Binary, st.sampled_from(["+", "-", "*", "/"]), inner, inner),
        st.builds(Binary, st.just("**"), inner, st.sampled_from([Number(2.0), Number(0.5), Name("a")])),
        inner.map(lambda a: Call("exp", (a,))),
        st.builds(lambda a, b: Call("max", (a, b)), inner, inner),
    )


@given(st.recursive(leaves, grow, max_leaves=12))
def test_text_round_trips(root):
    formula = Formula(root)
    try:
        again = parse(formula.text)
    except FormulaError as error:  # a constant part may be out of range; the text itself must always read
        assert "constant" in str(error) or "power" in str(error) or "expand" in str(error)  # noqa: PT017
        return
    assert again == formula
    assert again.text == formula.text


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        parse(text)
    except FormulaError as error:
        assert str(error).isprintable()  # noqa: PT017


# --- what it computes -------------------------------------------------------------------------------------------------


def test_arrays_broadcast():
    value = parse("a*x + b").evaluate({"a": np.array([[1.0], [2.0]]), "x": [1, 2, 3], "b": 1.0})
    np.testing.assert_array_equal(value, [[2, 3, 4], [3, 5, 7]])
    assert value.dtype == np.float64


def test_inputs_are_left_alone():
    x = np.array([1.0, 2.0])
    found = parse("x").evaluate({"x": x})
    found[0] = 9
    assert x[0] == 1


@pytest.mark.bad_input(76)
def test_bad_input_076_overflow_is_infinite_and_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value = parse("exp(a*x)").evaluate({"a": 1.0, "x": np.array([1e6, 0.0])})
        assert math.isnan(parse("log(x)").evaluate({"x": -1.0}))
        assert math.isnan(parse("x**0.3").evaluate({"x": -1.0}))
        assert parse("1/x").evaluate({"x": 0.0}) == math.inf
    np.testing.assert_array_equal(value, [np.inf, 1.0])


def test_missing_and_wrong_values_are_named():
    with pytest.raises(FormulaError, match="no value for 'b'"):
        parse("a + b").evaluate({"a": 1})
    with pytest.raises(FormulaError, match="value of 'a': expected numbers, got str"):
        parse("a").evaluate({"a": "two"})
    with pytest.raises(FormulaError, match=r"do not broadcast: a \(2,\), b \(3,\)"):
        parse("a + b").evaluate({"a": [1, 2], "b": [1, 2, 3]})


@pytest.mark.parametrize(
    "text",
    [
        "E + A*N**-alpha + B*D**-beta",
        "A/(1 + exp(-k*(t - t0)))",
        "max(a, b, 0.1)*min(x, 2) - abs(x)*a",
        "sign(x)*x + heaviside(x)*x**2",
        "erf(x/2)*tanh(x) + sin(x)*cos(x)",
        "log2(x) + log10(x) + log(x)*sqrt(x)",
        "x**x + 2**(x/3) + 1/3/x",
        "I*E**S*N/(gamma + beta)",
        "(a + b)**200/1e30",
        "exp(1000*x/999)",
    ],
)
def test_derivatives_agree_with_finite_differences(text):
    formula = parse(text)
    here = {n: 0.6 + 0.13 * i for i, n in enumerate(formula.names)}
    for name in formula.names:
        slope = formula.derivative(name)
        step = 1e-6
        ahead, behind = ({**here, name: here[name] + s} for s in (step, -step))
        numeric = (formula.evaluate(ahead) - formula.evaluate(behind)) / (2 * step)
        assert slope.evaluate(here) == pytest.approx(numeric, rel=1e-6, abs=1e-9)
        assert parse(slope.text).evaluate(here) == pytest.approx(slope.evaluate(here), rel=1e-14)


def test_euler_comes_back_as_exp():
    import sympy

    assert from_sympy(sympy.E * sympy.Symbol("x"), ["x"]).text == "exp(1)*x"
    with pytest.raises(FormulaError, match="unknown name 'y'"):
        from_sympy(sympy.Symbol("y"), ["x"])
    with pytest.raises(FormulaError, match="outside the grammar"):
        from_sympy(sympy.I, [])


@pytest.mark.parametrize(
    "text", ["exp(1000*log(2*x)*1000*1000)", "((2*x)**90)**90", "(3*x)**10000", "exp(1e6*log(2*x))"]
)
def test_exact_arithmetic_cannot_explode_inside_sympy(text):
    formula = parse(text)
    began = time.perf_counter()
    try:
        formula.derivative("x")
    except FormulaError as error:
        assert "out of range" in str(error)  # noqa: PT017
    assert time.perf_counter() - began < SECOND


@pytest.mark.parametrize("text", ["tanh(sin(" * 28 + "x" + "))" * 28, "log(" * 55 + "x" + ")" * 55])
def test_deep_nesting_cannot_hang_sympy(text):
    formula = parse(text)
    began = time.perf_counter()
    assert formula.derivative("x").names == ("x",)
    assert time.perf_counter() - began < 2 * SECOND


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_has_its_counterpart_in_sympy(name):
    formula = parse(f"{name}(x, 2)" if FUNCTIONS[name].most > 1 else f"{name}(x)")
    back = from_sympy(formula.to_sympy(), ["x"])
    assert back.evaluate({"x": 0.7}) == pytest.approx(formula.evaluate({"x": 0.7}), rel=1e-14)


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
        ("2015 + d*log2(r)", "d", 1.7),
        ("2015 + d*log2(r)", "r", 40.0),
        ("E + A*N**-alpha", "alpha", 0.34),
        ("E + A*N**-alpha", "N", 1.3),
        ("a*exp(-b*t) - 3", "b", 0.2),
        ("a/(b - sqrt(c))", "c", 4.0),
        ("log10(tanh(x))/2", "x", 0.8),
        ("a*x**2 + b*x", "x", 1.5),
        ("x/(x + k)", "x", 2.5),
        ("1 - 2**-x", "x", 3.0),
    ],
)
def test_solutions_give_the_value_back(text, name, truth):
    formula = parse(text)
    values = {n: 2.0 + i for i, n in enumerate(formula.names)} | {name: truth}
    target = formula.evaluate(values)
    others = {n: v for n, v in values.items() if n != name}
    found = [f.evaluate(others) if isinstance(f, Formula) else f for f in formula.solve(name, target)]
    assert any(f == pytest.approx(truth, rel=1e-9) for f in found)
    numbers = formula.substitute(others).solve(name, target)
    assert any(isinstance(f, float) and f == pytest.approx(truth, rel=1e-9) for f in numbers)


def test_what_cannot_be_solved_says_so():
    for text, says in [
        ("a + b", "does not depend"),
        ("sin(x)", "no single inverse"),
        ("x + exp(x) + cos(x)", "no closed form"),
    ]:
        with pytest.raises(FormulaError, match=says):
            parse(text).solve("x", 1.0)
    with pytest.raises(FormulaError, match="too large"):
        parse("+".join(f"x**{i}" for i in range(1, 60))).solve("x", 1.0)


# --- conditions -------------------------------------------------------------------------------------------------------


def test_conditions():
    condition = parse_condition("machine>=brain/2")
    assert (condition.left.text, condition.op, condition.right.text) == ("machine", ">=", "brain/2")
    assert condition.text == "machine >= brain/2"
    assert condition.names == ("machine", "brain")
    below = parse_condition("price < 100")
    assert (below.greater_side.text, below.lesser_side.text) == ("100", "price")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a < b < c", "exactly one"),
        ("a == b", "one of >=, >, <=, <"),
        ("a + b", "expected one comparison"),
        ("a > b and c > d", "'and' is a Python keyword"),
        ("a > __import__('os').system('x')", "attribute access"),
        ("a > 'b'", "text in quotes"),
        ("a > 9**9**9", "out of range"),
        ("a in b", "'in' is a Python keyword"),
        (7, "expected text, got int"),
    ],
)
def test_conditions_refused(text, says):
    message = refused(text, parse_condition, where="s.toml [questions.q] when")
    assert says in message
    assert message.startswith("s.toml [questions.q] when: ")


# --- what it refuses --------------------------------------------------------------------------------------------------


@pytest.mark.bad_input(1)
def test_bad_input_001_import_and_system(tmp_path):
    marker = tmp_path / "P"
    text = f"__import__('os').system('touch {marker}')"
    assert "attribute access '.system' is outside the grammar (position 1)" in refused(text)
    for place in (f"1 + {text}", f"exp({text})", f"max(1, {text})", f"-{text}", f"x**{text}"):
        refused(place)
        refused(f"x > {place}", parse_condition)
    assert not marker.exists()


@pytest.mark.bad_input(2)
def test_bad_input_002_ways_out_through_attributes():
    for text in (
        "().__class__.__base__.__subclasses__()[0].__init__.__globals__['system']('x')",
        "().__class__",
        "x.__class__",
        "exp.__globals__",
        "x[0]",
        "(1).real",
        "'{0.__class__}'.format(x)",
        "f'{x.__class__}'",
    ):
        message = refused(text)
        assert "outside the grammar" in message or "no function" in message


@pytest.mark.bad_input(4)
def test_bad_input_004_hostile_names(tmp_path):
    marker = tmp_path / "P"
    for name in (
        f"__import__('os').system('touch {marker}')",
        "a b",
        "a-b",
        "1a",
        "",
        "__x",
        "x" * 65,
        "а",
        "x\n",
        "x\x00",
        None,
        3,
    ):
        assert "name" in refused(name, check_name)
    assert not marker.exists()


@pytest.mark.bad_input(5)
def test_bad_input_005_names_that_shadow():
    for name in (
        "exp",
        "min",
        "pi",
        "lambda",
        "None",
        "True",
        "False",
        "nan",
        "inf",
        "oo",
        "zoo",
        "draw",
        "time",
        "point",
        "level",
    ):
        assert f"try '{name}_'" in refused(name, check_name)
        refused(f"2*{name}")
        assert check_name(f"{name}_") == f"{name}_"
    for name in ("E", "I", "N", "S", "O", "Q", "C", "beta", "gamma", "zeta", "lambda_", "_x", "Symbol", "x" * 64):
        assert parse(check_name(name)).derivative(name).text == "1"


@pytest.mark.bad_input(75)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("9**9**9", "the constant '9**9**9' is out of range"),
        ("2**(10**9)", "out of range"),
        ("x**(10**9)", "power is too large"),
        ("factorial(10**7)", "unknown function 'factorial'"),
        ("+".join(["a"] * 100_000), "characters"),
        ("+".join(["a"] * 1900), "deep"),
        ("(" * 5000 + "x" + ")" * 5000, "characters"),
        ("(" * 150 + "x" + ")" * 150, "nested parentheses"),
        ("exp(" * 59 + "x" + "**x" * 100 + ")" * 59, "deep"),
        ("-" * 3000 + "x", "nested"),
        ("x**" * 1000 + "x", "deep"),
        ("(a+b+c+d)**200", "expand to more than"),
        ("((a+b)**100)**100", "expand to more than"),
        ("((x**50)**50)**50", "power is too large"),
        ("1" * 5000, "characters"),
        ("1" * 3000, "digits"),
        ("1e400", "too large"),
        ("*".join(["(a+b)"] * 40), "expand"),
        ("1/0", "out of range"),
        ("log(0)", "out of range"),
        ("sqrt(-1)", "no number"),
    ],
)
def test_bad_input_075_pathological_sizes(text, says):
    assert says in refused(text)


@pytest.mark.bad_input(78)
@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a*x^b", "write ** (position 4)"),
        ("2x", "explicit * between number and name (position 1)"),
        ("3 + 2x", "(position 5)"),
        ("a·x", "write * for a product (position 2)"),
        ("a×x", "write * for a product"),
        ("10%", "write 0.1 for 10% (position 3)"),
        ("10% * x", "write 0.1 for 10%"),
        ("a % b", "write 0.1 for 10%"),
        ("a − b", "write - for a minus"),
        ("x²", "write ** for a power"),
        ("β*x", "like alpha"),
        ("2(x)", "explicit *"),
        ("x(y)", "explicit *"),
        ("a b", "write every *"),
        ("y = a*x", "no '='"),
        ("sqr(x)", "did you mean 'sqrt'?"),
        ("x // y", "write /"),
    ],
)
def test_bad_input_078_hints(text, hint):
    assert hint in refused(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "()", "(", ")", "*", "a +", "a,b", "[a]", "{a}", "{a: b}", "'a'", '"a"', "b'a'", "1j", "0x1F",
        "1_000", "007", "...", "True", "None", "lambda x: x", "[x for x in y]", "{x for x in y}", "(x for x in y)",
        "(x := 1)", "x := 1", "f'{x}'", "a if b else c", "a and b", "not a", "~a", "a < b", "a == b", "a @ b", "a | b",
        "a << b", "a; b", "a # b", "a \\\n b", "a\x00b", "a\x1b[2Jb", "`a`", "a!", "$a", "a?", "exp()", "exp(a, b)",
        "exp(x=1)", "exp(*a)", "exp(**a)", "max(a)", "max(1,2,3,4,5,6,7,8,9)", "print(a)", "yield a", "await a",
        "import os", "а + b", "ｅxp(x)", "\ud800", "1if a else 2", "1e5e5", "1.2.3", "exp", "Exp(x)", "__a__", "a" * 65,
        None, 3, b"a",
    ],
)  # fmt: skip
def test_everything_else_is_refused(text):
    assert "formula" in refused(text)


def test_messages_say_where_and_hide_nothing_unprintable():
    message = refused("a\x1b[2J", where="file.toml [quantities.q]")
    assert message.startswith("file.toml [quantities.q]: formula 'a\\x1b[2J': character '\\x1b'")
    assert "name 'time': is a dimension of every result" in refused("2*time", where="here")
