"""Which quantities feed a model that is swapped in: from a file, from Python and on the command line alike."""

import importlib

import pytest

import forecast
from forecast.errors import ScenarioError
from toolkit import shared_main as main

TEXT = """
title = "ports"
start = 2025
until = 2027

[quantities.budget]
lognormal = [1e8, 4e8]
unit = "USD"

[quantities.wage]
lognormal = [1e5, 2e5]
unit = "USD/year"

[quantities.rate]
lognormal = [1, 4]
unit = "EFLOP/s"

[quantities.growth]
lognormal = [0.5, 2]
unit = "1/year"

[quantities.days]
value = 100
unit = "day"

[quantities.run]
expression = "rate*exp(growth*(t - start))*days"
unit = "FLOP"

[questions.large]
when = "run >= 3e25 FLOP"
"""

PLUGIN = """
from forecast import FunctionSpec, hookimpl

KEYS = {"reference": "a test", "unit": "FLOP"}

@hookimpl
def forecast_models():
    yield FunctionSpec(name="by-name", target="ported:paid", inputs={"budget": "USD"}, **KEYS)
    yield FunctionSpec(name="by-unit", target="ported:worked", inputs={"pay": "USD/year"}, **KEYS)
    yield FunctionSpec(name="by-neither", target="ported:grown", inputs={"pace": "kg"}, **KEYS)
    yield FunctionSpec(name="by-several", target="ported:several", inputs={"speed": "FLOP/s"}, **KEYS)

def paid(budget):
    return budget*1e17

def worked(pay):
    return pay*1e20

def grown(pace):
    return pace*1e25

def several(speed):
    return speed*1e7
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "ported.py").write_text(PLUGIN)
    (tmp_path / "ports.toml").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    name = forecast.register(importlib.import_module("ported"))[0].partition("/")[0]
    yield tmp_path
    forecast.unregister(name)


@pytest.mark.parametrize(("model", "wires"), [("by-name", ""), ("by-unit", '\ninputs = { pay = "wage" }')])
def test_a_swap_gives_one_answer_from_a_file_from_python_and_on_the_command_line(folder, model, wires):
    record = f'[quantities.run]\nmodel = "ported/{model}"{wires}\n'
    (folder / "own.toml").write_text(
        TEXT.replace(TEXT[TEXT.index("[quantities.run]") : TEXT.index("[questions")], record)
    )
    from_file = forecast.project("own.toml", draws=32)
    in_python = forecast.project(forecast.scenario("ports.toml").with_(run=f"ported/{model}"), draws=32)
    answer = forecast.scenario("ports.toml").ask(draws=32).with_(run=f"ported/{model}")
    assert main(["run", "ports.toml", "--swap", f"run=ported/{model}", "--draws", "32", "--out", "out.nc"]) in (0, None)
    runs = (from_file, in_python, answer.run, forecast.load("out.nc").run)
    for name in ("run", "budget", "wage"):
        for other in runs[1:]:
            assert runs[0].quantities[name].worlds.equals(other.quantities[name].worlds)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("by-neither", r"input 'pace' \(kg\): no quantity has its name, and none has its unit"),
        ("by-several", r"input 'speed' \(FLOP/s\): no quantity has its name, and 2 have its unit: rate, other"),
    ],
)
def test_what_is_not_clear_names_the_candidates_and_the_way(folder, capsys, model, says):
    (folder / "ports.toml").write_text(TEXT + '[quantities.other]\nvalue = 1\nunit = "FLOP/s"\n')
    scenario = forecast.scenario("ports.toml")
    way = rf'; wire it in a file: inputs = {{ {says[7 : says.index(chr(39), 7)]} = "…" }}'
    with pytest.raises(ScenarioError, match=says) as caught:
        scenario.with_(run=f"ported/{model}")
    assert way.replace("\\", "") in str(caught.value)
    with pytest.raises(ScenarioError, match=says):
        forecast.project(scenario, draws=8, with_={"run": f"ported/{model}"})
    assert main(["run", "ports.toml", "--swap", f"run=ported/{model}"]) == 2
    assert "no quantity has its name" in " ".join(capsys.readouterr().err.split())
