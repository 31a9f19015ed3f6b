"""What changed in tables, and how far the answers of scenarios change by it: the same draws with either edition."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from forecast.base import access
from forecast.base.dates import decimal_year
from forecast.errors import ForecastError, UsageError, printable
from forecast.projection.engine import project
from forecast.projection.result import Projection
from forecast.tables import diff, editions
from forecast.tables.diff import Difference
from forecast.tables.editions import Edition
from forecast.tables.remote import download, resource_bytes
from forecast.tables.remote.trust_on_first_use import Copy
from forecast.tables.schema import descriptor
from forecast.tables.schema.descriptor import Package, Resource


@dataclass(frozen=True, kw_only=True)
class TableRequest:
    """A table to fetch anew; or to compare with an earlier snapshot, or with another edition in its place.

    Parameters
    ----------
    name : str
    package : Package
    earlier : str
        ``earlier``, or the hash of a snapshot.
    before, after : Edition, optional
        What is read in the place of the table; by default the table itself.
    """

    name: str
    package: Package
    earlier: str = ""
    before: Edition | None = None
    after: Edition | None = None


@dataclass(frozen=True, kw_only=True)
class TableChange:
    """How a table was compared, its hashes, and what differs in words and by part; None where nothing was compared."""

    name: str
    state: str
    before: str | None = None
    after: str | None = None
    difference: str | None = None
    parts: tuple[Difference, ...] = ()
    error: str | None = None

    @property
    def changed(self) -> bool:
        """Whether the table has another hash than before."""
        return self.before != self.after


@dataclass(frozen=True, kw_only=True)
class AnswerLabel:
    """What an answer is about: a question in one combination of choices, at one date or of one event.

    Parameters
    ----------
    name, title : str
    choices : mapping of str to str
    at : str
        The date of a value, or the event that comes first; else empty.
    unit : str
        ``date`` for a date.
    """

    name: str
    title: str
    choices: Mapping[str, str]
    at: str = ""
    unit: str

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells the answers of a scenario apart."""
        return self.name, tuple(self.choices.items()), self.at


@dataclass(frozen=True, kw_only=True)
class AnswerChange:
    """The figures of an answer with either edition; None where one edition has no such answer.

    The figures are those of ``p05``, ``p50``, ``p95``, ``never``, ``already``, ``best`` and ``first`` that it has.
    """

    label: AnswerLabel
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None

    @property
    def changed(self) -> bool:
        """Whether any figure differs."""
        return self.before != self.after

    @property
    def medians(self) -> tuple[float, float] | None:
        """The medians, dates as decimal years; None where one is missing, or they are of different things."""
        before, after = self.before or {}, self.after or {}
        was, now = before.get("p50"), after.get("p50")
        if was is None or now is None or before.get("best") != after.get("best"):
            return None
        if self.label.unit == "date":
            was, now = decimal_year(np.array([was, now], dtype="datetime64[s]"))
        return float(was), float(now)

    @property
    def size(self) -> float:
        """How far the median went, to sort by: years, or the logarithm of a ratio; -1 without medians."""
        if self.medians is None:
            return -1.0
        was, now = self.medians
        return abs(math.log(now / was)) if self.label.unit != "date" and min(was, now) > 0 else abs(now - was)


@dataclass(frozen=True, kw_only=True)
class ScenarioChange:
    """How the answers of a scenario change.

    Parameters
    ----------
    scenario : str
    rests_on : tuple of str
        The changed tables that it reads; without one there is nothing else.
    answers : tuple of AnswerChange
    newest : mapping of str to (str or None, str or None)
        By these tables: the date of the newest datum before and after, ISO; None where it has no date.
    alone : mapping of str to tuple of AnswerChange
        By table, where it reads several: the answers that change with this table alone.
    error : str, optional
        Why it could not be run.
    """

    scenario: str
    rests_on: tuple[str, ...] = ()
    answers: tuple[AnswerChange, ...] = ()
    newest: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    alone: Mapping[str, tuple[AnswerChange, ...]] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Refresh:
    """What changed in tables, and in the answers of the scenarios that were run."""

    tables: tuple[TableChange, ...]
    scenarios: tuple[ScenarioChange, ...]

    @property
    def failed(self) -> bool:
        """Whether a table could not be compared, or a scenario not be run."""
        errors = [table.error for table in self.tables] + [scenario.error for scenario in self.scenarios]
        return any(errors)


