"""Derivatives from the formula's own tree: against sympy at 30 digits, at edges, of any size, and read from nowhere."""

import copy
import itertools
import math
import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import sympy as sp

import forecast
from forecast import Scenario, claim_verdicts as claims, units
from forecast.cli.fit import fit_arguments
from forecast.contract.specs import ClaimSpec
from forecast.errors import ForecastError, FormulaError
from forecast.fit.protocols import check_rule
from forecast.formula import FUNCTIONS, Binary, Call, Name, Number, Unary, parse, parse_condition
from forecast.formula.derivatives import DERIVATIVE_RULES, Derivatives
from forecast.formula.expression_graph import ExpressionGraph
from forecast.laws import Law

THEIRS = {"abs": sp.Abs, "max": sp.Max, "min": sp.Min, "heaviside": sp.Heaviside}
THEIRS |= {"log2": lambda x: sp.log(x) / sp.log(2), "log10": lambda x: sp.log(x) / sp.log(10)}
THEIRS |= {"cbrt": lambda x: sp.sign(x) * sp.Abs(x) ** sp.Rational(1, 3)}
THEIRS |= {"expm1": lambda x: sp.exp(x) - 1, "log1p": lambda x: sp.log(1 + x)}


def exact(node):
    """Write a tree with sympy's own functions, over real names."""
    match node:
        case Number(value):
            return sp.pi if value == math.pi else sp.Integer(int(value)) if value == int(value) else sp.Float(value, 30)
        case Name(name):
            return sp.Symbol(name, real=True)
        case Unary(_, operand):
            return -exact(operand)
        case Call(function, args):
            return THEIRS.get(function, getattr(sp, function, None))(*map(exact, args))
        case Binary(op, left, right):
            a, b = exact(left), exact(right)
            return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}.get(
                op, lambda: a**b
            )()


LAWS = {
    "chinchilla": "E + A*N**-alpha + B*D**-beta",
    "broken": "a + b*x**-c0*(1 + (x/d)**(1/f))**(-c1*f)",
    "kaplan": "((Nc/x)**(aN/aD) + Dc/D)**aD",
    "farseer": "exp(e + p*x**g) + exp(q + r*x**h)*D**-exp(s + t*x**u)",
    "logistic": "E + A/(1 + exp(-k*(x - x0)))",
    "rational": "(b1 + b2*x + b3*x**2)/(1 + b4*x + b5*x**2)",
    "peaks": "b1*exp(-b2*x) + b3*exp(-(x - b4)**2/b5**2)",
    "roszman": "b1 - b2*x - atan(b3/(x - b4))/pi",
    "enso": "b1 + b2*cos(2*pi*x/12) + b3*sin(2*pi*x/12) + b5*cos(2*pi*x/b4) + b6*sin(2*pi*x/b4)",
    "softplus": "E + s*log(1 + exp(a + b*log(N) - c*log(x)))",
    "powers": "a**2*x**-2 + b**-3*x**4 + c**0.5*x**-0.5 + (a*x)**1.7 + 2**(b*x) + x**7 + (a + x)**-1.5",
    "kinks": "max(a*x, b) - min(a, x, c)*b + abs(b - x)*sign(c - x) + heaviside(a*x - b)*c**2",
    "towers": "(a + x)**(b + x)**(c*x)",
    "repeated": "(a*x + b)*(a*x + b)/(a*x + b)**3 + exp(log(b*x)) + log(exp(a*x))",
    **{name: f"a*{name}(b*x)**2 + {name}(c)" for name in FUNCTIONS if FUNCTIONS[name].most == 1 and name != "ceil"},
    "acosh": "sqrt(x)*cosh(a) + cbrt(a*x)*erfc(b)/expm1(c*x) + log1p(a*x)*tan(b)",
}


