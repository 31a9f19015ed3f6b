"""Every model of a run, fitted once, and what it says: each call of a plugin's model is guarded and checked here.

A fit is known by its content: where the model comes from, its options, the date, the seed, and the hashes of the tables
and files that it read. Under that key runs share fits, and the steps of a plan rest on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from forecast.base import access
from forecast.base.budgets import check_time
from forecast.base.dates import year_of
from forecast.contract.plugin_calls import call_guarded
from forecast.contract.registry import get_registry
from forecast.contract.specs import Input
from forecast.errors import (
    DataError,
    ForecastError,
    ForecastWarning,
    NoDataAtDateError,
    PluginContractError,
    UnknownNameError,
)
from forecast.models import FittedModel, Model, Observations
from forecast.models.check_output import checked_description, checked_observations
from forecast.models.nesting import walk_models
from forecast.projection import source_tables
from forecast.projection.failures import is_lack_of_data
from forecast.projection.paths.run_cache import BoundedStore, RunCache, identity_of
from forecast.scenarios.graph import ScenarioGraph
from forecast.scenarios.quantities.node import Node
from forecast.scenarios.settings import setting_values
from forecast.tables import editions

T = TypeVar("T")


@dataclass(frozen=True)
class _Source:
    """Where a model comes from.

    Parameters
    ----------
    text : str
        Its content: what the registry or the scenario says of it.
    is_object : bool
        It is, or is within, an object of Python that a caller handed over.
    files : tuple of str
        The tables and files of the scenario that it is fitted to.
    """

    text: str
    is_object: bool = False
    files: tuple[str, ...] = ()


class ModelFits:
    """Every model of a projection, fitted once; a failure is kept and raised where the model is used.

    Parameters
    ----------
    graph : ScenarioGraph
    as_of : float or None
    seed : int
    cache : RunCache, optional
        What the run shares with other runs.
    share_draws : bool
        Whether draws are cached, beside fits; those of many worlds, which are only counted, are too many.

    Attributes
    ----------
    failures : dict of str to str
        What went wrong beside the level: points, posterior or description of a model that could not be had.
    younger : dict of str to str
        When a stated number was published that is younger than the date, by its name.
    outside : dict of (str, str) to tuple of ForecastWarning
        What models warn of, by quantity and model: of the first combination of choices in which they do.
    """

    def __init__(
        self,
        graph: ScenarioGraph,
        *,
        as_of: float | None,
        seed: int,
        cache: RunCache | None = None,
        share_draws: bool = True,
    ) -> None:
        self.as_of, self.seed, self.cache = as_of, seed, cache
        self.failures: dict[str, str] = {}
        self.outside: dict[tuple[str, str], tuple[ForecastWarning, ...]] = {}
        #: What earlier runs have drawn; None where this one shares no draws.
        self.draws_cache = cache if share_draws and cache is not None and cache.size > 0 else None
        self._sources: dict[str, _Source] = {}
        self._outcomes: dict[str, tuple[FittedModel | ForecastError, str]] = {}
        self._shared_results: dict[bytes, Any] = {}
        self._hashes: dict[str | Path, str] = {}
        self.younger: dict[str, str] = {}
        self.include(graph)

    def include(self, graph: ScenarioGraph) -> None:
        """Take the models of a graph among those that can be fitted."""
        for node in graph.nodes.values():
            for own, outer in node.models.items():
                for model in walk_models(outer):
                    if model.name not in self._sources:
                        self._sources[model.name] = _find_source(graph, node, own, model)

    def __getitem__(self, model: Model) -> FittedModel:
        fitted = self.outcome(model)
        if isinstance(fitted, ForecastError):
            raise fitted
        return fitted

    def known(self, name: str, published: str, now: T, earlier: T | None) -> T:
        """Return what is stated, or what stood before where it was published after the date of the run.

        Raises
        ------
        NoDataAtDateError
            If nothing stood before.
        """
        if self.as_of is None or not published or year_of(published) <= self.as_of:
            return now
        self.younger[name] = published
        if earlier is None:
            raise NoDataAtDateError(f"{name}: published on {published}")
        return earlier

    def outcome(self, model: Model) -> FittedModel | ForecastError:
        """Return a fitted model, or why it cannot be fitted."""
        return self._outcome(model)[0]

    def key(self, model: Model) -> str:
        """Return the key of a fit: all that it is computed from."""
        return self._outcome(model)[1]

    def _outcome(self, model: Model) -> tuple[FittedModel | ForecastError, str]:
        if model.name not in self._outcomes:
            source = self._sources[model.name]
            stated = source.text, self.as_of, self.seed, [self._hash(name) for name in source.files]
            made, read = self._shared(
                ("fit", repr(stated)), model, lambda: self._fit(model), lambda fit: isinstance(fit, FittedModel)
            )
            key = hashlib.blake2b(repr((stated, sorted(read.values()))).encode(), digest_size=16).hexdigest()
            self._outcomes[model.name] = made, key
        return self._outcomes[model.name]

    def _fits_cache(self, model: Model) -> BoundedStore | None:
        """Return where other runs find what is fitted of a model."""
        if self.cache is None:
            return None
        return self.cache.object_fits if self._sources[model.name].is_object else self.cache.fits

    def shares_draws(self, model: Model) -> bool:
        """Tell whether other runs may take the draws of a model."""
        cache = self.draws_cache
        return cache is not None and not (cache.lasting and self._sources[model.name].is_object)

    def _shared(
        self, key: tuple[str, str], model: Model, make: Callable[[], T], complete: Callable[[T], bool]
    ) -> tuple[T, dict[Path, str]]:
        """Return what comes of a model, from the cache if the tables that it was computed from are as they were.

        With it come the hashes of these tables. What is not `complete` is not cached.
        """
        check_time("fitting and describing models", len(self._outcomes), len(self._sources), "models")
        whole = (*key, access.current())
        fits = self._fits_cache(model)
        cached = None if fits is None else fits.take(whole)
        if cached is not None and all(self._hash(path) == hashed for path, hashed in cached[1].items()):
            for path in cached[1]:
                editions.note_table(path)
            return cached  # type: ignore[no-any-return]
        with editions.use_editions({}) as read:
            value = make()
        result = value, {path: self._hash(path) for path in read}
        if fits is not None and complete(value):
            fits.give(whole, result)
        return result

    def _hash(self, of: str | Path) -> str:
        """Return the hash of a table, by its descriptor, or of what a scenario names."""
        if of not in self._hashes:
            self._hashes[of] = editions.of(of).hash if isinstance(of, Path) else source_tables.read_hash(of)
        return self._hashes[of]

    def _fit(self, model: Model) -> FittedModel | ForecastError:
        what = f"model '{model.name}'"
        try:
            fitted = call_guarded(f"{what}: fit", lambda: model.fit(as_of=self.as_of, seed=self.seed))
            if not isinstance(fitted, FittedModel):
                raise PluginContractError(f"{what}: fit returned {type(fitted).__name__}, not a FittedModel")
        except ForecastError as error:
            reason = str(error).removeprefix(f"{model.name}: ")
            if what not in reason:
                error.args = (f"{what}: {reason}",)
            lacks_data = self.as_of is not None and is_lack_of_data(error)
            return NoDataAtDateError(str(error)) if lacks_data else error.with_traceback(None)
        return fitted

    def once(self, key: bytes, make: Callable[[], T]) -> T:
        """Return what all blocks share, made once: under a key of its content."""
        if key not in self._shared_results:
            try:
                self._shared_results[key] = make()
            except ForecastError as error:
                self._shared_results[key] = error.with_traceback(None)
        outcome = self._shared_results[key]
        if isinstance(outcome, ForecastError):
            raise outcome
        return outcome  # type: ignore[no-any-return]

    def refusals(self) -> list[ForecastError]:
        """Return the errors of the models that failed to fit so far."""
        return [outcome for outcome, _ in self._outcomes.values() if isinstance(outcome, ForecastError)]

    def observed(self, model: Model) -> Observations:
        """Return the points behind a model: none where it has none or fails."""
        what = f"model '{model.name}': observed"
        found = self._aside(model, what, lambda fit: checked_observations(call_guarded(what, fit.observed), what))
        return found or Observations()

    def settings(self, graph: ScenarioGraph, model: Model) -> dict[str, tuple[str, dict[str, Any]]]:
        """Return the parameters of a model that are set: each with its full name and the record of a distribution."""
        values = graph.set_parameters.get(model.name, {})
        if not values:
            return {}
        units_of = self[model].settable
        return {
            name: (
                key := f"{model.name}.{name}",
                setting_values.parse_setting(key, value, partial(str, units_of[name])),
            )
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
            fitted = [owner for owner in owners if not isinstance(self.outcome(models[owner]), ForecastError)]
            can = [f"{owner}.{each}" for owner in fitted for each in self[models[owner]].settable]
            if fitted and not any(f"{owner}.{name}" in can for owner in owners):
                can += [key for key in graph.inputs if key.rpartition(".")[0] in owners]
                raise UnknownNameError("parameter", f"{owners[0]}.{name}", can, where="set")
            for owner in fitted:
                self.settings(graph, models[owner])

    def describe(self, model: Model, inputs: Mapping[str, Input]) -> dict[str, Any] | None:
        """Return what a model says of itself, as plain data, with the inputs that were set; None where it fails."""
        what = f"model '{model.name}': describe"

        def checked(fitted: FittedModel) -> dict[str, Any]:
            said = call_guarded(what, lambda: (fitted.with_inputs(inputs) if inputs else fitted).describe())
            return checked_description(said, what)

        key = repr(([self.key(each) for each in walk_models(model)], inputs))
        made = self._shared(
            ("described", key), model, lambda: self._aside(model, what, checked), lambda made: made is not None
        )
        return made[0]

    def warnings(self, graph: ScenarioGraph) -> list[ForecastWarning]:
        """Return what models warn of, in the order of the quantities."""
        quantities, models = (dict(zip(names, range(len(names)), strict=True)) for names in (graph.nodes, graph.models))
        told = sorted(self.outside.items(), key=lambda each: (quantities[each[0][0]], models.get(each[0][1], -1)))
        return [each for _, several in told for each in several]

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


class ModelNames(ModelFits):
    """Models by their names alone: enough to see, before anything is fitted, which steps a run has."""

    def _outcome(self, model: Model) -> tuple[FittedModel | ForecastError, str]:
        return DataError(f"model '{model.name}' is not fitted"), model.name


def _find_source(graph: ScenarioGraph, node: Node, own: tuple[str, ...], model: Model) -> _Source:
    """Return where one of the models of a quantity comes from: a caller, the registry, or what the scenario states."""
    quantity = node.variants.get(own, node.quantity)
    stated, objects = quantity.parts
    beside = model.name, model.keeps, model.bounds, model.at_most
    if objects and not quantity.registered:
        return _Source(repr((identity_of(model), *map(identity_of, objects), stated, beside)), is_object=True)
    plugins = identity_of(get_registry())
    if quantity.registered:
        shape, options = getattr(model, "shape", None), getattr(model, "options", None)
        shape = shape if isinstance(shape, str | None) else identity_of(shape)
        return _Source(repr((plugins, beside, shape, options)))
    chosen = dict(zip(node.own, own, strict=True))
    text = repr((plugins, beside, stated, chosen, graph.stream(model.name)))
    return _Source(text, files=tuple(source_tables.read_by(quantity, node, model)))
