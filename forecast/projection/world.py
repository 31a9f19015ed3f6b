"""Some blocks of draws: every quantity of a graph in the same worlds.

The same draw index means the same world in every quantity: a model, an input or a quantity that is used twice is drawn
once. A model is foreign code: it computes one block at a time (a function that makes each element of those at its
place, all worlds where it is called step by step), and every call of one goes through `forecast.models.check_output`.
All else is computed for all blocks together, which takes fewer steps through Python.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from forecast import units
from forecast.base.distributions import Distribution, distribution
from forecast.base.streams import Streams
from forecast.contract.plugin_calls import guarded
from forecast.contract.specs import Input
from forecast.errors import (
    DataError,
    ForecastError,
    ForecastWarning,
    ModelWarning,
    NoDataAtDateError,
    PluginContractError,
    RaisedPathsWarning,
    ScenarioError,
    UnknownNameError,
)
from forecast.formula import TIME, Condition, Formula
from forecast.models import Description, FittedModel, Model, Observations, OtherModel
from forecast.models.check_output import (
    checked_description,
    checked_draws,
    checked_observations,
    checked_posterior,
)
from forecast.projection import blocks, failures
from forecast.projection.crossing import Crossing, crossing
from forecast.projection.failures import Fault, lacks_data, lost, others_instead
from forecast.projection.horizon import clock
from forecast.projection.moment_fits import by_moments
from forecast.projection.paths.alike import PAIR, alike, dense, distinct, pair, read_only, spread, still
from forecast.projection.paths.apply_changes import grown, replaced
from forecast.projection.paths.apply_limits import binding, check_kept, frontier, limited
from forecast.projection.paths.branches import only_in_branches
from forecast.projection.paths.ordering import in_order, scores
from forecast.projection.paths.run_cache import CachedResult, CachedStreams, Dependencies
from forecast.projection.paths.time_functions import Past, over_time
from forecast.projection.paths.time_stepping import step_through
from forecast.scenarios.graph import ScenarioGraph
from forecast.scenarios.kinds.over_time import OverTime
from forecast.scenarios.quantities.node import Combination, Node
from forecast.scenarios.settings import setting_targets, setting_values

Array = NDArray[np.float64]


T = TypeVar("T")

__all__ = ["ModelFits", "World"]


class ModelFits:
    """Every model of a projection, fitted once; a failure is kept and raised where the model is used.

    Parameters
    ----------
    as_of : float or None
    seed : int
    rests : Dependencies, optional
        The dependencies of fits and draws, if the run shares a cache with other runs.

    Attributes
    ----------
    failures : dict of str to str
        What went wrong beside the level: points, posterior or description of a model that could not be had.
    outside : dict of (str, str) to tuple of ForecastWarning
        What models warn of, by quantity and model: of the first combination of choices in which they do.
    walked : dict
        Cycles in which all worlds are one, by their members, choices and dates: their paths and what they need.
    """

    def __init__(self, *, as_of: float | None, seed: int, rests: Dependencies | None = None) -> None:
        self.as_of, self.seed, self.rests = as_of, seed, rests
        self.failures: dict[str, str] = {}
        self.outside: dict[tuple[str, str], tuple[ForecastWarning, ...]] = {}
        self.walked: dict[Any, tuple[dict[str, Array], dict[str, Array]]] = {}
        self._known: dict[str, FittedModel | ForecastError] = {}
        self._fitted: dict[tuple[str, Combination], Distribution | ForecastError] = {}

    def __getitem__(self, model: Model) -> FittedModel:
        fitted = self._outcome(model)
        if isinstance(fitted, ForecastError):
            raise fitted
        return fitted

    def _outcome(self, model: Model) -> FittedModel | ForecastError:
        if model.name not in self._known:
            fit = partial(self._fit, model)
            self._known[model.name] = fit() if self.rests is None else self.rests.fit(model, fit)
        return self._known[model.name]

    def _fit(self, model: Model) -> FittedModel | ForecastError:
        what = f"model '{model.name}'"
        try:
            fitted = guarded(f"{what}: fit", lambda: model.fit(as_of=self.as_of, seed=self.seed))
            if not isinstance(fitted, FittedModel):
                raise PluginContractError(f"{what}: fit returned {type(fitted).__name__}, not a FittedModel")
        except ForecastError as error:
            reason = str(error).removeprefix(f"{model.name}: ")
            if what not in reason:
                error.args = (f"{what}: {reason}",)
            return error if self.as_of is None or not lacks_data(error) else NoDataAtDateError(str(error))
        return fitted

    def fitted(self, node: Node, combination: Combination, fit: Callable[[], Distribution]) -> Distribution:
        """Return the distribution fitted to another quantity's worlds, once."""
        key = (node.name, combination)
        if key not in self._fitted:
            try:
                self._fitted[key] = fit()
            except ForecastError as error:
                self._fitted[key] = error
        outcome = self._fitted[key]
        if isinstance(outcome, ForecastError):
            raise outcome
        return outcome

    def refusals(self) -> list[ForecastError]:
        """Return the errors of the models that failed to fit so far."""
        return [outcome for outcome in self._known.values() if isinstance(outcome, ForecastError)]

    def observed(self, model: Model) -> Observations | None:
        """Return the points behind a model; None where there are none or the model fails."""
        what = f"model '{model.name}': observed"
        return self._aside(model, what, lambda fitted: checked_observations(guarded(what, fitted.observed), what))

    def posterior(
        self, model: Model, streams: Streams, inputs: Mapping[str, Array], set_parameters: Mapping[str, Array]
    ) -> dict[str, Array]:
        """Return draws of a model's parameters under these draws of its inputs; none where the model fails.

        `set_parameters` has draws of the parameters that are set.
        """
        what = f"model '{model.name}': posterior"

        def draw(fitted: FittedModel) -> Mapping[str, Array]:
            conditional = fitted.with_draws(inputs)
            return (conditional.with_parameters(set_parameters) if set_parameters else conditional).posterior(streams)

        drawn = self._aside(
            model, what, lambda fitted: checked_posterior(guarded(what, lambda: draw(fitted)), streams.draws, what)
        )
        return drawn or {}

    def settings(self, graph: ScenarioGraph, model: Model) -> dict[str, tuple[str, dict[str, Any]]]:
        """Return the parameters of a model that are set: each with its full name and the record of a distribution."""
        values = graph.set_parameters.get(model.name, {})
        if not values:
            return {}
        units_of = self[model].settable
        return {
            name: (key := f"{model.name}.{name}", setting_values.parsed(key, value, partial(str, units_of[name])))
            for name, value in values.items()
            if name in units_of
        }

    def check_settings(self, graph: ScenarioGraph, models: Mapping[str, Model]) -> None:
        """Refuse a parameter that is set and that no model it may belong to has.

        Raises
        ------
        UnknownNameError
            Listing what can be set.
        """
        owners_of: dict[str, list[str]] = {}
        for owner, names in graph.set_parameters.items():
            for name in names:
                owners_of.setdefault(name, []).append(owner)
        for name, owners in owners_of.items():
            fitted = [owner for owner in owners if not isinstance(self._outcome(models[owner]), ForecastError)]
            can = [f"{owner}.{each}" for owner in fitted for each in self[models[owner]].settable]
            if fitted and not any(f"{owner}.{name}" in can for owner in owners):
                can += [key for key in graph.inputs if key.rpartition(".")[0] in owners]
                raise UnknownNameError("parameter", f"{owners[0]}.{name}", can, where="set")
            for owner in fitted:
                self.settings(graph, models[owner])

    def check_correlations(self, graph: ScenarioGraph, seed: int) -> None:
        """Refuse a fitted number that is to move together with others, and that a model has not, or that is certain.

        Raises
        ------
        UnknownNameError, ScenarioError
            Listing what could be instead.
        """
        world = World(graph, self, np.empty(0), seed, range(1))
        for owner, (number, name) in graph.ordered.items():
            model = graph.models.get(owner)  # none where its quantity is set
            if model is None or isinstance(self._outcome(model), ForecastError):
                continue
            if number in self.settings(graph, model):
                continue
            streams = blocks.streams(Streams, seed, graph.stream(owner), 0)
            drawn = self.posterior(model, streams, world.inputs(model), {})
            can = [f"{owner}.{each}" for each, values in drawn.items() if np.ptp(values) > 0]
            if f"{owner}.{number}" in can:
                continue
            place = next(i for i, group in enumerate(graph.scenario.correlations, 1) if name in group.of)
            where = f"{graph.scenario.where}: correlations[{place}].of"
            if number in drawn:
                told = f"what could be: {setting_targets.listed(can)}" if can else "so are all numbers of this fit"
                raise ScenarioError(f"{where}: '{owner}.{number}' is certain: it moves with nothing; {told}")
            raise UnknownNameError("fitted number", f"{owner}.{number}", can, where=where)

    def describe(self, model: Model, inputs: Mapping[str, Input]) -> dict[str, Any] | None:
        """Return what a model says of itself, as plain data, with the inputs that were set; None where it fails."""
        what = f"model '{model.name}': describe"

        def say(fitted: FittedModel) -> Description:
            return (fitted.with_inputs(inputs) if inputs else fitted).describe()

        return self._aside(model, what, lambda fitted: checked_description(guarded(what, lambda: say(fitted)), what))

    def warnings(self) -> list[ForecastWarning]:
        """Return what models warn of."""
        return [each for several in self.outside.values() for each in several]

    def _aside(self, model: Model, what: str, call: Callable[[FittedModel], T]) -> T | None:
        try:
            fitted = self[model]
        except ForecastError:
            return None  # the sampling of the model reports this error
        try:
            return call(fitted)
        except ForecastError as error:
            self.failures.setdefault(what, str(error))
            return None


