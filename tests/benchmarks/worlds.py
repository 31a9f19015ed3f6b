"""Projections against numpy: the same worlds on whole arrays, or worlds drawn and ranked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import forecast
from forecast.streams import Streams

from .timing import Benchmark, Cost, NotHereError, cpu, draw_and_rank

DATA = """
import json, pathlib, sys, time
import numpy as np
WORLDS, YEARS = int(sys.argv[1]), np.arange(2025.0, 2085.0)
t = np.linspace(2000, 2025, 25)
y = 10 ** (9 + 0.25 * (t - 2000) + 0.1 * np.random.default_rng(0).standard_normal(25))
def report(began, median):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()  # getrusage counts who started us, too
    memory = next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    print(json.dumps({"cpu": time.process_time() - began, "memory": memory, "median": median}))
"""
PLAIN = """
began, rng, levels = time.process_time(), np.random.default_rng(0), [0.05, 0.25, 0.5, 0.75, 0.95]
x = np.stack([np.ones(25), t - t.mean()], 1)
b, rss, *_ = np.linalg.lstsq(x, np.log(y), rcond=None)
root = np.linalg.cholesky(rss[0] / 23 * np.linalg.inv(x.T @ x))
z = rng.standard_normal((2, WORLDS)) / np.sqrt(rng.chisquare(23, WORLDS) / 23)
level, growth = b[:, None] + root @ z
machine = np.exp(level + growth * (YEARS[:, None] - t.mean()))
def lognormal(low, high):
    middle, spread = np.log(low * high) / 2, np.log(high / low) / 2 / 1.6448536269514722
    return np.exp(middle + spread * rng.standard_normal(WORLDS))
brain, price = lognormal(1e16, 1e21), lognormal(1e6, 1e9)
for path in (machine, machine / price, machine / brain, brain, price):
    np.quantile(path, levels, axis=-1)
apart = np.log(machine) - np.log(brain)
first, worlds = (apart >= 0).argmax(0), np.arange(WORLDS)
before = np.maximum(first - 1, 0)
low, high = apart[before, worlds], apart[first, worlds]
with np.errstate(all="ignore"):
    date = np.where(first == 0, YEARS[0], YEARS[before] - low / (high - low))