@pytest.mark.parametrize("signs", [1, -1])
@pytest.mark.parametrize("name", LAWS)
def test_first_and_second_derivatives_to_ten_digits(name, signs):
    formula = parse(LAWS[name])
    parameters = [n for n in formula.names if n not in ("x", "N", "D")]
    rng = np.random.default_rng(len(name))
    limit = 0.35 if name in ("asin", "acos", "atan") else 0.9
    values = {n: float(np.float32(rng.uniform(0.15, limit))) for n in formula.names}
    if signs < 0:  # nothing is known to be positive
        values = {n: -v if n in parameters[:1] else v for n, v in values.items()}
    law = Law(LAWS[name], variables=[n for n in formula.names if n not in parameters])
    value, gradient, hessian = law.program().evaluate({**values, "x": np.array([values.get("x", 1.0)] * 2)}, 2)
    whole, at = exact(formula.root), {sp.Symbol(n, real=True): sp.Float(v, 30) for n, v in values.items()}

    def close(found, truth):
        truth = complex(truth.evalf(30, subs=at))
        found = float(np.ravel(found)[0])
        if abs(truth.imag) > 1e-12 or not math.isfinite(truth.real):
            return math.isnan(found) or math.isinf(found)
        return found == pytest.approx(truth.real, rel=1e-10, abs=1e-11)

    assert close(value, whole)
    if math.isnan(float(np.ravel(value)[0])):
        return
    slopes = [sp.diff(whole, sp.Symbol(p, real=True)) for p in parameters]
    for i, slope in enumerate(slopes):
        assert close(gradient[i], slope), parameters[i]
        for j, q in list(enumerate(parameters))[i:]:
            curve = sp.diff(slope, sp.Symbol(q, real=True)).replace(sp.DiracDelta, lambda *args: sp.Integer(0))
            assert close(hessian.get((i, j), 0.0), curve), (parameters[i], q)


def test_every_function_has_a_rule():
    assert set(DERIVATIVE_RULES) | {"max", "min"} == set(FUNCTIONS)


def test_known_positive_or_not_the_derivatives_are_the_same():
    for text in LAWS.values():
        names = parse(text).names
        law = Law(text, variables=[n for n in names if n in ("x", "N", "D")])
        values = dict(zip(names, np.random.default_rng(1).uniform(0.2, 0.9, len(names)), strict=True))
        at = {n: np.array([v, v]) for n, v in values.items()}  # all positive
        mixed = {n: np.array([v, -1.0]) for n, v in values.items()}  # of no name it is known
        (_, first, second), (_, other, bends) = law.program().evaluate(at, 2), law.program().evaluate(mixed, 2)
        pairs = law.program().curved()
        one, two = ([np.ravel(g)[0] for g in each] for each in (first, other))
        one += [np.ravel(second.get(pair, 0.0))[0] for pair in pairs]
        two += [np.ravel(bends.get(pair, 0.0))[0] for pair in pairs]
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-10)


# --- edges ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "values", "expected"),
    [
        ("(a*x)**1.7", {"a": 2.0, "x": 0.0}, {"a": 0.0}),
        ("(x - a)**1.5", {"a": 2.0, "x": 2.0}, {"a": 0.0}),
        ("(x - a)**(b + 1)", {"a": 2.0, "x": 2.0, "b": 0.5}, {"a": 0.0}),
        ("(x - a)**2", {"a": 2.0, "x": 2.0}, {"a": 0.0}),
        ("(a + x)**b", {"a": 0.0, "x": 0.0, "b": 2.5}, {"a": 0.0}),
        ("a*x**3 + x**-a", {"a": 1.0, "x": 1.0}, {"a": 1.0}),
        ("log(a*x)", {"a": 1e-300, "x": 1e-5}, {"a": 1e300}),
        ("exp(a*x)", {"a": -1e6, "x": 1.0}, {"a": 0.0}),
        ("max(a, x)", {"a": 1.0, "x": 1.0}, {"a": 0.5}),
        ("min(a, x)", {"a": 1.0, "x": 1.0}, {"a": 0.5}),
        ("abs(a - x)", {"a": 1.0, "x": 1.0}, {"a": 0.0}),
        ("atan(a/x)", {"a": 1.0, "x": 0.0}, {"a": math.nan}),
        ("ceil(a*x)*b", {"a": 0.3, "b": 2.0, "x": 1.0}, {"a": 0.0, "b": 1.0}),
        ("cbrt(a*x)", {"a": -8.0, "x": 1.0}, {"a": 1 / 12}),
    ],
)
def test_edges(law, values, expected):
    made = Law(law, variables=["x"])
    gradient = made.program().evaluate(values, 2)[1]
    for name, slope in expected.items():
        found = float(np.ravel(gradient[made.parameters.index(name)])[0])
        assert found == pytest.approx(slope, rel=1e-12, abs=0, nan_ok=True)


