"""``forecast run`` of questions for values, growth and what comes first."""

import re

import pytest

TEXT = """
start = 2025
until = 2050
[quantities.goal]
value = 100
unit = "FLOP/s"
[quantities.machine]
expression = "goal*exp(0.2*(t - start))"
[questions.height]
value = "machine"
dates = [2035]
title = "The machine"
[questions.speed]
growth = "machine"
dates = [2035]
[questions.a]
when = "machine >= 1 TFLOP/s"
[questions.b]
when = "machine >= 500"
[questions.race]
first = ["a", "b"]
"""


def test_values_and_what_comes_first_are_in_text_and_json(said, scenario):
    path = scenario(TEXT)
    code, out, err = said("run", path, "--draws", "20", "--show", "answers")
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    assert text.startswith("The machine: 740 FLOP/s in 2035; no uncertainty is stated.")
    assert "growth of machine 2035 0.2 a year" in text
    assert "what comes first b over 99 % a under 1 % none under 1 %" in text
    result = said("run", path, "--draws", "20", "--json").json["result"]
    assert [row["name"] for row in result["values"]] == ["height", "speed"]
    assert result["first"][0] == {
        "name": "race", "title": "", "choices": {}, "first": {"a": 0.0, "b": 1.0}, "together": 0.0, "none": 0.0,
    }  # fmt: skip


def test_a_date_after_the_last_step_is_one_line(said, scenario):
    refusal = said("run", scenario(TEXT.replace("until = 2050", "until = 2030"))).refused()
    assert "questions.height.dates: expected dates from 2025 to 2030, got 2035-01-01" in refusal


def test_a_run_that_ends_sooner_asks_for_the_dates_that_are_left(said, scenario, tmp_path):
    path = scenario(TEXT.replace("dates = [2035]", "dates = [2027, 2035]", 1))
    result = said("run", path, "--until", "2030", "--draws", "20", "--json").json["result"]
    dates = {row["name"]: [each["date"] for each in row["dates"]] for row in result["values"]}
    assert dates == {"height": ["2027-01-01"], "speed": ["2030-01-01"]}  # at the end where none is left
    said("run", path, "--until", "2030", "--draws", "20", "--out", str(tmp_path / "short.nc"))
    again = said("show", str(tmp_path / "short.nc"), "--json").json["result"]
    assert again["values"] == result["values"]


def test_options_take_a_month_and_a_question_about_a_date_says_how_likely_it_is_by_one(said, scenario):
    text = "start = 2025\nuntil = 2030\nstep = '1/12'\n[quantities.x]\np05 = 2\np95 = 6\nunit = ''\n"
    path = scenario(f"{text}[quantities.z]\nexpression = 'x*exp(t - 2025)'\n[questions.q]\nwhen = 'z >= 9'\n")
    out = " ".join(said("run", path, "--draws", "200", "--start", "2025-03", "--at", "2026-03,2027").out.split())
    chances = re.search(r"(\d+) % before March 2026, (over 99|\d+) % before 2027\.", out)
    assert 0 < int(chances[1]) < 100
    later = said("run", path, "--draws", "20", "--start", "2028-03", "--until", "2029-03", "--json").json["provenance"]
    assert later["start"] == pytest.approx(2028 + 60 / 366)
    assert 2029 < later["until"] <= 2029 + 59 / 365
    assert "by March 2028" in " ".join(said("run", path, "--draws", "200", "--start", "2028-03").out.split())
