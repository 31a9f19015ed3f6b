"""Time in scenarios: functions over time taken out of formulas, computed on whole paths, with what was before."""

import math

import numpy as np
import pytest

import forecast
from forecast import Scenario, units
from forecast.base.dates import decimal_year
from forecast.errors import ScenarioError, UnitError
from forecast.formula import parse_expression
from forecast.projection.evaluate import Block
from forecast.projection.model_fits import ModelFits
from forecast.projection.plan import Plan
from forecast.scenarios.graph import build
from forecast.scenarios.kinds.over_time import OverTime
from forecast.scenarios.quantities.hidden_quantities import hide_functions

YEARS = np.arange(6.0)[:, np.newaxis]
QUANTITIES = {
    "machine": {"expression": "first*exp(rate*(t - start))", "before": 1.0},
    "faster": {"expression": "machine*exp(rate*(t - start))", "before": 1.0},
    "first": {"value": 2.0, "unit": "PFLOP/s"},
    "rate": {"p05": 0.2, "p95": 0.8, "unit": "1/year"},
    "delay": {"value": 18, "unit": "month"},
    "spend": {"value": 5, "unit": "USD"},
    "now": {"expression": "t", "before": 3.0},
    "then": {"expression": "previous(now)", "before": 7.0},
    "jump": {"value": 1, "unit": "", "before": 0.25},
}


def scenario(quantities=(), **record):
    given = {"start": 2025, "until": 2030, "quantities": {**QUANTITIES, **dict(quantities)}, **record}
    return Scenario.from_dict(given, where="s.toml")


def drawn(expression, settings=None, **more):
    """Return the draws of an expression and, by name, of everything it may use."""
    graph = build(scenario({**more, "z": {"expression": expression}}), settings)
    plan = Plan(graph, ModelFits(graph, as_of=None, seed=0), 2025 + YEARS[:, 0], 0)
    block = Block(plan, range(1))
    values = {name: block.whole(block.take(plan.quantity(name, ()))) for name in graph.quantities}
    return values["z"], values


# --- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("t", lambda q: 2025 + YEARS),
        ("(t - start)/dt", lambda q: YEARS),
        ("machine/first", lambda q: np.exp(q["rate"] * YEARS)),
        ("lag(machine, 2)", lambda q: np.where(YEARS < 2, 1.0, q["machine"] / np.exp(2 * q["rate"]))),
        ("lag(machine, delay)", lambda q: np.where(YEARS < 1.5, 1.0, q["machine"] / np.exp(1.5 * q["rate"]))),
        ("lag(machine, delay/2)", lambda q: np.where(YEARS < 0.75, 1.0, q["machine"] / np.exp(0.75 * q["rate"]))),
        ("previous(machine)", lambda q: np.vstack([np.ones((1, 256)), q["machine"][:-1]])),
        ("previous(then)", lambda q: np.where(YEARS < 2, np.where(YEARS < 1, 7, 3), 2023 + YEARS)),
        ("previous(jump)", lambda q: np.where(YEARS < 1, 0.25, 1.0)),
        ("previous(spend*2)", lambda q: 10 + 0 * YEARS),
        ("growth(machine)", lambda q: np.where(YEARS < 1, math.log(2), q["rate"])),
        ("growth(machine, 2)*(t - start)", lambda q: np.where(YEARS < 2, np.nan, q["rate"] * YEARS)),
        ("growth(faster)", lambda q: np.where(YEARS < 1, math.log(2), 2 * q["rate"])),
        ("growth(spend)", lambda q: 0 * YEARS),
        ("maximum(-machine) + machine", lambda q: q["machine"] - 2.0),
        ("maximum(machine)", lambda q: q["machine"]),
        ("at(machine, 2027.5)/machine", lambda q: np.exp(q["rate"] * (2.5 - YEARS))),
        ("at(machine, 2028) - machine*(t == 2028)", lambda q: np.where(YEARS == 3, 0, q["machine"][3])),
        ("at(machine, 2025 + jump)", lambda q: q["machine"][1]),
        ("once(t >= 2027)*(1 + since(t >= 2027))", lambda q: np.maximum(YEARS - 1, 0)),
        ("since(machine >= 4 PFLOP/s)", lambda q: np.cumsum(q["machine"] >= 4, axis=0) - (q["machine"] >= 4)),
        ("where(machine >= 3 PFLOP/s, spend, 2*spend)", lambda q: np.where(q["machine"] >= 3, 5.0, 10.0)),
        ("where(machine >= 3, spend, 2*spend)", lambda q: np.where(q["machine"] >= 3, 5.0, 10.0)),
        ("clip(machine, first, 2*first)", lambda q: np.clip(q["machine"], 2, 4)),
        ("(lag(rate + 1, 2) - 1)*(t - start)", lambda q: q["rate"] * YEARS),
        ("lag(rate, 2)*(t - start)", lambda q: q["rate"] * YEARS),
    ],
)
def test_values(expression, expected):
    found, quantities = drawn(expression)
    value = np.broadcast_to(expected(quantities), found.shape)
    told = ~np.isnan(value)
    np.testing.assert_allclose(found[told], value[told], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("settings", "expected"), [({"machine": 8.0}, 0.0), ({"rate": 0.5}, 0.5)])
