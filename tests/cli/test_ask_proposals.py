"""``forecast ask``: whatever it proposes runs, its own dates lie inside the steps, and what has no value says so."""

from __future__ import annotations

import datetime
import json
import shlex

import pytest

import forecast
from forecast.contract.registry import get_registry
from forecast.errors import FormulaError, UnknownNameError, UsageError
from forecast.scenarios.question_text import read_question
from forecast.scenarios.question_words import readings
from toolkit import sample

FEW = ("--draws", "32")
#: Questions of people, one for each thing that the catalogue is about.
QUESTIONS = (
    "when does a supercomputer match the brain", "when can AI do a month of work", "what does a training run cost",
    "how much power does the largest run need", "when do transistors stop shrinking",
    "will a 2e29 FLOP run be possible by 2030", "when do limits bind", "what can a GPU do per dollar",
    "how fast do algorithms improve", "when is there a superhuman coder", "what is the loss of the next model",
    "how many tokens are left", "price of a million tokens", "how long is the horizon of agents",
    "how many bits does a weight need", "how large is an emergent outlier", "how many people use AI",
    "what does a watt of brain compute",
)  # fmt: skip


def lines_of_titles() -> list[str]:
    """Return what is proposed for the title of every scenario and for the questions above, each line once."""
    titles = [record.spec.title for record in get_registry().records("scenario", parts=False)]
    return list(dict.fromkeys(each.line for text in (*QUESTIONS, *titles) for each in readings(text)))


def check_runs(said, line: str) -> None:
    words = shlex.split(line)[1:]
    out = said(*words, *(FEW if words[0] in ("ask", "run") else ()))
    assert out.code == 0, (line, out.err)


def test_a_scenario_is_proposed_by_its_title():
    assert readings("when is there a superhuman coder")[0].line == "forecast run ai-2027-b"
    assert "forecast run scaling-ends" in [each.line for each in readings("when do limits bind")]


@pytest.mark.parametrize("part", sample(range(16), 0, 16))
def test_every_line_that_is_proposed_runs(said, part):
    lines = lines_of_titles()
    assert len(lines) >= 60
    for line in lines[part::16]:
        check_runs(said, line)


@pytest.mark.slow
def test_a_name_that_is_nearly_right_suggests_one_that_runs(said):
    for name in ("brain-partiy.machine", "training-computee", "run-price-performence", "gpu-gaol.card", "hpgc"):
        with pytest.raises((UnknownNameError, UsageError), match="did you mean '") as told:
            read_question(name)
        near = str(told.value).partition("did you mean '")[2].partition("'")[0]
        check_runs(said, f"forecast ask {near}")


def test_dates_that_nobody_states_lie_inside_the_steps():
    """The steps of model-capability begin in October 2026 and are half a year: 2040 comes after the last."""
    own = read_question("model-capability.power")
    assert own.figures["question"].dates == ("2030-01-01",)
    later = read_question("model-capability.power", at=[2040])
    assert (later.start, later.until, later.step) == (2026.75, 2040.25, "1/2")
    made = forecast.ask("scaling-ends.power", dates=[2040], draws=16)
    assert made.run.span[0] == 2026.75 <= 2040 <= made.run.span[1]


# --- what has no value ------------------------------------------------------------------------------------------------

STEPS = {"start": 2025, "until": 2027, "quantities": {"x": {"low": 1, "high": 2, "unit": ""}}}


def test_a_division_by_zero_is_an_error(said):
    out = said("ask", "hpcg", "/", "0")
    assert (out.code, out.out) == (2, "")
    assert "a division by zero has no value" in out.err
    for text in ("x/0", "x/(2 - 2)", "1/(0*3)"):
        record = {**STEPS, "quantities": {**STEPS["quantities"], "y": {"expression": text}}}
        with pytest.raises(FormulaError, match="a division by zero has no value"):
            forecast.project(record, draws=16)


def test_a_value_that_is_infinite_in_every_world_has_failed(said, scenario):
    path = scenario(
        'start = 2025\nuntil = 2027\n[quantities]\nx = { low = 1, high = 2, unit = "" }\n'
        'none = { value = 0, unit = "" }\n[questions.q]\nvalue = "x/none"\ndates = [2026]\n'
    )
    out = said("run", path, *FEW)
    assert (out.code, "infinite" in out.out) == (1, False)
    assert "questions.q.value: 'x/none': 256 of 256 values are infinite" in out.err


# --- dates that have not come -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["run", "brain-parity", "--as-of", "2099-01-01"],
        ["ask", "hpcg", "--as-of", "2099"],
        ["sweep", "brain-parity", "--set", "metric=*", "--as-of", "2099-01-01"],
        ["record", "brain-parity", "--ledger", "l.jsonl", "--as-of", "2099-01-01", "--deadline", "2100-01-01"],
        ["backtest", "brain-parity", "--whole", "--vintage", "2099-01-01"],
        ["chain", "--as-of", "2099"],
        ["accounts", "--as-of", "2099"],
    ],
)
def test_nothing_is_known_as_of_a_date_that_has_not_come(said, here, words):
    out = said(*words)
    assert (out.code, out.out) == (2, "")
    assert "2099-01-01: comes after today, " in out.err


def test_today_has_come_and_tomorrow_has_not():
    today = datetime.date.today()
    record = {**STEPS, "questions": {"q": {"value": "x", "dates": [2026]}}}
    assert forecast.project(record, draws=16, as_of=today.isoformat()).settings.as_of <= today.year + 1
    for late in (today + datetime.timedelta(days=1), 2099.5):
        with pytest.raises(UsageError, match=r"as_of .*: comes after today, "):
            forecast.project(record, draws=16, as_of=str(late))


def test_a_failing_shape_beside_that_of_a_series_is_listed(said):
    out = said("ask", "hardware/gpu-per-dollar-fp16-consumer", *FEW, "--json")
    assert out.code == 0
    assert any("damped" in line for line in json.loads(out.out)["warnings"])
