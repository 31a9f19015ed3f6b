"""What a change does, in words: the amount, its interval, and the regime that decides."""

from __future__ import annotations

import re

import pytest

import forecast
from forecast.projection.engine import project
from forecast.report.brief import brief
from forecast.report.changes import effect, moved_and_unmoved
from forecast.report.headline import opening_sentence
from forecast.report.screen import brief_lines

RECORD = {
    "start": 2025,
    "until": 2060,
    "labels": {"form": "research drives algorithms"},
    "quantities": {
        "machine": {"expression": "t - start"},
        "goal": {"p05": 5, "p95": 25, "unit": ""},
        "form": {"draw": {"no": 0.6, "yes": 0.4}},
        "everywhere": {"value": 0, "unit": ""},
        "somewhere": {"value": 0, "unit": ""},
        "scale": {"value": 1, "unit": ""},
        "wanted": {"expression": "scale*goal + everywhere + somewhere*where(form == 'yes', 1, 0)"},
    },
    "questions": {
        "reached": {"when": "machine >= wanted", "title": "the machine is big enough"},
        "worth": {"value": "wanted", "dates": ["2030-01-01"], "title": "what is wanted"},
    },
}


def beside(change, record=RECORD, **options):
    options = {"draws": 512} | options
    return project(record, with_=change, **options).beside(project(record, **options))


def cells(run):
    return {row.label: row.cells[2] for row in moved_and_unmoved(run)[0].rows}


@pytest.mark.parametrize(
    ("change", "clause", "cell"),
    [
        ({"everywhere": 2}, ", which moves the date 2 years later", "2 years later"),
        ({"everywhere": 0.5}, ", which moves the date 6 months later", "6 months later"),
        ({"everywhere": 1 / 12}, ", which moves the date 1 month later", "1 month later"),
        ({"everywhere": -3}, ", which moves the date 3 years earlier", "3 years earlier"),
    ],
)
def test_a_shift_that_all_worlds_share_has_no_interval(change, clause, cell):
    run = beside(change)
    assert effect(run).startswith(clause)
    assert cells(run)["median"] == cell


def test_a_shift_has_its_interval_in_the_unit_that_it_shares_with_the_median():
    run = beside({"scale": 1.2})
    assert effect(run) == ", which moves the date 2 years later (90 %: 1 to 4.8)"
    assert cells(run) == {
        "median": "2 years later (1 to 4.8)", "not by January 2060": "+1", "what is wanted": "+20 %",
    }  # fmt: skip
    assert "not by January 2060" not in moved_and_unmoved(run)[1]


def test_the_regime_that_decides_is_named_as_the_screen_names_it():
    run = beside({"somewhere": 5})
    assert effect(run) == (
        ", which hardly moves the date in the median world (90 %: 0 to 5 years):"
        " not at all where research drives algorithms is no, 5 years later where it is yes"
    )
    assert cells(run)["median"] == "none (0 to 5 years)"


def test_what_then_never_comes_is_past_the_last_step_and_what_newly_comes_is_told():
    soon = RECORD | {"until": 2045}
    assert (
        effect(beside({"everywhere": 6}, soon)) == ", which moves the date 6 years later (90 %: 6 to past January 2045)"
    )
    assert cells(beside({"everywhere": 6}, soon))["median"] == "6 years later (6 to >2045)"
    assert effect(beside({"everywhere": 6, "scale": 2}, soon)) == (
        ", which moves the date past January 2045 (90 %: at least 11 years later)"
    )
    assert effect(beside({"everywhere": 100}, soon)) == ", which moves the date past January 2045"
    assert effect(beside({"everywhere": -3}, soon)).startswith(
        ", which moves the date 3 years earlier and brings it by January 2045 in another "
    )


def test_a_date_that_most_worlds_never_reach_is_told_by_its_medians():
    soon = RECORD | {"until": 2032}
    assert effect(beside({"everywhere": -10}, soon)).startswith(", which moves the median from >2032 to ")


def test_a_change_of_less_than_a_month_does_not_move_a_date():
    run = beside({"everywhere": 0.05})
    assert effect(run) == ", which does not move this"
    assert list(cells(run)) == ["what is wanted"]
    assert moved_and_unmoved(run)[1] == ["the machine is big enough"]
    assert effect(beside({"everywhere": 0})) == ", which changes nothing here"


def test_a_value_is_told_with_both_medians_and_by_how_much():
    value = {"questions": {"worth": RECORD["questions"]["worth"]}}
    halved = beside({"scale": 0.5}, RECORD | value)
    assert effect(halved).endswith(" (2 times less)")
    assert re.fullmatch(
        r", which moves it from [\d.]+ to [\d.]+ \(world by world \+\d+ %; 90 %: [\d.]+ to \d+ %\)",
        effect(beside({"everywhere": 2}, RECORD | value)),
    )


def test_counted_worlds_are_told_as_before():
    run = beside({"everywhere": 2}, draws=2048, keep=64)
    assert effect(run).startswith(", which moves the median from 20")
    assert cells(run)["median"] == "2 years later"


def test_it_says_the_same_when_it_was_saved(tmp_path):
    run = beside({"somewhere": 50, "scale": 1.2})
    run.save(tmp_path / "a.nc")
    loaded = forecast.load(tmp_path / "a.nc").run
    assert opening_sentence(loaded) == opening_sentence(run)
    assert moved_and_unmoved(loaded)[0] == moved_and_unmoved(run)[0]


@pytest.mark.parametrize("change", [{"somewhere": 50}, {"scale": 1.2}, {"somewhere": 9, "everywhere": -4}])
def test_the_screen_stays_one_screen_of_80_columns(change):
    lines = brief_lines(brief(beside(change)))
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
