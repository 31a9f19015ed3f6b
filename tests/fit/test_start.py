import numpy as np
import pytest

import forecast
from forecast.fit.solve.starts import linear_parameters, shifts, spread


@pytest.mark.parametrize(
    ("expression", "linear"),
    [
        ("E + A*N**-alpha", ("E", "A")),
        ("a*b*N", ("a",)),  # either alone, not both together
        ("exp(a - b*N)", ()),
        ("a + b*N + c*N**2", ("a", "b", "c")),
        ("b1*N/(b2 + N)", ("b1",)),
    ],
)
def test_what_a_law_is_linear_in(expression, linear):
    law = forecast.Law(expression, variables=["N"])
    found = linear_parameters(law, {"N": np.geomspace(1, 10, 7)}, law.parameters, {})
    assert found == linear


def test_a_law_that_is_code_is_fitted_without_help(fake_plugins):
    fake_plugins.add(
        "demo",
        "from forecast import LawSpec, hookimpl\n"
        "def code(p, x):\n"
        "    assert x.ndim == 1 and not hasattr(p['a'], '__len__') or p['a'].ndim == 0, 'does not broadcast'\n"
        "    return p['a']*x**p['b']\n"
        "@hookimpl\n"
        "def forecast_laws():\n"
        "    yield LawSpec(name='code', variables={'x': ''}, target='fake_demo_fake_demo:code', reference='r',\n"
        "                  example={'a': 1.0, 'b': 1.0})\n",
    )
    x = np.linspace(1, 5, 9)
    fit = forecast.law("demo/code").fit({"x": x, "y": 3 * x**1.7})
    assert fit.values == pytest.approx({"a": 3.0, "b": 1.7}, rel=1e-6)


def test_a_grid_of_more_points_than_a_machine_counts_is_shared_out():
    lists = [np.geomspace(0.1, 10, 24)] * 16  # 24**16 is past 2**63
    found = spread(lists, np.random.default_rng(0), 500)
    assert found.shape == (500, 16)
    assert np.isfinite(found).all()


def test_what_is_added_to_a_variable_is_looked_for_beyond_the_data():
    places = shifts(forecast.Law("a*(x + b)**-c", variables=["x"]), {"x": np.array([10.0, 20.0])})["b"]
    assert places.min() < -50
    assert places.max() > 50
    assert ((places < -10) & (places > -20)).sum() == 12


def test_a_valley_without_an_end_is_not_searched_again():
    """On a power law above a floor m4's upper end may be anything: hundreds of starts would crawl along one valley."""
    x = np.geomspace(10, 1e5, 20)
    y = (0.3 + 6 * x**-0.35) * np.exp(0.01 * np.random.default_rng(0).standard_normal(20))
    fit = forecast.law("scaling/m4").fit({"x": x, "y": y})
    assert fit.converged is False
    assert fit.starts[1] <= 144
    assert fit.objective < 0.00085  # the objective has stopped falling there all the same
