"""``[levers]``: what a reader should be able to move, and where it is offered."""

import pytest

import forecast
from forecast import Scenario
from forecast.errors import ForecastError
from toolkit import json_of, shared_main as main

BASE = {
    "start": 2025,
    "until": 2040,
    "choices": {"how": {"values": ["slow", "fast"], "kind": "definition"}},
    "quantities": {
        "size": {"p05": 1, "p95": 100, "unit": "FLOP"},
        "kind": {"draw": {"small": 0.25, "mid": 0.25, "large": 0.5}},
    },
    "questions": {"q": {"when": "size >= 10"}},
}


def made(levers, **more):
    return Scenario.from_dict({**BASE, "levers": levers, **more})


def test_levers_keep_their_order_and_say_how_they_are_moved():
    scenario = made(
        {
            "size": {"label": "its size", "range": [1, "3 FLOP"], "about": "the ends of a guess"},
            "how": {"label": "the way"},
            "kind": {"label": "the kind"},
        }
    )
    assert [(each.label, each.ends, each.span) for each in scenario.levers] == [
        ("its size", ("1", "3 FLOP"), "1 to 3 FLOP"),
        ("the way", ("slow", "fast"), "slow, fast"),
        ("the kind", ("small", "mid", "large"), "small, mid, large"),
    ]
    assert [each.command() for each in scenario.levers] == ["--set size=1", "--set how=fast", "--set kind=small"]
    assert scenario.levers[0].command("3 FLOP") == '--set size="3 FLOP"'


def test_a_label_of_the_scenario_is_the_levers_own():
    assert made({"size": {"range": [1, 2]}}, labels={"size": "how large"}).levers[0].label == "how large"


def test_growth_is_moved_from_a_date_on():
    (lever,) = made({"size": {"label": "growth", "growth": ["0.5*", "2*"], "since": 2028}}).levers
    assert lever.command() == '--what-if "size.growth*0.5 since 2028"'
    assert lever.moved("2*") == {"what_if": [{"of": "size", "growth": "2*", "since": 2028.0}]}


@pytest.mark.parametrize(
    ("levers", "told"),
    [
        ({"sise": {"label": "a", "range": [1, 2]}}, "levers: unknown quantity or choice 'sise'; did you mean 'size'?"),
        ({"size": {"range": [1, 2]}}, "levers.size.label: is missing"),
        ({"size": {"label": "a"}}, "levers.size.range: is missing"),
        ({"size": {"label": "a", "range": [1]}}, "levers.size.range: expected a list of two different ends"),
        ({"size": {"label": "a", "range": [1, 1]}}, "expected a list of two different ends"),
        ({"size": {"label": "a", "range": [2, True]}}, "expected numbers or texts with units"),
        ({"size": {"label": "a", "growth": ["0.5*", "2*"]}}, "levers.size: expected range"),
        ({"size": {"label": "a", "growth": ["half", "2*"], "since": 2028}}, 'expected a factor such as "0.5*"'),
        ({"size": {"label": "a", "range": [1, 2], "top": 3}}, "unknown key 'top'"),
        ({"how": {"label": "a", "range": ["slow", "fast"]}}, "the range of a choice are its values"),
        ([1], "levers: expected a table"),
    ],
)
def test_a_lever_that_cannot_be_read_is_an_error(levers, told):
    with pytest.raises(ForecastError) as error:
        made(levers)
    assert told in str(error.value)


def test_they_open_the_catalogue_and_stand_on_the_screen(capsys):
    assert main(["scenarios", "show", "brain-parity", "--json"]) == 0
    shown = json_of(capsys.readouterr().out)["result"]
    assert list(shown).index("levers") < list(shown).index("quantities")
    assert shown["levers"][0]["set"] == '--set brain="1e14 FLOP/s"'
    assert main(["run", "brain-parity", "--draws", "64"]) == 0
    assert "Change it: --set brain=" in capsys.readouterr().out


def test_they_are_saved_with_the_result_and_stay_at_home(tmp_path):
    run = forecast.project(made({"size": {"label": "its size", "range": [1, 3]}}), draws=64)
    run.save(tmp_path / "a.nc")
    assert forecast.load(tmp_path / "a.nc").run.levers == run.levers != ()
    used = Scenario.from_dict(
        {"use": {"other": "brain-parity"}, "questions": {"q": {"when": "other.brain >= 1 FLOP/s"}}}
    )
    assert used.levers == ()
