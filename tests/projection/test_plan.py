"""The steps of a plan: what is the same is one step and is computed once; what differs in anything is another."""

import numpy as np
import pytest

import forecast
from forecast import Scenario
from forecast.projection.model_fits import ModelFits
from forecast.projection.operations import OPERATIONS
from forecast.projection.plan import Plan
from forecast.projection.streaming.batches import Job
from forecast.projection.streaming.foresight import peak_bytes
from forecast.scenarios import graph as graphs

YEARS = np.arange(2025.0, 2031.0)


def graph_of(quantities, **choices):
    stated = {name: {"values": list(values), "kind": "definition"} for name, values in choices.items()}
    record = {"start": 2025, "until": 2030, "choices": stated, "quantities": quantities}
    return graphs.build(Scenario.from_dict(record))


def plan_of(graph, years=YEARS):
    return Plan(graph, ModelFits(graph, as_of=None, seed=0), years, 0)


def first_of(plan, name):
    """The first value of one choice under which a quantity is the same step, by its value."""
    (choice,) = plan.graph.nodes[name].dims
    places = {value: plan.quantity(name, (value,)) for value in plan.graph.scenario.choices[choice].values}
    return {value: next(v for v, other in places.items() if other == place) for value, place in places.items()}


def test_what_follows_from_equal_numbers_is_the_same():
    plan = plan_of(
        graph_of(
            {
                "switch": {"expression": "1*{on}"},
                "grown": {"expression": "exp(switch*(t - start))"},
                "total": {"expression": "grown + apart"},
                "apart": {"normal": [1, 2], "unit": ""},
            },
            on=["1", "0", "1.0", "-0"],
        )
    )
    for name in ("switch", "grown", "total"):
        assert first_of(plan, name) == {"1": "1", "0": "0", "1.0": "1", "-0": "-0"}


def test_another_model_is_another_quantity():
    quantities = {"x": {"model": "hardware/{metric}"}, "y": {"expression": "2*x"}}
    plan = plan_of(graph_of(quantities, metric=["linpack", "hpcg"]))
    assert first_of(plan, "y") == {"linpack": "linpack", "hpcg": "hpcg"}


def test_the_members_of_a_cycle_are_the_same_together():
    plan = plan_of(
        graph_of(
            {
                "pace": {"expression": "1*{on}"},
                "x": {"expression": "1 + 0.1*previous(y)"},
                "y": {"expression": "x + pace"},
            },
            on=["1", "1.0", "2"],
        )
    )
    assert plan.graph.nodes["x"].cycle
    assert first_of(plan, "x") == first_of(plan, "y") == {"1": "1", "1.0": "1", "2": "2"}


def test_of_several_choices_each_counts_by_itself():
    quantities = {"x": {"expression": "1*{on}"}, "y": {"expression": "1*{size}"}, "z": {"expression": "x + y"}}
    plan = plan_of(graph_of(quantities, on=["1", "1.0"], size=["1", "2"]))
    places = {(on, size): plan.quantity("z", (on, size)) for on in ("1", "1.0") for size in ("1", "2")}
    assert places["1", "1"] == places["1.0", "1"] != places["1", "2"] == places["1.0", "2"]


MACHINE = {
    "machine": {"model": "hardware/hpcg@exponential", "limit": "1e19 FLOP/s"},
    "share": {"p05": 0.1, "p95": 0.5, "unit": ""},
    "used": {"expression": "share*machine"},
    "later": {"expression": "share*(t - start)"},
    "drawn": {"draw": {"a": 0.3, "b": 0.7}},
    "twice": {"expression": "2*share"},
}


def keys(graph, years=YEARS):
    plan = plan_of(graph, years)
    return {name: plan.steps.every[plan.quantity(name, ())].key for name in graph.quantities}


def changed(quantities, years=YEARS):
    """Which quantities have another key than those of `MACHINE`."""
    before, after = keys(graph_of(MACHINE)), keys(graph_of(quantities), years)
    return {name for name, key in after.items() if before.get(name) != key}


