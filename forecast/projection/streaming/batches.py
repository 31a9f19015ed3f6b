"""Batches of worlds: drawn here, by worker processes or by a cluster; added up in their order, kept on disk, resumed.

A batch has the same worlds, and gives the same bytes, whoever draws it.
"""

from __future__ import annotations

import hashlib
import json
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.base import access, budgets
from forecast.base.schema import ANYTHING, COUNT, TEXT, Named, Record, check as check_form
from forecast.base.store import load_arrays, save_arrays
from forecast.base.streams import BLOCK
from forecast.contract.plugin_calls import stdout_is_data
from forecast.errors import DataError, ForecastError, UsageError, one_line, printable
from forecast.projection.failures import BlockSlice
from forecast.projection.moment_fits import pass_before
from forecast.projection.streaming.accumulators import Layout, check_layout, check_values, packed, unpack
from forecast.projection.streaming.reduce import Sampled, Size
from forecast.projection.weights import Updates
from forecast.projection.world import ModelFits, World
from forecast.scenarios import graph as graphs
from forecast.scenarios.graph import ScenarioGraph
from forecast.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

Array = NDArray[np.float64]


__all__ = ["BATCH", "Checkpoint", "Job", "run_batches"]

#: Worlds in a batch: what one worker draws, and what is lost where one dies.
BATCH = 32 * BLOCK
#: Blocks that are drawn together at most, and how much they may hold: what fits the processor's caches is fastest.
MOST_BLOCKS, TOGETHER = 8, 64 * 2**20
#: How often a path is held while a block is drawn: by its model, in its unit, changed, limited, in what is made of it.
MEMORY_FACTOR = 5
#: A checkpoint is written when so many seconds have passed since the last one.
CHECKPOINT_SECONDS = 5.0


