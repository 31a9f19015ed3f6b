"""Scenarios by name, and with something else in them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from forecast.api.build_scenario import scenario_of
from forecast.api.quantity import Quantity, as_quantity, quantity
from forecast.api.quantity_formulas import plain
from forecast.errors import UnknownNameError, UsageError, printable
from forecast.models import Model
from forecast.scenarios.scenario import Scenario
from forecast.scenarios.setting_values import names_model, parsed, texts

__all__ = ["changed_in", "scenario"]

#: The keys of a scenario's top that may be stated anew.
_TOP = ("title", "until", "start", "step", "show", "choices", "correlations", "update", "changes", "questions")
_HEADINGS = ("quantities", "stocks", "solve")


def scenario(given: str | os.PathLike[str] | Mapping[str, Any]) -> Scenario:
    """Return a scenario by its registered name, from a TOML file, or from what such a file would hold.

    Raises
    ------
    UnknownNameError, ScenarioError

    Examples
    --------
    >>> list(scenario("brain-parity").questions)
    ['parity']
    """
    if isinstance(given, Mapping):
        return Scenario.from_dict(plain(given))
    return Scenario.load(given if isinstance(given, str) else Path(given))


def changed_in(scenario: Scenario, values: Mapping[str, Any], add: Mapping[str, Any]) -> Scenario:
    """Return a scenario with other values, other quantities or other keys of its top; see `Scenario.with_`."""
    named = [name for heading in _HEADINGS for name in scenario.stated.get(heading, {})]
    for name in add:
        if name in (*named, *scenario.choices):
            raise UsageError(f"with_: add '{printable(name, 60)}': the scenario has it: give {name}=")
    changed: dict[str, Quantity] = {name: _new(name, each) for name, each in add.items()}
    top: dict[str, Any] = {}
    for key, each in values.items():
        if key in named:
            changed[key] = _other(scenario, key, each)
        elif key in scenario.choices:
            scenario = scenario.narrowed(key, texts(key, each))
        elif key in _TOP:
            top[key] = each
        else:
            known = [*named, *scenario.choices, *_TOP]
            raise UnknownNameError("quantity, choice or key", key, known, where=f"scenario '{scenario.name}'")
    new = {"subject_to": [changed[name] for name in add]} if add else {}
    whole = scenario_of(new, swapped=changed, base=scenario.stated, **top)
    if add:  # what is new is reached through a question that nobody asks
        questions = {**plain(top.get("questions", scenario.stated.get("questions", {})))}
        whole = {key: each for key, each in whole.items() if key != "questions"} | (
            {"questions": questions} if questions else {}
        )
    return replace(scenario.restated(whole), swept=scenario.swept)


def _new(name: str, given: Any) -> Quantity:
    """Return a quantity that is new, under its name."""
    if isinstance(given, Mapping):
        return quantity(name, **given)
    return as_quantity(given).named(name)


def _other(scenario: Scenario, name: str, given: Any) -> Quantity:
    """Return what a quantity becomes: under its own name, so that everything else finds it."""
    from forecast.scenarios.graph import build

    if isinstance(given, Quantity):
        return given
    if isinstance(given, Model) or names_model(given):
        return quantity(name, model=given)
    if isinstance(given, Mapping):
        return quantity(name, **given)
    unit = build(scenario).nodes[name].unit
    return quantity(name, **parsed(name, given, lambda: unit), unit=unit)
