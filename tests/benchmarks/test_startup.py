"""CPU of the commands that must feel instant. Budgets are those of the design.

The best run counts, of at least five and at most thirty: on a machine whose other core is busy the same instructions
cost up to half as much again, and a budget met once is met by the program. On a slower machine the budgets grow as the
time grows that an interpreter takes to import click, measured beside.
"""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest


def cpu(*words: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "forecast", *words], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


BUDGETS = [(["--help"], 0.12), (["plugins", "list"], 0.25), (["laws", "list"], 0.25)]


@pytest.mark.parametrize(("words", "budget"), BUDGETS)
def test_cpu(words, budget, capsys, slowness):
    allowed = budget * slowness
    best = min(cpu(*words) for _ in range(5))
    for _ in range(25):
        if best <= allowed:
            break
        best = min(best, cpu(*words))
    with capsys.disabled():
        print(f"\nforecast {' '.join(words)}: {best:.3f} s of CPU (budget {budget} s, {allowed:.3f} s here)")
    assert best <= allowed
