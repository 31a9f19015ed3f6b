"""Scenarios by name, and with something else in them."""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forecast.api.build_scenario import scenario_of
from forecast.api.quantity import Quantity, as_quantity, quantity
from forecast.api.quantity_formulas import plain
from forecast.errors import UnknownNameError
from forecast.models import Model
from forecast.scenarios.scenario import Scenario

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


def changed_in(given: Scenario, changed: Mapping[str, Any]) -> Scenario:
    """Return a scenario with other quantities, or other keys of its top; see `Scenario.with_`."""
    named = [name for heading in _HEADINGS for name in given.stated.get(heading, {})]
    swapped: dict[str, Quantity] = {}
    top: dict[str, Any] = {}
    for key, each in changed.items():
        if key in named:
            swapped[key] = _other(given, key, each)
        elif key in _TOP:
            top[key] = each
        else:
            raise UnknownNameError("quantity or key", key, [*named, *_TOP], where=f"scenario '{given.name}'")
    whole = scenario_of({}, swapped=swapped, base=given.stated, **top)
    return given.restated(whole)


def _other(given: Scenario, name: str, new: Any) -> Quantity:
    """Return what a quantity becomes: under its own name, so that everything else finds it."""
    if isinstance(new, Quantity):
        return new
    if isinstance(new, (str, Model)):
        return quantity(name, model=new)
    if isinstance(new, Mapping):
        return quantity(name, **new)
    if isinstance(new, numbers.Real):
        from forecast.scenarios.graph import build

        return quantity(name, value=float(new), unit=build(given).nodes[name].unit)
    return as_quantity(new)
