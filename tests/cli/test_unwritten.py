"""A file that cannot be written costs neither the answer nor the other files."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

DATA = "x,y\n" + "\n".join(f"{i},{2 * i + (i % 3) / 10}" for i in range(1, 40)) + "\n"
FIT = ["fit", "a + b*x", "--variables", "x", "--data", "d.csv", "--y", "y"]
RUN = ["run", "brain-parity", "--draws", "40", "--set", "metric=hpcg", "--set", "trend=exponential"]


@contextmanager
def full_disk(limit: int) -> Iterator[None]:
    """Let no file grow beyond some bytes, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    usual, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # half a compiled module would stay there
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        sys.dont_write_bytecode = usual
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.slow
def test_bad_input_021_a_full_disk_costs_no_answer(said, here: Path) -> None:
    (here / "d.csv").write_text(DATA)
    assert said(*FIT, "--out", "s.nc").code == 0
    for name in ("r.nc", "f.nc", "f.svg"):
        (here / name).write_text("before")
    commands = (
        [*RUN, "--out", "r.nc"],
        [*RUN, "--plot", "r.svg", "--json"],
        [*FIT, "--out", "f.nc", "--plot", "f.svg"],
        [*FIT, "--out", "f.nc", "--json"],
        ["predict", "scaling/chinchilla@besiroglu2024", "N=" + "1e9," * 60 + "1e9", "D=1e12", "--out", "p.csv"],
        ["compare", "a + b*x", "a*x**b", *FIT[2:], "--out", "c.nc"],
        ["extrapolate", "d.csv", "--x", "x", "--y", "y", "--to", "50", "--out", "e.json"],
        ["allocate", "scaling/chinchilla@besiroglu2024", "--compute", "1e25", "--out", "a.json"],
        ["backtest", "hardware/linpack", "--shape", "exponential", "--origins", "2", "--out", "b.json"],
        ["claims", "--group", "gpu-limits", "--out", "q.json"],
        ["show", "s.nc", "--out", "s.json", "--csv", "s.csv", "--plot", "s.png"],
    )
    with full_disk(700):
        every = [said(*words) for words in commands]
    named = (
        ["r.nc"], ["r.svg"], ["f.nc", "f.svg"], ["f.nc"], ["p.csv"], ["c.nc"], ["e.json"], ["a.json"], ["b.json"],
        ["q.json"], ["s.json", "s.png"],
    )  # fmt: skip
    for (code, out, err), files in zip(every, named, strict=True):
        assert code == 1
        assert len(out) > 450
        for name in files:
            assert f"forecast: error: {name}: cannot write: file too large\n" in err
    assert json.loads(every[1][1])["command"] == "run"
    assert json.loads(every[3][1])["result"]
    assert sorted(p.name for p in here.iterdir()) == ["d.csv", "f.nc", "f.svg", "r.nc", "s.csv", "s.nc"]
    assert {(here / name).read_text() for name in ("r.nc", "f.nc", "f.svg")} == {"before"}


def test_bad_input_021_one_file_that_cannot_be_written_costs_no_other(said, here: Path) -> None:
    (here / "d.csv").write_text(DATA)
    with full_disk(60_000):
        code, out, err = said(*FIT, "--plot", "f.svg", "--plot", "f.png", "--out", "f.nc")
    # the .svg and the .nc fit, or not: what does not is named, what does is whole
    written = {p.name for p in here.iterdir()} - {"d.csv"}
    named = {name for name in ("f.svg", "f.png", "f.nc") if f"{name}: cannot write" in err}
    assert written | named == {"f.svg", "f.png", "f.nc"}
    assert not written & named
    assert written
    assert code == (1 if named else 0)
    assert "a" in out


@pytest.mark.slow
def test_a_reader_who_closes_stdout_loses_no_file(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(DATA)
    command = [sys.executable, "-m", "forecast", *FIT, "--out", "f.nc"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.close()
        running.wait(60)
        assert running.returncode in (0, 141)
        assert running.stderr is not None
        assert running.stderr.read().count(b"Traceback") == 0
    import forecast

    assert forecast.load(tmp_path / "f.nc").converged
