"""Processes after threads, from threads and inside processes: no deadlock, and the same bits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: A program as a user writes it; its parts are called below.
PROGRAM = '''
import multiprocessing, os, sys, threading, time
import numpy as np
import forecast
from forecast.cli import main

LAW = forecast.Law("E + b*x**-c", variables=["x"], positive=["E", "b", "c"])
X = np.geomspace(1, 1e4, 25)
DATA = {"x": X, "y": (1 + 4 * X**-0.4) * np.exp(0.02 * np.random.default_rng(0).standard_normal(25))}


def refits(workers=None):
    fit = LAW.fit(DATA, y="y", bootstrap=300, seed=0, workers=workers)
    return [float(fit.params[n]) for n in fit.params] + [float(fit.stderr[n]) for n in fit.stderr]


def worlds(workers=1):
    tree = forecast.project("brain-parity", draws=200, until=2035, workers=workers)
    return tree["projection"]["machine"].values.tobytes()


def busy(stop):
    """Hold locks that a fork would take along: of imports, of output, and BLAS at work."""
    table = np.random.default_rng(0).standard_normal((300, 300))
    while not stop.is_set():
        table @ table
        time.sleep(0.001)
        print("", end="", flush=True, file=sys.stderr)


def nested(_):
    return refits(2)


def fork_after_threads():
    stop = threading.Event()
    threads = [threading.Thread(target=busy, args=(stop,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        return refits(2) == refits() and worlds(2) == worlds()
    finally:
        stop.set()


def from_a_thread():
    found = []
    def notebook():
        found.append(refits(2) == refits())
        found.append(worlds(2) == worlds())
        found.append(main(["run", "brain-parity", "--draws", "50", "--until", "2030"]) == 0)
    threads = [threading.Thread(target=notebook) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found == [True] * 6


def nested_processes():
    from concurrent.futures import ProcessPoolExecutor
    with ProcessPoolExecutor(2) as pool:  # its processes may have processes of their own
        return list(pool.map(nested, range(2))) == [refits()] * 2


if __name__ == "__main__":
    sys.exit(0 if globals()[sys.argv[1]]() else 3)
'''


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        pytest.param("fork_after_threads", marks=pytest.mark.slow),
        pytest.param("from_a_thread", marks=pytest.mark.slow),
        "nested_processes",
    ],
)
def test_bad_input_084_no_deadlock_and_the_same_bits(part: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run([sys.executable, program, part], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
