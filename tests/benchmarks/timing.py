"""What a row of the benchmarks is, and how it is measured: our cost and a peer's in turn, in CPU time or in bytes."""

from __future__ import annotations

import compileall
import functools
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Work = Callable[[], Any]
#: Does some work and returns what it cost.
Cost = Callable[[], float]


class NotHereError(Exception):
    """What a row needs is not on this machine."""


@dataclass(frozen=True)
class Benchmark:
    """One piece of work beside a peer's.

    Parameters
    ----------
    name, peer : str
        What we do, and who does as much, or what ordinary work it is compared with.
    goal : float
        How many times our cost the peer's should be.
    prepare : callable
        Returns our cost and the peer's, after everything that is not measured.
    rounds : int
        How often both are measured, in turn; the median of the ratios counts. With more than one our work is done once
        before.
    unit : str
        Of both costs: ``"s"`` or ``"MB"``.
    """

    name: str
    peer: str
    goal: float
    prepare: Callable[[], tuple[Cost, Cost]]
    rounds: int = 5
    unit: str = "s"


@dataclass(frozen=True)
class Result:
    """What was measured: both costs, and how many times ours the peer's is."""

    ours: float
    peer: float
    ratio: float


def measure(benchmark: Benchmark) -> Result:
    """Measure a row."""
    ours, peer = benchmark.prepare()
    if benchmark.rounds > 1:
        ours()
    pairs = [(ours(), peer()) for _ in range(benchmark.rounds)]
    one, two = (statistics.median(costs) for costs in zip(*pairs, strict=True))
    return Result(one, two, statistics.median(b / a for a, b in pairs))


def cpu(work: Work, share: float = 1.0) -> Cost:
    """Return what measures the CPU time of work in this process; a share of the whole counts as the whole."""

    def cost() -> float:
        began = time.process_time()
        work()
        return (time.process_time() - began) / share

    return cost


def child(*words: str, env: Mapping[str, str] | None = None) -> Cost:
    """Return what measures the CPU time of Python in a process of its own, from its start to its end."""

    _compile()
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def cost() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], check=True, capture_output=True, env={**inherited, **(env or {})})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return cost


@functools.cache
def _compile() -> None:
    """Compile what is measured once, as an installation does: nobody waits for that at every start."""
    import forecast

    home = Path(forecast.__file__).parent
    for folder in (home, home.parent / "plugins"):
        if folder.is_dir():
            compileall.compile_dir(folder, quiet=2)


def draw_and_rank(draws: int, years: int, times: int = 1) -> Work:
    """Return ordinary numpy work: log-normal worlds over years, and five quantiles of each year."""

    def work() -> Any:
        rng = np.random.default_rng(0)
        for _ in range(times):
            found = np.quantile(
                np.exp(np.cumsum(rng.standard_normal((years, draws)), axis=0)), [0.05, 0.25, 0.5, 0.75, 0.95], axis=1
            )
        return found

    return work


def reference(*parts: str) -> Path:
    """Return the path of a file of reference data."""
    path = Path(os.environ.get("FORECAST_TEST_DATA", "/nowhere"), *parts)
    if not path.is_file():
        raise NotHereError("FORECAST_TEST_DATA names no folder with the reference data")
    return path
