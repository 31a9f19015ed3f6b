"""Do intervals hold what they promise? Simulations with 2 % log-normal noise, fitted by their own likelihood."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

import forecast
from forecast.fit.data.observations import read_observations
from forecast.fit.diagnostics.identifiability import edge_reasons
from forecast.fit.inference.profile_endpoints import Optima, ProfileEndpoints
from forecast.fit.objectives import find_objective
from forecast.fit.options import FitRequest
from forecast.fit.problem.problem import Setting, solver_coordinates
from forecast.fit.solve import newton
from forecast.fit.solve.starts import Grid
from forecast.fit.solver_options import ProfileOptions, SolverOptions
from toolkit import sample

pytestmark = pytest.mark.slow

RUNS, NOISE, LEVEL, STARTS = 500, 0.02, 0.95, 3
LOGISTIC = forecast.Law("K/(1 + exp(-r*(t - t0)))", variables=["t"], positive=["K", "r"], objective="least_squares_log")
TREND = forecast.Law("a*exp(g*(t - 2010))", variables=["t"], positive=["a"], objective="least_squares_log")


def isoflop():
    """240 points as in figure 4 of Hoffmann et al.: twelve budgets, models about the best size at each."""
    compute = np.repeat(np.geomspace(6e18, 3e21, 12), 20)
    apart = np.random.default_rng(3).uniform(-1.0, 1.0, 240)
    size = np.sqrt(compute / 120) * 4**apart
    return {"N": size, "D": compute / 6 / size}


@dataclass(frozen=True)
class Case:
    law: object
    points: dict
    truth: dict
    least: float = 0.93
    most: float = 0.97
    flagged: float = 0.05


CASES = {
    "power": Case(forecast.law("scaling/power"), {"x": np.geomspace(1e2, 1e5, 40)}, {"beta": 5.0, "c": 0.3}),
    "saturating": Case(
        forecast.law("scaling/saturating-power"), {"x": np.geomspace(1e1, 1e4, 60)}, {"E": 1.7, "beta": 8.0, "c": 0.35}
    ),
    "broken": Case(
        forecast.law("scaling/broken-power"),
        {"x": np.geomspace(1e0, 1e4, 60)},
        {"a": 0.2, "b": 5.0, "c0": 0.15, "d1": 1e2, "f1": 0.3, "c1": 0.6},
    ),
    "chinchilla": Case(
        forecast.law("scaling/chinchilla"),
        isoflop(),
        {"E": 1.8172, "A": 477.83, "alpha": 0.34731, "B": 2143.4, "beta": 0.36717},
    ),
    "logistic": Case(LOGISTIC, {"t": np.linspace(0, 20, 60)}, {"K": 10.0, "r": 0.6, "t0": 10.0}),
    "exponential": Case(TREND, {"t": np.linspace(2000, 2020, 41)}, {"a": 3.0, "g": 0.35}),
    "midpoint": Case(
        LOGISTIC, {"t": np.linspace(0, 10, 60)}, {"K": 10.0, "r": 0.6, "t0": 10.0}, least=0.90, most=1.0, flagged=1.0
    ),
}


def simulated(case, seed=11, tolerance=1e-7):
    """Return the problem and the observations of all runs, (RUNS, n) in logarithms."""
    mean = np.asarray(case.law.value(case.truth, **case.points))
    y = np.log(mean) + NOISE * np.random.default_rng(seed).standard_normal((RUNS, mean.size))
    objective = find_objective("least_squares_log")
    data = {**case.points, case.law.output: np.exp(y[0])}
    seen = read_observations(case.law, data, FitRequest(), objective=objective, options={}, name="law")
    setting = Setting(
        law=case.law,
        objective=objective,
        options={},
        coordinates=solver_coordinates(case.law, "law"),
        name="law",
        solver=SolverOptions(profile=ProfileOptions(root_tolerance=tolerance)),
    )
    return setting.problem(seen), y


def solved(problem, y):
    """Return every run's best solution from the starts of the first run; nothing knows the truth."""
    target = replace(problem.target(), y=y)
    best = None
    for start in Grid(problem, seed=0).best(STARTS):
        found = newton.solve(target, np.repeat(start[:, None], RUNS, axis=1))
        if best is None:
            best = found
            continue
        better = (found.value < best.value * (1 - 1e-9)) | (found.settled & ~best.settled)
        for name in ("q", "value", "hessian", "settled"):
            getattr(best, name)[..., better] = getattr(found, name)[..., better]
    assert best is not None
    return Optima(target=target, q=best.q, value=best.value, hessian=best.hessian)


def limits(optima, unit, k):
    """Return the limits of the profiles; where a refit was better than the optimum, those about it."""
    rise = np.repeat(unit[None], k, axis=0)
    found = ProfileEndpoints(optima, rise)
    again = ProfileEndpoints(found.optima, rise) if found.better.any() else found
    return [np.where(found.better, *ends) for ends in ((again.low, found.low), (again.high, found.high))]


@pytest.mark.parametrize("name", sample(CASES, 0, 3))
def test_the_default_interval_covers(name, capsys):
    case = CASES[name]
    problem, y = simulated(case, tolerance=1e-5)
    optima = solved(problem, y)
    dof = problem.n - problem.k
    unit = optima.value / dof * stats.t.ppf(0.5 + LEVEL / 2, dof) ** 2
    lowest, highest = limits(optima, unit, problem.k)
    truth = problem.internal(np.array([case.truth[p] for p in problem.free]))[:, None]
    covered = ((lowest <= truth) & (truth <= highest)).mean(axis=1)
    unlimited = (np.isinf(highest) | (np.isinf(lowest) & ~problem.logs[:, None])).any(axis=0)
    low, high = problem.natural(lowest.T).T, problem.natural(highest.T).T
    beyond = np.array(
        [
            bool(edge_reasons(problem, dict(zip(problem.free, zip(a, b, strict=True), strict=True))))
            for a, b in zip(low.T, high.T, strict=True)
        ]
    )
    flagged = float((unlimited | beyond).mean())
    with capsys.disabled():
        shown = ", ".join(f"{p} {c:.3f}" for p, c in zip(problem.free, covered, strict=True))
        print(f"\n{name:12s} {shown}; flagged {flagged:.3f}")
    assert np.all((case.least <= covered) & (covered <= case.most))
    assert flagged <= case.flagged
    if name == "midpoint":
        assert flagged >= 0.95
