"""Two runs that write the same file at once: what stands there is all of one of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from toolkit import spawn

RUN = ("run", "brain-parity", "--draws", "50", "--until", "2028")


@pytest.mark.bad_input(83)
def test_bad_input_083_two_runs_with_one_output_never_mix(tmp_path: Path) -> None:
    alone = []
    (tmp_path / "alone").mkdir()
    for seed in range(3):
        words = *RUN, "--seed", seed, "--out", "r.nc", "--plot", "r.svg"
        assert spawn(*words, cwd=tmp_path / "alone").returncode == 0
        alone.append({n: (tmp_path / "alone" / n).read_bytes() for n in ("r.nc", "r.svg")})
    assert len({each["r.nc"] for each in alone}) == 3
    shared = tmp_path / "shared"
    shared.mkdir()
    runs = [
        subprocess.Popen(
            [sys.executable, "-m", "forecast", *RUN, "--seed", str(seed), "--out", "r.nc", "--plot", "r.svg"],
            cwd=shared, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for seed in range(3)
    ]  # fmt: skip
    for run in runs:
        _, err = run.communicate(timeout=120)
        assert run.returncode == 0, err
    assert sorted(p.name for p in shared.iterdir()) == ["r.nc", "r.svg"]
    for name in ("r.nc", "r.svg"):
        assert (shared / name).read_bytes() in [each[name] for each in alone]
