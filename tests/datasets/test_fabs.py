from __future__ import annotations

import pytest

import forecast


@pytest.fixture(scope="module")
def fabs(shipped):
    return shipped("fabs").by_key("fabs")


def test_known_answers(fabs):
    assert fabs["intel-fab-32"]["cost"] == 3e9
    assert fabs["tsmc-fab-18"]["cost"] == 17.18e9
    assert (fabs["ibs-2nm"]["cost"], fabs["ibs-3nm"]["cost"]) == (28e9, 20e9)
    assert fabs["tsmc-arizona-1"]["capacity"] == 20_000


def test_dollars_are_those_of_the_date(fabs):
    assert {row["dollars"] for row in fabs.values()} == {"nominal"}
    assert [row["date"] for row in fabs.values()] == sorted(row["date"] for row in fabs.values())


def test_a_cost_for_two_plants_says_so(fabs):
    two = {name for name, row in fabs.items() if row["plants"] == 2}
    assert two == {"intel-fab-52-62", "intel-ohio", "tsmc-arizona-1-2"}


def test_nodes_shrink_as_costs_grow(fabs):
    """At the leading edge of one maker: Intel from 130 nm in 2002 to 7 nm in 2017."""
    edge = [fabs[name] for name in ("intel-fab-11x", "intel-fab-12-conversion", "intel-fab-32", "intel-fab-42")]
    assert [row["node"] for row in edge] == [130, 65, 45, 7]
    assert edge[0]["cost"] <= edge[2]["cost"] <= edge[3]["cost"]


def test_cost_doubles_slower_than_rocks_law():
    """Rock's law says four years; sixty years of figures in print say about five."""
    asked = {"shape": "trends/exponential", "x": "date", "y": "cost", "unit": "USD"}
    facts = forecast.trend("datasets/fabs", **asked).fit().describe().facts
    assert facts["doubling_p05"] < 5 < facts["doubling_p95"]
    assert facts["doubling_p05"] > 4
