"""``[says]``: the sentences that the author of a scenario wrote, with slots for what is computed."""

import pytest

import forecast
from forecast import Scenario
from forecast.errors import ForecastError
from forecast.report.headline import opening_sentence

BASE = {
    "start": 2025,
    "until": 2040,
    "choices": {"how": {"values": ["slow", "fast"], "kind": "definition"}},
    "labels": {"slow": "walking"},
    "quantities": {
        "pace": {"p05": 0.1, "p95": 1, "unit": "1/year"},
        "goal": {"value": 8, "unit": "FLOP"},
        "one": {"value": 1, "unit": "FLOP"},
        "size": {"expression": "one*exp(pace*(t - start))"},
    },
    "questions": {
        "q": {"when": "size >= goal"},
        "v": {"value": "size", "dates": [2030]},
        "f": {"first": ["q", "r"]},
        "r": {"when": "size >= 2*goal"},
    },
}
SAYS = {
    "maker": "Somebody (2020)",
    "q": {
        "already": "{maker}: size is {goal} by {start} ({already})",
        "date": "{maker}: size is {goal} by {median} (90 %: {interval})[; {never} not by {until}].",
        "never": "{maker}: size is {goal} by {until} with a chance of {by}",
        "point": "{maker}: size is {goal} in {median}",
        "point_never": "{maker}: size is {goal} after {until}",
    },
}


def made(says, **more):
    return Scenario.from_dict({**BASE, "says": says, **more})


def said(says, **settings):
    return opening_sentence(forecast.project(made(says), draws=200, **settings))


def test_each_case_has_its_sentence():
    assert said(SAYS).startswith("Somebody (2020): size is 8 FLOP by 2031 (90 %: 2027 to after January 2040); ")
    assert said(SAYS, with_={"goal": 0.5}).startswith(
        "Somebody (2020): size is 0.5 FLOP by January 2025 (over 99 %); with goal"
    )
    assert said(SAYS, with_={"goal": 1e9}).startswith(
        "Somebody (2020): size is 1e9 FLOP by January 2040 with a chance of "
    )
    assert said(SAYS, with_={"pace": 0.5}).startswith("Somebody (2020): size is 8 FLOP in February 2029; with pace")
    assert said(SAYS, with_={"pace": 0.1}).startswith("Somebody (2020): size is 8 FLOP after January 2040; with pace")


def test_a_case_without_a_sentence_is_worded_as_ever():
    assert "in the median forecast" in said({"q": {"never": "It comes with a chance of {by}"}})


def test_a_part_in_brackets_is_left_out_where_it_has_nothing_to_say():
    assert "not by" not in said({"q": {"date": "By {median}[; {never} not by {until}]"}}, with_={"goal": 1.2})
    assert said({"q": {"date": "By {median}[; {now} today]"}}).startswith("By 20")
    assert "today" not in said({"q": {"date": "By {median}[; {now} today]"}})


def test_a_value_stands_beside_what_was_observed(tmp_path):
    (tmp_path / "m.csv").write_text("date,v\n" + "".join(f"{2015 + i}-01-01,{2.0**i}\n" for i in range(10)))
    record = {
        "start": 2024,
        "until": 2030,
        "quantities": {
            "s": {"data": str(tmp_path / "m.csv"), "x": "date", "y": "v", "shape": "trends/exponential", "unit": ""}
        },
        "questions": {"v": {"value": "s", "dates": [2030]}},
        "says": {"v": {"value": "It is {value} in {on}, {ratio} times the {now} of {now_date}"}},
    }
    assert opening_sentence(forecast.project(record, draws=100)).startswith(
        "It is 33,000 in 2030, 64 times the 510 of January 2024."
    )


def test_it_is_kept_in_files_and_by_what_extends_it(tmp_path):
    run = forecast.project(made(SAYS), draws=50)
    forecast.save(run, tmp_path / "a.nc")
    assert repr(forecast.load(tmp_path / "a.nc")) == opening_sentence(run)
    again = Scenario.from_text(made(SAYS).to_toml())
    assert again.says == made(SAYS).says


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ({"qq": {"date": "a"}}, "says: unknown question 'qq'"),
        ({"q": {"dat": "a"}}, "says.q: unknown key 'dat'; did you mean 'date'?"),
        ({"q": {"date": "{medain}"}}, "says.q.date: unknown slot 'medain'; did you mean 'median'?"),
        ({"q": {"date": "[a {median}"}}, "says.q.date: a bracket or a brace is not closed"),
        ({"q": {"date": "a {median"}}, "says.q.date: a bracket or a brace is not closed"),
        ({"q": {"date": "[a [b]]"}}, "says.q.date: a bracket or a brace is not closed"),
        ({"v": {"date": "a"}}, "says.v: unknown key 'date'"),
        ({"v": {"value": "{median}"}}, "says.v.value: unknown slot 'median'"),
        ({"f": {"date": "a"}}, "says.f: sentences are written for dates, values and rankings"),
        ({"q": {"date": 3}}, "says.q.date: expected text"),
        ({"q": 3}, "says.q: expected a table"),
    ],
)
def test_bad_sentences_are_refused(says, told):
    with pytest.raises(ForecastError, match=r".") as error:
        made(says)
    assert told in str(error.value)
