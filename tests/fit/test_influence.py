import numpy as np
import pytest
from scipy import stats

import forecast
from forecast.errors import FitError
from forecast.fit.diagnostics.influence import MAX_PROBABILITY, influence_of_points
from toolkit import sample, saturating

X, Y = saturating().values()
LAW = forecast.law("scaling/saturating-power")


def test_leaving_a_row_out_is_the_fit_without_it():
    found = LAW.fit({"x": X, "y": Y}).influence()
    for row in found["row"].values[np.argsort(-found["largest"].values)[:3]]:
        keep = np.arange(40) != row - 1
        without = LAW.fit({"x": X[keep], "y": Y[keep]})
        for name in LAW.parameters:
            assert float(found[name].sel(row=row)) == pytest.approx(without.values[name], rel=1e-6)


def test_one_newton_step_is_near_the_fit_without_the_row():
    fit = LAW.fit({"x": X, "y": Y})
    found = fit.influence()
    for row in found["row"].values[np.argsort(-found["largest"].values)[10:14]]:
        keep = np.arange(40) != row - 1
        without = LAW.fit({"x": X[keep], "y": Y[keep]})
        error = 0.05 * float(fit.stderr["c"])
        assert float(found["c"].sel(row=row)) == pytest.approx(without.values["c"], abs=error)


def test_no_data_no_influence():
    with pytest.raises(FitError, match="no influence"):
        forecast.law("scaling/chinchilla").published("besiroglu2024").influence()


#: Laws with true parameters, scatter, and where their points lie.
CLEAN = {
    "line": (forecast.Law("a + b*x", variables=["x"]), {"a": 1.0, "b": 2.0}, 0.5, np.linspace(0, 10, 20)),
    "parabola": (
        forecast.Law("a + b*x + c*x*x", variables=["x"]), {"a": 1.0, "b": 2.0, "c": -0.1}, 0.5, np.linspace(0, 10, 20),
    ),
    "power": (
        forecast.Law("E + A*x**-c", variables=["x"]), {"E": 1.0, "A": 2.0, "c": 0.5}, 0.02, np.geomspace(1, 100, 20),
    ),
}  # fmt: skip


def sampled(name, n, seed, outlier=0.0):
    """Return points of a true law with normal noise, and the row that lies so many of its sigmas off."""
    law, true, sigma, places = CLEAN[name]
    rng = np.random.default_rng(seed)
    x = np.interp(np.linspace(0, 19, n), np.arange(20), places)
    y = law.value(true, x=x) + sigma * rng.standard_normal(n)
    row = int(rng.integers(n))
    y[row] += outlier * sigma * rng.choice([-1, 1])
    return law, {"x": x, "y": y}, row


@pytest.mark.parametrize("name", ["line", "power"])
def test_five_clean_points_raise_few_alarms(name):
    told = [law.fit(data).diagnostics.influential for law, data, _ in (sampled(name, 5, seed) for seed in range(20))]
    assert sum(text != "" for text in told) <= stats.binom.isf(1e-3, 20, 0.05)  # 5, where a third or more were once


@pytest.mark.parametrize("n", sample([5, 8], 0, 3))
@pytest.mark.parametrize("name", sample(CLEAN, 0, 2))
def test_clean_data_raise_an_alarm_in_five_of_a_hundred_at_most(name, n):
    samples = (sampled(name, n, seed) for seed in range(400))
    alarms = sum(influence_of_points(law.fit(data)).deciding() is not None for law, data, _ in samples)
    assert alarms <= stats.binom.isf(1e-3, 400, 0.05)


@pytest.mark.parametrize("outlier", [0.0, 6.0])
def test_of_a_linear_law_the_probability_is_that_of_the_studentised_residual(outlier):
    for seed in range(5):
        law, data, _ = sampled("parabola", 8, seed, outlier)
        found = influence_of_points(law.fit(data))
        q, _ = np.linalg.qr(np.vander(data["x"], 3))
        residual, leverage = data["y"] - q @ (q.T @ data["y"]), np.sum(q * q, axis=1)
        others = (residual @ residual - residual**2 / (1 - leverage)) / 4
        alone = 2 * stats.t.sf(np.abs(residual) / np.sqrt(others * (1 - leverage)), 4)
        np.testing.assert_allclose(found.probability, 1 - (1 - alone) ** 8, rtol=1e-5)


def test_a_shift_is_in_standard_errors_of_the_fit():
    law, data, _ = sampled("line", 8, 3, 6.0)
    fit = law.fit(data)
    found = fit.influence()
    for name in law.parameters:
        moved = (found[name] - fit.values[name]) / float(fit.stderr[name])
        np.testing.assert_allclose(found[f"{name}_shift"], moved, rtol=1e-5, atol=1e-8)
    assert float(found["largest"].max()) < 10  # with few points it was half a billion


@pytest.mark.parametrize(
    ("n", "sigma", "share"), [pytest.param(8, 0.5, 0.9, id="known scatter"), pytest.param(12, None, 0.85, id="unknown")]
)
def test_one_outlier_of_six_sigmas_is_named(n, sigma, share):
    named = 0
    for seed in range(40):
        law, data, row = sampled("line", n, seed, 6.0)
        place = influence_of_points(law.fit(data, sigma=sigma)).deciding()
        named += place == row
    assert named >= stats.binom.ppf(1e-2, 40, share)


def test_where_no_degree_of_freedom_is_left_nothing_is_said():
    fit = forecast.Law("a + b*x + c*x*x", variables=["x"]).fit({"x": [0.0, 1, 2, 3], "y": [0.0, 1, 9, 3]})
    assert fit.diagnostics.influential == ""
    assert np.isnan(fit.influence()["probability"]).all()


def test_the_sentence_states_a_shift_and_a_probability():
    law, data, row = sampled("line", 12, 0, 12.0)
    text = law.fit(data).diagnostics.influential
    assert text.startswith(f"row {row + 1} decides ")
    shift = float(text.partition("a shift of ")[2].split()[0])
    chance = float(text.partition("with p = ")[2].partition(")")[0])
    assert 0.2 < shift < 5
    assert chance < MAX_PROBABILITY
