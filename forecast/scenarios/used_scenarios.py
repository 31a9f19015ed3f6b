"""Scenarios that another one uses: their quantities stand in it, under a name in front or as they are.

::

    use = { mc = "model-capability", brain = "brain-parity" }      # mc.run, brain.machine
    use = ["hardware-prices", { brain = "brain-parity" }]          # flop_per_usd, brain.machine

A quantity comes with all on which it depends: choices, limits, data, what it moves together with, and what its worlds
weigh. Of what has a name in front only what is needed is drawn. Questions and what is shown stay at home. What a record
states under the name of a quantity that it uses stands in its place. Dates that it does not state, and the step, are
those of the first scenario that states them.

A scenario that *extends* others is written over them instead: it has all that they state, questions and what is shown
among it, and of a named part that both have its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast.base.budgets import check_time
from forecast.contract.registry import get_registry
from forecast.errors import ScenarioError, UnknownNameError, printable
from forecast.scenarios import registered
from forecast.scenarios.questions import shorten_questions
from forecast.scenarios.renaming import rename_part, renamed_name
from forecast.scenarios.settings.presets import not_restated

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader
    from forecast.scenarios.scenario import Scenario

#: A scenario that extends one that extends one, and so on, at most this often.
MAX_EXTENDS = 8
#: And uses one that uses one, and so on.
MAX_USE_DEPTH = 32
#: One scenario names so many others at most that it extends, or uses.
MAX_EXTENDED_SCENARIOS, MAX_USED_SCENARIOS = 32, 200
#: Quantities and choices of scenarios that are used, counted whenever one is: forty files that use the next one twice
#: are few bytes and 2**40 quantities. The shipped scenario that uses most comes to 1,715.
MAX_USED_PARTS = 20_000


@dataclass
class _Reading:
    """What is being read, or was on the way.

    Parameters
    ----------
    scenarios : dict
        By name or file; one that waits for those that it uses is None.
    parts, depth : int
        The quantities and choices of what was used so far, and how many scenarios wait for what they use.
    """

    scenarios: dict[str | Path, Scenario | None] = field(default_factory=dict)
    parts: int = 0
    depth: int = 0


_reading: ContextVar[_Reading | None] = ContextVar("scenarios that are read", default=None)


def used_entries(given: Any) -> Iterator[tuple[str, Any]]:
    """Walk what is used and the name in front of it, which is empty where there is none."""
    if isinstance(given, Mapping):
        yield from given.items()
        return
    for each in given:
        if isinstance(each, Mapping) and not {"quantities", "extends", "use"} & set(each):
            yield from each.items()
        else:
            yield "", each


def extend_scenario(
    record: Mapping[str, Any], reader: ScenarioReader, valid_names: tuple[str, ...], depth: int = 0
) -> Mapping[str, Any]:
    """Return a scenario with what it takes from the registered ones that it extends, the last of them first.

    A named part (a choice, a quantity, a question) that both have is the extending one's, whole. A preset of what the
    extending one states anew is left out, and so are values after the end that it states, as where a run states one.

    Raises
    ------
    ScenarioError, UnknownNameError
        For a key that is not `valid_names`, and for a scenario that is not registered.
    """
    from forecast.scenarios.parse import ScenarioReader

    reader.only(record, valid_names, "")
    if "extends" not in record:
        return record
    if depth == MAX_EXTENDS:
        raise reader.fail("extends", f"more than {MAX_EXTENDS} scenarios extend one another")
    listed = record["extends"] if isinstance(record["extends"], (list, tuple)) else [record["extends"]]
    if len(listed) > MAX_EXTENDED_SCENARIOS:
        raise reader.fail("extends", f"{len(listed):,} scenarios; at most {MAX_EXTENDED_SCENARIOS} are extended")
    whole: dict[str, Any] = {}
    for place, name in enumerate(listed):
        try:
            base = get_registry().find("scenario", reader.text({"extends": name}, "extends", ""))
        except UnknownNameError as error:
            at = f"extends[{place + 1}]" if len(listed) > 1 else "extends"
            raise ScenarioError(f"{printable(reader.where)}: {at}: {error}") from None
        path = registered.path_of(base)
        inner = ScenarioReader(path.name, path.parent)
        whole = _merge_records(whole, extend_scenario(registered.read_registered(base), inner, valid_names, depth + 1))
    return {key: value for key, value in _merge_records(whole, record).items() if key != "extends"}


def _merge_records(base: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with what another one has besides; of a named part that both have, the record's own."""
    whole = dict(base)
    if isinstance(presets := whole.get("presets"), Mapping):
        whole["presets"] = not_restated(presets, record)
    if isinstance(questions := whole.get("questions"), Mapping):
        whole["questions"] = shorten_questions(questions, record.get("until"))
    for key, value in record.items():
        groups = isinstance(value, Mapping) and isinstance(whole.get(key), Mapping)
        if key == "use" and key in whole:
            whole[key] = join_used(whole[key], value)
        else:
            whole[key] = {**whole[key], **value} if groups else value
    return whole


