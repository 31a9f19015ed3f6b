"""Batches that a cluster of dask draws."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from forecast.errors import DataError, ForecastError, UsageError, printable
from forecast.projection.streaming.processes import check_sendable

if TYPE_CHECKING:
    from forecast.projection.streaming.batches import Job
    from forecast.projection.streaming.reduce import BatchResult

__all__ = ["of_cluster", "open_client"]


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
    most = 2 * max(len(client.scheduler_info().get("workers", ())), 1)
    for number in numbers:
        while waiting and len(pending) < most:
            ahead = waiting.pop(0)
            pending[ahead] = client.submit(type(job).sent, scattered, ahead, pure=False, retries=1)
        try:
            arrays, notes = pending.pop(number).result()
        except ForecastError:
            raise
        except Exception as problem:
            what = f"{job.scenario.where}: batch {number} on the cluster: {type(problem).__name__}"
            raise DataError(f"{what}: {printable(str(problem), 200)}") from problem
        yield job.received(number, arrays, notes)
