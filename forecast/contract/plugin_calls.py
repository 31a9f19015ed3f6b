"""The one door through which code of a plugin is called.

Whatever that code raises becomes a `PluginError` that names it, ``sys.exit()`` and a KeyboardInterrupt of its own
included; what it prints goes to stderr, since stdout carries results; that it runs is recorded, so that its name is
known should it end the process (`forecast.contract.crash_journal`); a copy of the process that it makes by a fork ends
where the code returns; and code that is left out (``FORECAST_LEAVE_OUT``, set by ``--isolate``) is not called at all.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TypeVar

from forecast.contract import crash_journal
from forecast.errors import ForecastError, OverTimeError, PluginError, one_line, printable

__all__ = [
    "Interrupted",
    "Kept",
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
    "signals_of_its_own",
    "stdout_is_data",
    "within",
]

T = TypeVar("T")

#: How often it is looked whether code is over its time, and how long it may go on all the same, in seconds.
AGAIN_S, PATIENCE_S = 0.2, 0.6
#: The name of the thread that watches over those who cannot be interrupted.
OURS = "forecast-limit"
#: What may be added to, but not taken from, while a plugin loads; the standard streams, by their file descriptors.
_LISTS = ("path", "meta_path", "path_hooks")
_STREAMS = ("stdin", "stdout", "stderr")
#: Signals that end a command.
_ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Interrupted(KeyboardInterrupt):
    """SIGINT, where we handle it: code that raises a KeyboardInterrupt of its own is not the user."""


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP. A KeyboardInterrupt, so that nobody takes it for a plugin's failure."""


@dataclass
class _Aside:
    """How many calls of foreign code are under way, in all threads, and which stream is stdout after the last one."""

    calls: int = 0
    stream: Any = None
    stdout: Any = None
    lock: Any = field(default_factory=threading.RLock)
    own: threading.local = field(default_factory=threading.local)


_aside = _Aside()


class stdout_is_data:
    """Send what foreign code prints to stderr: stdout carries results, which a program may be reading.

    Calls of several threads overlap: were each to put back what it had found, one of them would find the stderr that
    another had put there, and the results of that program would go to stderr from then on.
    """

    __slots__ = ("_depth",)

    def __enter__(self) -> None:
        self._depth = getattr(_aside.own, "depth", 0)
        with _aside.lock:
            # within another call of this thread stdout is whatever foreign code made of it
            if not _aside.calls or (not self._depth and sys.stdout is not _aside.stream):
                _aside.stdout = sys.stdout
            _aside.calls += 1
            sys.stdout = _aside.stream = sys.stderr
        _aside.own.depth = self._depth + 1

    def __exit__(self, *_: object) -> None:
        _aside.own.depth = self._depth
        with _aside.lock:
            _aside.calls -= 1
            if not _aside.calls:
                sys.stdout = _aside.stdout


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


class code:
    """Run code of a plugin in this context; `what` says whose it is: ``"model 'demo/x': fit"``.

    Raises
    ------
    PluginError
        If it is left out.
    """

    __slots__ = ("_inside", "_process", "_stdout", "what")

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        if self.what in left_out():
            raise PluginError(f"{self.what}: left out: {left_out()[self.what]}")
        self._process = os.getpid()
        self._inside, self._stdout = crash_journal.inside(self.what), stdout_is_data()
        self._inside.__enter__()
        self._stdout.__enter__()

    def __exit__(self, *_: object) -> None:
        try:
            if os.getpid() != self._process:
                _end(f"{self.what}: it copied the process (fork); the copy ends here", 70)
            if _stdout is not None and not _open(_stdout):
                _end(f"{self.what}: it closed the output of this process", 1)  # that it was inside stays recorded
        finally:
            self._stdout.__exit__()
            self._inside.__exit__()


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
def within(seconds: float, what: str, *, spent: float = 0.0) -> Iterator[None]:
    """Give code so many seconds, with those `spent` before; what still runs then is interrupted by an `OverTimeError`.

    Only the main thread can be interrupted, and only where nobody else uses the alarm: elsewhere there is no limit.
    Code that cannot be interrupted has the command begun anew without it, where the process is ours. Meanwhile it is
    looked again and again whether the user ends the command, where `signals_of_its_own` holds that back.
    """
    usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not usable or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    end = time.monotonic() + max(0.0, seconds - spent)

    def over(number: int, frame: FrameType | None) -> None:
        _sort_signals()
        if time.monotonic() >= end:
            raise OverTimeError(f"has not loaded after {seconds:g} s")

    if _stdout is not None:
        _watch.over(end + PATIENCE_S, what, f"has not loaded after {seconds:g} s")
    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, AGAIN_S, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        _watch.no_more()


