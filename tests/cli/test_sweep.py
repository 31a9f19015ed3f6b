"""``forecast sweep``: one table of what is asked, along everything that is swept."""

import pytest

import forecast
from forecast.cli.ask.run import sweep
from tests.toolkit import json_of, spawn

TEXT = """
start = 2025
until = 2060
[quantities.x]
expression = "exp(g*(t - start))"
[quantities.g]
normal = [0.1, 0.3]
unit = "1/year"
[quantities.goal]
value = 3
unit = ""
[choices.steps]
values = ["1", "2"]
weights = "equal"
[questions.q]
when = "x >= goal"
title = "the goal is reached"
"""
WORDS = ("mine.toml", "--draws", "200")


@pytest.fixture
def mine(scenario):
    return scenario(TEXT)


def test_a_line_for_every_combination(said, mine):
    done = said("sweep", *WORDS, "--set", "goal=2,20", "--set", "g=0.1,0.05..0.2")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("'x >= goal' holds between ")
    assert [line.split()[:2] for line in lines if line.startswith("0.")] == [
        ["0.1,", "2"], ["0.1,", "20"], ["0.05..0.2,", "2"], ["0.05..0.2,", "20"]
    ]  # fmt: skip
    assert len(lines) <= 24


def test_files_and_json_hold_all_of_it(said, mine):
    words = (*WORDS, "--set", "goal=2,20", "--set", "g={normal = [0.1, 0.3]}")
    done = said("sweep", *words, "--out", "s.nc", "--plot", "s.svg", "--json")
    assert done.code == 0
    assert done.json["command"] == "sweep"
    assert done.json["provenance"]["sweep"] == {"goal": ["2", "20"]}
    assert done.json["provenance"]["set"] == {"g": "{normal = [0.1, 0.3]}"}
    rows = done.json["result"]["questions"]
    assert [row["choices"] for row in rows] == [{"goal": "2"}, {"goal": "20"}]
    tree = forecast.load("s.nc").run
    assert tree["questions"]["q"].sizes == {"quantile": 5, "goal": 2}
    alone = said("run", *WORDS, "--set", "goal=20", "--set", "g={normal = [0.1, 0.3]}", "--json")
    assert alone.json["result"]["questions"][0]["crossing"] == rows[1]["crossing"]


def test_a_scenario_may_hold_the_sweep(said, scenario):
    name = scenario(TEXT + "[sweep]\ngoal = [2, 20]\n")
    for verb in ("sweep", "run"):
        done = said(verb, name, "--draws", "200", "--json")
        assert [row["choices"] for row in done.json["result"]["questions"]] == [{"goal": "2"}, {"goal": "20"}]


@pytest.mark.slow
def test_all_values_of_a_choice_in_a_process_of_its_own():
    options = ("--draws", "64", "--until", "2060", "--set", "metric=hpcg", "--json")
    done = spawn("sweep", "brain-parity", "--set", "trend=*", "--set", "machine.growth=0.2,0.4", *options)
    assert (done.returncode, done.stderr) == (0, "")
    pooled = json_of(done.stdout)["result"]["pooled"]
    assert [(row["choices"]["trend"], row["choices"]["machine.growth"]) for row in pooled] == [
        (trend, growth)
        for trend in forecast.scenario("brain-parity").stated["choices"]["trend"]["values"]
        for growth in ("0.2", "0.4")
    ]
    assert all(set(row["weights"]) == {"estimate"} for row in pooled)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "sweep: expected something to sweep: --set NAME=A,B,C, or a [sweep] in the scenario"),
        (("--set", "goal=2"), "sweep: expected something to sweep"),
        (("--set", "goal=2,*"), "--set goal: '*' are all values: it stands alone"),
        (("--set", "goal=2,,3"), "--set goal: expected values between commas, got an empty one"),
        (("--set", "goal=2,3", "--set", "goal=4"), "'goal' is given twice"),
    ],
)
def test_what_cannot_be_swept_is_refused(said, mine, words, says):
    assert says in said("sweep", *WORDS, *words).refusal


def test_help_says_what_it_does(said):
    done = said("sweep", "--help")
    assert done.code == 0
    for option in ("--set", "--out", "--plot", "--json"):
        assert option in done.out
    assert sweep.name == "sweep"
