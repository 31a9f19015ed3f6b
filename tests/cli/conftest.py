"""A table of runs, and the command line in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from forecast.cli import main
from forecast.tables import csv_format


class Said(NamedTuple):
    """What a command left: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The object on stdout; NaN and infinity are no JSON."""
        return json.loads(self.out, parse_constant=pytest.fail)

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """The parameters of a fit, by name."""
        return {row["name"]: row for row in self.json["result"]["parameters"]}

    @property
    def refusal(self) -> str:
        """The one line of an error; nothing stands on stdout."""
        assert self.code in (1, 2), self.out
        return self.refused(self.code)

    def refused(self, code: int = 2) -> str:
        """Return the one line of an error with this exit code; nothing stands on stdout."""
        assert self.code == code, self.err
        assert self.out == ""
        (line,) = self.err.splitlines()
        assert self.err == f"{line}\n"
        assert line.startswith("forecast: error: ")
        assert line.isprintable()
        assert "Traceback" not in line
        return line


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Run ``forecast ...`` and return what it left."""

    def call(*words: str) -> Said:
        capsys.readouterr()
        code = main(list(words))
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return call


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
    x = np.geomspace(10, 1e4, 40)
    y = (1.7 + 8 * x**-0.35) * np.exp(0.01 * np.random.default_rng(1).standard_normal(40))
    kinds = np.where(np.arange(40) % 4 == 0, "moe", "dense")
    csv_format.write(here / "runs.csv", {"x": x, "thousands": x / 1000, "y": y, "loss": y, "kind": kinds.tolist()})
    return "runs.csv"
