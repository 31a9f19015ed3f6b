import numpy as np
import pytest
from scipy import stats

import forecast
from forecast.errors import DataError, UnknownNameError, UsageError
from forecast.fit.objectives import OBJECTIVES
from forecast.fit.objectives.losses import HUBER_FACTOR, huber_constant
from forecast.fit.objectives.objective import Scratch

OPTIONS = {"delta": 0.3, "tau": 0.8, "width": 0.2, "trials": np.full(7, 9.0), "chance": 0.25}
Y = np.array([1.0, 2.0, 0.0, 3.0, 5.0, 8.0, 4.0])
F = {"binomial": np.array([[0.2, 0.3, 0.1, 0.5, 0.6, 0.9, 0.4]])}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_sums_are_sums(name):
    objective = OBJECTIVES[name]
    f, w = np.random.default_rng(0).uniform(0.1, 0.9, (2, 3, 7))
    value, first, second = objective.pointwise(f, Y / 4, OPTIONS)
    got = objective.summed(f, Y / 4, w, OPTIONS, Scratch())
    np.testing.assert_allclose(got[0], np.sum(w * value, axis=1))
    np.testing.assert_allclose(got[1], w * first)
    np.testing.assert_allclose(got[2], w * second)


def test_poisson_and_binomial_are_the_likelihoods_up_to_a_constant():
    a, b = np.array([[1.1, 1.5, 0.7, 3.6, 4.9, 7.0, 4.31]]), np.array([[2.0, 2.5, 0.1, 3.0, 4.0, 9.0, 4.0]])
    ours = np.sum(OBJECTIVES["poisson"].pointwise(a, Y, {})[0] - OBJECTIVES["poisson"].pointwise(b, Y, {})[0])
    assert ours == pytest.approx(np.sum(stats.poisson.logpmf(Y, b) - stats.poisson.logpmf(Y, a)))
    p, q = F["binomial"], np.full((1, 7), 0.35)
    ours = np.sum(
        OBJECTIVES["binomial"].pointwise(p, Y, OPTIONS)[0] - OBJECTIVES["binomial"].pointwise(q, Y, OPTIONS)[0]
    )
    floor = [0.25 + 0.75 * x for x in (q, p)]
    assert ours == pytest.approx(np.sum(stats.binom.logpmf(Y, 9, floor[0]) - stats.binom.logpmf(Y, 9, floor[1])))


def test_hubers_density_integrates_to_one():
    z = np.linspace(-60, 60, 2_000_001)
    loss = OBJECTIVES["huber_log"].pointwise(z[None], np.zeros(1), {"delta": HUBER_FACTOR})[0]
    assert np.sum(np.exp(-loss)) * (z[1] - z[0]) == pytest.approx(np.exp(huber_constant(HUBER_FACTOR)), rel=1e-6)


# --- through the public interface -------------------------------------------------------------------------------------

X = np.geomspace(1, 1000, 60)
POWER = forecast.Law("b*x**-c", variables=["x"], positive=["b", "c"])
TRUE = 40 * X**-0.4


def noisy(seed=0, scale=0.05):
    return {"x": X, "y": TRUE * np.exp(scale * np.random.default_rng(seed).standard_normal(60))}


def test_gaussian_is_least_squares_with_the_likelihood_as_its_value():
    squares, likelihood = (POWER.fit(noisy(), objective=o) for o in ("least_squares_log", "gaussian_log"))
    assert likelihood.values == pytest.approx(squares.values, rel=1e-9)
    residuals = np.log(noisy()["y"]) - np.log(POWER.value(squares.values, x=X))
    scale = np.sqrt(np.mean(residuals**2))
    assert likelihood.objective == pytest.approx(-np.sum(stats.norm.logpdf(residuals, scale=scale)))


