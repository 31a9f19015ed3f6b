"""Combinations of choices under which a quantity is the same are found, and drawn once."""

from __future__ import annotations

import numpy as np
import pytest

import forecast
from forecast.scenarios import graph as graphs
from forecast.scenarios.kinds.expression import Expression
from forecast.scenarios.scenario import Scenario


def graph_of(quantities, **choices):
    stated = {name: {"values": list(values), "kind": "definition"} for name, values in choices.items()}
    record = {"start": 2025, "until": 2030, "choices": stated, "quantities": quantities}
    return graphs.build(Scenario.from_dict(record))


def first_of(graph, name):
    """The first equivalent of every combination of one choice, by its value."""
    (choice,) = graph.nodes[name].dims
    return {value: graph.equivalent.of(name, (value,))[0] for value in graph.scenario.choices[choice].values}


def test_what_follows_from_equal_numbers_is_the_same():
    graph = graph_of(
        {
            "switch": {"expression": "1*{on}"},
            "grown": {"expression": "exp(switch*(t - start))"},
            "total": {"expression": "grown + apart"},
            "apart": {"normal": [1, 2], "unit": ""},
        },
        on=["1", "0", "1.0", "-0"],
    )
    for name in ("switch", "grown", "total"):
        assert first_of(graph, name) == {"1": "1", "0": "0", "1.0": "1", "-0": "-0"}


def test_distributions_are_compared_by_their_numbers():
    graph = graph_of({"x": {"normal": ["{low}", 9], "unit": ""}, "y": {"expression": "2*x"}}, low=["1", "2", "1.0"])
    assert first_of(graph, "x") == first_of(graph, "y") == {"1": "1", "2": "2", "1.0": "1"}


def test_another_model_is_another_quantity():
    graph = graph_of({"x": {"model": "hardware/{metric}"}, "y": {"expression": "2*x"}}, metric=["linpack", "hpcg"])
    assert first_of(graph, "y") == {"linpack": "linpack", "hpcg": "hpcg"}


def test_the_members_of_a_cycle_are_the_same_together():
    graph = graph_of(
        {
            "pace": {"expression": "1*{on}"},
            "x": {"expression": "1 + 0.1*previous(y)"},
            "y": {"expression": "x + pace"},
        },
        on=["1", "1.0", "2"],
    )
    assert graph.nodes["x"].cycle
    assert first_of(graph, "x") == first_of(graph, "y") == {"1": "1", "1.0": "1", "2": "2"}


def test_of_several_choices_each_counts_by_itself():
    graph = graph_of(
        {"x": {"expression": "1*{on}"}, "y": {"expression": "1*{size}"}, "z": {"expression": "x + y"}},
        on=["1", "1.0"],
        size=["1", "2"],
    )
    equivalent = graph.equivalent
    assert equivalent.of("z", ("1.0", "2")) == ("1", "2")
    assert equivalent.of_all(("x",), ("on", "size"), ("1.0", "2")) == ("1", "1")
    assert equivalent.of_all(("x", "y"), ("on", "size"), ("1.0", "2")) == ("1", "2")
    assert equivalent.of_all(("y",), ("size",), ("2",)) == ("2",)


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
    drawn = []
    draw = Expression.draw

    def noted(self, worlds, node, combination):
        drawn.append((node.name, combination))
        return draw(self, worlds, node, combination)

    monkeypatch.setattr(Expression, "draw", noted)
    forecast.project(RECORD, draws=8)
    assert [c for name, c in drawn if name == "grown"] == [("1",), ("0.5",)]


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
