"""One block of draws: every quantity of a graph in the same worlds.

The same draw index means the same world in every quantity: a model, an input or a quantity that is used twice is drawn
once. What a model returns is checked here, because a model is foreign code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import units
from forecast.distributions import distribution
from forecast.errors import ForecastError, PluginContractError, PluginError, printable
from forecast.formula import Formula
from forecast.graph import Combination, Graph, Node
from forecast.models import FittedModel, Model, OtherModel
from forecast.registry import stdout_is_data
from forecast.scenario import Expression, Prior
from forecast.specs import Input
from forecast.streams import BLOCK, Streams

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Fits", "World", "guarded"]


def guarded(what: str, call: Callable[[], Any]) -> Any:
    """Run foreign code: its own errors become a `PluginError` naming `what`, and it cannot print to stdout."""
    try:
        with stdout_is_data():
            return call()
    except (ForecastError, KeyboardInterrupt):
        raise
    except BaseException as error:
        reason = str(error).strip().splitlines()
        said = f": {reason[0]}" if reason else ""
        raise PluginError(f"{what}: {type(error).__name__}{printable(said)}") from error


class Fits:
    """Every model of a projection, fitted once; a failure is kept and raised where the model is used."""

    def __init__(self, *, before: float | None, seed: int) -> None:
        self.before, self.seed = before, seed
        self._known: dict[str, FittedModel | ForecastError] = {}

    def __getitem__(self, model: Model) -> FittedModel:
        if model.name not in self._known:
            self._known[model.name] = self._fit(model)
        found = self._known[model.name]
        if isinstance(found, ForecastError):
            raise found
        return found

    def _fit(self, model: Model) -> FittedModel | ForecastError:
        what = f"model '{model.name}'"
        try:
            fitted = guarded(f"{what}: fit", lambda: model.fit(before=self.before, seed=self.seed))
            if not isinstance(fitted, FittedModel):
                raise PluginContractError(f"{what}: fit returned {type(fitted).__name__}, not a FittedModel")
        except ForecastError as error:
            return error if what in str(error) else type(error)(f"{what}: {error}")
        return fitted


def _frozen(values: Array) -> Array:
    view = values.view()
    view.flags.writeable = False
    return view


@dataclass
class World:
    """One block of draws of a graph.

    Parameters
    ----------
    graph : Graph
    fits : Fits
    time : ndarray
        Decimal years.
    seed : int
    block : int
    """

    graph: Graph
    fits: Fits
    time: Array
    seed: int
    block: int
    _memo: dict[Any, Array | ForecastError] = field(default_factory=dict)

    def quantity(self, name: str, combination: Combination) -> Array:
        """Return draws of a quantity, (time, draw), in its unit.

        Raises
        ------
        ForecastError
            If a model behind it fails in this combination of choices.
        """
        node = self.graph.nodes[name]
        return self._once(("quantity", name, combination), lambda: self._quantity(node, combination))

    def formula(
        self, tree: Formula, dims: tuple[str, ...], combination: Combination, *, target: str, where: str
    ) -> Array:
        """Return a formula over quantities, (time, draw), in the unit `target`."""
        values = {n: self.quantity(n, self._restrict(n, dims, combination)) for n in tree.names}
        unit_of = {n: self.graph.nodes[n].unit for n in tree.names}
        value = units.evaluate(tree, values, unit_of, target=target, where=where)
        return np.broadcast_to(value, (len(self.time), BLOCK))

    def input(self, node: str, asked: Input) -> Array:
        """Return draws of a named uncertain number, (draw,)."""

        def draw() -> Array:
            if node in self.graph.fixed_inputs:
                return np.full(BLOCK, self.graph.fixed_inputs[node])
            return distribution(asked.distribution, where=node).ppf(self._uniform(node))

        return self._once(("input", node), draw)

    def _uniform(self, node: str) -> Array:
        uniform = Streams(self.seed, node, self.block)("uniform").random(BLOCK)
        # random() can return 0, where a normal has no quantile; the smallest step inside keeps the order.
        return np.maximum(uniform, 2.0**-54)

    def _once(self, key: Any, make: Callable[[], Array]) -> Array:
        if key not in self._memo:
            try:
                self._memo[key] = _frozen(make())
            except ForecastError as error:
                self._memo[key] = error
        found = self._memo[key]
        if isinstance(found, ForecastError):
            raise found
        return found

    def _restrict(self, name: str, dims: tuple[str, ...], combination: Combination) -> Combination:
        chosen = dict(zip(dims, combination, strict=True))
        return tuple(chosen[d] for d in self.graph.nodes[name].dims)

    def _quantity(self, node: Node, combination: Combination) -> Array:
        shape = (len(self.time), BLOCK)
        if node.fixed is not None:
            return np.full(shape, node.fixed)
        if isinstance(node.quantity, Prior):
            return np.broadcast_to(node.quantity.distribution.ppf(self._uniform(node.name)), shape)
        if isinstance(node.quantity, Expression):
            where = f"{self.graph.scenario.where}: quantities.{node.name}"
            return self.formula(node.quantity.tree, node.dims, combination, target=node.unit, where=where)
        chosen = dict(zip(node.dims, combination, strict=True))
        model = node.models[tuple(chosen[c] for c in node.own)]
        drawn: Array = units.convert(self._model(model, node, combination), model.unit, node.unit, where=node.name)
        return drawn

    def _model(self, model: Model, node: Node, combination: Combination) -> Array:
        """Sample a model; one that needs no other quantity is the same world whichever quantity asks."""
        key = ("model", model.name, (node.name, combination) if node.needs else None)
        return self._once(key, lambda: self._sample(model, node, combination))

    def _sample(self, model: Model, node: Node, combination: Combination) -> Array:
        fitted = self.fits[model]
        given: dict[str, Array] = {}
        for name, asked in model.inputs.items():
            if isinstance(asked, Input):
                given[name] = self.input(f"{model.name}.{name}", asked)
            elif isinstance(asked, OtherModel):
                given[name] = self._model(asked.model, node, combination)
            else:
                source = node.source(name)
                value = self.quantity(source, self._restrict(source, node.dims, combination))
                given[name] = _frozen(units.convert(value, self.graph.nodes[source].unit, asked.unit, where=node.name))
        streams = Streams(self.seed, model.name, self.block)
        what = f"model '{model.name}': sample"
        drawn = guarded(what, lambda: fitted.sample(_frozen(self.time), given, streams))
        return checked(drawn, (len(self.time), BLOCK), what)


def checked(drawn: object, shape: tuple[int, int], what: str) -> Array:
    """Return what a model sampled as float64, or say how it breaks its contract.

    Raises
    ------
    PluginContractError
    """
    if not isinstance(drawn, np.ndarray):
        raise PluginContractError(f"{what}: expected an array of shape (time, draw), got {type(drawn).__name__}")
    if drawn.dtype.kind not in "fiu":
        raise PluginContractError(f"{what}: expected real numbers, got {drawn.dtype}")
    if drawn.shape != shape:
        raise PluginContractError(f"{what}: expected shape (time, draw) = {shape}, got {drawn.shape}")
    out = drawn.astype(np.float64, copy=False)
    if np.isnan(out).any():
        raise PluginContractError(f"{what}: {int(np.isnan(out).sum())} of {out.size} values are NaN")
    return out


def describe(fits: Fits, models: Mapping[str, Model]) -> dict[str, Any]:
    """Return what each fitted model says of itself, as plain data; a model that failed is left out."""
    said: dict[str, Any] = {}
    for name, model in models.items():
        try:
            description = guarded(f"model '{name}': describe", lambda m=model: fits[m].describe())  # type: ignore[misc]
        except ForecastError:
            continue
        said[name] = {
            "summary": description.summary,
            "assumptions": list(description.assumptions),
            "sources": list(description.sources),
            "facts": {k: (float(v) if np.isfinite(v) else None) for k, v in description.facts.items()},
        }
    return said
