"""What runs of one scenario share: the fits of its models, and the draws on which a change has no bearing.

A fit is determined by its model, and a draw by what it rests on: the streams have names, so that a quantity that is not
downstream of a change has the same bytes before and after it. `RunCache` keeps both between runs. What is taken from it
is what would have been computed: two values are the same where everything that they rest on compares equal.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from forecast.base.streams import Streams
from forecast.errors import ForecastError
from forecast.models import FittedModel, Model
from forecast.models.nesting import nested
from forecast.projection.failures import Fault
from forecast.scenarios import setting_targets
from forecast.scenarios.graph import Combination, ScenarioGraph
from forecast.scenarios.scenario import ModelRef
from forecast.tables import editions

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")

__all__ = ["CachedResult", "CachedStreams", "Dependencies", "RunCache"]

#: What models warn of, by quantity and model.
Told = tuple[tuple[str, str], tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class CachedResult:
    """What was computed, in which worlds something failed on the way to it, and what models warned of."""

    value: Any
    faults: tuple[Fault, ...] = ()
    told: tuple[Told, ...] = ()


@dataclass(frozen=True)
class _ById:
    """An object that is compared by what it is, and that stays while it is held."""

    object: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.object is self.object

    def __hash__(self) -> int:
        return id(self.object)


@dataclass(frozen=True, eq=False)
class _Entry:
    key: Hashable
    rests: Any
    value: Any
    size: int


class RunCache:
    """Fits and draws that are kept between runs, those that were used last up to a size.

    Parameters
    ----------
    size : int
        Bytes of draws that are kept at most; fits are small, and are kept in any case.

    Examples
    --------
    >>> import forecast
    >>> from forecast.projection.engine import project
    >>> held = RunCache()
    >>> x = {"start": 2025, "until": 2030, "quantities": {"x": {"p05": 1, "p95": 4, "unit": "FLOP"}}}
    >>> first, again = (project(x, draws=10, cache=held) for _ in range(2))
    >>> first.identical(again)
    True
    """

    def __init__(self, size: int = 256 * 2**20) -> None:
        self.size = size
        self._entries: OrderedDict[int, _Entry] = OrderedDict()
        self._places: dict[Hashable, list[int]] = {}
        self._bytes, self._next, self._lock = 0, 0, threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Send nothing to another process but the size: it computes for itself."""
        return {"size": self.size}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__init__(state["size"])  # type: ignore[misc]

    def take(self, key: Hashable, rests: Any) -> Any:
        """Return what is held under a key and rests on the same; None where nothing does."""
        with self._lock:
            for number in self._places.get(key, ()):
                entry = self._entries[number]
                if entry.rests == rests:
                    self._entries.move_to_end(number)
                    return entry.value
        return None

    def give(self, key: Hashable, rests: Any, value: Any, size: int = 0) -> None:
        """Keep a value; what was used longest ago goes where there is no room."""
        if size > self.size:
            return
        with self._lock:
            self._entries[self._next] = _Entry(key, rests, value, size)
            self._places.setdefault(key, []).append(self._next)
            self._next, self._bytes = self._next + 1, self._bytes + size
            while self._bytes > self.size:
                number = next(n for n, entry in self._entries.items() if entry.size)
                gone = self._entries.pop(number)
                self._places[gone.key].remove(number)
                self._bytes -= gone.size


@dataclass(frozen=True, kw_only=True)
class CachedStreams(Streams):
    """Streams that hold what is drawn from them alone, for the next run.

    Parameters
    ----------
    held : RunCache
    """

    held: RunCache

    def once(self, of: object, what: Hashable, make: Callable[[], T]) -> T:
        """Return what is held of it, or make it."""
        key, rests = ("once", self.seed, self.node, self.block, what), _ById(of)
        found: T | None = self.held.take(key, rests)
        if found is None:
            found = _read_only(make())
            self.held.give(key, rests, found, _bytes(found))
        return found


