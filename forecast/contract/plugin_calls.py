"""The one door through which code of a plugin is called.

Whatever that code raises, ``sys.exit()`` included, becomes a `PluginError` that names it, and what it prints goes to
stderr, since stdout carries results. An installed plugin is trusted beyond that: who hangs or ends the process does so.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from forecast.errors import ForecastError, PluginError, one_line

T = TypeVar("T")

#: What code of a plugin may raise by mistake. A KeyboardInterrupt is the user's.
FAILURES = (Exception, SystemExit)

_lock = threading.Lock()
#: How many calls are under way, in all threads, and the stdout that is put back after the last of them.
_n_calls = 0
_stdout: Any = None


class stdout_is_data:
    """Send what foreign code prints to stderr: stdout carries results, which a program may be reading.

    Calls of several threads overlap: were each to put back what it had found, one of them would find the stderr that
    another had put there, and the results of that program would go to stderr from then on.
    """

    def __enter__(self) -> None:
        global _n_calls, _stdout
        with _lock:
            if not _n_calls:
                _stdout, sys.stdout = sys.stdout, sys.stderr
            _n_calls += 1

    def __exit__(self, *_: object) -> None:
        global _n_calls, _stdout
        with _lock:
            _n_calls -= 1
            if not _n_calls:
                sys.stdout, _stdout = _stdout, None


def call_guarded(what: str, call: Callable[[], T]) -> T:
    """Call code of a plugin: what it raises becomes a `PluginError` that names it; our own errors pass.

    Examples
    --------
    >>> call_guarded("model 'demo/x': fit", lambda: 1 / 0)
    Traceback (most recent call last):
    forecast.errors.PluginError: model 'demo/x': fit: ZeroDivisionError: division by zero
    """
    try:
        with stdout_is_data():
            return call()
    except ForecastError:
        raise
    except FAILURES as error:
        raise PluginError(f"{what}: {one_line(error)}") from error
