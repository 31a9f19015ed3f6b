"""The conformance kit: what every plugin must hold, as one test a check.

In a plugin's own tests::

    import pytest
    from forecast.conformance.kit import plugin_checks

    @pytest.mark.parametrize("check", plugin_checks("demo"), ids=str)
    def test_conformance(check):
        check()

On the command line: ``forecast plugins check demo``.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import traceback
import unittest
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from forecast.contract.plugin_calls import FAILURES, stdout_is_data
from forecast.contract.registry import Plugin, Record, get_registry
from forecast.contract.specs import FunctionSpec, Input, PublishedFit
from forecast.errors import ForecastError, PluginContractError, printable

#: Libraries that a plugin must not import before it computes a number.
HEAVY_LIBRARIES = ("matplotlib", "numpy", "pandas", "pint", "scipy", "statsmodels", "sympy", "xarray")
#: CPU seconds for importing a plugin and calling its hooks.
IMPORT_CPU_SECONDS = 0.25
#: And seconds of the clock: a plugin that waits keeps everybody waiting.
IMPORT_WALL_SECONDS = 2.0


@dataclass(frozen=True)
class Check:
    """One requirement on one plugin. Calling it raises a typed error if the plugin breaks it.

    Parameters
    ----------
    label : str
        ``"law learning: units parse"``; also what ``str()`` gives, for pytest's ids.
    run : callable
        Raises `ForecastError`, or ``unittest.SkipTest`` (which pytest shows as a skip) where it has nothing to check.
    """

    label: str
    run: Callable[[], object]

    def __call__(self) -> None:
        """Run it."""
        self.run()

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True)
class Outcome:
    """What became of a check."""

    label: str
    status: Literal["passed", "failed", "skipped"]
    message: str = ""

    @property
    def ok(self) -> bool:
        """Tell whether it did not fail."""
        return self.status != "failed"


def plugin_checks(plugin: str) -> list[Check]:
    """Return the checks of one plugin. A plugin that does not load has only the one that says so.

    Parameters
    ----------
    plugin : str
        The entry point's name.

    Examples
    --------
    >>> [str(c) for c in plugin_checks("scaling")][:3]
    ['loads', 'imports nothing heavy', 'every record has a reference']
    """
    try:
        offers = get_registry().plugin(plugin)
    except ForecastError as problem:
        return [Check("loads", partial(_fail, problem))]
    listed = [Check("loads", partial(_check_loads, list(offers)))]
    if len(offers) != 1 or offers[0].status != "loaded":
        return listed
    one = offers[0]
    listed.append(Check("imports nothing heavy", partial(_check_import_cost, one)))
    listed.append(Check("every record has a reference", partial(_check_references, one)))
    for spec in one.specs:
        record = Record(f"{one.name}/{spec.name}", spec, one)
        for label, check in _record_kind_checks(record):
            listed.append(Check(f"{spec.kind} {spec.name}: {label}", partial(check, record)))
    return listed


def run_checks(plugin: str, *, report: Callable[[float, float], None] | None = None) -> list[Outcome]:
    """Run every check of a plugin and return what became of each.

    Parameters
    ----------
    plugin : str
    report : callable, optional
        Called with how many are done and how many there are.

    Examples
    --------
    >>> all(outcome.ok for outcome in run_checks("brain"))
    True
    """
    todo = plugin_checks(plugin)
    modules = _plugin_modules(plugin)
    outcomes = []
    for index, check in enumerate(todo):
        outcomes.append(_run_check(check, modules))
        if report is not None:
            report(index + 1, len(todo))
    return outcomes


def _run_check(check: Check, modules: Collection[str]) -> Outcome:
    try:
        with stdout_is_data():
            check()
    except unittest.SkipTest as reason:
        return Outcome(check.label, "skipped", printable(reason, 1000))
    except ForecastError as problem:
        return Outcome(check.label, "failed", printable(problem, 1000) + _error_location(problem, modules))
    except FAILURES as problem:  # the plugin's code may raise anything
        said = f"{type(problem).__name__}: {problem}"
        return Outcome(check.label, "failed", printable(said, 1000) + _error_location(problem, modules))
    return Outcome(check.label, "passed")


def _plugin_modules(plugin: str) -> set[str]:
    """Return the packages that hold the plugin's code: its own, and those that its records name."""
    named = []
    with contextlib.suppress(ForecastError):
        for one in get_registry().plugin(plugin):
            targets = (getattr(spec, "target", None) for spec in one.specs)
            named += [one.value, *(target for target in targets if target)]
    return {name.partition(":")[0].partition(".")[0] for name in named}


