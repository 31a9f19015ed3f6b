"""Two runs that write the same file at once: what stands there is all of one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkit import forked

RUN = ("run", "mine.toml", "--draws", "50")
TEXT = """
start = 2025
until = 2030
[quantities.size]
normal = [1, 9]
unit = ""
[quantities.grown]
expression = "size*exp(0.3*(t - start))"
[questions.ten]
when = "grown >= 10"
"""


@pytest.mark.slow
def test_bad_input_083_two_runs_with_one_output_never_mix(said, scenario, here: Path) -> None:
    scenario(TEXT)
    alone = []
    for seed in range(3):
        assert said(*RUN, "--seed", str(seed), "--out", "r.nc", "--plot", "r.svg").code == 0
        alone.append({n: Path(n).read_bytes() for n in ("r.nc", "r.svg")})
    assert len({each["r.nc"] for each in alone}) == 3
    shared = here / "shared"
    shared.mkdir()
    (shared / "mine.toml").write_text(TEXT)
    runs = [forked(shared, *RUN, "--seed", seed, "--out", "r.nc", "--plot", "r.svg") for seed in range(3)]
    for run in runs:
        run.join(120)
        assert run.exitcode == 0
    assert sorted(p.name for p in shared.iterdir()) == ["mine.toml", "r.nc", "r.svg"]
    for name in ("r.nc", "r.svg"):
        assert (shared / name).read_bytes() in [each[name] for each in alone]
