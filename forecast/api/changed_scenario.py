"""Scenarios by name, and with something else in them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from forecast.api.build_scenario import scenario_of
from forecast.api.quantity import Quantity, as_quantity, quantity
from forecast.api.quantity_formulas import to_record
from forecast.api.scenario_quantities import at_home, source_scenarios
from forecast.errors import UnknownNameError, UsageError, printable
from forecast.models import Model
from forecast.scenarios import used_scenarios
from forecast.scenarios.graph import build
from forecast.scenarios.kinds import KINDS
from forecast.scenarios.kinds.model_ref import ModelRef
from forecast.scenarios.kinds.prior import Prior
from forecast.scenarios.kinds.regime import Regime
from forecast.scenarios.parse import ScenarioReader
from forecast.scenarios.scenario import Scenario
from forecast.scenarios.settings.setting_targets import correlated_with
from forecast.scenarios.settings.setting_values import names_model, parse_setting, parse_texts

__all__ = ["changed_in", "model_record", "scenario"]

#: The keys of a scenario's top that may be stated anew.
_CHANGEABLE_KEYS = (
    "title",
    "until",
    "start",
    "step",
    "show",
    "choices",
    "correlations",
    "update",
    "changes",
    "questions",
)


def scenario(given: str | os.PathLike[str] | Mapping[str, Any] | None = None, /, **keys: Any) -> Scenario:
    """Return a scenario by its registered name, from a TOML file, or from what such a file would hold.

    Parameters
    ----------
    given : str, path or mapping, optional
    **keys
        Instead of a mapping, its keys: ``use={"mc": "model-capability"}``, ``quantities={"wait": "mc.run / rate"}``.
        Among quantities a text is an expression; a record, or what is a quantity, stands as it is.

    Raises
    ------
    UnknownNameError, ScenarioError, UsageError

    Examples
    --------
    >>> list(scenario("brain-parity").questions)
    ['parity']
    """
    if (given is None) == (not keys):
        raise UsageError("scenario: expected a name, a file or a mapping, or the keys of a mapping")
    if given is None:
        given = {**keys, "quantities": {n: _as_record(each) for n, each in keys.get("quantities", {}).items()}}
    if isinstance(given, Mapping):
        used = source_scenarios(given)
        use = {"use": used_scenarios.join_used(given.get("use"), used)} if used else {}
        return Scenario.from_dict({**to_record(given), **use})
    return Scenario.load(given if isinstance(given, str) else Path(given))


def _as_record(given: Any) -> Any:
    """Return a quantity as a record holds it."""
    if isinstance(given, Mapping):
        return given
    if isinstance(given, str):
        return {"expression": given}
    return given.stated if isinstance(given, Quantity) and given.stated else {"expression": given}


def changed_in(scenario: Scenario, values: Mapping[str, Any], add: Mapping[str, Any]) -> Scenario:
    """Return a scenario with other values, other quantities or other keys of its top; see `Scenario.with_`."""
    named = list(scenario.quantities)
    made: dict[int, Any] = {}
    values, add = at_home(values, scenario, made), at_home(add, scenario, made)
    for name in add:
        if name in (*named, *scenario.choices):
            raise UsageError(f"with_: add '{printable(name, 60)}': the scenario has it: give {name}=")
    changed: dict[str, Quantity] = {name: _new(name, each) for name, each in add.items()}
    top: dict[str, Any] = {}
    for key, each in values.items():
        if key in named:
            changed[key] = _replacement_record(scenario, key, each)
        elif key in scenario.choices:
            scenario = scenario.narrowed(key, parse_texts(key, each))
        elif key in _CHANGEABLE_KEYS:
            top[key] = each
        else:
            known = [*named, *scenario.choices, *_CHANGEABLE_KEYS]
            raise UnknownNameError("quantity, choice or key", key, known, where=f"scenario '{scenario.name}'")
    new = {"subject_to": [changed[name] for name in add]} if add else {}
    whole = scenario_of(new, swapped=changed, base=scenario.stated, **top)
    if add:  # what is new is reached through a question that nobody asks
        questions = {**to_record(top.get("questions", scenario.stated.get("questions", {})))}
        whole = {key: each for key, each in whole.items() if key != "questions"} | (
            {"questions": questions} if questions else {}
        )
    restated = scenario.restated(whole)
    # what has no uniform of its own any more moves together with nothing; the others stay as if it did
    gone = [name for name in values if name in changed and not restated.quantities[name].one_uniform]
    alone = correlated_with(build(scenario), gone) if scenario.correlations and gone else frozenset()
    ends_anew = scenario.ends_anew or "until" in values
    return replace(restated, swept=scenario.swept, alone=restated.alone | alone, ends_anew=ends_anew)


def _new(name: str, given: Any) -> Quantity:
    """Return a quantity that is new, under its name."""
    if isinstance(given, Mapping):
        return quantity(name, **given)
    return as_quantity(given).named(name)


def _replacement_record(scenario: Scenario, name: str, given: Any) -> Quantity:
    """Return what a quantity becomes: under its own name, so that everything else finds it."""
    if isinstance(given, Quantity):
        return given
    stated = scenario.quantities[name]
    if isinstance(given, Model) or names_model(given):
        record = model_record(scenario, name, given)
    elif isinstance(stated, Regime) and (not isinstance(given, Mapping) or {"draw", *stated.labels} & set(given)):
        regime = stated.set_to(given, where=f"with_ {name}")
        record = {"draw": dict(zip(regime.labels, regime.probabilities, strict=True))}
    elif isinstance(given, Mapping) and not _is_bare_distribution(given):
        record = dict(given)
    else:
        unit = stated.unit if isinstance(stated, Prior) else build(scenario).nodes[name].unit
        record = {**parse_setting(name, given, lambda: unit), "unit": unit}
    return replace(quantity("other", **record), name=name)  # of a scenario that is used it has a name in front


def _is_bare_distribution(given: Mapping[str, Any]) -> bool:
    """Tell whether a record is a distribution without a unit: that of the quantity in whose place it stands."""
    return "unit" not in given and next((kind for kind in KINDS if kind.told(given)), None) is Prior


def model_record(scenario: Scenario, name: str, given: Model | str) -> dict[str, Any]:
    """Return the record of a model in place of a quantity, with what feeds it where names alone do not tell.

    Raises
    ------
    ScenarioError
        Where neither the name nor the unit of an input tells which quantity feeds it.
    """
    from forecast.scenarios.settings.ports import model_wires

    record = {"model": given}
    if name not in scenario.quantities:
        return record
    model = ScenarioReader("with_").quantity(name, record, scenario.choices)
    assert isinstance(model, ModelRef)  # it has the key of one
    inputs = model_wires(build(scenario), name, model, where=f"with_ {name}")
    wired = {"inputs": inputs} if any(need != source for need, source in inputs.items()) else {}
    return {**record, **wired}
