"""A pytest plugin for a tree with mutants: notes which test is at work, or runs some tests in a given order.

A map is made where ``FORECAST_MUTANT_HITS`` names a file. What tests share (fixtures of a module or a session, results
that are cached) is computed under the first of them; it gets a name of its own there, with a line for everyone who uses
it. Where ``FORECAST_MUTANT_TESTS`` names a file, only the tests in it run, in its order, each within its limit.
"""

from __future__ import annotations

import faulthandler
import functools
import json
import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

HITS, TESTS = os.environ.get("FORECAST_MUTANT_HITS", ""), os.environ.get("FORECAST_MUTANT_TESTS", "")
CONTEXT = "FORECAST_MUTANT_CONTEXT"
ROOT = str(Path.cwd())
_noted: set[tuple[str, ...]] = set()


def note(*words: str) -> None:
    """Append a line to the record, once a process."""
    if words not in _noted:
        _noted.add(words)
        with Path(HITS).open("a", encoding="utf-8") as record:
            record.write("\t".join(words) + "\n")


@contextmanager
def context(name: str) -> Iterator[None]:
    """Say to this process and those it starts who is at work."""
    before = os.environ.get(CONTEXT, "")
    os.environ[CONTEXT] = name
    try:
        yield
    finally:
        os.environ[CONTEXT] = before


def uses(name: str) -> None:
    """Note that who is at work uses what may have been computed before."""
    note("uses", os.environ.get(CONTEXT, ""), name)


# --- caches -----------------------------------------------------------------------------------------------------------

_lru_cache = functools.lru_cache


def named_cache(maxsize: Any = 128, typed: bool = False) -> Any:
    """`functools.lru_cache`, whose every entry is computed under a name of its own."""
    if callable(maxsize):
        return named_cache()(maxsize)

    def decorate(function: Callable[..., Any]) -> Any:
        code = getattr(function, "__code__", None)
        if code is None or not code.co_filename.startswith(ROOT):
            return _lru_cache(maxsize, typed)(function)
        where = f"cache {os.getpid()} {function.__module__}.{function.__qualname__}"

        def name(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
            key: Hashable = functools._make_key(args, kwargs, typed)  # type: ignore[attr-defined]
            return f"{where} {hash(key)}"

        @_lru_cache(maxsize, typed)
        def computed(*args: Any, **kwargs: Any) -> Any:
            with context(name(args, kwargs)):
                return function(*args, **kwargs)

        @functools.wraps(function)
        def cached(*args: Any, **kwargs: Any) -> Any:
            uses(name(args, kwargs))
            return computed(*args, **kwargs)

        cached.cache_clear = computed.cache_clear  # type: ignore[attr-defined]
        cached.cache_info = computed.cache_info  # type: ignore[attr-defined]
        cached.cache_parameters = computed.cache_parameters  # type: ignore[attr-defined]
        return cached

    return decorate


if HITS:  # before anything of the tree is imported
    functools.lru_cache = named_cache  # type: ignore[assignment]
    functools.cache = lambda function: named_cache(None)(function)  # type: ignore[assignment, return-value]


# --- who is at work ---------------------------------------------------------------------------------------------------


def shared(fixture: Any) -> str:
    """Return the name of a fixture that several tests share; none if each has its own."""
    return "" if fixture.scope == "function" else f"fixture {fixture.baseid}::{fixture.argname}"


class Mapping:
    """Notes who is at work, and how each test ended."""

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Any:
        """Name the file that is collected."""
        if not isinstance(collector, pytest.Module):
            return (yield)
        with context(f"file {collector.nodeid}"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Name the test, and what it shares with others."""
        with context(f"test {item.nodeid}"):
            fixtures = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
            for fixture in [f for stack in fixtures.values() for f in stack]:
                if name := shared(fixture):
                    uses(name)
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        """Name what several tests share, while it is made."""
        if not (name := shared(fixturedef)):
            return (yield)
        uses(name)
        with context(name):
            return (yield)


class Ending:
    """Notes how each test ended; in the process that hears of all of them."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a phase of a test."""
        with Path(HITS).open("a", encoding="utf-8") as record:
            record.write("\t".join(("ended", report.nodeid, report.outcome, f"{report.duration:.4f}")) + "\n")


# --- the tests of one mutant ------------------------------------------------------------------------------------------


class Chosen:
    """Runs the chosen tests in their order, each within its limit, and says what failed."""

    def __init__(self) -> None:
        asked = json.loads(Path(TESTS).read_text(encoding="utf-8"))
        self.limits: dict[str, float] = asked["limits"]
        self.rank = {test: i for i, test in enumerate(self.limits)}
        self.report = Path(asked["report"])
        self.said: dict[str, Any] = {"running": None, "passed": 0, "failed": [], "missing": []}

    def write(self, **more: Any) -> None:
        """Say so far."""
        self.said.update(more)
        self.report.write_text(json.dumps(self.said), encoding="utf-8")

    def fails(self, test: str, text: str) -> None:
        """Say that it failed, and the last line of why."""
        lines = [line for line in text.splitlines() if line.startswith("E ")] or text.splitlines() or [""]
        self.write(failed=[*self.said["failed"], [test, lines[0].removeprefix("E ").strip()[:300]]])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the chosen ones, in their order."""
        kept = sorted((i for i in items if i.nodeid in self.rank), key=lambda i: self.rank[i.nodeid])
        config.hook.pytest_deselected(items=[i for i in items if i.nodeid not in self.rank])
        self.write(missing=sorted(self.rank.keys() - {i.nodeid for i in kept}))
        items[:] = kept

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a file that cannot be collected as failing."""
        if report.failed:
            self.fails(report.nodeid, str(report.longrepr))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """End the process where a test does not end."""
        self.write(running=item.nodeid)
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
            faulthandler.dump_traceback_later(self.limits[item.nodeid], exit=True, file=nowhere)
            try:
                return (yield)
            finally:
                faulthandler.cancel_dump_traceback_later()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Say how it ended."""
        if report.failed:
            self.fails(report.nodeid, str(report.longrepr))
        elif report.when == "teardown" and report.nodeid not in dict(self.said["failed"]):
            self.write(passed=self.said["passed"] + 1, running=None)


def pytest_configure(config: pytest.Config) -> None:
    """Take the part that is asked for."""
    if HITS:
        config.pluginmanager.register(Mapping(), "mutation-mapping")
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Ending(), "mutation-ending")
    if TESTS:
        config.pluginmanager.register(Chosen(), "mutation-chosen")