def test_what_is_set_has_always_been_so(settings, expected):
    found, _ = drawn("growth(machine)", settings)
    np.testing.assert_allclose(found[1:], expected, atol=1e-12)


def test_the_observed_history_comes_first():
    record = {
        "start": 2024, "until": 2030,
        "quantities": {
            "machine": {"model": "hardware/hpcg@exponential"},
            "earlier": {"expression": "lag(machine, 3)"},
            "record": {"expression": "maximum(machine)"},
            "gained": {"expression": "growth(machine, 3)"},
        },
    }  # fmt: skip
    run = forecast.project(record, draws=50)
    seen, paths = run["observed/machine"], run["projection"]
    years = decimal_year(seen["date"].values)
    value = seen["value"].values
    first = value[np.abs(years - 2021).argmin()]
    earlier = paths["earlier"].values
    assert np.all(earlier[0] == earlier[0, 0])  # the past is one
    assert 0.5 * first <= earlier[0, 0] <= 2 * first
    np.testing.assert_allclose(earlier[3:], paths["machine"].values[:-3], rtol=1e-12)
    highest = value[years < 2024].max()
    np.testing.assert_allclose(
        paths["record"].values, np.maximum.accumulate(np.maximum(paths["machine"].values, highest)), rtol=1e-12
    )
    gained = np.log(paths["machine"].values / earlier) / 3
    np.testing.assert_allclose(paths["gained"].values, gained, rtol=1e-9, atol=1e-15)
    assert units.same_dimension(paths["gained"].attrs["units"], "1/year")


def test_a_step_is_as_wide_as_its_month():
    record = {"step": "month", "quantities": {"a": {"expression": "dt"}, "b": {"expression": "t - start"}}}
    run = forecast.project({"start": 2025, "until": 2027, **record}, draws=2)["projection"]
    widths = np.diff(run["b"].values[:, 0])
    np.testing.assert_allclose(run["a"].values[:, 0], [*widths, widths[-1]], rtol=1e-9)
    assert widths[:2] == pytest.approx([31 / 365, 28 / 365])
    assert run["b"].values[[0, -1], 0].tolist() == [0.0, 2.0]


# --- questions --------------------------------------------------------------------------------------------------------


def when(condition, quantities=()):
    run = forecast.project(scenario(quantities, questions={"q": {"when": condition}}), draws=1000)
    return decimal_year(run["questions"]["q_date"].values), run


@pytest.mark.parametrize("condition", ["machine >= 4 PFLOP/s", "4e15 FLOP/s <= machine", "machine >= 4"])
def test_a_threshold_may_have_a_unit(condition):
    dates, run = when(condition)
    rate = run["projection"]["rate"].values[0]
    expected = 2025 + math.log(2) / rate
    np.testing.assert_allclose(dates[expected < 2030], expected[expected < 2030], atol=0.01)
    assert run["questions"]["q"].attrs["long_name"] == parse_expression(condition).text


def test_questions_use_time_and_its_functions():
    dates, _ = when("since(machine >= 4) >= 1.5")
    assert np.nanmin(dates) > 2026
    assert when("t >= 2027.5")[0] == pytest.approx(2027.5, abs=0.01)
    dates, run = when("rate*(t - start) >= 1")
    np.testing.assert_allclose(
        dates[dates < 2030], 2025 + 1 / run["projection"]["rate"].values[0][dates < 2030], atol=0.01
    )
    assert when("min(machine >= 3, t >= 2027) >= 1")[0].min() == pytest.approx(2027, abs=0.01)


@pytest.mark.parametrize(
    ("condition", "takes_part"),
    [("machine >= 2 PFLOP/s", 1.0), ("machine >= 1 EFLOP/s", 0.0), ("t == 2030", 1.0), ("since(t > 2027) > 2", 0.0)],
)
def test_rankings_take_part_by_conditions_with_units_and_time(condition, takes_part):
    record = {
        "choices": {"author": ["kurzweil-2005", "carlsmith-2020"]},
        "questions": {"best": {"rank": "brain*growth(machine)", "over": "author", "subject_to": [condition]}},
    }
    run = forecast.project(scenario({"brain": {"model": "brain/{author}"}}, **record), draws=50)
    assert run["rankings"]["best_among"].values.tolist() == [takes_part, takes_part]


