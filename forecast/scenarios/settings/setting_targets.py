"""What a key of ``--set`` or ``--swap`` means in a graph: a choice, a quantity, an input, or a fitted parameter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from forecast.errors import UnknownNameError, UsageError, first_names, nearest, printable
from forecast.formula import TIME_NAMES
from forecast.models import FittedModel
from forecast.models.nesting import walk_models

if TYPE_CHECKING:
    from forecast.scenarios.graph import ScenarioGraph


def correlated_with(graph: ScenarioGraph, swapped: Collection[str]) -> frozenset[str]:
    """Return what moved together with others and no longer does where these quantities are others.

    The others keep their draws, as if it were still there.
    """
    kept = {model.name for name, node in graph.nodes.items() if name not in swapped for model in node.models.values()}
    gone = {model.name for name in swapped for model in graph.nodes[name].models.values()} - kept
    named = {name for group in graph.scenario.correlations for name in group.of}
    return frozenset(n for n in named if n in swapped or n.rpartition(".")[0] in {*swapped, *gone})


def model_names(graph: ScenarioGraph, quantity: str) -> list[str]:
    """Return the names of the models behind a quantity, and of those that these contain."""
    return list(dict.fromkeys(m.name for made in graph.nodes[quantity].models.values() for m in walk_models(made)))


def matching_inputs(graph: ScenarioGraph, key: str) -> list[str]:
    """Return the inputs that a key means: by full name, by the model's bare name, by series, or by quantity."""
    owner, _, name = str(key).rpartition(".")
    matches = [n for n in graph.inputs if n == key or (owner and _bare(n) == key)]
    if not matches and owner:  # of a series: on each shape that has it
        series = {n: f"{n.partition('@')[0]}.{n.rpartition('.')[2]}" for n in graph.inputs if "@" in n}
        matches = [n for n, short in series.items() if key in (short, _bare(short))]
    if not matches and owner in graph.nodes:
        inner = model_names(graph, owner)
        matches = [n for n in graph.inputs if n.rpartition(".")[0] in inner and n.rpartition(".")[2] == name]
    return matches


def fitted_models(graph: ScenarioGraph, key: str) -> list[str]:
    """Return the models whose fitted numbers a key may mean, ``QUANTITY.NUMBER`` or ``MODEL.NUMBER``; none for others.

    Whether these models have such a number shows when they are fitted.
    """
    owner, _, name = str(key).rpartition(".")
    if not owner or not name or matching_inputs(graph, key):
        return []
    # what is never fitted says at once what can be set
    fitted = [n for n, each in graph.models.items() if not isinstance(each, FittedModel) or each.settable]
    return (
        [n for n in model_names(graph, owner) if n in fitted]
        if owner in graph.nodes
        else _matching_models(fitted, owner)
    )


