"""``dates = [...]`` in a question, and what moves an answer, on the command line."""

from __future__ import annotations

import json

import pytest

SCENARIO = """
title = "t"
start = 2025
until = 2060
[quantities.x]
p05 = 1
p95 = 100
unit = "FLOP"
[quantities.y]
value = 10
unit = "FLOP"
[questions.q]
when = "x >= y"
dates = [{dates}]
"""


def test_the_probability_by_a_date(command_line, tmp_path):
    (tmp_path / "s.toml").write_text(SCENARIO.format(dates='2030-06-30, "2040-01-01"'))
    done = command_line("run", "s.toml", "--json", "--draws", "400")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)["result"]
    row = result["questions"][0]
    assert [d["date"] for d in row["dates"]] == ["2030-06-30", "2040-01-01"]
    # x is above y from the first step or never
    assert all(d["probability"] == row["crossing"]["already"] for d in row["dates"])
    assert result["drivers"][0]["drivers"][0]["name"] == "x"
    said = command_line("run", "s.toml", "--draws", "400").stdout
    assert "by 2030-06-30" in said
    assert "what moves it" in said


@pytest.mark.parametrize("dates", ['"soon"', "3", '"2030-13-01"'])
def test_what_is_no_date_is_refused(command_line, tmp_path, dates):
    (tmp_path / "s.toml").write_text(SCENARIO.format(dates=dates))
    done = command_line("run", "s.toml")
    assert done.returncode == 2 or done.returncode == 1
    assert "questions.q.dates: expected a date such as 2030-01-01" in done.stderr
    assert done.stdout == ""