date[~(apart >= 0).any(0)] = np.inf
report(began, float(np.sort(date)[WORLDS // 2]))
"""
OURS = """
import forecast, forecast.projection.engine, xarray
from forecast.report import result_data
machine = forecast.trend({"year": t, "v": y}, shape="trends/exponential", x="year", y="v", unit="FLOP/s", name="m")
record = {
    "start": 2025, "until": 2084,
    "quantities": {
        "machine": {"model": machine}, "per": {"expression": "machine/price"}, "ratio": {"expression": "machine/brain"},
        "brain": {"p05": 1e16, "p95": 1e21, "unit": "FLOP/s"}, "price": {"p05": 1e6, "p95": 1e9, "unit": "USD"},
    },
    "questions": {"there": {"when": "machine >= brain"}},
}
forecast.project(record, draws=8)  # imports what is needed
began = time.process_time()
run = forecast.project(record, draws=WORLDS)
result_data.quantity_rows(run)
(answer,) = result_data.date_rows(run)
report(began, float(answer["crossing"]["p50"][:4]) + (float(answer["crossing"]["p50"][5:7]) - 0.5) / 12)
"""


def run_program(program: str, draws: int) -> dict[str, float]:
    """Run one of the two programs in a process of its own: its CPU seconds beyond imports, its memory, its median."""
    if sys.platform != "linux":
        raise NotHereError("memory is read in /proc")
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", DATA + program, str(draws)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | threads)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def million() -> tuple[Cost, Cost]:
    """A million worlds; theirs are a quarter as many, four times."""
    return lambda: run_program(OURS, 1_000_000)["cpu"], lambda: 4 * run_program(PLAIN, 250_000)["cpu"]


# --- small scenarios --------------------------------------------------------------------------------------------------

SMALL = {
    "start": 2025, "until": 2035,
    "quantities": {
        "machine": {"expression": "now*exp(growth*(t - start))"}, "now": {"p05": 1, "p95": 4, "unit": "FLOP/s"},
        "growth": {"normal": [0.2, 0.6], "unit": "1/year"}, "goal": {"value": 20, "unit": "FLOP/s"},
    },
    "questions": {"enough": {"when": "machine >= goal"}},
}  # fmt: skip

#: What a reader of the page of ``forecast explore`` moves, and moves on: a new value each time.
MOVES: list[Callable[[int], dict[str, Any]]] = [
    lambda n: {"set": {"brain/dettmers-2015.firing_rate": str(100 + n)}},
    lambda n: {"set": {"brain": f"{1 + n}e15"}},
    lambda n: {"set": {"trend": ("exponential", "changepoint", "local-linear", "pool")[n % 4]}},
    lambda n: {"set": {"metric": ("hpcg", "linpack", "ai-cluster")[n % 3]}},
    lambda n: {},
    lambda n: {"swap": {"brain": ("brain/moravec-1997", "brain/cotra-2020", "brain/drexler-2018")[n % 3]}},
]


def small() -> tuple[Cost, Cost]:
    return cpu(lambda: forecast.project(SMALL, draws=1000)), cpu(draw_and_rank(1000, 11))


def again() -> tuple[Cost, Cost]:
    """The founding question asked a second time in a process."""
    return cpu(lambda: forecast.project("brain-parity")), cpu(draw_and_rank(4096, 76, 9))


def frontiers() -> tuple[Cost, Cost]:
    """A million worlds of a frontier that starts at its last record, and a question."""
    record = {
        "start": 2025, "until": 2084,
        "quantities": {"machine": {"model": "hardware/linpack", "shape": "trends/exponential"}},
        "questions": {"there": {"when": "machine >= 1e21 FLOP/s"}},
    }  # fmt: skip
    forecast.project(record, draws=8)
    return cpu(lambda: forecast.project(record, draws=1_000_000)), cpu(draw_and_rank(100_000, 60, 10))


def stepped() -> tuple[Cost, Cost]:
    """A model that is stepped through time by Runge and Kutta's method, and the same by hand."""
    forecast.project("kwa-2026", draws=8)
    worlds, steps, dt = 20_000, 528, 1 / 12

    def by_hand() -> None:
        rng = np.random.default_rng(0)
        inverse, alpha, zeta, b = (rng.uniform(*ends, worlds) for ends in ((2, 4), (0.1, 0.3), (0.5, 0.8), (0.3, 1)))
        shift, k = -np.log(0.375 / 0.625) * inverse, 1.5
        compute = np.exp(0.5 * np.arange(2 * steps + 1) * dt / 2)  # at steps and between them
        labour = np.exp(0.1 * np.arange(2 * steps + 1) * dt / 2)

        def rate(s: Any, at: int) -> Any:
            f = np.minimum(1 / (1 + np.exp(-(np.log(compute[at] * s) - shift) / inverse)), 0.999999)
            return k * (labour[at] / (1 - f)) ** alpha * compute[at] ** zeta * s**-b

        s, path = np.ones(worlds), np.empty((steps + 1, worlds))
        path[0] = s
        for step in range(steps):
            one = rate(s, 2 * step)
            two = rate(s * np.exp(dt / 2 * one), 2 * step + 1)
            three = rate(s * np.exp(dt / 2 * two), 2 * step + 1)
            four = rate(s * np.exp(dt * three), 2 * step + 2)
            path[step + 1] = s = np.minimum(s * np.exp(dt / 6 * (one + 2 * two + 2 * three + four)), 1e250)

    return cpu(lambda: forecast.project("kwa-2026", draws=worlds, keep=worlds)), cpu(by_hand)


def steps(few: int, many: int) -> tuple[Cost, Cost]:
    """Steps of a stock, beside as many times fewer."""

    def walked(count: int) -> Cost:
        record = {
            "start": 2025, "until": 2025 + count / 100, "step": 0.01,
            "quantities": {"pace": {"p05": 0.01, "p95": 0.04, "unit": "1/year"}},
            "stocks": {"size": {"initial": 1, "log_rate": "pace*size**-0.1"}},
            "questions": {"twice": {"when": "size >= 2"}},
        }  # fmt: skip
        forecast.project(record, draws=8)
        return cpu(lambda: forecast.project(record, draws=1024))

    one = walked(few)
    return walked(many), lambda: many / few * one()


def sweep() -> tuple[Cost, Cost]:
    """Three hundred values of a budget, each a run of its own."""
    values = np.linspace(300, 3000, 300).tolist()
    return cpu(lambda: forecast.project("gpu-choice", sweep={"budget": values})), cpu(draw_and_rank(2048, 76, 80))


def redraw() -> tuple[Cost, Cost]:
    """An answer as it is sent to the page, after each kind of change."""
    from forecast.cli.explore import server
    from forecast.cli.explore.session import Session

    session = Session("brain-parity").__enter__()
    session.answer({})
    turn = iter(range(10**9))

    def moved() -> None:
        n = next(turn)
        for move in MOVES:
            server._json_response(session.answer(move(n)))

    return cpu(moved), cpu(draw_and_rank(2048, 76, 9))


def read() -> tuple[Cost, Cost]:
    """Every table behind a large scenario: parsed, checked cell by cell and row by row, laid on its grid, flattened."""
    import pandas as pd

    from forecast import Scenario, tables
    from forecast.scenarios.graph import build
    from forecast.tables import cache, editions

    with editions.use_editions({}) as read:
        forecast.project("model-capability", draws=8)
        build(Scenario.load("model-capability"))
    packages = [editions.of(path).package for path in read]
    files = [each.folder / resource.path for each in packages for resource in each.resources if not resource.remote]

    def ours() -> None:
        cache._kept.clear()
        for path in read:
            tables.to_columns(path)

    return cpu(ours), cpu(lambda: [pd.read_csv(file) for file in files])


# --- shapes -----------------------------------------------------------------------------------------------------------


def local_linear() -> tuple[Cost, Cost]:
    """A fit to 120 months, and a block of draws of thirty years."""
    from forecast_trends.walks.local_linear import LocalLinear

    t, years = 1970 + np.arange(120) / 12, np.arange(2020.0, 2051.0)
    y, made = np.exp(0.1 * (t - 1970) + np.cumsum(0.02 * np.random.default_rng(0).standard_normal(120))), LocalLinear()
    return cpu(lambda: made.fit(t, y).sample(years, Streams(0, "b", 0))), cpu(draw_and_rank(1024, 31, 10))


BENCHMARKS = [
    Benchmark("worlds/1e6 worlds, 60 years, 5 quantities", "numpy on whole arrays", 3.4, million, 1),
    Benchmark("worlds/a small projection", "numpy: 1,000 x 11 drawn, ranked", 0.1, small, 15),
    Benchmark("worlds/brain-parity asked again", "numpy: 9 of 4,096 x 76 drawn, ranked", 0.1, again, 2),
    Benchmark(
        "worlds/a frontier, 1e6 worlds x 60 years", "numpy: 10 of 100,000 x 60 drawn, ranked", 0.55, frontiers, 1
    ),
    Benchmark("worlds/stepped, 20,000 worlds x 528", "Runge-Kutta by hand in numpy", 0.67, stepped, 3),
    Benchmark("worlds/3,000 steps of a stock against 1,000", "three times 1,000", 0.9, lambda: steps(1000, 3000), 2),
    Benchmark("worlds/a sweep of 300 values", "numpy: 80 of 2,048 x 76 drawn, ranked", 0.1, sweep, 1),
    Benchmark("worlds/six changes on the page of explore", "numpy: 9 of 2,048 x 76 drawn, ranked", 0.05, redraw, 2),
    Benchmark("worlds/the tables of model-capability", "pandas.read_csv of their files", 0.15, read, 3),
    Benchmark("worlds/local linear, 120 months", "numpy: 10 of 1,024 x 31 drawn, ranked", 0.1, local_linear, 2),
]