def _error_location(problem: BaseException, modules: Collection[str]) -> str:
    """Say in which file and line of the plugin an exception arose; nothing where none of its code was running."""
    place = ""
    error: BaseException | None = problem
    while error is not None:
        for frame, line in traceback.walk_tb(error.__traceback__):
            if str(frame.f_globals.get("__name__")).partition(".")[0] in modules:
                place = f" ({printable(frame.f_code.co_filename)}, line {line})"
        if isinstance(error, SyntaxError) and error.filename:
            place = f" ({printable(error.filename)}, line {error.lineno})"
        error = error.__cause__
    return place


def _record_kind_checks(record: Record) -> Iterator[tuple[str, Callable[[Record], object]]]:
    from forecast.conformance import record_checks

    yield from record_checks.CHECKS.get(record.spec.kind, ())
    if isinstance(record.spec, FunctionSpec):
        yield from record_checks.FUNCTION_CHECKS


def _fail(problem: ForecastError) -> None:
    raise problem


def _check_loads(offers: list[Plugin]) -> None:
    if len(offers) > 1:
        who = " and ".join(p.distribution for p in offers)
        raise PluginContractError(f"plugin '{offers[0].name}' is offered by {who}")
    if offers[0].status != "loaded":
        lines = re.findall(r'^ *File "([^<].*)", line (\d+)', offers[0].traceback, re.MULTILINE)
        places = [f" ({printable(file)}, line {line})" for file, line in lines if not _is_ours(file)]
        raise PluginContractError(
            f"plugin {offers[0].origin} is {offers[0].status}: {offers[0].reason}{''.join(places[-1:])}"
        )


def _is_ours(file: str) -> bool:
    import forecast

    return Path(file).is_relative_to(Path(forecast.__file__).parent)


#: Loads a plugin and prints what that took, in seconds of CPU and of the clock, why it failed, and what it imported.
_LOAD = """
import json, sys, time
from forecast.contract.local_plugins import entry_point
from forecast.contract.registry import ENTRY_POINT_GROUP, Registry
cpu, wall = time.process_time(), time.monotonic()
plugin = Registry([entry_point(*sys.argv[1:], ENTRY_POINT_GROUP)], select="").plugins[0]
cpu, wall = time.process_time() - cpu, time.monotonic() - wall
print(json.dumps({"cpu": cpu, "wall": wall, "reason": plugin.reason, "modules": sorted(sys.modules)}))
"""


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a process that sees the modules that this one sees."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(str(Path(p).absolute()) for p in sys.path), **more}


def _check_import_cost(plugin: Plugin) -> None:
    """Load the plugin in a process of its own: in ours, somebody else may have imported the heavy ones."""
    words = [sys.executable, "-P", "-c", _LOAD, plugin.name, plugin.value]
    env = environment(FORECAST_STRICT="")
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)  # noqa: S603 - our own text
    try:
        loaded = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        why = f"importing it ends Python, exit status {done.returncode}"
        raise PluginContractError(f"plugin '{plugin.name}': {why}") from None
    if loaded["reason"]:
        raise PluginContractError(f"plugin '{plugin.name}': does not load by itself: {loaded['reason']}")
    if heavy := [m for m in HEAVY_LIBRARIES if m in loaded["modules"]]:
        raise PluginContractError(
            f"plugin '{plugin.name}': its module or hooks import {', '.join(heavy)}; "
            "import them where they are used, or name the code by target="
        )
    if loaded["cpu"] > IMPORT_CPU_SECONDS:
        raise PluginContractError(
            f"plugin '{plugin.name}': import and hooks take {loaded['cpu']:.2f} s of CPU; "
            f"at most {IMPORT_CPU_SECONDS} s"
        )
    if loaded["wall"] > IMPORT_WALL_SECONDS:
        raise PluginContractError(
            f"plugin '{plugin.name}': import and hooks take {loaded['wall']:.1f} s; at most {IMPORT_WALL_SECONDS:g} s"
        )


def _check_references(plugin: Plugin) -> None:
    """The records themselves refuse to be without one; what they hold is looked at here."""
    bare = [
        f"{spec.kind} '{spec.name}': {what} '{each.name}'"
        for spec in plugin.specs
        for what, of, says in (("published", "published", "reference"), ("input", "inputs", "source"))
        for each in getattr(spec, of, ())
        if isinstance(each, (PublishedFit, Input)) and not getattr(each, says).strip()
    ]
    if bare:
        raise PluginContractError(f"without a reference or source: {', '.join(bare)}")
