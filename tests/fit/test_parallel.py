import os
import sys
from concurrent.futures import Executor, ThreadPoolExecutor

import numpy as np
import pytest
import xarray as xr

import forecast
from forecast.errors import FitError, UsageError
from forecast.fit.solve import parallel
from forecast.fit.solve.parallel import check_workers, share

LAW = forecast.Law("E + b*x**-c", variables=["x"], positive=["E", "b", "c"])
X = np.geomspace(1, 1e4, 25)
RNG = np.random.default_rng(0)
DATA = {"x": X, "y": (1 + 4 * X**-0.4) * np.exp(0.02 * RNG.standard_normal(25))}


@pytest.fixture(autouse=True)
def _share_all_work(monkeypatch):
    """Start processes for any work, however little it is."""
    monkeypatch.setattr(parallel, "START_SECONDS", 0.0)


def vanish(x):
    os._exit(3)


def curves(rows):
    y = (1 + 4 * X**-0.4) * np.exp(0.02 * np.random.default_rng(1).standard_normal((rows, 25)))
    return xr.Dataset({"x": ("point", X), "y": (("curve", "point"), y)}, coords={"curve": np.arange(rows)})


def process(_):
    return os.getpid()


def test_work_that_takes_less_than_the_start_of_processes_is_done_here(monkeypatch):
    pieces = [(i,) for i in range(4)]
    assert os.getpid() not in share(process, pieces, 2)
    monkeypatch.setattr(parallel, "START_SECONDS", 60.0)
    assert share(process, pieces, 2) == [os.getpid()] * 4


def test_a_process_that_ends_is_said():
    with pytest.raises(FitError, match=r"law: workers: a worker process ended .*__main__"):
        share(vanish, [(1,), (2,)], 2, where="law")


@pytest.mark.parametrize("workers", [0, -1, True, 2.0, "2", [2]])
def test_impossible_workers_are_refused(workers):
    with pytest.raises(UsageError, match="workers: expected a number of processes of at least 1"):
        LAW.fit(DATA, workers=workers)


@pytest.mark.parametrize("resample", ["pairs", "wild"])
def test_a_bootstrap_is_the_same_bits_for_any_number_of_workers(resample):
    alone = LAW.fit(DATA, bootstrap=1100, resample=resample, seed=3)
    for workers in (1, 2):
        assert LAW.fit(DATA, bootstrap=1100, resample=resample, seed=3, workers=workers).bootstrap.identical(
            alone.bootstrap
        )
    with ThreadPoolExecutor(2) as pool:
        assert LAW.fit(DATA, bootstrap=1100, resample=resample, seed=3, workers=pool).bootstrap.identical(
            alone.bootstrap
        )
    again = alone.resample(1100, resample=resample, seed=3, workers=2).bootstrap
    np.testing.assert_allclose(again["c"].values, alone.bootstrap["c"].values, rtol=1e-9)


@pytest.mark.slow
def test_curves_are_the_same_bits_for_any_number_of_workers(monkeypatch):
    monkeypatch.setattr(sys.modules["forecast.fit.fit_law"], "CHUNK_POINTS", 500)
    data = curves(70)
    told = []
    alone = LAW.fit(data, by="curve", bootstrap=8, progress=lambda *at: told.append(at))
    assert told[-1] == (560, 560)
    assert [d for d, _ in told] == sorted(d for d, _ in told)
    shared = LAW.fit(data, by="curve", bootstrap=8, workers=2)
    for part in ("params", "stderr", "bootstrap", "objective", "verdict"):
        assert getattr(shared, part).identical(getattr(alone, part)), part
    told.clear()
    LAW.fit(data, by="curve", progress=lambda *at: told.append(at))
    assert told == [(64, 70), (70, 70)]


def test_progress_of_a_bootstrap_ends_with_all_of_it():
    told = []
    LAW.fit(DATA, bootstrap=1100, progress=lambda *at: told.append(at))
    assert told == [(256, 1100), (1024, 1100), (1100, 1100)]


def straight(parameters, x):
    return parameters["a"] + parameters["b"] * x


def coded(code):
    from forecast.laws.forms import Code

    form = Code(code, ("a", "b"), ("x",), "law 'code'")
    options = {"variables": {"x": ""}, "output": "y", "unit": "", "objective": "least_squares"}
    return forecast.Law._from_form(form, options)


def test_code_of_a_module_is_shared_and_code_made_on_the_way_is_refused():
    line, data = coded(straight), {"x": X, "y": 1 + 2 * X + RNG.standard_normal(25)}
    if getattr(__import__(__name__), "straight", None) is straight:  # the worker can import this module
        one, two = (line.fit(data, bootstrap=1100, workers=w).bootstrap for w in (1, 2))
        assert one.identical(two)
    loose = coded(lambda parameters, x: parameters["a"] + parameters["b"] * x)
    assert loose.fit(data, bootstrap=9).bootstrap["converged"].all()
    with pytest.raises(UsageError, match=r"workers: .* is code that was made in this process"):
        loose.fit(data, bootstrap=1100, workers=2)
    with ThreadPoolExecutor(2) as pool:
        assert loose.fit(data, bootstrap=1100, workers=pool).bootstrap.identical(
            loose.fit(data, bootstrap=1100).bootstrap
        )


def test_an_executor_of_another_kind_is_taken_and_its_law_checked():
    class Mine(Executor):
        pass

    check_workers(Mine(), "law", LAW)
    with pytest.raises(UsageError, match="no other can"):
        check_workers(Mine(), "law", coded(lambda parameters, x: x))


@pytest.mark.slow
def test_dask():
    distributed = pytest.importorskip("distributed")
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        shared = LAW.fit(DATA, bootstrap=1100, workers=client.get_executor()).bootstrap
    assert shared.identical(LAW.fit(DATA, bootstrap=1100).bootstrap)
