"""Fits to many points: they are summed in pieces, starts are looked for at some of them, and the fit is the same."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import forecast
from forecast.fit.solver_options import GridOptions, SolverOptions
from toolkit import noise, sample, saturating, training_runs

LINE = forecast.Law("a + b*x", variables=["x"])
SHORT = np.linspace(-2, 2, 400)
CASES: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "sum of powers": ("scaling/chinchilla", training_runs(400), {"objective": "least_squares", "y": "loss"}),
    "in logarithms": ("scaling/chinchilla", training_runs(400), {"y": "loss"}),
    "any law": ("scaling/logistic", {
        "t": np.linspace(-4, 4, 400), "y": 5 / (1 + np.exp(-1.5 * np.linspace(-4, 4, 400))) * noise(400)
    }, {"y": "y"}),
    "counts": (
        forecast.Law("1/(1 + exp(-(a + b*x)))", variables=["x"]),
        {"x": SHORT, "y": np.round(20 / (1 + np.exp(-SHORT))), "n": np.full(400, 20.0)},
        {"objective": "binomial", "options": {"trials": "n"}, "y": "y"},
    ),
    "errors in x": (LINE, {"x": np.linspace(0, 5, 400), "y": 2 + 3 * np.linspace(0, 5, 400) * noise(400)},
                    {"sigma_x": {"x": 0.05}, "sigma": 0.1, "y": "y"}),
    "groups": (LINE, {"x": np.linspace(0, 5, 400), "y": 2 + 3 * np.linspace(0, 5, 400) * noise(400),
                      "of": np.array(["p", "q"] * 200)}, {"groups": "of", "y": "y"}),
}  # fmt: skip


@pytest.mark.parametrize("case", sample(CASES, 2))
def test_points_in_pieces_give_the_same_fit(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    law, data, options = CASES[case]
    law = forecast.law(law) if isinstance(law, str) else law
    whole = law.fit(data, **options)
    monkeypatch.setattr("forecast.fit.problem.problem.MAX_UNBLOCKED_POINTS", 100)
    monkeypatch.setattr("forecast.fit.problem.problem.CACHE_ELEMENTS", 64)
    pieces = law.fit(data, **options)
    for name in law.parameters:
        assert float(pieces.params[name]) == pytest.approx(float(whole.params[name]), rel=1e-9)
        assert float(pieces.stderr[name]) == pytest.approx(float(whole.stderr[name]), rel=1e-9)
        if case == "sum of powers":
            ends = zip(pieces.interval(name, method="profile"), whole.interval(name, method="profile"), strict=True)
            assert all(float(one) == pytest.approx(float(other), rel=1e-6) for one, other in ends)
    assert pieces.objective == pytest.approx(whole.objective, rel=1e-9)


def test_starts_are_looked_for_at_some_of_the_points() -> None:
    data = saturating(4000)
    whole = forecast.law("scaling/saturating-power").fit(data, y="y")
    few = SolverOptions(grid=GridOptions(max_observations=200))
    some = forecast.law("scaling/saturating-power").fit(data, y="y", solver=few)
    assert some.converged
    for name, value in whole.params.items():
        assert float(some.params[name]) == pytest.approx(float(value), rel=1e-7)


def test_a_fit_to_many_points_keeps_few_tables_of_them() -> None:
    law, points = forecast.law("scaling/saturating-power"), 300_000
    law.fit(saturating(1000), y="y")  # imports
    data = saturating(points)
    tracemalloc.start()
    law.fit(data, y="y")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * 8 * points
