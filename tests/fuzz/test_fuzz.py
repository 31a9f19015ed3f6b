"""Ten thousand hostile formulas, scenarios, descriptors, tables and results; more with ``--fuzz N``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolkit import sample

HERE = Path(__file__).parent


def tried(folder: Path, count: int, first: int = 0) -> tuple[dict[str, int], list[dict[str, object]]]:
    """Try cases in a process of their own, whose memory is bounded; return how many there were and what went wrong."""
    words = [sys.executable, str(HERE / "cases.py"), str(folder), str(count), str(first), str(HERE / "kept.txt")]
    limited = ["sh", "-c", 'ulimit -v 4194304; exec "$@"', "sh", *words]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(limited, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr[-2000:]
    *wrong, last = [json.loads(line) for line in done.stdout.splitlines()]
    return last["done"], wrong


@pytest.mark.parametrize("count", sample([60, 1500, None], 3, 2), ids=["some", "more", "all"])
def test_nothing_a_stranger_writes_runs_reaches_out_or_ends_in_a_traceback(tmp_path, request, count):
    count = count or request.config.getoption("--fuzz")
    done, wrong = tried(tmp_path, count)
    lines = [f"{w['kind']} {w['seed']}: {w['wrong']}" for w in wrong]
    assert not lines, "\n".join(["add to tests/fuzz/kept.txt when mended:", *lines])
    assert sum(done.values()) >= 0.99 * count
