import json

import numpy as np
import pytest

import forecast
from forecast.fit.objectives import find_objective
from forecast.fit.problem.problem import Coordinates, Target, kernel_for
from forecast.fit.solve.newton import solve
from toolkit import sample

X = np.geomspace(1, 1e4, 30)
LAW = forecast.Law("E + b*x**-c", variables=["x"], positive=["E", "b", "c"])
LOGS = np.ones(3, dtype=bool)
OPEN = np.full(3, np.inf)


def target(rows, objective="least_squares", seed=0, noise=0.02, lower=-OPEN):
    rng = np.random.default_rng(seed)
    true = np.exp(rng.uniform(-0.5, 0.5, (3, rows))) * np.array([1.0, 5.0, 0.4])[:, None]
    y = LAW.value({p: t[:, None] for p, t in zip(LAW.parameters, true, strict=True)}, x=X)
    y = y * np.exp(noise * rng.standard_normal(y.shape))
    chosen = find_objective(objective)
    coordinates = Coordinates(LAW.parameters, {}, LOGS, lower, OPEN)
    kernel = kernel_for(coordinates.placement(LAW, {"x": X}, link=chosen.log))
    y = np.log(y) if chosen.log else y
    made = Target(
        kernel=kernel, objective=chosen, coordinates=coordinates, y=y, weights=np.ones(y.shape), options={"delta": 0.02}
    )
    return made, true


def test_bounds_hold_and_are_reported():
    lower = np.log(np.array([1e-9, 1e-9, 0.5]))
    made, true = target(40, lower=lower)
    found = solve(made, np.maximum(np.log(true), lower[:, None]))
    assert (found.q >= lower[:, None]).all()
    below = true[2] < 0.45
    assert below.any()
    assert (found.q[2, below] == lower[2]).all()
    assert (found.q[2, true[2] > 0.55] > lower[2]).all()
    assert found.settled.all()


def test_a_start_where_nothing_can_be_computed_is_not_a_success():
    made, true = target(3)
    start = np.log(true)
    start[:, 1] = 1e6
    found = solve(made, start)
    assert list(found.settled) == [True, False, True]
    assert found.value[1] == np.inf


def test_too_few_iterations_are_not_a_success():
    made, true = target(20)
    found = solve(made, np.log(true) + 1.0, iterations=1)
    assert not found.settled.any()
    assert (found.iterations <= 1).all()


# --- no start given: the optimum, or no claim to it ----------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    sample(["Chwirut1", "Chwirut2", "DanWood", "Gauss1", "Gauss2", "Kirby2", "Lanczos1", "Lanczos3", "Misra1a",
     "Misra1b", "Misra1c", "Misra1d", "Nelson"], 3),
)  # fmt: skip
def test_without_a_start_the_certified_optimum_or_no_claim(reference_data, name):
    problem = json.loads((reference_data / "nist" / "nist_strd_dev.json").read_text())[name]
    law = forecast.Law(problem["formula"], variables=problem["predictors"])
    data = {"y": np.array(problem["y"]), **{k: np.array(v) for k, v in problem["x"].items()}}
    fit = law.fit(data, y=problem["response"])
    best = fit.objective <= problem["rss"] * (1 + 1e-6)
    assert best or not fit.converged, fit.verdict
    assert best
    if not fit.converged:
        assert "disagree" in fit.verdict
