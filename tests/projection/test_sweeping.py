"""A sweep: a dimension for each swept name, nothing pooled over it, and everything else drawn alike along it."""

import itertools
import math

import numpy as np
import pytest

import forecast
from forecast import save
from forecast.errors import ScenarioError, UnknownNameError, UsageError
from forecast.projection.answers.variations import Variations
from forecast.report import result_data
from forecast.report.headline import opening_sentence
from tests.toolkit import assert_bitwise

YEARS = np.arange(2000.0, 2021.0)
SERIES = {"t": YEARS, "y": np.exp(0.3 * (YEARS - 2000) + np.random.default_rng(0).normal(0, 0.4, 21))}
MACHINE = forecast.trend(SERIES, shape="trends/exponential", x="t", y="y", unit="FLOP/s", name="mine/machine").model
PLAIN = {
    "until": 2060,
    "quantities": {
        "machine": {"model": MACHINE},
        "share": {"uniform": [0.5, 1.0], "unit": ""},
        "goal": {"lognormal": [1e4, 1e6], "unit": "FLOP/s"},
        "other": {"expression": "goal*2"},
    },
    "questions": {"there": {"when": "share*machine >= goal"}, "then": {"when": "machine >= 1e5"}},
}
RIVALS = {
    **PLAIN,
    "choices": {"shape": {"values": ["exponential", "random-walk"], "weights": "equal"}},
    "quantities": {
        **PLAIN["quantities"],
        "machine": {"model": "hardware/linpack", "shape": "trends/{shape}"},
        "goal": {"value": 1e19, "unit": "FLOP/s"},
    },
}


def run(scenario=PLAIN, draws=300, **options):
    return forecast.project(scenario, draws=draws, **options)


def test_each_value_is_what_it_would_be_alone_and_all_else_is_the_same():
    values = {"goal": [1e5, "1..2 EFLOP/s", {"lognormal": [1, 9]}], "machine.growth": [0.2, 0.4]}
    tree = run(sweep=values)
    assert tree.swept == {
        "goal": ["100000.0", "1..2 EFLOP/s", "{lognormal = [1, 9]}"], "machine.growth": ["0.2", "0.4"]
    }  # fmt: skip
    assert "goal" not in tree["projection"].data_vars
    assert tree["projection"]["share"].dims == ("time", "draw")
    assert tree["projection"]["machine"].dims == ("time", "draw", "machine.growth")
    assert tree["projection"]["other"].dims == ("time", "draw", "goal")
    assert tree["questions"]["there_date"].dims == ("draw", "machine.growth", "goal")
    assert tree["questions"]["then_date"].dims == ("draw", "machine.growth")
    for i, goal in enumerate(values["goal"]):
        for j, growth in enumerate(values["machine.growth"]):
            alone = run(with_={"goal": goal, "machine.growth": growth})
            at = {"goal": i, "machine.growth": j}
            for group in ("projection", "questions"):
                for name, each in tree[group].data_vars.items():
                    here = each.isel({d: k for d, k in at.items() if d in each.dims})
                    assert_bitwise(here.values, alone[group][name].values)
    untouched = run()
    assert_bitwise(tree["projection"]["share"].values, untouched["projection"]["share"].values)
    posterior = tree["posterior/mine/machine"]
    assert posterior["growth"].dims == ("draw", "machine.growth")
    alone = run(with_={"machine.growth": 0.4})["posterior/mine/machine"]  # the level follows its regression on growth
    assert_bitwise(posterior["log_level"].isel({"machine.growth": 1}).values, alone["log_level"].values)
    assert "past" in untouched
    assert "past" not in tree  # of each growth it is another
    assert tree["observed/machine"].identical(untouched["observed/machine"])


