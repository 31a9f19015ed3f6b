"""Cache fits and draws, so that runs of one scenario share what a change does not affect.

A model determines its fit, and its dependencies determine a draw: streams have names, so that a quantity that is not
downstream of a change has the same bytes before and after it. `RunCache` keeps both between runs. A cached value equals
the one that a run would compute: a lookup matches only if all dependencies compare equal.

All runs of a process share what they fit and draw of the models that plugins register, which is a function of its
dependencies by their contract. An object of Python that a caller hands over may be another one tomorrow under the same
identity: of it nothing is shared but between runs that are asked for together, as those of a sweep.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from forecast.base import access
from forecast.base.streams import Streams
from forecast.contract.registry import Registry, get_registry
from forecast.errors import ForecastError, ForecastWarning
from forecast.formula import TIME
from forecast.models import FittedModel, Model
from forecast.models.nesting import nested
from forecast.projection.failures import Fault
from forecast.projection.paths.alike import read_only
from forecast.scenarios.graph import ScenarioGraph
from forecast.scenarios.quantities.kind import QuantityKind
from forecast.scenarios.quantities.node import Combination, Node
from forecast.scenarios.settings import setting_targets
from forecast.tables import editions

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")

#: What runs of one scenario share may take so much memory, and what all runs of a process do.
SHARED_BYTES, PROCESS_BYTES = 2**30, 128 * 2**20
#: Fits, and what is told of them, that a cache has room for.
MAX_FITS = 1000
#: Of the draws that are cached, what no later run has used leaves first down to this share.
UNTAKEN_SHARE = 0.25

__all__ = ["CachedResult", "CachedStreams", "Dependencies", "RunCache", "cache_of_process"]

#: The quantity and the model that warns, with the warnings.
ModelWarnings = tuple[tuple[str, str], tuple[ForecastWarning, ...]]


@dataclass(frozen=True, eq=False)
class CachedResult:
    """A computed value, with the faults of single draws and the warnings of models on the way to it."""

    value: Any
    faults: tuple[Fault, ...] = ()
    warnings: tuple[ModelWarnings, ...] = ()


@dataclass(frozen=True)
class _ById:
    """An object compared by identity; the reference keeps it alive, so that its `id` stays its own."""

    object: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.object is self.object

    def __hash__(self) -> int:
        return id(self.object)


@dataclass(frozen=True, eq=False)
class _Entry:
    key: Hashable
    dependencies: Any
    value: Any
    buffers: Mapping[int, int]


class _Origin:
    """What a value is computed from, its own part and the origins of what it needs; equal ones are one object.

    So origins compare by identity, and one that is shared by a thousand values is compared once a run.
    """

    __slots__ = ("__weakref__", "parts")

    def __init__(self, parts: Any) -> None:
        self.parts = parts


class RunCache:
    """Fits and draws of earlier runs; when it is full, draws leave that no later run has used, the oldest first.

    So what many runs share outlives what each run draws for itself. Where little of that is left, the least recently
    used leaves.

    Parameters
    ----------
    size : int
        Most bytes of draws, memory that several of them share counted once; of fits, which are small, the last
        `MAX_FITS` stay in any case.
    lasting : bool
        Runs that nobody asked for together share it: it keeps what registered models fit and draw, and nothing else.

    Examples
    --------
    >>> import forecast
    >>> from forecast.projection.engine import project
    >>> cache = RunCache()
    >>> x = {"start": 2025, "until": 2030, "quantities": {"x": {"p05": 1, "p95": 4, "unit": "FLOP"}}}
    >>> first, again = (project(x, draws=10, cache=cache) for _ in range(2))
    >>> first.identical(again)
    True
    """

    def __init__(self, size: int = 256 * 2**20, *, lasting: bool = False) -> None:
        self.size, self.lasting = size, lasting
        self._entries: dict[int, _Entry] = {}
        self._places: dict[Hashable, list[int]] = {}
        # of what can leave: what nobody has taken yet, and what somebody has, the least recently used first
        self._untaken: OrderedDict[int, None] = OrderedDict()
        self._taken: OrderedDict[int, None] = OrderedDict()
        self._fits: OrderedDict[int, None] = OrderedDict()  # the least recently used first
        self._holders: dict[int, int] = {}  # of a buffer, how many entries keep it
        self._origins: dict[Hashable, list[weakref.ref[_Origin]]] = {}
        self._bytes, self._next, self._lock = 0, 0, threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Send only what it may keep to another process, which fills a cache of its own."""
        return {"size": self.size, "lasting": self.lasting}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def take(self, key: Hashable, dependencies: Any) -> Any:
        """Return the cached value for this key and these dependencies; None on a miss."""
        with self._lock:
            for number in self._places.get(key, ()):
                entry = self._entries[number]
                if entry.dependencies == dependencies:
                    if entry.buffers:
                        self._untaken.pop(number, None)
                        self._taken[number] = None
                        self._taken.move_to_end(number)
                    else:
                        self._fits.move_to_end(number)
                    return entry.value
        return None

    def give(self, key: Hashable, dependencies: Any, value: Any, arrays: Iterable[NDArray[Any]] = ()) -> None:
        """Cache a value; others leave if there is no room.

        `arrays` are those that it keeps in memory.
        """
        buffers = dict(map(_buffer, arrays))
        if sum(buffers.values()) > self.size:
            return
        with self._lock:
            number, self._next = self._next, self._next + 1
            self._entries[number] = _Entry(key, dependencies, value, buffers)
            self._places.setdefault(key, []).append(number)
            for buffer, size in buffers.items():
                holders = self._holders.get(buffer, 0)
                self._holders[buffer] = holders + 1
                self._bytes += 0 if holders else size
            (self._untaken if buffers else self._fits)[number] = None
            while self._bytes > self.size:
                self._remove(self._next_to_leave(number))
            while len(self._fits) > MAX_FITS:
                self._remove(self._fits.popitem(last=False)[0])

    def _next_to_leave(self, newest: int) -> int:
        """Take an entry of draws off the lists, and not the newest."""
        oldest = next(iter(self._untaken), newest)
        many = len(self._untaken) > UNTAKEN_SHARE * (len(self._untaken) + len(self._taken))
        if oldest != newest and (many or not self._taken):
            del self._untaken[oldest]
            return oldest
        return self._taken.popitem(last=False)[0]

    def _remove(self, number: int) -> None:
        evicted = self._entries.pop(number)
        self._places[evicted.key].remove(number)
        for buffer, size in evicted.buffers.items():
            self._holders[buffer] -= 1
            if not self._holders[buffer]:
                del self._holders[buffer]
                self._bytes -= size

    def origin(self, key: Hashable, parts: Any) -> _Origin:
        """Return the one object for these parts of this key, as long as something refers to it."""
        with self._lock:
            alive = [(ref, found) for ref in self._origins.get(key, ()) if (found := ref()) is not None]
            for _, found in alive:
                if found.parts == parts:
                    return found
            made = _Origin(parts)
            self._origins[key] = [*(ref for ref, _ in alive), weakref.ref(made)]
            return made


