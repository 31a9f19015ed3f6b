"""A million worlds: the answer of numpy on whole arrays, in memory that does not grow with the worlds."""

from __future__ import annotations

import sys

import pytest

from benchmarks.worlds import OURS, PLAIN, run_program

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="memory is read in /proc"),
]


def test_a_million_worlds_have_the_median_of_numpy_and_the_memory_of_a_tenth_as_many():
    plain, few, many = run_program(PLAIN, 250_000), run_program(OURS, 100_000), run_program(OURS, 1_000_000)
    assert many["median"] == pytest.approx(plain["median"], abs=0.2)
    assert many["memory"] < few["memory"] + 60
    assert many["memory"] < 350
