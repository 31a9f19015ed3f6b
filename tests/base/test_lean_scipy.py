"""scipy without the parts of numpy that nobody uses: nothing is missing, it comes at its first use."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import forecast

USED = """
import sys
import numpy
before = numpy.__all__, numpy.__numpy_submodules__, sorted(dir(numpy))
from forecast.base.first_use.special import ndtri, stdtrit
from forecast.base.first_use.lean_scipy import COPY
assert (numpy.__all__, numpy.__numpy_submodules__, sorted(dir(numpy))) == before
import scipy.special
assert (ndtri, stdtrit) == (scipy.special.ndtri, scipy.special.stdtrit)
copy = sys.modules[COPY]
print([part for part in ("f2py", "testing", "ma", "random", "polynomial") if "numpy." + part in sys.modules])
print(all(getattr(copy, name) is getattr(numpy, name) for name in before[1] if name not in ("fft", "linalg")))
print(hasattr(copy, "no_such_name"), hasattr(copy, "__wrapped__"))
import scipy.stats
print(scipy.stats.norm.ppf(0.975) == ndtri(0.975))
"""


def test_what_scipy_copies_of_numpy_is_there_when_it_is_used():
    done = subprocess.run([sys.executable, "-c", USED], capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:-1] == ["[]", "True", "False False", "True"], done.stderr


def test_whoever_has_imported_scipy_keeps_what_there_is():
    program = "import scipy.special, sys\nbefore = set(sys.modules)\nimport forecast.base.first_use.special\n"
    program += "print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert all(name.startswith(("forecast", "lazy_loader", "ast", "_ast")) for name in eval(done.stdout))


def test_the_functions_of_scipy_come_through_one_door():
    home = Path(forecast.__file__).parent
    door = home / "base/first_use/special.py"
    found = [
        str(path.relative_to(home))
        for path in home.rglob("*.py")
        if path != door
        and re.search(r"^\s*(from scipy\.special|from scipy import special|import scipy)", path.read_text(), re.M)
    ]
    assert not found
