"""A scenario as text: what is written reads back as the same scenario."""

import datetime
import tomllib

import pytest

import forecast
from forecast.contract.registry import get_registry
from forecast.errors import ScenarioError
from forecast.scenarios.toml_text import toml_text


@pytest.mark.parametrize("name", get_registry().names("scenario"))
def test_every_shipped_scenario_reads_back(name):
    one = forecast.Scenario.load(name)
    again = forecast.Scenario.from_dict(tomllib.loads(one.to_toml()), name=one.name, where=one.where, folder=one.folder)
    assert again == one
    for part in ("choices", "quantities", "questions"):  # their order has a meaning, which mappings do not compare
        assert list(getattr(again, part)) == list(getattr(one, part))
    assert again.to_toml() == one.to_toml()


def test_narrowed_choices_and_changes_are_written():
    one = forecast.Scenario.load("brain-parity")
    choice, values = next((name, made.values) for name, made in one.choices.items() if len(made.values) > 1)
    other = one.narrowed(choice, values[:1]).changed([{"of": "machine", "growth": "0.5*", "since": 2030}])
    again = forecast.Scenario.from_dict(
        tomllib.loads(other.to_toml()), name=one.name, where=one.where, folder=one.folder
    )
    assert again == other != one


@pytest.mark.parametrize(
    "value",
    [
        True, -3, 1.5, 1e25, 1e-300, float("inf"), -float("inf"), "",
        "a \"b\" \\ \n \t \x7f \x01 é  日", [], [[1, 2], ["x"]],
        {"a": {"b": [1]}, "c d": 2}, [{"a": 1}, {"b": {"c": 2}}], datetime.date(2030, 1, 2), {"x": 1, "y": {"z": 1}},
    ],
)  # fmt: skip
def test_values_read_back(value):
    record = {"top": {"in": {"it": value}}, "value": value, "key \n.": 1}
    assert tomllib.loads(toml_text(record)) == record


def test_what_only_python_holds_is_refused():
    with pytest.raises(ScenarioError, match=r"quantities.x.function: only Python holds a function"):
        toml_text({"quantities": {"x": {"function": lambda: 1}}})
