"""Implicit laws: solved, differentiated, refused."""

import warnings

import numpy as np
import pytest

from forecast.contract.specs import LawSpec
from forecast.errors import FormulaError, PluginContractError, UsageError
from forecast.laws import Law
from forecast.laws.program import DifferenceProgram

M4 = {"expression": "(y-einf)/(e0-y)**alpha", "equals": "b*x**-c", "between": ("einf", "e0")}


def m4():
    return Law(variables=["x"], **M4)


def sample(rows=40, points=60, seed=0):
    rng = np.random.default_rng(seed)
    centre = {"einf": 0.1, "e0": 1.0, "alpha": 0.7, "b": 3.0, "c": 0.4}
    values = {n: v * (1 + 0.1 * rng.standard_normal((rows, 1))) for n, v in centre.items()}
    return values | {"x": 10 ** rng.uniform(0, 8, points)}


def test_names():
    law = m4()
    assert law.parameters == ("einf", "e0", "alpha", "b", "c")
    assert law.expression is None
    assert law.text == "(y - einf)/(e0 - y)**alpha = b*x**-c"
    assert law.latex().startswith(r"\frac{y - \mathrm{einf}}")
    assert law.linear == ()
    with pytest.raises(UsageError, match="is implicit and has no text form that gives 'y'"):
        _ = law.formula


def test_the_equation_holds_to_rounding():
    mpmath = pytest.importorskip("mpmath")
    values = sample()
    found = m4().value({k: v for k, v in values.items() if k != "x"}, x=values["x"])
    with mpmath.workdps(40):
        for b, i in ((0, 0), (3, 17), (11, 30), (25, 44), (39, 59)):
            e, e0, alpha, k, c = (mpmath.mpf(float(values[n][b, 0])) for n in ("einf", "e0", "alpha", "b", "c"))
            goal, low, high = k * mpmath.mpf(float(values["x"][i])) ** -c, e, e0
            for _ in range(110):
                middle = (low + high) / 2
                low, high = (middle, high) if (middle - e) / (e0 - middle) ** alpha < goal else (low, middle)
            assert abs(found[b, i] / float(low) - 1) < 1e-13


@pytest.mark.parametrize(
    ("left", "right", "ends", "closed"),
    [
        ("(y-e)/(f-y)", "b/x", ("e", "f"), "(e + b/x*f)/(1 + b/x)"),
        ("log(y)", "a + b*log(x)", (0, 1e9), "exp(a)*x**b"),
        ("-y**3", "a*x + b", (-100, 0), "-(a*x + b)**(1/3)"),
        ("exp(-y*k)", "a*x", (-50.0, 50.0), "-log(a*x)/k"),
    ],
)
def test_closed_forms(left, right, ends, closed):
    """Value, gradient and Hessian of an equation whose solution can be written."""
    solved = Law(closed, variables=["x"], output="w")
    law = Law(left, equals=right, variables=["x"], between=ends)
    rng = np.random.default_rng(0)
    sizes = {"e": (0.1, 0.2), "f": (2, 3)}
    values = {p: rng.uniform(*sizes.get(p, (0.5, 1.5)), (6, 1)) for p in law.parameters} | {"x": rng.uniform(0.5, 2, 8)}
    order = [solved.parameters.index(p) for p in law.parameters]
    f, g, h = law.program().evaluate(values, 2)
    f2, g2, h2 = solved.program().evaluate(values, 2)
    np.testing.assert_allclose(f, f2, rtol=1e-13, atol=1e-14)
    for i, one in enumerate(order):
        np.testing.assert_allclose(g[i], np.broadcast_to(g2[one], f.shape), rtol=1e-11, atol=1e-12)
        for j in range(i, len(order)):
            exact = h2.get((min(one, order[j]), max(one, order[j])), 0.0)
            np.testing.assert_allclose(h[i, j], np.broadcast_to(exact, f.shape), rtol=1e-9, atol=1e-10)


def test_derivatives_agree_with_differences():
    law, values = m4(), sample(6, 9)
    near = DifferenceProgram(law._form.value, law.parameters, ["x"]).evaluate(values, 2)
    f, g, h = law.program().evaluate(values, 2)
    np.testing.assert_array_equal(f, near[0])
    for one, two in zip(g, near[1], strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-7)
    for pair, two in near[2].items():
        np.testing.assert_allclose(h[pair], two, rtol=1e-4, atol=1e-4)


def test_far_out_it_is_at_its_ends_with_finite_derivatives():
    law = m4()
    p = {"einf": 0.1, "e0": 1.0, "alpha": 0.7, "b": 3.0, "c": 0.4}
    f, g, _ = law.program().evaluate({**p, "x": np.array([1e-60, 1e100])}, 1)
    np.testing.assert_allclose(f, [1.0, 0.1], rtol=1e-15)
    assert all(np.isfinite(row).all() for row in g)
    zero = law.value({**p, "einf": 0.0}, x=1e50)
    assert float(zero) == pytest.approx(3e-20, rel=1e-12)  # small, and to its own digits


def test_near_zero_between_wide_ends():
    law = Law("y + y**3", equals="a*x", variables=["x"], between=(-1e6, 1e3))
    x = np.array([-1e-20, 0.0, 1e-20, 1e-9, 2.0, -2.0])
    np.testing.assert_allclose(law.value({"a": 1.0}, x=x), [-1e-20, 0.0, 1e-20, 1e-9, 1.0, -1.0], rtol=1e-13)


