"""A checked graph of quantities: which models stand behind them, in which order, along which choices, in which units.

Everything that can be wrong with a scenario as a whole is found here, before a number is drawn: a name that does not
resolve, an input that nothing feeds, a cycle, units that do not balance.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from forecast import models, units
from forecast.base.distributions import distribution
from forecast.contract.specs import Input
from forecast.errors import CycleError, ScenarioError, UnitError, UnknownNameError, UsageError, printable
from forecast.formula import Condition, Formula
from forecast.models import Model
from forecast.models.nesting import asks, nested
from forecast.scenarios import qualifiers as bases
from forecast.scenarios import settings
from forecast.scenarios.scenario import (
    Cell,
    Expression,
    ModelRef,
    Prior,
    Quantity,
    Ranking,
    Scenario,
    SeriesRef,
    braces,
    fill,
)
from forecast.scenarios.table_values import Tables, choices_of
from forecast.units.qualifiers import Qualifiers

__all__ = ["Combination", "Graph", "Node", "build", "nested"]

#: More combinations of choices than this are refused before they are walked.
MOST_COMBINATIONS = 100_000

#: One value for each choice a quantity depends on, in the order of its dimensions.
Combination = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Node:
    """One quantity, resolved.

    Parameters
    ----------
    name, unit : str
    dims : tuple of str
        The choices it depends on, its own and those of the quantities it needs, in the scenario's order.
    own : tuple of str
        The choices that its model's name and its shape hold.
    models : mapping of combination to Model
        The model for each combination of `own`; empty for expressions and priors.
    needs : tuple of str
        The quantities it needs.
    quantity : Quantity
    fixed : float or None
        Set to a number, whatever its model says.
    figures : mapping of combination to float
        What was read in a table for each combination of `own`, in `unit`.
    bases : mapping of combination to qualifiers
        What is stated beside its unit, for each combination of `dims`; empty where nothing ever is.
    """

    name: str
    unit: str
    dims: tuple[str, ...]
    own: tuple[str, ...] = ()
    models: Mapping[Combination, Model] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    quantity: Quantity
    fixed: float | None = None
    figures: Mapping[Combination, float] = field(default_factory=dict)
    bases: Mapping[Combination, Qualifiers] = field(default_factory=dict)

    def source(self, need: str) -> str:
        """Return the quantity that feeds the input `need` of this node's model."""
        assert isinstance(self.quantity, ModelRef)
        return self.quantity.inputs.get(need, need)


