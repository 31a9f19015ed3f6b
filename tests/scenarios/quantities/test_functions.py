"""Functions in scenarios, registered or given in Python: what they are handed, and what they must return."""

import numpy as np
import pytest

import forecast
from forecast import Scenario
from forecast.errors import PluginContractError, PluginError, ScenarioError, UnitError, UnknownNameError
from forecast.scenarios.graph import build

PLUGIN = """
import types

def power(chips, each):
    return 1.3 * chips * each

def half(chips):
    return chips / 2

def forecast_functions():
    yield FunctionSpec(name="power", title="Power of a cluster", target=f"{__name__}:power", unit="W",
                       inputs={"chips": "", "each": "W"}, reference="a manual")
    yield FunctionSpec(name="half", target=f"{__name__}:half", unit="", inputs={"chips": ""}, reference="arithmetic")
    yield FunctionSpec(name="gone", target="nowhere.at_all:f", unit="", inputs={"chips": ""}, reference="arithmetic")

def forecast_models():
    yield EstimateSpec(name="three", expression="x", inputs=(Input(name="x", unit="", distribution={"value": 3},
                       source="s"),), unit="", reference="r")
"""
GIVEN = {"bought": {"lognormal": [1e4, 1e5], "unit": ""}, "per_chip": {"value": 0.7, "unit": "kW"}}
WIRED = {"chips": "bought", "each": "per_chip"}


@pytest.fixture
def demo(fake_plugins):
    fake_plugins.add("demo", PLUGIN)


def mapping(power, **more):
    return {"start": 2025, "until": 2027, "quantities": {**GIVEN, "power": power}, **more}


def test_a_registered_function_is_given_quantities_in_its_units(demo):
    run = forecast.project(mapping({"function": "demo/power", **WIRED}), draws=50)
    levels = run["projection"].to_dataset()
    assert levels["power"].values == pytest.approx(1.3 * levels["bought"].values * 700)
    assert levels["power"].attrs["units"] == "W"
    assert '"demo"' in run.to_xarray().attrs["plugins"]
    assert "Power of a cluster" in str(run.attributes["models"])


def test_one_function_of_different_quantities(demo):
    quantities = {
        **GIVEN,
        "a": {"function": "demo/half", "chips": "bought"},
        "b": {"function": "demo/half", "chips": "a"},
    }
    levels = forecast.project({"start": 2025, "until": 2026, "quantities": quantities}, draws=20)["projection"]
    assert levels["b"].values == pytest.approx(levels["bought"].values / 4)


def test_a_function_is_a_choice(demo):
    record = {"function": "demo/{which}", "chips": "bought"}
    chosen = mapping(record, choices={"which": ["half"]})
    assert forecast.project(chosen, draws=20)["projection"]["power"].dims[-1] == "which"


def test_a_function_of_python(demo):
    seen = []

    def doubled(chips):
        seen.append((chips.shape, chips.flags.writeable))
        return 2 * chips

    record = {"function": doubled, "unit": "", "inputs": {"chips": ""}, "chips": "bought"}
    levels = forecast.project(mapping(record), draws=20)["projection"]
    assert (levels["power"].values == 2 * levels["bought"].values).all()
    assert seen == [((3, 256), False), ((3, 7), False)]  # the second to see that each element is made alone
    hashes = {forecast.project(mapping(record), draws=20).attributes["scenario_hash"] for _ in range(2)}
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda chips: chips[:1], PluginContractError, r"expected the shape .*, \(3, 256\), got \(1, 256\)"),
        (lambda chips: np.log(-chips), PluginContractError, r"768 of 768 values are not finite"),
        (lambda chips: chips * 1j, PluginContractError, r"expected real numbers, got complex128"),
        (lambda chips: "1", PluginContractError, r"expected an array, got str"),
        (lambda chips: 1 / 0, PluginError, r"model 'power': sample: ZeroDivisionError"),
        (lambda chips: chips.__setitem__(0, 1), PluginError, r"model 'power': sample: ValueError: .*read-only"),
        (lambda other: other, PluginError, r"model 'power': sample: TypeError"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_what_a_function_returns_is_checked(call, error, said):
    record = {"function": call, "unit": "", "inputs": {"chips": ""}, "chips": "bought"}
    with pytest.raises(error, match=said):
        forecast.project(mapping(record), draws=5)


def test_a_number_stands_for_every_world():
    record = {"function": lambda chips: 3.0, "unit": "", "inputs": {"chips": ""}, "chips": "bought"}
    assert (forecast.project(mapping(record), draws=5)["projection"]["power"].values == 3).all()


@pytest.mark.parametrize(
    ("record", "error", "said"),
    [
        ({"function": "demo/powr", **WIRED}, UnknownNameError, r"function: .*'demo/powr'; did you mean 'demo/power'"),
        ({"function": "demo/three"}, ScenarioError, r"power\.function: 'demo/three' is a model and no function"),
        ({"function": "demo/power", "chips": "bought"}, ScenarioError, r'each: is missing: .*each = "QUANTITY" in W'),
        ({"function": "demo/power", **WIRED, "chip": "bought"}, UnknownNameError, r"'chip'; did you mean 'chips'"),
        ({"function": "demo/power", **WIRED, "each": "per_chp"}, UnknownNameError, r"each: .*did you mean 'per_chip'"),
        ({"function": "demo/power", **WIRED, "each": "bought"}, UnitError, r"'each' of model .* from 'bought'"),
        ({"function": "demo/power", **WIRED, "unit": "W"}, ScenarioError, r"power\.unit: is stated by the plugin"),
        ({"function": 3, **WIRED}, ScenarioError, r"power\.function: expected text, got 3"),
        ({"function": abs, "inputs": {"x": ""}, "x": "bought"}, ScenarioError, r"power\.unit: is missing"),
        ({"function": abs, "unit": "", "inputs": {"x": "no such"}, "x": "bought"}, UnitError, r"power\.inputs\.x"),
        ({"function": abs, "unit": "", "inputs": {"unit": ""}}, ScenarioError, r"inputs: 'unit' is a key here"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(demo, record, error, said):
    with pytest.raises(error, match=said):
        build(Scenario.from_dict(mapping(record)))


def test_code_that_is_not_there_fails_where_it_is_used(demo):
    with pytest.raises(PluginError, match=r"model 'demo/gone'"):
        forecast.project(mapping({"function": "demo/gone", "chips": "bought"}), draws=5)


def test_a_file_names_what_is_registered_and_never_code(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[quantities.x]\nfunction = "os:system"\n', encoding="utf-8")
    with pytest.raises(UnknownNameError, match=r"quantities\.x\.function: unknown model 'os:system'"):
        build(Scenario.load(path))
