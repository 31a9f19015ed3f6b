"""The pages of research tasks: both ways run, agree, and ours is no longer than it says."""

import re
from pathlib import Path

import pytest

from benchmarks.research_tasks import PAGE as PAGE_OF_ELEVEN, n_characters, pairs

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "five-research-tasks.md").read_text(encoding="utf-8")
CELLS = re.findall(r"```\{code-cell\} ipython3\n(.*?)```", PAGE, re.S)
#: At most so many lines for: a fit and an interval, propagation, a date, a swap and a condition, an own function.
LINES = (3, 2, 3, 2, 3)


@pytest.fixture(scope="module")
def done():
    space = {"__name__": "tasks"}
    for cell in CELLS:
        exec(compile(cell, "five-research-tasks.md", "exec"), space)
    return space


def lines(cell):
    return len([line for line in cell.splitlines() if line.strip() and not line.startswith("#")])


def test_ours_are_as_short_as_promised():
    ours = [cell for cell in CELLS if cell.startswith("# with lawcast")]
    by_hand = [cell for cell in CELLS if cell.startswith("# by hand")]
    assert len(ours) == len(by_hand) == len(LINES)
    assert all(lines(cell) <= most for cell, most in zip(ours, LINES, strict=True)), [*map(lines, ours)]
    assert max(len(line) for cell in CELLS for line in cell.splitlines()) <= 120


def test_both_ways_agree(done):
    width = done["high"] - done["low"]
    assert done["low"] == pytest.approx(done["low_by_hand"], abs=0.2 * width)
    assert done["high"] == pytest.approx(done["high_by_hand"], abs=0.2 * width)
    assert done["likely"] == pytest.approx(done["likely_by_hand"], rel=0.02)
    assert done["median"] == pytest.approx(done["median_by_hand"], abs=0.3)
    assert done["never"] == pytest.approx(done["never_by_hand"], abs=0.03)
    assert done["bolder"] == pytest.approx(done["bolder_by_hand"], abs=0.3)
    assert done["given"] == pytest.approx(done["given_by_hand"], abs=0.3)
    assert abs(done["reached"] - done["reached_by_hand"]) < 1


ELEVEN = PAGE_OF_ELEVEN.read_text(encoding="utf-8")


def test_eleven_tasks_take_two_thirds_of_the_characters():
    _, found = pairs(ELEVEN)
    assert len(found) == 11
    assert sum(n_characters(ours) for *_, ours, _ in found) <= 0.65 * sum(n_characters(t) for *_, t in found)


@pytest.mark.slow
def test_eleven_tasks_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, found = pairs(ELEVEN)
    exec(data, space := {})
    for *_, ours, _ in found:
        exec(compile(ours, "eleven-tasks.md", "exec"), space)
    assert space["again"] == space["median"]
    assert (tmp_path / "figure.svg").stat().st_size > 1000