@pytest.mark.slow
def test_it_is_saved_summarised_and_said(tmp_path):
    tree = run(sweep={"goal": [1e3, 1e5], "machine.growth": [0.2, 0.4]}, with_={"share": 1})
    assert forecast.load(save(tree, tmp_path / "s.nc")).run.identical(tree)
    rows = [row["choices"] for row in result_data.date_rows(tree) if row["name"] == "there"]
    assert rows == [{"machine.growth": g, "goal": v} for g in ("0.2", "0.4") for v in ("1000.0", "100000.0")]
    assert "depending on machine.growth and goal" in opening_sentence(tree)
    assert opening_sentence(tree).endswith("with share = 1 instead of 0.5 to 1.")
    early, late = (row["crossing"]["p50"] for row in result_data.date_rows(tree)[:2])
    assert early < late


def test_what_is_swept_is_never_pooled_and_rivals_beside_it_are():
    plain, tree = run(RIVALS), run(RIVALS, sweep={"goal": [1e19, 1e20]})
    assert "goal = " not in opening_sentence(plain)
    rows = [row for row in result_data.pooled_rows(tree) if row["name"] == "there"]
    assert [row["choices"] for row in rows] == [{"goal": "1e+19"}, {"goal": "1e+20"}]
    first = next(row for row in result_data.pooled_rows(plain) if row["name"] == "there")
    assert rows[0]["crossing"] == first["crossing"]
    assert "depending on goal (not by" in opening_sentence(tree)
    along = run(RIVALS, sweep={"shape": "*"})
    assert along.swept == {"shape": ["exponential", "random-walk"]}
    assert result_data.pooled_rows(along) == []
    for name in ("there_date", "then_date"):
        assert_bitwise(along["questions"][name].values, plain["questions"][name].values)
    assert run(RIVALS, sweep={"shape": ["random-walk"]}).swept == {"shape": ["random-walk"]}


def test_an_answer_that_stays_the_same_still_stands_along_what_it_depends_on():
    tree = run(sweep={"goal": [1e-30, 1e-29]})
    assert (tree["questions"]["there_already"] == 1).all()
    assert tree["questions"]["there"].dims == ("quantile", "goal")
    assert tree["questions"]["then"].dims == ("quantile",)
    assert [row["choices"] for row in result_data.date_rows(tree) if row["name"] == "there"] == [
        {"goal": "1e-30"}, {"goal": "1e-29"}
    ]  # fmt: skip
    swapped = run(RIVALS, sweep={"machine.growth": [0.2, 0.3]}, with_={"machine": "hardware/linpack@exponential"})
    assert swapped["questions"]["then"].dims == ("quantile", "machine.growth")


@pytest.mark.parametrize(
    ("scenario", "sweep"),
    [
        (RIVALS, {"goal": [1e19, "1e19..1e20"], "machine.growth": [0.2, 0.3]}),
        ("capability/metr-2025", {"doubling": [100, 180]}),  # feeds a model, which has a past
        pytest.param("brain-parity", {"ceiling": ["1e20 FLOP/s", "1e22 FLOP/s"]}, marks=pytest.mark.slow),  # a limit
        pytest.param("model-capability", {"goal": ["40 hour", "400 hour"]}, marks=pytest.mark.slow),
    ],
)
def test_variations_in_one_plan_are_the_runs_one_by_one(scenario, sweep, monkeypatch):
    together = run(scenario, sweep=sweep)
    planned = []
    none = lambda _, every: planned.append(len(every)) or itertools.repeat(None, len(every))  # noqa: E731
    monkeypatch.setattr(Variations, "walk", none)
    assert together.identical(run(scenario, sweep=sweep))
    assert planned == [math.prod(map(len, sweep.values())) - 1]


@pytest.mark.slow
def test_worlds_of_several_batches_are_all_drawn_at_each_value():
    many = {"draws": 33_000, "keep": 33_000}
    tree = run(sweep={"goal": [1e3, 1e5]}, until=2030, **many)
    alone = run(with_={"goal": 1e5}, until=2030, **many)
    assert_bitwise(tree["projection"]["other"].isel(goal=1).values, alone["projection"]["other"].values)
    assert_bitwise(tree["questions"]["there_date"].isel(goal=1).values, alone["questions"]["there_date"].values)


