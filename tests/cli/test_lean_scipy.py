"""scipy in a command, without the parts of numpy that nobody uses: nothing is missing, it comes at its first use."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

USED = """
import sys
import numpy
before = numpy.__all__, numpy.__numpy_submodules__, sorted(dir(numpy))
from forecast.cli.lean_imports import LeanImports
from forecast.cli.lean_scipy import COPY
sys.meta_path.insert(0, LeanImports())
import scipy.special
assert (numpy.__all__, numpy.__numpy_submodules__, sorted(dir(numpy))) == before
copy = sys.modules[COPY]
print([part for part in ("f2py", "testing", "ma", "random", "polynomial") if "numpy." + part in sys.modules])
print(all(getattr(copy, name) is getattr(numpy, name) for name in before[1] if name not in ("fft", "linalg")))
print(hasattr(copy, "no_such_name"), hasattr(copy, "__wrapped__"))
import scipy.stats
print(scipy.stats.norm.ppf(0.975) == scipy.special.ndtri(0.975))
"""
EMBEDDED = """
import numpy, sys
import scipy.special
before = set(sys.modules), sorted(dir(numpy)), numpy.__all__
import forecast
x = numpy.geomspace(1, 1e4, 12)
fit = forecast.law("scaling/power").fit({"x": x, "y": 3*x**-0.5*(1 + 0.01*numpy.sin(x))}, y="y")
fit.interval(fit.law.parameters[0], 0.9)
print(sorted(dir(numpy)) == before[1], numpy.__all__ is before[2], any("LeanImports" in repr(f) for f in sys.meta_path))
"""


def printed(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout.split("\n")[:-1]


@pytest.mark.skipif(not hasattr(np, "__numpy_submodules__"), reason="this numpy does not list its parts")
def test_what_scipy_copies_of_numpy_is_there_when_it_is_used():
    assert printed(USED) == ["[]", "True", "False False", "True"]


def test_in_somebody_elses_python_numpy_and_the_import_system_stay_as_they_are():
    assert printed(EMBEDDED) == ["True True False"]
