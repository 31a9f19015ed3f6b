"""Quantities of a scenario as objects: ``mc.run`` stands in any expression, and brings its scenario along."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ParamSpec

from forecast import models
from forecast.api.automatic_names import short_number, value_name
from forecast.api.quantity import Quantity, QuantityCondition, QuantityFormula, as_quantity, formula_of, quantities_in
from forecast.contract.registry import get_registry
from forecast.errors import UnknownNameError, UsageError, printable
from forecast.formula import TIME_NAMES, Name, parse_expression, tree
from forecast.models import Model
from forecast.scenarios.graph import ScenarioGraph
from forecast.scenarios.question_text import read_question
from forecast.scenarios.settings.setting_targets import model_names, with_dependencies

if TYPE_CHECKING:
    from forecast.api.scenario import Scenario


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


def source_scenarios(*parts: Any) -> dict[str, Scenario]:
    """Return the scenarios whose quantities stand in something, by the names in front of them.

    Raises
    ------
    UsageError
        For two scenarios of one name.
    """
    found: dict[str, Scenario] = {}
    left: list[Any] = list(parts)
    visited: set[int] = set()
    while left:
        for each in quantities_in(left.pop()):
            if id(each) in visited:
                continue
            visited.add(id(each))
            left += [each.stated, each.uses]
            if each.scenario is not None:
                alias = name_in_front(each.scenario)
                other = found.setdefault(alias, each.scenario)
                if other is not each.scenario and (other != each.scenario or other.stated != each.scenario.stated):
                    text = f"two scenarios are called '{printable(alias, 60)}'"
                    raise UsageError(f"{text}; give one of them another name: scenario.named('mine')")
    return found


def quantity_of_text(text: str, beside: Scenario | None = None) -> Quantity:
    """Return what a text of `forecast.ask` names as a quantity: of the world, of a scenario, or a column of a file.

    With `beside`, a scenario that it is put into: what both use is used once.

    Raises
    ------
    UsageError, UnknownNameError
    """
    from forecast.api.scenario import Scenario

    read = Scenario.of(read_question(text))
    name = next((each.of.text for each in read.figures.values()), "")
    if name not in read.quantities:
        raise UsageError(f"quantity: expected one name, got '{printable(text, 80)}': calculate with quantities of each")
    if isinstance(read.stated.get("use", {}).get(name.rpartition(".")[0]), str):
        return _used_quantity(read, name)
    stated, there = read.stated["quantities"], {} if beside is None else beside.stated.get("quantities", {})
    if beside is not None and all(there.get(each, own) == own for each, own in stated.items()):
        return _quantity_beside(read, name, there)
    alone = {key: each for key, each in read.stated.items() if key != "questions"}
    return replace(quantity_of(replace(read.restated(alone), name=text), name), text=text)


def _quantity_beside(read: Scenario, name: str, there: Collection[str]) -> Quantity:
    """Return a quantity of a question as one of another scenario, with the quantities and scenarios that both have."""
    found = {each: Quantity(stated={}, name=each) for each in there}
    for each, stated in read.stated["quantities"].items():
        if each in found:
            continue
        if "expression" in stated:
            formula = parse_expression(stated["expression"], where=name)
            parts = {part: found[part] if part in found else _used_quantity(read, part) for part in formula.names}
            found[each] = Quantity(stated={**stated, "expression": formula_of(formula, parts)}, name=each)
        else:
            alone = {"title": each, "choices": read.stated["choices"], "quantities": {each: stated}}
            found[each] = quantity_of(replace(read.restated(alone), name=each), each)
    return found[name]


def _used_quantity(read: Scenario, name: str) -> Quantity:
    """Return a quantity of a scenario that a question uses; a name without one in front stands for itself."""
    from forecast.api.scenario import Scenario

    alias, dot, own = name.rpartition(".")
    if not dot:
        return Quantity(stated={}, name=name)
    used = read.stated["use"][alias]
    return quantity_of(Scenario.load(used) if isinstance(used, str) else Scenario.from_dict(used, name=alias), own)


def line_of(part: Any, *, models: bool = False) -> str:
    """Return the line of `forecast.ask` that says the same; empty if something has no name in the catalogue.

    Names of models count if asked for: a line sets rivals beside them, and an object does not.

    Examples
    --------
    >>> import forecast
    >>> line_of(forecast.quantity("largest-run") / forecast.scenario("brain-parity").brain >= "1M s")
    'largest-run / brain-parity.brain >= 1M s'
    """
    words: dict[str, Name] = {}
    left: list[Any] = [part]
    has_name = False  # and not numbers and time alone
    while left:
        for each in quantities_in(left.pop()):
            if each._inlined:
                left.append(each.stated["expression"])
                continue
            word = _word_of(each, models=models)
            has_name |= not (_is_plain_number(each) or each.name in TIME_NAMES)
            if word is None or words.setdefault(each.name, word) != word:
                return ""
    root = tree.rewrite(part._tree(), lambda node: words.get(node.name, node) if isinstance(node, Name) else node)
    text = re.sub(r"\0(\d[^\0]*)\0(?=\*\*)", r"(\1)", tree.to_text(root))
    text = re.sub(r"(?<!\*)([*/])(?=\0)|(?<=\0)([*/])(?!\*)", r" \1\2 ", text)
    return text.replace("\0", "") if has_name else ""


def _is_plain_number(quantity: Quantity) -> bool:
    """Tell whether a quantity is a number that nobody named."""
    stated = quantity.stated
    return stated.keys() == {"value", "unit"} and quantity.name == value_name(stated["value"], stated["unit"])


def _word_of(quantity: Quantity, *, models: bool) -> Name | None:
    """Return what a line calls a quantity, between marks; None if it has no name there."""
    stated, scenario, text = quantity.stated, quantity.scenario, quantity.text
    if _is_plain_number(quantity):
        text = f"{short_number(stated['value'])} {stated['unit']}".strip()
    elif models and quantity.is_model and isinstance(stated["model"], str):
        text = stated["model"]
    elif stated or scenario is None:
        return Name(quantity.name) if quantity.name in TIME_NAMES and not stated else None
    elif not text and (record := get_registry().get("scenario", scenario.name)) is not None:
        registered = type(scenario).load(record.full_name)
        if not scenario.with_values and registered.stated == scenario.stated and registered.name == scenario.name:
            text = f"{record.spec.name}.{quantity.name.partition('.')[2]}"
    return Name(f"\0{text}\0") if text else None


def name_within(scenario: Scenario | None, quantity: Quantity | Model | str) -> str:
    """Return the name that a quantity has in a scenario, or elsewhere; a text may name one of the world."""
    if isinstance(quantity, str):
        own = scenario is None or quantity in (*scenario.quantities, *scenario.choices)
        if own or get_registry().get("quantity", quantity) is None:
            return quantity
        quantity = quantity_of_text(quantity, scenario)
    return str(at_home(as_quantity(quantity), scenario)._its_name)


def shares_worlds(graph: ScenarioGraph, names: Iterable[str], others: Iterable[str]) -> bool:
    """Return True if quantities draw something that others draw, or that is correlated with it."""
    drawn = []
    for each in (names, others):
        behind = with_dependencies(graph, [name for name in each if name in graph.nodes])
        drawn.append({*behind, *(model for name in behind for model in model_names(graph, name))})
    groups = [{*group.of, *(each.rpartition(".")[0] for each in group.of)} for group in graph.scenario.correlations]
    return bool(drawn[0] & drawn[1]) or any(group & drawn[0] and group & drawn[1] for group in groups)


def at_home(part: Any, scenario: Scenario | None, _memo: dict[int, Any] | None = None) -> Any:
    """Return a part with the quantities of this scenario under their names in it, to be put into the scenario."""
    if scenario is None:
        return part
    memo: dict[int, Any] = {} if _memo is None else _memo
    if isinstance(part, Quantity):
        if id(part) not in memo:
            memo[id(part)] = _quantity_at_home(part, scenario, memo)
        return memo[id(part)]
    if isinstance(part, QuantityFormula):
        return replace(part, of=tuple(at_home(each, scenario, memo) for each in part.of))
    if isinstance(part, QuantityCondition):
        sides = {side: at_home(getattr(part, side), scenario, memo) for side in ("left", "right")}
        return replace(part, **sides)
    if isinstance(part, Mapping):
        return {key: at_home(each, scenario, memo) for key, each in part.items()}
    return type(part)(at_home(each, scenario, memo) for each in part) if type(part) in (list, tuple) else part


def _quantity_at_home(quantity: Quantity, scenario: Scenario, memo: dict[int, Any]) -> Quantity:
    same = any(_is_same_scenario(each, scenario) for each in source_scenarios(quantity).values())
    if not same and quantity.text and not quantity.stated:
        return quantity_of_text(quantity.text, scenario)
    if not same and not quantity._inlined:
        return quantity
    if quantity.scenario is not None:
        own = quantity.name.removeprefix(f"{name_in_front(quantity.scenario)}.")
        return replace(quantity, name=own, scenario=None, label="")
    return replace(
        quantity, stated=at_home(quantity.stated, scenario, memo), uses=at_home(quantity.uses, scenario, memo)
    )


#: Keys of a scenario that change nothing about its quantities.
_OTHER_KEYS = ("title", "questions", "until", "start", "step", "show", "labels", "levers", "says", "presets")


def _is_same_scenario(one: Scenario, other: Scenario) -> bool:
    """Return True if two scenarios have the same quantities, whatever they ask."""
    if one is other or one == other:
        return True
    first, second = ({key: v for key, v in each.record.items() if key not in _OTHER_KEYS} for each in (one, other))
    return (one.name == other.name or one.folder == other.folder) and first == second


# --- Models -----------------------------------------------------------------------------------------------------------
# `forecast.model`, `forecast.trend` and `forecast.estimate`: the models of `forecast.models`, as quantities.


P = ParamSpec("P")


def _as_quantities(make: Callable[P, Model]) -> Callable[P, Quantity]:
    @functools.wraps(make)
    def make_quantity(*args: P.args, **keywords: P.kwargs) -> Quantity:
        return as_quantity(make(*args, **keywords))

    make_quantity.__module__ = __name__  # where pickle and the documentation find it
    return make_quantity


model = _as_quantities(models.model)
trend = _as_quantities(models.trend)
estimate = _as_quantities(models.estimate)
