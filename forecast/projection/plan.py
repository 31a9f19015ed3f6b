"""A plan: what a run computes in every block of worlds, as a list of steps in which everything stands after its inputs.

A graph and its choices are lowered once. A step has a content key, a digest of its operation, its arguments and the
keys of its inputs; equal keys are one step. So a quantity that is the same under several values of a choice is computed
once, a value that is read twice is computed once, and a later run finds what it computes alike under the same key.
A step holds all that it is computed from, and its operation is a name in `forecast.projection.operations`: several
graphs can be lowered into the same steps (`Plan.beside`), and share what they have in common.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from forecast import units
from forecast.base.distributions import Distribution, distribution
from forecast.contract.specs import Input
from forecast.errors import ForecastError, NoDataAtDateError
from forecast.formula import TIME_NAMES, Condition, Formula, Name, tree
from forecast.models import FittedModel, Model, OtherModel
from forecast.models.scales import Bounds, Scale, find_scale
from forecast.projection.paths.run_cache import identity_of
from forecast.projection.paths.time_functions import HistoryOf

if TYPE_CHECKING:
    from forecast.projection.model_fits import ModelFits
    from forecast.scenarios.graph import ScenarioGraph
    from forecast.scenarios.quantities.node import Combination, Node

T = TypeVar("T")

#: Along what the value of a step varies.
DRAWS, DATES = 1, 2
#: Operations whose values a later run may take from a cache; the final step of a quantity is one, too.
SHARED = frozenset({"quantiles", "model", "posterior", "crossed", "bound_by"})


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """One computation of every block.

    Parameters
    ----------
    operation : str
    arguments : tuple
    inputs : tuple of int
        The steps that it reads, all of them before it.
    key : bytes
        What it is computed from, as a digest: equal ones are one step.
    varies : int
        `DRAWS`, `DATES`, both or neither.
    name : str
        The quantity, model, input or question for which it was first asked.
    combination : tuple of str
        The values of the choices on which that depends.
    """

    operation: str
    arguments: tuple[Any, ...]
    inputs: tuple[int, ...]
    key: bytes
    varies: int
    name: str
    combination: Combination


@dataclass(eq=False)
class Steps:
    """The steps of one graph, or of several that share what they have in common.

    Attributes
    ----------
    finals, lasting : set of int
        The steps that are a whole quantity, and those that all runs of a process may share.
    askers : dict of str to str
        The quantity that first asked for a model.
    """

    every: list[Step] = field(default_factory=list)
    finals: set[int] = field(default_factory=set)
    lasting: set[int] = field(default_factory=set)
    askers: dict[str, str] = field(default_factory=dict)
    places: dict[bytes, int] = field(default_factory=dict)

    def is_shared(self, place: int, lasting: bool) -> bool:
        """Tell whether a later run may take the value of a step from a cache."""
        if lasting:  # of all runs of a process: what registered models draw
            return place in self.lasting
        return place in self.finals or self.every[place].operation in SHARED


@dataclass(eq=False)
class Plan:
    """The steps of a graph, as far as somebody has asked for them.

    Parameters
    ----------
    graph : ScenarioGraph
    fits : ModelFits
    time : ndarray
        Decimal years.
    seed : int
    read : frozenset of str, optional
        The quantities on cycles whose paths are kept; all by default.
    steps : Steps
    """

    graph: ScenarioGraph
    fits: ModelFits
    time: NDArray[np.float64]
    seed: int
    read: frozenset[str] | None = None
    steps: Steps = field(default_factory=Steps)
    _lowered: dict[Any, tuple[int, int, int]] = field(default_factory=dict)
    _sources: dict[str, list[tuple[str, tuple[int, ...]]]] = field(default_factory=dict)
    _texts: dict[Any, str] = field(default_factory=dict)
    _groups: dict[tuple[str, ...], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.fits.include(self.graph)
        self._run = hashlib.blake2b(repr((self.seed, self.fits.as_of)).encode(), digest_size=16)
        self._dates = self.time.tobytes()

    def beside(self, graph: ScenarioGraph, moved: Collection[str] | None = None) -> Plan:
        """Return the plan of another graph over the same steps.

        Parameters
        ----------
        graph : ScenarioGraph
        moved : collection of str, optional
            The quantities in which it may differ, with all that depend on them: what is known of the others is kept.
            By default nothing is.
        """
        known = replace(self, graph=graph, _lowered={}, _sources={}, _texts={}, _groups={})
        if moved is not None:
            known._lowered = {at: places for at, places in self._lowered.items() if at[0] not in moved}
        return known

    def add(
        self,
        operation: str,
        inputs: Iterable[int] = (),
        *arguments: Any,
        stated: Any = None,
        dated: bool = False,
        along: int | None = None,
        of: str = "",
        at: Combination = (),
    ) -> int:
        """Return the place of a step; of an equal one that is there already.

        Parameters
        ----------
        operation : str
        inputs : iterable of int
        *arguments
            What the operation takes beside its inputs.
        stated : object
            What of the arguments is part of the key, by its text; all by default.
        dated : bool
            It reads the dates: they are part of the key.
        along : int, optional
            Along what it varies: by default, that along which its inputs do and, where it reads them, the dates.
        of : str
            For what it is asked for.
        at : tuple of str
            The values of the choices.
        """
        read, every = tuple(inputs), self.steps.every
        digest = self._run.copy()
        digest.update(repr((operation, arguments if stated is None else stated)).encode())
        if dated:
            digest.update(self._dates)
        varies = DATES if dated else 0
        for each in read:
            digest.update(every[each].key)
            varies |= every[each].varies
        key = digest.digest()
        place = self.steps.places.setdefault(key, len(every))
        if place == len(every):
            every.append(Step(operation, arguments, read, key, varies if along is None else along, of, at))
        return place

    def attempt(self, lower: Callable[..., int], *arguments: Any, **options: Any) -> int:
        """Return the step that a method of the plan lowers to; where it cannot, one that raises why."""
        try:
            return lower(*arguments, **options)
        except ForecastError as error:
            return self._failing(error, stated=(type(error).__name__, str(error)))

    def _failing(self, error: ForecastError, **options: Any) -> int:
        """Return the step that raises an error; it keeps nothing of what the error passed through."""
        return self.add("failing", (), error.with_traceback(None), **options)

    # --- quantities ---------------------------------------------------------------------------------------------------

    def quantity(self, name: str, combination: Combination) -> int:
        """Return the step of a quantity: (time, draw), or (1, draw) of one that does not change."""
        return self._quantity(name, combination)[0]

    def _quantity(self, name: str, combination: Combination) -> tuple[int, int, int]:
        """Return the steps of a quantity, of it without its limits, and of it under its limit alone.

        A long chain of quantities is walked without recursion.
        """
        lowered, nodes, left = self._lowered, self.graph.nodes, [(name, combination)]
        while left:
            at = left[-1]
            if at in lowered:
                left.pop()
                continue
            node = nodes[at[0]]
            needed = [(n, tuple(at[1][i] for i in places)) for n, places in self._sources_of(node)]
            unknown = [each for each in needed if each not in lowered]
            if unknown:
                left += reversed(unknown)
                continue
            # from equal sources and equal values of its own choices the same follows
            own = at[1] if node.cycle or node.quantity.LOOKS_BACK else node.own_values(at[1])
            alike = node.name, own, *(lowered[each][0] for each in needed)
            if alike not in lowered:
                lowered[alike] = self._within(node, at[1])
            lowered[at] = lowered[alike]
        return lowered[name, combination]

    def _sources_of(self, node: Node) -> list[tuple[str, tuple[int, ...]]]:
        """Return what a quantity, or its cycle, needs, and where its choices stand among those of the quantity."""
        if node.name not in self._sources:
            nodes, members = self.graph.nodes, [self.graph.nodes[n] for n in node.cycle or (node.name,)]
            # what is set needs nothing, whatever it was before
            every = [n for each in members for n in (each.sources if each.fixed is None else each.bounds)]
            names = dict.fromkeys(n for n in every if n not in node.cycle)
            self._sources[node.name] = [(n, tuple(map(node.dims.index, nodes[n].dims))) for n in names]
        return self._sources[node.name]

    def restrict(self, name: str, dims: tuple[str, ...], combination: Combination) -> Combination:
        """Return which values of a quantity's own choices stand in a combination of these `dims`."""
        own = self.graph.nodes[name].dims
        return combination if own == dims else tuple(combination[dims.index(d)] for d in own)

    def _source(self, name: str, node: Node, at: Combination) -> int:
        """Return the step of a quantity that another one needs."""
        return self.quantity(name, self.restrict(name, node.dims, at))

    def _within(self, node: Node, at: Combination) -> tuple[int, int, int]:
        name, limits, place = node.name, node.limits, self._lower(node, at)
        for each in node.changes:
            if each.value is not None:
                value = self.bound(node, each.value, at)
                place = self.add("replaced", (place, value), each.since, each.until, dated=True, of=name, at=at)
            elif each.growth is not None:
                change = name, each.growth, each.since, each.until, self._scale(node, at)
                place = self.add("grown", (place,), *change, dated=True, of=name, at=at)
        free = below = place
        if limits is not None:
            if limits.limit is not None:
                bound = self.bound(node, limits.limit, at)
                place = below = self.add("limit", (place, bound), name, limits.how, limits.sharpness, of=name, at=at)
            if limits.at_least is not None:
                place = self.add("floor", (place, self.bound(node, limits.at_least, at)), of=name, at=at)
            if limits.keeps == "frontier":
                past, stated = self._history(name, node, at)
                place = self.add("never_falls", (place,), past, stated=stated, dated=True, of=name, at=at)
            if limits.keeps == "positive" or limits.bounds or limits.at_most < np.inf:
                stated = name, limits.keeps, self._scale(node, at), limits.at_most
                place = self.add("kept", (place,), *stated, of=name, at=at)
        whole = name, node.hidden, node.steady
        along = None if not node.steady else self.steps.every[place].varies & DRAWS
        place = self.add("quantity", (place,), *whole, dated=not node.steady, along=along, of=name, at=at)
        self.steps.finals.add(place)
        return place, free, below

    def _scale(self, node: Node, at: Combination) -> Scale:
        """Return the scale of a quantity: that of the series behind it, or else what is stated."""
        model = node.models.get(node.own_values(at))
        if model is not None:
            model = model.rests_on()
            fitted = self.fits.outcome(model)
            if isinstance(fitted, FittedModel) and not fitted.scale.is_plain:
                return fitted.scale.converted(model.unit, node.unit, where=node.name)
        stated = Bounds() if node.limits is None else node.limits.bounds
        return find_scale(np.empty(0), unit=node.unit, declared=stated, where=f"quantities.{node.name}")

    def _lower(self, node: Node, at: Combination) -> int:
        """Return the step of a quantity as its model or formula has it."""
        if node.fixed is not None:
            return self.add("constant", (), float(node.fixed), of=node.name, at=at)
        if node.cycle:
            return self._member(node, at)
        quantity = node.variants.get(node.own_values(at), node.quantity)
        try:
            return quantity.lower(self, node, at)
        except NoDataAtDateError as error:  # a number that was not published yet: told where somebody takes it
            return self._failing(error, stated=str(error), of=node.name)

    def known(self, node: str, published: str, now: T, earlier: T | None) -> T:
        """Return what is stated, or what stood before where that is younger than the date of the run."""
        return self.fits.known(node, published, now, earlier)

    def number(self, node: str, numbers: Distribution) -> int:
        """Return the step of what is one number a world, (1, draw)."""
        if numbers.family == "fixed":
            return self.add("constant", (), float(numbers.ppf(np.full(1, 0.5))[0]), of=node)
        return self.add("path_of_number", [self._quantiles(numbers, node, numbers)], of=node)

    def over_time(self, node: Node, function: str, of: str, argument: float | str | None, at: Combination) -> int:
        """Return the step of a function over time of the path of a quantity."""
        past, stated = self._history(of, node, at)
        read, unit = [self._source(of, node, at)], ""
        if isinstance(argument, str):
            read.append(self._source(argument, node, at))
            unit, argument = self.graph.nodes[argument].unit, None
        stated = function, argument, unit, stated
        how = function, argument, unit, past
        return self.add("function_over_time", read, *how, stated=stated, dated=True, of=node.name, at=at)

    def moments(self, node: Node, of: str, family: str, at: Combination) -> int:
        """Return the step of the distribution with the mean and the variance of another quantity's worlds."""
        place = self._source(of, node, at)  # in worlds of its own: it is no input
        stated = node.name, of, family, self.steps.every[place].key
        return self.add("moments", (), node.name, of, family, place, stated=stated, along=0, of=node.name, at=at)

    def _history(self, name: str, node: Node, at: Combination) -> tuple[HistoryOf, Any]:
        """Return the past of a quantity under the choices of another one, and what it depends on."""
        past = HistoryOf.of(self.graph, name, dict(zip(node.dims, at, strict=True)))
        return past, (name, past.unit, past.before, None if past.model is None else self.fits.key(past.model))

    def _member(self, node: Node, at: Combination) -> int:
        """Return the step of a quantity on a cycle, which is walked through time as a whole."""
        kept = self.read if self.read is not None and node.name in self.read else None
        chosen = dict(zip(node.dims, at, strict=True))
        members: list[Any] = []
        for each in (self.graph.nodes[name] for name in node.cycle):
            own = each.own_in(chosen)
            model = each.models.get(own)
            fit = None if model is None or each.fixed is not None else self.fits.key(model)
            stream = None if model is None else self.graph.stream(model.name)
            members.append((each.name, each.unit, each.fixed, self._text(each, own), each.limits, fit, stream))
            members.append(self._history(each.name, node, at)[1])
            if each.quantity.LOOKS_BACK:
                members += [self._history(of, node, at)[1] for of in each.past]
        sources = self._sources_of(node)
        read = [self._source(n, node, at) for n, _ in sources]
        known = [(n, self.graph.nodes[n].unit, self.graph.nodes[n].labels) for n, _ in sources]
        stated = members, known, None if kept is None else sorted(kept.intersection(node.cycle))
        how = self.graph, node.cycle, at, kept, tuple(n for n, _ in sources)
        walk = self.add("walked", read, *how, stated=stated, dated=True, along=DRAWS | DATES, of=node.name, at=at)
        return self.add("member", (walk,), node.name, of=node.name, at=at)

    def _text(self, node: Node, own: Combination) -> str:
        """Return what a quantity states; a Python object in it counts by its identity."""
        if (node.name, own) not in self._texts:
            rest, objects = node.variants.get(own, node.quantity).parts
            self._texts[node.name, own] = repr((rest, *map(identity_of, objects)))
        return self._texts[node.name, own]

    # --- formulas -----------------------------------------------------------------------------------------------------

    def formula(
        self,
        tree: Formula,
        dims: tuple[str, ...],
        at: Combination,
        *,
        target: str,
        where: str,
        step: int | None = None,
        rates: bool | None = None,
    ) -> int:
        """Return the step of a formula over quantities, in the unit `target`; of one `step` of time only.

        `rates` says whether quantities in 1/time are plain numbers a year (see `forecast.units.infer`).
        """
        nodes = [self.graph.nodes[n] for n in tree.names if n not in TIME_NAMES]
        read = [self.quantity(each.name, self.restrict(each.name, dims, at)) for each in nodes]
        unit_of = {each.name: each.measured for each in nodes}
        prepared = units.prepared(tree, unit_of, target=target, where=where, rates=rates)
        labels = {each.name: each.labels for each in nodes if each.labels}
        is_path = isinstance(tree.root, Name) and bool(nodes) and not labels and step is None
        if is_path and prepared.is_base(nodes[0].name) and prepared.answers_base:
            return read[0]
        stated = tree.text, unit_of, target, where, step, rates, labels
        dated = len(nodes) < len(tree.names) or step is not None
        along = None if step is None else DRAWS
        how = tree, prepared, labels, step
        return self.add("formula", read, *how, stated=stated, dated=dated, along=along, of=where, at=at)

    def bound(self, node: Node, condition: Condition, at: Combination) -> int:
        """Return the step of what a quantity is compared with, in its unit."""
        where = f"quantities.{node.name}: {condition.text}"
        found = units.sides(condition, self.graph.measured(condition.names))
        value = self.formula(found.right, node.dims, at, target=found.unit, where=where, rates=found.rates)
        return self._converted(value, found.unit, node.unit, where, of=node.name, at=at)

    def _converted(self, place: int, source: str, target: str, where: str, **options: Any) -> int:
        """Return the step of a path in another unit."""
        return place if source == target else self.add("converted", (place,), source, target, where, **options)

    def crossed(self, name: str, dims: tuple[str, ...], at: Combination) -> int:
        """Return the step of when what a question asks for comes."""
        when, where = self.graph.scenario.questions[name].when, f"questions.{name}.when"
        found = units.sides(when, self.graph.measured(when.names), where=where)
        how: dict[str, Any] = {"target": found.unit, "where": where, "rates": found.rates}
        sides = [self.formula(side, dims, at, **how) for side in (found.left, found.right)]
        read = [
            *(sides if ">" in when.op else reversed(sides)),
            *self._denominators(when, dims, at, where, found.rates),
        ]
        return self.add("crossed", read, when.op in (">", "<"), where, dated=True, along=DRAWS, of=name, at=at)

    def _denominators(
        self, when: Condition, dims: tuple[str, ...], at: Combination, where: str, rates: bool | None
    ) -> Iterator[int]:
        """Lower what a condition divides by."""
        for each in tree.walk(when.formula.root):
            if isinstance(each, tree.Binary) and each.op == "/" and (by := Formula(each.right)).names:
                unit = units.infer(by, self.graph.unit_of, where=where, rates=rates)
                yield self.formula(by, dims, at, target=unit, where=where, rates=rates)

    def binding(self, name: str, part: str, dims: tuple[str, ...], combination: Combination) -> int:
        """Return the step of where a bound of a quantity, ``"limit"`` or ``"at_least"``, binds, and when it first does.

        Where it is hard the bound itself stands for the quantity under it.
        """
        at = self.restrict(name, dims, combination)
        node, (_, free, below) = self.graph.nodes[name], self._quantity(name, at)
        assert node.limits is not None
        floor = part == "at_least"
        hard = floor or node.limits.how == "hard"
        bound = self.bound(node, node.limits.conditions[part], at) if hard else below
        return self.add("bound_by", (below if floor else free, bound), floor, dated=True, of=name, at=at)

    def at(self, name: str, combination: Combination, dates: NDArray[np.float64]) -> int:
        """Return the step of a quantity at dates in decimal years, (date, draw)."""
        node = self.graph.nodes[name]
        past, stated = self._history(name, node, combination)
        when, read = dates.tolist(), [self.quantity(name, combination)]
        stated = when, stated
        return self.add("at_dates", read, past, when, stated=stated, dated=True, of=name, at=combination)

    # --- models and what is drawn -------------------------------------------------------------------------------------

    def uniform(self, node: str) -> int:
        """Return the step of the uniforms of what draws one number a world; correlated where the scenario says so."""
        if node not in self.graph.correlated:
            return self._own_uniform(node)
        group = self.graph.correlated[node]
        if group.of not in self._groups:
            weights, own = group.factor(), map(self._own_uniform, group.of)
            self._groups[group.of] = self.add("correlated", own, weights, stated=weights.tobytes(), of=node)
        return self.add("row", [self._groups[group.of]], group.of.index(node), of=node)

    def _own_uniform(self, node: str) -> int:
        return self.add("uniform", (), self.graph.stream(node), along=DRAWS, of=node)

    def input(self, node: str, number: Input) -> int:
        """Return the step of a named uncertain number of a model, (draw,)."""
        return self.attempt(self._input, node, number)

    def _input(self, node: str, number: Input) -> int:
        record = self.graph.set_inputs.get(node)
        if record is None:
            record = self.known(node, number.published, number.distribution, number.earlier or None)
        return self._quantiles(distribution(record, where=node), node, record)

    def _quantiles(self, numbers: Distribution, node: str, record: Any, name: str = "") -> int:
        read = [] if numbers.family == "fixed" else [self.uniform(name or node)]
        return self.add("quantiles", read, numbers, stated=repr(record), along=DRAWS, of=node)

    def inputs(self, model: Model) -> dict[str, int]:
        """Return the steps of the named uncertain numbers of a model."""
        numbers = {name: each for name, each in model.inputs.items() if isinstance(each, Input)}
        return {name: self.input(f"{model.name}.{name}", each) for name, each in numbers.items()}

    def _set_parameters(self, model: Model) -> dict[str, int]:
        """Return the steps of those parameters of a model that are set."""
        ordered, settings = self.graph.ordered, self.fits.settings(self.graph, model)
        together = dict([ordered[model.name]] if model.name in ordered else [])
        return {
            name: self._quantiles(distribution(record, where=key), key, record, together.get(name, key))
            for name, (key, record) in settings.items()
        }

    def _order(self, model: Model) -> int | None:
        """Return the step of the order of a model's worlds, where a fitted number of it moves together with others."""
        graph = self.graph
        number, name = graph.ordered.get(model.name, ("", ""))
        if not number or number in self.fits.settings(graph, model):
            return None
        group = next(each for each in graph.scenario.correlations if name in each.of)
        drawn = frozenset(n for n in group.of if n in graph.nodes or n in graph.inputs)
        read = [self.posterior(model, is_ordered=False), *map(self._own_uniform, group.of)]
        how, stated = (model.name, number, name, group, drawn), (model.name, number, name, group, sorted(drawn))
        return self.add("in_others_order", read, *how, stated=stated, along=DRAWS, of=model.name)

    def posterior(self, model: Model, *, is_ordered: bool = True) -> int:
        """Return the step of the draws of the fitted parameters of a model, (draw,) each, in the order of its worlds.

        By default, in the order in which they move together with others.
        """
        read, how = self._handed(model, self.inputs(model), is_ordered)
        stream = self.graph.stream(model.name)
        stated = self.fits.key(model), stream, how
        place = self.add("posterior", read, model, stream, *how, stated=stated, along=DRAWS, of=model.name)
        if self.fits.shares_draws(model):
            self.steps.lasting.add(place)
        return place

    def _handed(
        self, model: Model, read: dict[str, int], is_set: bool
    ) -> tuple[list[int], tuple[tuple[str, ...], tuple[str, ...], bool]]:
        """Return the steps that a model is handed, what is set of it and the order of its worlds, and their names."""
        parameters, order = (self._set_parameters(model), self._order(model)) if is_set else ({}, None)
        inputs = [*read.values(), *parameters.values(), *([] if order is None else [order])]
        return inputs, (tuple(read), tuple(parameters), order is not None)

    def level(self, node: Node, at: Combination) -> int:
        """Return the step of a quantity as its model has it, without changes and limits."""
        model = node.models[node.own_values(at)]
        return self._converted(self._model(model, node, at), model.unit, node.unit, node.name, of=node.name, at=at)

    def _model(self, model: Model, node: Node, at: Combination) -> int:
        """Return the step of the draws of a model; one that needs no quantity is the same whichever one asks."""
        read: dict[str, int] = {}
        for name, need in model.inputs.items():
            if isinstance(need, Input):
                read[name] = self.input(f"{model.name}.{name}", need)
            elif isinstance(need, OtherModel):
                read[name] = self._model(need.model, node, at)
            else:
                source = node.source(name)
                place, unit = self._source(source, node, at), self.graph.nodes[source].unit
                read[name] = self._converted(place, unit, need.unit, node.name, of=node.name, at=at)
        fails = isinstance(self.fits.outcome(model), ForecastError)  # that is told where it is drawn
        inputs, how = self._handed(model, read, not fails)
        self.steps.askers.setdefault(model.name, node.name)
        asker, stream = node.name if node.needs else "", self.graph.stream(model.name)
        stated = self.fits.key(model), stream, asker, how
        options: dict[str, Any] = {"dated": True, "along": DRAWS | DATES, "of": model.name, "at": at if asker else ()}
        place = self.add("model", inputs, model, stream, asker, *how, stated=stated, **options)
        if not asker and self.fits.shares_draws(model):
            self.steps.lasting.add(place)
        return place
