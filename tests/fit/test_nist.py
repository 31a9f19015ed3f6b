"""Certified answers of NIST's Statistical Reference Datasets (nonlinear regression), from both of its starts."""

import json

import numpy as np
import pytest

import forecast

NAMES = (
    "Chwirut1", "Chwirut2", "DanWood", "Gauss1", "Gauss2", "Kirby2", "Lanczos1",
    "Lanczos3", "Misra1a", "Misra1b", "Misra1c", "Misra1d", "Nelson",
)  # fmt: skip


@pytest.fixture(scope="module")
def problems(reference_data):
    return json.loads((reference_data / "nist" / "nist_strd_dev.json").read_text())


def solved(problem, start):
    law = forecast.Law(problem["formula"], variables=problem["predictors"])
    data = {"y": np.array(problem["y"]), **{k: np.array(v) for k, v in problem["x"].items()}}
    begin = dict(zip(problem["params"], problem[start], strict=True))
    return law.fit(data, y=problem["response"], start=begin)


@pytest.mark.parametrize("start", ["start1", "start2"])
@pytest.mark.parametrize("name", NAMES)
def test_certified_values_to_six_digits(problems, name, start):
    problem = problems[name]
    fit = solved(problem, start)
    assert fit.converged, fit.verdict
    for parameter, value, error in zip(problem["params"], problem["certified"], problem["sd"], strict=True):
        assert fit.values[parameter] == pytest.approx(value, rel=1e-6)
        if name != "Lanczos1":  # residuals of 1e-13: rounding, from which no standard error follows
            assert float(fit.stderr[parameter]) == pytest.approx(error, rel=1e-5)


def test_every_problem_of_the_file_is_here(problems):
    assert sorted(problems) == sorted(NAMES)


# Two more of NIST's problems, the starts of which lead other programs to a plateau. MGH17 and Eckerle4 are not here.
HARD = {
    "BoxBOD": (
        "b1*(1 - exp(-b2*x))",
        [1, 2, 3, 5, 7, 10],
        [109, 149, 149, 191, 213, 224],
        (1.0, 1.0),
        (213.80940889, 0.54723748542),
    ),
    "MGH09": (
        "b1*(x**2 + x*b2)/(x**2 + x*b3 + b4)",
        [4, 2, 1, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625],
        [0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246],
        (25.0, 39.0, 41.5, 39.0),
        (0.19280693458, 0.19128232873, 0.12305650693, 0.13606233068),
    ),
}


@pytest.mark.parametrize("name", HARD)
def test_bad_input_052_hard_starts_reach_the_certified_values(name):
    formula, x, y, start, certified = HARD[name]
    law = forecast.Law(formula, variables=["x"])
    begin = {f"b{i + 1}": value for i, value in enumerate(start)}
    fit = law.fit({"x": np.array(x, dtype=float), "y": np.array(y, dtype=float)}, start=begin)
    assert fit.converged
    assert list(fit.values.values()) == pytest.approx(list(certified), rel=1e-6)


def test_bad_input_052_a_plateau_is_not_converged():
    x, y = (np.array(v, dtype=float) for v in HARD["BoxBOD"][1:3])
    fit = forecast.Law("b1*(1 - exp(-b2*x))", variables=["x"]).fit({"x": x, "y": y}, start={"b1": 172.0, "b2": 500.0})
    assert not fit.converged
    assert any("did not converge" in w for w in fit.warnings)


