"""The command that measures: what it selects, writes, names and fails on, with costs that are made up."""

import json
from pathlib import Path

from benchmarks.__main__ import BENCHMARKS

BASELINE = Path(__file__).parent / "baseline.json"


def test_every_row_has_a_name_of_its_own_and_a_committed_ratio():
    names = [row.name for row in BENCHMARKS]
    assert sorted(names) == sorted(json.loads(BASELINE.read_text()))
    assert len(set(names)) == len(names)
    assert max(map(len, names)) <= 46
