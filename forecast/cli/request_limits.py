"""What one request to a program that stays may take: of the page of ``forecast explore``, or of ``forecast mcp``.

A few requests are computed at the same time, each in a thread of its own and within its budget: one that takes long
does not hold up the others, and one that takes too long is answered with an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from threading import Thread
from typing import Any, NamedTuple, TypeVar

import click

from forecast.base import budgets
from forecast.errors import BudgetError

__all__ = ["MAX_CONCURRENT_REQUESTS", "MAX_REQUEST_DRAWS", "Budget", "answer_within", "request_options"]

T = TypeVar("T")

#: Requests that are computed at the same time.
MAX_CONCURRENT_REQUESTS = 4
#: Joint samples of one answer.
MAX_REQUEST_DRAWS = 4096
#: Seconds for which a request over its time is waited for.
_WAIT_SECONDS = 2.0

_REQUEST_OPTIONS = (
    click.option(
        "--request-seconds", type=click.FloatRange(0, 86400, min_open=True), default=60, show_default=True, metavar="S",
        help="What one request may take; one that takes longer is answered with an error.",
    ),
    click.option(
        "--request-memory", metavar="SIZE", help="The same of memory, as 2GiB.  [default: as --max-memory]"
    ),
)  # fmt: skip


class Budget(NamedTuple):
    """What one request may take: seconds, and memory as text (by default what the command may take)."""

    seconds: float = 60.0
    memory: str | None = None

    def check(self) -> None:
        """Raise if the memory is no size."""
        with budgets.of_request(self.memory, self.seconds):
            pass


def request_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a `Budget`: ``request_seconds`` and ``request_memory``."""
    for option in reversed(_REQUEST_OPTIONS):
        command = option(command)
    return command


async def answer_within(make: Callable[[], T], budget: Budget) -> T:
    """Compute within a budget, in a thread that ends with the server: those of a pool would be waited for.

    Long loops end by themselves once their seconds are used up; what has none is no longer waited for a little later.
    """
    computed: Future[T] = Future()

    def run() -> None:
        if not computed.set_running_or_notify_cancel():  # whoever asked has gone
            return
        try:
            with budgets.of_request(budget.memory, budget.seconds):
                computed.set_result(make())
        except BaseException as problem:
            computed.set_exception(problem)

    Thread(target=copy_context().run, args=(run,), daemon=True).start()
    waiting = asyncio.wrap_future(computed)
    done, _ = await asyncio.wait([waiting], timeout=budget.seconds + _WAIT_SECONDS)
    if not done:
        waiting.add_done_callback(lambda late: late.cancelled() or late.exception())  # nobody asks what became of it
        raise BudgetError(f"the request has no answer after {budget.seconds:g} s, which --request-seconds sets")
    return waiting.result()
