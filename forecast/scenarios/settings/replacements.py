"""Scenarios with other records in place of their quantities: the settings of a preset, and `Scenario.with_`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from forecast.errors import UnknownNameError
from forecast.models import Model
from forecast.scenarios.graph import build
from forecast.scenarios.kinds import KINDS
from forecast.scenarios.kinds.model_ref import ModelRef
from forecast.scenarios.kinds.prior import Prior
from forecast.scenarios.kinds.regime import Regime
from forecast.scenarios.parse import ScenarioReader
from forecast.scenarios.scenario import Scenario
from forecast.scenarios.settings.ports import model_wires
from forecast.scenarios.settings.setting_targets import correlated_with
from forecast.scenarios.settings.setting_values import names_model, parse_setting, parse_texts

AnyScenario = TypeVar("AnyScenario", bound=Scenario)


def with_settings(scenario: Scenario, settings: Mapping[str, Any]) -> Scenario:
    """Return the scenario that states these settings of its choices and quantities.

    Raises
    ------
    UnknownNameError
        For another name.
    """
    records: dict[str, Mapping[str, Any]] = {}
    names = [*scenario.quantities, *scenario.choices]
    for name, value in settings.items():
        if name not in names:
            raise UnknownNameError("quantity or choice", name, names, where=f"scenario '{scenario.name}'")
        if name in scenario.choices:
            scenario = scenario.narrowed(name, parse_texts(name, value))
        else:
            records[name] = replacement_record(scenario, name, value)
    return restate(scenario, with_records(scenario.stated, records), records)


def restate(scenario: AnyScenario, record: Mapping[str, Any], replaced: Collection[str]) -> AnyScenario:
    """Return the scenario with another record, in which some quantities were replaced.

    A quantity that is no longer drawn from one uniform is correlated with nothing; the others keep their draws.
    """
    restated = scenario.restated(record)
    lost = [name for name in replaced if name in scenario.quantities and not restated.quantities[name].one_uniform]
    alone = correlated_with(build(scenario), lost) if scenario.correlations and lost else frozenset()
    return replace(restated, swept=scenario.swept, alone=restated.alone | alone)


def group_records(records: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Return records under the headings of a file: quantities, stocks, and numbers that are solved for.

    Examples
    --------
    >>> group_records({"S": {"initial": 1, "log_rate": "0.1"}, "x": {"value": 3, "unit": ""}})
    {'quantities': {'x': {'value': 3, 'unit': ''}}, 'stocks': {'S': {'initial': 1, 'log_rate': '0.1'}}}
    """
    groups: dict[str, dict[str, Mapping[str, Any]]] = {"quantities": {}, "stocks": {}, "solve": {}}
    for name, record in records.items():
        groups["stocks" if "initial" in record else "solve" if "so" in record else "quantities"][name] = record
    return {heading: group for heading, group in groups.items() if group}


def with_records(stated: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the record of a scenario with these records of quantities, which replace others of their names."""
    whole = dict(stated)
    for heading in ("quantities", "stocks", "solve"):
        if heading in whole:
            whole[heading] = {name: record for name, record in whole[heading].items() if name not in records}
    for heading, group in group_records(records).items():
        whole[heading] = {**whole.get(heading, {}), **group}
    return whole


def replacement_record(scenario: Scenario, name: str, value: object) -> dict[str, Any]:
    """Return the record that replaces that of a quantity: of a model, a regime, another record, or a number."""
    quantity = scenario.quantities[name]
    if isinstance(value, Model) or names_model(value):
        return model_record(scenario, name, value)
    if isinstance(quantity, Regime) and (not isinstance(value, Mapping) or {"draw", *quantity.labels} & set(value)):
        regime = quantity.set_to(value, where=f"with_ {name}")
        return {"draw": dict(zip(regime.labels, regime.probabilities, strict=True))}
    if isinstance(value, Mapping) and not _is_bare_distribution(value):
        return dict(value)
    unit = quantity.unit if isinstance(quantity, Prior) else build(scenario).nodes[name].unit
    return {**parse_setting(name, value, lambda: unit), "unit": unit}


def _is_bare_distribution(record: Mapping[str, Any]) -> bool:
    """Return True if a record is a distribution without a unit: it has the unit of the quantity that it replaces."""
    return "unit" not in record and next((kind for kind in KINDS if kind.told(record)), None) is Prior


def model_record(scenario: Scenario, name: str, model: object) -> dict[str, Any]:
    """Return the record of a model, by name or as an object, that replaces a quantity.

    It names the quantities that feed the model's inputs, if one has another name than its input.

    Raises
    ------
    ScenarioError
        If neither the name nor the unit of an input tells which quantity feeds it.
    """
    record = {"model": model}
    if name not in scenario.quantities:
        return record
    reference = ScenarioReader("with_").quantity(name, record, scenario.choices)
    assert isinstance(reference, ModelRef)  # its key says so
    inputs = model_wires(build(scenario), name, reference, where=f"with_ {name}")
    return record | ({"inputs": inputs} if any(need != source for need, source in inputs.items()) else {})