def join_used(base: Any, own: Any) -> Any:
    """Return what two records use, one after the other.

    Examples
    --------
    >>> join_used({"brain": "brain-parity"}, {"mc": "model-capability"})
    {'brain': 'brain-parity', 'mc': 'model-capability'}
    >>> join_used(["a"], {"mc": "model-capability"})
    ['a', {'mc': 'model-capability'}]
    """
    if not base or (isinstance(base, Mapping) and isinstance(own, Mapping)):
        return {**base, **own} if base else own
    return [each for given in (base, own) for each in ([given] if isinstance(given, Mapping) else given)]


def read_used(reader: ScenarioReader, given: Any) -> Scenario:
    """Return everything that a record uses as one scenario without questions; without quantities where it uses nothing.

    Raises
    ------
    ScenarioError, UnknownNameError
        Naming the scenario, or the quantity that two of them have.
    """
    from forecast.scenarios.scenario import Scenario

    whole = Scenario(name="", where="")
    if not isinstance(given, (Mapping, list, tuple)):
        raise reader.fail("use", 'expected names of scenarios, such as { mc = "model-capability" }, or a list of them')
    listed = list(itertools.islice(used_entries(given), MAX_USED_SCENARIOS + 1))
    if len(listed) > MAX_USED_SCENARIOS:
        raise reader.fail("use", f"more than {MAX_USED_SCENARIOS} scenarios")
    with _each_once() as reading:
        if reading.depth > MAX_USE_DEPTH:
            raise reader.fail("use", f"more than {MAX_USE_DEPTH} scenarios use one another")
        for alias, each in listed:
            used, key = _read_one(reader, reading, alias, each)
            where = f"{printable(reader.where)}: {key}"
            reading.parts += len(used.quantities) + len(used.choices)
            if reading.parts > MAX_USED_PARTS:
                raise reader.fail(
                    key,
                    f"more than {MAX_USED_PARTS:,} quantities and choices in all that is used, each counted as often "
                    "as it is: use fewer scenarios, or one of them once",
                )
            check_time(f"{where}: reading what is used", reading.parts, things="quantities and choices")
            whole = _merge_scenarios(whole, _with_alias(used, alias), where)
    return whole


def _read_one(reader: ScenarioReader, reading: _Reading, alias: str, each: Any) -> tuple[Scenario, str]:
    """Return one scenario that is used, as it is at home, and the key where it stands."""
    from forecast.scenarios.scenario import Scenario

    if alias:
        reader.name(alias, "use")
    key = f"use.{alias}" if alias else "use"
    where = f"{printable(reader.where)}: {key}"
    if isinstance(each, Scenario):
        used = each
    elif isinstance(each, Mapping):
        used = Scenario.remade(each, name=alias or "used", where=where, folder=reader.folder)
    elif isinstance(each, str) and each.lower().endswith(".toml"):
        used = _load_scenario(reading, Path(registered.file_of(each, reader.folder, where=where)), where)
    elif isinstance(each, str):
        used = _load_scenario(reading, each, where)
    else:
        raise reader.fail(key, f"expected the name of a scenario, or a table, got {printable(each, 40)}")
    return used, key