def test_the_huber_likelihood_profiles_its_scale_out():
    data = noisy()
    fit = POWER.fit(data, objective="huber_likelihood_log")

    def value(q):
        z = (np.log(data["y"]) - np.log(q[0]) + q[1] * np.log(X)) / np.exp(q[2])
        loss = np.where(np.abs(z) <= HUBER_FACTOR, z**2 / 2, HUBER_FACTOR * (np.abs(z) - HUBER_FACTOR / 2))
        return np.sum(loss) + 60 * (q[2] + huber_constant(HUBER_FACTOR))

    from scipy.optimize import minimize

    best = minimize(
        value, [40, 0.4, -3], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11, "maxiter": 5000}
    )
    assert fit.objective == pytest.approx(best.fun, rel=1e-7)
    assert fit.values["c"] == pytest.approx(best.x[1], rel=1e-4)


def test_poisson_counts():
    rng = np.random.default_rng(0)
    counts = rng.poisson(TRUE * 3)
    fit = POWER.fit({"x": X, "y": counts}, objective="poisson")
    assert fit.converged
    for name, true in (("b", 120.0), ("c", 0.4)):
        assert abs(fit.values[name] - true) < 4 * float(fit.stderr[name])
    # the score of a log-linear mean: counts and log-moments are reproduced
    mean = POWER.value(fit.values, x=X)
    assert np.sum(mean) == pytest.approx(counts.sum(), rel=1e-6)
    assert np.sum(mean * np.log(X)) == pytest.approx(np.sum(counts * np.log(X)), rel=1e-6)


def test_poisson_says_where_it_is_handed_no_counts():
    counts = np.random.default_rng(0).poisson(TRUE * 3).astype(float)
    known = {"x": X, "y": counts}
    assert POWER.fit(known, objective="poisson").warnings == ()
    rates = {**known, "y": np.where(X[-3] < X, counts / 7, counts)}
    says = "objective 'poisson' expects counts, and 2 of 60 values of y are no whole numbers"
    fit = POWER.fit(rates, objective="poisson")
    assert [says in line for line in fit.warnings] == [True]
    assert says in fit.summary()
    assert not any("counts" in line for line in POWER.fit(rates, objective="least_squares").warnings)


def test_many_poisson_fits_say_so_once():
    counts = np.random.default_rng(0).poisson(TRUE * 3).astype(float)
    curves = {"x": np.tile(X, 2), "y": np.concatenate([counts, counts / 2]), "curve": np.repeat(["a", "b"], X.size)}
    (line,) = POWER.fit(curves, objective="poisson", by="curve").warnings
    assert "expects counts" in line
    whole = {**curves, "y": np.concatenate([counts, counts + 1])}
    assert POWER.fit(whole, objective="poisson", by="curve").warnings == ()


@pytest.mark.parametrize("size", [0.05, 1.0, 50.0, 1e6])
@pytest.mark.parametrize("start", [None, {"E": 0.3, "b": 0.8, "c": 0.5}])
def test_counts_without_noise_are_found_and_have_intervals(size, start):
    law = forecast.Law("E + b*x**-c", variables=["x"], positive=["E", "b", "c"])
    true = {"E": 0.2 * size, "b": size, "c": 0.4}
    begin = start and {**start, "E": start["E"] * size, "b": start["b"] * size}
    fit = law.fit({"x": X, "y": law.value(true, x=X)}, objective="poisson", start=begin)
    assert fit.converged, fit.verdict
    assert fit.values == pytest.approx(true, rel=1e-9)
    assert 0 <= fit.objective < 1e-20 * max(size, 1)
    assert start or "the starts agree" in fit.verdict
    if size > 1:  # the spread of counts is known: it needs no residuals
        low, high = fit.interval("c")
        assert low < 0.4 < high
        assert "no intervals" not in fit.verdict


@pytest.mark.parametrize("chance", [0.0, 0.25])
def test_shares_without_noise_are_found(chance):
    law = forecast.Law("1/(1 + exp(-k*(x - m)))", variables=["x"], positive=["k"])
    x, tried = np.linspace(-4, 4, 60), np.full(60, 200.0)
    y = tried * (chance + (1 - chance) * law.value({"k": 1.5, "m": 0.5}, x=x))
    data = {"x": x, "y": y, "n": tried}
    fit = law.fit(data, objective="binomial", options={"trials": "n", "chance": chance})
    assert fit.converged, fit.verdict
    assert fit.values == pytest.approx({"k": 1.5, "m": 0.5}, rel=1e-9)
    assert fit.interval("m")[0] < 0.5 < fit.interval("m")[1]


