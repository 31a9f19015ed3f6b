"""``dates = [...]`` in a question, and what moves an answer, on the command line."""

import re

from forecast.report.words.number_text import percent

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


def test_the_probability_by_a_date(said, scenario):
    name = scenario(SCENARIO.format(dates='2030-06-30, "2040-01-01"'))
    done = said("run", name, "--json", "--draws", "400")
    assert done.code == 0, done.err
    result = done.json["result"]
    row = result["questions"][0]
    assert [d["date"] for d in row["dates"]] == ["2030-06-30", "2040-01-01"]
    # x is above y from the first step or never
    assert all(d["probability"] == row["crossing"]["already"] for d in row["dates"])
    assert result["drivers"][0]["drivers"][0]["name"] == "x"
    out = said("run", name, "--draws", "400", "--show", "answers").out
    assert re.search(rf"^by June 2030 +{percent(row['crossing']['already'])}$", out, re.MULTILINE)
    out = " ".join(said("run", name, "--draws", "400", "--show", "warnings").out.split())
    assert "of what is drawn 'x' comes first, which the scenario states and no data were fitted to" in out


def test_a_number_that_is_stated_is_said_to_come_first_and_one_that_is_fitted_is_not(said):
    """How many tokens there are, a range that others have judged, moves the date at which data bind most."""
    done = said("run", "scaling-ends", "--draws", "512", "--json")
    assert done.code == 0, done.err
    told = {row["name"]: row for row in done.json["result"]["drivers"]}
    stated = (
        "of what is drawn 'capability/tokens-all.tokens' comes first, a number that is stated and not fitted: tokens"
    )
    assert told["data"]["note"].startswith(stated)
    assert "post" in told["data"]["note"]
    first = next(d["name"] for d in told["chip_supply"]["drivers"] if d["kind"] == "number")
    assert first == "resources/compute-growth-as-measured.growth"
    assert "note" not in told["chip_supply"]