@dataclass(frozen=True, kw_only=True)
class Graph:
    """A scenario whose names, units and order are settled.

    Parameters
    ----------
    scenario : Scenario
    nodes : mapping of str to Node
        In an order in which everything is computed before it is needed.
    inputs : mapping of str to Input
        Every named uncertain number, under ``model.input``.
    fixed_inputs : mapping of str to float
        Those set to a number.
    """

    scenario: Scenario
    nodes: Mapping[str, Node]
    inputs: Mapping[str, Input]
    fixed_inputs: Mapping[str, float] = field(default_factory=dict)

    def dims(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the choices that these quantities depend on together, in the scenario's order."""
        depends_on = {dim for name in names for dim in self.nodes[name].dims}
        return tuple(c for c in self.scenario.choices if c in depends_on)

    def combinations(self, dims: tuple[str, ...]) -> Iterator[Combination]:
        """Walk every combination of these choices."""
        return itertools.product(*(self.scenario.choices[d] for d in dims))

    def bases(self, names: Sequence[str], dims: tuple[str, ...], combination: Combination) -> dict[str, Qualifiers]:
        """Return what quantities state beside their units, under these values of the choices."""
        return bases.at(self.nodes, names, dims, combination)

    def settings_of(self, model: str) -> dict[str, Input]:
        """Return the inputs of a model that were set to a number, as that number."""
        keys = {key.removeprefix(f"{model}."): key for key in self.fixed_inputs if key.rpartition(".")[0] == model}
        return {
            name: replace(self.inputs[key], distribution={"value": self.fixed_inputs[key]}, source="set for this run")
            for name, key in keys.items()
        }

    def unit_of(self) -> dict[str, str]:
        """Return the unit of every quantity."""
        return {name: node.unit for name, node in self.nodes.items()}


def build(scenario: Scenario, given: Mapping[str, object] | None = None) -> Graph:
    """Resolve and check a scenario.

    Parameters
    ----------
    scenario : Scenario
    given : mapping, optional
        ``{"trend": "changepoint"}`` narrows a choice (a tuple of texts keeps several), ``{"brain": 1e18}`` fixes a
        quantity in its unit, ``{"brain/dettmers-2015.firing_rate": 100}`` fixes an input.

    Raises
    ------
    UnknownNameError, ScenarioError, CycleError, UnitError
        Naming the file and key.
    """
    rest = dict(given or {})
    for key in [k for k in rest if k in scenario.choices]:
        scenario = scenario.narrowed(key, settings.texts(key, rest.pop(key)))
    tables = Tables(scenario.where)
    nodes = {name: _resolve(scenario, name, tables) for name in scenario.quantities}
    for key in [k for k in rest if k in nodes]:
        node = nodes[key]
        # an expression keeps its needs: they give it its unit
        needs = node.needs if isinstance(node.quantity, Expression) else ()
        fixed = settings.number(key, rest.pop(key), lower=_floor(scenario, node), unit=node.unit)
        nodes[key] = replace(node, fixed=fixed, own=(), models={}, figures={}, needs=needs)
    _check_needs(scenario, nodes)
    _check_names(nodes)
    nodes = _ordered(scenario, nodes)
    graph = Graph(scenario=scenario, nodes=_with_dims_and_units(scenario, nodes), inputs=_inputs(nodes.values()))
    for name, question in scenario.questions.items():
        _check_condition(graph, question.when, f"{scenario.where}: questions.{name}.when")
    for name, ranking in scenario.rankings.items():
        _check_ranking(graph, ranking, f"{scenario.where}: questions.{name}")
    return replace(graph, fixed_inputs=dict(_fixed(graph, rest)))


def _resolve(scenario: Scenario, name: str, tables: Tables) -> Node:
    quantity, key = scenario.quantities[name], f"{scenario.where}: quantities.{name}"
    if isinstance(quantity, Prior):
        return Node(name=name, unit=quantity.unit, dims=(), quantity=quantity)
    if isinstance(quantity, Expression):
        return Node(name=name, unit=quantity.unit or "", dims=(), needs=quantity.tree.names, quantity=quantity)
    if isinstance(quantity, SeriesRef):
        made = models.trend(
            quantity.data,
            x=quantity.x,
            y=quantity.y,
            unit=quantity.unit,
            shape=quantity.shape,
            frontier=quantity.frontier,
            records=quantity.records,
            yearly=quantity.yearly,
            since=quantity.since,
            where=quantity.where,
            options=quantity.options,
            qualifiers=quantity.qualifiers,
            name=name,
        )
        return Node(name=name, unit=quantity.unit, dims=(), models={(): made}, quantity=quantity)
    if isinstance(quantity, Cell):
        return _of_cell(scenario, name, quantity, tables)
    if isinstance(quantity.model, Model):
        return _of_models(scenario, name, quantity, (), {(): quantity.model})
    used = [*braces(quantity.model, where=f"{key}.model"), *braces(quantity.shape, where=f"{key}.shape")]
    own = tuple(c for c in scenario.choices if c in used)
    _check_size(scenario, own, key)
    by_choice: dict[Combination, Model] = {}
    for combination in itertools.product(*(scenario.choices[c] for c in own)):
        chosen = dict(zip(own, combination, strict=True))
        full, shape = fill(quantity.model, chosen), fill(quantity.shape, chosen)
        at = f"{key}.shape" if quantity.shape else f"{key}.model"
        by_choice[combination] = models.attempt(full, shape=shape, options=quantity.options, where=at)
    return _of_models(scenario, name, quantity, own, by_choice)


def _of_models(
    scenario: Scenario, name: str, quantity: ModelRef, own: tuple[str, ...], by_choice: dict[Combination, Model]
) -> Node:
    unit = next(iter(by_choice.values())).unit
    needs: dict[str, None] = {}
    for made in by_choice.values():
        key = f"{scenario.where}: quantities.{name}: model '{made.name}'"
        units.check(made.unit, unit, where=key)
        for need, _ in asks(made):
            needs[quantity.inputs.get(need, need)] = None
    wanted = {need for made in by_choice.values() for need, _ in asks(made)}
    for wired in quantity.inputs:
        if wired not in wanted:
            raise UnknownNameError("input", wired, wanted, where=f"{scenario.where}: quantities.{name}.inputs")
    return Node(name=name, unit=unit, dims=(), own=own, models=by_choice, needs=tuple(needs), quantity=quantity)


def _of_cell(scenario: Scenario, name: str, cell: Cell, tables: Tables) -> Node:
    used = set(choices_of(cell))
    own = tuple(c for c in scenario.choices if c in used)
    key = f"quantities.{name}"
    _check_size(scenario, own, f"{scenario.where}: {key}")
    figures = {
        values: tables.figure(cell, dict(zip(own, values, strict=True)), key)
        for values in itertools.product(*(scenario.choices[c] for c in own))
    }
    unit = next(iter(figures.values())).unit
    return Node(
        name=name,
        unit=unit,
        dims=own,
        own=own,
        quantity=cell,
        figures={at: units.convert(f.value, f.unit, unit, where=key) for at, f in figures.items()},
        bases={at: f.qualifiers for at, f in figures.items()} if any(f.qualifiers for f in figures.values()) else {},
    )


def _check_needs(scenario: Scenario, nodes: Mapping[str, Node]) -> None:
    for name, node in nodes.items():
        for need in node.needs:
            if need not in nodes:
                what = "expression" if isinstance(node.quantity, Expression) else "model"
                raise UnknownNameError(
                    "quantity", need, nodes, where=f"{scenario.where}: quantities.{name}.{what} needs an input"
                )


def _check_size(scenario: Scenario, dims: Iterable[str], key: str) -> None:
    count = math.prod(len(scenario.choices[d]) for d in dims)
    if count > MOST_COMBINATIONS:
        raise ScenarioError(f"{key}: {count:,} combinations of choices; at most {MOST_COMBINATIONS:,} are walked")


def _check_names(nodes: Mapping[str, Node]) -> None:
    """Refuse two different models under one name: they would share one fit and one stream of random numbers."""
    seen: dict[str, tuple[str, Model]] = {}
    for node in nodes.values():
        for outer in node.models.values():
            for made in nested(outer):
                owner, first = seen.setdefault(made.name, (node.name, made))
                if first is made:
                    continue
                at = f"quantities {owner} and {node.name}: two models have the name '{made.name}'"
                if "/" not in made.name:
                    raise UsageError(f"{at}; give each a name of its own")
                # a registered name is one model however often it is made, but for what stands beside a series
                if "@" in made.name and _beside(first) != _beside(made):
                    raise UsageError(f"{at} and differ in the shape or its options; one scenario holds one of them")


def _beside(made: Model) -> tuple[object, object]:
    """Return the shape and the options that a trend was made with."""
    return getattr(made, "shape", None), getattr(made, "options", None)


def _ordered(scenario: Scenario, nodes: Mapping[str, Node]) -> dict[str, Node]:
    """Sort so that everything comes after what it needs.

    Raises
    ------
    CycleError
        Walking the circle.
    """
    done: dict[str, Node] = {}
    path: list[str] = []

    def visit(name: str) -> None:
        if name in done:
            return
        if name in path:
            circle = " → ".join((*path[path.index(name) :], name))
            raise CycleError(f"{scenario.where}: quantities.{name}: needs itself: {circle}")
        path.append(name)
        for need in nodes[name].needs:
            visit(need)
        path.pop()
        done[name] = nodes[name]

    for name in nodes:
        visit(name)
    return done


def _with_dims_and_units(scenario: Scenario, nodes: Mapping[str, Node]) -> dict[str, Node]:
    out: dict[str, Node] = {}
    for name, node in nodes.items():
        depends = {d for need in node.needs for d in out[need].dims} | set(node.own)
        dims = () if node.fixed is not None else tuple(c for c in scenario.choices if c in depends)
        unit = node.unit
        key = f"{scenario.where}: quantities.{name}"
        _check_size(scenario, dims, key)
        if isinstance(node.quantity, Expression):
            inferred = units.infer(node.quantity.tree, {n: out[n].unit for n in node.needs}, where=f"{key}.expression")
            if node.quantity.unit is None:
                unit = inferred
            else:
                units.check(inferred, node.quantity.unit, where=f"{key}: the expression against its unit")
        for made in node.models.values():
            for need, asked in asks(made):
                fed = out[node.source(need)]
                units.check(
                    fed.unit, asked.unit, where=f"{key}: input '{need}' of model '{made.name}' from '{fed.name}'"
                )
        stated = bases.of_node(scenario, replace(node, dims=dims), out, key)
        out[name] = replace(node, dims=dims, unit=unit, bases=stated)
    return out


def _inputs(nodes: Iterable[Node]) -> dict[str, Input]:
    inputs: dict[str, Input] = {}
    for node in nodes:
        for made in node.models.values():
            for inner in nested(made):
                for name, asked in inner.inputs.items():
                    if isinstance(asked, Input):
                        inputs[f"{inner.name}.{name}"] = asked
    return inputs


def _check_condition(graph: Graph, when: Condition, key: str) -> None:
    known = graph.unit_of()
    for side in (when.left, when.right):
        for name in side.names:
            if name not in known:
                raise UnknownNameError("quantity", name, known, where=key)
    _check_size(graph.scenario, graph.dims([*when.left.names, *when.right.names]), key)
    bases.check_condition(graph.scenario, graph.nodes, when, key)
    left, right = (units.infer(side, known, where=key) for side in (when.left, when.right))
    if not units.same_dimension(left, right):
        hint = _bare_number_hint(when.left, when.right)
        raise UnitError(
            f"{printable(key)}: units do not balance: '{when.left.text}' is [{left or 'dimensionless'}], "
            f"'{when.right.text}' is [{right or 'dimensionless'}]{hint}"
        )


def _check_ranking(graph: Graph, ranking: Ranking, key: str) -> None:
    known = graph.unit_of()
    for name in ranking.rank.names:
        if name not in known:
            raise UnknownNameError("quantity", name, known, where=f"{key}.rank")
    units.infer(ranking.rank, known, where=f"{key}.rank")
    dims = graph.dims(ranking.rank.names)
    if ranking.over not in dims:
        reason = f"'{ranking.rank.text}' is the same for every value of '{ranking.over}': there is nothing to rank"
        raise ScenarioError(f"{key}.rank: {reason}")
    bases.check_ranking(graph.scenario, graph.nodes, ranking, f"{key}.rank")
    for condition in ranking.among:
        _check_condition(graph, condition, f"{key}.among")


def _bare_number_hint(*sides: Formula) -> str:
    bare = [side.text for side in sides if not side.names]
    if not bare:
        return ""
    return f'; give the threshold a unit as a quantity: quantities.threshold = {{ value = {bare[0]}, unit = "..." }}'


def _floor(scenario: Scenario, node: Node) -> float | None:
    stated = node.quantity.distribution if isinstance(node.quantity, Prior) else None
    return settings.floor(stated, scenario.lower.get(node.name))


def _fixed(graph: Graph, given: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    """Match the other settings with inputs: by full name, by the model's bare name, by series, or by quantity."""
    for key, value in given.items():
        owner, _, name = str(key).rpartition(".")
        matches = [n for n in graph.inputs if n == key or (owner and n.partition("/")[2] == key)]
        if not matches and owner:  # of a series: on each shape that has it
            series = {n: f"{n.partition('@')[0]}.{n.rpartition('.')[2]}" for n in graph.inputs if "@" in n}
            matches = [n for n, short in series.items() if key in (short, short.partition("/")[2])]
        if not matches and owner in graph.nodes:
            inner = {m.name for made in graph.nodes[owner].models.values() for m in nested(made)}
            matches = [n for n in graph.inputs if n.rpartition(".")[0] in inner and n.rpartition(".")[2] == name]
        if not matches:
            known = [*graph.scenario.choices, *graph.nodes, *graph.inputs]
            raise UnknownNameError("choice, quantity or input", key, known, where="set")
        for match in matches:
            asked = graph.inputs[match]
            lower = settings.floor(distribution(asked.distribution, where=match), asked.lower)
            yield match, settings.number(key, value, lower=lower, unit=asked.unit)
