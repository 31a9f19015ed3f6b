"""The mutants: each is other code that compiles, and a tree that holds all of them does what it did."""

import ast
from pathlib import Path

import pytest

from mutation.sites import ROOMS, found_again, mutated, places, sample, with_all

ROOT = Path(__file__).resolve().parents[2]
#: Rooms enough to meet every kind of change; all six take three times as long.
DRAWN = ("formula", "evaluation", "tables")
SOURCE = '''"""A module."""

from __future__ import annotations

__all__ = ["grow"]
LIMIT = 3


def grow(α: float, n: int = 2) -> float | None:
    """Return 1 more."""
    if n < 0 and not α:
        raise ValueError(f"{n + 1} is {2 if n else 1}")
    n += 1  # counted
    return max(α, float(-n)) * 2
'''


@pytest.fixture(scope="module")
def drawn():
    return sample(ROOT, 1, 6, DRAWN)


def awake(source: str, sites: list, number: int) -> dict:
    """Run a module that holds all the mutants, with one awake."""
    text = with_all(source, enumerate(sites), "probe").replace("from probe import is_active as _mutant_", "0")
    names = {"_mutant_": lambda k: k == number}
    exec(compile(text, "module.py", "exec", dont_inherit=True), names)
    return names


def test_what_can_be_changed_in_a_module():
    found = {(s.original, s.mutated) for s in places("forecast/room/module.py", SOURCE)}
    assert found == {
        ("3", "4"), ("2", "3"), ("n < 0", "n <= 0"), ("n < 0", "n >= 0"), ("0", "1"), ("n += 1", ""), ("1", "2"),
        ("n < 0 and not α", "n < 0 or not α"), ("n < 0 and not α", "not (n < 0 and (not α))"), ("not α", "α"),
        ('raise ValueError(f"{n + 1} is {2 if n else 1}")', ""), ("max", "min"), ("-n", "n"),
        ("max(α, float(-n)) * 2", "max(α, float(-n)) / 2"), ("max(α, float(-n)) * 2", "None"),
    }  # fmt: skip


def tried(function, words):
    """Return what it returns, or the name of its error."""
    try:
        return function(*words)
    except (ValueError, TypeError) as error:
        return type(error).__name__


def test_a_module_that_holds_a_mutant_does_what_the_mutant_does():
    cases = [(2.0, 1), (0.0, -1), (0.0, 0), (-5.0, 3), (2.0,)]
    results = []
    for site in places("forecast/room/module.py", SOURCE):
        alone: dict = {}
        exec(mutated(SOURCE, site), alone)
        asleep, woken = awake(SOURCE, [site], -1), awake(SOURCE, [site], 0)
        assert [tried(asleep["grow"], c) for c in cases] == [4.0, "ValueError", 0.0, -8.0, 4.0]
        results.append([tried(woken["grow"], c) for c in cases])
        assert results[-1] == [tried(alone["grow"], c) for c in cases], site
        assert woken["LIMIT"] == alone["LIMIT"]
    assert sum(r != [4.0, "ValueError", 0.0, -8.0, 4.0] for r in results) > len(results) / 2


def test_every_mutant_of_a_sample_is_other_code_that_compiles(drawn):
    assert [s.room for s in drawn] == [room for room in DRAWN for _ in range(6)]
    assert set(DRAWN) < set(ROOMS)
    assert len({s.kind for s in drawn}) > 4
    for site in drawn:
        source = (ROOT / site.path).read_text(encoding="utf-8")
        changed = mutated(source, site)
        compile(changed, site.path, "exec")
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source)), site
        assert changed.count("\n") <= source.count("\n")


def test_a_file_that_holds_them_all_compiles_and_no_line_moves(drawn):
    for path in {s.path for s in drawn}:
        source = (ROOT / path).read_text(encoding="utf-8")
        text = with_all(source, enumerate(s for s in drawn if s.path == path), "forecast._mutation_probe")
        compile(text, path, "exec")
        assert text.count("\n") == source.count("\n")


def test_the_same_seed_draws_the_same_and_a_line_that_moved_is_found_again(tmp_path, drawn):
    again = sample(ROOT, seed=1, each=6, rooms=["formula"])
    assert again == [s for s in drawn if s.room == "formula"]
    assert sample(ROOT, seed=2, each=6, rooms=["formula"]) != again
    site = again[0]
    path = tmp_path / site.path
    path.parent.mkdir(parents=True)
    source = (ROOT / site.path).read_text(encoding="utf-8")
    path.write_text("# moved\n" + source, encoding="utf-8")
    (found,) = found_again(tmp_path, [site])
    assert (found.key, found.line) == (site.key, site.line + 1)
    path.write_text(source.replace(site.text, site.text + "  # another line"), encoding="utf-8")
    assert found_again(tmp_path, [site]) == [None]