def test_what_is_there_already_is_used_again():
    graph = ExpressionGraph(["A", "k", "b"], ["x"], [])
    whole, derivatives = graph.tree(parse("A*exp(-k*x)*x**b").root), Derivatives(graph)
    first = [derivatives.by(name, whole) for name in ("A", "k", "b")]
    second = [derivatives.by(name, node) for name in ("A", "k", "b") for node in first]
    used = [graph.nodes[at][0] for at in graph.needed([whole, *first, *second])]
    assert (used.count("exp"), used.count("**"), used.count("log")) == (1, 1, 1)
    assert [derivatives.by(n, graph.tree(parse("b + A*x").root)) for n in ("b", "A")] == [
        derivatives.one, graph.names["x"]
    ]  # fmt: skip


# --- sizes ------------------------------------------------------------------------------------------------------------

TOWER = "**".join(f"(a{i} + x)" for i in range(12))
#: Deep, and inside the limits.
DEEP = {
    "tower": TOWER,
    "calls": "min(a, " * 55 + "x" + ")" * 55,
    "minus": "-" * 110 + "(a*x)",
    "sum": "a" + " + x" * 118,
    "powers": "a*" + "**".join(["x"] * 118),
    "functions": "tanh(sin(" * 28 + "a*x" + "))" * 28,
    "fractions": "1/(a + x/(b + " * 28 + "c" + "))" * 28,
    "kaplan": "((a/x)**(b/c) + " * 29 + "d/x" + ")**c" * 29,
    "exponentials": "+".join(f"a{i}*exp(-b{i}*x)" for i in range(8)),
    "terms": "+".join(f"a{i}*x**b{i}" for i in range(110)),
}


@pytest.mark.parametrize("name", DEEP)
def test_bad_input_075_a_deep_law_goes_through_everything_that_walks_it(name):
    law = Law(DEEP[name], variables=["x"])
    values = dict.fromkeys(law.parameters, 1.1) | {"x": np.linspace(1, 2, 5)}
    value, gradient, hessian = law.program().evaluate(values, 2)
    assert value.shape == (5,)
    assert len(gradient) == len(law.parameters)
    assert all(i <= j for i, j in hessian)
    assert parse(law.expression) == law.formula
    assert hash(parse(law.expression)) == hash(law.formula)
    assert law.latex()
    assert repr(law.formula.root)
    assert units.infer(law.formula, dict.fromkeys(law.formula.names, "")) == ""
    assert law.prefixed("p_").parameters[0] == f"p_{law.parameters[0]}" or name == "terms"
    for again in (copy.deepcopy(law), pickle.loads(pickle.dumps(law))):
        assert again.record() == law.record()
        np.testing.assert_allclose(again.value(dict.fromkeys(law.parameters, 1.1), x=values["x"]), value, rtol=1e-12)
    for again in (copy.deepcopy(law.formula), pickle.loads(pickle.dumps(law.formula))):
        assert again == law.formula