#: What runs of this process share, and the plugins that it is of.
_process: tuple[Registry, RunCache] | None = None


def cache_of_process() -> RunCache:
    """Return the cache that all runs of this process share; other plugins start another one."""
    global _process
    registry, shared = get_registry(), _process
    if shared is None or shared[0] is not registry:  # of two threads that begin at once each has its own
        shared = _process = registry, RunCache(PROCESS_BYTES, lasting=True)
    return shared[1]


@dataclass(frozen=True, kw_only=True)
class CachedStreams(Streams):
    """Streams that cache values computed from them alone, for the next run.

    Parameters
    ----------
    cache : RunCache
    """

    cache: RunCache

    def once(self, of: object, what: Hashable, make: Callable[[], T]) -> T:
        """Return the cached value for this object and purpose; compute and cache it on a miss."""
        key, dependencies = ("once", self.seed, self.node, self.block, self.piece, what), _ById(of)
        value: T | None = self.cache.take(key, dependencies)
        if value is None:
            value = _read_only(make())
            self.cache.give(key, dependencies, value, _arrays(value))
        return value


@dataclass(frozen=True, eq=False)
class Dependencies:
    """The dependencies of every fit and draw of one run, to look them up in a cache.

    Parameters
    ----------
    graph : ScenarioGraph
    cache : RunCache
    as_of : float or None
    seed : int
    draws : bool
        Whether draws are cached, beside fits; those of many worlds, which are only counted, are too many.
    """

    graph: ScenarioGraph
    cache: RunCache
    as_of: float | None
    seed: int
    draws: bool = True
    _known: dict[Any, Any] = field(default_factory=dict)

    def keeps_draws(self, model: Model) -> bool:
        """Tell whether the cache has room for the draws of a model, and may keep them."""
        return self._draws and self._may_keep(model)

    @property
    def _draws(self) -> bool:
        return self.draws and self.cache.size > 0

    def _may_keep(self, model: Model) -> bool:
        """Tell whether the cache may keep what a model fits and draws."""
        return not (self.cache.lasting and id(model) in self._objects)

    # --- fits -------------------------------------------------------------------------------------------------------

    def fit(self, model: Model, make: Callable[[], FittedModel | ForecastError]) -> FittedModel | ForecastError:
        """Return the cached fit; compute it on a miss. Failed fits are not cached."""
        if not self._may_keep(model):
            return make()
        # a registered model notes the tables it reads; for files that a scenario names the hashes are dependencies
        files = {} if id(model) in self._registered else self._data
        dependencies = self.as_of, self.seed, access.current(), files, self._origin(model)
        return self._noting(("fit", model.name), dependencies, make, lambda fit: not isinstance(fit, ForecastError))

    def aside(self, world: Any, model: Model, what: str, make: Callable[[], T]) -> T:
        """Return cached data of a fitted model beside its samples; compute them on a miss. Failures are not cached."""
        if not self._may_keep(model):
            return make()
        failed = len(world.fits.failures)
        try:
            dependencies = self.seed, self.as_of, access.current(), self._together, self._model(world, model)
        except ForecastError:
            return make()
        return self._noting((what, model.name), dependencies, make, lambda _: len(world.fits.failures) == failed)

    def _noting(self, key: Hashable, dependencies: Any, make: Callable[[], T], complete: Callable[[T], bool]) -> T:
        """Return the cached value if the tables it was computed from are unchanged; otherwise recompute it."""
        cached = self.cache.take(key, dependencies)
        if cached is not None and all(self._hash(path) == hashed for path, hashed in cached[1].items()):
            for path in cached[1]:
                editions.noted(path)
            value: T = cached[0]
            return value
        with editions.standing({}) as read:
            value = make()
        if complete(value):
            parts = value.values() if isinstance(value, dict) else ()
            arrays = [each for each in parts if isinstance(each, np.ndarray)]
            self.cache.give(key, dependencies, (value, {path: self._hash(path) for path in read}), arrays)
        return value

    def _hash(self, path: Path) -> str:
        if path not in self._known:
            self._known[path] = editions.of(path).hash
        hashed: str = self._known[path]
        return hashed

    @cached_property
    def _data(self) -> dict[str, str]:
        from forecast.projection import source_tables

        return source_tables.read_hashes(self.graph)

    def _models(self) -> Iterator[tuple[Model, Node, Combination]]:
        """Walk the models of quantities, each with the choices under which it stands there."""
        return ((model, node, at) for node in self.graph.nodes.values() for at, model in node.models.items())

    @cached_property
    def _registered(self) -> frozenset[int]:
        """The models that plugins registered, by their identity: what a name looks like says nothing of it."""
        outer = (model for model, node, at in self._models() if _stated(node, at).registered)
        return frozenset(id(model) for each in outer for model in nested(each))

    @cached_property
    def _objects(self) -> frozenset[int]:
        """The models that are, or are within, objects of Python that no plugin registers, by their identity."""
        outer = (model for model, node, at in self._models() if _stated(node, at).parts[1])
        return frozenset(id(model) for each in outer for model in nested(each)) - self._registered

    def _origin(self, model: Model) -> Any:
        """Return the identity of a model: of a registered one its name, and the shape and options beside it.

        Of an object of Python it is the object, and else what the scenario states of the quantity; the hashes of the
        files that this names stand beside it.
        """
        if id(model) in self._objects:
            return _ById(model)
        if id(model) in self._registered:
            shape, options = getattr(model, "shape", None), getattr(model, "options", None)
            return (shape if isinstance(shape, str | None) else _ById(shape)), options, model.keeps
        return self._origins[id(model)]

    @cached_property
    def _origins(self) -> dict[int, Any]:
        return {
            id(model): (
                (node.name, self.graph.stream(node.name), dict(zip(node.own, at, strict=True)), model.keeps),
                _plain(_stated(node, at)),
                self.graph.scenario.folder,
            )
            for outer, node, at in self._models()
            for model in nested(outer)
        }

    # --- draws ------------------------------------------------------------------------------------------------------

    def take(self, world: Any, key: Any) -> CachedResult | None:
        """Return cached draws; None on a miss, or if a dependency failed."""
        dependencies = self._of(world, key)
        cached = None if dependencies is None else self.cache.take((*key, world.blocks), dependencies)
        return cached if isinstance(cached, CachedResult) else None

    def give(self, world: Any, key: Any, result: CachedResult) -> None:
        """Cache draws, unless a model warned about another quantity on the way: a hit would lose that warning."""
        dependencies = self._of(world, key)
        if dependencies is not None and all(
            quantity in self._behind(*_names(self.graph, key)) for (quantity, _), _ in result.warnings
        ):
            self.cache.give((*key, world.blocks), dependencies, result, _arrays(result.value))

    def _of(self, world: Any, key: Any) -> Any:
        """Return the dependencies of a per-draw value; None if it is never cached."""
        if not self._draws:
            return None
        if key not in self._known:
            try:
                self._known[key] = self._parts(world, key)
            except ForecastError:
                self._known[key] = None
        parts = self._known[key]
        return None if parts is None else (self._run(world.time.tobytes()), parts)

    def _run(self, time: bytes) -> _Origin:
        """Return what all draws of a run depend on, at these dates."""
        key = "run", time
        if key not in self._known:
            parts = time, self.seed, self.as_of, self.graph.scenario.start, self._together
            self._known[key] = self.cache.origin("run", parts)
        origin: _Origin = self._known[key]
        return origin

    @property
    def _together(self) -> Any:
        """The correlated inputs, the models whose draws are reordered, and the names by which quantities draw."""
        graph = self.graph
        # which of what moves together is drawn and which is fitted
        drawn = frozenset(n for g in graph.scenario.correlations for n in g.of if n in graph.nodes or n in graph.inputs)
        return graph.correlated, graph.ordered, graph.scenario.streams, drawn

    def _parts(self, world: Any, key: Any) -> Any:
        """Return what a value is computed from; None of what is on the way to it, as a quantity without its limits.

        That would double what is kept, and is asked for where the value itself is computed.
        """
        if key[0] == "model" and key[2] is None:  # it needs no other quantity
            model = self.graph.models[key[1]]
            return self._model(world, model) if self._may_keep(model) else None
        if self.cache.lasting:  # a quantity may rest on an object
            return None
        if key[0] == "input" and key[1] in self.graph.inputs:
            return self.graph.inputs[key[1]], self.graph.set_inputs.get(key[1])
        if key[0] in ("quantity", "binding"):
            return tuple(self._each(world, key, self.graph.nodes[key[1]].dims))
        if key[0] == "crossed":
            return self.graph.scenario.questions[key[1]].when.text, tuple(self._each(world, key, key[2]))
        return None

    def _behind(self, *names: str) -> list[str]:
        if ("behind", names) not in self._known:
            self._known["behind", names] = list(setting_targets.behind(self.graph, names))
        behind: list[str] = self._known["behind", names]
        return behind

    def _each(self, world: Any, key: Any, dims: tuple[str, ...]) -> Iterator[_Origin]:
        """Yield the origin of each quantity that a value is computed from, in this combination of choices."""
        for name in _names(self.graph, key):
            if name not in TIME:
                yield self._node(world, name, world.restrict(name, dims, key[-1]))

    def _node(self, world: Any, name: str, combination: Combination) -> _Origin:
        """Return the origin of a quantity: what it is itself, and the origins of its sources.

        What stands on a cycle has its origin together with the others. A long chain is walked without recursion.
        """
        left = [(name, combination)]
        while left:
            of, at = left[-1]
            if ("node", of, at) in self._known:
                left.pop()
                continue
            members = self.graph.nodes[of].cycle or (of,)
            dims = self.graph.nodes[of].dims
            outside = dict.fromkeys(n for each in members for n in self.graph.nodes[each].sources if n not in members)
            needed = [(n, world.restrict(n, dims, at)) for n in outside]
            unknown = [each for each in needed if ("node", *each) not in self._known]
            if unknown:
                left += unknown
                continue
            own = tuple(self._own(world, each, world.restrict(each, dims, at)) for each in members)
            parts = own, tuple(self._known["node", *each] for each in needed)
            for each in members:
                self._known["node", each, world.restrict(each, dims, at)] = self.cache.origin(("node", each, at), parts)
        origin: _Origin = self._known["node", name, combination]
        return origin

    def _own(self, world: Any, name: str, combination: Combination) -> Any:
        """Return what a quantity is itself, in this combination of choices, beside its sources."""
        node = self.graph.nodes[name]
        chosen = dict(zip(node.dims, combination, strict=True))
        own = node.own_in(chosen)
        model = node.models.get(own)
        return (
            (name, node.unit, chosen, node.own, node.needs, node.past, node.steady, node.owner, node.fixed),
            _plain(_stated(node, own)),
            node.figures.get(own),
            (node.limits, node.changes, node.cycle, self.graph.scenario.before.get(name)),
            None if node.own_draws is None else node.own_draws.tobytes(),
            None if model is None else self._model(world, model),
        )

    def _model(self, world: Any, model: Model) -> Any:
        """Return the fit and the settings of a model, and those of the models it contains."""
        return tuple(
            (
                inner.name,
                inner.unit,
                _ById(world.fits[inner]),
                {k: v for k, v in self.graph.set_inputs.items() if k.rpartition(".")[0] == inner.name},
                self.graph.set_parameters.get(inner.name),
            )
            for inner in nested(model)
        )


