"""``forecast run`` of questions for values, growth and what comes first."""

from __future__ import annotations

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
    assert text.startswith(
        "The machine: 740 FLOP/s in 2035; no uncertainty is stated; growth of machine: 0.2 a year in 2035; "
        "no uncertainty is stated."
    )
    assert "growth of machine 2035, answer 0.2 a year" in text
    assert "what comes first b over 99 % a under 1 % none under 1 %" in text
    result = said("run", path, "--draws", "20", "--json").json["result"]
    assert [row["name"] for row in result["values"]] == ["height", "speed"]
    assert result["first"][0] == {
        "name": "race", "title": "", "choices": {}, "first": {"a": 0.0, "b": 1.0}, "together": 0.0, "none": 0.0,
    }  # fmt: skip


def test_a_date_after_the_last_step_is_one_line(said, scenario):
    refusal = said("run", scenario(TEXT), "--until", "2030").refused()
    assert "questions.height.dates: expected dates from 2025 to 2030, got 2035-01-01" in refusal
