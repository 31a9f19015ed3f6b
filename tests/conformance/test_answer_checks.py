"""``forecast scenarios check``: answers against their data and against one another."""

import pytest

import forecast
from forecast import Scenario
from forecast.conformance.answer_checks import RULES, find_breaches
from forecast.contract.registry import get_registry
from forecast.formula import parse_expression
from forecast.projection.result.observed_values import computed_median, last_observation, threshold
from toolkit import json_of, sample, shared_main as main

OURS = get_registry().names("scenario")

ROWS = "date,v\n" + "".join(f"{2010 + i}-01-01,{2**i}\n" for i in range(12))


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.csv").write_text(ROWS, encoding="utf-8")

    def run(text):
        (tmp_path / "s.toml").write_text(text, encoding="utf-8")
        code = main(["scenarios", "check", "s.toml", "--draws", "128", "--json"])
        result = json_of(capsys.readouterr().out)["result"]
        assert code == (1 if result["breaches"] else 0)
        return {(each["rule"], each["question"]) for each in result["breaches"]}

    return run


SERIES = "[quantities.x]\ndata = 'm.csv'\nx = 'date'\ny = 'v'\nunit = ''\nshape = 'trends/exponential'\n"


def test_a_trend_of_clean_data_holds(check):
    assert not check(
        f"until = 2030\n{SERIES}[questions.q]\nvalue = 'x'\ndates = [2030]\n[questions.w]\nwhen = 'x >= 9000'\n"
    )


def test_a_median_that_falls_below_the_last_observation_is_told(check):
    capped = SERIES + "limit = 100\n"
    found = check(f"until = 2030\n{capped}[questions.q]\nvalue = 'x'\ndates = [2030]\n")
    assert ("falls", "q") in found
    assert ("observed", "q") in found


def test_a_question_that_asks_for_more_comes_later(check):
    text = f"until = 2040\n{SERIES}[questions.more]\nwhen = 'x >= 90000'\n[questions.less]\nwhen = 'x >= 9000'\n"
    assert not check(text)


def test_a_row_called_pooled_is_held_to_the_rows_beside_it(check):
    text = (
        "start = 2025\nuntil = 2060\n[choices.rate]\nvalues = ['1', '2', '9']\nkind = 'rival'\nweights = [0, 0, 1]\n"
        "[labels]\n{label} = 'pooled'\n[quantities.x]\nexpression = 'exp(0.1*{{rate}}*(t - start))'\n"
        "[questions.q]\nwhen = 'x >= 5'\n"
    )
    assert check(text.format(label="9")) == {("pooled", "q")}
    assert not check(text.format(label="2").replace("[0, 0, 1]", "[0, 1, 0]"))


@pytest.mark.parametrize(
    ("when", "of", "op", "value"),
    [
        ("x >= 9", "x", ">=", 9),
        ("x >= goal", "x", ">=", 9),
        ("goal <= x", "x", ">=", 9),
        ("less >= 1/x", "1/x", "<=", 0.1),
        ("x + 1 > goal - 1", "x + 1", ">", 8),
        ("x >= other", None, None, None),
    ],
)
def test_the_level_of_a_question_may_be_a_quantity_and_stand_on_either_side(when, of, op, value):
    run = forecast.project({
        "start": 2025, "until": 2030, "quantities": {
            "x": {"expression": "other*(t - 2024)"}, "other": {"p05": 1, "p95": 4, "unit": ""},
            "goal": {"value": 9, "unit": ""}, "less": {"value": 0.1, "unit": ""}},
        "questions": {"q": {"when": when}}}, draws=64)  # fmt: skip
    found = threshold(run.dates[0])
    assert (found and (found.of, found.op, pytest.approx(found.value))) == (of and (of, op, value))


@pytest.mark.parametrize("limit", ["", "limit = 100\n"])
def test_what_a_record_has_met_is_so_already_whatever_limits_it(tmp_path, monkeypatch, limit):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.csv").write_text(ROWS, encoding="utf-8")
    (tmp_path / "s.toml").write_text(
        f"start = 2021.5\nuntil = 2030\n{SERIES}keeps = 'frontier'\n{limit}"
        "[quantities.goal]\nvalue = 2000\nunit = ''\n[questions.q]\nwhen = 'x >= goal'\n",
        encoding="utf-8",
    )
    run = forecast.project("s.toml", draws=64)
    assert run.dates[0].headline.already == 1
    assert find_breaches(run) == []


@pytest.mark.parametrize("name", sample(OURS, 0, 4))
def test_every_forecast_of_ours_has_todays_value_beside_it(name):
    """As it was last observed, or as the scenario computes it for its first step."""
    scenario = Scenario.load(name)
    if "published_on" in scenario.stated:
        pytest.skip("a rebuilt publication")
    run = forecast.project(scenario, draws=64)
    values = [a for a in run.values if a.text.isidentifier()]  # a formula of numbers has no value of today
    moving = [a for a in (*run.dates, *values) if "time" in run.worlds[first_name(a)].dims]
    assert [a.name for a in moving if last_observation(a) is None and computed_median(a) is None] == []


def first_name(answer):
    return next(name for name in parse_expression(answer.text).names if name in answer.run.quantities)


def test_a_rebuilt_publication_is_exempt(capsys):
    assert main(["scenarios", "check", "ai-2027-a"]) == 0
    assert "exempt" in capsys.readouterr().out


SETTABLE = (
    "start = 2025\nuntil = 2030\n[quantities.x]\n"
    "p05 = 1\np95 = 9\nunit = 'FLOP'\n[quantities.y]\nvalue = 2\nunit = 'FLOP'\n"
    "[questions.q]\nvalue = '2*x'\ndates = [2030]\n"
)


def test_a_lever_that_moves_nothing_is_told(check):
    moving = SETTABLE + "[levers.x]\nlabel = 'size'\nrange = [1, '3 FLOP']\n"
    assert not check(moving)
    assert check(moving + "[levers.y]\nlabel = 'other'\nrange = [1, 3]\n") == {("levers", "y")}
    assert check(SETTABLE + "[levers.x]\nlabel = 'size'\nrange = ['1 USD', '3 USD']\n") == {("levers", "x")}


def test_a_lever_of_growth_moves_its_quantity(check):
    held = f"until = 2030\n{SERIES}[questions.q]\nvalue = '2*x'\ndates = [2030]\n"
    assert not check(held + "[levers.x]\nlabel = 'growth'\ngrowth = ['0*', '2*']\nsince = 2025\n")
    assert check(held + "[levers.x]\nlabel = 'growth'\ngrowth = ['0*', '2*']\nsince = 2040\n") == {("levers", "x")}


def test_every_rule_is_described():
    assert set(RULES) == {"pooled", "observed", "already", "nested", "falls", "levers"}


@pytest.mark.slow
def test_a_lever_that_is_taken_over_is_no_fault_of_a_file_in_which_it_moves_nothing(check, capsys):
    text = "extends = 'brain-parity'\nuntil = 2040\n[quantities.brain]\nvalue = 1e12\nunit = 'FLOP/s'\n"
    assert not check(text)
    assert main(["scenarios", "check", "s.toml", "--draws", "64"]) == 0
    assert "Levers of what s extends that move nothing here: " in capsys.readouterr().out
    assert ("levers", "metric") in check(f"{text}[levers.metric]\nlabel = 'Of its own'\n")