def test_a_name_with_a_slash_is_a_dimension_without(tmp_path):
    tree = run(sweep={"mine/machine.growth": [0.2, 0.4]})
    assert tree["questions"]["there"].dims == ("quantile", "mine.machine.growth")
    assert forecast.load(save(tree, tmp_path / "s.nc")).run.identical(tree)


def test_a_scenario_holds_a_sweep_and_a_setting_ends_it(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(
        'start = 2025\nuntil = 2040\n[quantities.x]\nexpression = "exp(g*(t - start))"\n'
        '[quantities.g]\nnormal = [0.1, 0.3]\nunit = "1/year"\n[quantities.goal]\nvalue = 3\nunit = ""\n'
        '[questions.q]\nwhen = "x >= goal"\n[sweep]\ngoal = [2, 20]\ng = [0.1, "0.1..0.4"]\n'
    )
    tree = run(path)
    assert tree["questions"]["q"].sizes == {"quantile": 5, "g": 2, "goal": 2}
    fixed = run(path, with_={"goal": 2})
    assert fixed["questions"]["q"].sizes == {"quantile": 5, "g": 2}
    assert_bitwise(fixed["questions"]["q_date"].values, tree["questions"]["q_date"].isel(goal=0).values)
    scenario = forecast.Scenario.load(path)
    again = tmp_path / "again.toml"
    again.write_text(scenario.to_toml())
    assert forecast.Scenario.load(again).swept == scenario.swept == {"goal": [2, 20], "g": [0.1, "0.1..0.4"]}


def test_toml_may_write_a_parameter_as_a_table():
    scenario = forecast.Scenario.from_dict({**PLAIN, "sweep": {"machine": {"growth": [0.2]}}})
    assert scenario.swept == {"machine.growth": [0.2]}


def test_progress_counts_the_worlds_of_all_runs():
    told = []
    run(draws=1500, sweep={"goal": [1e3, 1e4, 1e5]}, progress=lambda done, of: told.append((done, of)))
    assert told == [(1500, 4500), (3000, 4500), (4500, 4500)]


@pytest.mark.parametrize(
    ("sweep", "error", "says"),
    [
        ({"goal": "*"}, UsageError, r"sweep goal: expected a list of values; '\*' is for choices"),
        ({"goal": 3}, UsageError, "sweep goal: expected a list of values"),
        ({"goal": []}, UsageError, "sweep goal: expected values, each once"),
        ({"goal": [1, "1"]}, UsageError, "sweep goal: expected values, each once"),
        ({"goal": [1, "high"]}, UsageError, "set goal: expected a finite number, got 'high'"),
        ({"gaol": [1]}, UnknownNameError, "unknown choice, quantity or input 'gaol'; did you mean 'goal'"),
        ({"share": [1], "goal": range(1, 1002)}, UsageError, "sweep: 1,001 runs; at most 1,000"),
        ({"machine.grwth": [1]}, UnknownNameError, "did you mean 'mine/machine.growth'"),
    ],
)
def test_what_cannot_be_swept_is_refused(sweep, error, says):
    with pytest.raises(error, match=says):
        run(sweep=sweep)


def test_what_no_answer_depends_on_is_not_swept():
    with pytest.raises(
        UsageError, match="sweep other: no answer depends on it; what is asked depends on goal, share, machine"
    ):
        run(sweep={"other": [1, 2]})
    with pytest.raises(UsageError, match="sweep goal: it is set to 3; one of them is enough"):
        run(sweep={"goal": [1, 2]}, with_={"goal": 3})


def test_a_scenario_says_where_its_sweep_is_wrong():
    with pytest.raises(ScenarioError, match=r"sweep\.goal: expected a list of values"):
        forecast.Scenario.from_dict({**PLAIN, "sweep": {"goal": 3}})
    with pytest.raises(ScenarioError, match="sweep: expected a table, got list"):
        forecast.Scenario.from_dict({**PLAIN, "sweep": [3]})