def test_each_is_solved_as_if_alone():
    """How many are solved together, and which of them are done first, shows in no digit that counts."""
    rng = np.random.default_rng(3)
    law, ones = m4(), np.ones((60, 1))
    values = {"einf": rng.uniform(0, 1, (60, 1)), "alpha": np.exp(1.5 * rng.standard_normal((60, 1)))}
    values |= {"e0": values["einf"] + np.exp(4 * rng.standard_normal((60, 1))), "b": 10 * ones, "c": 0.5 * ones}
    x = np.geomspace(1e-3, 1e9, 40)
    together = law.value(values, x=x)
    alone = np.array([law.value({n: v[i] for n, v in values.items()}, x=x) for i in range(60)])
    np.testing.assert_allclose(together, alone, rtol=1e-13)
    assert np.isfinite(together).mean() > 0.95
    step = (law._form.left.evaluate({**values, "y": together}) / (values["b"] * x ** -values["c"]) - 1)[:, 5:20]
    assert np.nanmedian(np.abs(step)) < 1e-12


def test_no_solution_is_nan_and_silent():
    law = m4()
    good = {"einf": 0.1, "e0": 1.0, "alpha": 0.7, "b": 3.0, "c": 0.4}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for bad in ({"alpha": -0.5}, {"b": -1.0}, {"e0": 0.1}, {"e0": 0.05}, {"einf": np.nan}, {"c": -np.inf}):
            f, g, h = law.program().evaluate({**good, **bad, "x": np.array([2.0, 3.0])}, 2)
            assert np.isnan(f).all(), bad
            assert all(np.isnan(row).all() for row in [*g, *h.values()])
        mixed = law.value({**good, "alpha": np.array([[0.7], [-0.5]])}, x=np.array([2.0, 3.0]))
    assert np.isfinite(mixed[0]).all()
    assert np.isnan(mixed[1]).all()
    out_of_reach = Law("y", equals="a*x", variables=["x"], between=(0, 1))
    np.testing.assert_array_equal(out_of_reach.value({"a": 1.0}, x=[0.25, 2.0]), [0.25, np.nan])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"expression": "x - einf"}, "the output 'y' is not in the left side"),
        ({"equals": "b*x**-c + y"}, "the output 'y' is in the right side"),
        ({"between": None}, "between: expected the two names or numbers"),
        ({"between": ("einf",)}, "between: expected the two names or numbers"),
        ({"between": "ab"}, "between: expected the two names or numbers"),
        ({"between": ("einf", "top")}, "between: 'top' is not a parameter of the law"),
        ({"between": ("einf", "x")}, "between: 'x' is not a parameter of the law"),
        ({"between": ("einf", float("nan"))}, "a finite number"),
        ({"between": ("einf", None)}, "got NoneType"),
        ({"equals": "b*x^-c"}, "write **"),
        ({"equals": "b"}, "the declared variable 'x' is not in"),
        ({"variables": ["x", "y"]}, "the output 'y'"),
    ],
)
def test_refused(changes, says):
    with pytest.raises(FormulaError) as caught:
        Law(**{"variables": ["x"], "name": "demo/bad", **M4, **changes})
    assert says in str(caught.value)
    assert str(caught.value).startswith("law 'demo/bad'")


def test_fixed_and_tied():
    law = m4()
    p = {"einf": 0.1, "e0": 1.0, "alpha": 0.7, "b": 3.0, "c": 0.4}
    fixed = law.with_(e0=1.0, tie=("alpha", "c"))
    assert (fixed.text, fixed.parameters) == ("(y - einf)/(1 - y)**alpha = b*x**-alpha", ("einf", "alpha", "b"))
    both = law.value({**p, "c": 0.7}, x=[1.0, 5.0])
    np.testing.assert_allclose(fixed.value({"einf": 0.1, "alpha": 0.7, "b": 3.0}, x=[1.0, 5.0]), both, rtol=1e-14)


def test_a_fit_finds_the_parameters():
    law = m4()
    p = {"einf": 0.1, "e0": 1.0, "alpha": 0.7, "b": 3.0, "c": 0.4}
    x = np.geomspace(1, 1e6, 60)
    start = {n: 1.05 * v for n, v in p.items()}
    fit = law.fit({"x": x, "y": law.value(p, x=x)}, start=start)
    for name, value in p.items():
        assert float(fit.params[name]) == pytest.approx(value, rel=1e-6)


def test_records():
    made = LawSpec(name="m4", variables={"x": ""}, reference="here", **M4)
    assert (made.equals, made.between) == (M4["equals"], M4["between"])
    for changes in ({"between": None}, {"equals": None}, {"between": ("a", "b", "c")}, {"between": ["a", "b"]}):
        with pytest.raises(PluginContractError):
            LawSpec(name="m4", variables={"x": ""}, reference="here", **{**M4, **changes})


PLUGIN = """
def forecast_laws():
    yield LawSpec(
        name="m4",
        variables={"x": ""},
        expression="(y-einf)/(e0-y)**alpha",
        equals="b*x**-c",
        between=("einf", "e0"),
        bounds={"einf": (0, 0.9), "e0": (0.9, 2), "alpha": (0, 5)},
        positive=("b", "c"),
        example={"einf": 0.1, "e0": 1.0, "alpha": 0.7, "b": 3.0, "c": 0.4},
        domain={"x": (1, 1e6)},
        objective="least_squares_log",
        reference="Alabdulmohsin et al. 2022",
    )
"""


@pytest.mark.slow
def test_a_plugin_hands_one_in(fake_plugins, command_line):
    from forecast import testing

    fake_plugins.add("shapes", PLUGIN)
    outcomes = testing.run_checks("shapes")
    assert [(o.label, o.message) for o in outcomes if not o.ok] == []
    assert any("recovers" in o.label for o in outcomes)
    shown = command_line("laws", "show", "shapes/m4", "--json").stdout
    assert '"equals": "b*x**-c"' in shown
    assert '"between"' in shown
    assert "(y-einf)/(e0-y)**alpha = b*x**-c" in command_line("laws", "list", "--json").stdout
