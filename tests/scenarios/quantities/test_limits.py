"""Limits on quantities: how they are read, what they depend on, and how they are refused."""

import pytest

from forecast import Scenario
from forecast.errors import CycleError, ForecastError, UnitError, UnknownNameError
from forecast.scenarios.graph import build
from forecast.scenarios.quantities.limits import Limits

NUMBERS = {
    "gdp": {"value": 100, "unit": "USD"},
    "rate": {"p05": 0.1, "p95": 0.4, "unit": ""},
    "size": {"value": 1, "unit": "token"},
    "kind": {"draw": {"fast": 0.5, "slow": 0.5}},
}


def graph(**stated):
    spend = {"expression": "gdp*exp(rate*(t - start))", **stated}
    record = {"start": 2025, "until": 2030, "quantities": {**NUMBERS, "spend": spend}}
    return build(Scenario.from_dict(record))


def test_a_limit_is_read_beside_any_kind_of_quantity():
    held = graph(limit="0.01*gdp", how="softmin", sharpness=4, at_least=3).nodes["spend"].limits
    assert held.plain == {"limit": "0.01*gdp", "how": "softmin", "sharpness": 4.0, "at_least": "3"}
    assert held.names == ("gdp",)
    assert graph().nodes["spend"].limits is None
    record = {
        "start": 2025,
        "until": 2030,
        "quantities": {"x": {"p05": 1, "p95": 9, "unit": "FLOP", "limit": "5 FLOP"}},
    }
    assert isinstance(build(Scenario.from_dict(record)).nodes["x"].limits, Limits)


def test_a_quantity_comes_after_what_bounds_it_and_changes_with_it():
    quantities = {"x": {"value": 5, "unit": "", "limit": "y"}, "y": {"expression": "t - start"}}
    made = build(Scenario.from_dict({"start": 2025, "until": 2030, "quantities": quantities}))
    assert list(made.nodes) == ["y", "x"]
    assert not made.nodes["x"].steady


def test_a_limit_depends_on_choices():
    record = {
        "start": 2025,
        "until": 2030,
        "choices": {"case": ["dettmers-2015", "sandberg-bostrom-2008-l4-spiking"]},
        "quantities": {"cap": {"model": "brain/{case}"}, "x": {"value": 5, "unit": "FLOP/s", "limit": "cap"}},
    }
    assert build(Scenario.from_dict(record)).nodes["x"].dims == ("case",)


def test_what_is_set_to_a_number_has_no_limit():
    record = {"start": 2025, "until": 2030, "quantities": {"x": {"p05": 1, "p95": 9, "unit": "", "limit": 5}}}
    assert build(Scenario.from_dict(record), {"x": 7}).nodes["x"].limits is None
    record["quantities"]["x"]["keeps"] = "positive"
    assert build(Scenario.from_dict(record), {"x": 7}).nodes["x"].limits == Limits(keeps="positive")


@pytest.mark.parametrize(
    ("stated", "error", "says"),
    [
        ({"limit": "0.01*gpd"}, UnknownNameError, "quantities.spend.limit: unknown quantity 'gpd'"),
        ({"limit": "size"}, UnitError, "quantities.spend.limit: units do not balance: 'spend' is [USD], 'size' is"),
        ({"limit": "rate*2"}, UnitError, "units do not balance"),
        ({"limit": "5 FLOP"}, UnitError, "FLOP"),
        ({"limit": "spend/2"}, CycleError, "needs itself: spend → spend"),
        ({"limit": "gdp >= 3"}, ForecastError, "quantities.spend.limit"),
        ({"limit": True}, ForecastError, "quantities.spend.limit: expected an expression, or a number"),
        ({"limit": float("nan")}, ForecastError, "expected an expression, or a number"),
        ({"limit": "gdp", "how": "soft"}, UnknownNameError, "unknown kind of limit 'soft'"),
        ({"how": "hard"}, ForecastError, "quantities.spend.how: says how a limit holds, and there is no limit"),
        ({"limit": "gdp", "sharpness": 8}, ForecastError, 'quantities.spend.sharpness: belongs to how = "softmin"'),
        ({"limit": "gdp", "how": "softmin", "sharpness": 0}, ForecastError, "sharpness: expected a number above 0"),
        ({"at_least": "size"}, UnitError, "quantities.spend.at_least"),
        ({"keeps": "frontiers"}, UnknownNameError, "unknown word 'frontiers'; did you mean 'frontier'"),
        ({"scale": "shares"}, UnknownNameError, "unknown scale 'shares'; did you mean 'share'"),
        ({"floor": 2, "ceiling": 1}, ForecastError, "floor: 2 is not below the ceiling, 1"),
        ({"at_most": "gdp"}, ForecastError, "quantities.spend.at_most: expected a number in the quantity's unit"),
        ({"at_last": "gdp"}, UnknownNameError, "unknown key 'at_last'"),
    ],
)
def test_a_wrong_limit_names_its_key(stated, error, says):
    with pytest.raises(error) as raised:
        graph(**stated)
    assert says in str(raised.value)


def test_a_regime_has_no_limit():
    quantities = {"kind": {"draw": {"a": 0.5, "b": 0.5}, "limit": 1}}
    with pytest.raises(ForecastError, match=r"quantities\.kind: stands for texts"):
        build(Scenario.from_dict({"start": 2025, "until": 2030, "quantities": quantities}))
