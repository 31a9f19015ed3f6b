"""What the scenarios on hardware and resources cost: each alone, and a hundred variants of them."""

from __future__ import annotations

import os
import subprocess
import sys

SCENARIOS = ("gpu-capability", "gpu-limit", "gpu-choice", "gpu-delivered", "gpu-cluster", "scaling-ends")

#: Seconds of CPU of each forecast beyond its imports, which come first: each in a process that has done nothing else.
COLD = """
import os, resource, sys
import forecast, numpy, pandas, pint, scipy.optimize, scipy.stats, sympy, xarray
import statsmodels.regression.quantile_regression, statsmodels.tsa.statespace.mlemodel
from forecast.projection import engine

def used():
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime

for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        before = used()
        forecast.project(name)
        print(name, used() - before, flush=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, name
"""

#: Variants of four scenarios, as a sweep makes them: one number or one choice is another in each.
SWEEP = """
import resource
import forecast

def used():
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime

variants = [("scaling-ends", {"wanted": 5.0 + 4 * i}) for i in range(8)]
variants += [("gpu-limit", {"smallest": 0.4 + 0.2 * i}) for i in range(5)]
variants += [("gpu-choice", {"budget": 500.0 + 800 * i, "memory": 12}) for i in range(5)]
shapes = ("exponential", "changepoint", "logistic", "gompertz", "damped-trend", "local-linear", "random-walk", "pooled")
variants += [
    ("gpu-capability", {"precision": ("fp32", "fp16", "fp8")[i % 3], "shape": s, "ten_percent": 0.095})
    for i, s in enumerate(shapes)
]
variants += [("gpu-capability", {"ten_percent": 0.05, "precision": "fp16", "shape": "pooled"})] * 2
begun = used()
for name in ("scaling-ends", "gpu-limit", "gpu-choice", "gpu-capability"):
    forecast.project(name, draws=2000)
first = used()
for name, fixed in variants:
    forecast.project(name, set=fixed, draws=2000)
print(first - begun, (used() - first) / len(variants))
"""


def _measured(code: str, *words: str) -> list[list[str]]:
    """Run the code in a process of its own; return the words of each line that it prints."""
    # threads of BLAS that wait for work count as CPU: with two of them a forecast seems to take twice as long
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=180, check=True, env=alone
    )
    return [line.split() for line in done.stdout.splitlines()]


def test_a_forecast_takes_less_than_three_seconds_beyond_imports(slowness):
    spent = {name: float(seconds) for name, seconds in _measured(COLD, *SCENARIOS)}
    print("CPU beyond imports:", ", ".join(f"{name} {seconds:.2f} s" for name, seconds in spent.items()))
    assert spent.keys() == set(SCENARIOS)
    assert all(seconds < 3 * slowness for seconds in spent.values()), spent


def test_a_sweep_of_a_hundred_variants_takes_less_than_thirty_seconds(slowness):
    ((first, each),) = _measured(SWEEP)
    seconds = float(first) + 100 * float(each)
    print(f"each scenario once: {float(first):.1f} s of CPU, a variant {float(each):.3f} s, a hundred {seconds:.1f} s")
    assert seconds < 30 * slowness
