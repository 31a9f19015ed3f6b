"""Cache what runs compute under keys of its content, so that the next run takes what a change does not affect.

A key says all that a value is computed from: the model and its options, the hashes of the data, the dates, the keys of
the inputs. A value under an equal key is the value that a run would compute. What is kept is bounded in bytes.

All runs of a process share what they fit and draw of the models that plugins register, which is a function of its
key by their contract. An object of Python that a caller hands over may be another one tomorrow under the same
identity: of it nothing is shared but between runs that are asked for together, as those of a sweep.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from forecast.base.streams import Streams
from forecast.contract.registry import Registry, get_registry
from forecast.errors import ForecastWarning
from forecast.projection.failures import Failure
from forecast.projection.paths.alike import read_only

T = TypeVar("T")

#: What runs of one scenario share may take so much memory, and what all runs of a process do.
SHARED_BYTES, PROCESS_BYTES = 2**30, 48 * 2**20
#: What the fits of a cache may keep alive, and what is told of them.
FIT_BYTES = 40 * 2**20
#: What an entry takes beside its arrays: its key, its place, and the objects around the arrays.
ENTRY_BYTES = 1024

#: The quantity, empty where it is whichever asks first, and the model that warns, with the warnings.
ModelWarnings = tuple[str, str, tuple[ForecastWarning, ...]]

_numbers = itertools.count()
_identities: dict[int, tuple[weakref.ref[Any], str]] = {}


def identity_of(thing: object) -> str:
    """Return a text that tells an object from every other one of the process, also from those that come after it."""
    place = id(thing)
    known = _identities.get(place)
    if known is None or known[0]() is not thing:
        number = f"#{next(_numbers)}"
        try:
            known = weakref.ref(thing, lambda _: _identities.pop(place, None)), number
        except TypeError:  # nothing tells when it goes: it is another one every time
            return number
        _identities[place] = known
    return known[1]


@dataclass(frozen=True, eq=False)
class CachedResult:
    """A computed value, with the faults of single draws and the warnings of models on the way to it."""

    value: Any
    faults: tuple[Failure, ...] = ()
    warnings: tuple[ModelWarnings, ...] = ()


@dataclass(eq=False)
class _Entry:
    value: Any
    buffers: Mapping[int, int]
    takes: int = 0


class BoundedStore:
    """Values under keys; when it is full, what was least recently given or taken leaves.

    So what many runs share outlives what each run computes for itself.

    Parameters
    ----------
    size : int
        Most bytes that the values keep alive, memory that several of them share counted once.
    grows : bool
        What values hold comes with their use: they are weighed by `weigh`, and when they are taken again and again.

    Examples
    --------
    >>> store = BoundedStore(11_000)
    >>> for number in range(3):
    ...     store.give(number, np.zeros(500))
    >>> [store.take(number) is not None for number in range(3)], store.n_bytes < 11_000
    ([False, True, True], True)
    """

    def __init__(self, size: int, *, grows: bool = False) -> None:
        self.size, self.n_bytes, self._grows = size, 0, grows
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()  # the least recently used first
        self._holders: dict[int, int] = {}  # of a buffer, how many entries keep it
        self._unweighed = list[Hashable]()
        self._lock = threading.Lock()

    def take(self, key: Hashable) -> Any:
        """Return the value under a key; None on a miss."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            entry.takes += 1
            if self._grows and not entry.takes & (entry.takes - 1):  # at the first, second, fourth … time
                self._hold(key, entry.value, buffers(entry.value), entry.takes)
            return entry.value

    def give(self, key: Hashable, value: Any) -> None:
        """Keep a value, in the place of another one under its key; others leave if there is no room."""
        with self._lock:
            self._hold(key, value, {} if self._grows else buffers(value), 0)
            if self._grows:
                self._unweighed.append(key)

    def weigh(self) -> None:
        """Weigh what was given since the last time and has been used since."""
        with self._lock:
            for key in self._unweighed:
                if (entry := self._entries.get(key)) is not None:
                    self._hold(key, entry.value, buffers(entry.value), entry.takes)
            self._unweighed = []

    def _hold(self, key: Hashable, value: Any, own: Mapping[int, int], takes: int) -> None:
        """Keep a value with these buffers; the least recently used leave until there is room, in the end it does."""
        self._release(key)
        self._entries[key] = _Entry(value, own, takes)
        self.n_bytes += ENTRY_BYTES
        for buffer, size in own.items():
            holders = self._holders.get(buffer, 0)
            self._holders[buffer] = holders + 1
            self.n_bytes += 0 if holders else size
        if ENTRY_BYTES + sum(own.values()) > self.size:
            self._release(key)
        while self.n_bytes > self.size:
            self._release(next(iter(self._entries)))

    def _release(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        self.n_bytes -= ENTRY_BYTES
        for buffer, size in entry.buffers.items():
            self._holders[buffer] -= 1
            if not self._holders[buffer]:
                del self._holders[buffer]
                self.n_bytes -= size


class RunCache:
    """Fits and draws of earlier runs.

    Parameters
    ----------
    size : int
        Most bytes of draws; fits, which take far longer than their memory is worth, have `FIT_BYTES` in any case.
    lasting : bool
        Runs that nobody asked for together share it: it keeps what registered models fit and draw, and nothing else.

    Attributes
    ----------
    draws, fits, object_fits : BoundedStore
        Fits of registered models are those of all runs of the process, unless no draws are shared; those of objects of
        Python, which callers hand over, are its own.

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
        self.draws = BoundedStore(size)
        own = lasting or not size
        self.fits: BoundedStore = BoundedStore(FIT_BYTES, grows=True) if own else cache_of_process().fits
        self.object_fits = None if lasting else BoundedStore(FIT_BYTES, grows=True)

    def without_draws(self) -> RunCache:
        """Return what shares the fits, and keeps no draws."""
        fits_alone = RunCache(0, lasting=self.lasting)
        fits_alone.fits, fits_alone.object_fits = self.fits, self.object_fits
        return fits_alone

    def weigh(self) -> None:
        """Weigh the fits that were given since the last time."""
        for fits in filter(None, (self.fits, self.object_fits)):
            fits.weigh()

    @property
    def n_bytes(self) -> int:
        """How many bytes its values keep alive."""
        return self.draws.n_bytes + (self.object_fits or self.fits).n_bytes

    def __getstate__(self) -> dict[str, Any]:
        """Send only what it may keep to another process, which fills a cache of its own."""
        return {"size": self.size, "lasting": self.lasting}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


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
    """Streams that cache values computed from them alone.

    Parameters
    ----------
    store : BoundedStore
        Of the draws of a cache, for the next run, or of a block, for the next step.
    """

    store: BoundedStore

    def once(self, of: object, what: Hashable, make: Callable[[], T]) -> T:
        """Return the cached value for this object and purpose; compute and cache it on a miss."""
        key = ("once", self.seed, self.node, self.block, self.piece, what, identity_of(of))
        value: T | None = self.store.take(key)
        if value is None:
            value = _read_only(make())
            self.store.give(key, value)
        return value


def _read_only(value: Any) -> Any:
    """Return read-only views of the arrays, so that runs can share them."""
    if isinstance(value, tuple):
        return tuple(map(_read_only, value))
    if isinstance(value, Mapping):
        return {name: _read_only(each) for name, each in value.items()}
    return read_only(value)


def buffers(value: Any) -> dict[int, int]:
    """Return the memory that a value keeps alive: what tells each buffer apart while it is there, and its bytes."""
    found: dict[int, int] = {}
    for each in _walk_arrays(value):
        if isinstance(each, np.ndarray):
            while isinstance(each.base, np.ndarray):
                each = each.base
        found[id(each)] = int(each.nbytes)
    return found


def _walk_arrays(value: Any) -> Iterator[NDArray[Any]]:
    """Walk the arrays, and what is made of arrays, in a value and the objects that it is made of."""
    seen, left = set[int](), [value]
    while left:
        each = left.pop()
        if each is None or isinstance(each, _CACHEABLE_TYPES) or id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, Mapping):
            left += each.values()
        elif isinstance(each, (tuple, list, set, frozenset)):
            left += each
        elif isinstance(getattr(each, "nbytes", None), int):  # an array, a dataset
            yield each
        else:
            left += getattr(each, "__dict__", {}).values()
            left += (getattr(each, name, None) for name in getattr(type(each), "__slots__", ()))


#: What holds no arrays, or belongs to everybody.
_CACHEABLE_TYPES = (str, bytes, int, float, complex, type, ModuleType, FunctionType, BuiltinFunctionType, Registry)