def test_a_key_holds_what_a_quantity_is_computed_from_and_nothing_else():
    assert changed(MACHINE) == set()
    assert changed({**MACHINE, "other": {"value": 1, "unit": ""}}) == {"other"}
    assert changed({**MACHINE, "share": {"p05": 0.1, "p95": 0.6, "unit": ""}}) == {"share", "used", "later", "twice"}
    assert changed({**MACHINE, "machine": {"model": "hardware/hpcg@exponential"}}) == {"machine", "used"}
    assert changed({**MACHINE, "drawn": {"draw": {"a": 0.4, "b": 0.6}}}) == {"drawn"}


def test_what_reads_no_date_outlives_another_horizon():
    assert changed(MACHINE, YEARS[:-1]) == {"machine", "used", "later"}


def test_two_graphs_in_one_plan_share_what_they_have_in_common():
    plan = plan_of(graph_of(MACHINE))
    first = {name: plan.quantity(name, ()) for name in MACHINE}
    other = plan.beside(graph_of({**MACHINE, "share": {"value": 0.5, "unit": ""}}))
    second = {name: other.quantity(name, ()) for name in MACHINE}
    assert {name for name in MACHINE if first[name] == second[name]} == {"machine", "drawn"}


RECORD = {
    "start": 2025,
    "until": 2035,
    "choices": {"on": {"values": ["1", "0.5", "1.0"], "kind": "definition"}},
    "quantities": {
        "growth": {"normal": [0.1, 0.4], "unit": "1/year"},
        "switch": {"expression": "1*{on}"},
        "grown": {"expression": "exp(switch*growth*(t - start))", "limit": "4"},
    },
    "questions": {"double": {"when": "grown >= 2"}, "then": {"value": "grown", "dates": [2030]}},
}


def test_the_same_is_drawn_once(monkeypatch):
    computed, compute = [], OPERATIONS["formula"]
    monkeypatch.setitem(OPERATIONS, "formula", lambda *given: computed.append(given[2].text) or compute(*given))
    forecast.project(RECORD, draws=8)
    assert len([text for text in computed if text.startswith("exp(")]) == 2


def test_a_path_below_a_common_limit_is_not_held_until_the_limits_of_all_are_told():
    def foreseen(n):
        grown = {"expression": "exp({pace}*(t - start))", "limit": "cap"}
        graph = graph_of({"cap": {"p05": 3, "p95": 9, "unit": "1"}, "grown": grown}, pace=[*map(str, range(1, n + 1))])
        fits = ModelFits(graph, as_of=None, seed=0)
        job = Job.of(graph, fits, settings={}, years=np.arange(2025.0, 2325.0), worlds=64, kept=64)
        return peak_bytes(job.schedule, len(job.years), 64)

    assert foreseen(20) < 1.5 * foreseen(2)


@pytest.mark.parametrize("draws", [8, 3000])
def test_each_combination_has_what_it_has_alone(draws):
    together = forecast.project(RECORD, draws=draws, keep=2000)
    for value in ("1", "0.5", "1.0"):
        alone = forecast.project(RECORD, draws=draws, keep=2000, with_={"on": value})
        for place in ("projection", "questions", "values/then", "limits/grown"):
            one, other = together[place].to_dataset(), alone[place].to_dataset()
            for name, values in other.data_vars.items():
                own = one[name].sel(on=value) if "on" in one[name].dims else one[name]
                np.testing.assert_array_equal(np.squeeze(own.values), np.squeeze(values.values), f"{place}/{name}")


def test_what_fails_fails_under_each():
    edge = {"edge": {"expression": "log(grown - 0.99985 - 0.0002*switch)"}}
    asked = {"beyond": {"when": "edge >= 0"}}
    record = {**RECORD, "quantities": RECORD["quantities"] | edge, "questions": asked}
    projection = forecast.project(record, draws=8)
    reasons = projection.attributes["failures"]
    assert [reason.partition(":")[0] for reason in reasons] == ["edge (on = 1)", "edge (on = 1.0)"]
    assert np.isnan(projection["questions"]["beyond_never"].sel(on=["1", "1.0"])).all()
    assert projection["questions"]["beyond_never"].sel(on="0.5") < 1
