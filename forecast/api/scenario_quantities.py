"""Quantities of a scenario as objects: ``mc.run`` stands in any expression, and brings its scenario along."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from forecast.api.quantity import Quantity, QuantityCondition
from forecast.api.quantity_formulas import QuantityFormula, quantities_in
from forecast.errors import UnknownNameError, UsageError, printable

if TYPE_CHECKING:
    from forecast.api.scenario import Scenario

__all__ = ["at_home", "name_in_front", "quantity_of", "source_scenarios"]


def name_in_front(scenario: Scenario) -> str:
    """Return the name under which a scenario is used by those that nobody wrote.

    Examples
    --------
    >>> import forecast
    >>> name_in_front(forecast.scenario("brain-parity"))
    'brain_parity'
    """
    word = re.sub(r"\W+", "_", scenario.name.rpartition("/")[2], flags=re.ASCII).strip("_")
    return word if word[:1].isalpha() else f"n{word}"


def quantity_of(scenario: Scenario, name: str) -> Quantity:
    """Return a quantity of a scenario, which stands in any expression in the worlds of its scenario.

    Raises
    ------
    UnknownNameError
    """
    if name not in scenario.quantities:
        raise UnknownNameError("quantity", name, scenario.quantities, where=f"scenario '{scenario.name}'")
    label = re.sub(r"\W+", "_", name, flags=re.ASCII)
    return Quantity(stated={}, name=f"{name_in_front(scenario)}.{name}", label=label, scenario=scenario)


def source_scenarios(*stated: Any) -> dict[str, Scenario]:
    """Return the scenarios whose quantities stand in something, by the names in front of them.

    Raises
    ------
    UsageError
        For two scenarios of one name.
    """
    found: dict[str, Scenario] = {}
    left: list[Any] = list(stated)
    seen: set[int] = set()
    while left:
        for each in quantities_in(left.pop()):
            if id(each) in seen:
                continue
            seen.add(id(each))
            left += [each.stated, each.uses]
            if each.scenario is not None:
                alias = name_in_front(each.scenario)
                other = found.setdefault(alias, each.scenario)
                if other is not each.scenario and (other != each.scenario or other.stated != each.scenario.stated):
                    text = f"two scenarios are called '{printable(alias, 60)}'"
                    raise UsageError(f"{text}; give one of them another name: scenario.named('mine')")
    return found


def at_home(stated: Any, scenario: Scenario, _made: dict[int, Any] | None = None) -> Any:
    """Return what holds quantities of this scenario with their names in it, for what is to stand in the scenario."""
    made: dict[int, Any] = {} if _made is None else _made
    if isinstance(stated, Quantity):
        if id(stated) not in made:
            made[id(stated)] = _quantity(stated, scenario, made)
        return made[id(stated)]
    if isinstance(stated, QuantityFormula):
        return replace(stated, of=tuple(at_home(each, scenario, made) for each in stated.of))
    if isinstance(stated, QuantityCondition):
        sides = {side: at_home(getattr(stated, side), scenario, made) for side in ("left", "right")}
        return replace(stated, **sides)
    if isinstance(stated, Mapping):
        return {key: at_home(each, scenario, made) for key, each in stated.items()}
    return type(stated)(at_home(each, scenario, made) for each in stated) if type(stated) in (list, tuple) else stated


def _quantity(given: Quantity, scenario: Scenario, made: dict[int, Any]) -> Quantity:
    if not any(each is scenario or each == scenario for each in source_scenarios(given).values()):
        return given
    if given.scenario is not None:
        own = given.name.removeprefix(f"{name_in_front(scenario)}.")
        return replace(given, name=own, scenario=None, label="")
    return replace(given, stated=at_home(given.stated, scenario, made), uses=at_home(given.uses, scenario, made))
