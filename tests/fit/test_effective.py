"""Known errors in the variables: no attenuation, the oracle's numbers, and what is refused."""

import numpy as np
import pytest
from scipy.optimize import least_squares

import forecast
from forecast.errors import DataError, UnknownNameError, UsageError
from forecast.fit.inference.profile import problem_of_fit

LINE = forecast.Law("a + b*x", variables=["x"])
POWER = forecast.Law("E + A*N**-a", variables=["N"], positive=["E", "A", "a"])


def noisy_line(seed, n=60, sx=1.0, sy=1.5):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, n)
    return {"x": x + sx * rng.standard_normal(n), "y": 1 + 2 * x + sy * rng.standard_normal(n)}


def noisy_power(seed=0, spread=0.05):
    rng = np.random.default_rng(seed)
    n = np.geomspace(1e6, 1e10, 60)
    y = (1.7 + 400 * n**-0.34) * np.exp(0.01 * rng.standard_normal(60))
    return {"N": n * np.exp(spread * rng.standard_normal(60)), "y": y}


@pytest.mark.filterwarnings("ignore:.*odr.*:DeprecationWarning")
def test_a_line_is_what_orthogonal_distance_regression_gives():
    odr = pytest.importorskip("scipy.odr", reason="this scipy has no odr any more")
    data = noisy_line(0)
    fit = LINE.fit(data, sigma=np.full(60, 1.5), sigma_x={"x": 1.0})
    found = odr.ODR(
        odr.RealData(data["x"], data["y"], sx=1.0, sy=1.5), odr.Model(lambda b, x: b[0] + b[1] * x), beta0=[0, 1]
    ).run()
    np.testing.assert_allclose([fit.values["a"], fit.values["b"]], found.beta, rtol=1e-4)
    assert fit.objective == pytest.approx(found.sum_square, rel=1e-8)


def test_of_a_curve_the_true_variables_are_solved_for():
    data = noisy_power()
    fit = POWER.fit(data, objective="least_squares_log", sigma=np.full(60, 0.01), sigma_x={"N": "0.05*N"})
    y = np.log(data["y"])

    def misses(p):  # the true sizes are parameters too
        f = np.log(np.exp(p[0]) + np.exp(p[1]) * (data["N"] * (1 + 0.05 * p[3:])) ** -np.exp(p[2]))
        return np.concatenate([(y - f) / 0.01, p[3:]])

    start = np.concatenate([np.log([1.7, 400, 0.34]), np.zeros(60)])
    found = least_squares(misses, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    assert fit.objective == pytest.approx(2 * found.cost, rel=1e-9)
    for name, value in zip(("E", "A", "a"), np.exp(found.x[:3]), strict=True):
        assert abs(fit.values[name] - value) < 1e-4 * float(fit.stderr[name])


def test_without_the_scatter_of_y_it_is_the_moment_estimator():
    data = noisy_line(1)
    fit = LINE.fit(data, sigma_x={"x": 1.0})
    x, y = data["x"] - data["x"].mean(), data["y"] - data["y"].mean()
    assert fit.values["b"] == pytest.approx(x @ y / (x @ x - 58 * 1.0), rel=1e-7)
    assert fit.objective == pytest.approx(58.0, rel=1e-7)
    assert any("the scatter of y itself is estimated" in w for w in fit.warnings)


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False])
def test_the_slope_is_not_attenuated_and_is_covered(known):
    ours, plain, inside = [], [], 0
    for seed in range(200):
        data = noisy_line(seed)
        fit = LINE.fit(data, sigma=np.full(60, 1.5) if known else None, sigma_x={"x": 1.0})
        ours.append(fit.values["b"])
        plain.append(np.polyfit(data["x"], data["y"], 1)[0])
        low, high = fit.interval("b", 0.95, method="wald")
        inside += low < 2 < high
    error = np.std(ours) / np.sqrt(200)
    assert abs(np.mean(ours) - 2) < 4 * error
    assert np.mean(plain) < 1.9  # a fit that takes x as exact: 2 * 8.33/(8.33 + 1)
    assert 0.88 <= inside / 200 <= 0.99


def test_frozen_weights_would_attenuate():
    """All weights are the same where all points have the same errors: then they change nothing."""
    data = noisy_line(2)
    plain = LINE.fit(data).values["b"]
    frozen = LINE.fit(data, sigma=np.full(60, np.sqrt(1.5**2 + (plain * 1.0) ** 2))).values["b"]
    assert frozen == pytest.approx(plain, rel=1e-9)
    assert LINE.fit(data, sigma=np.full(60, 1.5), sigma_x={"x": 1.0}).values["b"] > plain * 1.05


@pytest.mark.parametrize("objective", ["least_squares", "least_squares_log"])
def test_the_gradient_is_that_of_the_value(objective):
    fit = POWER.fit(noisy_power(spread=0.3), objective=objective, sigma=np.full(60, 0.01), sigma_x={"N": "0.3*N"})
    problem = problem_of_fit(fit)
    q = problem.internal(np.array([fit.values[n] for n in problem.free])) + 0.05
    target = problem.target()
    value, gradient, hessian = target.evaluate(q[:, None])
    step = 1e-5 * np.eye(3)
    ends = [(target.evaluate((q + s)[:, None]), target.evaluate((q - s)[:, None])) for s in step]
    slopes = np.array([(up[0][0] - down[0][0]) / 2e-5 for up, down in ends])
    np.testing.assert_allclose(gradient[:, 0], slopes, rtol=1e-5)
    bends = np.array([(up[1][:, 0] - down[1][:, 0]) / 2e-5 for up, down in ends])
    np.testing.assert_allclose(hessian[:, :, 0], bends, atol=0.05 * np.abs(bends).max())  # third derivatives left out
    assert problem.value(q) == pytest.approx(value[0], rel=1e-10)


