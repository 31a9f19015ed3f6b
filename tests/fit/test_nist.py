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


@pytest.mark.bad_input(52)
@pytest.mark.parametrize("name", HARD)
def test_bad_input_052_hard_starts_reach_the_certified_values(name):
    formula, x, y, start, certified = HARD[name]
    law = forecast.Law(formula, variables=["x"])
    begin = {f"b{i + 1}": value for i, value in enumerate(start)}
    fit = law.fit({"x": np.array(x, dtype=float), "y": np.array(y, dtype=float)}, start=begin)
    assert fit.converged
    assert list(fit.values.values()) == pytest.approx(list(certified), rel=1e-6)


@pytest.mark.bad_input(52)
def test_bad_input_052_a_plateau_is_not_converged():
    x, y = (np.array(v, dtype=float) for v in HARD["BoxBOD"][1:3])
    fit = forecast.Law("b1*(1 - exp(-b2*x))", variables=["x"]).fit({"x": x, "y": y}, start={"b1": 172.0, "b2": 500.0})
    assert not fit.converged
    assert any("did not converge" in w for w in fit.warnings)