# --- nodes ------------------------------------------------------------------------------------------------------------


def test_every_function_over_time_and_what_it_reads_is_a_node_of_its_own():
    text = "lag(machine*spend, delay/2) + growth(machine)*delay*spend*previous(machine) + at(machine, 2026)*spend"
    graph = build(scenario({"z": {"expression": text}}))
    hidden = {name: node for name, node in graph.nodes.items() if node.hidden}
    assert set(hidden) == {
        "machine*spend", "delay/2", "lag(machine*spend, delay/2)", "growth(machine)", "previous(machine)",
        "at(machine, 2026)", "previous(now)",
    }  # fmt: skip
    assert {n.owner for n in hidden.values()} == {"quantities.z.expression", "quantities.then.expression"}
    lag, growth = hidden["lag(machine*spend, delay/2)"], hidden["growth(machine)"]
    assert lag.quantity == OverTime(function="lag", of="machine*spend", argument="delay/2")
    assert (lag.needs, lag.past) == (("delay/2",), ("machine*spend",))
    assert (growth.needs, growth.past) == (("machine",), ("machine",))
    assert (hidden["previous(machine)"].needs, hidden["previous(machine)"].past) == ((), ("machine",))
    machine = graph.nodes["machine"].unit
    assert [hidden[n].unit for n in ("growth(machine)", "at(machine, 2026)")] == ["1/year", machine]
    order = list(graph.nodes)
    assert all(order.index(need) < order.index(name) for name, node in graph.nodes.items() for need in node.sources)
    assert graph.nodes["z"].quantity.tree.text == text


def test_equal_parts_are_one_node_and_are_not_in_the_results():
    record = scenario(
        {
            "a": {"expression": "growth(machine*spend)"},
            "b": {"expression": "2*growth(spend*machine) + growth(machine*spend)"},
        },
        questions={"q": {"when": "growth(machine*spend) >= 1"}},
    )
    graph = build(record)
    assert [n for n, node in graph.nodes.items() if node.hidden].count("growth(machine*spend)") == 1
    assert set(graph.quantities) == {*QUANTITIES, "a", "b"}


def test_results_hold_the_quantities_that_are_named_and_no_other():
    record = scenario({"z": {"expression": "growth(machine)"}}, questions={"q": {"when": "growth(machine) >= 0.5"}})
    run = forecast.project(record, draws=20)
    assert set(run["projection"].data_vars) == {*QUANTITIES, "z"}
    assert run.attributes["questions"]["q"]["when"] == "growth(machine) >= 0.5"
    changed = scenario(
        {**{"machine": {**QUANTITIES["machine"], "before": 1.5}}, "z": {"expression": "growth(machine)"}},
        questions={"q": {"when": "growth(machine) >= 0.5"}},
    )
    assert forecast.project(changed, draws=20).attributes["scenario_hash"] != run.attributes["scenario_hash"]


def test_the_formula_left_reads_as_it_was_written():
    made, owners = hide_functions(scenario({"z": {"expression": "(lag(rate + 1, 2) - 1)*(t - start)"}}))
    assert "rate + 1 [rates a year]" in made.quantities
    assert made.quantities["rate + 1 [rates a year]"].rates
    assert set(owners) == set(made.quantities) - {*QUANTITIES, "z"}
    assert made.quantities["z"].tree.text == "(lag(rate + 1 [rates a year], 2) - 1)*(t - start)"
    plain = Scenario.from_dict({"until": 2030, "quantities": {"x": {"expression": "2*t"}}})
    assert hide_functions(plain) == (plain, {})


@pytest.mark.parametrize(
    ("quantities", "error", "says"),
    [
        (
            {"free": {"expression": "2*t"}, "z": {"expression": "previous(free)"}}, ScenarioError,
            r"previous\(free\) needs 'free' at 2024.*nothing was observed; \[quantities.free\] before = NUMBER",
        ),
        ({"z": {"expression": "growth(2*t)"}}, ScenarioError, r"make '2\*t' a quantity of its own"),
        ({"z": {"expression": "at(machine, 2050)"}}, ScenarioError, "at 2050; the last step is 2030"),
        ({"z": {"expression": "lag(machine, 0 - 1)"}}, forecast.errors.DataError, "expected years at least 0, got -1"),
        ({"z": {"expression": "growth(t - start)"}}, ScenarioError, "make 't - start' a quantity"),
        ({"z": {"expression": "where(spend, 1, 2)"}}, UnitError, r"z.expression: .*where\(\) needs a condition"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(quantities, error, says):
    with pytest.raises(error, match=says):
        forecast.project(scenario(quantities), draws=10)
