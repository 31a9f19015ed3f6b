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


def test_cost_doubles_slower_than_rocks_law():
    """Rock's law says four years; sixty years of figures in print say about five."""
    asked = {"shape": "trends/exponential", "x": "date", "y": "cost", "unit": "USD"}
    facts = forecast.trend("datasets/fabs", **asked).fit().describe().facts
    assert facts["doubling_p05"] < 5 < facts["doubling_p95"]
    assert facts["doubling_p05"] > 4