def _load_scenario(reading: _Reading, name: str | Path, where: str) -> Scenario:
    """Return a scenario by its name or from its file; one that several others use is read once."""
    from forecast.scenarios.scenario import Scenario

    try:
        if name not in reading.scenarios:
            reading.scenarios[name] = None
            reading.scenarios[name] = Scenario.load(name)
        if (used := reading.scenarios[name]) is None:
            raise ScenarioError(f"{where}: '{printable(Path(name).name, 120)}' is used by what it uses")
        return used
    except UnknownNameError as error:
        raise ScenarioError(f"{where}: {error}") from None


@contextmanager
def _each_once() -> Iterator[_Reading]:
    """Have each scenario read once while what uses them is read, and offer those that are."""
    outer = _reading.get()
    reading = outer or _Reading()
    token = _reading.set(reading)
    reading.depth += 1
    try:
        yield reading
    finally:
        reading.depth -= 1
        _reading.reset(token)


def _with_alias(scenario: Scenario, alias: str) -> Scenario:
    """Return a scenario with a name in front of its quantities and choices; its questions stay as they are."""
    names = [*scenario.quantities, *scenario.choices]
    streams = {name: scenario.streams.get(name, name) for name in names}
    if not alias:
        return replace(scenario, streams=streams)
    new = {name: f"{alias}.{name}" for name in names}

    def keyed(group: Mapping[str, Any]) -> dict[str, Any]:
        return {new.get(name, name): rename_part(each, new) for name, each in group.items()}

    groups = ("choices", "quantities", "lower", "before", "limits", "labels", "updates")
    parts: dict[str, Any] = {group: keyed(getattr(scenario, group)) for group in groups}
    parts["labels"] = {**{new[name]: name for name in scenario.choices}, **parts["labels"]}
    parts["quantities"] = {name: each.under(alias) for name, each in parts["quantities"].items()}
    return replace(
        scenario,
        **parts,
        correlations=rename_part(scenario.correlations, new),
        changes=rename_part(scenario.changes, new),
        alone=frozenset(renamed_name(name, new) for name in scenario.alone),
        presets=tuple(each.under(alias, new) for each in scenario.presets),
        streams={new[name]: stream for name, stream in streams.items()},
        used=frozenset(new[name] for name in scenario.quantities),
    )


def _merge_scenarios(one: Scenario, other: Scenario, where: str) -> Scenario:
    """Return two scenarios as one; what both have is one thing where both have it from the same scenario."""
    for kind, mine, theirs in (("quantity", one.quantities, other.quantities), ("choice", one.choices, other.choices)):
        for name in mine.keys() & theirs.keys():
            if mine[name] != theirs[name] or one.streams[name] != other.streams[name]:
                text = f"two scenarios that are used have a {kind} '{printable(name, 60)}': give one a name in front"
                raise ScenarioError(f"{where}: {text}")
    groups = ("choices", "quantities", "lower", "before", "limits", "labels", "updates", "streams")
    several: dict[str, Any] = {group: {**getattr(other, group), **getattr(one, group)} for group in groups}
    several["choices"] = {**one.choices, **other.choices}  # in the order in which they are used, as answers say them
    correlations = dict.fromkeys((*one.correlations, *other.correlations))
    return replace(
        one,
        **several,
        correlations=tuple(correlations),
        changes=(*one.changes, *(each for each in other.changes if each not in one.changes)),
        alone=one.alone | other.alone,
        presets=(*one.presets, *other.presets),
        used=one.used | other.used,
        until=other.until if one.until is None else one.until,
        start=other.start if one.start is None else one.start,
        step=other.step if one.step == "year" else one.step,
    )


def to_record(given: Any) -> Any:
    """Return what a record uses as a file says it: a scenario in Python is its name, or what it states."""
    from forecast.scenarios.scenario import Scenario

    if isinstance(given, Mapping):
        return {alias: to_record(each) for alias, each in given.items()}
    if isinstance(given, (list, tuple)):
        return [to_record(each) for each in given]
    if not isinstance(given, Scenario):
        return given

    if given.name in get_registry().names("scenario") and Scenario.load(given.name).stated == given.stated:
        return given.name
    return {
        key: each for key, each in given.record.items() if key not in ("questions", "show", "levers", "says", "title")
    }
