"""A checked graph of quantities: which models stand behind them, in which order, along which choices, in which units.

Everything that can be wrong with a scenario as a whole is found here, before a number is drawn: a name that does not
resolve, an input that nothing feeds, a cycle, units that do not balance.
"""

from __future__ import annotations

import contextlib
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from forecast import units
from forecast.contract.specs import Input
from forecast.errors import CycleError, ScenarioError, UnknownNameError, UsageError, printable
from forecast.formula import TIME_NAMES, Condition, Formula
from forecast.models import Model, model_lookup
from forecast.models.nesting import required_quantities, walk_models
from forecast.scenarios import qualifiers as bases, stream_names
from forecast.scenarios.quantities import hidden_quantities, limits
from forecast.scenarios.quantities.changes import Change
from forecast.scenarios.quantities.correlation import Correlation, check_correlated_quantities
from forecast.scenarios.quantities.node import Combination, Node
from forecast.scenarios.scenario import Scenario
from forecast.scenarios.settings import apply_settings, setting_targets, setting_values
from forecast.scenarios.spec import RankQuestion
from forecast.scenarios.table_values import Tables
from forecast.scenarios.templates import check_size, combinations
from forecast.units.qualifiers import Qualifiers


@dataclass(frozen=True, kw_only=True)
class ScenarioGraph:
    """A scenario whose names, units and order are settled.

    Parameters
    ----------
    scenario : Scenario
    nodes : mapping of str to Node
        In an order in which everything is computed before it is needed.
    inputs : mapping of str to Input
        Every named uncertain number, under ``model.input``.
    set_inputs : mapping of str to mapping
        Those that were set, with the record of a distribution in the input's unit.
    set_parameters : mapping of str to mapping
        What parameters of models are set to, by model and parameter, as it was said: their units are known once the
        model is fitted.
    correlated : mapping of str to Correlation
        By name, the group in which it moves with those before it.
    ordered : mapping of str to (str, str)
        By model, the fitted number of it that moves with others, and the name under which it stands in its group.
    read : tuple of str
        What was read of files for its figures, a sentence each.
    """

    scenario: Scenario
    nodes: Mapping[str, Node]
    inputs: Mapping[str, Input]
    set_inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    set_parameters: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    correlated: Mapping[str, Correlation] = field(default_factory=dict)
    ordered: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    read: tuple[str, ...] = ()

    @cached_property
    def quantities(self) -> dict[str, Node]:
        """The nodes that the scenario names, without the parts of formulas."""
        return {name: node for name, node in self.nodes.items() if not node.hidden}

    def measured(self, names: Iterable[str]) -> dict[str, str | None]:
        """Return the unit of each quantity among names, as formulas take it; None of one that stands for texts."""
        return {n: self.nodes[n].measured for n in names if n not in TIME_NAMES}

    def sizes(self, dims: Iterable[str]) -> tuple[int, ...]:
        """Return how many values each choice has."""
        return tuple(len(self.scenario.choices[d].values) for d in dims)

    @cached_property
    def models(self) -> dict[str, Model]:
        """Every model behind the quantities, and the models these contain, by name."""
        return {m.name: m for node in self.nodes.values() for outer in node.models.values() for m in walk_models(outer)}

    def dims(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the choices that these quantities depend on together, in the scenario's order."""
        depends_on = {dim for name in names if name not in TIME_NAMES for dim in self.nodes[name].dims}
        return tuple(c for c in self.scenario.choices if c in depends_on)

    def combinations(self, dims: tuple[str, ...]) -> Iterator[Combination]:
        """Walk every combination of these choices."""
        return combinations(self.scenario.choices, dims)

    def bases(self, names: Sequence[str], dims: tuple[str, ...], combination: Combination) -> dict[str, Qualifiers]:
        """Return what quantities state beside their units, under these values of the choices."""
        return bases.at(self.nodes, names, dims, combination)

    @property
    def weighed_by(self) -> tuple[str, ...]:
        """The quantities on which the weights of worlds depend; no weights, none."""
        return tuple(dict.fromkeys(n for tree in self.scenario.updates.values() for n in tree.names))

    def stream(self, name: str) -> str:
        """Return the name by which a quantity, a choice, a model or an input draws."""
        return stream_names.stream(self.scenario.streams, name)

    @cached_property
    def unit_of(self) -> dict[str, str | None]:
        """The unit of every quantity; None of a regime, which stands for texts."""
        return {name: node.measured for name, node in self.nodes.items()}


def build(scenario: Scenario, given: Mapping[str, object] | None = None) -> ScenarioGraph:
    """Resolve and check a scenario.

    Parameters
    ----------
    scenario : Scenario
    given : mapping, optional
        ``{"trend": "changepoint"}`` narrows a choice (a tuple of texts keeps several), ``{"brain": 1e18}`` fixes a
        quantity in its unit, ``{"brain/dettmers-2015.firing_rate": 100}`` fixes an input. Either may also have a unit,
        be a range, or a distribution (see `forecast.scenarios.settings.setting_values.parse_setting`).

    Raises
    ------
    UnknownNameError, ScenarioError, CycleError, UnitError
        Naming the file and key.
    """
    known, place = _known.get(), (id(scenario), tuple(given or ()))
    if known is not None and place in known and (again := _with_new_numbers(known[place], given or {})) is not None:
        return again
    built = _built(scenario, given or {})
    if known is not None:
        known[place] = built
    return built.graph


@dataclass(frozen=True, kw_only=True)
class _Built:
    """A graph, and what has gone into it.

    Parameters
    ----------
    scenario, narrowed : Scenario
        As it was given, and with its choices narrowed.
    choices, others : mapping
        What was set: of choices, and of models.
    unset, set : mapping of str to Node
        The quantities that are set, without what they are set to and with it.
    graph : ScenarioGraph
    """

    scenario: Scenario
    narrowed: Scenario
    choices: Mapping[str, object]
    others: Mapping[str, object]
    unset: Mapping[str, Node]
    set: Mapping[str, Node]
    graph: ScenarioGraph


#: What was built in a block of `numbers_change`, by the scenario and the names of what is set.
_known: ContextVar[dict[Any, _Built] | None] = ContextVar("graphs of a sweep", default=None)


@contextlib.contextmanager
def numbers_change(known: dict[Any, _Built] | None = None) -> Iterator[None]:
    """Build a scenario again and again in this block, with other numbers: what is read for it is read once.

    A graph that differs from one before in the numbers alone that are set is that one with other numbers. Several
    blocks may share what is `known`.
    """
    token = _known.set({} if known is None else known)
    try:
        yield
    finally:
        _known.reset(token)


def _with_new_numbers(built: _Built, given: Mapping[str, object]) -> ScenarioGraph | None:
    """Return a graph with other numbers for what is set in it; None where they are not all that differs."""
    if any(given[key] != value for key, value in built.choices.items()):
        return None
    nodes = dict(built.graph.nodes)
    for key, was in built.set.items():
        node = _set(built.narrowed, built.unset[key], key, given[key])
        if key not in nodes or node.fixed is None or was.fixed is None or replace(node, fixed=was.fixed) != was:
            return None
        nodes[key] = replace(nodes[key], fixed=node.fixed)
    return _with_settings(replace(built.graph, nodes=nodes), {key: given[key] for key in built.others})


def grown(graph: ScenarioGraph, scenario: Scenario) -> ScenarioGraph:
    """Return the graph of a scenario that differs from that of another in changes of growth alone."""
    nodes, key = dict(graph.nodes), f"{scenario.where}: changes"
    for name in {change.of for change in scenario.changes}:
        nodes[name] = replace(nodes[name], changes=tuple(each for each in scenario.changes if each.of == name))
        if nodes[name].cycle:
            _check_walked(scenario, nodes[name])
    told = replace(graph.scenario, changes=scenario.changes, stated=scenario.stated)
    result = replace(graph, scenario=told, nodes=nodes)
    for number, change in enumerate(scenario.changes, 1):
        _check_change(result, change, f"{key}[{number}]")
    setting_targets.check_changes(result)
    return result


def _set(scenario: Scenario, node: Node, key: str, value: object) -> Node:
    lower = scenario.lower.get(key)
    return apply_settings.to_node(node, key, value, lower=lower, unit=partial(_unit_when_set, scenario, node))


def _built(stated: Scenario, given: Mapping[str, object]) -> _Built:
    scenario, rest = stated, dict(given)
    narrowing = [k for k in rest if k in scenario.choices]
    whole = partial(build, scenario) if narrowing else None
    for key in narrowing:
        scenario = scenario.narrowed(key, setting_values.parse_texts(key, rest.pop(key)))
    before = scenario
    tables = Tables(scenario.where, scenario.start)
    named = list(scenario.quantities)
    scenario, owners = hidden_quantities.hide_functions(scenario)
    nodes = {
        name: limits.of_models(replace(quantity.node(scenario, name, tables), owner=owners.get(name, "")), scenario)
        for name, quantity in scenario.quantities.items()
    }
    for number, change in enumerate(scenario.changes, 1):
        if change.of not in named:
            raise UnknownNameError("quantity", change.of, named, where=f"{scenario.where}: changes[{number}].of")
        nodes[change.of] = replace(nodes[change.of], changes=(*nodes[change.of].changes, change))
    # what a run leaves out by its settings may still stand in a group: the others then move as before
    unset = ScenarioGraph(scenario=scenario, nodes=nodes, inputs=_model_inputs(nodes.values()))
    correlated, ordered = check_correlated_quantities(unset, whole)
    without = {key: nodes[key] for key in rest if key in named}
    nodes |= (with_numbers := {key: _set(before, node, key, rest.pop(key)) for key, node in without.items()})
    _check_needs(scenario, nodes)
    scenario, nodes = _without_unused(scenario, nodes)
    _check_names(nodes)
    _check_files(scenario, nodes)
    nodes = _sorted_nodes(scenario, nodes)
    graph = ScenarioGraph(
        scenario=scenario,
        nodes=_with_dims_and_units(scenario, nodes),
        inputs=_model_inputs(nodes.values()),
        correlated=correlated,
        ordered=ordered,
        read=tables.read,
    )
    for name, likelihood in scenario.updates.items():
        _check_update(graph, name, likelihood)
    for name, bound in scenario.limits.items():
        if graph.nodes[name].labels:
            raise ScenarioError(f"{scenario.where}: quantities.{name}: stands for texts: nothing bounds it")
        for part, condition in bound.conditions.items():
            _check_bound(graph, name, condition, f"{scenario.where}: quantities.{name}.{part}")
    for number, change in enumerate(scenario.changes, 1):
        _check_change(graph, change, f"{scenario.where}: changes[{number}]")
    for name, question in scenario.questions.items():
        _check_condition(graph, question.when, f"{scenario.where}: questions.{name}.when")
    for name, figure in scenario.figures.items():
        for of in figure.of.names:
            if graph.nodes[of].labels:
                raise ScenarioError(f"{scenario.where}: questions.{name}: '{of}' stands for texts: it has no value")
        check_size(scenario, graph.dims([*figure.of.names, *graph.weighed_by]), f"{scenario.where}: questions.{name}")
    for name, ranking in scenario.rankings.items():
        _check_ranking(graph, ranking, f"{scenario.where}: questions.{name}")
    return _Built(
        scenario=stated,
        narrowed=before,
        choices={key: given[key] for key in narrowing},
        others=rest,
        unset=without,
        set=with_numbers,
        graph=_with_settings(graph, rest, given),
    )


def _with_settings(
    graph: ScenarioGraph, others: Mapping[str, object], check: Mapping[str, object] | None = None
) -> ScenarioGraph:
    """Return a graph with what is set of its models, their inputs and fitted parameters.

    What is to be checked must have an effect, and so must the changes.
    """
    found = {key: setting_targets.matching_inputs(graph, key) for key in others}
    parameters = setting_targets.set_parameters(graph, {key: value for key, value in others.items() if not found[key]})
    if check is not None:
        setting_targets.check_has_effect(graph, check, "set")
        setting_targets.check_changes(graph)
    return replace(
        graph,
        set_inputs={
            match: apply_settings.to_input(graph.inputs[match], key, match, others[key])
            for key in others
            for match in found[key]
        },
        set_parameters=parameters,
    )


def _check_needs(scenario: Scenario, nodes: Mapping[str, Node]) -> None:
    for name, node in nodes.items():
        for need in node.needs:
            if need not in nodes:
                named = [n for n, other in nodes.items() if not other.hidden]
                where = f"{scenario.where}: quantities.{name}.{node.quantity.key_of(need)}"
                raise UnknownNameError("quantity", need, named, where=where)


def _unit_when_set(scenario: Scenario, node: Node) -> str:
    """Return the unit of a quantity that is set: what its expression gives where it states none."""
    return build(scenario).nodes[node.name].unit if node.quantity.UNIT_OF_NEEDS and not node.unit else node.unit


def _without_unused(scenario: Scenario, nodes: dict[str, Node]) -> tuple[Scenario, dict[str, Node]]:
    """Return both without those quantities of other scenarios on which nothing depends."""
    if not scenario.used:
        return scenario, nodes
    left = [name for name, node in nodes.items() if name not in scenario.used and not node.hidden]
    left += [name for each in scenario.asked.values() for name in each.needs]
    left += [*scenario.shown, *scenario.updates, *(n for tree in scenario.updates.values() for n in tree.names)]
    left += [change.of for change in scenario.changes]
    groups = [{n if n in nodes else n.rpartition(".")[0] for n in group.of} & nodes.keys()
              for group in scenario.correlations]  # fmt: skip

    def beside(name: str) -> Iterator[str]:
        yield from (*nodes[name].sources, *nodes[name].quantity.observed_by)
        yield from (each for group in groups if name in group for each in group)

    kept = setting_targets.reachable((n for n in left if n in nodes), lambda n: (m for m in beside(n) if m in nodes))
    quantities = {name: each for name, each in scenario.quantities.items() if name in kept}
    # a quantity that is set needs no more what limited it
    present = {*kept, *TIME_NAMES}
    limits = {n: each for n, each in scenario.limits.items() if n in kept and present.issuperset(each.names)}
    needed = replace(scenario, quantities=quantities, limits=limits)
    return needed, {name: node for name, node in nodes.items() if name in kept}


def _check_names(nodes: Mapping[str, Node]) -> None:
    """Refuse two different models under one name: they would share one fit and one stream of random numbers."""
    seen: dict[str, tuple[str, Model, bool]] = {}
    for node in nodes.values():
        for combination, outer in node.models.items():
            registered = node.variants.get(combination, node.quantity).registered
            for made in walk_models(outer):
                owner, first, both = seen.setdefault(made.name, (node.name, made, registered))
                if first is made:
                    continue
                at = f"quantities {owner} and {node.name}: two models have the name '{made.name}'"
                if not (registered and both) and not model_lookup.is_same_model(first, made):
                    raise UsageError(f"{at}; give each a name of its own")
                # a registered name is one model however often it is made, but for what stands beside a series
                if "@" in made.name and _trend_arguments(first) != _trend_arguments(made):
                    raise UsageError(
                        f"{at} and differ in the shape, its options or what they keep; one scenario holds one of them"
                    )


def _trend_arguments(model: Model) -> tuple[object, ...]:
    """Return the shape and the options that a trend was made with, and what it keeps."""
    return getattr(model, "shape", None), getattr(model, "options", None), model.keeps, model.bounds


def _sorted_nodes(scenario: Scenario, nodes: Mapping[str, Node]) -> dict[str, Node]:
    """Sort so that everything comes after what it needs; the members of a cycle through time stand together.

    Raises
    ------
    CycleError
        Walking the circle, where something needs itself at the same step.
    """
    done: dict[str, Node] = {}
    for group in _strong_components(nodes):
        members = _cycle_order(scenario, {name: nodes[name] for name in group})
        first = nodes[members[0]]
        stepped = first.quantity.STEPPED and first.fixed is None
        cycle = members if len(members) > 1 or first.name in first.sources or stepped else ()
        for name in members if cycle else ():
            _check_walked(scenario, nodes[name])
        done |= {name: replace(nodes[name], cycle=cycle) for name in members}
    return done


def _check_walked(scenario: Scenario, node: Node) -> None:
    """Refuse what is done to whole paths, of a quantity that is walked through time."""
    key = f"{scenario.where}: {node.owner or f'quantities.{node.name}'}"
    if node.fixed is not None:
        return
    if node.changes:
        raise ScenarioError(f"{key}: a change is not taken on a cycle through time; change what feeds it")
    if not node.quantity.IN_CYCLE:
        raise ScenarioError(f"{key}: a model cannot stand on a cycle through time: it gives whole paths")


def _strong_components(nodes: Mapping[str, Node]) -> Iterator[tuple[str, ...]]:
    """Walk the strongly connected parts, each after those that it needs (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    for root in nodes:
        if root in index:
            continue
        work = [(root, iter(nodes[root].sources))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            name, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    place = stack.index(name)
                    group = tuple(stack[place:])
                    del stack[place:]
                    yield tuple(n for n in nodes if n in group) if len(group) > 1 else group
            elif following not in index:
                index[following] = low[following] = len(index)
                stack.append(following)
                work.append((following, iter(nodes[following].sources)))
            elif following in stack:
                low[name] = min(low[name], index[following])


def _cycle_order(scenario: Scenario, nodes: Mapping[str, Node]) -> tuple[str, ...]:
    """Return the members of a cycle, each after those that it needs at the same step."""
    done: dict[str, None] = {}
    for root in nodes:
        path = {root: iter((*nodes[root].needs, *nodes[root].bounded_by))}
        while path:
            name, rest = next(reversed(path.items()))
            need = next((n for n in rest if n in nodes and n not in done), None)
            if need is None:
                done[name] = None
                del path[name]
            elif need in path:
                circle = " → ".join((*list(path)[list(path).index(need) :], need))
                key = nodes[need].owner or f"quantities.{need}"
                raise CycleError(f"{scenario.where}: {key}: needs itself: {circle}")
            else:
                path[need] = iter((*nodes[need].needs, *nodes[need].bounded_by))
    return tuple(done)


def _with_dims_and_units(scenario: Scenario, nodes: dict[str, Node]) -> dict[str, Node]:
    out: dict[str, Node] = {}
    for name, node in nodes.items():
        together = [nodes[n] for n in node.cycle] or [node]
        # what stands on a cycle has the unit that it states: no other can be known before it
        out |= {n.name: n for n in together if n.name not in out}
        depends = {d for n in together for need in n.sources if need not in node.cycle for d in out[need].dims}
        depends |= {d for n in together for d in n.own}
        dims = () if node.fixed is not None else tuple(c for c in scenario.choices if c in depends)
        key = f"{scenario.where}: {node.owner or f'quantities.{name}'}"
        check_size(scenario, dims, key)
        unit_of = {n: out[n].measured for n in node.sources}
        unit = node.quantity.unit_in(node, ChainMap(out, nodes), unit_of, key)
        for model in node.models.values():
            for need, needed in required_quantities(model):
                fed = out[node.source(need)]
                units.check(
                    fed.unit, needed.unit, where=f"{key}: input '{need}' of model '{model.name}' from '{fed.name}'"
                )
        stated = bases.of_node(scenario, replace(node, dims=dims), out, key)
        out[name] = replace(node, dims=dims, unit=unit, bases=stated, steady=_steady(node, out))
    return out


def _steady(node: Node, nodes: Mapping[str, Node]) -> bool:
    """Tell whether a quantity is known not to change with time."""
    if any(change.value is not None for change in node.changes):
        return False
    if not all(n not in TIME_NAMES and nodes[n].steady for n in node.bounded_by):
        return False
    if node.fixed is not None:
        return True
    return node.quantity.CONSTANT if node.cycle else node.quantity.steady(node, nodes)


def _model_inputs(nodes: Iterable[Node]) -> dict[str, Input]:
    inputs: dict[str, Input] = {}
    for node in nodes:
        for model in node.models.values():
            for inner in walk_models(model):
                for name, need in inner.inputs.items():
                    if isinstance(need, Input):
                        inputs[f"{inner.name}.{name}"] = need
    return inputs


def _check_files(scenario: Scenario, nodes: Mapping[str, Node]) -> None:
    """Refuse two files of draws under one name: they would share the uniforms that choose their rows."""
    seen: dict[str, tuple[str, Any]] = {}
    for node in nodes.values():
        if (rows := node.quantity.rows) is not None:
            stream, file = rows
            owner, first = seen.setdefault(stream, (node.name, file))
            if first != file:
                raise ScenarioError(
                    f"{scenario.where}: quantities.{node.name}.draws: another file of this name is read by "
                    f"'{owner}', and rows are chosen by name; give one of them another name"
                )


def _check_update(graph: ScenarioGraph, name: str, tree: Formula) -> None:
    known, key = graph.unit_of, f"{graph.scenario.where}: update.{name}"
    if name not in known:
        raise UnknownNameError("quantity", name, known, where=f"{graph.scenario.where}: update")
    for each in tree.names:
        if each not in known:
            raise UnknownNameError("quantity", each, known, where=f"{key}.log_likelihood")
    if not tree.names:
        raise ScenarioError(f"{key}.log_likelihood: '{tree.text}' is the same in every world: it weighs nothing")
    units.check(units.infer(tree, known, where=f"{key}.log_likelihood"), "", where=f"{key}.log_likelihood")


def _check_bound(graph: ScenarioGraph, name: str, condition: Condition, key: str) -> None:
    node = graph.nodes[name]
    _check_condition(graph, condition, key)
    unit = units.sides(condition, graph.unit_of, where=printable(key)).unit
    units.check(unit, node.unit, where=key)


def _check_change(graph: ScenarioGraph, change: Change, key: str) -> None:
    node = graph.nodes[change.of]
    if node.labels:
        raise ScenarioError(f"{key}.of: '{change.of}' stands for texts: it has neither growth nor another value")
    if change.value is not None:
        _check_bound(graph, change.of, change.value, f"{key}.value")
    elif node.steady:
        raise ScenarioError(f"{key}.growth: '{change.of}' does not change with time: it has no growth to multiply")


def _check_condition(graph: ScenarioGraph, when: Condition, key: str) -> None:
    check_size(graph.scenario, graph.dims([*when.names, *graph.weighed_by]), key)
    bases.check_condition(graph.scenario, graph.nodes, when, key)
    if when.formula.categories:
        units.infer(when.formula, graph.unit_of, where=key)
    else:
        units.sides(when, graph.unit_of, where=printable(key))


def _check_ranking(graph: ScenarioGraph, ranking: RankQuestion, key: str) -> None:
    units.infer(ranking.rank, graph.unit_of, where=f"{key}.rank")
    dims = graph.dims(ranking.rank.names)
    check_size(graph.scenario, graph.dims([*ranking.rank.names, *graph.weighed_by]), key)
    if ranking.over not in dims:
        reason = f"'{ranking.rank.text}' is the same for every value of '{ranking.over}': there is nothing to rank"
        raise ScenarioError(f"{key}.rank: {reason}")
    if ranking.over in graph.dims(graph.weighed_by):
        raise ScenarioError(
            f"{key}.over: [update] weighs the worlds of each value of '{ranking.over}' on its own: there is no common "
            "world in which to compare them"
        )
    bases.check_ranking(graph.scenario, graph.nodes, ranking, f"{key}.rank")
    for condition in ranking.among:
        _check_condition(graph, condition, f"{key}.subject_to")