#: Opens a progress bar with a label; what it yields is called with the work done and the work in all.
Progress = Callable[[str], contextlib.AbstractContextManager[Callable[[float, float], None]]]
#: Returns the answers of a projection with their figures, in order.
AnswerReader = Callable[[Projection], Iterable[tuple[AnswerLabel, Mapping[str, Any]]]]


# --- which tables -----------------------------------------------------------------------------------------------------


def table_requests(
    names: Iterable[str] = (), files: Iterable[tuple[str, str]] = (), substitutes: Iterable[tuple[str, str, str]] = ()
) -> list[TableRequest]:
    """Return the tables to compare; by default every described table that is downloaded.

    Parameters
    ----------
    names : iterable of str
        Tables to fetch; ``NAME@earlier`` and ``NAME@sha256:...`` compare with a snapshot.
    files : iterable of (str, str)
        ``TABLE`` or ``TABLE:RESOURCE``, and a file or description to try in its place.
    substitutes : iterable of (str, str, str)
        A table, an edition that it holds, and the one that stands in its place.

    Raises
    ------
    UnknownNameError, UsageError, DataError
        If a table is not known or named twice, if there is nothing to fetch, or a substitute cannot be one.
    """
    from forecast import tables
    from forecast.contract.registry import get_registry

    requests: dict[Path, TableRequest] = {}

    def add(name: str, earlier: str = "", edition: Callable[[Package], Edition] | None = None) -> Package:
        path = tables.descriptor_of(name)
        if path in requests:
            raise UsageError(f"table '{printable(name, 80)}' is named twice")
        package = descriptor.read_descriptor(path)
        record, after = resource_bytes.record_of(package), edition(package) if edition else None
        full_name = record.full_name if record else name
        requests[path] = TableRequest(name=full_name, package=package, earlier=earlier, after=after)
        return package

    for name, file in files:
        table, _, resource = name.partition(":")
        where = f"--file {printable(name, 80)}"
        add(table, edition=partial(editions.try_file, file=file, resource=resource, where=where))
    for table, this, other in substitutes:
        where = f"--edition {printable(f'{table}:{this}', 80)}"
        add(table, edition=partial(editions.substitute_edition, this=this, other=other, where=where))
    for text in names:
        table, _, which = text.rpartition("@")
        if table and (which == "earlier" or which.startswith("sha256:")):
            add(table, which)
        elif not _remote(package := add(text)):
            raise UsageError(
                f"table '{printable(package.name, 80)}' is shipped: there is nothing to fetch; "
                f"to try a file in its place: --file {printable(text, 80)}=PATH"
            )
    if requests:
        return list(requests.values())
    every = [
        (r.full_name, descriptor.read_descriptor(Path(r.spec.descriptor))) for r in get_registry().records("table")
    ]
    return [TableRequest(name=name, package=package) for name, package in every if _remote(package)]


def _remote(package: Package) -> list[Resource]:
    return [resource for resource in package.resources if resource.remote]


# --- what changed -----------------------------------------------------------------------------------------------------


def _read_editions(requests: Iterable[TableRequest], side: str) -> contextlib.AbstractContextManager[set[Path]]:
    """Read the tables in their edition ``before`` or ``after``; yield the descriptors of all tables that are read."""
    found = {request.package.file: request.before if side == "before" else request.after for request in requests}
    return editions.use_editions({path: edition for path, edition in found.items() if edition is not None})


def compare_editions(
    requests: Iterable[TableRequest],
    scenarios: Sequence[str],
    *,
    read_answers: AnswerReader,
    draws: int = 2048,
    seed: int = 0,
    progress: Progress = lambda label: contextlib.nullcontext(lambda done, total: None),
) -> Refresh:
    """Compare tables with another edition of themselves, and run scenarios with both.

    A table that cannot be had and a scenario that cannot be run have the reason in `error`. No scenario is run where no
    table changed.

    Parameters
    ----------
    requests : iterable of TableRequest
        See `table_requests`.
    scenarios : sequence of str
    read_answers : callable
        Returns the answers of a projection with their figures, in order.
    draws, seed : int
        Of every run.
    progress : callable
        Opens a progress bar; by default none.
    """
    tables, changed = [], []
    for request in requests:
        try:
            state, compared = _request_editions(request, progress)
            table = TableChange(name=request.name, state=state) if compared is None else _compare(compared, state)
            if compared is not None and table.changed:
                changed.append(compared)
        except ForecastError as error:
            table = TableChange(name=request.name, state="failed", error=str(error))
        tables.append(table)
    run = partial(project, draws=draws, seed=seed)
    names, changes = scenarios if changed else (), []
    with progress("running scenarios") as report:
        for number, name in enumerate(names):
            report(number, len(names))
            try:
                changes.append(_scenario_change(name, changed, run, read_answers))
            except ForecastError as error:
                changes.append(ScenarioChange(scenario=name, error=str(error)))
        report(len(names), len(names))
    return Refresh(tables=tuple(tables), scenarios=tuple(changes))