def test_a_likelihood_close_to_its_best_is_exact():
    for near in (1e-3, 1e-6, 1e-9):
        found = OBJECTIVES["poisson"].pointwise(np.array([[5.0 * (1 + near)]]), np.array([5.0]), {})[0]
        assert float(found[0, 0]) == pytest.approx(5 * near**2 / 2 * (1 - 2 * near / 3), rel=1e-6, abs=0)


def test_binomial_with_a_chance_floor():
    law = forecast.Law("1/(1 + exp(-k*(x - m)))", variables=["x"], positive=["k"])
    x = np.linspace(-4, 4, 60)
    p = 0.25 + 0.75 / (1 + np.exp(-1.5 * (x - 0.5)))
    data = {"x": x, "y": np.random.default_rng(1).binomial(200, p), "n": np.full(60, 200)}
    fit = law.fit(data, objective="binomial", options={"trials": "n", "chance": 0.25})
    assert fit.converged
    assert abs(fit.values["k"] - 1.5) < 4 * float(fit.stderr["k"])
    assert abs(fit.values["m"] - 0.5) < 4 * float(fit.stderr["m"])
    assert float(fit.stderr["m"]) < 0.1


def test_quantiles_leave_their_share_below():
    x = np.linspace(1, 9, 900)
    data = {"x": x, "y": 2 + 3 * x + np.random.default_rng(2).standard_normal(900)}
    line = forecast.Law("a + b*x", variables=["x"])
    for tau in (0.1, 0.5, 0.9):
        fit = line.fit(data, objective="quantile", options={"tau": tau})
        assert fit.converged
        below = np.mean(data["y"] < line.value(fit.values, x=x))
        assert below == pytest.approx(tau, abs=0.02)


@pytest.mark.parametrize(
    ("objective", "options", "error", "says"),
    [
        ("quantile", {"tau": 1.5}, UsageError, "tau: expected a number between 0 and 1"),
        ("quantile", {"tua": 0.5}, UnknownNameError, "did you mean 'tau'"),
        ("huber_log", {"delta": -1}, UsageError, "delta: expected a number above 0"),
        ("least_squares", {"delta": 1}, UnknownNameError, "unknown option 'delta'"),
        ("binomial", {}, UsageError, "needs options"),
        ("binomial", {"trials": np.full(60, 1)}, DataError, "0 <= y <= trials"),
        ("poison", {}, UnknownNameError, "did you mean 'poisson'"),
    ],
)
def test_options_are_checked(objective, options, error, says):
    with pytest.raises(error, match=says):
        POWER.fit(noisy(), objective=objective, options=options)


def test_negative_counts_are_named():
    with pytest.raises(DataError, match="y is negative in row 2 of 60"):
        POWER.fit({"x": X, "y": np.where(np.arange(60) == 1, -1, 3)}, objective="poisson")


def test_a_chance_floor_above_the_scores_names_both():
    law = forecast.Law("1/(1 + exp(-(a + b*x)))", variables=["x"])
    data = {"x": np.linspace(-3, 3, 7), "y": np.array([26.0, 24, 22, 60, 70, 90, 99]), "n": np.full(7, 100.0)}
    options = {"trials": "n", "chance": 0.25}
    assert law.fit(data, objective="binomial", options=options).n == 7
    wrong = {**data, "y": np.where(data["x"] == data["x"][2], 2.0, data["y"])}
    with pytest.raises(DataError, match=r"chance floor 0\.25 lies above the score 0\.02 by more .* in row 3"):
        law.fit(wrong, objective="binomial", options=options)
    curves = {name: np.concatenate([data[name], wrong[name]]) for name in data}
    curves["curve"] = np.repeat(["right", "wrong"], 7)
    fits = law.fit(curves, objective="binomial", options=options, by="curve")
    assert list(fits.converged.values) == [True, False]
    assert "chance floor 0.25 lies above the score 0.02" in str(fits.verdict.values[1])
