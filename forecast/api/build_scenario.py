"""The scenario that a question makes: the records of all that it is made of, as a TOML file would hold them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from forecast.api.quantity import Quantity, QuantityCondition
from forecast.api.quantity_formulas import fed_by_name, quantities_in, to_record
from forecast.api.scenario_quantities import model, source_scenarios
from forecast.errors import ScenarioError, printable
from forecast.formula import parse_expression
from forecast.scenarios import used_scenarios
from forecast.scenarios.question_text import question_title
from forecast.scenarios.settings.replacements import with_records

#: The name of the question that objects ask.
DEFAULT_QUESTION = "reached"


def named_formulas(roots: Any, swapped: Mapping[str, Quantity] | None = None) -> set[str]:
    """Return the names of formulas that are quantities of their own: replaced ones, and inputs by name."""
    own_names, visited = set(swapped or {}), set[int]()
    left: list[Any] = [roots, list((swapped or {}).values())]
    while left:
        part = left.pop()
        own_names |= {each._its_name for each in fed_by_name(part) if each._inlined}
        for each in quantities_in(part):
            if id(each) not in visited:
                visited.add(id(each))
                left += [each.stated, each.uses]
    return own_names


def collect_quantities(
    quantities: Iterable[Quantity],
    swapped: Mapping[str, Quantity] | None = None,
    own_names: Collection[str] | None = None,
) -> dict[str, Quantity]:
    """Return quantities and all that they need, by name, each after the quantities it needs.

    A quantity that only stands in formulas of others is left out, unless it is kept: swapped, say.

    Parameters
    ----------
    quantities : iterable of Quantity
    swapped : mapping of str to Quantity, optional
        The quantities that replace those of these names.
    own_names : collection of str, optional
        Formulas that are quantities of their own, by default those of `named_formulas`.

    Raises
    ------
    ScenarioError
        For two uncertain quantities of one name, two different ones, or an uncertain one without a name.
    """
    quantities = list(quantities)
    own_names = named_formulas(quantities, swapped) if own_names is None else own_names
    instead = {name: _instead(name, each) for name, each in (swapped or {}).items()}
    needed_quantities: dict[str, Quantity] = {}
    within: set[str] = set()
    visited: set[int] = set()
    left = [(each, False) for each in reversed(quantities)]
    while left:
        each, needed = left.pop()
        if not each.stated and each.name not in instead:  # the name of what stands elsewhere
            continue
        name = each._its_name
        each = instead.get(name, each)
        if each._inlined and name not in own_names:
            if id(each) not in visited:
                visited.add(id(each))
                left += [(need, False) for need in reversed(each._needs)]
        elif needed:
            needed_quantities[name] = each
            within.discard(name)
        elif name in needed_quantities:
            if needed_quantities[name] is not each and not _is_same_quantity(needed_quantities[name], each):
                kind = "uncertain" if each._uncertain else "different"
                raise ScenarioError(
                    f"two {kind} quantities have the name '{name}'; use one object, or give another name"
                )
        elif name in within:
            raise ScenarioError(f"'{name}' is made of a quantity of its own name: give one of the two another name")
        else:
            within.add(name)
            left += [(each, True), *((need, False) for need in reversed(each._needs))]
    return needed_quantities


def records(
    quantities: Iterable[Quantity],
    swapped: Mapping[str, Quantity] | None = None,
    own_names: Collection[str] | None = None,
) -> dict[str, Mapping[str, Any]]:
    """Return the records of quantities and of all that they need; see `collect_quantities`."""
    quantities = list(quantities)
    own_names = named_formulas(quantities, swapped) if own_names is None else own_names
    return {
        name: to_record(each.stated, own_names)
        for name, each in collect_quantities(quantities, swapped, own_names).items()
    }


def _instead(name: str, new: Quantity) -> Quantity:
    """Return a quantity of this name that is another one, which keeps its own name and draws."""
    if new._its_name == name:
        return new
    return Quantity(stated={"expression": new}, name=name)


def _is_same_quantity(one: Quantity, other: Quantity) -> bool:
    """Return True if two objects are one quantity: they draw nothing by name, and have equal records."""

    def same(a: Any, b: Any) -> bool:
        return a is b or (isinstance(a, (str, int, float, list, tuple, dict)) and type(a) is type(b) and a == b)

    if one._uncertain or one.stated.keys() != other.stated.keys():
        return False
    theirs = other.record
    return all(same(each, theirs[key]) for key, each in one.record.items())


def scenario_of(
    question: QuantityCondition | Mapping[str, Any],
    *,
    conditions: Iterable[QuantityCondition] = (),
    swapped: Mapping[str, Quantity] | None = None,
    base: Mapping[str, Any] | None = None,
    **top: Any,
) -> dict[str, Any]:
    """Return the scenario that a question makes, as a TOML file would hold it.

    Parameters
    ----------
    question : QuantityCondition or mapping
        The question as `forecast.ask` takes it: ``when``, ``value``, ``growth``, ``first`` or ``rank``, and its keys.
        Empty for one that `base` asks.
    conditions : iterable of QuantityCondition
        Only worlds in which they hold count.
    swapped : mapping of str to Quantity
        The quantities that replace those of these names.
    base : mapping, optional
        A scenario to which all of this is added.
    **stated
        Of the scenario as a whole: `until`, `choices`, `correlations`, `update`, `changes`, ...

    Examples
    --------
    >>> import forecast
    >>> rate = forecast.value(2, "FLOP/s", name="rate")
    >>> scenario_of(rate >= 1, until=2030)["questions"]
    {'reached': {'when': 'rate >= 1'}}
    """
    question = {"when": question} if isinstance(question, QuantityCondition) else dict(question)
    conditions, swapped = tuple(conditions), dict(swapped or {})
    own_names = named_formulas([question, top, conditions], swapped)
    quantities = [*quantities_in(question), *quantities_in(top), *quantities_in(conditions)]
    # in a scenario that is there, what is swapped may be nothing that the objects are made of
    quantities += [_instead(name, each) for name, each in (swapped if base else {}).items()]
    plain_quantities = records(quantities, swapped, own_names)
    for name in [name for name in plain_quantities if name not in swapped]:
        if _is_there(name, plain_quantities[name], base or {}):
            del plain_quantities[name]
    whole: dict[str, Any] = with_records(base or {}, plain_quantities) | to_record(top, own_names)
    if used := source_scenarios(question, top, conditions, swapped):
        known = dict(used_scenarios.used_entries(whole.get("use", ())))
        new = {alias: each for alias, each in used.items() if alias not in known}
        whole["use"] = used_scenarios.join_used(whole.get("use"), new)
        labels = whole["labels"] = {**_labels(quantities), **whole.get("labels", {})}
        text = to_record(question.get("when", question.get("value", "")), own_names, "when")
        if labels and text and "title" not in question:
            question["title"] = question_title(parse_expression(text, where="ask").root, text, labels)
    if question:
        whole["questions"] = {**whole.get("questions", {}), **_question_records(question, own_names)}
    if conditions:
        # a condition is a likelihood of 1 or 0: the worlds stay, and count or do not
        weighed = " + ".join(f"log(where({to_record(each, own_names)}, 1, 0))" for each in conditions)
        # it stands under the name of a quantity, in whichever one there is
        names = [name for each in conditions for side in each._sides for name in side._leaves]
        mine = next((name for name in names if name not in whole.get("update", {})), names[0])
        known = whole.get("update", {}).get(mine, {}).get("log_likelihood")
        weighed = f"{known} + {weighed}" if known else weighed
        whole["update"] = {**whole.get("update", {}), mine: {"log_likelihood": weighed}}
    return whole


def _labels(quantities: Iterable[Quantity]) -> dict[str, str]:
    """Return what quantities of other scenarios are called there."""
    own = ((each.name, each.scenario.labels) for each in quantities if each.scenario is not None)
    return {name: labels[short] for name, labels in own if (short := name.partition(".")[2]) in labels}


def _is_there(name: str, record: Mapping[str, Any], base: Mapping[str, Any]) -> bool:
    """Return True if a scenario has a quantity, by its record or as a forecast of the same model.

    Raises
    ------
    ScenarioError
        If it has another one of this name.
    """
    own = next((base[key][name] for key in ("quantities", "stocks", "solve") if name in base.get(key, {})), None)
    if own is None:
        return False
    is_model = record.keys() == {"model"} and bool(own.get("model"))
    if record != own and not (is_model and model(own["model"].partition("@")[0]).stated == record):
        way = "its name alone means the scenario's; give the other another name, .named('mine')"
        raise ScenarioError(f"the scenario has another quantity called '{printable(name, 60)}': {way}")
    return True


def _question_records(question: Mapping[str, Any], own_names: Collection[str]) -> dict[str, Any]:
    """Return the questions; a question for the first of several conditions adds one for each of them."""
    first = question.get("first")
    if not isinstance(first, Mapping):
        return {DEFAULT_QUESTION: to_record(question, own_names)}
    own = to_record({key: each for key, each in question.items() if key != "first"}, own_names) | {"first": list(first)}
    return {DEFAULT_QUESTION: own, **{name: {"when": to_record(each, own_names)} for name, each in first.items()}}
