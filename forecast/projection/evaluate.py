"""Blocks of worlds, computed by one loop over the steps of a plan.

What a step computes is given back once its last reader has run. What a cache has under a step's key is taken from
there, and then nothing that only this step reads is computed. The same draw index means the same world in every step.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from forecast import units
from forecast.base.arrays import Array, IntArray
from forecast.base.streams import Streams
from forecast.errors import ForecastError, ForecastWarning
from forecast.projection import blocks
from forecast.projection.failures import Failure, fill_failed_draws
from forecast.projection.operations import OPERATIONS
from forecast.projection.paths.alike import distinct, read_only
from forecast.projection.paths.run_cache import BoundedStore, CachedResult, ModelWarnings, buffers
from forecast.projection.paths.time_functions import HistoryOf, Past

if TYPE_CHECKING:
    from forecast.models import Model
    from forecast.projection.plan import Plan, Step, Steps

T = TypeVar("T")

#: Most bytes of what models draw whatever they are handed, for the steps of one block.
_STORE_BYTES = 8 * 2**20


@dataclass(frozen=True, eq=False)
class Schedule:
    """What is asked of every block: in which order steps are needed, and how often each is read.

    Parameters
    ----------
    steps : Steps
    outputs : sequence of int
        Steps in the order in which they are taken, whole paths.
    answers : sequence of int
        Steps of small results, computed as soon as what they read is there, and taken later.
    """

    steps: Steps
    outputs: Sequence[int]
    answers: Sequence[int]

    @cached_property
    def reads(self) -> list[int]:
        """How often each step is read."""
        counts, every = [0] * len(self.steps.every), self.steps.every
        needed = {*self.outputs, *self.answers}
        for place in range(len(counts) - 1, -1, -1):
            if place in needed:
                for each in every[place].inputs:
                    counts[each] += 1
                    needed.add(each)
        for place in (*self.outputs, *self.answers):
            counts[place] += 1
        return counts

    @cached_property
    def after(self) -> dict[int, list[int]]:
        """The answers that can be computed once an output is there, by this output: not before what they rest on."""
        every, never = self.steps.every, len(self.outputs)
        turn = [never] * len(every)  # with which output a step is computed
        for i, place in reversed(list(enumerate(self.outputs))):
            turn[place] = i
        for place in range(len(every) - 1, -1, -1):
            for each in every[place].inputs:
                turn[each] = min(turn[each], turn[place])
        last = [-1] * len(every)
        for place, step in enumerate(every):
            last[place] = turn[place] if turn[place] < never else max((last[each] for each in step.inputs), default=-1)
        out: dict[int, list[int]] = {}
        for place in dict.fromkeys(self.answers):
            if last[place] >= 0:
                out.setdefault(self.outputs[last[place]], []).append(place)
        return out


@dataclass
class StepCost:
    """What one step took in all blocks of a run: seconds, and the most bytes of a value but for what it hands on."""

    step: Step
    seconds: float = 0.0
    value_bytes: int = 0


#: By place, the steps that are measured.
_costs: ContextVar[dict[int, StepCost] | None] = ContextVar("costs of steps", default=None)


@contextlib.contextmanager
def measured_steps(costs: dict[int, StepCost]) -> Iterator[None]:
    """Measure every step that the blocks of a run compute in this block, in this process: `costs` has them by place."""
    token = _costs.set(costs)
    try:
        yield
    finally:
        _costs.reset(token)


class Inputs:
    """The values of the inputs of a step; an error where one has none.

    Attributes
    ----------
    key : bytes
        The key of the step.
    """

    __slots__ = ("block", "key", "places")

    def __init__(self, block: Block, places: tuple[int, ...], key: bytes) -> None:
        self.block, self.places, self.key = block, places, key

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, i: int) -> Any:
        return self.block.value(self.places[i])


@dataclass(eq=False)
class Block:
    """Some blocks of worlds, which compute nothing until a step is asked for.

    Parameters
    ----------
    plan : Plan
    blocks : range
    schedule : Schedule, optional
        What will be asked for; without it everything stays in memory.
    """

    plan: Plan
    blocks: range
    schedule: Schedule | None = None
    faults: list[Failure] = field(default_factory=list)
    warned: list[ModelWarnings] = field(default_factory=list)
    _results: dict[int, CachedResult | ForecastError] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._left = None if self.schedule is None else self.schedule.reads.copy()
        self.fits, self.time, self.seed = self.plan.fits, self.plan.time, self.plan.seed
        self._cache = self.fits.draws_cache
        self._costs = None if self.schedule is None else _costs.get()

    # --- the loop -----------------------------------------------------------------------------------------------------

    def run(self, place: int) -> None:
        """Compute a step, and of what it rests on what is not there."""
        every, results = self.plan.steps.every, self._results
        missing, left = set[int](), [place]
        while left:
            at = left.pop()
            if at in missing or at in results:
                continue
            if self._is_cached(at):
                self._read(every[at].inputs)
            else:
                missing.add(at)
                left += every[at].inputs
        for at in sorted(missing):
            step = every[at]
            outer, self.faults, self.warned, begun = (self.faults, self.warned), [], [], time.perf_counter()
            try:
                value = OPERATIONS[step.operation](self, Inputs(self, step.inputs, step.key), *step.arguments)
                if isinstance(value, np.ndarray):
                    value = read_only(value)
                told = tuple(dict.fromkeys(self.faults)), tuple(dict.fromkeys(self.warned))
                results[at] = made = CachedResult(value, *told)
                if self._cache is not None and self.plan.steps.is_shared(at, self._cache.lasting):
                    self._cache.draws.give((step.key, self.blocks), made)
            except ForecastError as error:
                results[at] = error.with_traceback(None)  # which would keep what it passed through
            finally:
                self.faults, self.warned = outer
            if self._costs is not None:
                self._record_seconds(at, time.perf_counter() - begun)
            self._read(step.inputs)

    def _record_seconds(self, place: int, seconds: float) -> None:
        """Measure a step that has been computed."""
        assert self._costs is not None
        cost = self._costs.setdefault(place, StepCost(self.plan.steps.every[place]))
        cost.seconds += seconds
        if isinstance(result := self._results[place], CachedResult):
            read = [self._results[each] for each in cost.step.inputs if each in self._results]
            handed_on = buffers([each.value for each in read if isinstance(each, CachedResult)])
            own = sum(size for buffer, size in buffers(result.value).items() if buffer not in handed_on)
            cost.value_bytes = max(cost.value_bytes, own)

    def _read(self, places: Iterable[int]) -> None:
        """Count a reader of some steps; after the last one a value goes, and what never had one reads nothing."""
        counts = self._left or []
        left = [place for place in places if place < len(counts)]
        while left:
            place = left.pop()
            counts[place] -= 1
            if counts[place] == 0 and self._results.pop(place, None) is None:
                left += self.plan.steps.every[place].inputs

    def _is_cached(self, place: int) -> bool:
        """Tell whether a cache had the value of a step."""
        if self._cache is None or not self.plan.steps.is_shared(place, self._cache.lasting):
            return False
        found = self._cache.draws.take((self.plan.steps.every[place].key, self.blocks))
        if found is not None:
            self._results[place] = found
        return found is not None

    def value(self, place: int) -> Any:
        """Return the value of a step; its faults and warnings are those of who reads it, too."""
        if place not in self._results:
            self.run(place)
        result = self._results[place]
        if isinstance(result, ForecastError):
            raise result.with_traceback(None)  # else each reader would lengthen it
        self.faults += result.faults
        self.warned += result.warnings
        return result.value

    def take(self, place: int) -> Any:
        """Return the value of a step to who asks from outside, and compute the answers that rest on it.

        Raises
        ------
        ForecastError
            If a model behind it fails in this combination of choices.
        """
        try:
            value = self.value(place)
        except ForecastError:
            self._finish(place)
            raise
        self._finish(place)
        return value

    def _finish(self, place: int) -> None:
        """Compute the answers that rest on a step, let go of what nobody reads any more, and hand on its warnings."""
        if self.schedule is not None:
            for each in self.schedule.after.get(place, ()):
                if each not in self._results:
                    self.run(each)
        self._read([place])
        self._pass_warnings()

    def _pass_warnings(self) -> None:
        """Hand on what models warn of; one that needs no quantity belongs to the quantity that asks first."""
        for asker, model, told in self.warned:
            subject = asker or self.plan.steps.askers[model]
            about = tuple(replace(each, subject=subject, model=model) for each in told)
            self.fits.outside.setdefault((subject, model), about)
        self.warned = []

    # --- what operations ask of the worlds ----------------------------------------------------------------------------

    @cached_property
    def first(self) -> int:
        """The number of the first world."""
        return blocks.start(self.blocks.start)

    @cached_property
    def draws(self) -> int:
        """How many worlds there are."""
        return blocks.start(self.blocks.stop) - self.first

    @cached_property
    def shape(self) -> tuple[int, int]:
        """That of a path."""
        return len(self.time), self.draws

    @cached_property
    def places(self) -> list[slice]:
        """Where the worlds of each block stand."""
        return blocks.draw_positions(self.blocks)

    def whole(self, path: Array) -> Array:
        """Return every row of a path, (time, draw)."""
        return path if path.shape == self.shape else np.broadcast_to(path, self.shape)

    @cached_property
    def _own_draws(self) -> BoundedStore:
        return BoundedStore(_STORE_BYTES)

    def store(self, model: Model) -> BoundedStore:
        """Return where a model keeps what it draws whatever it is handed: for other runs, or other steps here."""
        cache = self.fits.cache
        return cache.draws if cache is not None and self.fits.shares_draws(model) else self._own_draws

    def streams(self, stream: str, number: int) -> Streams:
        """Return the streams of a name in one of the blocks."""
        return blocks.node_streams(Streams, self.seed, stream, number)

    def watched(self, make: Callable[[], T]) -> tuple[T, tuple[Failure, ...]]:
        """Return what is computed, and in which worlds something failed on the way to it."""
        outer, self.faults = self.faults, []
        try:
            return make(), tuple(dict.fromkeys(self.faults))
        finally:
            self.faults = outer

    def numbers(
        self, values: Array, error: Callable[[int], ForecastError], *, steps: Sequence[int] | IntArray = ()
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
        self.faults.append(Failure(np.where(failing, np.asarray(steps)[row] if len(steps) else row, -1), problem))
        return fill_failed_draws(values, failing)

    def warn(self, asker: str, model: str, told: tuple[ForecastWarning, ...]) -> None:
        """Warn of what a model warns of; `asker` is empty where it is whoever asks first."""
        if told:
            self.warned.append((asker, model, told))

    def past(self, of: HistoryOf) -> Past:
        """Return what a quantity was before the first step: what was observed of it, and what the scenario says."""
        seen = None if of.model is None else self.fits.observed(of.model)
        if not seen:
            return Past(name=of.name, before=of.before)
        value = units.convert(np.asarray(seen.value, dtype=np.float64), seen.unit, of.unit, where=of.name)
        return Past.observed(of.name, seen.time, value, start=float(self.time[0]), before=of.before)
