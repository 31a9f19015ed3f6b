"""Scenarios by name: with something else in them, and the answers to their own questions."""

import numpy as np
import pytest

import forecast
from forecast.errors import UnknownNameError, UsageError
from forecast.report.headline import opening_sentence
from toolkit import assert_bitwise

SMALL = {"draws": 200, "seed": 0}


@pytest.fixture(scope="module")
def parity():
    return forecast.scenario("brain-parity").ask(**SMALL)


def test_a_scenario_answers_its_question(parity):
    run = forecast.project("brain-parity", **SMALL)
    for name, data in run["questions"].data_vars.items():
        assert_bitwise(parity.run["questions"][name].values, data.values)
    assert repr(parity) == opening_sentence(run)
    assert set(parity.depends_on) == {"brain", "ceiling", "machine"}


@pytest.mark.slow
def test_given_swap_sweep_and_what_if_of_a_scenario(parity):
    at = {"metric": "hpcg", "trend": "exponential", "estimate": "pooled"}
    level = parity.run["projection"]["brain"].sel(estimate="pooled")
    level = level.isel(time=0).values if "time" in level.dims else level.values
    kept = level >= 1e18
    some = parity.given("brain >= 1e18")
    dates = parity.dates.sel(at).values
    assert float(some.by_choice["never"].sel(at)) == pytest.approx(np.isposinf(dates)[kept].mean(), rel=1e-9)
    mine = forecast.quantity("brain") >= 1e18
    assert_bitwise(some.by_choice["never"].values, parity.given(mine).by_choice["never"].values)
    fixed = parity.with_(brain=1e30)
    assert_bitwise(fixed.run["projection"]["machine"].values, parity.run["projection"]["machine"].values)
    assert fixed.by_choice["never"].dims == ("metric", "trend")
    assert float(fixed.by_choice["never"].mean()) > float(parity.by_choice["never"].mean())
    assert fixed.never > parity.never
    slower = parity.what_if("machine", growth="0.5*", since=2026)
    later, sooner = (each.by_choice["quantiles"].sel({**at, "quantile": 0.5}) for each in (slower, parity))
    assert later >= sooner
    swept = parity.sweep(metric=["hpcg", "linpack"]).by_choice["never"]
    both = parity.by_choice["never"].sel(metric=["hpcg", "linpack"])
    assert_bitwise(swept.transpose(*both.dims).values, both.values)
    with pytest.raises(UsageError, match="does not depend on it; it depends on"):
        parity.given("nothing >= 1")
    with pytest.raises(UsageError, match=r"machine\.at\(2028\)"):
        parity.given("machine >= 1e18")
    with pytest.raises(UsageError, match="write the quantity first"):
        parity.given("1 EFLOP/s <= machine")


def test_with_puts_something_else_in_its_place():
    given = forecast.scenario("brain-parity")
    other = given.with_(machine="hardware/linpack@random-walk", until=2060, brain=1e18)
    assert other.until == 2060
    assert other.stated["quantities"]["brain"] == {"value": 1e18, "unit": "FLOP/s"}
    assert other.where == given.where
    assert given.stated["quantities"]["machine"] != other.stated["quantities"]["machine"]
    mine = forecast.uncertain(p05=1e17, p95=1e19, unit="FLOP/s", name="mine")
    made = given.with_(brain=mine, choices={"metric": ["hpcg"], "trend": ["exponential"]})
    assert made.stated["quantities"]["brain"] == {"expression": "mine"}
    assert set(made.ask(**SMALL).depends_on) == {"machine", "mine", "brain", "ceiling"}
    named = given.with_(brain={"p05": 1e17, "p95": 1e19, "unit": "FLOP/s"})
    assert named.stated["quantities"]["brain"]["p05"] == 1e17
    with pytest.raises(UnknownNameError, match="machine"):
        given.with_(machin=1)


def test_a_question_that_is_not_there_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match="parity"):
        forecast.scenario("brain-parity").ask("pariti")
    with pytest.raises(UnknownNameError, match="draws"):
        forecast.scenario("brain-parity").ask(draw=3)
    with pytest.raises(UsageError, match="asks no question"):
        forecast.scenario({"until": 2030, "quantities": {"x": {"value": 1, "unit": ""}}}).ask()


