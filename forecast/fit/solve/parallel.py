"""Work shared among processes, in pieces that do not depend on how many there are: the results are the same bits.

Threads do not help: the arrays of a refit are small enough for the cache, so that the calls between them, which hold
the interpreter's lock, cost as much as the arithmetic. On two cores two threads took 1.0 to 1.3 times as long as one,
two processes 0.53 times as long. Processes are started only for so much work as they save more time than they take.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from forecast.base import budgets
from forecast.base.number_checks import is_integer
from forecast.errors import FitError, UsageError, printable

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from forecast.laws import Law

Found = TypeVar("Found")
#: What it takes to start processes, which import what they need: work that would save less is done here.
START_SECONDS = 1.0
Workers: TypeAlias = "int | Executor | None"
Progress: TypeAlias = "Callable[[float, float], None] | None"


def check_workers(workers: object, where: str, law: Law | None = None) -> None:
    """Raise `UsageError` for anything but a number of processes, an executor, or None.

    Parameters
    ----------
    workers : object
    where : str
    law : Law, optional
        It must be possible to send it to another process.
    """
    if workers is None:
        return
    from concurrent.futures import Executor, ThreadPoolExecutor

    if isinstance(workers, ThreadPoolExecutor):
        return
    if not isinstance(workers, Executor) and not (is_integer(workers) and workers >= 1):
        got = printable(repr(workers), 40)
        raise UsageError(
            f"{where}: workers: expected a number of processes of at least 1, or an executor "
            f"(concurrent.futures, dask's client.get_executor()), got {got}"
        )
    if law is not None and workers != 1:
        from forecast.laws.sendable import check_sendable

        check_sendable(law, f"{where}: workers")


def share(
    function: Callable[..., Found],
    pieces: Sequence[tuple[Any, ...]],
    workers: Workers = None,
    *,
    where: str = "",
    done: Callable[[int], None] | None = None,
) -> list[Found]:
    """Return ``[function(*piece) for piece in pieces]``, computed by several processes.

    Parameters
    ----------
    function : callable
        Of a module, and without memory: what it returns depends on the piece alone.
    pieces : sequence of tuple
        Nothing in them is shared by two, so that threads of a foreign executor do not meet.
    workers : int or concurrent.futures.Executor, optional
        Default, or where there is only one piece: this process.
    where : str
        For messages.
    done : callable, optional
        ``done(i)``, called as piece `i` is done, in the order in which they are.

    Examples
    --------
    >>> share(max, [(1, 2), (4, 3)])
    [2, 4]
    """
    found: list[Found] = []
    began = time.monotonic()
    for i, piece in enumerate(pieces):
        if _worth_sharing(workers, time.monotonic() - began, i, len(pieces)):
            break
        budgets.check_time(where, i, len(pieces), "pieces")
        found.append(function(*piece))
        if done is not None:
            done(i)
    else:
        return found
    from concurrent.futures import as_completed
    from concurrent.futures.process import BrokenProcessPool

    assert workers is not None
    here, pieces = len(found), pieces[len(found) :]
    with _running_executor(workers, len(pieces)) as pool:
        futures: dict[Future[Found], int] = {}
        try:
            for i, piece in enumerate(pieces):
                futures[pool.submit(function, *piece)] = i
            for ended, future in enumerate(as_completed(futures)):
                future.result()
                budgets.check_time(f"{where}: the work of other processes", ended, len(pieces), "pieces")
                if done is not None:
                    done(here + futures[future])
        except BrokenProcessPool as problem:
            raise FitError(
                f"{where}: workers: a worker process ended before its work was done; in a script, call fit() under "
                "if __name__ == '__main__':, and see that there is memory for all of them"
            ) from problem
        finally:
            for future in futures:
                future.cancel()
        return [*found, *(future.result() for future in futures)]


def _worth_sharing(workers: Workers, seconds: float, done: int, pieces: int) -> bool:
    """Tell whether the other pieces go to others, by the time that those took which are done here."""
    if workers is None or workers == 1 or pieces < 2:
        return False
    if not isinstance(workers, int):
        return True
    saved = seconds / max(done, 1) * (pieces - done) * (1 - 1 / min(workers, pieces))
    return pieces - done > 1 and (START_SECONDS <= 0 or saved > START_SECONDS)


@contextmanager
def _running_executor(workers: int | Executor, pieces: int) -> Iterator[Executor]:
    """Give the executor itself, or processes that end with the work."""
    if not isinstance(workers, int):
        yield workers
    else:
        import multiprocessing
        import threading
        from concurrent.futures import ProcessPoolExecutor

        # A fork takes the locks that other threads hold along, and nobody there ever opens them.
        alone = threading.active_count() == 1 or "forkserver" not in multiprocessing.get_all_start_methods()
        context = multiprocessing.get_context(None if alone else "forkserver")
        limits = (budgets.current(),)  # a process of this machine has the same clock
        with ProcessPoolExecutor(min(workers, pieces), context, initializer=budgets.inherit, initargs=limits) as pool:
            yield pool