# Three whose valleys are long, as NIST certifies them (Bennett5 with data of our own about its certified law), and
# laws with pi, atan and cosines: (law, x, y, starts, certified).
SLOW = {
    "MGH10": (
        "b1*exp(b2/(x + b3))",
        np.arange(50.0, 126.0, 5.0),
        [34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872],
        [(2.0, 400000.0, 25000.0), (0.02, 4000.0, 250.0)],
        (5.6096364710e-03, 6.1813463463e03, 3.4522363462e02),
    ),
    "MGH17": (
        "b1 + b2*exp(-x*b4) + b3*exp(-x*b5)",
        np.arange(0.0, 330.0, 10.0),
        [
            0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.850, 0.818, 0.784, 0.751, 0.718, 0.685, 0.658, 0.628,
            0.603, 0.580, 0.558, 0.538, 0.522, 0.506, 0.490, 0.478, 0.467, 0.457, 0.448, 0.438, 0.431, 0.424, 0.420,
            0.414, 0.411, 0.406,
        ],
        [(50.0, 150.0, -100.0, 1.0, 2.0), (0.5, 1.5, -1.0, 0.01, 0.02)],
        (3.7541005211e-01, 1.9358469127e00, -1.4646871366e00, 1.2867534640e-02, 2.2122699662e-02),
    ),
}  # fmt: skip
MADE = {
    "Bennett5": (
        "b1*(b2 + x)**(-1/b3)", np.linspace(7.447168, 41.0, 154), 2e-3,
        [(-2000.0, 50.0, 0.8), (-1500.0, 45.0, 0.85)], (-2523.5058043, 46.736564644, 0.93218483193),
    ),
    "Roszman1": (
        "b1 - b2*x - atan(b3/(x - b4))/pi", np.linspace(-4868.0, -2500.0, 25), 4.8e-3,
        [(0.1, -1e-5, 1000.0, -100.0), (0.2, -5e-6, 1200.0, -150.0)],
        (0.20196866396, -6.1953516256e-06, 1204.4556708, -181.34269537),
    ),
    "ENSO": (
        "b1 + b2*cos(2*pi*x/12) + b3*sin(2*pi*x/12) + b5*cos(2*pi*x/b4) + b6*sin(2*pi*x/b4) + b8*cos(2*pi*x/b7)"
        " + b9*sin(2*pi*x/b7)", np.arange(1.0, 169.0), 2.2,
        [(11.0, 3.0, 0.5, 40.0, -0.7, -1.3, 25.0, -0.3, 1.4), (10.0, 3.0, 0.5, 44.0, -1.5, 0.5, 26.0, -0.1, 1.5)],
        (10.510749193, 3.0762128085, 0.53280138227, 44.3110887, -1.6231428586, 0.52554493756, 26.887614440,
         0.21232288488, 1.4966870418),
    ),
    "scales": (
        "b1*atan(x/b2) + b3*sin(pi*x/b4)", np.linspace(0.1, 30.0, 60), 1e4,
        [(1e5, 30.0, 1e5, 9.0)], (1e6, 3.0, 2e5, 11.0),
    ),
}  # fmt: skip


def named(values):
    return {f"b{i + 1}": value for i, value in enumerate(values)}


@pytest.mark.slow
@pytest.mark.parametrize("start", [0, 1, None])
@pytest.mark.parametrize("name", SLOW)
def test_long_valleys_are_walked_to_their_end(name, start):
    formula, x, y, starts, certified = SLOW[name]
    law, data = forecast.Law(formula, variables=["x"]), {"x": x, "y": np.array(y, dtype=float)}
    fit = law.fit(data) if start is None else law.fit(data, start=named(starts[start]))
    assert fit.converged, fit.warnings
    best = np.sum((law.value(named(certified), x=x) - data["y"]) ** 2)
    assert fit.objective == pytest.approx(best, rel=1e-9)
    if start is not None:  # a search may find the two exponentials in the other order
        assert dict(fit.values) == pytest.approx(named(certified), rel=1e-6)


@pytest.mark.parametrize("name", MADE)
def test_every_start_and_the_search_find_what_scipy_finds_from_the_truth(name):
    from scipy.optimize import least_squares

    formula, x, noise, starts, true = MADE[name]
    law, rng = forecast.Law(formula, variables=["x"]), np.random.default_rng(1)
    y = law.value(named(true), x=x) + noise * rng.standard_normal(x.size)
    tight = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
    found = least_squares(lambda b: law.value(named(b), x=x) - y, true, x_scale=np.abs(true), method="lm", **tight)
    for start in (*starts, None):
        fit = law.fit({"x": x, "y": y}) if start is None else law.fit({"x": x, "y": y}, start=named(start))
        assert fit.converged
        assert fit.objective == pytest.approx(2 * found.cost, rel=1e-9)


@pytest.mark.slow
def test_a_law_of_sixteen_parameters_is_fitted_or_refused_in_a_sentence():
    law = forecast.Law("+".join(f"a{i}*exp(-b{i}*x)" for i in range(8)), variables=["x"])
    x = np.linspace(0, 5, 18)
    fit = law.fit({"x": x, "y": 3 * np.exp(-x) + np.exp(-0.1 * x) + 0.01 * np.cos(9 * x)})
    assert fit.converged is False or fit.warnings