TWO = {
    "start": 2025,
    "until": 2030,
    "quantities": {"x": {"p05": 1, "p95": 4, "unit": ""}},
    "questions": {
        "one": {"when": "x*(t - start) >= 5"},
        "two": {"when": "x*(t - start) >= 8", "title": "two comes"},
        "worth": {"value": "x", "dates": [2026]},
        "race": {"first": ["one", "two"]},
    },
}


def test_each_question_of_a_scenario_is_answered_by_its_name():
    given, run = forecast.scenario(TWO), forecast.project(TWO, **SMALL)
    two = given.ask("two", **SMALL)
    assert "Two comes" in repr(two)
    assert_bitwise(two.run["questions"]["two"].values, run["questions"]["two"].values)
    assert given.ask("worth", **SMALL).values.shape == (200, 1)
    race = given.ask("race", **SMALL)
    assert set(race.shares["event"].values) == {"one", "two", "together", "none"}
    assert given.ask(**SMALL).name == "one"


def test_what_is_needed_of_a_scenarios_inputs():
    choices = {"metric": ["hpcg"], "trend": ["exponential"], "estimate": ["dettmers-2015"]}
    answer = forecast.scenario("brain-parity").with_(choices=choices).ask(**SMALL)
    name = "brain/dettmers-2015.firing_rate"
    found = answer.needed(name, by=2060)
    assert answer.with_(**{name: found}).median == pytest.approx(2060, abs=0.25)  # frontiers rise in steps
    swapped = answer.with_(machine="hardware/linpack@random-walk")
    assert (swapped.run["projection"]["machine"] != answer.run["projection"]["machine"]).any()
    with pytest.raises(UsageError, match="does not depend on it"):
        answer.needed("brain/dettmers-2015.nothing", by=2060)


def test_a_sentence_says_what_was_put_into_the_scenario_as_it_says_a_setting():
    parity = forecast.scenario("brain-parity")
    model = "hardware/linpack@random-walk"
    said = [
        parity.with_(brain=1e16, trend="changepoint").ask(**SMALL).sentence,
        parity.with_(trend="changepoint").with_(machine=model, brain=1e16).ask(**SMALL).sentence,
        parity.ask(**SMALL).with_(machine=model).sentence,
    ]
    assert "with brain = 10 PFLOP/s, trend: changepoint" in said[0]
    assert all(f"the fastest supercomputer = {model}" in each for each in said[1:])
    assert "brain = 10 PFLOP/s" in said[1]
    assert "; with" not in parity.ask(**SMALL).sentence


@pytest.mark.slow
def test_rows_of_a_table_by_a_choice_are_narrowed_with_it():
    guide = forecast.scenario("gpu-guide")
    two = guide.with_(use=["training-16bit", "fine-tuning"])
    assert [*two.stated["quantities"]["peak"]["where"]["precision"]] == ["training-16bit", "fine-tuning"]
    one = two.with_(use="fine-tuning").ask(draws=64)
    assert one.sentence == guide.ask(draws=64, with_={"use": "fine-tuning"}).sentence


def test_a_value_that_a_scenario_was_given_is_said_or_refused():
    parity = forecast.scenario("brain-parity")
    lower = parity.with_(brain="1e15 FLOP/s")
    assert (
        (lower.machine >= lower.brain)
        .when(until=2060, draws=64)
        .sentence.endswith("; with brain_parity.brain = 1e15 FLOP/s.")
    )
    with pytest.raises(UsageError, match=r"with_ 'brain_parity\.brain': the answer does not depend on it"):
        forecast.ask(value=lower.machine, dates=[2030], draws=64)
    other = parity.with_(add={"mine": {"value": 1, "unit": ""}}).with_(mine=2)
    with pytest.raises(UsageError, match="with_ 'mine': the answer does not depend on it"):
        other.ask(draws=64)


@pytest.mark.filterwarnings("ignore::forecast.errors.FewWorldsWarning")
def test_a_condition_names_what_ask_names_and_a_date(parity):
    assert parity.given("supercomputer-hpl >= 1 ZFLOP/s at 2035").sentence.startswith(
        "Given supercomputer-hpl >= 1 ZFLOP/s at 2035"
    )
    machine = parity.scenario.machine
    assert parity.given("machine >= 1 EFLOP/s at 2035").never == parity.given(machine.at(2035) >= "1 EFLOP/s").never
    with pytest.raises(UsageError, match="given 'machine >= 1e40 FLOP/s at 2030': it holds in none of the 200 worlds"):
        parity.given("machine >= 1e40 FLOP/s at 2030")
