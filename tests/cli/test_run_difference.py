"""What a setting, a swap or a what-if makes of every answer: as it was, changed, and the difference."""

import json
import re

import pytest

import forecast
from forecast.base import netcdf
from toolkit import every

TEXT = """
start = 2025
until = 2050
[choices]
kind = { values = ["1", "2"], kind = "definition" }
use = ["3", "4"]
[quantities.rate]
p05 = 0.1
p95 = 0.3
unit = ""
[quantities.goal]
value = 10
unit = ""
[quantities.machine]
expression = "exp(rate*(t - start)*{kind})"
[quantities.other]
expression = "t - start"
[quantities.worth]
expression = "{use}"
[questions.reach]
when = "machine >= goal"
title = "the machine is big enough"
[questions.apart]
when = "other >= 3"
title = "three years are over"
[questions.height]
value = "machine/goal"
dates = [2030]
title = "machine over goal"
[questions.best]
rank = "worth"
over = "use"
"""
FEW = ("--draws", "256")


def differences(said, path, *words):
    result = json.loads(said("run", path, *FEW, "--json", *words).out)["result"]
    return {row["name"]: row for row in result.get("differences", [])}, result["headline"]


def answer_of(said, path, *words):
    return json.loads(said("run", path, *FEW, "--json", *words).out)["result"]["answer"]["crossing"]


@pytest.mark.parametrize(
    "change", [("--set", "goal=100"), ("--what-if", "machine.growth*0.5 since 2026"), ("--set", "rate=0.1..0.2")]
)
def test_both_sides_are_what_the_runs_say_alone(said, scenario, change):
    path = scenario(TEXT)
    rows, headline = differences(said, path, *change)
    for side, words in (("before", ()), ("after", change)):
        alone = answer_of(said, path, *words)
        assert rows["reach"][side]["median"] == alone["p50"]
        assert rows["reach"][side]["never"] == alone["never"]
    assert rows["reach"]["moved"]
    assert re.search(r", which moves the date (past January 2050|\d years later) \(90 %: (at least )?[\d.]+ ", headline)
    assert rows["reach"]["shift"]["kind"] == "years"
    assert not rows["apart"]["moved"]  # the same worlds, so that what is not reached is equal
    assert rows["apart"]["before"] == rows["apart"]["after"]
    assert not rows["best"]["moved"]


def test_the_screen_has_a_table_and_one_line_of_what_does_not_move(said, scenario):
    out = said("run", scenario(TEXT), *FEW, "--set", "goal=20").out
    lines = out.splitlines()
    heads = next(i for i, line in enumerate(lines) if line.split() == ["as", "it", "was", "changed", "difference"])
    assert lines[heads + 1].startswith("median ")
    assert "later (" in lines[heads + 1]
    row = next(line for line in lines if line.startswith("machine over goal, 2030"))
    assert row.rstrip().endswith("2 times less")
    assert "Not moved: three years are over; " in out


def test_a_change_of_nothing_says_so_and_one_of_little_moves_only_that(said, scenario):
    path = scenario(TEXT)
    rows, headline = differences(said, path, "--set", "goal=10")
    assert rows
    assert not any(row["moved"] for row in rows.values())
    assert headline.endswith("which changes nothing here.")
    rows, headline = differences(said, path, "--set", "other=100")
    assert [name for name, row in rows.items() if row["moved"]] == ["apart"]
    assert rows["apart"]["after"]["already"] == 1.0


def test_another_definition_is_another_question_and_no_difference(said, scenario):
    path = scenario(TEXT)
    rows, headline = differences(said, path, "--set", "kind=2")
    assert not any(row["moved"] for row in rows.values())
    assert "which" not in headline
    assert "Not moved" not in said("run", path, *FEW, "--set", "kind=2").out
    both, _ = differences(said, path, "--set", "kind=2", "--set", "goal=100")
    assert both["reach"]["before"]["median"] == answer_of(said, path, "--set", "kind=2")["p50"]


def test_what_a_stranger_s_file_says_of_before_is_shown_left_out_or_refused(said, scenario, here, monkeypatch):
    said("run", scenario(TEXT), *FEW, "--set", "goal=100", "--out", "a.nc")
    tree = forecast.load("a.nc").run.to_xarray()
    ends = {"p05": None, "p50": -1.0, "p95": None}
    shift = {"kind": "ratio", "new": 0.5, **ends}
    refused = ([], {"reach": 3}, {"reach": {"never": 2.0}}, {"reach": {"mean": 1}}, 7, {"reach": {"shift": ends}})
    shown = (
        {}, {"reach": {"never": 0.5}}, {"best": {"median": 2.0}}, {"reach": {"best": "x", "share": 0.5}},
        {"best": {"best": "\x1b[2J", "share": 0.0, "among": 1}}, {"height": {"median": None}},
        {"reach": {"median": 2030, "shift": shift, "by": {"regime": "\x1b", "values": {"\x1b": ends}}}},
        {"height": {"median": 1.0, "shift": shift}}, {"reach": {"by": {"regime": "x", "values": {}}}},
    )  # fmt: skip
    with every() as case:
        for stated in (*shown, *refused):
            with case(stated):
                tree.attrs["baseline"] = json.dumps(stated)
                monkeypatch.setattr(netcdf, "load", lambda _: tree.copy())
                out = said("show", "a.nc")
                if stated in shown:
                    assert (out.code, "\x1b" in out.out) == (0, False), out.err
                else:
                    assert "baseline" in out.refusal


def test_it_is_saved_with_the_answer(said, scenario, here):
    path = scenario(TEXT)
    first = said("run", path, *FEW, "--set", "goal=100", "--out", "a.nc").out
    assert said("show", "a.nc").out == first
    answer = forecast.load("a.nc")
    assert [each.moved for each in answer.run.differences if each.answer.name == "reach"] == [True]
