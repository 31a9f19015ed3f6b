"""The one door through which code of a plugin is called.

Whatever that code raises becomes a `PluginError` that names it, ``sys.exit()`` and a KeyboardInterrupt of its own
included; what it prints goes to stderr, since stdout carries results; that it runs is recorded, so that its name is
known should it end the process (`forecast.contract.recorder`); a copy of the process that it makes by a fork ends where
the code returns; and code that is left out (``FORECAST_LEAVE_OUT``, set by ``--isolate``) is not called at all.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import NoReturn, TypeVar

from forecast.contract import recorder
from forecast.errors import ForecastError, OverTimeError, PluginError, one_line, printable

__all__ = [
    "Interrupted",
    "Terminated",
    "code",
    "guarded",
    "hand_stdout_over",
    "interrupts",
    "leave",
    "left_out",
    "run_exit_functions",
    "running_threads",
    "set_stdout_aside",
    "stdout_is_data",
    "within",
]

T = TypeVar("T")

#: How often code that catches the end of its time is told again, and how long it may go on all the same, in seconds.
AGAIN_S, PATIENCE_S = 0.2, 0.6
#: The name of the thread that watches over those who cannot be interrupted.
OURS = "forecast-limit"


class Interrupted(KeyboardInterrupt):
    """SIGINT, where we handle it: code that raises a KeyboardInterrupt of its own is not the user."""


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP. A KeyboardInterrupt, so that nobody takes it for a plugin's failure."""


@contextlib.contextmanager
def stdout_is_data() -> Iterator[None]:
    """Send what foreign code prints to stderr: stdout carries results, which a program may be reading."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


@functools.cache
def left_out() -> Mapping[str, str]:
    """Return what must not be called, and why: ``FORECAST_LEAVE_OUT``, a JSON object."""
    text = os.environ.get("FORECAST_LEAVE_OUT")
    if not text:
        return {}
    import json

    try:
        kept = json.loads(text)
    except ValueError:
        return {}
    return {str(k): str(v) for k, v in kept.items()} if isinstance(kept, dict) else {}


@contextlib.contextmanager
def code(what: str) -> Iterator[None]:
    """Run code of a plugin in this context; `what` says whose it is: ``"model 'demo/x': fit"``.

    Raises
    ------
    PluginError
        If it is left out.
    """
    if what in left_out():
        raise PluginError(f"{what}: left out: {left_out()[what]}")
    process = os.getpid()
    with recorder.inside(what), stdout_is_data():
        try:
            yield
        finally:
            if os.getpid() != process:
                _end(f"{what}: it copied the process (fork); the copy ends here", 70)
            if _stdout is not None and not _open(_stdout):
                _end(f"{what}: it closed the output of this process", 1)  # and that it was inside stays recorded


def guarded(what: str, call: Callable[[], T]) -> T:
    """Call code of a plugin: what it raises becomes a `PluginError` that names it; our own errors pass.

    Examples
    --------
    >>> guarded("model 'demo/x': fit", lambda: 1 / 0)
    Traceback (most recent call last):
    forecast.errors.PluginError: model 'demo/x': fit: ZeroDivisionError: division by zero
    """
    try:
        with code(what):
            return call()
    except ForecastError:
        raise
    except BaseException as error:  # SystemExit and endless recursion included
        if interrupts(error):
            raise
        raise PluginError(f"{what}: {one_line(error)}") from error


def interrupts(error: BaseException) -> bool:
    """Tell whether an exception comes from the user, and not from the code that was called.

    Where Python's own handler of SIGINT is in place, nobody can tell, and a KeyboardInterrupt is taken for the user's.
    """
    if isinstance(error, (Interrupted, Terminated)):
        return True
    return isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is signal.default_int_handler


@contextlib.contextmanager
def within(seconds: float, what: str) -> Iterator[None]:
    """Give code so many seconds; what still runs then is interrupted by an `OverTimeError`.

    Only the main thread can be interrupted, and only where nobody else uses the alarm: elsewhere there is no limit.
    Code that cannot be interrupted has the command begun anew without it, where the process is ours.
    """
    usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not usable or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    def over(number: int, frame: FrameType | None) -> None:
        raise OverTimeError(f"has not loaded after {seconds:g} s")

    stubborn = threading.Timer(seconds + PATIENCE_S, _begin_anew, [what, f"has not loaded after {seconds:g} s"])
    stubborn.name, stubborn.daemon = OURS, True
    if _stdout is not None:
        stubborn.start()
    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        stubborn.cancel()


def running_threads() -> int:
    """Return how many threads run, without those of `within`."""
    return sum(thread.name != OURS for thread in threading.enumerate())


def _begin_anew(what: str, why: str) -> None:
    """Begin this command again, without the code that cannot be interrupted; nothing is written before plugins load."""
    import json

    os.environ["FORECAST_LEAVE_OUT"] = json.dumps({**left_out(), what: why})
    hand_stdout_over()
    recorder.end()
    signal.setitimer(signal.ITIMER_REAL, 0)  # it would run on
    # an alarm that went off and that nobody has taken yet would end the new program: it is taken here
    for how in (signal.SIG_BLOCK, signal.SIG_UNBLOCK):
        signal.pthread_sigmask(how, {signal.SIGALRM})
    try:
        os.execv(sys.executable, sys.orig_argv)  # noqa: S606 - our own command line, once more
    except OSError:
        _end(f"{what}: {why} and cannot be interrupted", 1)


def _open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _end(said: str, status: int) -> NoReturn:
    """End this process at once, without anything that somebody registered to run at its end."""
    line = f"forecast: error: {printable(said, 400)}\n"
    with contextlib.suppress(OSError):
        os.write(2, line.encode("ascii", "backslashreplace"))
    os._exit(status)


# The process of the command line -------------------------------------------------------------------------------------

#: The file descriptor of the real stdout while file descriptor 1 is stderr.
_stdout: int | None = None

#: What functions that plugins registered for the end of the process may take together, in seconds.
EXIT_S = 5.0


def set_stdout_aside() -> None:
    """Keep the real stdout for ourselves: what foreign code writes to file descriptor 1 goes to stderr from now on."""
    global _stdout
    if sys.stdout is None or _stdout is not None:
        return
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        kept = os.dup(1)
        try:
            os.dup2(2, 1)
        except OSError:  # there is no stderr
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.close(null)
        buffering = 1 if os.isatty(kept) else -1
        sys.stdout = os.fdopen(kept, "w", buffering, encoding=sys.stdout.encoding, errors=sys.stdout.errors)
        _stdout = kept


def hand_stdout_over() -> None:
    """Give file descriptor 1 back: a command of a plugin may write to it, and so may what that command starts."""
    if _stdout is not None:
        with contextlib.suppress(OSError):
            os.dup2(_stdout, 1)


def run_exit_functions() -> None:
    """Run what is registered for the end of the process, some of it by plugins."""
    import atexit

    what = "what is registered for the end of the process"
    try:
        with code(what), within(EXIT_S, what):
            atexit._run_exitfuncs()
    except BaseException:  # noqa: S110 - the answer is written: nothing may change it any more
        pass


def leave(status: int) -> NoReturn:
    """End the process with this exit code, whatever threads and functions of plugins are left in it."""
    main = threading.main_thread()
    lasting = [t for t in threading.enumerate() if t is not main and not t.daemon]
    if lasting:
        threads = "1 thread of a plugin" if len(lasting) == 1 else f"{len(lasting)} threads of plugins"
        ended = f"stopped at the end: {threads} still ran"
        with contextlib.suppress(OSError):
            os.write(2, f"forecast: warning: {ended}\n".encode())
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status)