def set_parameters(graph: ScenarioGraph, given: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Return what is set and is no input, by model and parameter.

    Whether these models have such parameters shows when they are fitted.

    Raises
    ------
    UnknownNameError
        For what names neither a quantity with a model nor a model.
    """
    out: dict[str, dict[str, object]] = {}
    for key, value in given.items():
        name = str(key).rpartition(".")[2]
        matches = fitted_models(graph, key)
        if not matches:
            useful = [n for n in needed_by_questions(graph, shown=True) if not graph.nodes[n].hidden]
            known = [*graph.scenario.choices, *useful]
            ends = {n.rpartition(".")[2]: n for n in known}  # of a scenario that is used, without its name in front
            near = "" if nearest(str(key), known) else ends.get(nearest(str(key), ends) or "", "")
            note, known = near and f"did you mean '{near}'?", [*known, *graph.inputs]
            raise UnknownNameError("choice, quantity or input", key, known, where="set", note=note)
        for match in matches:
            out.setdefault(match, {})[name] = value
    return out


def _bare(name: str) -> str:
    """Return the name of a registered model, or of a number of it, without the plugin; any other as it is.

    Examples
    --------
    >>> _bare("brain/dettmers-2015.firing_rate"), _bare("mine@trends/exponential.growth")
    ('dettmers-2015.firing_rate', 'mine@trends/exponential.growth')
    """
    head, at, rest = name.partition("@")
    return f"{head.rpartition('/')[2]}{at}{rest}"


def _matching_models(every: Iterable[str], owner: str) -> list[str]:
    """Return the models of a full or a bare name; those of a series, with whatever shape, where there are none."""
    series = {n: n.partition("@")[0] for n in every}
    exact = [n for n in series if owner in (n, _bare(n))]
    return exact or [n for n, short in series.items() if owner in (short, _bare(short))]


def check_no_model(key: str, value: object) -> None:
    """Refuse a model as what a quantity is set to: it is swapped.

    Raises
    ------
    UsageError
    """
    from forecast.contract.registry import get_registry

    name = value.partition("@")[0] if isinstance(value, str) else ""
    known = get_registry().names("model") if name and not name[0].isdigit() else ()
    if any(name in (full, full.partition("/")[2]) for full in known):
        way = f"{printable(key, 80)}={printable(value, 80)}"
        raise UsageError(f"set {way}: a model is no value; swap it: --swap {way}, or with_(…) in Python")


def read_by_questions(graph: ScenarioGraph) -> list[str]:
    """Return the quantities that the questions read themselves."""
    return [name for question in graph.scenario.asked.values() for name in question.needs]


def needed_by_questions(graph: ScenarioGraph, *, shown: bool = False) -> dict[str, None]:
    """Return the quantities on which the questions depend; every quantity if the scenario has no question.

    With `shown` the quantities under ``show`` count as well, and all of them if the scenario lists none.
    """
    names, listed = read_by_questions(graph), graph.scenario.shown
    names = [*names, *listed] if names and (listed or not shown) else []
    return with_dependencies(graph, (*names, *graph.weighed_by) if names else list(graph.nodes))


def with_dependencies(graph: ScenarioGraph, names: Iterable[str]) -> dict[str, None]:
    """Return these quantities, and those on which they depend."""
    return reachable((n for n in names if n not in TIME_NAMES), lambda name: graph.nodes[name].sources)


def reachable(start: Iterable[str], neighbours: Callable[[str], Iterable[str]]) -> dict[str, None]:
    """Return these names and all that are reached from them, the nearest first.

    Examples
    --------
    >>> list(reachable(["a"], {"a": ["b"], "b": ["a", "c"], "c": []}.__getitem__))
    ['a', 'b', 'c']
    """
    found = dict.fromkeys(start)
    left = list(found)
    while left:
        new = [name for name in neighbours(left.pop(0)) if name not in found]
        found |= dict.fromkeys(new)
        left += new
    return found


def meant(graph: ScenarioGraph, key: str) -> set[str]:
    """Return the quantities that a key sets, or whose models have what it sets.

    Raises
    ------
    UnknownNameError
    """
    if key in graph.nodes or key in graph.scenario.used:  # of which what is not needed has no node
        return {key}
    owners = {each.rpartition(".")[0] for each in matching_inputs(graph, key)} or set(
        set_parameters(graph, {key: None})
    )
    return {name for name in graph.nodes if not owners.isdisjoint(model_names(graph, name))}


def check_has_effect(graph: ScenarioGraph, keys: Iterable[str], verb: str) -> None:
    """Refuse to set, to swap or to sweep what no answer depends on.

    A setting may also change a quantity that a run shows; a swap or a sweep must change an answer. A choice may be
    narrowed even if nothing depends on it any more.

    Raises
    ------
    UsageError
        Listing what they depend on, the nearest first.
    """
    for key in keys:
        if key in graph.scenario.choices:
            continue
        means = meant(graph, key)
        if verb == "set":
            own = key in graph.nodes
            useless = not _shows_change(graph, means, own=own, echo=own and graph.nodes[key].fixed is not None)
        else:
            useless = means.isdisjoint(needed_by_questions(graph))
        if useless:
            raise UsageError(f"{verb} {printable(key, 80)}: {_dependencies_text(graph, means, shown=verb == 'set')}")


def check_changes(graph: ScenarioGraph) -> None:
    """Refuse a change of a quantity on which nothing depends that an answer shows.

    Raises
    ------
    UsageError
        Listing what could be changed, the nearest first.
    """
    for number, change in enumerate(graph.scenario.changes, 1):
        if not _shows_change(graph, {change.of}, own=True):
            where = f"{graph.scenario.where}: changes[{number}].of: '{change.of}'"
            raise UsageError(f"{where}: {_dependencies_text(graph, {change.of}, shown=True)}")


def opening_question(graph: ScenarioGraph, keys: Iterable[str]) -> str:
    """Return the question that opens an answer for which these were set or changed: the first that depends on them.

    Empty where that is the one with which the scenario opens anyway.
    """
    means = {name for key in keys if key not in graph.scenario.choices for name in meant(graph, key)}
    if not means:
        return ""
    reached = with_dependents(graph, means)
    every = _quantities_by_question(graph)
    first = graph.scenario.opens or next(iter(every), "")
    if not first or not reached.isdisjoint(every[first]):
        return ""
    return next((name for name, names in every.items() if not reached.isdisjoint(names)), "")


def _quantities_by_question(graph: ScenarioGraph) -> dict[str, tuple[str, ...]]:
    """Return the quantities that each question names, in the order in which they may open an answer."""
    out = {name: question.needs for name, question in graph.scenario.asked.items()}
    races = graph.scenario.firsts.items()
    return out | {name: tuple(n for each in race.first for n in out[each]) for name, race in races}


def _shows_change(
    graph: ScenarioGraph, changed: Collection[str], *, own: bool, echo: bool = False, unset: Collection[str] = ()
) -> bool:
    """Tell whether an answer shows anything that depends on what is changed.

    Parameters
    ----------
    graph : ScenarioGraph
    changed : collection of str
        Quantities.
    own : bool
        They are changed as a whole: that they are shown themselves tells nobody anything.
    echo : bool
        They are numbers now: neither does a question for the value of one of them.
    unset : collection of str
        As if these were not set.
    """
    scenario, reached = graph.scenario, with_dependents(graph, changed, unset)
    every = _quantities_by_question(graph)
    if not every:
        return True
    questions = [
        names for q, names in every.items()
        if not (echo and q in scenario.figures and {scenario.figures[q].of.text.strip()} <= set(changed))
    ]  # fmt: skip
    in_questions = {*(n for names in questions for n in names), *graph.weighed_by}
    shown = set(scenario.shown or graph.quantities) - (set(changed) if own else set())
    return not reached.isdisjoint(in_questions | shown)


def with_dependents(graph: ScenarioGraph, changed: Iterable[str], unset: Collection[str] = ()) -> set[str]:
    """Return these quantities, and those that depend on them; what is set to a number depends on nothing but limits."""
    users: dict[str, list[str]] = {}
    for name, node in graph.nodes.items():
        for source in node.sources if node.fixed is None or name in unset else node.bounds:
            users.setdefault(source, []).append(name)
    return set(reachable(changed, lambda name: users.get(name, ())))


def _dependencies_text(graph: ScenarioGraph, changed: Collection[str], *, shown: bool) -> str:
    """Say what an answer depends on, those first that are fewest steps away from what was to be changed."""
    known = needed_by_questions(graph, shown=shown)
    beside: dict[str, list[str]] = {}
    for name, node in graph.nodes.items():
        for source in node.sources:
            beside.setdefault(name, []).append(source)
            beside.setdefault(source, []).append(name)
    near = reachable(changed, lambda name: beside.get(name, ()))
    useful = [n for n in (*near, *known) if n in known and n not in changed and not graph.nodes[n].hidden]
    useful = [
        n for n in dict.fromkeys(useful) if not shown or _shows_change(graph, {n}, own=True, echo=True, unset=changed)
    ]
    return f"no answer depends on it; what is asked depends on {first_names([*useful, *graph.dims(list(known))])}"
