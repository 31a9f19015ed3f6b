"""A table of runs, and the command line in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from forecast.cli import main
from forecast.tables import csvfile


@dataclass(frozen=True)
class Said:
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
        assert self.out == ""
        (line,) = self.err.splitlines()
        assert line.startswith("forecast: error: ")
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
def data(here):
    """The file ``runs.csv``: 40 points of a saturating power law with 1 % scatter."""
    x = np.geomspace(10, 1e4, 40)
    y = (1.7 + 8 * x**-0.35) * np.exp(0.01 * np.random.default_rng(1).standard_normal(40))
    kinds = np.where(np.arange(40) % 4 == 0, "moe", "dense")
    csvfile.write(here / "runs.csv", {"x": x, "thousands": x / 1000, "y": y, "loss": y, "kind": kinds.tolist()})
    return "runs.csv"
