"""What must hold of every fit: it finds exact data exactly, and follows units, scales, row order and repeated rows."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import forecast
from forecast.fit.problem import problem

NOISE = 0.02


@dataclass(frozen=True)
class Case:
    """A law, points, ranges of its parameters, and how these follow the units of the variables and of y."""

    law: forecast.Law
    points: dict
    spans: dict
    moved: Callable

    @property
    def middle(self):
        return {name: 0.5 * (low + high) for name, (low, high) in self.spans.items()}

    def noisy(self, seed=0):
        y = self.law.value(self.middle, **self.points)
        return y * np.exp(NOISE * np.random.default_rng(seed).standard_normal(y.size))

    def fit(self, y, points=None, **options):
        options = {"objective": "least_squares_log", **options}
        return self.law.fit({**(points or self.points), self.law.output: y}, **options)


SIZES = {"N": np.tile(np.geomspace(1e7, 1e10, 8), 8), "D": np.repeat(np.geomspace(1e9, 1e12, 8), 8)}
CASES = {
    "power": Case(
        forecast.law("scaling/power"),
        {"x": np.geomspace(1, 1e3, 40)},
        {"beta": (0.5, 10.0), "c": (0.1, 1.5)},
        lambda p, s, y: {"beta": p["beta"] * y * s["x"] ** p["c"], "c": p["c"]},
    ),
    "saturating": Case(
        forecast.law("scaling/saturating-power"),
        {"x": np.geomspace(1, 1e4, 40)},
        {"E": (0.5, 3.0), "beta": (2.0, 10.0), "c": (0.2, 0.8)},
        lambda p, s, y: {"E": p["E"] * y, "beta": p["beta"] * y * s["x"] ** p["c"], "c": p["c"]},
    ),
    "chinchilla": Case(
        forecast.law("scaling/chinchilla"),
        SIZES,
        {"E": (1.0, 2.5), "A": (200.0, 800.0), "alpha": (0.25, 0.45), "B": (500.0, 3000.0), "beta": (0.25, 0.45)},
        lambda p, s, y: {
            "E": p["E"] * y,
            "A": p["A"] * y * s["N"] ** p["alpha"],
            "alpha": p["alpha"],
            "B": p["B"] * y * s["D"] ** p["beta"],
            "beta": p["beta"],
        },
    ),
    "broken": Case(
        forecast.law("scaling/broken-power"),
        {"x": np.geomspace(1, 1e4, 60)},
        {"a": (0.1, 0.3), "b": (3.0, 6.0), "c0": (0.1, 0.2), "d1": (60.0, 200.0), "f1": (0.2, 0.4), "c1": (0.4, 0.8)},
        lambda p, s, y: {
            "a": p["a"] * y,
            "b": p["b"] * y * s["x"] ** p["c0"],
            "c0": p["c0"],
            "d1": p["d1"] * s["x"],
            "f1": p["f1"],
            "c1": p["c1"],
        },
    ),
    "logistic": Case(
        forecast.law("scaling/logistic"),
        {"t": np.linspace(0, 20, 60)},
        {"K": (1.0, 20.0), "r": (0.4, 1.0), "t0": (8.0, 12.0)},
        lambda p, s, y: {"K": p["K"] * y, "r": p["r"] / s["t"], "t0": p["t0"] * s["t"]},
    ),
    "exponential": Case(
        forecast.Law("a*exp(g*t)", variables=["t"], positive=["a"]),
        {"t": np.linspace(0, 20, 41)},
        {"a": (1.0, 10.0), "g": (-0.1, 0.5)},
        lambda p, s, y: {"a": p["a"] * y, "g": p["g"] / s["t"]},
    ),
}
#: The law that takes five times as long as the others is of the slow tier.
every = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "broken" else name for name in CASES]
)
sometimes = settings(max_examples=4, deadline=None, derandomize=True)


@every
@sometimes
@given(data=st.data(), objective=st.sampled_from(["least_squares", "least_squares_log", "huber_log"]))
def test_exact_data_are_found_exactly(name, data, objective):
    case = CASES[name]
    true = {p: data.draw(st.floats(*span), label=p) for p, span in case.spans.items()}
    y = case.law.value(true, **case.points)
    fit = case.fit(y, objective=objective)
    assert fit.converged, fit.verdict
    np.testing.assert_allclose(case.law.value(fit.values, **case.points), y, rtol=1e-9)
    assert fit.values == pytest.approx(true, rel=1e-5, abs=1e-9)


@every
@sometimes
@given(data=st.data(), objective=st.sampled_from(["least_squares", "least_squares_log", "huber_log"]))
def test_units_change_the_parameters_and_nothing_else(name, data, objective):
    case = CASES[name]
    tens = st.integers(-6, 6).map(lambda e: 10.0**e)
    x = {v: data.draw(tens, label=v) for v in case.points}
    size = data.draw(tens, label="y")
    y = case.noisy()
    before = case.fit(y, objective=objective)
    after = case.fit(y * size, {v: c * x[v] for v, c in case.points.items()}, objective=objective)
    assert before.converged
    assert after.converged
    there = case.law.value(after.values, **{v: c * x[v] for v, c in case.points.items()})
    np.testing.assert_allclose(there, size * case.law.value(before.values, **case.points), rtol=1e-6)
    assert after.values == pytest.approx(case.moved(before.values, x, size), rel=1e-4)
    assert after.objective == pytest.approx(
        before.objective * (size**2 if objective == "least_squares" else 1), rel=1e-9
    )


@every
@sometimes
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_the_rows_does_not_matter(name, seed):
    case = CASES[name]
    y = case.noisy()
    order = np.random.default_rng(seed).permutation(y.size)
    before, after = case.fit(y), case.fit(y[order], {v: c[order] for v, c in case.points.items()})
    assert after.converged
    assert after.objective == pytest.approx(before.objective, rel=1e-9)
    assert after.values == pytest.approx(before.values, rel=1e-5)
    for p in case.law.parameters:
        assert float(after.stderr[p]) == pytest.approx(float(before.stderr[p]), rel=1e-4)


@every
@sometimes
@given(seed=st.integers(0, 2**32 - 1))
def test_a_weight_is_that_many_rows(name, seed):
    case = CASES[name]
    y = case.noisy()
    times = np.random.default_rng(seed).integers(1, 4, y.size)
    rows = np.repeat(np.arange(y.size), times)
    weighted = case.fit(y, {**case.points, "w": times.astype(float)}, weights="w")
    repeated = case.fit(y[rows], {v: c[rows] for v, c in case.points.items()})
    assert weighted.converged
    assert repeated.converged
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-9)
    assert weighted.values == pytest.approx(repeated.values, rel=1e-5)


@pytest.mark.parametrize("name", ["power", "saturating", "chinchilla", "exponential"])
@pytest.mark.parametrize("objective", ["least_squares", "least_squares_log", "huber_log"])
def test_two_engines_agree(name, objective, monkeypatch):
    case = CASES[name]
    options = {"options": {"delta": 0.02}} if objective == "huber_log" else {}
    for seed in range(3):
        y = case.noisy(seed)
        with monkeypatch.context() as patch:
            kinds = []
            make = problem.kernel_for
            noted = lambda *a, make=make, kinds=kinds: kinds.append(make(*a)) or kinds[-1]  # noqa: E731
            patch.setattr(problem, "kernel_for", noted)
            quick = case.fit(y, objective=objective, **options)
            patch.setattr(problem, "power_terms", lambda *a: None)
            slow = case.fit(y, objective=objective, **options)
        assert {type(k).__name__ for k in kinds} == {"PowerSum", "ProgramKernel"}
        assert quick.objective == pytest.approx(slow.objective, rel=1e-9)
        ours, theirs = (case.law.value(f.values, **case.points) for f in (quick, slow))
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
        assert quick.values == pytest.approx(slow.values, rel=1e-7)
