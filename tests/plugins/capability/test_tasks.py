"""The best allocation of labour and compute to tasks, against a solver that knows nothing of its structure."""

import numpy as np
import pytest
from scipy.optimize import minimize

from forecast_capability.links import tasks
from toolkit import sample

START = {"labour_start": 10.0, "compute_start": 50.0}
NEEDS = {"need": 1e6, "need_gap": 1e4, "runtime": 30.0, "runtime_gap": 10.0, "trade": 0.5, "trade_most": 10.0}


def given(**values):
    return {name: np.array([[float(value)]]) for name, value in {**START, **NEEDS, "rho": -0.5, **values}.items()}


def by_solver(n, labour, compute, run, rho):
    """Maximise the composite over who does what, starting from an even split."""
    place = np.interp(np.linspace(0, 1, n), tasks._QUANTILES, tasks._POWERS)
    need, takes = NEEDS["need"] / NEEDS["need_gap"] ** place, NEEDS["runtime"] / NEEDS["runtime_gap"] ** place
    eta = np.where(need < NEEDS["trade_most"] * run, 1 / np.maximum(1, takes * (need / run) ** NEEDS["trade"]), 0)
    eta = np.concatenate([[1.0], eta])
    share = np.concatenate([[tasks.COMPUTE_SHARE], np.full(n, (1 - tasks.COMPUTE_SHARE) / n)])
    at_start = np.concatenate([[START["compute_start"]], np.full(n, START["labour_start"] / n)])

    def work(logits):
        split = np.exp(logits - logits.max())
        people, machines = split[: n + 1] / split[: n + 1].sum(), split[n + 1 :] / split[n + 1 :].sum()
        x = labour * people + compute * eta * machines
        return -np.log((share * (x / at_start) ** rho).sum()) / rho

    tried = [minimize(work, np.random.default_rng(s).normal(size=2 * n + 2), method="BFGS") for s in range(4)]
    return np.exp(-min(each.fun for each in tried))


@pytest.fixture
def few(monkeypatch):
    """Let there be five tasks; what is kept of as many as usual is forgotten before and after."""
    monkeypatch.setattr(tasks, "TASKS", 5)
    kept = (tasks._computed, tasks._tasks)
    for each in kept:
        each.cache_clear()
    yield
    for each in kept:
        each.cache_clear()


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("run", sample([1.0, 30.0, 1e3, 1e5, 1e7], 0, 2))
@pytest.mark.parametrize(("labour", "compute"), [(10, 50), (12, 5e3), (5, 20)])
@pytest.mark.parametrize("rho", [-0.5, -2.0])
def test_no_other_allocation_does_more(run, labour, compute, rho):
    found = float(tasks.composite(**given(labour=labour, compute=compute, run=run, rho=rho))[0, 0])
    best = by_solver(5, labour, compute, run, rho)
    assert found >= best * (1 - 1e-9)
    assert found == pytest.approx(best, rel=2e-3)


def test_at_the_start_people_do_all_tasks_but_one():
    assert tasks.composite(**given(labour=10, compute=50, run=1e-9)) == pytest.approx(1)
    assert tasks.automated(**given(labour=10, compute=50, run=1e-9)) == 0
    assert tasks.composite(**given(labour=20, compute=100, run=1e-9)) == pytest.approx(2)  # constant returns to scale


def test_more_of_anything_does_more_and_a_larger_run_automates_more():
    runs = np.geomspace(1e-3, 1e8, 60)
    alike = {name: np.broadcast_to(value, (1, 60)) for name, value in given(labour=10, compute=1e9).items()}
    made, share = (f(**{**alike, "run": runs[None]})[0] for f in (tasks.composite, tasks.automated))
    assert (np.diff(made) >= -1e-12).all()
    assert (np.diff(share) >= 0).all()
    assert (share[0], share[-1]) == (0, 1)


def test_worlds_that_are_alike_are_the_same_as_each_alone():
    one = tasks.composite(**given(labour=10, compute=1e6, run=1e4))
    many = tasks.composite(**{n: np.broadcast_to(v, (3, 7)) for n, v in given(labour=10, compute=1e6, run=1e4).items()})
    np.testing.assert_allclose(many, np.broadcast_to(one, (3, 7)), rtol=1e-12)