def _request_editions(request: TableRequest, progress: Progress) -> tuple[str, TableRequest | None]:
    """Return how a table is compared, and with which editions; None where there is no other."""
    package = request.package
    if request.after is not None:
        instead = request.after.instead
        return f"{f'{instead[1]} in the place of {instead[0]}' if instead else 'tried'}, nothing is kept", request
    if request.earlier:
        before = editions.earlier(package, request.earlier)
        return f"compared with {request.earlier}", replace(request, before=before)
    with access.allow(downloads=True):  # for this table, and for nothing that a scenario reads besides
        copies = {each.name: _fetched_copy(package, each, progress) for each in _remote(package)}
    state = "; ".join(dict.fromkeys(copy.state for copy in copies.values()))
    pinned = {name: copy.before.hash for name, copy in copies.items() if copy.before}
    return state, replace(request, before=Edition(package=package, pinned=pinned)) if pinned else None


def _fetched_copy(package: Package, resource: Resource, progress: Progress) -> Copy:
    with progress(f"downloading {resource.name}") as report, download.report_downloads(report):
        copy = resource_bytes.local_copy(package, resource, update=True)
    resource_bytes.readable(resource, copy.path, resource_bytes.where_of(package, resource))
    return copy


def _compare(request: TableRequest, state: str) -> TableChange:
    """Compare the two editions of a table."""
    versions = []
    for side in ("before", "after"):
        with _read_editions([request], side):
            versions.append(diff.read_version(request.package.file))
    before, after = versions
    hash_after = after.hash
    if request.after is not None and request.after.instead:  # both editions are in one file
        hash_after = request.after.hash
        before, after = diff.editions_within(before, *request.after.instead) or (before, after)
    parts = diff.compare_versions(before, after)
    return TableChange(
        name=request.name,
        state=state,
        before=before.hash,
        after=hash_after,
        difference=diff.difference_sentence(parts),
        parts=parts,
    )


def _scenario_change(
    scenario: str, changed: Sequence[TableRequest], run: Callable[[str], Projection], read_answers: AnswerReader
) -> ScenarioChange:
    """Run a scenario with either edition of the tables that changed, in the same draws."""
    with _read_editions(changed, "after") as read:
        after = run(scenario)
    sources = [table for table in changed if table.package.file in read]
    if not sources:
        return ScenarioChange(scenario=scenario)
    with _read_editions(sources, "before"):
        before = run(scenario)
    alone = {}
    for table in sources if len(sources) > 1 else ():
        others = [each for each in sources if each is not table]
        with _read_editions(others, "before"), _read_editions([table], "after"):
            changes = _answer_changes(before, run(scenario), read_answers)
        alone[table.name] = tuple(change for change in changes if change.changed)
    was, now = before.newest, after.newest
    return ScenarioChange(
        scenario=scenario,
        rests_on=tuple(table.name for table in sources),
        answers=_answer_changes(before, after, read_answers),
        newest={table.name: (was.get(table.name), now.get(table.name)) for table in sources},
        alone=alone,
    )


def _answer_changes(before: Projection, after: Projection, read_answers: AnswerReader) -> tuple[AnswerChange, ...]:
    """Compare every answer that either run gives, in the order of the later one."""
    labels: dict[tuple[Any, ...], AnswerLabel] = {}
    figures: dict[str, dict[tuple[Any, ...], Mapping[str, Any]]] = {"after": {}, "before": {}}
    for side, tree in (("after", after), ("before", before)):
        for label, each in read_answers(tree):
            labels.setdefault(label.key, label)
            figures[side][label.key] = each
    return tuple(
        AnswerChange(label=label, before=figures["before"].get(key), after=figures["after"].get(key))
        for key, label in labels.items()
    )
