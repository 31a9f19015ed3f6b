import numpy as np
import pytest

import forecast
from forecast.fit.kernels.general import program_of
from forecast.laws.forms import Code

#: Of three fits: a, b and c.
ROWS = ([1.0, 2.0, 3.0], [0.5, 1.0, 1.5], [1.0, 9.0, 4.0])


def test_a_law_that_is_code_is_fitted_without_help(fake_plugins):
    fake_plugins.add(
        "demo",
        "def code(p, x):\n"
        "    assert x.ndim == 1 and not hasattr(p['a'], '__len__') or p['a'].ndim == 0, 'does not broadcast'\n"
        "    return p['a']*x**p['b']\n"
        "def forecast_laws():\n"
        "    yield LawSpec(name='code', variables={'x': ''}, target='fake_demo_fake_demo:code', reference='r',\n"
        "                  example={'a': 1.0, 'b': 1.0})\n",
    )
    x = np.linspace(1, 5, 9)
    fit = forecast.law("demo/code").fit({"x": x, "y": 3 * x**1.7})
    assert fit.values == pytest.approx({"a": 3.0, "b": 1.7}, rel=1e-6)


@pytest.mark.parametrize(
    ("code", "together", "most"),
    [
        (lambda p, x: p["a"] * x ** p["b"] + p["c"], True, 3),
        (lambda p, x: float(p["a"]) * x ** p["b"] + p["c"], False, 1),  # refuses many
        (lambda p, x: p["a"] * x ** p["b"] + np.max(p["c"]), False, 3),  # mixes them up
    ],
)
def test_fits_of_code_are_computed_together_only_where_that_is_the_same(code, together, most):
    rows = {name: np.array(column)[:, None] for name, column in zip("abc", ROWS, strict=True)}
    seen = []

    def watched(p, x):
        made = code(p, x)
        seen.append(np.size(p["a"]))
        return made

    form = Code(watched, ("a", "b", "c"), ("x",), "law 'code'")
    law = forecast.Law._from_form(
        form, {"variables": {"x": ""}, "output": "y", "unit": "", "objective": "least_squares"}
    )
    x, program = np.linspace(1, 5, 7), program_of(law)
    value, slopes, _ = program.evaluate({**rows, "x": x}, 1)
    np.testing.assert_allclose(value, rows["a"] * x ** rows["b"] + rows["c"], rtol=1e-12)
    np.testing.assert_allclose(slopes[0], x ** rows["b"], rtol=1e-6)
    assert (program.together, max(seen)) == (together, most)


@pytest.mark.slow
def test_a_valley_without_an_end_is_not_searched_again():
    """On a power law above a floor m4's upper end may be anything: hundreds of starts would crawl along one valley."""
    x = np.geomspace(10, 1e5, 20)
    y = (0.3 + 6 * x**-0.35) * np.exp(0.01 * np.random.default_rng(0).standard_normal(20))
    fit = forecast.law("scaling/m4").fit({"x": x, "y": y})
    assert fit.converged is False
    assert fit.starts[1] <= 144
    assert fit.objective < 0.00085  # the objective has stopped falling there all the same
