"""The command that measures: what it selects, writes, names and fails on, with costs that are made up."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.timing import Benchmark

BASELINE = Path(__file__).parent / "baseline.json"


class Row:
    """A benchmark whose costs are told; it counts how often it was prepared."""

    def __init__(self, name: str, *ours: float, peer: float = 10.0, rounds: int = 1) -> None:
        self.costs, self.peer, self.prepared = [*ours], peer, 0
        self.benchmark = Benchmark(name, "numpy", 1.0, self.prepare, rounds)

    def prepare(self):
        self.prepared += 1
        return (lambda: self.costs.pop(0) if len(self.costs) > 1 else self.costs[0]), (lambda: self.peer)


def test_what_is_saved_is_what_is_compared(capsys, tmp_path):
    file = tmp_path / "b.json"
    assert main(["--save", str(file)], [Row("a", 1.0).benchmark, Row("b", 4.0).benchmark]) == 0
    assert json.loads(file.read_text()) == {"a": 10.0, "b": 2.5}
    assert main(["a", "--save", str(file)], [Row("a", 2.0).benchmark, Row("b", 4.0).benchmark]) == 0
    assert json.loads(file.read_text()) == {"a": 5.0, "b": 2.5}
    rows = [Row("a", 2.6), Row("b", 4.1), Row("c", 1.0)]
    capsys.readouterr()
    assert main(["--compare", str(file)], [r.benchmark for r in rows]) == 0
    said = capsys.readouterr().out.splitlines()[4:]
    assert said == ["slower: a: ratio 3.85, was 5", "new: c: the file has no ratio for it"]
    assert [r.prepared for r in rows] == [1, 1, 1]


def test_only_what_is_twice_as_slow_when_measured_again_fails(capsys, tmp_path):
    file = tmp_path / "b.json"
    file.write_text('{"once": 10, "twice": 10}')
    once, twice = Row("once", 3.0, 1.0), Row("twice", 3.0, 2.5)
    assert main(["--compare", str(file)], [once.benchmark]) == 0
    assert once.prepared == 2
    assert main(["--compare", str(file)], [twice.benchmark]) == 1
    assert "FAILED: twice: more than 2 times as slow, measured twice" in capsys.readouterr().out


def test_a_row_is_the_median_of_its_pairs_after_one_that_does_not_count(capsys):
    assert main([], [Row("a", 99.0, 5.0, 1.0, 2.0, rounds=3).benchmark]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["a", "2.00", "s", "10.00", "s", "5", "1", "numpy"]


def test_every_row_has_a_name_of_its_own_and_a_committed_ratio():
    names = [row.name for row in BENCHMARKS]
    assert sorted(names) == sorted(json.loads(BASELINE.read_text()))
    assert len(set(names)) == len(names)
    assert max(map(len, names)) <= 46
