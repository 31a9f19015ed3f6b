"""Batches that worker processes draw: a few ahead of what is taken, and once more where a worker has ended."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from forecast.base import access, budgets
from forecast.errors import DataError, ForecastError, UsageError, printable

if TYPE_CHECKING:
    from forecast.projection.streaming.batches import Job
    from forecast.projection.streaming.reduce import BatchResult

#: The job of the process that this one was forked from.
_FORKED_JOB: list[Job] = []


def _start_process(job: Job | None, allowed: access.Access, limits: budgets.Limits) -> None:
    """Begin in another process: may read and take what the first one may."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the first process says what an interrupt means
    access.use(allowed)
    budgets.inherit(limits)
    if job is not None:
        _FORKED_JOB[:] = [job]


def _sent(number: int) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    return _FORKED_JOB[0].sent(number)


def _make_process_pool(job: Job, workers: int) -> ProcessPoolExecutor:
    """Return processes that know the job: by fork where that is safe, else sent to them."""
    import multiprocessing

    for model in job.graph.models.values():  # once, and not in each of them
        with suppress(ForecastError):
            job.fits[model]
    forks = sys.platform == "linux"
    _FORKED_JOB[:] = [job]
    if not forks:
        check_sendable(job)
    context = multiprocessing.get_context("fork" if forks else "spawn")
    here = (None if forks else job, access.current(), budgets.current())
    return ProcessPoolExecutor(workers, context, initializer=_start_process, initargs=here)


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


def of_processes(job: Job, numbers: range, workers: int) -> Generator[BatchResult, None, None]:
    """Walk some batches, in their order, that processes draw."""
    pool, waiting = _make_process_pool(job, workers), list(numbers)
    pending: dict[int, Future[Any]] = {}
    try:
        for number in numbers:
            _submit_ahead(waiting, pending, workers, pool.submit, _sent)
            try:
                arrays, notes = pending.pop(number).result()
            except BrokenProcessPool:
                pool.shutdown(wait=False, cancel_futures=True)
                arrays, notes = _draw_in_new_process(job, number)
                pool, waiting, pending = _make_process_pool(job, workers), sorted({*waiting, *pending}), {}
            yield job.received(number, arrays, notes)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        _FORKED_JOB.clear()


def _submit_ahead(
    waiting: list[int], pending: dict[int, Any], workers: int, submit: Callable[..., Any], *task: Any
) -> None:
    """Submit so many batches that everyone stays busy, and no more than these are held."""
    while waiting and len(pending) < 2 * workers:
        ahead = waiting.pop(0)
        pending[ahead] = submit(*task, ahead)


def _draw_in_new_process(job: Job, number: int) -> Any:
    """Draw a batch whose worker has ended once more, in a process of its own."""
    with _make_process_pool(job, 1) as pool:
        try:
            return pool.submit(_sent, number).result()
        except BrokenProcessPool as problem:
            raise _worker_error(job, number) from problem


def _worker_error(job: Job, number: int) -> ForecastError:
    size = job.size(number)
    what = (
        f"{job.scenario.where}: worlds {size.low:,} to {size.high - 1:,}: their process ended twice without an answer"
    )
    return DataError(f"{what} (out of memory, or a model that ends it); --workers 1 may name the model")


# --- A cluster --------------------------------------------------------------------------------------------------------
# Batches that a cluster of dask draws.


@contextmanager
def open_client(client: Any) -> Iterator[Any]:
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


def of_cluster(job: Job, numbers: range, client: Any) -> Iterator[BatchResult]:
    """Walk some batches, in their order, that the cluster draws."""
    check_sendable(job)
    scattered = client.scatter(job, broadcast=True, hash=False)
    waiting, pending = list(numbers), dict[int, Any]()
    workers = max(len(client.scheduler_info().get("workers", ())), 1)
    submit = partial(client.submit, pure=False, retries=1)
    for number in numbers:
        _submit_ahead(waiting, pending, workers, submit, type(job).sent, scattered)
        try:
            arrays, notes = pending.pop(number).result()
        except ForecastError:
            raise
        except Exception as problem:
            what = f"{job.scenario.where}: batch {number} on the cluster: {type(problem).__name__}"
            raise DataError(f"{what}: {printable(str(problem), 200)}") from problem
        yield job.received(number, arrays, notes)
