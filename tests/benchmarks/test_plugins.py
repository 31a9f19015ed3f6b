"""What the scenarios on hardware and resources cost: each alone, and a hundred variants of them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCENARIOS = ("gpu-capability", "gpu-limit", "gpu-choice", "gpu-delivered", "gpu-cluster", "scaling-ends")

#: Seconds of CPU of a forecast beyond its imports, which come first.
COLD = """
import resource, sys
import forecast, numpy, pandas, pint, scipy.optimize, scipy.stats, sympy, xarray
import statsmodels.regression.quantile_regression, statsmodels.tsa.statespace.mlemodel
from forecast.projection import engine

def used():
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime

before = used()
forecast.project(sys.argv[1])
print(used() - before)
"""

#: A hundred variants: one number or one choice is another in each.
SWEEP = """
import resource
import forecast

def used():
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime

variants = [("scaling-ends", {"wanted": 5.0 + i}) for i in range(30)]
variants += [("gpu-limit", {"smallest": 0.4 + 0.05 * i}) for i in range(20)]
variants += [("gpu-choice", {"budget": 500.0 + 200 * i, "memory": 12}) for i in range(20)]
variants += [
    ("gpu-capability", {"precision": p, "shape": s, "ten_percent": 0.095})
    for p in ("fp32", "fp16", "fp8")
    for s in (
        "exponential", "changepoint", "logistic", "gompertz", "damped-trend", "local-linear", "random-walk", "pooled",
    )
]
variants += [("gpu-capability", {"ten_percent": 0.05, "precision": "fp16", "shape": "pooled"})] * 3
variants += [("gpu-capability", {"ten_percent": 0.05, "precision": "fp16", "shape": "damped-trend"})] * 3
assert len(variants) == 100
before = used()
for name, fixed in variants:
    forecast.project(name, set=fixed, draws=2000)
print(used() - before)
"""


def _measured(code: str, *words: str) -> float:
    # threads of BLAS that wait for work count as CPU: with two of them a forecast seems to take twice as long
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=180, check=True, env=alone
    )
    return float(done.stdout)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_forecast_takes_less_than_three_seconds_beyond_imports(name, slowness):
    seconds = _measured(COLD, name)
    print(f"{name}: {seconds:.2f} s of CPU beyond imports")
    assert seconds < 3 * slowness


def test_a_sweep_of_a_hundred_variants_takes_less_than_thirty_seconds(slowness):
    seconds = _measured(SWEEP)
    print(f"100 variants: {seconds:.1f} s of CPU")
    assert seconds < 30 * slowness
