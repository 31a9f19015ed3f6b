"""The 240 Chinchilla points: the optimum that five engines agree on."""

import numpy as np
import pytest

import forecast
from forecast.fit.objectives import find_objective


@pytest.fixture(scope="module")
def points(chinchilla_points):
    return chinchilla_points


def test_the_global_optimum_of_the_published_objective(points):
    fit = forecast.law("scaling/chinchilla").fit(points, options={"delta": 1e-3})
    assert fit.objective <= 0.0010182740179
    assert fit.values["A"] == pytest.approx(477.826, abs=5e-3)
    assert fit.values["B"] == pytest.approx(2143.417, abs=5e-2)
    assert fit.values["E"] == pytest.approx(1.81722, abs=5e-6)
    assert fit.values["alpha"] == pytest.approx(0.347311, abs=1e-6)
    assert fit.values["beta"] == pytest.approx(0.367172, abs=1e-6)
    assert fit.converged


def test_published_parameters_have_the_published_objective(points):
    # the six printed digits of its parameters give ...0406; the source's ...0403 comes from unrounded ones
    law = forecast.law("scaling/chinchilla")

    def value(name):
        fit = law.published(name)
        residuals = np.log(law.value(fit.values, N=points["N"], D=points["D"]) / points["loss"])
        return float(find_objective("huber_log").pointwise(residuals[None], np.zeros(240), {"delta": 1e-3})[0].sum())

    assert value("besiroglu2024") == pytest.approx(0.00101827403, rel=1e-7)
    assert value("hoffmann2022-a3") > 1.2 * value("besiroglu2024")


def test_the_default_threshold_is_near_the_maximum_likelihood_variant(points):
    law = forecast.law("scaling/chinchilla")
    fit = law.fit(points)
    published = law.published("besiroglu2024-mle")
    for name in law.parameters:
        apart = abs(fit.values[name] - published.values[name])
        assert apart < float(published.stderr[name])
    assert fit.delta == pytest.approx(0.0066, abs=2e-4)


def test_tokens_proportional_to_parameters_are_flagged():
    law = forecast.law("scaling/chinchilla")
    n = np.geomspace(1e8, 1e10, 80)
    loss = law.value(law.published("besiroglu2024").values, N=n, D=20 * n)
    loss = loss * np.exp(0.02 * np.random.default_rng(0).standard_normal(80))
    fit = law.fit({"N": n, "D": 20 * n, "loss": loss})
    assert fit.uncertainty.unidentified
