"""Many worlds against plain numpy on whole arrays, each in a process of its own: CPU time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

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
from forecast.report import summary
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
summary.quantities(run)
(answer,) = summary.questions(run)
report(began, float(answer["crossing"]["p50"][:4]) + (float(answer["crossing"]["p50"][5:7]) - 0.5) / 12)
"""


def measured(program: str, worlds: int) -> dict[str, float]:
    """Run a program in a process of its own."""
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", DATA + program, str(worlds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | threads)
    out: dict[str, float] = json.loads(done.stdout)
    return out


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read in /proc")
def test_many_worlds_take_less_than_plain_numpy() -> None:
    worlds = 300_000
    plain, ours = measured(PLAIN, worlds), measured(OURS, worlds)
    print(
        f"{worlds:,} worlds: numpy {plain['cpu']:.2f} s, {plain['memory']:.0f} MB; ours {ours['cpu']:.2f} s, ", end=""
    )
    print(f"{ours['memory']:.0f} MB: {plain['cpu'] / ours['cpu']:.1f} times as fast")
    assert abs(plain["median"] - ours["median"]) < 0.2
    assert ours["cpu"] < plain["cpu"] / 1.5
    assert ours["memory"] < 350


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read in /proc")
def test_memory_does_not_grow_with_the_worlds() -> None:
    few, many = measured(OURS, 100_000), measured(OURS, 1_000_000)
    print(f"100,000 worlds: {few['memory']:.0f} MB; 1,000,000: {many['memory']:.0f} MB, {many['cpu']:.2f} s")
    assert many["memory"] < few["memory"] + 60