def test_profile_bootstrap_and_saving_count_the_errors(tmp_path):
    data = noisy_line(3)
    fit = LINE.fit(data, sigma=np.full(60, 1.5), sigma_x={"x": 1.0}, bootstrap=200)
    low, high = fit.interval("b", method="profile")
    assert fit.interval("b", method="wald") == pytest.approx((low, high), rel=0.05)
    replicates = fit.bootstrap["b"].values
    assert abs(np.nanmedian(replicates) - fit.values["b"]) < 0.5 * float(fit.stderr["b"])  # not drawn to the plain fit
    again = forecast.load(fit.save(tmp_path / "fit.nc"))
    assert again.interval("b") == fit.interval("b")
    assert "errors in x are counted" in again.summary()


def test_zero_errors_change_nothing():
    data = noisy_line(4)
    plain = LINE.fit(data, sigma=np.full(60, 1.5))
    assert LINE.fit(data, sigma=np.full(60, 1.5), sigma_x={"x": 0.0}).values == plain.values
    small = LINE.fit(data, sigma=np.full(60, 1.5), sigma_x={"x": 1e-6})
    assert small.values == pytest.approx(plain.values, rel=1e-8)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-20])
@pytest.mark.parametrize("known", [{}, {"sigma": 1.5}])
def test_errors_too_small_to_show_change_nothing(size, known):
    data = noisy_line(4)
    plain, small = LINE.fit(data, **known), LINE.fit(data, sigma_x={"x": size}, **known)
    assert small.converged
    assert small.values == pytest.approx(plain.values, rel=1e-8)
    for name in ("a", "b"):
        assert float(small.stderr[name]) == pytest.approx(float(plain.stderr[name]), rel=0.05)


def test_errors_in_x_that_explain_more_than_the_scatter():
    x = np.linspace(0, 10, 40)
    fit = LINE.fit({"x": x, "y": 1 + 2 * x + 0.01 * np.sin(17 * x)}, sigma_x={"x": 1.0})
    assert fit.uncertainty.scale_known  # of the errors in x alone: nothing is left to estimate
    assert float(fit.stderr["b"]) == pytest.approx(2 / np.sqrt(np.sum((x - 5) ** 2)), rel=0.02)


def test_two_variables_and_a_formula_over_a_variable():
    rng = np.random.default_rng(7)
    n, d = 10 ** rng.uniform(7, 10, 80), 10 ** rng.uniform(9, 11, 80)
    loss = (1.7 + 400 * n**-0.34 + 2000 * d**-0.37) * np.exp(0.005 * rng.standard_normal(80))
    data = {"size": n / 1e9, "D": d, "loss": loss}
    law = forecast.law("scaling/chinchilla")
    fit = law.fit(
        data,
        let={"N": "size*1e9"},
        sigma=np.full(80, 0.005),
        sigma_x={"N": "0.02*N", "D": "0.02*D"},
        objective="least_squares_log",
    )
    assert fit.converged
    assert set(fit.data.sigma_x) == {"N", "D"}
    plain = law.fit(data, let={"N": "size*1e9"}, sigma=np.full(80, 0.005), objective="least_squares_log")
    assert fit.objective < plain.objective


@pytest.mark.parametrize(
    ("words", "error", "match"),
    [
        ({"sigma_x": {"z": 0.1}}, UnknownNameError, "sigma_x: unknown variable 'z'"),
        ({"sigma_x": {"x": -0.1}}, DataError, "sigma_x: 'x': expected standard deviations of at least 0, not so in"),
        ({"sigma_x": {"x": [0.1, 0.2]}}, DataError, "sigma_x: 'x': expected 60 numbers"),
        ({"sigma_x": {"x": np.nan}}, DataError, "sigma_x: 'x'"),
        ({"sigma_x": {"x": 1e300}}, DataError, "sigma_x: 'x': .* more than 1e.06 times its largest value in rows 1, 2"),
        ({"sigma_x": {"x": 1e9}, "sigma": 1.0}, DataError, "give them in the unit of the variable"),
        ({"sigma_x": {"x": "nope*2"}}, UnknownNameError, "sigma_x: 'x': unknown column 'nope'"),
        ({"sigma_x": "x"}, UsageError, "expected a mapping"),
        ({"sigma_x": {"x": 0.1}, "objective": "poisson"}, UsageError, "sigma_x: objective 'poisson'"),
        (
            {"sigma_x": {"x": 0.1}, "objective": "binomial", "options": {"trials": 99}},
            UsageError,
            "sigma_x: objective 'binomial'",
        ),
        ({"sigma_x": {"x": 0.1}, "objective": "huber_log"}, UsageError, "give sigma= too"),
        ({"sigma_x": {"x": 0.1}, "bootstrap": 9, "resample": "wild"}, UsageError, "resample='wild'"),
        ({"sigma_x": {"x": 0.1}, "by": "x"}, UsageError, "by= does not take sigma_x="),
    ],
)
def test_wrong_use_is_named(words, error, match):
    data = {"x": np.arange(1.0, 61.0), "y": np.arange(2.0, 62.0)}
    with pytest.raises(error, match=match):
        LINE.fit(data, **words)