@dataclass
class World:
    """Some blocks of draws of a graph.

    Parameters
    ----------
    graph : ScenarioGraph
    fits : ModelFits
    time : ndarray
        Decimal years.
    seed : int
    blocks : range
    read : frozenset of str, optional
        The quantities that are asked for from outside of the cycle on which they stand: the paths of the others on it
        are not kept. All by default.
    """

    graph: ScenarioGraph
    fits: ModelFits
    time: Array
    seed: int
    blocks: range
    read: frozenset[str] | None = None
    memo: dict[Any, CachedResult | ForecastError] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    told: dict[tuple[str, str], tuple[ForecastWarning, ...]] = field(default_factory=dict)
    scores: dict[str, Array] = field(default_factory=dict)

    @property
    def draws(self) -> int:
        """How many worlds there are."""
        return blocks.start(self.blocks.stop) - self.first

    @property
    def first(self) -> int:
        """The number of the first of them."""
        return blocks.start(self.blocks.start)

    @cached_property
    def places(self) -> list[slice]:
        """Where the worlds of each block stand."""
        return blocks.places(self.blocks)

    def watched(self, make: Callable[[], T]) -> tuple[T, tuple[Fault, ...]]:
        """Return what is computed, and in which worlds something failed on the way to it."""
        outer, self.faults = self.faults, []
        try:
            return make(), tuple(dict.fromkeys(self.faults))
        finally:
            self.faults = outer

    def numbers(
        self, values: Array, error: Callable[[int], ForecastError], *, steps: Sequence[int] | NDArray[np.int64] = ()
    ) -> Array:
        """Return values, (time, draw), without those that are no numbers: their worlds fail.

        Parameters
        ----------
        values : ndarray
        error : callable
            Makes the error from the number of such values.
        steps : sequence of int
            The step of each row, where that is not its place.

        Raises
        ------
        ForecastError
            If every world fails.
        """
        if not np.isnan(distinct(values)).any():
            return values
        bad = np.isnan(values)
        failing = np.asarray(bad.any(axis=0))
        problem = error(int(bad.sum()))
        if failing.all():
            raise problem
        row = bad.argmax(axis=0)
        self.faults.append(Fault(np.where(failing, np.asarray(steps)[row] if len(steps) else row, -1), problem))
        return others_instead(values, failing)

    def quantity(self, name: str, combination: Combination) -> Array:
        """Return draws of a quantity, (time, draw), in its unit; worlds that fail have the values of another one.

        Raises
        ------
        ForecastError
            If a model behind it fails in this combination of choices.
        """
        node, combination = self.graph.nodes[name], self.graph.equivalent.of(name, combination)
        return self._once(("quantity", name, combination), lambda: self._finite(node, self._within(node, combination)))

    def _free(self, node: Node, combination: Combination) -> Array:
        """Return a quantity with its changes, and without its limits."""
        return self._once(("free", node.name, combination), lambda: self._changed(node, combination))

    def _changed(self, node: Node, combination: Combination) -> Array:
        path = self._quantity(node, combination)
        for each in node.changes:
            if each.value is not None:
                value = self.bound(node, each.value, combination)
                path = replaced(self.time, path, value, each.since, each.until)
            elif each.growth is not None:
                path = self.numbers(
                    grown(self.time, path, each.growth, each.since, each.until),
                    partial(failures.no_growth, f"changes of {node.name}"),
                )
        return path

    def _within(self, node: Node, combination: Combination) -> Array:
        """Return a quantity within its limits."""
        path = self._free(node, combination)
        if node.limits is None:
            return path
        if node.limits.limit is not None:
            path = self._below(node, combination)
        if node.limits.at_least is not None:
            with contextlib.suppress(NoDataAtDateError):  # nothing was known of it: it does not bind
                path = np.maximum(path, self.bound(node, node.limits.at_least, combination))
        if node.limits.keeps == "frontier":
            path = self._frontier(node, path, combination)
        where = f"quantities.{node.name}"
        check_kept(self.time, path, node.limits.keeps, node.limits.at_most, unit=node.unit, where=where)
        return path

    def _finite(self, node: Node, path: Array) -> Array:
        """Return the path of a quantity without those worlds in which its level is infinite: they fail."""
        # a part of a formula may be infinite: a date that never comes
        if node.hidden or not np.isinf(distinct(path)).any():
            return path
        where, infinite = f"quantities.{node.name}", np.isinf(path)
        return self.numbers(np.where(infinite, np.nan, path), partial(failures.infinite_values, where, path.size))

    def _frontier(self, node: Node, path: Array, combination: Combination) -> Array:
        """Return a path that never falls, from the last record observed before the first step."""
        path, raised = frontier(path, self.past(node.name, node, combination).highest())
        if raised and 0 in self.blocks:  # as the warnings of models: of the first worlds
            told = RaisedPathsWarning(subject=node.name, model="keeps", share=float(raised))
            self._tell({(node.name, "keeps"): (told,)})
        return path

    def _below(self, node: Node, combination: Combination) -> Array:
        """Return a quantity under its limit."""
        limits, path = node.limits, self._free(node, combination)
        if limits is None or limits.limit is None:
            return path
        try:
            limit = self.bound(node, limits.limit, combination)
        except NoDataAtDateError:
            return path
        below = limited(path, limit, limits.how, limits.sharpness)
        where = f"quantities.{node.name}.limit: {limits.how}"
        return self.numbers(below, partial(failures.no_limit, where, below.size))

    def bound(self, node: Node, condition: Condition, combination: Combination) -> Array:
        """Return what a quantity is compared with, (time, draw), in its unit."""
        where = f"quantities.{node.name}: {condition.text}"
        found = units.sides(condition, {n: self.graph.nodes[n].measured for n in condition.names if n not in TIME})
        value = self.formula(found.right, node.dims, combination, target=found.unit, where=where, rates=found.rates)
        return np.asarray(units.convert(value, found.unit, node.unit, where=where))

    def binding(self, name: str, part: str, combination: Combination) -> tuple[NDArray[np.bool_], Crossing]:
        """Tell where one bound of a quantity, ``"limit"`` or ``"at_least"``, binds, and when it first does."""
        combination = self.graph.equivalent.of(name, combination)
        return self._kept(("binding", name, part, combination), lambda: self._binding(name, part, combination))

    def _binding(self, name: str, part: str, combination: Combination) -> tuple[NDArray[np.bool_], Crossing]:
        node = self.graph.nodes[name]
        assert node.limits is not None
        floor = part == "at_least"
        free = self._below(node, combination) if floor else self._free(node, combination)
        if floor or node.limits.how == "hard":
            constrained = self.bound(node, node.limits.conditions[part], combination)
        else:
            constrained = self._below(node, combination)
        return binding(self.time, free, constrained, floor=floor)

    def formula(
        self,
        tree: Formula,
        dims: tuple[str, ...],
        combination: Combination,
        *,
        target: str,
        where: str,
        step: int | None = None,
        rates: bool | None = None,
    ) -> Array:
        """Return a formula over quantities, (time, draw), in the unit `target`; of one `step` only, (1, draw).

        `rates` says whether quantities in 1/time are plain numbers a year (see `forecast.units.infer`).
        """
        names = [n for n in tree.names if n not in TIME]
        values: dict[str, Array] = {}
        without: NoDataAtDateError | None = None
        for n in names:
            values[n], error = self._branch(tree, n, self.restrict(n, dims, combination))
            without = without or error
        together = bool(names) and all(alike(v) for v in values.values())
        values = {n: pair(v) if together else dense(v) for n, v in values.items()}
        values |= {n: self._clock(n) for n in tree.names if n in TIME}
        if step is not None:
            values = {n: v[[step if len(v) > 1 else 0]] for n, v in values.items()}
        unit_of = {n: self.graph.nodes[n].measured for n in names}
        texts = {n: self._texts(n, values[n]) for n in names if unit_of[n] is None}
        value = units.evaluate(tree, {**values, **texts}, unit_of, target=target, where=where, rates=rates)
        drawn = np.broadcast_to(
            np.asarray(value, dtype=np.float64),
            (np.shape(value)[0] if np.ndim(value) else 1, PAIR if together else self.draws),
        )
        drawn = spread(drawn, self.draws) if together else drawn
        steps = () if step is None else (step % len(self.time),)
        problem: Callable[[int], ForecastError] = partial(failures.no_numbers, f"{where}: '{tree.text}'", drawn.size)
        drawn = self.numbers(drawn, problem if without is None else partial(failures.as_it_is, without), steps=steps)
        return np.broadcast_to(drawn, (len(self.time) if step is None else 1, self.draws))

    def _branch(self, tree: Formula, name: str, combination: Combination) -> tuple[Array, NoDataAtDateError | None]:
        """Return a quantity that a formula reads; where ``where`` may choose another one, NaN where it has no data."""
        if self.fits.as_of is None or not only_in_branches(tree.root, name):
            return still(self._still(name, self.quantity(name, combination))), None
        try:
            path, faults = self.watched(lambda: self.quantity(name, combination))
        except NoDataAtDateError as error:
            return np.full((1, self.draws), np.nan), error
        without = [fault for fault in faults if isinstance(fault.error, NoDataAtDateError)]
        self.faults.extend(fault for fault in faults if fault not in without)
        path = still(self._still(name, path))
        if without:
            path = np.where(lost(without, self.draws), np.nan, path)
        return path, next((fault.error for fault in without if isinstance(fault.error, NoDataAtDateError)), None)

    def sides(
        self, when: Condition, dims: tuple[str, ...], combination: Combination, *, where: str
    ) -> tuple[Array, Array]:
        """Return the side of a condition that is the greater one when it holds, and the other, (time, draw)."""
        found = units.sides(when, {n: self.graph.nodes[n].measured for n in when.names if n not in TIME}, where=where)
        left, right = (
            self.formula(side, dims, combination, target=found.unit, where=where, rates=found.rates)
            for side in (found.left, found.right)
        )
        return (left, right) if ">" in when.op else (right, left)

    def crossed(self, name: str, dims: tuple[str, ...], combination: Combination) -> Crossing:
        """Return when what a question asks for comes."""
        when = self.graph.scenario.questions[name].when
        names = tuple(n for n in when.names if n not in TIME)
        combination = self.graph.equivalent.of_all(names, dims, combination)

        def cross() -> Crossing:
            greater, lesser = self.sides(when, dims, combination, where=f"questions.{name}.when")
            return crossing(self.time, greater, lesser, strict=when.op in (">", "<"))

        return self._kept(("crossed", name, dims, combination), cross)

    def _clock(self, name: str) -> Array:
        """Return the date, the first date or the step in decimal years, (time, 1) or (1, 1)."""
        return clock(name, self.time)[:, np.newaxis]

    def _texts(self, name: str, codes: Array) -> NDArray[np.str_]:
        """Return the texts that the values of a regime stand for."""
        return np.asarray(self.graph.nodes[name].labels)[codes.astype(np.intp)]

    def input(self, node: str, number: Input) -> Array:
        """Return draws of a named uncertain number, (draw,)."""

        def draw() -> Array:
            record = self.graph.set_inputs.get(node, number.distribution)
            return dense(self.quantiles(distribution(record, where=node), node))

        return self._once(("input", node), draw)

    def quantiles(self, numbers: Distribution, node: str) -> Array:
        """Return the draws of what draws one number a world, (draw,); a fixed number needs no uniforms."""
        if numbers.family == "fixed":
            return np.broadcast_to(numbers.ppf(np.full(1, 0.5)), self.draws)
        return numbers.ppf(self.uniform(node))

    def inputs(self, model: Model) -> dict[str, Array]:
        """Return draws of the named uncertain numbers of a model, (draw,) each."""
        numbers = {name: each for name, each in model.inputs.items() if isinstance(each, Input)}
        return {name: self.input(f"{model.name}.{name}", each) for name, each in numbers.items()}

    def uniform(self, node: str) -> Array:
        """Return the uniforms of what draws one number a world, (draw,); correlated where the scenario says so."""
        if node not in self.graph.correlated:
            return self._own_uniform(node)
        from scipy.special import ndtr

        group, weights = self.graph.correlated[node]
        score = np.zeros(self.draws)
        for member, weight in zip(group, weights, strict=True):
            score += weight * self._own_score(member)
        return np.asarray(np.clip(ndtr(score), 2.0**-54, 1 - 2.0**-53))

    def _own_score(self, node: str) -> Array:
        """Return the normal scores of a node's own uniforms; what moves together needs those of several."""
        from scipy.special import ndtri

        if node not in self.scores:
            self.scores[node] = np.asarray(ndtri(self._own_uniform(node)))
        return self.scores[node]

    def _own_uniform(self, node: str) -> Array:
        return np.concatenate([self._streams(node, number).uniforms("uniform", 1)[0] for number in self.blocks])

    def _streams(self, node: str, number: int) -> Streams:
        """Return the streams of a node, or of a model, in one of the blocks."""
        return blocks.streams(Streams, self.seed, self.graph.stream(node), number)

    def _once(self, key: Any, make: Callable[[], Array]) -> Array:
        return self._kept(key, lambda: read_only(make()))

    def _kept(self, key: Any, make: Callable[[], T]) -> T:
        """Compute a value once; a second use repeats its faults and its warnings."""
        if key not in self.memo:
            dependencies = self.fits.rests
            cached = None if dependencies is None else dependencies.take(self, key)
            self.memo[key] = self._computed(key, make) if cached is None else cached
        result = self.memo[key]
        if isinstance(result, ForecastError):
            raise result
        self.faults.extend(result.faults)
        self._tell(dict(result.warnings))
        value: T = result.value
        return value

    def _computed(self, key: Any, make: Callable[[], Any]) -> CachedResult | ForecastError:
        """Compute a value, or return the error; cache the result if a later run can reuse it."""
        outer, self.told = self.told, {}
        try:
            value, faults = self.watched(make)
        except ForecastError as error:
            return error
        finally:
            told, self.told = self.told, outer
            self._tell(told)
        result = CachedResult(value, faults, tuple(told.items()))
        if self.fits.rests is not None:
            self.fits.rests.give(self, key, result)
        return result

    def _tell(self, told: Mapping[tuple[str, str], tuple[ForecastWarning, ...]]) -> None:
        """Warn, once a quantity and model."""
        for key, warnings in told.items():
            self.told.setdefault(key, warnings)
            self.fits.outside.setdefault(key, warnings)

    def restrict(self, name: str, dims: tuple[str, ...], combination: Combination) -> Combination:
        """Return which values of a quantity's own choices stand in a combination of these `dims`."""
        chosen = dict(zip(dims, combination, strict=True))
        return tuple(chosen[d] for d in self.graph.nodes[name].dims)

    def _quantity(self, node: Node, combination: Combination) -> Array:
        shape = (len(self.time), self.draws)
        if node.fixed is not None:
            return np.broadcast_to(np.float64(node.fixed), shape)
        if node.variants:
            node = replace(node, quantity=node.variants[node.own_values(combination)])
        if node.cycle:
            return self._walked(node, combination)[node.name]
        return np.broadcast_to(node.quantity.draw(self, node, combination), shape)

    def level(self, node: Node, combination: Combination) -> Array:
        """Return draws of a quantity as its model has it, (time, draw), in its unit: without changes and limits."""
        model = node.models[node.own_values(combination)]
        drawn = self._model(model, node, combination)
        converted: Array = units.convert(still(drawn), model.unit, node.unit, where=node.name)
        return np.broadcast_to(converted, drawn.shape)

    def _walked(self, node: Node, combination: Combination) -> dict[str, Array]:
        """Return the paths of a cycle's members, walked through time once; at least that of this one."""
        key, read = ("walk", node.cycle, combination), self.read
        if read is not None and node.name in read:
            return self._kept(key, lambda: step_through(self, node.cycle, combination, read))
        return self._kept((*key, "whole"), lambda: step_through(self, node.cycle, combination))

    def over_time(self, node: Node, combination: Combination) -> Array:
        """Return a function over time of another quantity's path."""
        quantity = node.quantity
        assert isinstance(quantity, OverTime)
        given: Array | float | None
        if isinstance(quantity.argument, str):
            unit, given = self.graph.nodes[quantity.argument].unit, self.path(quantity.argument, node, combination)
            given = units.convert(given, unit, "" if units.same_dimension(unit, "") else "year")
        else:
            given = quantity.argument
        path = self.path(quantity.of, node, combination)
        together = alike(path) and (not isinstance(given, np.ndarray) or alike(given))
        if together:
            path, given = pair(path), pair(given) if isinstance(given, np.ndarray) else given
        found = over_time(quantity.function, self.time, path, given, self.past(quantity.of, node, combination))
        return spread(found, self.draws) if together else found

    def at(self, name: str, combination: Combination, dates: Array) -> Array:
        """Return a quantity at dates in decimal years, (date, draw); before the first step what was observed."""
        node = self.graph.nodes[name]
        path, past = self.path(name, node, combination), self.past(name, node, combination)
        rows = [over_time("at", self.time, path, float(date), past)[-1] for date in dates]
        return np.stack(np.broadcast_arrays(*rows))

    def path(self, name: str, node: Node, combination: Combination) -> Array:
        """Return the path of a quantity that another needs: (time, draw), or (1, draw) where it does not change."""
        return self._still(name, self.quantity(name, self.restrict(name, node.dims, combination)))

    def _still(self, name: str, path: Array) -> Array:
        """Return one row of a path that does not change."""
        return path[:1] if self.graph.nodes[name].steady else path

    def past(self, name: str, node: Node, combination: Combination) -> Past:
        """Return what a quantity was before the first step: what was observed of it, and what the scenario says."""
        of, before = self.graph.nodes[name], self.graph.scenario.before.get(name)
        chosen = dict(zip(node.dims, combination, strict=True))
        model = of.models.get(of.own_in(chosen))
        seen = None if model is None else self.fits.observed(model.rests_on())
        if seen is None:
            return Past(name=name, before=before)
        value = units.convert(np.asarray(seen.value, dtype=np.float64), seen.unit, of.unit, where=name)
        return Past.observed(name, seen.time, value, start=float(self.time[0]), before=before)

    def fitted(self, node: Node, combination: Combination) -> Distribution:
        """Return the distribution fitted to another quantity's worlds."""
        return self.fits.fitted(node, combination, lambda: by_moments(self, node, combination))

    def _model(self, model: Model, node: Node, combination: Combination) -> Array:
        """Sample a model; one that needs no other quantity is the same world whichever quantity asks."""
        key = ("model", model.name, (node.name, combination) if node.needs else None)
        return self._once(key, lambda: self._sample(model, node, combination))

    def set_parameters(self, model: Model) -> dict[str, Array]:
        """Return draws, (draw,) each, of those parameters of a model that are set."""
        together = dict([self.graph.ordered[model.name]] if model.name in self.graph.ordered else [])
        return {
            name: distribution(record, where=key).ppf(self.uniform(together.get(name, key)))
            for name, (key, record) in self.fits.settings(self.graph, model).items()
        }

    def order(self, model: Model) -> NDArray[np.intp] | None:
        """Return the order of a model's worlds, block by block, in which a number of it moves together with others.

        None where they stay as they are drawn.
        """
        number, name = self.graph.ordered.get(model.name, ("", ""))
        if not number or number in self.fits.settings(self.graph, model):
            return None
        return self._kept(("order", model.name), lambda: self._order(model, number, name))

    def _order(self, model: Model, number: str, name: str) -> NDArray[np.intp]:
        from scipy.special import ndtri

        graph, given = self.graph, self.inputs(model)
        group = next(each for each in graph.scenario.correlations if name in each.of)
        own = {each: ndtri(self._own_uniform(each)) for each in group.of}
        drawn = frozenset(n for n in group.of if n in graph.nodes or n in graph.inputs)
        places = []
        for here, number_of_block in zip(self.places, self.blocks, strict=True):
            posterior = self.fits.posterior(
                model,
                self._streams(model.name, number_of_block),
                {n: v[here] for n, v in given.items()},
                {},
            )
            if number not in posterior:
                raise DataError(f"model '{model.name}': posterior: '{number}' is to move with others, and is not there")
            wanted = scores(group, name, {n: v[here] for n, v in own.items()}, drawn)
            places.append(here.start + in_order(posterior[number], wanted))
        return np.concatenate(places)

    def posterior(self, model: Model) -> dict[str, Array]:
        """Return draws of the fitted parameters of a model, (draw,) each."""
        inputs, set_parameters, order = self.inputs(model), self.set_parameters(model), self.order(model)
        if order is not None:
            back = np.argsort(order)
            inputs, set_parameters = ({n: v[back] for n, v in each.items()} for each in (inputs, set_parameters))
        each = [
            self.fits.posterior(
                model,
                self._streams(model.name, number),
                *({n: v[here] for n, v in own.items()} for own in (inputs, set_parameters)),
            )
            for here, number in zip(self.places, self.blocks, strict=True)
        ]
        drawn = {n: np.concatenate([one[n] for one in each]) for n in each[0] if all(n in one for one in each)}
        return drawn if order is None else {n: v[order] for n, v in drawn.items()}

    def _sample(self, model: Model, node: Node, combination: Combination) -> Array:
        fitted, set_parameters = self.fits[model], self.set_parameters(model)
        inputs: dict[str, Array] = {}
        for name, need in model.inputs.items():
            if isinstance(need, Input):
                inputs[name] = self.input(f"{model.name}.{name}", need)
            elif isinstance(need, OtherModel):
                inputs[name] = self._model(need.model, node, combination)
            else:
                source = node.source(name)
                value = dense(self.quantity(source, self.restrict(source, node.dims, combination)))
                value = units.convert(value, self.graph.nodes[source].unit, need.unit, where=node.name)
                inputs[name] = read_only(value)
        order = self.order(model)
        if order is not None:  # what it is handed belongs to the worlds, and stays there
            back = np.argsort(order)
            inputs, set_parameters = (
                {n: read_only(v[..., back]) for n, v in each.items()} for each in (inputs, set_parameters)
            )
        parts = [self._sampled(fitted, node, model, inputs, set_parameters, place) for place in range(len(self.blocks))]
        shape = len(self.time), self.draws
        if all(part.strides[0] == 0 for part in parts):
            parts = [part[:1] for part in parts]
        drawn = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        drawn = np.broadcast_to(drawn if order is None else drawn[:, order], shape)
        what = f"model '{model.name}': sample"
        return self.numbers(drawn, lambda bad: PluginContractError(f"{what}: {bad} of {drawn.size} values are NaN"))

    def _sampled(
        self,
        fitted: FittedModel,
        node: Node,
        model: Model,
        given: Mapping[str, Array],
        set_parameters: Mapping[str, Array],
        place: int,
    ) -> Array:
        """Sample one block of a model."""
        number, own, dependencies = self.blocks[place], self.places[place], self.fits.rests
        streams = self._streams(model.name, number)
        if dependencies is not None and dependencies.keeps_draws(model):
            name = self.graph.stream(model.name)
            streams = blocks.streams(CachedStreams, self.seed, name, number, cache=dependencies.cache)
        inputs = {name: values[..., own] for name, values in given.items()}
        if set_parameters:
            fitted = fitted.with_parameters({name: values[own] for name, values in set_parameters.items()})
        what = f"model '{model.name}': sample"
        drawn = guarded(what, lambda: fitted.sample(read_only(self.time), inputs, streams))
        if self.blocks[place] == 0:  # the others are draws of the same
            aside = f"model '{model.name}': warnings"
            about = partial(_about, quantity=node.name, model=model.name)
            if told := guarded(aside, lambda: tuple(map(about, fitted.warnings(inputs)))):
                self._tell({(node.name, model.name): told})
        return checked_draws(drawn, (len(self.time), streams.draws), what)


def _about(told: ForecastWarning | str, *, quantity: str, model: str) -> ForecastWarning:
    """Return what a model warns of as a warning about a quantity; a plugin may say it in a sentence."""
    own = told if isinstance(told, ForecastWarning) else ModelWarning(note=str(told))
    return replace(own, subject=quantity, model=model)
