"""Commands as processes of their own, from their start to their end, against the imports of what a forecast needs.

On a plain ``pip install .``: where dask and pyarrow are installed, xarray and pandas import them in every command.
"""

from __future__ import annotations

import atexit
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .timing import Benchmark, Cost, NotHereError, child, cpu, draw_and_rank

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


def fit_of_a_file() -> tuple[Cost, Cost]:
    """The same from a file by the command: one fit of twelve points, its intervals and its verdict."""
    kept = tempfile.TemporaryDirectory()
    atexit.register(kept.cleanup)
    path = Path(kept.name, "curve.csv")
    rows = (f"{x:.6g},{3 * x**-0.5 * (1 + 0.01 * math.sin(x)):.6g}" for x in (10 ** (i / 3) for i in range(12)))
    path.write_text("\n".join(["x,loss", *rows]) + "\n", encoding="utf-8")
    return command("fit", "scaling/power", "--data", str(path), "--y", "loss", peer="import numpy, scipy.optimize")


def memory_of(most: float, *words: str) -> tuple[Cost, Cost]:
    """What a command needs, beside what it should."""
    program = f"""
import sys
from forecast.cli import main
main({list(words)!r})
lines = open("/proc/self/status", encoding="ascii").readlines()
print(next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), file=sys.stderr)
"""

    def ours() -> float:
        if sys.platform != "linux":
            raise NotHereError("memory is read in /proc")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        return float(done.stderr.splitlines()[-1])

    return ours, lambda: most


def kit() -> tuple[Cost, Cost]:
    """The conformance kit on a plugin of models; the processes that it starts are not counted."""
    from forecast.testing import run_checks

    return cpu(lambda: run_checks("brain")), cpu(draw_and_rank(4096, 76, 9))


def page_with_levers() -> tuple[Cost, Cost]:
    """A page with the answers at 83 points of ten levers, beside the run that it is a page of."""
    kept = tempfile.TemporaryDirectory()
    atexit.register(kept.cleanup)
    run = ("-m", "forecast", "run", "model-capability")
    return child(*run, "--report", str(Path(kept.name, "page.html"))), child(*run)


BENCHMARKS = [
    Benchmark("commands/--help", NUMPY, 0.6, lambda: command("--help"), 3),
    Benchmark("commands/--help with 100 more plugins", NUMPY, 0.35, with_plugins, 2),
    Benchmark("commands/laws list", NUMPY, 0.3, lambda: command("laws", "list"), 3),
    Benchmark(
        "commands/allocate", PANDAS, 0.4,
        lambda: command("allocate", "scaling/chinchilla@besiroglu2024", "--compute", "1e25", peer=PANDAS), 2,
    ),
    Benchmark("commands/run brain-parity", PANDAS, 0.15, lambda: command("run", "brain-parity", peer=PANDAS), 1),
    Benchmark("commands/run model-capability", PANDAS, 0.1, lambda: command("run", "model-capability", peer=PANDAS), 1),
    Benchmark("commands/the page of model-capability", "the run that it is a page of", 0.3, page_with_levers, 1),
    Benchmark("commands/run ftm-2023-conservative", PANDAS, 0.12,
              lambda: command("run", "ftm-2023-conservative", peer=PANDAS), 1),
    Benchmark("commands/published compare", PANDAS, 0.12, lambda: command("published", "compare", peer=PANDAS), 1),
    Benchmark("commands/fit of a small file", "import numpy, scipy.optimize", 1.1, fit_of_a_file, 3),
    Benchmark("commands/memory of model-capability", "at most 350 MB", 1,
              lambda: memory_of(350, "run", "model-capability"), 1, "MB"),
    Benchmark("commands/memory of published compare", "at most 400 MB", 1,
              lambda: memory_of(400, "published", "compare"), 1, "MB"),
    Benchmark("commands/the conformance kit on brain", "numpy: 9 of 4,096 x 76 drawn, ranked", 0.05, kit, 1),
]  # fmt: skip
