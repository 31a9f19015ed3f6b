"""What the first answers of a process import: not what takes longer to import than to fit."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import sys
import numpy as np
import forecast

x = np.geomspace(1, 1e3, 20)
y = (1 + 3 * x**-0.4) * np.exp(0.01 * np.random.default_rng(0).standard_normal(20))
law = forecast.Law("a + b*x**-c", variables=["x"])
fit = law.fit({"x": x, "y": y})
fit.summary(), fit.verdict, fit.interval("c", 0.9)
loaded = {name for name, each in sys.modules.items() if type(each).__name__ != "_LazyModule"}
print(*sorted({"xarray", "pandas", "pint", "sympy", "matplotlib", "scipy.stats", "multiprocessing"} & loaded))
"""


def test_a_fit_its_verdict_its_intervals_and_its_page_of_text_import_no_xarray():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


ALLOCATED = """
import sys
import forecast
from forecast.planning.allocate import allocate

fit = forecast.law("scaling/chinchilla").published("besiroglu2024")
answer = allocate(fit, compute=1e25, cost="6*N*D")
loaded = {name for name, each in sys.modules.items() if type(each).__name__ != "_LazyModule"}
assert not {"xarray", "pandas"} & loaded
assert answer.dataset().identical(fit.allocate(compute=1e25))
"""


def test_a_split_of_a_budget_in_plain_numbers_imports_no_xarray():
    subprocess.run([sys.executable, "-c", ALLOCATED], check=True)


def test_no_module_takes_scipy_stats_for_a_quantile(pytestconfig: pytest.Config) -> None:
    found = {
        path.relative_to(pytestconfig.rootpath).as_posix()
        for folder in ("forecast", "plugins")
        for path in (pytestconfig.rootpath / folder).rglob("*.py")
        if "scipy.stats import" in (text := path.read_text("utf-8")) or "from scipy import stats" in text
    }
    # Sobol' indices, tests of hypotheses and rank correlations have no special function
    assert found == {
        "forecast/sensitivity/first_and_total.py",
        "plugins/forecast_emergence/features/hindsight.py",
        "plugins/forecast_trends/hindcast.py",
    }
