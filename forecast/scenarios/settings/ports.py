"""Other models in place of quantities, and which quantities feed their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from forecast import units
from forecast.errors import ScenarioError, UnknownNameError, first_names, printable
from forecast.models.nesting import required_quantities
from forecast.scenarios.graph import ScenarioGraph, build
from forecast.scenarios.kinds.model_ref import ModelRef
from forecast.scenarios.parse import ScenarioReader
from forecast.scenarios.quantities.node import QuantityKind
from forecast.scenarios.scenario import Scenario
from forecast.scenarios.settings import setting_targets
from forecast.scenarios.table_values import Tables


def swap_models(scenario: Scenario, given: Mapping[str, str]) -> Scenario:
    """Return the scenario with other models for some of its quantities, each of which moves together with nothing.

    Raises
    ------
    UnknownNameError, ScenarioError, UnitError
        If there is no such quantity or model, or it measures something else.
    """
    if not given:
        return scenario
    reader, result = ScenarioReader("swap"), dict[str, Any](scenario.quantities)
    for name, model in given.items():
        if name not in scenario.quantities:
            raise UnknownNameError("quantity", name, scenario.quantities, where="swap")
        result[name] = reader.quantity(name, {"model": model}, scenario.choices)
    graph, tables = build(scenario), Tables(scenario.where, scenario.start)
    before = graph.nodes
    setting_targets.check_has_effect(graph, given, "swap")
    for name, model in given.items():
        where = f"swap {name}={printable(model, 80)}"
        result[name] = replace(result[name], inputs=model_wires(graph, name, result[name], where=where))
        units.check(
            result[name].node(_with(scenario, name, result[name]), name, tables).unit, before[name].unit, where=where
        )
    return replace(scenario, quantities=result, alone=setting_targets.correlated_with(graph, given))


def model_wires(graph: ScenarioGraph, name: str, model: ModelRef, *, where: str) -> dict[str, str]:
    """Return which quantities feed a model that is to stand in place of a quantity: those of its inputs' names, else of
    their units.

    Parameters
    ----------
    graph : ScenarioGraph
        With what stands there now.
    name : str
        The quantity that the model is to be.
    model : ModelRef
    where : str
        For messages.

    Raises
    ------
    ScenarioError
        Where no quantity has an input's name, and none or several have its unit.
    """
    scenario, inputs = graph.scenario, dict(model.inputs)
    node = model.node(_with(scenario, name, model), name, Tables(scenario.where, scenario.start))
    front = name[: name.rfind(".") + 1]
    downstream = setting_targets.with_dependents(graph, [name])
    for need, needed in dict(each for made in node.models.values() for each in required_quantities(made)).items():
        if need in inputs:
            continue
        if (known := next((each for each in (f"{front}{need}", need) if each in graph.quantities), None)) is not None:
            inputs[need] = known
            continue
        fits = [
            each
            for each, other in graph.quantities.items()
            if each not in downstream and other.measured is not None and units.same_dimension(other.unit, needed.unit)
        ]
        if len(fits) != 1:
            which = f"{len(fits)} have its unit: {first_names(fits)}" if fits else "none has its unit"
            text = f"input '{need}' ({needed.unit or 'dimensionless'}): no quantity has its name, and {which}"
            raise ScenarioError(f'{where}: {text}; wire it in a file: inputs = {{ {need} = "…" }}')
        inputs[need] = fits[0]
    return inputs


def _with(scenario: Scenario, name: str, quantity: QuantityKind) -> Scenario:
    return replace(scenario, quantities={**scenario.quantities, name: quantity})
