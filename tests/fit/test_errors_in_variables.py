"""Known errors in the variables: no attenuation, the oracle's numbers, and what is refused."""

import numpy as np
import pytest
from odrpack import odr_fit
from scipy.optimize import least_squares

import forecast
from forecast.errors import DataError, UnknownNameError, UsageError
from toolkit import sample

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


def orthogonal(law, data, sigma, sigma_x, starts):
    """Return ODRPACK's best solution from some starts, at tolerances that leave nothing to find."""
    names = tuple(law.parameters)
    found = []
    for start in starts:
        with np.errstate(all="ignore"):
            found.append(
                odr_fit(
                    lambda x, p: law.value(dict(zip(names, p, strict=True)), x=x), data["x"], data["y"],
                    np.asarray(start, dtype=float), weight_x=np.broadcast_to(sigma_x, data["x"].shape) ** -2.0,
                    weight_y=np.broadcast_to(sigma, data["x"].shape) ** -2.0, diff_scheme="central", maxit=300,
                    sstol=1e-15, partol=1e-12,
                )
            )  # fmt: skip
    return min(found, key=lambda s: s.sum_square)


PEARSON = [0.0, 0.9, 1.8, 2.6, 3.3, 4.4, 5.2, 6.1, 6.5, 7.4], [5.9, 5.4, 4.4, 4.6, 3.5, 3.7, 2.8, 2.8, 2.4, 1.5]
SPREAD = (
    [0.03, 0.03, 0.04, 0.035, 0.07, 0.11, 0.13, 0.22, 0.74, 1.0],
    [1.0, 0.74, 0.5, 0.35, 0.22, 0.22, 0.12, 0.12, 0.1, 0.04],
)
PEAK = (
    [3.9094, 3.85945, 3.84976, 3.84716, 3.84551, 3.83964, 3.82608, 3.78847, 3.78163, 3.72558, 3.70274, 3.6973, 3.67373,
     3.65982, 3.6562, 3.62498, 3.55525, 3.41886],
    [652, 910.5, 984, 1000, 1007.5, 1053, 1160.5, 1409.5, 1430, 1122, 957.5, 920, 777.5, 709.5, 698, 578.5, 418.5,
     275.5],
    [0.000972971, 0.000948268, 0.000707632, 0.000706679, 0.000706074, 0.000703918, 0.000698955, 0.000456856,
     0.000455207, 0.000662717, 0.000654619, 0.000652694, 0.000000859202, 0.00106589, 0.00106378, 0.00125483, 0.00140818,
     0.00241839],
)  # fmt: skip
#: The explicit checks of ODRPACK and of scipy's interface to it: law, x, y, sigma, sigma_x, and the published
#: parameters and standard errors, which stop at ODRPACK's usual tolerance.
CHECKS = {
    "users-guide": (
        "b0 + b1*(exp(b2*x) - 1)**2",
        [0.0, 0.0, 5.0, 7.0, 7.5, 10.0, 16.0, 26.0, 30.0, 34.0, 34.5, 100.0],
        [1265.0, 1263.6, 1258.0, 1254.0, 1253.0, 1249.8, 1237.0, 1218.0, 1220.6, 1213.8, 1215.5, 1212.0],
        1.0, [1e-9, 1e-9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1e-9],
        [1264.6548050648876, -54.018409956678255, -0.087849712165253724],
        [1.0349270280543437, 1.583997785262061, 0.0063321988657267],
    ),
    "pearson": (
        "a + b*x", *PEARSON, SPREAD[1], SPREAD[0], [5.4767400299231674, -0.4796082367610305],
        [0.3590121690702467, 0.0706291186037444],
    ),
    "pearson-reversed": (
        "a + b*x", *PEARSON[::-1], *SPREAD, [11.4192022410781231, -2.0850374506165474],
        [0.9820231665657161, 0.3070515616198911],
    ),
    "lorentz": (
        "b0*b1*b2/sqrt((x*x - b2*b2)**2 + (b1*x)**2)", *PEAK[:2], 0.29, PEAK[2],
        [1430.6780846149925, 0.13390509034538309, 3.7798193600109009],
        [0.73621186811330963, 0.00035068899941471650, 0.00024451209281408992],
    ),
    "exponential": (
        "A*exp(b*x)", [0.982, 1.998, 4.978, 6.01], [2.7, 7.4, 148.0, 403.0], 1.0, 1.0, None, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHECKS)
def test_odrpacks_own_checks_pass_at_its_six_decimals(name):
    text, x, y, sigma, sigma_x, published, errors = CHECKS[name]
    law = forecast.Law(text, variables=["x"], positive=("b0", "b1", "b2") if name == "lorentz" else ())
    data = {"x": np.array(x), "y": np.array(y, dtype=float)}
    fit = law.fit(data, sigma=np.broadcast_to(sigma, len(x)), sigma_x={"x": np.broadcast_to(sigma_x, len(x))})
    assert fit.converged
    ours = np.array([fit.values[n] for n in law.parameters])
    best = orthogonal(law, data, sigma, sigma_x, [ours if published is None else published])
    np.testing.assert_allclose(ours, best.beta, atol=1.5e-6)
    scale = np.sqrt(fit.objective / (len(x) - len(ours)))  # ODRPACK knows the errors up to a factor
    ours_errors = scale * np.array([float(fit.stderr[n]) for n in law.parameters])
    np.testing.assert_allclose(ours_errors, best.sd_beta, atol=1.5e-6)
    if published is not None:
        np.testing.assert_allclose(ours, published, rtol=2e-6)
        np.testing.assert_allclose(ours_errors, errors, rtol=5e-6)


@pytest.mark.parametrize("text", ["x/k", "a + x/k"])
def test_what_divides_a_variable_may_be_negative(text):
    law, rng = forecast.Law(text, variables=["x"]), np.random.default_rng(0)
    x = rng.uniform(0.5, 10, 12)
    y = x / -2.3 + (1.0 if "a" in text else 0.0) + 0.1 * rng.standard_normal(12)
    for errors in ({}, {"sigma_x": {"x": 0.2}}):
        fit = law.fit({"x": x, "y": y}, sigma=0.1, **errors)
        assert fit.converged
        assert fit.values["k"] == pytest.approx(-2.3, rel=0.1)


#: Laws, and between which ends their parameters lie.
RANDOM = {
    "k*x": {"k": (-3, 3)},
    "x/k": {"k": (-3, 3)},
    "a + k*x": {"a": (-5, 5), "k": (-3, 3)},
    "a + b*x + c*x*x": {"a": (-2, 2), "b": (-2, 2), "c": (-0.3, 0.3)},
    "a*exp(k*x)": {"a": (0.5, 3), "k": (-0.5, 0.5)},
    "a*x/(k + x)": {"a": (1, 5), "k": (0.5, 5)},
    "E + a*x**k": {"E": (0.5, 3), "a": (0.5, 3), "k": (-1.5, -0.2)},
    "K/(1 + exp(-r*(x - m)))": {"K": (1, 5), "r": (0.3, 1.5), "m": (2, 8)},
}


def random_fit(text, seed):
    """Return a fit to random points of a random law with errors of a random size in x and y, and ODRPACK's."""
    rng, law = np.random.default_rng(seed), forecast.Law(text, variables=["x"])
    true = {name: float(rng.uniform(*ends)) for name, ends in RANDOM[text].items()}
    n = int(rng.integers(len(true) + 3, 30))
    x = rng.uniform(0.5, 10, n)
    y = law.value(true, x=x)
    sigma_x, sigma = 10 ** rng.uniform(-1.3, 0), 10 ** rng.uniform(-2, -0.2) * (np.std(y) + 1e-3)
    data = {"x": np.abs(x + sigma_x * rng.standard_normal(n)) + 1e-3, "y": y + sigma * rng.standard_normal(n)}
    middle = np.array([true[name] for name in law.parameters])
    starts = [middle, *(middle * (1 + 0.5 * rng.standard_normal((5, len(true))))), *rng.normal(0, 3, (4, len(true)))]
    fit = law.fit(data, sigma=np.full(n, sigma), sigma_x={"x": sigma_x})
    return fit, orthogonal(law, data, sigma, sigma_x, starts)


@pytest.mark.parametrize(("text", "seed"), [("x/k", 113), ("a + b*x + c*x*x", 2363), ("a*x/(k + x)", 1)])
def test_no_start_of_odrpack_finds_better(text, seed):
    fit, best = random_fit(text, seed)
    assert fit.converged
    assert fit.objective <= best.sum_square * (1 + 1e-6)


@pytest.mark.parametrize("text", sample(RANDOM, 0, 4))
def test_what_converged_is_no_worse_than_ten_starts_of_odrpack(text):
    fits = [random_fit(text, seed) for seed in range(12)]
    assert not [seed for seed, (f, b) in enumerate(fits) if f.converged and f.objective > b.sum_square * (1 + 1e-6)]
    assert sum(fit.converged for fit, _ in fits) >= 10


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


@pytest.mark.parametrize("known", sample([True, False], 0, 2))
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


@pytest.mark.parametrize("objective", sample(["huber_log", "huber_likelihood_log"], 0))
def test_a_robust_objective_takes_errors_in_x(objective):
    data = noisy_power(spread=0.05)
    known = {"sigma": np.full(60, 0.02), "objective": objective}
    plain, small = (POWER.fit(data, **known, **errors) for errors in ({}, {"sigma_x": {"N": "1e-9*N"}}))
    assert small.values == pytest.approx(plain.values, rel=1e-6)
    gross = {**data, "y": np.where(np.arange(60) == 7, 3 * data["y"], data["y"])}
    one, two = (POWER.fit(each, **known, sigma_x={"N": "0.05*N"}) for each in (data, gross))
    squares = POWER.fit(gross, sigma=known["sigma"], objective="least_squares_log", sigma_x={"N": "0.05*N"})
    assert abs(two.values["a"] - one.values["a"]) < 0.2 * abs(squares.values["a"] - one.values["a"])


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
    assert fit.uncertainty.absolute_sigma  # of the errors in x alone: nothing is left to estimate
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
