import numpy as np
import pytest

import forecast
from forecast.errors import FitError, UnknownNameError
from toolkit import saturating

X, Y = saturating().values()
LAW = forecast.law("scaling/saturating-power")


def test_without_priors_the_draws_are_what_the_fit_knows():
    fit = LAW.fit({"x": X, "y": Y})
    drawn = fit.posterior(20_000, seed=1)
    for name in LAW.parameters:
        assert float(drawn[name].median()) == pytest.approx(fit.values[name], rel=0.005)
        assert float(drawn[name].std()) == pytest.approx(float(fit.stderr[name]) * np.sqrt(37 / 35), rel=0.05)
    assert drawn.attrs["effective_share"] > 0.9


def test_a_normal_prior_on_a_mean_is_the_textbook():
    y = np.array([1.0, 2.0, 3.0, 4.0])
    fit = forecast.Law("m + 0*x", variables=["x"]).fit({"x": np.ones(4), "y": y}, sigma=1.0)
    z = 1.6448536269514722
    drawn = fit.posterior(20_000, priors={"m": {"p05": -0.5 * z, "p95": 0.5 * z, "family": "normal"}})
    precision = 4 + 4
    assert drawn.attrs["mode"]["m"] == pytest.approx(4 * 2.5 / precision, rel=1e-4)
    assert float(drawn["m"].std()) == pytest.approx(1 / np.sqrt(precision), rel=0.03)


def test_fewer_draws_are_a_prefix_and_a_seed_repeats():
    fit = LAW.fit({"x": X, "y": Y})
    many, few = fit.posterior(600, seed=3), fit.posterior(200, seed=3)
    np.testing.assert_array_equal(many["c"].values[:200], few["c"].values)
    assert not np.array_equal(fit.posterior(200, seed=4)["c"], few["c"])


def test_a_prior_determines_what_the_data_do_not():
    fit = forecast.Law("a*b*x", variables=["x"], positive=["a", "b"]).fit({"x": X, "y": 3 * X * Y / Y.mean()})
    with pytest.raises(FitError, match="a, b not determined by these data; give priors="):
        fit.posterior(200)
    drawn = fit.posterior(4000, priors={"a": {"p05": 1.0, "p95": 4.0}})
    assert float(drawn["a"].median()) == pytest.approx(2.0, rel=0.05)
    assert np.isfinite(drawn["b"]).all()


def test_impossible_priors():
    fit = LAW.fit({"x": X, "y": Y})
    with pytest.raises(UnknownNameError, match="gamma"):
        fit.posterior(200, priors={"gamma": {"p05": 1, "p95": 2}})
    with pytest.raises(FitError, match="positive"):
        fit.posterior(200, priors={"c": {"low": -2.0, "high": -1.0}})


# --- groups -----------------------------------------------------------------------------------------------------------


def clustered(spread=1.0):
    """Sixteen groups of five rows that share most of their noise."""
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(16), 5)
    noise = spread * rng.standard_normal(16)[group] + 0.2 * rng.standard_normal(80)
    return {"x": np.ones(80), "y": 3.0 + noise, "g": group}


MEAN = forecast.Law("m + 0*x", variables=["x"])


def test_groups_widen_the_posterior_as_they_do_the_standard_errors():
    grouped, alone = MEAN.fit(clustered(), groups="g"), MEAN.fit(clustered())
    drawn = grouped.posterior(40_000, seed=1)
    ends = np.quantile(drawn["m"], [0.025, 0.975])
    near = 0.05 * float(grouped.stderr["m"])
    assert ends == pytest.approx(grouped.interval("m", 0.95), abs=near)  # Student's, 15 degrees
    assert float(drawn["m"].std()) > 1.8 * float(alone.posterior(4000)["m"].std())
    assert drawn.attrs["effective_share"] is None
    assert drawn.attrs["warnings"] == ""


def test_groups_and_a_prior_meet_by_their_precisions():
    fit = MEAN.fit(clustered(), groups="g")
    z, error = 1.6448536269514722, float(fit.stderr["m"])
    drawn = fit.posterior(100, priors={"m": {"p05": -z * error, "p95": z * error, "family": "normal"}})
    assert drawn.attrs["mode"]["m"] == pytest.approx(fit.values["m"] / 2, rel=1e-4)


def test_groups_without_standard_errors_have_no_posterior():
    law = forecast.Law("a*b*x", variables=["x"], positive=["a", "b"])
    fit = law.fit({**clustered(), "x": np.linspace(0.5, 1.5, 80)}, groups="g")
    with pytest.raises(FitError, match="with groups it takes the standard errors, and a, b has none"):
        fit.posterior(100, priors={"a": {"p05": 1.0, "p95": 4.0}})
