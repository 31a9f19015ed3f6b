"""Questions for values, growth and what comes first: how they are read, and how they are refused."""

import tomllib

import pytest

from forecast import Scenario
from forecast.errors import FormulaError, ScenarioError, UnitError, UnknownNameError
from forecast.scenarios.graph import build
from toolkit import GROWING

TEXT = (
    GROWING
    + """\
[questions.share]
value = "machine/goal"
dates = [2030, 2031-07-01]
title = "The share"
[questions.speed]
growth = "machine"
dates = [2030]
[questions.a]
when = "machine >= goal*2"
[questions.b]
when = "machine >= goal*3"
[questions.race]
first = ["a", "b"]
"""
)


def test_every_kind_is_read_from_toml():
    made = Scenario.from_dict(tomllib.loads(TEXT))
    assert made.figures["share"].plain == {
        "value": "machine/goal", "dates": ["2030-01-01", "2031-07-01"], "title": "The share",
    }  # fmt: skip
    assert made.figures["speed"].plain == {"growth": "machine", "dates": ["2030-01-01"], "title": ""}
    assert made.firsts["race"].first == ("a", "b")
    assert list(made.questions) == ["a", "b"]
    assert made.opens == "share"


def test_an_expression_asked_for_is_a_quantity_that_nobody_sees():
    graph = build(Scenario.from_dict(tomllib.loads(TEXT)))
    assert graph.scenario.figures["speed"].of.names == ("machine",)
    (hidden,) = graph.scenario.figures["share"].of.names
    assert graph.nodes[hidden].hidden
    assert list(graph.quantities) == ["goal", "kind", "machine"]


@pytest.mark.parametrize(
    ("question", "error", "says"),
    [
        ({"value": "machine"}, ScenarioError, "questions.q.dates: expected dates at which the value is asked for"),
        ({"growth": "machine", "dates": []}, ScenarioError, "expected dates at which the growth is asked for"),
        ({"value": "machine", "dates": ["soon"]}, ScenarioError, "questions.q.dates: expected a date such as"),
        ({"value": "machine", "dates": [2030, "2030-01-01"]}, ScenarioError, "a date stands there twice"),
        ({"value": "machin", "dates": [2030]}, UnknownNameError, "questions.q: unknown quantity 'machin'"),
        ({"value": "machine + 1", "dates": [2030]}, UnitError, "questions.q: formula 'machine + 1'"),
        ({"value": "kind", "dates": [2030]}, ScenarioError, "questions.q: 'kind' stands for texts"),
        ({"value": "machine.__x", "dates": [2030]}, FormulaError, "questions.q.value"),
        ({"value": "machine.x", "dates": [2030]}, UnknownNameError, "questions.q: unknown quantity 'machine.x'"),
        ({"value": "machine", "growth": "machine", "dates": [2030]}, UnknownNameError, "unknown key 'value'"),
        ({"first": ["a"]}, ScenarioError, "questions.q.first: expected two or more questions, each once"),
        ({"first": ["a", "a"]}, ScenarioError, "expected two or more questions, each once"),
        ({"first": ["a", "c"]}, UnknownNameError, "questions.q.first: unknown question 'c'"),
        ({"first": ["a", "share"]}, ScenarioError, "questions.q.first: 'share' does not ask when: it has no date"),
        ({"first": ["a", "b"], "dates": [2030]}, UnknownNameError, "unknown key 'dates'"),
    ],
)
def test_a_wrong_question_names_its_key(question, error, says):
    record = tomllib.loads(TEXT)
    record["questions"]["q"] = question
    with pytest.raises(error) as raised:
        build(Scenario.from_dict(record))
    assert says in str(raised.value)
