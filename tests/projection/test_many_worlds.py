"""A million worlds: the answer of numpy on whole arrays, in memory that does not grow with the worlds."""

import subprocess
import sys

import pytest

from benchmarks.worlds import OURS, PLAIN, run_program

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="memory is read in /proc")]

#: The peak of a process of its own, in kibibytes: other tests have children too.
FOUNDING = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-m", "forecast", "run", "brain-parity"], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_a_million_worlds_have_the_median_of_numpy_and_the_memory_of_a_tenth_as_many():
    plain, few, many = run_program(PLAIN, 250_000), run_program(OURS, 100_000), run_program(OURS, 1_000_000)
    assert many["median"] == pytest.approx(plain["median"], abs=0.2)
    assert many["memory"] < few["memory"] + 60
    assert many["memory"] < 350


def test_the_founding_forecast_needs_less_than_400_megabytes():
    done = subprocess.run([sys.executable, "-c", FOUNDING], capture_output=True, text=True, check=True)
    assert int(done.stdout) / 1024 < 400
