"""A function of quantities is held to what it declares: elements alone, or the path of a world."""

import numpy as np
import pytest

import forecast
from forecast.conformance.kit import run_checks
from forecast.errors import PluginContractError, ScenarioError, UnknownNameError, UsageError
from toolkit import assert_bitwise, every

ASKED = {"start": 2025, "until": 2035, "draws": 16}


def total(x):
    return np.cumsum(x, axis=0)


def mean(x):
    return np.broadcast_to(x.mean(axis=1, keepdims=True), x.shape)


def shifted(x):
    return np.roll(x, 1, axis=1)


def ranked(x):
    return x.argsort(axis=1).argsort(axis=1) / x.shape[1]


def from_first(x):
    return x / x[0]


def plain(x):
    return x**2 + np.exp(-x)


def dated(x, t):
    return x * (t - 2025)


def constant(x):
    return 3.0


def integral(x, t):
    return np.cumsum(x * np.diff(t, axis=0, prepend=t[:1]), axis=0)


def share_of_all(x):
    return np.cumsum(x, axis=0) / x.sum(axis=0)


def counting(x, seen=[]):  # noqa: B006
    seen.append(1)
    return x + len(seen)


#: Function, what it declares, and what is said of it where it does not keep to that.
ONE, PATH = "made of those at its place alone", "along='time' each element is made of its own world's path"
CASES = [
    (plain, "", ""), (dated, "", ""), (constant, "", ""), (total, "time", ""), (integral, "time", ""),
    (from_first, "time", ""), (plain, "time", ""), (total, "", ONE), (mean, "", ONE), (shifted, "", ONE),
    (ranked, "", ONE), (from_first, "", ONE), (integral, "", ONE), (mean, "time", PATH), (shifted, "time", PATH),
    (share_of_all, "time", PATH), (counting, "", "gives other numbers for the same inputs"),
]  # fmt: skip


def _of(call, along, **options):
    x = forecast.quantity("x", p05=1, p95=3, unit="")
    grown = (x * forecast.quantity("g", schedule=[[2025, 1.0], [2035, 9.0]], as_="level", unit="")).named("grown")
    made = forecast.function(unit="", along=along, x="")(call)(x=grown)
    return (made >= 30).when(**{**ASKED, **options})


def test_what_a_function_declares_is_compared_with_what_it_does():
    with every() as case:
        for call, along, says in CASES:
            with case((call.__name__, along)):
                if not says:
                    _of(call, along)
                    continue
                with pytest.raises(PluginContractError) as refused:
                    _of(call, along)
                assert says in str(refused.value)


def test_a_sum_over_time_by_its_dates_is_the_same_with_every_step():
    x = forecast.quantity("x", p05=1, p95=3, unit="")
    spent = forecast.function(unit="", along="time", x="")(integral)(x=x)
    once, *finer = [(spent >= 10).when(**ASKED, step=step).dates.values for step in (1, "1/2", "1/12")]
    for dates in finer:
        np.testing.assert_allclose(dates, once, rtol=1e-6)


def test_fewer_draws_and_a_nearer_horizon_are_a_part_of_what_a_path_gives():
    few, many = (_of(integral, "time", draws=n, until=u).run["projection"] for n, u in ((16, 2030), (2000, 2035)))
    name = next(name for name in few.data_vars if name.startswith("integral"))
    assert_bitwise(few[name].values, many[name].transpose(*few[name].dims).values[:6, :16])


def test_no_function_sees_all_worlds_and_what_it_declares_is_checked():
    with pytest.raises(UsageError, match="drawn and reduced in blocks"):
        forecast.function(unit="", along="draw", x="")
    with pytest.raises(UnknownNameError, match="did you mean 'time'"):
        forecast.function(unit="", along="tim", x="")
    quantities = {
        "x": {"value": 1, "unit": ""},
        "y": {"function": plain, "unit": "", "inputs": {"v": ""}, "along": "draw", "v": "x"},
    }
    with pytest.raises(UsageError, match=r"quantities\.y: along='draw'"):
        forecast.project({"start": 2025, "until": 2027, "quantities": quantities}, draws=8)


def test_in_a_cycle_a_function_of_paths_is_refused():
    quantities = {"y": {"function": total, "unit": "", "inputs": {"x": ""}, "along": "time", "x": "S"}}
    scenario = {
        "start": 2025, "until": 2027, "quantities": quantities, "stocks": {"S": {"initial": 1, "next": "S + y"}},
    }  # fmt: skip
    with pytest.raises(ScenarioError, match=r"quantities\.y: its function needs the path up to a date"):
        forecast.project(scenario, draws=8)


PLUGIN = """
import sys

def total(x):
    return x.cumsum(axis=0)

def mean(x):
    return 0*x + x.mean(axis=1, keepdims=True)

def dated(x, t):
    return x*t

def forecast_functions():
    for name, call, along in (("undeclared", "total", ""), ("declared", "total", "time"), ("mean", "mean", ""),
                              ("mean-time", "mean", "time"), ("dated", "dated", "")):
        yield FunctionSpec(name=name, target=f"{__name__}:{call}", unit="", inputs={"x": ""}, along=along,
                           reference="r")
"""


def test_the_kit_and_a_scenario_hold_functions_of_plugins_to_the_same(fake_plugins):
    fake_plugins.add("kit", PLUGIN)
    found = {o.label: o.message for o in run_checks("kit") if not o.ok}
    for name, says in (("undeclared", ONE), ("mean", ONE), ("mean-time", PATH)):
        assert says in found[f"model {name}: vectorises"]
    assert not [label for label in found if "declared:" in label.replace("undeclared", "") or "dated" in label]
    quantities = {"x": {"value": 2, "unit": ""}, "y": {"function": "kit/declared", "x": "x"}}
    run = forecast.project({"start": 2025, "until": 2027, "quantities": quantities}, draws=8)
    assert run["projection"]["y"].isel(draw=0).values.tolist() == [2.0, 4.0, 6.0]
