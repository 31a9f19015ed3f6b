"""What every shipped scenario shows: one screen of whole words."""

import math
import re

import pytest

import forecast
from forecast.contract.registry import get_registry
from forecast.report.brief import brief
from forecast.report.headline import Labels
from forecast.report.rows import ranking_groups
from forecast.report.screen import HEIGHT, brief_lines
from forecast.sensitivity.first_order import uncertain
from toolkit import sample

#: Scenarios that stand for the others in the default tier: choices and dates, a ranking.
REPRESENTATIVE = {"brain/brain-parity", "hardware/gpu-choice"}
OTHERS = sorted({record.full_name for record in get_registry().records("scenario", parts=False)} - REPRESENTATIVE)
SCENARIOS = [*sorted(REPRESENTATIVE), *sample(OTHERS, 0, 6)]


@pytest.fixture(scope="module", params=SCENARIOS)
def run(request):
    return forecast.project(request.param, draws=64)


@pytest.mark.parametrize("width", [80, 120])
def test_it_is_one_screen_without_a_broken_word(run, width):
    found = brief(run, today="2026-11-22")
    out = brief_lines(found, width)
    assert len(out) <= HEIGHT
    assert max(map(len, out)) <= width
    words = set(" ".join(out).split())
    assert set(found.sentence.split()) <= words | {"%"}  # none is cut, and a percentage keeps its sign
    assert not [line for line in out if line.lstrip().startswith("% ")]
    assert any(char.isdigit() for char in found.sentence)
    assert found.sentence.endswith(".")
    assert not re.search(r"\d{7,}|\bnan\b|\binf\b|\{|\}", found.sentence)
    assert not [label for label in map(Labels(run), run.quantities) if "{" in label]


def test_at_80_columns_charts_have_their_width_and_labels_are_whole(run):
    found = brief(run, today="2026-11-22")
    out = brief_lines(found, 80)
    axes = [line for line in out if re.search(r"\S {2,}\S.* median", line) and " " * 4 in line]
    for axis in axes:
        ends = re.sub(r"^\[[^]]*\]", "", axis[: axis.index("median")]).strip()
        if ends:
            assert len(ends) >= 24, axis
    first = found.groups[0]
    leading = next((row for row in first.rows if row.spread is not None), None)
    if leading is not None and first.kind != "text" and first.ends[1] > first.ends[0]:
        assert any(any(mark in line for mark in "─━●▶") for line in out), "no chart"
    assert not [line for line in out if "…" in line]
    assert not [line for line in out if re.match(r"answer\b", line.strip())]


def test_where_nothing_is_drawn_no_row_has_a_probability(run):
    found = brief(run)
    moving = any(number.moves for number in uncertain(run).values())
    rows = [row for group in found.groups for row in group.rows if not row.is_heading]
    if not moving:
        assert not [row.cells[2] for row in rows if any(row.cells[2:])]
    for answer in run.rankings:
        for table in answer.table:
            fixed = all(each.quantiles[0] == each.quantiles[4] for each in table.taking_part)
            if fixed and all(each.first in (0, 1) for each in table.taking_part):
                assert not [row for group in ranking_groups(answer, Labels(run), most=math.inf) for row in group.rows
                            if len(answer.table) == 1 and any(row.cells[2:])]  # fmt: skip
