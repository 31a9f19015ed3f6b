"""A table of runs, and the command line in this process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from forecast.tables import csv_format
from toolkit import Said, command, saturating


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Run ``forecast ...`` and return what it left."""
    return partial(command(), capsys)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of the test's own, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def scenario(here: Path) -> Callable[..., str]:
    """Write a scenario in the current folder and return its name."""

    def write(text: str | bytes, name: str = "mine.toml") -> str:
        Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
        return name

    return write


@pytest.fixture
def data(here):
    """The file ``runs.csv``: 40 points of a saturating power law with 1 % scatter."""
    x, y = saturating(40, 0.01, seed=1).values()
    kinds = np.where(np.arange(40) % 4 == 0, "moe", "dense")
    csv_format.write_csv(here / "runs.csv", {"x": x, "thousands": x / 1000, "y": y, "loss": y, "kind": kinds.tolist()})
    return "runs.csv"