class _Watch:
    """A thread that begins the command anew where code does not end; it ends by itself where there is none to watch.

    One for all plugins: to start one for each of a hundred takes as long as to import them.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.watched: tuple[float, str, str] | None = None
        self.runs = False

    def over(self, end: float, what: str, why: str) -> None:
        """Begin the command anew without `what`, and say why, unless `no_more` comes before `end`."""
        with self.lock:
            self.watched = end, what, why
            if not self.runs:
                self.runs = True
                threading.Thread(target=self._run, name=OURS, daemon=True).start()

    def no_more(self) -> None:
        """Let it be."""
        with self.lock:
            self.watched = None

    def _run(self) -> None:
        while True:
            time.sleep(AGAIN_S)
            with self.lock:
                watched = self.watched
                self.runs = watched is not None
            if watched is None:
                return
            end, what, why = watched
            if time.monotonic() >= end:
                _begin_anew(what, why)


_watch = _Watch()


#: Signals that are blocked while code of a plugin loads, and signals that it sent to its own process.
_blocked_signals: frozenset[int] = frozenset()
_own: list[int] = []


@contextlib.contextmanager
def signals_of_its_own() -> Iterator[None]:
    """Tell the signals that code sends to its own process from those that the user sends.

    They wait while the code runs; then the kernel says who sent each. Those of the user are passed on, with `within`
    around the code in a moment. Only the main thread does so, and not where the system cannot say (macOS, Windows).

    Raises
    ------
    PluginError
        If the code sent one that ends a command.
    """
    global _blocked_signals
    usable = hasattr(signal, "sigtimedwait") and threading.current_thread() is threading.main_thread()
    if not usable or _blocked_signals:
        yield
        return
    _own.clear()
    _blocked_signals = frozenset(_ENDING)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _blocked_signals)
    try:
        yield
    finally:
        users = _sorted_signals()
        _blocked_signals = frozenset()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number in users:
            signal.raise_signal(number)
    if _own:
        raise PluginError(f"it sent {signal.Signals(_own[0]).name} to its own process")


def _sorted_signals() -> list[int]:
    """Take the signals that wait; note those of this process, and return the others."""
    users: list[int] = []
    while _blocked_signals and (sent := signal.sigtimedwait(_blocked_signals, 0)) is not None:
        (_own if sent.si_pid == os.getpid() else users).append(sent.si_signo)
    return users


def _sort_signals() -> None:
    """Pass on what the user has sent in the meantime."""
    for number in _sorted_signals():
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        signal.raise_signal(number)


def running_threads() -> int:
    """Return how many threads run, without those of `within`."""
    return sum(thread.name != OURS for thread in threading.enumerate())


def _begin_anew(what: str, why: str) -> None:
    """Begin this command again, without the code that cannot be interrupted; nothing is written before plugins load."""
    import json

    os.environ["FORECAST_LEAVE_OUT"] = json.dumps({**left_out(), what: why})
    hand_stdout_over()
    crash_journal.end()
    signal.setitimer(signal.ITIMER_REAL, 0)  # it would run on
    # an alarm that went off and that nobody has taken yet would end the new program: it is taken here
    for how in (signal.SIG_BLOCK, signal.SIG_UNBLOCK):
        signal.pthread_sigmask(how, {signal.SIGALRM})
    if users := _sorted_signals():
        _end("interrupted; nothing was written", 128 + users[0])
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
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


# What belongs to the whole process ---------------------------------------------------------------------------------


def _usable(stream: Any) -> bool:
    return stream is not None and not getattr(stream, "closed", False)


def _working_directory() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # it is gone
        return ""


def _opened_again(descriptor: int) -> Any:
    """Return a standard stream that was closed; nothing is read or written where its file descriptor is gone too."""
    mode = "r" if descriptor == 0 else "w"
    try:
        return open(descriptor, mode, encoding="utf-8", errors="backslashreplace", closefd=False)
    except OSError:
        return open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123


class Kept:
    """Put back, when the context ends, what belongs to the whole process and a plugin may not take from others.

    That is modules that are loaded, places where modules are looked for, built-in names, the standard streams, what the
    signals that end a command do, and the working directory. A plugin may add to them. Its environment variables are
    its own business: many a library is told by one how many threads it may take.

    A class, since a generator would be resumed through built-in names, which may be gone.

    Raises
    ------
    PluginError
        If something had to be put back, and nothing else was raised.

    Examples
    --------
    >>> with Kept():
    ...     sys.modules["json"] = None
    Traceback (most recent call last):
    forecast.errors.PluginError: while loading it took from everybody else: sys.modules['json']
    """

    def __enter__(self) -> None:
        self.builtins = dict(builtins.__dict__)
        self.modules = dict(sys.modules)
        self.lists: dict[str, tuple[list[Any], list[Any]]] = {
            name: (getattr(sys, name), list(getattr(sys, name))) for name in _LISTS
        }
        self.streams = {name: getattr(sys, name) for name in _STREAMS}
        self.open = {name for name, stream in self.streams.items() if _usable(stream)}
        self.folder = _working_directory()
        self.main = threading.current_thread() is threading.main_thread()
        self.handlers = {number: signal.getsignal(number) for number in _ENDING} if self.main else {}

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        spoilt = {name: None for name, value in self.builtins.items() if builtins.__dict__.get(name) is not value}
        builtins.__dict__.update(self.builtins)
        took = [f"the built-in name {name}" for name in spoilt if name != "_"]  # an interactive session sets that one
        took += self._modules()
        for name, (place, entries) in self.lists.items():
            if getattr(sys, name, None) is not place or any(each not in place for each in entries):
                setattr(sys, name, place)
                place[:] = [*entries, *(each for each in place if each not in entries)]
                took.append(f"sys.{name}")
        for name, stream in self.streams.items():
            if name in self.open and _usable(stream) and not _usable(getattr(sys, name, None)):
                setattr(sys, name, stream)
                took.append(f"sys.{name}")
            elif name in self.open and not _usable(stream):
                setattr(sys, name, _opened_again(_STREAMS.index(name)))
                took.append(f"sys.{name}")
        for number, handler in self.handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)
                took.append(f"the handler of {signal.Signals(number).name}")
        if self.folder and _working_directory() != self.folder:
            os.chdir(self.folder)
            took.append("the working directory")
        if took and kind is None:
            more = f" and {len(took) - 3} more" if len(took) > 3 else ""
            raise PluginError(f"while loading it took from everybody else: {', '.join(took[:3])}{more}")

    def _modules(self) -> list[str]:
        """Put back modules that were removed, replaced or barred, those that nobody has imported yet among them."""
        took = [name for name, module in self.modules.items() if sys.modules.get(name) is not module]
        now: dict[str, Any] = dict(sys.modules)
        barred = [name for name, module in now.items() if module is None and name not in self.modules]
        for name in took:
            sys.modules[name] = self.modules[name]
        for name in barred:
            del sys.modules[name]
        return [f"sys.modules['{printable(name, 60)}']" for name in [*took, *barred]]


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