@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param("**".join(f"(a{i} + x)" for i in range(45)), id="45", marks=pytest.mark.slow),
        pytest.param("**".join(f"(a{i} + x + b{i}*x**2)" for i in range(25)), id="25 of 3", marks=pytest.mark.slow),
    ],
)
def test_bad_input_075_derivatives_have_a_limit_and_say_so(hostile):
    law = Law(hostile, variables=["x"])
    tracemalloc.start()
    try:
        with pytest.raises(
            FormulaError, match=r"^formula '.*': its derivatives have more than 100000 parts; a formula"
        ):
            law.program().evaluate(dict.fromkeys(law.parameters, 1.1) | {"x": np.ones(3)}, 2)
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("hostile", "says"),
    [
        ("min(a, " * 61 + "x" + ")" * 61, "nested parentheses"),
        ("(" * 1900 + "x" + ")" * 1900, "nested parentheses"),
        ("-" * 300 + "x", "deep"),
        ("+".join(["x"] * 100_000), "characters"),
        ("9**9**9*x", "out of range"),
        ("**".join(["x"] * 400), "deep"),
        ("max(" + ",".join(f"min({','.join(f'a{i}_{j}' for j in range(8))})" for i in range(8)) + ")", ""),
        ("+".join(f"max({','.join(f'a{i}_{j}' for j in range(8))})" for i in range(33)), "264 names; the limit is 256"),
        ("<".join(["x"] * 500), "comparison"),
    ],
)
def test_bad_input_075_limits_of_a_text(hostile, says):
    for read in (parse, parse_condition):
        shown = hostile if read is parse or "<" in hostile else f"{hostile} > 1"
        if says:
            with pytest.raises(FormulaError, match=says):
                read(shown)
        else:
            read(shown)


