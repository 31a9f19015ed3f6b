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
