"""The conformance kit: what every plugin must hold, as one test a check.

In a plugin's own tests::

    import pytest
    from forecast.testing import checks

    @pytest.mark.parametrize("check", checks("demo"), ids=str)
    def test_conformance(check):
        check()

On the command line: ``forecast plugins check demo``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from forecast.errors import ForecastError, PluginContractError, printable
from forecast.registry import Plugin, Record, get_registry

__all__ = ["Check", "Outcome", "checks", "run_checks"]

#: What a plugin must not import before it is asked for a number.
HEAVY = ("matplotlib", "numpy", "pandas", "pint", "scipy", "statsmodels", "sympy", "xarray")
#: CPU seconds for importing a plugin and calling its hooks.
IMPORT_BUDGET = 0.25
IMPORT_LIMIT = 60

_IMPORT = """
import json, sys, time
from importlib.metadata import EntryPoint
from forecast.registry import GROUP, Registry
name, value = sys.argv[1:]
began = time.process_time()
plugin = Registry([EntryPoint(name, value, GROUP)], select="").plugins[0]
spent = time.process_time() - began
print(json.dumps({"spent": spent, "reason": plugin.reason, "modules": sorted(sys.modules)}))
"""


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
    run: Callable[[], None]

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


def checks(plugin: str) -> list[Check]:
    """Return the checks of one plugin. A plugin that does not load has only the one that says so.

    Parameters
    ----------
    plugin : str
        The entry point's name.

    Examples
    --------
    >>> [str(c) for c in checks("scaling")][:3]
    ['loads', 'imports nothing heavy', 'every record has a reference']
    """
    try:
        offers = get_registry().plugin(plugin)
    except ForecastError as problem:
        return [Check("loads", partial(_fail, problem))]
    found = [Check("loads", partial(_loads, list(offers)))]
    if len(offers) != 1 or offers[0].status != "loaded":
        return found
    one = offers[0]
    found.append(Check("imports nothing heavy", partial(_imports, one)))
    found.append(Check("every record has a reference", partial(_references, one)))
    for spec in one.specs:
        record = Record(f"{one.name}/{spec.name}", spec, one)
        for label, check in _of(record):
            found.append(Check(f"{spec.kind} {spec.name}: {label}", partial(check, record)))
    return found


def run_checks(plugin: str, *, report: Callable[[float, float], None] | None = None) -> list[Outcome]:
    """Run every check of a plugin and return what became of each.

    Parameters
    ----------
    plugin : str
    report : callable, optional
        Called with how many are done and how many there are.

    Examples
    --------
    >>> all(outcome.ok for outcome in run_checks("trends"))
    True
    """
    todo = checks(plugin)
    outcomes = []
    for index, check in enumerate(todo):
        outcomes.append(_outcome(check))
        if report is not None:
            report(index + 1, len(todo))
    return outcomes


def _outcome(check: Check) -> Outcome:
    try:
        check()
    except unittest.SkipTest as reason:
        return Outcome(check.label, "skipped", printable(reason, 1000))
    except KeyboardInterrupt:
        raise
    except ForecastError as problem:
        return Outcome(check.label, "failed", printable(problem, 1000))
    except BaseException as problem:  # the plugin's code may raise anything
        return Outcome(check.label, "failed", printable(f"{type(problem).__name__}: {problem}", 1000))
    return Outcome(check.label, "passed")


def _of(record: Record) -> Iterator[tuple[str, Callable[[Record], None]]]:
    from forecast import conformance

    yield from conformance.CHECKS.get(record.spec.kind, ())


def _fail(problem: ForecastError) -> None:
    raise problem


def _loads(offers: list[Plugin]) -> None:
    if len(offers) > 1:
        who = " and ".join(p.distribution for p in offers)
        raise PluginContractError(f"plugin '{offers[0].name}' is offered by {who}")
    if offers[0].status != "loaded":
        raise PluginContractError(f"plugin {offers[0].origin} is {offers[0].status}: {offers[0].reason}")


def _imports(plugin: Plugin) -> None:
    """Load the plugin in a process of its own: in ours, somebody else may have imported the heavy ones."""
    path = os.pathsep.join(str(Path(p).absolute()) for p in sys.path)
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and our own text
            [sys.executable, "-c", _IMPORT, plugin.name, plugin.value],
            capture_output=True, text=True, timeout=IMPORT_LIMIT, check=False,
            env={**os.environ, "PYTHONPATH": path, "FORECAST_STRICT": ""},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise PluginContractError(f"plugin '{plugin.name}': importing it takes over {IMPORT_LIMIT} s") from None
    try:
        answer = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        why = printable((done.stderr.strip().splitlines() or ["no output"])[-1])
        raise PluginContractError(f"plugin '{plugin.name}': importing it ends Python: {why}") from None
    if answer["reason"]:
        raise PluginContractError(f"plugin '{plugin.name}': does not load by itself: {answer['reason']}")
    if heavy := [m for m in HEAVY if m in answer["modules"]]:
        raise PluginContractError(
            f"plugin '{plugin.name}': its module or hooks import {', '.join(heavy)}; "
            "import them where they are used, or name the code by target="
        )
    if answer["spent"] > IMPORT_BUDGET:
        raise PluginContractError(
            f"plugin '{plugin.name}': import and hooks take {answer['spent']:.2f} s of CPU; at most {IMPORT_BUDGET} s"
        )


def _references(plugin: Plugin) -> None:
    """The records themselves refuse to be without one; what they hold is looked at here."""
    bare = [f"{s.kind} '{s.name}'" for s in plugin.specs if not s.reference.strip()]
    for spec in plugin.specs:
        bare += [
            f"{spec.kind} '{spec.name}': published '{p.name}'"
            for p in getattr(spec, "published", ())
            if not p.reference.strip()
        ]
        inputs = getattr(spec, "inputs", ())
        bare += [f"{spec.kind} '{spec.name}': input '{i.name}'" for i in inputs if not i.source.strip()]
    if bare:
        raise PluginContractError(f"without a reference or source: {', '.join(bare)}")
