"""What a process has computed before changes no answer: warm after other calls, and cold in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from projection import calls


@pytest.mark.parametrize(
    "cases",
    [
        calls.neighbours(0)[:8],
        *(pytest.param(cases, marks=pytest.mark.slow) for cases in (calls.neighbours(0), calls.walk(0, 30))),
        *(pytest.param(calls.walk(seed, 90), marks=pytest.mark.xslow) for seed in range(2)),
    ],
    ids=["some neighbours", "neighbours", "short walk", "walk 0", "walk 1"],
)
def test_every_answer_is_that_of_a_process_that_has_computed_nothing(tmp_path, monkeypatch, cases):
    monkeypatch.chdir(tmp_path)
    alone = subprocess.run(
        [sys.executable, calls.__file__], input=json.dumps(cases), capture_output=True, text=True, check=True
    )
    cold = [json.loads(line) for line in alone.stdout.splitlines()]
    warm = [calls.call(case, cases[0]) for case in cases]
    told = {i: (cases[i - 1], cases[i], warm[i][:100], cold[i][:100]) for i in range(len(cases)) if warm[i] != cold[i]}
    assert not told, f"{len(told)} of {len(cases)}: {list(told.values())[:2]}"
    refused = [each for each in cold if " " in each]
    assert len(refused) < len(cases) / 3, refused
    assert len({*cold} - {*refused}) > len(cases) / 3  # they differ
