"""Processes of our own that foreign code may end, hang or copy: what they did, and nothing left of them.

Their output goes to files and not to pipes, which a copy that lives on would keep open; they lead a group of processes
of their own, which is killed whole.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from forecast.errors import PluginError, printable

__all__ = ["Loaded", "environment", "how_it_ended", "load", "started", "wait"]

#: What an interpreter may take to start, beside what its work may take.
SPARE_S = 5.0

#: How often a process is looked at, in seconds: soon at first, then less often.
FIRST_S, LAST_S = 0.002, 0.05

_SCRIPT = """
import json, os, sys, tempfile, time
answers = os.fdopen(os.dup(1), "w")
written = tempfile.TemporaryFile()
os.dup2(written.fileno(), 1)
from forecast.contract.local_plugins import entry_point
from forecast.contract.registry import GROUP, Registry
name, value = sys.argv[1:]
began = time.process_time(), time.monotonic()
plugin = Registry([entry_point(name, value, GROUP)], select="").plugins[0]
spent, waited = time.process_time() - began[0], time.monotonic() - began[1]
if plugin.threads:
    time.sleep(1)  # they may end the process a little later
answer = {"cpu": spent, "wall": waited, "reason": plugin.reason, "modules": sorted(sys.modules)}
answer |= {"threads": plugin.threads, "written": os.pread(written.fileno(), 200, 0).decode("latin-1")}
print(json.dumps(answer), file=answers, flush=True)
os._exit(0)
"""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """What loading a plugin took, in seconds of CPU and of the clock; why it failed; and what it left.

    `modules` are those that were there then, `threads` still run, and `written` is what went to file descriptor 1.
    """

    cpu: float
    wall: float
    reason: str
    modules: tuple[str, ...]
    threads: int
    written: str


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a process of ours that sees the modules that this one sees."""
    path = os.pathsep.join(str(Path(p).absolute()) for p in sys.path)
    return {**os.environ, "PYTHONPATH": path, **more}


def how_it_ended(status: int) -> str:
    """Say how a process ended.

    Examples
    --------
    >>> how_it_ended(0), how_it_ended(-11)
    ('exit status 0', 'killed by SIGSEGV')
    """
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


@contextlib.contextmanager
def started(
    words: Sequence[str], env: Mapping[str, str], out: IO[bytes], err: IO[bytes] | None, stdin: Any = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process in a group of its own; on leaving, every process of the group is killed."""
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own text
        list(words), env=dict(env), stdin=stdin, stdout=out, stderr=err, start_new_session=True
    )
    try:
        yield process
    finally:
        with contextlib.suppress(OSError, AttributeError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            process.kill()
        process.wait()


def wait(process: subprocess.Popen[bytes], seconds: float, look: Callable[[], bool] = lambda: True) -> int | None:
    """Return how a process ended; None where it runs longer, or `look` says that it may not go on."""
    end, pause = time.monotonic() + seconds, FIRST_S
    while process.poll() is None:
        if time.monotonic() > end or not look():
            return None
        time.sleep(pause)
        pause = min(2 * pause, LAST_S)
    return process.returncode


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(1 << 22).decode("utf-8", "replace")


def load(name: str, value: str, *, seconds: float) -> Loaded:
    """Load the plugin `name` from the module `value` in a process of its own.

    Raises
    ------
    PluginError
        If it takes longer, or ends the process.
    """
    words = [sys.executable, "-P", "-c", _SCRIPT, name, value]
    env = environment(FORECAST_STRICT="", FORECAST_STATE="", FORECAST_LEAVE_OUT="")
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with started(words, env, out, err) as process:
            ended = wait(process, seconds + SPARE_S)
        if ended is None:
            raise PluginError(f"importing it takes over {seconds:g} s")
        try:
            answer = json.loads(_text(out).splitlines()[-1])
        except (IndexError, ValueError):
            lines = _text(err).strip().splitlines()
            why = f" ({printable(lines[-1], 120)})" if lines else ""
            raise PluginError(f"importing it ends Python: {how_it_ended(ended)}{why}") from None
    return Loaded(**{**answer, "modules": tuple(answer["modules"])})
