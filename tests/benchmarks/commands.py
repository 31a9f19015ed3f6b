"""Commands as processes of their own, from their start to their end, against the imports of what a forecast needs."""

from __future__ import annotations

import atexit
import os
import tempfile
from pathlib import Path

from .timing import Benchmark, Cost, child, cpu, draw_and_rank

NUMPY, PANDAS = "import numpy", "import numpy, pandas, xarray"
PLUGIN = """
from forecast import LawSpec, hookimpl
@hookimpl
def forecast_laws():
    yield LawSpec(name="law", variables={"x": ""}, expression="a*x", reference="r")
"""


def command(*words: str, peer: str = NUMPY) -> tuple[Cost, Cost]:
    return child("-m", "forecast", *words), child("-c", peer)


def with_plugins() -> tuple[Cost, Cost]:
    """``--help`` beside a hundred more plugins."""
    kept = tempfile.TemporaryDirectory()
    atexit.register(kept.cleanup)
    folder = Path(kept.name)
    for i in range(100):
        (folder / f"bench_{i}.py").write_text(PLUGIN, encoding="utf-8")
        info = folder / f"bench_{i}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: bench-{i}\nVersion: 1\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[forecast.plugins]\nbench-{i} = bench_{i}\n", encoding="utf-8")
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return child("-m", "forecast", "--help", env={"PYTHONPATH": path}), child("-c", NUMPY)


def completion() -> tuple[Cost, Cost]:
    asked = {"COMP_WORDS": "forecast run b", "COMP_CWORD": "2", "_FORECAST_COMPLETE": "zsh_complete"}
    return child("-m", "forecast", env=asked), child("-c", NUMPY)


def kit() -> tuple[Cost, Cost]:
    """The conformance kit on a plugin of models; the processes that it starts are not counted."""
    from forecast.testing import run_checks

    return cpu(lambda: run_checks("brain")), cpu(draw_and_rank(4096, 76, 9))


BENCHMARKS = [
    Benchmark("commands/--help", NUMPY, 0.6, lambda: command("--help"), 3),
    Benchmark("commands/--help with 100 more plugins", NUMPY, 0.35, with_plugins, 2),
    Benchmark("commands/plugins list", NUMPY, 0.3, lambda: command("plugins", "list"), 3),
    Benchmark("commands/laws list", NUMPY, 0.3, lambda: command("laws", "list"), 3),
    Benchmark("commands/what a shell offers after TAB", NUMPY, 0.5, completion, 3),
    Benchmark(
        "commands/allocate", PANDAS, 0.4,
        lambda: command("allocate", "scaling/chinchilla@besiroglu2024", "--compute", "1e25", peer=PANDAS), 2,
    ),
    Benchmark("commands/run brain-parity", PANDAS, 0.15, lambda: command("run", "brain-parity", peer=PANDAS), 1),
    Benchmark("commands/run model-capability", PANDAS, 0.1, lambda: command("run", "model-capability", peer=PANDAS), 1),
    Benchmark("commands/run gpu-capability", PANDAS, 0.1, lambda: command("run", "gpu-capability", peer=PANDAS), 1),
    Benchmark("commands/the conformance kit on brain", "numpy: 9 of 4,096 x 76 drawn, ranked", 0.05, kit, 1),
]  # fmt: skip