@dataclass(frozen=True)
class Job:
    """What is to be drawn: enough to draw any batch of it in any process.

    Parameters
    ----------
    scenario : Scenario
    settings : mapping
        As `forecast.project` takes them under ``set``.
    as_of : float or None
    seed : int
    years : ndarray
        The steps in decimal years.
    worlds, kept : int
        How many worlds there are, and how many of the first are kept one by one.
    """

    scenario: Scenario
    settings: Mapping[str, object] | None
    as_of: float | None
    seed: int
    years: Array
    worlds: int
    kept: int
    _made: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what another process makes for itself."""
        return {**self.__dict__, "_made": {}}

    @classmethod
    def of(cls, graph: ScenarioGraph, fits: ModelFits, **stated: Any) -> Job:
        """Return the job of a graph with models that are fitted already."""
        made = cls(scenario=graph.scenario, as_of=fits.as_of, seed=fits.seed, **stated)
        made._made.update(graph=graph, fits=fits)
        return made

    @property
    def graph(self) -> ScenarioGraph:
        """The scenario's graph."""
        if "graph" not in self._made:
            self._made["graph"] = graphs.build(self.scenario, self.settings)
        made: ScenarioGraph = self._made["graph"]
        return made

    @property
    def fits(self) -> ModelFits:
        """The fitted models."""
        made: ModelFits = self._made.setdefault("fits", ModelFits(as_of=self.as_of, seed=self.seed))
        return made

    @property
    def references(self) -> Mapping[tuple[str, ...], float] | None:
        """What is taken off the log likelihoods of worlds that are counted; what every batch needs is made first."""
        if "references" not in self._made:
            first = self.world(range(1))
            pass_before(first)
            self._made["references"] = None
            if self.kept < self.worlds:
                updates, part = Updates(self.graph, 0), BlockSlice(0, BLOCK, slice(0, 0))
                updates.fill(first, part, partial(_quietly, first))
                self._made["references"] = updates.highest(part)
        made: Mapping[tuple[str, ...], float] | None = self._made["references"]
        return made

    def world(self, blocks: range) -> World:
        """Return some blocks of worlds, which draw nothing yet."""
        return World(self.graph, self.fits, self.years, self.seed, blocks)

    @property
    def batches(self) -> int:
        """How many batches there are."""
        return -(-self.worlds // BATCH)

    def size(self, number: int | None = None) -> Size:
        """Return the worlds of one batch, or of all."""
        low, high = (0, self.worlds) if number is None else (number * BATCH, min((number + 1) * BATCH, self.worlds))
        return Size(self.worlds, self.kept, low, high)

    def empty(self, size: Size) -> Sampled:
        """Return what holds no world yet."""
        return Sampled(self.graph, self.years, size, Updates(self.graph, size.n_kept, self.references))

    def batch(self, number: int) -> Sampled:
        """Draw one batch."""
        return self.fill(self.empty(self.size(number)), number)

    def fill(self, sampled: Sampled, number: int, progress: Callable[[int, int], None] | None = None) -> Sampled:
        """Draw one batch into what may hold others already."""
        size, step = self.size(number), self._blocks_together
        first, last = size.low // BLOCK, -(-size.high // BLOCK)
        for low in range(first, last, step):
            sampled.fill(self.world(range(low, min(low + step, last))))
            done = min((low + step) * BLOCK, size.high)
            if progress is not None:
                progress(done, self.worlds)
            budgets.check_time(f"{self.scenario.where}: drawing", done, self.worlds, "worlds")
        return sampled

    @cached_property
    def _blocks_together(self) -> int:
        """How many blocks are drawn together: as many as fit, the same in every process."""
        choices, cells = self.graph.scenario.choices, 0
        for node in self.graph.nodes.values():
            own = int(np.prod([len(choices[d].values) for d in node.dims], dtype=np.int64))
            cells += own * (1 if node.steady else len(self.years))
        return int(np.clip(TOGETHER // max(8 * MEMORY_FACTOR * BLOCK * cells, 1), 1, MOST_BLOCKS))

    def sent(self, number: int) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Draw one batch, as plain data that can be sent."""
        with stdout_is_data():
            sampled = self.batch(number)
        return packed(sampled.holdings()), {**sampled.notes(), "warnings": self.warnings()}

    def received(self, number: int, arrays: Mapping[str, NDArray[Any]], notes: Mapping[str, Any]) -> Sampled:
        """Return a batch that was sent."""
        sampled = self.empty(self.size(number))
        unpack(sampled.holdings(), arrays)
        sampled.note(notes)
        self.warn(notes["warnings"])
        return sampled

    def warnings(self) -> list[list[list[str]]]:
        """Return what models warned of, as plain data."""
        return [[list(key), list(texts)] for key, texts in self.fits.outside.items()]

    def warn(self, warnings: list[list[list[str]]]) -> None:
        """Take what models warned of in another process."""
        for (quantity, model), texts in warnings:
            self.fits.outside.setdefault((quantity, model), tuple(texts))


def _quietly(world: World, name: str, combination: tuple[str, ...], make: Callable[[], Any]) -> Any:
    """Compute something once, before it counts; where it fails it will fail again where it is counted."""
    try:
        made, _ = world.watched(make)
    except ForecastError:
        return None
    return made, np.zeros(BLOCK, dtype=bool)


#: What a checkpoint says of its arrays; what its notes hold is checked by whoever takes them up.
_ABOUT = Record({"of": TEXT, "next": COUNT, "notes": Named(ANYTHING), "warnings": ANYTHING})


@dataclass(frozen=True)
class Checkpoint:
    """Where the sum of the batches so far stands on disk.

    Parameters
    ----------
    path : Path
    resume : bool
        Go on from what stands there, if anything does.
    """

    path: Path
    resume: bool = False

    def load(self, job: Job, whole: Sampled, fingerprint: str) -> int:
        """Take up what stands there, and return the number of the next batch.

        Raises
        ------
        DataError
            If it is of another run, no checkpoint, damaged, or larger than the budget. Nothing is taken up then.
        """
        if not self.resume or not self.path.exists():
            return 0
        where = printable(self.path.name)

        def check(about: Mapping[str, Any], layout: Layout) -> None:
            check_form(about, _ABOUT, where=where, error=DataError)
            if about["of"] != fingerprint:
                raise DataError(f"{where}: is of another run: the scenario, its data, a setting or a version differs")
            if not 1 <= about["next"] < job.batches:
                raise ValueError(f"expected a batch from 1 to {job.batches - 1} to go on with, got {about['next']}")
            check_layout(whole.holdings(), layout)

        try:
            about, arrays = load_arrays(self.path, what="checkpoint", check=check)
            unpack(whole.holdings(), arrays)
            whole.note(about["notes"])
            failing = bool([*whole.reasons(), *whole.failing(), *about["notes"]["unanswered"]])
            drawn = min(about["next"] * BATCH, job.worlds)
            weighted = whole.updates.weighing
            check_values(whole.holdings(), worlds=drawn, kept=min(drawn, job.kept), weighted=weighted, failing=failing)
            job.warn(about["warnings"])
            return int(about["next"])
        except (LookupError, ValueError, TypeError, AttributeError) as problem:
            raise DataError(f"{where}: is no checkpoint of this run: {one_line(problem, 200)}") from problem

    def save(self, job: Job, whole: Sampled, fingerprint: str, following: int) -> None:
        """Write what there is so far, to a temporary name that is then renamed."""
        about = {"of": fingerprint, "next": following, "notes": whole.notes(), "warnings": job.warnings()}
        save_arrays(self.path, about, packed(whole.holdings()))

    def remove(self) -> None:
        """Take it away: the run has ended."""
        self.path.unlink(missing_ok=True)


def run_batches(
    job: Job,
    *,
    workers: int = 1,
    client: Any = None,
    progress: Callable[[int, int], None] | None = None,
    checkpoint: Checkpoint | None = None,
    identity: Mapping[str, str] | None = None,
) -> Sampled:
    """Draw all worlds of a job, and return what they hold together.

    Parameters
    ----------
    job : Job
    workers : int
        Processes; with one, this one draws.
    client : distributed.Client or str, optional
        A cluster of dask, or its address, that draws instead.
    progress : callable, optional
        Called with (worlds done, worlds in all).
    checkpoint : Checkpoint, optional
    identity : mapping, optional
        What says that another run would have the same worlds.
    """
    job.references  # noqa: B018 - made before processes part, and once
    if job.batches == 1:
        (whole,) = _here(job, range(1), job.empty(job.size()), progress)
        return whole
    whole = job.empty(job.size())
    text = json.dumps([dict(identity or {}), job.worlds, job.kept, BATCH], sort_keys=True)
    fingerprint = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    begin = 0 if checkpoint is None else checkpoint.load(job, whole, fingerprint)
    written, kept, rest = time.monotonic(), begin, range(begin, job.batches)
    _tell(progress, job, begin)
    try:
        with _source(job, rest, workers, client, whole, progress) as batches:
            for number, sampled in zip(rest, batches, strict=True):
                if sampled is not whole:
                    whole.merge(sampled)
                _tell(progress, job, number + 1)
                if (
                    checkpoint is not None
                    and time.monotonic() - written >= CHECKPOINT_SECONDS
                    and number + 1 < job.batches
                ):
                    checkpoint.save(job, whole, fingerprint, number + 1)
                    written, kept = time.monotonic(), number + 1
    except KeyboardInterrupt as stopped:
        if checkpoint is not None and kept:  # whoever reports the interrupt says what it did not cost
            stopped.add_note(f"{checkpoint.path.name} with {kept * BATCH:,} worlds")
        raise
    if checkpoint is not None:
        checkpoint.remove()
    return whole


def _tell(progress: Callable[[int, int], None] | None, job: Job, batches: int) -> None:
    if progress is not None:
        progress(min(batches * BATCH, job.worlds), job.worlds)


@contextmanager
def _source(
    job: Job, numbers: range, workers: int, client: Any, whole: Sampled, progress: Callable[[int, int], None] | None
) -> Iterator[Iterator[Sampled]]:
    """Offer the batches in their order, drawn by whoever is there."""
    if client is not None:
        with _connected(client) as connected:
            yield _of_cluster(job, numbers, connected)
    elif workers == 1:
        # whole numbers add up alike in any order; weights are summed batch by batch, whoever draws
        yield _here(job, numbers, None if job.graph.scenario.updates else whole, progress)
    else:
        source = _of_processes(job, numbers, min(workers, len(numbers) or 1))
        try:
            yield source
        finally:
            source.close()


def _here(
    job: Job, numbers: range, whole: Sampled | None, progress: Callable[[int, int], None] | None
) -> Iterator[Sampled]:
    """Draw here: into `whole`, or each batch by itself."""
    for number in numbers:
        with stdout_is_data():
            sampled = job.fill(job.empty(job.size(number)) if whole is None else whole, number, progress)
        yield sampled


#: The job of the process that this one was forked from.
_JOB: list[Job] = []


def _start(job: Job | None, allowed: access.Access, limits: budgets.Limits) -> None:
    """Begin in another process: may read and take what the first one may."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the first process says what an interrupt means
    access.use(allowed)
    budgets.inherit(limits)
    if job is not None:
        _JOB[:] = [job]


def _sent(number: int) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    return _JOB[0].sent(number)


def _pool(job: Job, workers: int) -> ProcessPoolExecutor:
    """Return processes that know the job: by fork where that is safe, else sent to them."""
    import multiprocessing

    for model in job.graph.models.values():  # once, and not in each of them
        with suppress(ForecastError):
            job.fits[model]
    forks = sys.platform == "linux"
    _JOB[:] = [job]
    if not forks:
        check_sendable(job)
    context = multiprocessing.get_context("fork" if forks else "spawn")
    here = (None if forks else job, access.current(), budgets.current())
    return ProcessPoolExecutor(workers, context, initializer=_start, initargs=here)


def check_sendable(job: Job) -> None:
    """Refuse a job that cannot reach another process, in one sentence.

    Raises
    ------
    UsageError
    """
    from multiprocessing.reduction import ForkingPickler

    try:
        ForkingPickler.dumps(job)
    except Exception as problem:
        what = "cannot be sent to another process; a function reaches it by its import path, from a module of its own"
        raise UsageError(f"{job.scenario.where}: {what}: {printable(str(problem), 200)}") from problem


def _of_processes(job: Job, numbers: range, workers: int) -> Generator[Sampled, None, None]:
    pool, waiting = _pool(job, workers), list(numbers)
    pending: dict[int, Future[Any]] = {}
    try:
        for number in numbers:
            while number not in pending or not pending[number].done():
                # a few ahead keep everyone busy, and no more than these are held
                while waiting and len(pending) < 2 * workers:
                    ahead = waiting.pop(0)
                    pending[ahead] = pool.submit(_sent, ahead)
                wait([pending[number]], return_when=FIRST_COMPLETED)
            try:
                arrays, notes = pending.pop(number).result()
            except BrokenProcessPool:
                pool.shutdown(wait=False, cancel_futures=True)
                arrays, notes = _alone(job, number)
                pool, waiting, pending = _pool(job, workers), sorted({*waiting, *pending}), {}
            yield job.received(number, arrays, notes)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        _JOB.clear()


def _alone(job: Job, number: int) -> Any:
    """Draw a batch whose worker has ended once more, in a process of its own."""
    with _pool(job, 1) as pool:
        try:
            return pool.submit(_sent, number).result()
        except BrokenProcessPool as problem:
            raise _ended(job, number) from problem


def _ended(job: Job, number: int) -> ForecastError:
    size = job.size(number)
    what = (
        f"{job.scenario.where}: worlds {size.low:,} to {size.high - 1:,}: their process ended twice without an answer"
    )
    return DataError(f"{what} (out of memory, or a model that ends it); --workers 1 may name the model")


@contextmanager
def _connected(client: Any) -> Iterator[Any]:
    """Offer a client of a cluster, closed afterwards where only its address was given."""
    if not isinstance(client, str):
        yield client
        return
    try:
        from distributed import Client
    except ImportError as problem:
        raise UsageError("cluster: needs dask: pip install 'lawcast[dask]'") from problem
    try:
        # one that fails must not stay the default, by whose locks files would be written
        opened = Client(client, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TypeError) as problem:
        raise UsageError(f"cluster: no scheduler answers at '{printable(client, 80)}'") from problem
    with opened:
        yield opened


def _of_cluster(job: Job, numbers: range, client: Any) -> Iterator[Sampled]:
    check_sendable(job)
    scattered = client.scatter(job, broadcast=True, hash=False)
    waiting, pending = list(numbers), dict[int, Any]()
    most = 2 * max(len(client.scheduler_info().get("workers", ())), 1)
    for number in numbers:
        while waiting and len(pending) < most:
            ahead = waiting.pop(0)
            pending[ahead] = client.submit(Job.sent, scattered, ahead, pure=False, retries=1)
        try:
            arrays, notes = pending.pop(number).result()
        except ForecastError:
            raise
        except Exception as problem:
            what = f"{job.scenario.where}: batch {number} on the cluster: {type(problem).__name__}"
            raise DataError(f"{what}: {printable(str(problem), 200)}") from problem
        yield job.received(number, arrays, notes)
