"""A command in a process of its own, so that no plugin can take it down: who ends it is left out, the rest is answered.

The process records inside whose code it is (`forecast.contract.crash_journal`). Where it dies there, or stays too long,
the command is run again without that code, until it is answered; its stdout is buffered until then.
Memory has a limit in it too, so that a plugin which takes too much has a MemoryError, which is that plugin's failure
alone.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TextIO

from forecast.base import budgets
from forecast.contract import child_process, crash_journal
from forecast.errors import UsageError, printable

__all__ = ["CHILD", "SECONDS", "confined", "done", "supervised", "supervising"]

#: Names the record of a process that is supervised.
CHILD = "FORECAST_SUPERVISED"
#: What one call of a plugin's code may take, in seconds of the clock; ``FORECAST_ISOLATE_SECONDS`` says otherwise.
SECONDS = 60.0
#: After so many culprits a command is given up.
MOST = 50
#: Left in the record where the process came to its end.
DONE = "\x04"


@dataclass(frozen=True, kw_only=True)
class _End:
    """How a run ended: its status, what happened and inside which code; `beside` are those whose threads ran then.

    `whole`: it came to its end by itself.
    """

    status: int
    why: str = ""
    inside: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    whole: bool = False


def supervised(words: Sequence[str], *, seconds: float | None = None, say: Callable[[str], None]) -> int:
    """Run ``forecast`` with these words in processes of its own; return its exit code.

    Parameters
    ----------
    words : sequence of str
    seconds : float, optional
        What one call of a plugin's code may take.
    say : callable
        Told of every culprit, in a line.
    """
    limit = _seconds() if seconds is None else seconds
    left: dict[str, str] = {}
    tried: _End | None = None
    with tempfile.TemporaryDirectory(prefix="lawcast-") as folder, tempfile.TemporaryFile() as answer:
        for turn in range(MOST):
            budgets.check_time("the command in a process of its own", turn, MOST, "turns")
            end = _run(words, left, limit, Path(folder, f"{turn}.inside"), answer)
            if end.whole:
                break
            # A thread may have done it: first those that started some are left out. Where that changes nothing they
            # are innocent, and taken back.
            beside = [what for what in end.beside if what not in left]
            if tried is not None and not beside and tried.inside == end.inside:
                left = {what: why for what, why in left.items() if what not in tried.beside}
            tried = end if beside else None
            new = [what for what in beside or end.inside if what not in left]
            if not new:
                break
            left |= dict.fromkeys(new, end.why)
        for what, why in left.items():
            say(f"{what}: {why}; it is left out")
        _copy(answer, sys.stdout)
        if not end.whole:
            say(f"the process of this command did not come to its end: {child_process.how_it_ended(end.status)}")
    return 1 if not end.whole and end.status == 0 else end.status if end.status >= 0 else 128 - end.status


def confined() -> bool:
    """Take the limits of a supervised process, and tell whether this is one."""
    path = os.environ.get(CHILD)
    if not path:
        return False
    crash_journal.begin(Path(path))
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        limit = budgets.memory()
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except (ImportError, ValueError, OSError):  # no such limits here
        pass
    return True


def supervising() -> bool:
    """Tell whether this process is supervised."""
    return CHILD in os.environ


def done() -> None:
    """Record that this process comes to its end by itself."""
    crash_journal.inside(DONE).__enter__()


def _run(words: Sequence[str], left: Mapping[str, str], limit: float, record: Path, answer: IO[bytes]) -> _End:
    env = child_process.environment(
        **{CHILD: str(record), "FORECAST_ISOLATE": "", "FORECAST_LEAVE_OUT": json.dumps(left)},
        COLUMNS=str(shutil.get_terminal_size().columns),
        **{budgets.VARIABLE: str(budgets.memory())},
    )
    answer.seek(0)
    answer.truncate()
    over: list[str] = []

    def look() -> bool:
        now = time.monotonic()
        over.extend(e.what for e in crash_journal.entries(record) if e.what != DONE and now - e.since > limit)
        return not over

    with contextlib.ExitStack() as stack:
        err = None if _is_descriptor(sys.stderr, 2) else stack.enter_context(tempfile.TemporaryFile())
        if err is not None:
            stack.callback(_copy, err, sys.stderr)
        command = [sys.executable, "-P", "-m", "forecast", *words]
        process = stack.enter_context(child_process.started(command, env, answer, err, stdin=None))
        try:
            status = child_process.wait(process, math.inf, look)
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)  # it says what was kept
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
            raise
    if status is None:
        return _End(status=1, why=f"ran for over {limit:g} s", inside=tuple(over))
    entries = crash_journal.entries(record)
    inside = tuple(e.what for e in entries if math.isfinite(e.since))
    beside = tuple(e.what for e in entries if not math.isfinite(e.since))
    why = f"ended the process ({child_process.how_it_ended(status)})"
    return _End(status=status, why=why, inside=inside, beside=beside, whole=DONE in inside)


def _copy(file: IO[bytes], stream: TextIO) -> None:
    file.seek(0)
    stream.flush()
    if hasattr(stream, "buffer"):
        shutil.copyfileobj(file, stream.buffer)
    else:  # somebody captures what is written, as a notebook does
        stream.write(file.read().decode("utf-8", "backslashreplace"))
    stream.flush()


def _is_descriptor(stream: TextIO, number: int) -> bool:
    try:
        return stream.fileno() == number
    except (OSError, ValueError, AttributeError):
        return False


def _seconds() -> float:
    text = os.environ.get("FORECAST_ISOLATE_SECONDS", "")
    try:
        seconds = float(text) if text else SECONDS
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise UsageError(f"FORECAST_ISOLATE_SECONDS: expected a number of seconds, got '{printable(text, 40)}'")
    return seconds
