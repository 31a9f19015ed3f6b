"""Scenarios as objects: their questions, their quantities, and copies with something else in them.

A question makes a scenario: the records of all that it is made of, as a TOML file would hold them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from forecast.api.options import GRID_KEYS, RUN_KEYS, ScenarioAskOptions, check_keywords
from forecast.api.quantity import (
    Quantity,
    QuantityCondition,
    as_quantity,
    fed_by_name,
    quantities_in,
    quantity,
    to_record,
)
from forecast.api.scenario_quantities import at_home, model, name_within, quantity_of, source_scenarios
from forecast.base.other_words import absent
from forecast.errors import ScenarioError, UnknownNameError, UsageError, first_names, printable, shown_value
from forecast.formula import parse_expression
from forecast.models import Model
from forecast.scenarios import scenario as plain, used_scenarios
from forecast.scenarios.question_text import check_is_whole, question_title
from forecast.scenarios.questions import shorten_questions
from forecast.scenarios.settings.replacements import replacement_record, restate, with_records
from forecast.scenarios.settings.setting_values import parse_texts

if TYPE_CHECKING:
    from forecast.api.answer import Answer
    from forecast.projection.result import Projection


#: The keys of a scenario's top that may be stated anew.
_CHANGEABLE_KEYS = (
    "title", "until", "start", "step", "show", "choices", "correlations", "update", "changes", "questions",
)  # fmt: skip


class Scenario(plain.Scenario):
    """A scenario that can be asked and changed: choices, quantities, a horizon and questions.

    Made by `forecast.scenario`, `Scenario.load`, `Scenario.from_dict` and `Scenario.from_text`. Its parts are those of
    `forecast.scenarios.scenario.Scenario`.

    Examples
    --------
    >>> import forecast
    >>> brain = forecast.scenario("brain-parity")
    >>> brain.with_(until=2100).ask(draws=64).kind, brain.machine.name
    ('when', 'brain_parity.machine')
    """

    @classmethod
    def of(cls, scenario: plain.Scenario) -> Self:
        """Return a scenario of `forecast.scenarios` as one that can be asked and changed."""
        return cls(**vars(scenario))

    def with_(
        self, settings: Mapping[Any, object] | None = None, /, *, add: Mapping[str, Any] | None = None, **values: object
    ) -> Self:
        """Return the scenario with other values, other quantities, or other keys of its top.

        Parameters
        ----------
        settings : mapping, optional
            A name that is no word of Python, or a quantity itself: ``{scenario.brain: 1e16}``.
        add : mapping, optional
            New quantities, or records as a file has them, by name.
        **values
            By the name of a quantity: a number in its unit, a text with a unit (``"1 EFLOP/s"``, ``"1e13..1e17"``), a
            record as a file has it, a quantity, a model or its name. By the name of a choice: its value, or several in
            a list. By a key of the top: ``title``, ``until``, ``start``, ``step``, ``choices``, ``correlations``,
            ``update``, ``changes``, ``questions``.

        Raises
        ------
        UnknownNameError
            For a name that the scenario does not have.
        ScenarioError

        Examples
        --------
        >>> import forecast
        >>> other = forecast.scenario("brain-parity").with_(machine="hardware/linpack@random-walk", until=2100)
        >>> other.stated["quantities"]["machine"]
        {'model': 'hardware/linpack@random-walk'}
        """
        memo: dict[int, Any] = {}
        values = {name_within(self, key): each for key, each in (settings or {}).items()} | values
        values, add = at_home(values, self, memo), at_home(add or {}, self, memo)
        changed, top, scenario = dict[str, Quantity](), dict[str, Any](), self
        for name, each in add.items():
            if name in (*self.quantities, *self.choices):
                raise UsageError(f"with_: add '{printable(name, 60)}': the scenario has it: give {name}=")
            changed[name] = quantity(name, **each) if isinstance(each, Mapping) else as_quantity(each).named(name)
        for key, each in values.items():
            if key in self.quantities:
                changed[key] = _replacement_quantity(scenario, key, each)
            elif key in self.choices:
                scenario = scenario.narrowed(key, parse_texts(key, each))
            elif key in _CHANGEABLE_KEYS:
                top[key] = each
            else:
                valid_names = [*self.quantities, *self.choices, *_CHANGEABLE_KEYS]
                raise UnknownNameError("quantity, choice or key", key, valid_names, where=f"scenario '{self.name}'")
        questions = top.get("questions", scenario.stated.get("questions", {}))
        if "until" in top and "questions" not in top and questions:
            questions = top["questions"] = shorten_questions(questions, top["until"])
        # new quantities are reached through a question that is dropped again
        new = {"subject_to": [changed[name] for name in add]} if add else {}
        whole = scenario_of(new, swapped=changed, base=scenario.stated, **top)
        if add:
            whole = {key: each for key, each in whole.items() if key != "questions"}
            whole |= {"questions": to_record(questions)} if questions else {}
        told = {key: plain_value(each) for key, each in values.items() if key not in top}
        return replace(restate(scenario, whole, [*changed]), with_values={**self.with_values, **told})

    def what_if(
        self,
        of: Quantity | Model | str,
        *,
        since: float | str,
        growth: float | str | None = None,
        value: object = None,
        until: float | str | None = None,
    ) -> Self:
        """Return the scenario with one quantity changed from a date on; see `Answer.what_if`."""
        keys = {"of": name_within(self, of), "growth": growth, "value": value, "since": since, "until": until}
        return self.changed([{key: each for key, each in keys.items() if each is not None}])

    def __getitem__(self, name: str) -> Quantity:
        """Return a quantity, which any expression may contain: ``forecast.scenario("model-capability")["run"]``.

        Its draws in another scenario are bit for bit those in this one, with the same seed, dates and step.

        Raises
        ------
        UnknownNameError
        """
        return quantity_of(self, name)

    def __getattr__(self, name: str) -> Quantity:
        """Return the quantity of a name that is no method or attribute: ``mc.run`` is ``mc["run"]``."""
        if name in self.__dict__.get("quantities", ()):
            return self[name]
        if name in self.__dict__.get("questions", ()):
            raise AttributeError(f"'{name}' is a question, and no quantity: write scenario.ask('{name}')")
        own = (*dir(type(self)), *self.__dict__.get("quantities", ()))
        raise absent(f"scenario '{self.__dict__.get('name', '')}'", name, own)

    def named(self, name: str) -> Self:
        """Return the scenario under another name, which is the prefix of its quantities elsewhere."""
        return replace(self, name=name)

    def sweep(
        self, settings: Mapping[Any, Sequence[object] | str] | None = None, /, **values: Sequence[object] | str
    ) -> Self:
        """Return the scenario with something set to each of several values, side by side; see `Answer.sweep`."""
        new = {**(settings or {}), **values}
        along = {**self.swept, **{name_within(self, key): each for key, each in new.items()}}
        return replace(self, swept=along, stated={**self.stated, "sweep": along})

    def ask(self, question: str = "", **options: Unpack[ScenarioAskOptions]) -> Answer:
        """Answer one of the scenario's questions, by default the one that its answer opens with.

        Parameters
        ----------
        question : str
            Its name.
        **options
            Of a run, and its ``preset``; see `forecast.project`.

        Returns
        -------
        Answer
        """
        from forecast.api.answer import Answer

        names = [*self.questions, *self.figures, *self.firsts, *self.rankings]
        if not names:
            raise UsageError(f"scenario '{self.name}' asks no question: forecast.project runs it")
        question = question or self.opens or names[0]
        if question not in names:
            raise UnknownNameError("question", question, names, where=f"scenario '{self.name}'")
        check_is_whole(self.name)
        check_keywords(options, (*GRID_KEYS, *RUN_KEYS, "preset"), "ask")
        taken: dict[str, Any] = dict(options)
        if (preset := taken.pop("preset", None)) is not None:
            taken["with_"] = {**self.preset(preset).settings, **(options.get("with_") or {})}
        return Answer._to(question={}, options=taken, base=self, name=question)

    def __repr__(self) -> str:
        """Return its title, choices, questions and quantities."""
        from forecast.report.notebook import choices_and_questions

        rows = [f"  {kind} {name}: {told}" for kind, name, told in choices_and_questions(self)]
        told = f"{len(self.quantities)} quantities: {first_names(list(self.quantities))}"
        return "\n".join([f"Scenario {self.name}: {self.title}".rstrip(": "), *rows, f"  {told}"])

    def _repr_html_(self) -> str:
        from forecast.report import notebook

        return notebook.scenario(self)


def scenario(source: str | os.PathLike[str] | Mapping[str, Any] | None = None, /, **keys: Any) -> Scenario:
    """Return a scenario by its registered name, from a TOML file, or from the record that such a file holds.

    Parameters
    ----------
    source : str, path or mapping, optional
    **keys
        Instead of a mapping, its keys: ``use={"mc": "model-capability"}``, ``quantities={"wait": "mc.run / rate"}``.
        Among quantities a text is an expression; a record, a quantity or a model is used as it is.

    Raises
    ------
    UnknownNameError, ScenarioError, UsageError

    Examples
    --------
    >>> list(scenario("brain-parity").questions)
    ['parity']
    """
    if (source is None) == (not keys):
        raise UsageError("scenario: expected a name, a file or a mapping, or the keys of a mapping")
    if source is None:
        source = {**keys, "quantities": {n: _quantity_record(each) for n, each in keys.get("quantities", {}).items()}}
    if isinstance(source, Mapping):
        used = source_scenarios(source)
        use = {"use": used_scenarios.join_used(source.get("use"), used)} if used else {}
        return Scenario.from_dict({**to_record(source), **use})
    return Scenario.load(source if isinstance(source, str) else Path(source))


def run_scenario(scenario: Any, *, with_: Mapping[Any, Any] | None = None, **options: Any) -> Projection:
    """Project a scenario as `forecast.project` does, in silence; what it names may be quantities and models."""
    from forecast.projection import engine

    what_if, swept = options.pop("what_if", ()), options.pop("sweep", None)
    for key, given in (("with_", with_), ("sweep", swept)):
        if not isinstance(given or {}, Mapping):
            raise UsageError(f"{key}: expected names with what each is set to, got {shown_value(given)}")
    values, changes, sweep = dict(with_ or {}), checked_changes(what_if), dict(swept or {})
    named = [*values, *values.values(), *sweep, *(each.get("of") for each in changes)]
    if any(isinstance(each, (Quantity, Model)) for each in named):
        scenario = Scenario.of(engine.loaded(scenario))
        changes = [{**each, "of": name_within(scenario, each.get("of", ""))} for each in changes]
        sweep = {name_within(scenario, key): each for key, each in sweep.items()}
        values = {name_within(scenario, key): each for key, each in values.items()}
        objects = {key: values.pop(key) for key, each in [*values.items()] if isinstance(each, (Quantity, Model))}
        scenario = scenario.with_(objects) if objects else scenario
    return engine.project(scenario, with_=values, sweep=sweep, what_if=changes, **options)


def checked_changes(what_if: Any) -> list[Mapping[str, Any]]:
    """Return changes; raise if they are something else."""
    if isinstance(what_if, str) or not all(isinstance(each, Mapping) for each in what_if):
        example = "[{'of': 'run', 'growth': '0.5*', 'since': 2028}]"
        raise UsageError(f"what_if: expected changes such as {example}, got {shown_value(what_if)}")
    return [*what_if]


def _quantity_record(definition: Any) -> Any:
    """Return a quantity of a scenario's keywords as a record."""
    if isinstance(definition, Mapping):
        return definition
    return definition.stated if isinstance(definition, Quantity) and definition.stated else {"expression": definition}


def plain_value(value: object) -> object:
    """Return what an answer says of a value: the name of a quantity or a model, else what was given."""
    if isinstance(value, Quantity) and value.is_model:
        value = value.model
    return value.name if isinstance(value, (Quantity, Model)) else value


def _replacement_quantity(scenario: Scenario, name: str, value: object) -> Quantity:
    """Return the quantity that replaces one of a scenario; all but another quantity has its name, and so its uses."""
    if isinstance(value, Quantity) and not value.is_model:
        return value
    model_or_value = value.record["model"] if isinstance(value, Quantity) else value
    # the name may have the name of a used scenario in front, which `quantity` does not take
    return replace(quantity("other", **replacement_record(scenario, name, model_or_value)), name=name)


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