@dataclass(frozen=True, eq=False)
class Dependencies:
    """On what everything in one run rests.

    Parameters
    ----------
    graph : ScenarioGraph
    held : RunCache
    as_of : float or None
    seed : int
    """

    graph: ScenarioGraph
    held: RunCache
    as_of: float | None
    seed: int
    _known: dict[Any, Any] = field(default_factory=dict)

    # --- fits -------------------------------------------------------------------------------------------------------

    def fit(self, model: Model, make: Callable[[], FittedModel | ForecastError]) -> FittedModel | ForecastError:
        """Return a fit that is held, or make it; one that failed is made anew."""
        # what a registered model reads is noted as it is read; of files that a scenario names the contents are compared
        files = {} if "/" in model.name else self._data
        rests = self.as_of, self.seed, files, self._origin(model)
        return self._noting(("fit", model.name), rests, make, lambda made: not isinstance(made, ForecastError))

    def aside(self, world: Any, model: Model, what: str, make: Callable[[], T]) -> T:
        """Return what is told of a fitted model beside its level: held, or made; what failed is made anew."""
        failed = len(world.fits.failures)
        try:
            rests = self.seed, self.as_of, self._together, self._model(world, model)
        except ForecastError:
            return make()
        return self._noting((what, model.name), rests, make, lambda _: len(world.fits.failures) == failed)

    def _noting(self, key: Hashable, rests: Any, make: Callable[[], T], whole: Callable[[T], bool]) -> T:
        """Return something that is held, unless a table that was read for it is another by now; or make it."""
        found = self.held.take(key, rests)
        if found is not None and all(self._hash(path) == hashed for path, hashed in found[1].items()):
            for path in found[1]:
                editions.noted(path)
            held: T = found[0]
            return held
        with editions.standing({}) as read:
            made = make()
        if whole(made):
            self.held.give(key, rests, (made, {path: self._hash(path) for path in read}))
        return made

    def _hash(self, path: Path) -> str:
        if path not in self._known:
            self._known[path] = editions.of(path).hash
        hashed: str = self._known[path]
        return hashed

    @cached_property
    def _data(self) -> dict[str, str]:
        from forecast.projection import source_tables

        return source_tables.hashes(self.graph)

    def _origin(self, model: Model) -> Any:
        """Return what makes a model what it is: for registered ones what stands beside their name."""
        if "/" in model.name:
            shape, options = getattr(model, "shape", None), getattr(model, "options", None)
            return (shape if isinstance(shape, str | None) else _ById(shape)), options, model.keeps
        return self._origins.get(model.name, _ById(model))

    @cached_property
    def _origins(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for node in self.graph.nodes.values():
            for combination, outer in node.models.items():
                for made in nested(outer):
                    stated = _plain(node.variants.get(combination, node.quantity))
                    at = dict(zip(node.own, combination, strict=True))
                    told = (node.name, stated, at, made.keeps, self.graph.scenario.folder)
                    found.setdefault(made.name, told)
        return found

    # --- draws ------------------------------------------------------------------------------------------------------

    def take(self, world: Any, key: Any) -> CachedResult | None:
        """Return draws that are held; None where there are none, or where they rest on what failed."""
        rests = self._of(world, key)
        found = None if rests is None else self.held.take((*key, world.blocks), rests)
        return found if isinstance(found, CachedResult) else None

    def give(self, world: Any, key: Any, made: CachedResult) -> None:
        """Keep draws, unless models warn on the way to them in the name of another quantity."""
        rests = self._of(world, key)
        if rests is not None and all(
            quantity in self._behind(*_names(self.graph, key)) for (quantity, _), _ in made.told
        ):
            self.held.give((*key, world.blocks), rests, made, _bytes(made.value))

    def _of(self, world: Any, key: Any) -> Any:
        """Return on what something rests that is computed for worlds; None for what is not held."""
        if key not in self._known:
            try:
                self._known[key] = self._parts(world, key)
            except ForecastError:
                self._known[key] = None
        parts = self._known[key]
        if parts is None:
            return None
        scenario = self.graph.scenario
        return world.time.tobytes(), self.seed, self.as_of, scenario.start, self._together, parts

    @property
    def _together(self) -> Any:
        """What moves together with what, and by which names they draw."""
        return self.graph.correlated, self.graph.ordered, self.graph.scenario.streams

    def _parts(self, world: Any, key: Any) -> Any:
        if key[0] == "model" and key[2] is None:  # it needs no other quantity
            return self._model(world, self.graph.models[key[1]])
        if key[0] == "input" and key[1] in self.graph.inputs:
            return self.graph.inputs[key[1]], self.graph.set_inputs.get(key[1])
        if key[0] in ("quantity", "free", "binding"):
            return tuple(self._each(world, key, self.graph.nodes[key[1]].dims))
        if key[0] == "side":
            return tuple(self._each(world, key, key[4]))
        if key[0] == "crossed":
            return self.graph.scenario.questions[key[1]].when.text, tuple(self._each(world, key, key[2]))
        return None

    def _behind(self, *names: str) -> list[str]:
        if ("behind", names) not in self._known:
            self._known["behind", names] = list(setting_targets.behind(self.graph, names))
        behind: list[str] = self._known["behind", names]
        return behind

    def _each(self, world: Any, key: Any, dims: tuple[str, ...]) -> Iterator[Any]:
        """Walk what the quantities are on which something rests, under these values of the choices."""
        for each in self._behind(*_names(self.graph, key)):
            yield self._node(world, each, world.restrict(each, dims, key[-1]))

    def _node(self, world: Any, name: str, combination: Combination) -> Any:
        key = "node", name, combination
        if key not in self._known:
            node = self.graph.nodes[name]
            chosen = dict(zip(node.dims, combination, strict=True))
            own = tuple(chosen[c] for c in node.own)
            model = node.models.get(own)
            self._known[key] = (
                (name, node.unit, chosen, node.own, node.needs, node.past, node.steady, node.owner, node.fixed),
                _plain(node.variants.get(own, node.quantity)),
                node.figures.get(own),
                (node.limits, node.changes, node.cycle, self.graph.scenario.before.get(name)),
                None if node.own_draws is None else node.own_draws.tobytes(),
                None if model is None else self._model(world, model),
            )
        return self._known[key]

    def _model(self, world: Any, model: Model) -> Any:
        """Return a model as it was fitted, and what is set of it; so of those that it contains."""
        return tuple(
            (
                made.name,
                made.unit,
                _ById(world.fits[made]),
                {k: v for k, v in self.graph.set_inputs.items() if k.rpartition(".")[0] == made.name},
                self.graph.set_parameters.get(made.name),
            )
            for made in nested(model)
        )


def _names(graph: ScenarioGraph, key: Any) -> tuple[str, ...]:
    """Return the quantities that something is computed of."""
    if key[0] == "crossed":
        return graph.scenario.questions[key[1]].when.names
    if key[0] == "side":
        return tuple(key[1])
    return (key[1],) if key[0] not in ("model", "input") else ()


def _plain(quantity: Any) -> Any:
    """Return what a quantity states; a model that was handed over is compared by what it is."""
    if isinstance(quantity, ModelRef) and isinstance(quantity.model, Model):
        return replace(quantity, model=""), _ById(quantity.model)
    return quantity


def _read_only(value: Any) -> Any:
    """Return the same, of which every run may have it: nobody writes to its arrays."""
    if isinstance(value, tuple):
        return tuple(map(_read_only, value))
    if isinstance(value, Mapping):
        return {name: _read_only(each) for name, each in value.items()}
    seen = np.asarray(value).view()
    seen.flags.writeable = False
    return seen


def _bytes(value: Any) -> int:
    """Return how much memory values take; what is repeated along an axis is there once."""
    if isinstance(value, np.ndarray):
        sizes = (n if step else 1 for n, step in zip(value.shape, value.strides, strict=True))
        return int(value.itemsize * np.prod(list(sizes)))
    parts = value if isinstance(value, tuple) else (value if isinstance(value, Mapping) else vars(value)).values()
    return sum(_bytes(each) for each in parts)