HOSTILE = "min(a, " * 61 + "x" + ")" * 61
DATA = {"x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 2.1, 2.9, 4.0]}
LINE = Law("a + b*x", variables=["x"])


def scenario(expression="2", when="machine >= brain", **ranking):
    """Read a scenario with one hostile text in it."""
    record = {
        "until": 2030,
        "choices": {"card": ["old", "new"]},
        "quantities": {"machine": {"expression": expression}, "brain": {"expression": "3"}},
        "questions": {"parity": {"when": when}, "best": {"rank": "machine", "over": "card", **ranking}},
    }
    return Scenario.from_dict(record, name="s", where="s.toml")


def claim(formula):
    values = {"a": 1, "x": 1}
    return claims._compute(
        ClaimSpec(name="c", group="g", statement="s", stated="1", formula=formula, values=values, reference="r")
    )


PLACES = {
    "law": lambda: Law(HOSTILE, variables=["x"]),
    "equals": lambda: Law("y", equals=HOSTILE, between=("a", "b"), variables=["x"]),
    "implicit left": lambda: Law(HOSTILE, equals="x", between=("a", "b"), variables=["x"], output="a"),
    "between": lambda: Law("y + a", equals="x", between=(HOSTILE, 1.0), variables=["x"]),
    "requires": lambda: Law("a*x", variables=["x"], requires={HOSTILE: "size"}),
    "let": lambda: LINE.fit(DATA, let={"x": HOSTILE}),
    "y": lambda: LINE.fit(DATA, y=HOSTILE),
    "cost": lambda: forecast.law("scaling/chinchilla").published("besiroglu2024").allocate(compute=1e20, cost=HOSTILE),
    "units": lambda: units.infer(HOSTILE, {"a": "", "x": ""}),
    "expression": lambda: scenario(expression=HOSTILE),
    "when": lambda: scenario(when=f"{HOSTILE} > 1"),
    "rank": lambda: scenario(rank=HOSTILE),
    "subject_to": lambda: scenario(subject_to=[f"{HOSTILE} > 1"]),
    "claim": lambda: claim(HOSTILE),
    "rule for rows": lambda: check_rule(f"{HOSTILE} > 1"),
    "--where": lambda: fit_arguments._condition_mask({}, f"{HOSTILE} > 1"),
}


@pytest.mark.parametrize("place", PLACES)
def test_bad_input_075_every_place_has_the_same_limits(place):
    with pytest.raises(ForecastError, match="has more than 60 nested parentheses"):
        PLACES[place]()


# --- no cache ---------------------------------------------------------------------------------------------------------

ALONE = """
import os, sys
import numpy as np
import forecast
opened = []
home = os.environ["HOME"]
def hook(event, args):  # what is asked of a module that is loaded at first use asks for it again
    if args and not event.startswith("object.") and str(args[0]).startswith(home):
        opened.append(event)
sys.addaudithook(hook)
law = forecast.law("scaling/chinchilla")
x = np.geomspace(1e8, 1e10, 40)
opened.clear()
law.program().evaluate(dict.fromkeys(law.parameters, 0.4) | {"N": x, "D": 20 * x}, 2)
fit = law.fit({"N": x, "D": x[::-1] * 20, law.output: 1.8 + 480 * x**-0.35 + 2000 * (20 * x[::-1]) ** -0.37})
fit.stderr
print("sympy" in sys.modules, opened)
"""


@pytest.mark.slow
def test_bad_input_016_019_derivatives_are_neither_written_nor_read(tmp_path):
    environment = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "FORECAST_CACHE": str(tmp_path), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, check=False, timeout=120, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "False []"
    assert [p for p in tmp_path.rglob("*") if p.suffix == ".json"] == []


# --- what scipy's users write -----------------------------------------------------------------------------------------


def test_certified_problems_with_pi_and_atan_can_be_written():
    x = np.linspace(1, 40, 60)
    law = Law("b1 + b2*cos(2*pi*x/12) + b3*sin(2*pi*x/12) + b5*cos(2*pi*x/b4)", variables=["x"])
    truth = {"b1": 10.5, "b2": 3.0, "b3": 0.5, "b5": -1.6, "b4": 26.0}
    fit = law.fit({"x": x, "y": law.value(truth, x=x)}, start={n: 1.05 * v for n, v in truth.items()})
    assert all(float(fit.params[n]) == pytest.approx(v, rel=1e-6) for n, v in truth.items())
    roszman = Law("b1 - b2*x - atan(b3/(x - b4))/pi", variables=["x"])
    assert roszman.parameters == ("b1", "b2", "b3", "b4")
    assert "pi" in roszman.expression
    assert r"\pi" in roszman.latex()
    assert parse("pi").evaluate({}) == math.pi
    assert parse("2*pi*x").substitute({"x": math.pi}).text == "2*pi*pi"


@pytest.mark.parametrize("name", ["acos", "asin", "atan", "cosh", "erfc", "expm1", "log1p", "sinh", "tan", "cos"])
def test_functions_take_and_give_plain_numbers(name):
    infer = units.infer
    assert infer(f"{name}(x/y)", {"x": "m", "y": "m"}) == ""
    with pytest.raises(ForecastError, match=f"{name}\\(\\) needs a dimensionless argument"):
        infer(f"{name}(x)", {"x": "m"})
    assert infer("cbrt(x)", {"x": "m**3"}) == "m"


def test_laws_and_all_they_hold_are_copied():
    laws = [forecast.law(name) for name in ("scaling/chinchilla", "scaling/broken-power", "scaling/m4")]
    laws.append(Law("y + a*y**2", equals="b*x", between=(0.0, 10.0), variables=["x"], requires={"x": "size"}))
    laws.append(laws[0] + 2)
    for law, how in itertools.product(laws, (copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x)))):
        law.program().evaluate(dict.fromkeys((*law.parameters, *law.variables), 0.5), 2)
        again = how(law)
        assert again.text == law.text
        assert again.record().keys() == law.record().keys()
        assert again.published_fits == law.published_fits
