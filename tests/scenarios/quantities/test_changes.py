"""What-ifs: how they are read, and how they are refused."""

import math
import tomllib
from datetime import date

import pytest

from forecast import Scenario
from forecast.errors import CycleError, ForecastError, ScenarioError, UnitError, UnknownNameError, UsageError
from forecast.scenarios.graph import build
from forecast.scenarios.quantities.changes import as_phrase, parse_change
from toolkit import GROWING

TEXT = (
    GROWING
    + """\
[quantities.twice]
expression = "2*machine"
"""
)
WHAT_IF = """
[[changes]]
of = "machine"
growth = "0.5*"
since = 2028
until = 2032-07-02
[[changes]]
of = "machine"
value = "1 TFLOP/s"
since = 2033
"""


def scenario(*changes):
    return Scenario.from_dict({**tomllib.loads(TEXT), "changes": list(changes)})


def test_changes_are_read_from_toml():
    made = build(Scenario.from_dict(tomllib.loads(TEXT + WHAT_IF)))
    first, second = made.nodes["machine"].changes
    assert (first.of, first.growth, first.since, first.until) == ("machine", 0.5, 2028.0, 2032 + 183 / 366)
    assert second.plain == {"of": "machine", "value": "1 TFLOP/s", "since": 2033.0}
    assert second.until == math.inf


def test_a_value_makes_a_quantity_follow_what_it_names():
    record = tomllib.loads(TEXT)
    record["quantities"]["late"] = {"value": 9, "unit": "FLOP/s"}
    graph = build(Scenario.from_dict(record).changed([{"of": "goal", "value": "2*late", "since": 2030}]))
    assert list(graph.nodes).index("late") < list(graph.nodes).index("goal")
    assert not graph.nodes["goal"].steady


@pytest.mark.parametrize(
    "text",
    [
        "machine.growth*0.5 since 2028",
        "machine.growth*2 since 2028.25 until 2032",
        "machine.growth*2 since 2028-06-01 until 2031-07-04",
        "machine = 3e18 FLOP/s since 2028 until 2030",
        "machine = 2*goal since 2028",
    ],
)
def test_what_is_typed_is_what_is_said(text):
    (change,) = scenario(parse_change(text)).changes
    assert as_phrase(change.plain) == text


def test_a_date_may_be_one_of_the_calendar():
    for text in ("2028-07-01", "2028-07"):
        assert parse_change(f"machine.growth*1e-1 since {text}")["since"] == date(2028, 7, 1)


@pytest.mark.parametrize(
    "text",
    [
        "", "machine", "machine.growth*0.5", "machine.growth*x since 2028", "machine.growth*-1 since 2028",
        "machine.growth*0.5 since soon", "machine.growth+0.5 since 2028", "machine.grow*0.5 since 2028",
        "machine since 2028", "machine = since 2028", "machine.growth*0.5 since 2028 until", "a..b = 3 since 2028",
        "a. = 3 since 2028",
        "machine.growth*0.5 until 2032 since 2028", "machine.growth*0.5 since 2028-13-01",
        "machine.growth*0.5 since 2028-13",
        "machine.growth*0.5 since 2028; rm -rf /", "__import__('os').growth*2 since 2028",
    ],
)  # fmt: skip
def test_what_is_typed_wrong_is_one_line(text):
    with pytest.raises(UsageError, match=r"^--what-if: expected "):
        parse_change(text)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"of": "machin"}, UnknownNameError, "changes[1].of: unknown quantity 'machin'; did you mean 'machine'"),
        ({"of": "kind"}, ScenarioError, "changes[1].of: 'kind' stands for texts"),
        ({"of": "goal"}, ScenarioError, "changes[1].growth: 'goal' does not change with time"),
        ({"growth": "0.5"}, ScenarioError, "changes[1].growth: expected a factor such as \"0.5*\", got '0.5'"),
        ({"growth": 0.5}, ScenarioError, "expected a factor such as"),
        ({"growth": "1e999*"}, ScenarioError, "expected a factor such as"),
        ({"value": 3}, ScenarioError, "changes[1]: expected growth, or a value, and not both"),
        ({"since": None}, ScenarioError, "changes[1].since: expected a date such as 2030"),
        ({"until": 2028}, ScenarioError, "changes[1].until: expected a date after 2028, got 2028"),
        ({"from": 2028}, UnknownNameError, "unknown key 'from'"),
        ({"growth": None, "value": "t - start"}, UnitError, "changes[1].value"),
        ({"growth": None, "value": "twice"}, CycleError, "needs itself: machine → twice → machine"),
        ({"growth": None, "value": "gaol"}, UnknownNameError, "changes[1].value: unknown quantity 'gaol'"),
        ({"growth": None, "value": True}, ScenarioError, "changes[1].value: expected an expression, or a number"),
    ],
)
def test_a_wrong_change_names_its_key(change, error, says):
    whole = {"of": "machine", "growth": "0.5*", "since": 2028, **change}
    whole = {key: value for key, value in whole.items() if value is not None or key == "since"}
    with pytest.raises(error) as raised:
        build(scenario(whole))
    assert says in str(raised.value)


@pytest.mark.parametrize("stated", [{"of": "machine"}, "machine", [3], ["machine"]])
def test_changes_are_tables(stated):
    with pytest.raises(ForecastError, match="changes"):
        Scenario.from_dict({**tomllib.loads(TEXT), "changes": stated})


def test_a_change_without_a_date_says_so():
    with pytest.raises(ScenarioError, match=r"changes\[1\]\.since: is missing"):
        scenario({"of": "machine", "growth": "0.5*"})
