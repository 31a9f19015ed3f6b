"""Warnings stand below an answer, in at most three lines; ``--show warnings`` and ``--json`` have each."""

from __future__ import annotations

import subprocess
import sys

import pytest

from forecast.base.warning_lines import MAX_WARNING_LINES, warning_lines
from forecast.errors import FixedParametersWarning
from toolkit import json_of, sample, shared_main as main


def test_the_lines_of_one_kind_stand_together():
    fixed = [FixedParametersWarning(subject=f"x{i}", model=f"x{i}") for i in range(5)]
    assert warning_lines(fixed) == ["5 fits state no uncertainty: x0, x1, x2 and 2 more"]
    assert warning_lines(fixed[:1]) == ["x0: its parameters are fixed: the source states no uncertainty of them"]
    assert warning_lines(["other", *fixed[:2]]) == ["2 fits state no uncertainty: x0, x1", "other"]
    assert warning_lines([]) == []


@pytest.mark.parametrize(
    "words",
    sample([["token-cost", "--set", "compute=70M"], ["model-capability"], ["metr-2025"], ["gpu-capability"]], 4),
)
def test_an_answer_has_at_most_three_lines_of_warnings_and_loses_none(words, capsys):
    assert main(["run", *words, "--draws", "64", "--json"]) == 0
    every = json_of(capsys.readouterr().out)["warnings"]
    assert main(["run", *words, "--draws", "64"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert len(told) <= MAX_WARNING_LINES
    assert bool(told) == bool(every)
    assert main(["run", *words, "--draws", "64", "--show", "warnings"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    text = " ".join(shown.out.split())
    assert all(" ".join(each.split()) in text for each in every)


@pytest.mark.slow
def test_they_stand_below_the_answer():
    words = [sys.executable, "-m", "forecast", "run", "token-cost", "--set", "compute=70M", "--draws", "64"]
    both = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    lines = both.stdout.strip().splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("forecast: warning:"))
    assert len(lines) - first <= MAX_WARNING_LINES
    assert all(line.startswith("forecast: warning:") for line in lines[first:])