def _names(graph: ScenarioGraph, key: Any) -> tuple[str, ...]:
    """Return the names of the quantities from which the value of a key is computed."""
    if key[0] == "crossed":
        return graph.scenario.questions[key[1]].when.names
    return (key[1],) if key[0] not in ("model", "input") else ()


def _stated(node: Node, combination: Combination) -> QuantityKind:
    """Return what is stated of a quantity in this combination of its own choices."""
    return node.variants.get(combination, node.quantity)


def _plain(quantity: QuantityKind) -> Any:
    """Return a quantity to compare; a model object in it compares by identity."""
    rest, objects = quantity.parts
    return (rest, *map(_ById, objects)) if objects else quantity


def _read_only(value: Any) -> Any:
    """Return read-only views of the arrays, so that runs can share them."""
    if isinstance(value, tuple):
        return tuple(map(_read_only, value))
    if isinstance(value, Mapping):
        return {name: _read_only(each) for name, each in value.items()}
    return read_only(value)


def _arrays(value: Any) -> Iterator[NDArray[Any]]:
    """Walk the arrays in a value."""
    if isinstance(value, np.ndarray):
        yield value
        return
    parts = value if isinstance(value, tuple) else (value if isinstance(value, Mapping) else vars(value)).values()
    for each in parts:
        yield from _arrays(each)


def _buffer(array: NDArray[Any]) -> tuple[int, int]:
    """Return what tells the memory behind an array apart while the array is alive, and its size in bytes."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return id(array), array.nbytes
