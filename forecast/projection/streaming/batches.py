"""Batches of worlds: drawn here, by worker processes or by a cluster, and added up in their order.

A batch has the same worlds, and gives the same bytes, whoever draws it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from forecast.base import budgets
from forecast.base.arrays import AnyArray, Array
from forecast.base.streams import DRAWS_PER_BLOCK
from forecast.contract.plugin_calls import stdout_is_data
from forecast.errors import DataError, ForecastError, ForecastWarning, one_line, printable
from forecast.projection import blocks
from forecast.projection.evaluate import Block, Schedule
from forecast.projection.failures import BlockSlice
from forecast.projection.likelihood_weights import Updates
from forecast.projection.missing_data import LeftOut, hidden
from forecast.projection.model_fits import ModelFits
from forecast.projection.paths.moment_fits import pass_before
from forecast.projection.plan import Plan
from forecast.projection.streaming.array_file import load_arrays, save_arrays
from forecast.projection.streaming.columns import to_arrays, unpack
from forecast.projection.streaming.foresight import peak_bytes
from forecast.projection.streaming.reduce import BatchResult, DrawCounts
from forecast.scenarios import graph as graphs
from forecast.scenarios.graph import ScenarioGraph
from forecast.scenarios.scenario import Scenario
from forecast.scenarios.settings import setting_targets

#: Worlds in a batch: what one worker draws, and what is lost where one dies.
DRAWS_PER_BATCH = 32 * DRAWS_PER_BLOCK
#: Blocks that are drawn together at most.
MAX_BLOCKS = 8
#: What they may hold at once: what fits the processor's caches is fastest.
TOGETHER_BYTES = 16 * 2**20
#: And for each date of a cycle, which is walked through Python once for all of them.
WALKED_DATE_BYTES = 2**19
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
    left_out : LeftOut
        What has no data as of the date.
    paths : frozenset of str, optional
        The quantities that are stored and may change with time; all by default.
    ends : bool
        What is stored step by step is stored at the first and the last step alone.
    """

    scenario: Scenario
    settings: Mapping[str, object] | None
    as_of: float | None
    seed: int
    years: Array
    worlds: int
    kept: int
    left_out: LeftOut = field(default_factory=LeftOut)
    paths: frozenset[str] | None = None
    ends: bool = False

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what another process makes for itself."""
        return {name: value for name, value in self.__dict__.items() if name in self.__dataclass_fields__}

    @classmethod
    def of(cls, graph: ScenarioGraph, fits: ModelFits, **stated: Any) -> Job:
        """Return the job of a graph with models that are fitted already."""
        job = cls(scenario=graph.scenario, as_of=fits.as_of, seed=fits.seed, **stated)
        job.__dict__.update(graph=hidden(graph, job.left_out), fits=fits)
        return job

    @cached_property
    def graph(self) -> ScenarioGraph:
        """The scenario's graph."""
        return hidden(graphs.build(self.scenario, self.settings), self.left_out)

    @cached_property
    def fits(self) -> ModelFits:
        """The fitted models."""
        return ModelFits(self.graph, as_of=self.as_of, seed=self.seed)

    @cached_property
    def plan(self) -> Plan:
        """The steps of every block."""
        return Plan(self.graph, self.fits, self.years, self.seed, self._read)

    @cached_property
    def schedule(self) -> Schedule:
        """What is asked of every block."""
        nothing = BatchResult(self.plan, DrawCounts(0, 0, 0, 0), Updates(self.plan, 0), self.paths, ends=self.ends)
        return Schedule(self.plan.steps, *nothing.schedule)

    @cached_property
    def references(self) -> Mapping[tuple[str, ...], float] | None:
        """What is taken off the log likelihoods of worlds that are counted; what every batch needs is made first."""
        self.schedule  # noqa: B018 - then the plan knows what is to be fitted
        first = Block(self.plan, range(1))
        pass_before(first)
        if self.kept == self.worlds:
            return None
        updates, part = Updates(self.plan, 0), BlockSlice(0, first.draws, slice(0, 0))
        updates.fill(first, part, partial(_compute_early, first))
        return updates.highest(part)

    @cached_property
    def _read(self) -> frozenset[str]:
        """The quantities whose paths are stored, or read by an answer or by what is not on their own cycle."""
        graph = self.graph
        names = {*setting_targets.read_by_questions(graph), *graph.weighed_by}
        for name, node in graph.nodes.items():
            names.update(source for source in node.sources if source not in node.cycle)
            stored = name in graph.quantities and (self.paths is None or name in self.paths or node.steady)
            if stored or node.limits is not None or node.changes:
                names.add(name)
        return frozenset(names)

    @property
    def batches(self) -> int:
        """How many batches there are."""
        return -(-self.worlds // DRAWS_PER_BATCH)

    def size(self, number: int | None = None) -> DrawCounts:
        """Return the worlds of one batch, or of all."""
        if number is None:
            return DrawCounts(self.worlds, self.kept, 0, self.worlds)
        low = number * DRAWS_PER_BATCH
        return DrawCounts(self.worlds, self.kept, low, min(low + DRAWS_PER_BATCH, self.worlds))

    def empty(self, size: DrawCounts) -> BatchResult:
        """Return what holds no world yet."""
        updates = Updates(self.plan, size.n_stored, self.references)
        return BatchResult(self.plan, size, updates, self.paths, ends=self.ends)

    def fill(
        self, sampled: BatchResult, number: int, progress: Callable[[int, int], None] | None = None
    ) -> BatchResult:
        """Draw one batch into what may hold others already."""
        for numbers in self.blocks(number):
            sampled.fill(Block(self.plan, numbers, self.schedule))
            done = min(blocks.start(numbers.stop), self.worlds)
            if progress is not None:
                progress(done, self.worlds)
            budgets.check_time(f"{self.scenario.where}: drawing", done, self.worlds, "worlds")
        return sampled

    def blocks(self, number: int) -> Iterator[range]:
        """Walk the numbers of the blocks of a batch that are drawn together."""
        size, step = self.size(number), self._blocks_together * DRAWS_PER_BLOCK
        for low in range(size.low, size.high, step):
            yield blocks.blocks_between(low, min(low + step, size.high))

    @cached_property
    def _blocks_together(self) -> int:
        """How many blocks are drawn together: as many as fit, the same in every process."""
        if self.worlds <= DRAWS_PER_BLOCK or self.graph.scenario.updates:  # weights are summed in the order of blocks
            return 1
        dates = len(self.years)
        walks = any(step.operation == "walked" for step in self.plan.steps.every)
        room = TOGETHER_BYTES + walks * dates * WALKED_DATE_BYTES
        return min(max(room // max(peak_bytes(self.schedule, dates, DRAWS_PER_BLOCK), 1), 1), MAX_BLOCKS)

    def sent(self, number: int) -> tuple[dict[str, AnyArray], dict[str, Any]]:
        """Draw one batch, as plain data that can be sent."""
        with stdout_is_data():
            sampled = self.fill(self.empty(self.size(number)), number)
        return to_arrays(sampled.holdings()), {**sampled.notes(), "warnings": self.warnings()}

    def received(self, number: int, arrays: Mapping[str, AnyArray], notes: Mapping[str, Any]) -> BatchResult:
        """Return a batch that was sent."""
        sampled = self.empty(self.size(number))
        unpack(sampled.holdings(), arrays)
        sampled.note(notes)
        self.warn(notes["warnings"])
        return sampled

    def warnings(self) -> list[list[list[Any]]]:
        """Return what models warned of, as plain data."""
        return [[list(key), [each.record for each in told]] for key, told in self.fits.outside.items()]

    def warn(self, warnings: list[list[list[Any]]]) -> None:
        """Take what models warned of in another process."""
        for (quantity, model), records in warnings:
            self.fits.outside.setdefault((quantity, model), tuple(map(ForecastWarning.from_record, records)))


def _compute_early(block: Block, name: str, combination: tuple[str, ...], make: Callable[[], Any]) -> Any:
    """Compute something once, before it counts; where it fails it will fail again where it is counted."""
    try:
        result, _ = block.watched(make)
    except ForecastError:
        return None
    return result, np.zeros(block.draws, dtype=bool)


def run_batches(
    job: Job,
    *,
    workers: int = 1,
    client: Any = None,
    progress: Callable[[int, int], None] | None = None,
    checkpoint: Checkpoint | None = None,
    identity: Mapping[str, str] | None = None,
) -> BatchResult:
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
        (whole,) = _draw_here(job, range(1), job.empty(job.size()), progress)
        return whole
    whole = job.empty(job.size())
    stored = [None if job.paths is None else sorted(job.paths), job.ends]
    text = json.dumps([dict(identity or {}), job.worlds, job.kept, DRAWS_PER_BATCH, *stored], sort_keys=True)
    fingerprint = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    begin = 0 if checkpoint is None else checkpoint.load(job, whole, fingerprint)
    written, kept, rest = time.monotonic(), begin, range(begin, job.batches)
    _tell(progress, job, begin)
    try:
        with _batch_source(job, rest, workers, client, whole, progress) as batches:
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
            stopped.add_note(f"{checkpoint.path.name} with {kept * DRAWS_PER_BATCH:,} worlds")
        raise
    if checkpoint is not None:
        checkpoint.path.unlink(missing_ok=True)  # the run has ended
    return whole


def _tell(progress: Callable[[int, int], None] | None, job: Job, batches: int) -> None:
    if progress is not None:
        progress(min(batches * DRAWS_PER_BATCH, job.worlds), job.worlds)


@contextmanager
def _batch_source(
    job: Job, numbers: range, workers: int, client: Any, whole: BatchResult, progress: Callable[[int, int], None] | None
) -> Iterator[Iterator[BatchResult]]:
    """Offer the batches in their order, drawn by whoever is there."""
    if client is not None:
        from forecast.projection.streaming.processes import of_cluster, open_client

        with open_client(client) as opened:
            yield of_cluster(job, numbers, opened)
    elif workers == 1:
        # whole numbers add up alike in any order; weights are summed batch by batch, whoever draws
        yield _draw_here(job, numbers, None if job.graph.scenario.updates else whole, progress)
    else:
        from forecast.projection.streaming.processes import of_processes

        source = of_processes(job, numbers, min(workers, len(numbers) or 1))
        try:
            yield source
        finally:
            source.close()


def _draw_here(
    job: Job, numbers: range, whole: BatchResult | None, progress: Callable[[int, int], None] | None
) -> Iterator[BatchResult]:
    """Draw here: into `whole`, or each batch by itself."""
    for number in numbers:
        with stdout_is_data():
            sampled = job.fill(job.empty(job.size(number)) if whole is None else whole, number, progress)
        yield sampled


# --- Where a run stands on disk ---------------------------------------------------------------------------------------
# Where a run of many batches stands on disk, so that it goes on where it was stopped.


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

    def load(self, job: Job, whole: BatchResult, fingerprint: str) -> int:
        """Take up what stands there, and return the number of the next batch.

        Raises
        ------
        DataError
            If it is of another run, no checkpoint, damaged, or larger than the budget. Nothing is taken up then.
        """
        if not self.resume or not self.path.exists():
            return 0
        where = printable(self.path.name)

        def check(about: Mapping[str, Any], layout: object) -> None:
            if about.get("of") != fingerprint:
                raise DataError(f"{where}: is of another run: the scenario, its data, a setting or a version differs")

        try:
            about, arrays = load_arrays(self.path, what="checkpoint", check=check)
            unpack(whole.holdings(), arrays)
            whole.note(about["notes"])
            job.warn(about["warnings"])
            return int(about["next"])
        except (LookupError, ValueError, TypeError, AttributeError) as problem:
            raise DataError(f"{where}: is no checkpoint of this run: {one_line(problem, 200)}") from problem

    def save(self, job: Job, whole: BatchResult, fingerprint: str, following: int) -> None:
        """Write what there is so far, to a temporary name that is then renamed."""
        about = {"of": fingerprint, "next": following, "notes": whole.notes(), "warnings": job.warnings()}
        save_arrays(self.path, about, to_arrays(whole.holdings()))
