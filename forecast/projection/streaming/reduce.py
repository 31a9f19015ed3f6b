"""What a projection keeps of its worlds: all of them where they are few, else counts, and the first worlds as a sample.

A batch of worlds is reduced as soon as it is drawn. What two batches hold together does not depend on who drew them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from forecast import errors
from forecast.base.arrays import Array, BoolArray
from forecast.base.dates import decimal_year, from_decimal_year
from forecast.base.lazy import xr
from forecast.base.quantiles import QUANTILES
from forecast.errors import AbsentValueError, DataError, ForecastError, NoDataAtDateError
from forecast.projection.answers.binding_limits import Binding
from forecast.projection.answers.crossing_dates import DateDraws, Dates, Earliest, PooledDates, answer_variables
from forecast.projection.answers.ranking import Ranked
from forecast.projection.answers.values import ValueReducer
from forecast.projection.failures import BlockSlice, FailureCounts, FailureLog, in_brackets
from forecast.projection.likelihood_weights import Updates
from forecast.projection.result.projected_quantities import RETURNS_ATTRIBUTE
from forecast.projection.streaming.columns import Column, Columns, WorldColumn, dataset, merge
from forecast.projection.streaming.histograms import DateHistogram, ValueHistogram
from forecast.scenarios.quantities.node import Combination

if TYPE_CHECKING:
    from forecast.projection.evaluate import Block
    from forecast.projection.plan import Plan


T = TypeVar("T")


@dataclass(frozen=True)
class DrawCounts:
    """How many worlds there are, and how many of the first are kept one by one.

    Parameters
    ----------
    worlds, kept : int
        Fewer are kept than there are where the others are only counted.
    low, high : int
        The worlds of this batch.
    """

    worlds: int
    kept: int
    low: int
    high: int

    @property
    def counting(self) -> bool:
        """Whether worlds are counted."""
        return self.kept < self.worlds

    @property
    def n_stored(self) -> int:
        """How many worlds of the batch are kept."""
        return max(min(self.high, self.kept) - self.low, 0)


@dataclass(frozen=True)
class Reads:
    """What is read of a result of which not all is read: nothing else is computed.

    Parameters
    ----------
    quantities : collection of str
    under : mapping of str to mapping of str to str
        By question the values of choices under which alone it is answered; under all by default.
    limits : bool
        Whether the limits of these quantities are read, too.
    """

    quantities: Collection[str]
    under: Mapping[str, Mapping[str, str]]
    limits: bool = False


class BatchResult:
    """What the worlds of a batch hold, and what failed in them.

    Parameters
    ----------
    plan : Plan
        Which is given the steps of what is kept and asked.
    size : Size
    updates : Updates
        What worlds count for.
    paths : frozenset of str, optional
        The quantities that are kept and may change with time; all by default.
    ends : bool
        What is kept step by step is kept at the first and the last step alone.
    reads : Reads, optional
        What alone is kept and answered; all by default.
    """

    def __init__(
        self,
        plan: Plan,
        size: DrawCounts,
        updates: Updates,
        paths: frozenset[str] | None = None,
        *,
        ends: bool = False,
        reads: Reads | None = None,
    ) -> None:
        graph, years = plan.graph, plan.time
        self.graph, self.years, self.size, self.updates = graph, years, size, updates
        # By what failed and the combination: the first world of the block, and the error of the first block.
        self._failed: dict[tuple[str, Combination], tuple[int, ForecastError]] = {}
        self._unanswered: set[tuple[str, Combination]] = set()
        self._record = FailureLog()
        self._stored = slice(None, None, max(len(years) - 1, 1) if ends else 1)
        # Quantities that are the same number at both ends, and another one between them.
        self._returning: set[str] = set()
        self._levels, self._dates, self._counted = Columns(graph), Columns(graph), Columns(graph)
        weighing, weighted, counting = graph.dims(graph.weighed_by), updates.weighing, size.counting
        under: Mapping[str, Mapping[str, str]] = reads.under if reads else {}
        for name, node in graph.quantities.items():
            if name not in reads.quantities if reads else not (node.steady or paths is None or name in paths):
                continue
            self._levels.ask(plan, name, node.dims, partial(plan.quantity, name))
            rows = 1 if node.steady else len(years[self._stored])
            self._levels.columns[name] = Column(graph, node.dims, size.n_stored, (rows,), complete=True)
            if counting:  # along what weighs the worlds, too
                along = (*node.dims, *(d for d in weighing if d not in node.dims))
                new_counts = partial(ValueHistogram, rows, weighted=weighted)
                self._counted.columns[name] = Column(graph, along, new_counts=new_counts, complete=True)
        # what has few combinations is taken first: it waits for what has many in less room than the other way round
        by_size = sorted(self._levels.steps.items(), key=lambda each: len(self._levels[each[0][0]].index))
        self._levels.steps = dict(by_size)
        for name, question in graph.scenario.questions.items():
            counts = (
                partial(DateHistogram, years[0], years[-1], self._by(name), weighted=weighted) if counting else None
            )
            dims = graph.dims([*question.when.names, *graph.weighed_by])
            self._dates.columns[name] = Column(graph, dims, size.n_stored, new_counts=counts, complete=True)
            self._dates.ask(plan, name, dims, partial(plan.crossed, name, dims), under.get(name, {}))
        self._pools = PooledDates(graph, self._dates)
        self._earliest = Earliest(graph, self._dates, counting=counting)
        self._ranked = Ranked(plan, size.n_stored, updates, counting=counting)
        self._figures = ValueReducer(plan, years, size.n_stored, updates, under, counting=counting)
        bounded = graph.nodes if reads is None else reads.quantities if reads.limits else ()
        self._binding = Binding(plan, years, size.n_stored, updates, bounded, rows=self._stored, counting=counting)
        self._parts = (
            self._levels, self._counted, self._dates, updates,
            self._pools, self._earliest, self._ranked, self._figures, self._binding,
        )  # fmt: skip

    def _by(self, name: str) -> tuple[float, ...]:
        dates = self.graph.scenario.questions[name].dates
        return tuple(decimal_year(np.array(dates, dtype="datetime64[s]")).tolist()) if dates else ()

    @property
    def schedule(self) -> tuple[list[int], list[int]]:
        """The steps that are asked for, in their order: whole paths, and small answers."""
        answers = self.updates, self._dates, self._ranked, self._figures, self._binding
        return [*self._levels.steps.values()], [step for part in answers for step in part.steps.values()]

    def fill(self, block: Block) -> None:
        """Reduce some blocks of worlds of the batch."""
        size = self.size
        worlds = min(block.draws, size.high - block.first)
        n_kept = max(min(worlds, size.kept - block.first), 0)
        part = BlockSlice(block.first, worlds, slice(block.first - size.low, block.first - size.low + n_kept))
        listed: list[ForecastError] = []

        def attempt(name: str, combination: Combination, make: Callable[[], T]) -> tuple[T, BoolArray] | None:
            try:
                made, faults = block.watched(make)
            except ForecastError as error:
                error.with_traceback(None)  # it is kept, and would keep what it passed through
                if name in self.graph.quantities:
                    listed.append(error)
                elif any(error is other for other in listed):  # the quantity's
                    self._unanswered.add((name, combination))
                    return None
                self._fail(name, combination, block.first, error)
                return None
            return made, self._record.add((name, combination), faults, block.first, worlds)

        def keep(name: str, combination: Combination, step: int) -> Array | None:
            drawn = attempt(name, combination, partial(block.take, step))
            if drawn is None:
                return None
            level, failing = drawn
            level = self._rows(name, level[:, :worlds], n_kept)
            level = np.where(failing, np.nan, level) if failing.any() else level
            self._levels[name].put(combination, level, part)
            return level if size.counting else None

        def count(name: str, combination: Combination, level: Array) -> None:
            column = self._counted[name]
            for along in column.index:
                if along[: len(combination)] == combination:
                    column.counts[along].add(level, self.updates.of(column.dims, along, part))

        levels: list[tuple[str, Combination, Array]] = []
        for (name, combination), step in self._levels.steps.items():
            if (level := keep(name, combination, step)) is not None:
                if self.updates.weighing:  # once it is known what worlds count for
                    levels.append((name, combination, level))
                else:
                    count(name, combination, level)
            level = None  # the next one needs its room
        self.updates.fill(block, part, attempt)
        for each in levels:
            count(*each)
        for name, column in self._dates.columns.items():
            for combination in column.index:
                if (name, combination) not in self._dates.steps:
                    column.blank(combination)
                    continue
                crossed = attempt(name, combination, partial(block.take, self._dates.steps[name, combination]))
                dates = np.full(worlds, np.nan)
                if crossed is not None:
                    dates = np.where(crossed[1], np.nan, crossed[0][:worlds])
                weights = self.updates.of(column.dims, combination, part)
                column.put(combination, dates, part, weights)
                if size.counting:
                    self._pools.add(name, combination, dates, weights)
                    self._earliest.add(name, combination, dates)
        if size.counting:
            self._pools.reduce(block)
            self._earliest.reduce(self.updates, part)
        self._ranked.fill(block, part, attempt)
        self._figures.fill(block, part, attempt)
        self._binding.fill(block, part)

    def _rows(self, name: str, level: Array, n_kept: int) -> Array:
        """Return the steps of a level that are kept: one of what does not change."""
        if self.graph.quantities[name].steady:
            return level[:1]
        rows = level[self._stored]
        if len(rows) < len(level) and _returns_to_start(level[:, :n_kept]):
            self._returning.add(name)
        return rows

    def _fail(self, name: str, combination: Combination, block: int, error: ForecastError) -> None:
        first = self._failed.get((name, combination), (block, error))
        self._failed[name, combination] = min(first, (block, error), key=lambda failure: failure[0])

    def holdings(self) -> list[WorldColumn]:
        """Return what is held of the worlds."""
        return [each for part in self._parts for each in part.holdings()]

    def notes(self) -> dict[str, Any]:
        """Return what failed, as plain data."""
        return {
            "failed": [[n, list(c), block, *_error_record(e)] for (n, c), (block, e) in self._failed.items()],
            "unanswered": [[name, list(combination)] for name, combination in sorted(self._unanswered)],
            "record": [
                [n, list(c), t.worlds, t.first, t.block, *_error_record(t.error)]
                for (n, c), t in self._record.tallies.items()
            ],
            "returning": sorted(self._returning),
        }

    def note(self, notes: Mapping[str, Any]) -> None:
        """Take what failed from plain data, beside what is noted here."""
        for name, combination, block, *error in notes["failed"]:
            self._fail(name, tuple(combination), block, _error(*error))
        self._unanswered |= {(name, tuple(combination)) for name, combination in notes["unanswered"]}
        self._returning |= set(notes["returning"])
        for name, combination, worlds, first, block, *error in notes["record"]:
            self._record.tally((name, tuple(combination)), FailureCounts(worlds, first, block, _error(*error)))

    def merge(self, other: BatchResult) -> None:
        """Add the worlds of another batch."""
        first = other.size.low - self.size.low
        merge(self.holdings(), other.holdings(), slice(first, first + other.size.n_stored))
        self.note(other.notes())

    def settle(self) -> None:
        """Take out, once all worlds are there, what failed in a block of them or in too many."""
        quantities = self.graph.quantities
        known = [error for (name, _), (_, error) in self._failed.items() if name in quantities]
        many = sorted(self._record.exceeding(self.size.worlds), key=lambda failure: failure[0][0] not in quantities)
        for (name, combination), block, error in many:
            if name in quantities:
                known.append(error)
            elif any(error is other or str(error) == str(other) for other in known):
                self._unanswered.add((name, combination))
                continue
            self._fail(name, combination, block, error)
        for name, combination in (*self._failed, *self._unanswered):
            self._blank(name, combination)

    def _blank(self, name: str, combination: Combination) -> None:
        for part in self._parts:
            part.blank(name, combination)
        for along in self._counted[name].index if name in self._counted.columns else ():
            if along[: len(combination)] == combination:
                self._counted.blank(name, along)

    def failing(self) -> list[dict[str, Any]]:
        """Say what fails in few worlds, and is answered by the others."""
        every = {**{name: node.dims for name, node in self.graph.quantities.items()}, **self._question_dims}
        names = (
            ((name, combination), dict(zip(dims, combination, strict=True)))
            for name, dims in every.items()
            for combination in self.graph.combinations(dims)
            if (name, combination) not in self._failed
        )
        return list(self._record.rows(names, self.years, self.size.worlds))

    def reasons(self) -> Iterator[str]:
        """Say what failed, where and why."""
        for (name, combination), (_, error) in self._failed.items():
            if not isinstance(error, (AbsentValueError, NoDataAtDateError)):
                yield f"{name}{in_brackets(self._chosen(name, combination))}: {error}"

    def blanks(self) -> Iterator[dict[str, str]]:
        """Yield the values of choices under which a quantity or a question has no answer."""
        yield from (self._chosen(*each) for each in (*self._failed, *self._unanswered))

    def _chosen(self, name: str, combination: Combination) -> dict[str, str]:
        dims = self.graph.nodes[name].dims if name in self.graph.nodes else self._question_dims[name]
        return dict(zip(dims, combination, strict=True))

    def absent(self) -> list[dict[str, Any]]:
        """Return the combinations of choices under which a figure is absent that may be, and what is said of it."""
        rows = {
            (tuple(zip(self.graph.nodes[name].dims, combination, strict=True)), str(error))
            for (name, combination), (_, error) in self._failed.items()
            if isinstance(error, AbsentValueError) and name in self.graph.nodes
        }
        return [{"choices": dict(chosen), "said": said} for chosen, said in sorted(rows)]

    def raise_if_nothing_is_left(self) -> None:
        """Raise the failure of a quantity, or of an update, that failed in every combination."""
        for name, dims in {**{n: node.dims for n, node in self.graph.quantities.items()}, **self._weighed}.items():
            errors = [self._failed.get((name, c)) for c in self.graph.combinations(dims)]
            if all(errors) and errors[0] is not None and not isinstance(errors[0][1], AbsentValueError):
                raise errors[0][1]

    @property
    def _question_dims(self) -> dict[str, tuple[str, ...]]:
        """The choices of every question."""
        ranked = {name: self._ranked[name].dims for name in self._ranked.rankings}
        return {**self._weighed, **self._dates.dims, **ranked, **self._figures.dims}

    @property
    def _weighed(self) -> dict[str, tuple[str, ...]]:
        """The choices of every update."""
        return {f"update.{name}": dims for name, dims in self.updates.dims.items()}

    def groups(self, time: NDArray[np.datetime64], seed: int) -> dict[str, xr.Dataset]:
        """Return what was asked for, by its place in the result."""
        time = time[self._stored]
        out = {"/projection": self._projection(time), "/questions": self._questions()}
        if (pooled := self._pooled(seed)).data_vars:
            out["/pooled"] = pooled
        if self.size.counting:
            out["/levels"] = self._counted_levels(time)
        if self._earliest.columns:
            out["/first"] = self._earliest.dataset()
        if self._ranked.columns:
            out["/rankings"] = self._ranked.dataset()
        if self.updates.weighing:
            out["/update"] = self.updates.dataset()
        out |= {f"/values/{name}": data for name, data in self._figures.datasets()}
        return out | {f"/limits/{name}": data for name, data in self._binding.datasets(time)}

    def _projection(self, time: NDArray[np.datetime64]) -> xr.Dataset:
        """Return the levels of the worlds that are kept."""
        data = {}
        for name, own in self._levels.columns.items():  # what does not change is kept once a world
            levels = np.broadcast_to(own.kept, (len(time), *own.kept.shape[1:]))
            data[name] = (("time", "draw", *own.dims), levels, self._about(name))
        return dataset(data, {"time": time, **self._levels.coordinates(self.graph.scenario.choices)})

    def _about(self, name: str) -> dict[str, str]:
        node = self.graph.quantities[name]
        about = {"units": node.unit, "kind": node.quantity.KIND}
        if labels := node.labels:  # what numbers stand for, in the words of the CF conventions; attributes hold text
            about |= {"flag_values": " ".join(map(str, range(len(labels)))), "flag_meanings": " ".join(labels)}
        return about | ({RETURNS_ATTRIBUTE: "another number between its ends"} if name in self._returning else {})

    def _counted_levels(self, time: NDArray[np.datetime64]) -> xr.Dataset:
        """Return the quantiles of the levels of all worlds; of a regime the share of each label."""
        data: dict[str, Any] = {}
        for name, own in self._counted.columns.items():
            labels = self.graph.nodes[name].labels
            if labels:
                table = np.array([counts.shares(range(len(labels))) for counts in own.counts.values()]).T
                data[name] = ((f"{name}_label", *own.dims), table.reshape(len(labels), *own.sizes), self._about(name))
                continue
            levels = np.broadcast_to(own.quantiles(), (len(QUANTILES), len(time), *own.sizes))
            data[name] = (("quantile", "time", *own.dims), levels, self._about(name))
        choices = self._counted.coordinates(self.graph.scenario.choices)
        return xr.Dataset(data, coords={"quantile": list(QUANTILES), "time": time, **choices})

    def _drawn_dates(self, name: str) -> list[Dates | None]:
        """Return the dates of one question in the kept worlds, under each combination of choices."""
        own, weights = self._dates[name], self.updates.weights(self._dates[name].dims)
        places = [(slice(None), *place) for place in own.index.values()]
        counts = [None if weights is None else weights[place] for place in places]
        kept, by, at_step = own.kept, self._by(name), [(name, each) in self._dates.steps for each in own.index]
        drawn = zip(places, counts, at_step, strict=True)
        return [
            DateDraws(kept[place], self.years[0], by, count) if is_step else None for place, count, is_step in drawn
        ]

    def _questions(self) -> xr.Dataset:
        """Return each question's quantiles, *already* and *never*, and the date of every world that is kept."""
        data: dict[str, Any] = {}
        for name, own in self._dates.columns.items():
            each: list[Dates | None] = list(own.counts.values()) or self._drawn_dates(name)
            title = self.graph.scenario.questions[name].title or self.graph.scenario.questions[name].when.text
            data |= answer_variables(name, own.dims, own.sizes, each, title)
            failing = np.isnan(own.kept) & ~np.isnan(data[f"{name}_never"][1])
            finite = np.where(np.isfinite(own.kept), own.kept, np.nan)
            data[f"{name}_date"] = (("draw", *own.dims), from_decimal_year(finite))
            if failing.any():
                data[f"{name}_failing"] = (("draw", *own.dims), failing.astype(np.int8))
        return dataset(data, {**self._answer_coordinates(data), **self._dates.coordinates()})

    def _answer_coordinates(self, data: dict[str, Any]) -> dict[str, Any]:
        questions = self.graph.scenario.questions.items()
        dated = {f"{n}_by_date": np.array(q.dates, dtype="datetime64[s]") for n, q in questions if f"{n}_by" in data}
        return {**({"quantile": list(QUANTILES)} if data else {}), **dated}

    def _pooled(self, seed: int) -> xr.Dataset:
        """Return the questions' dates over rivals that are pooled by their stated weights."""
        data: dict[str, Any] = {}
        for name, dims in self._pools.definitions.items():
            each = self._pools.dates(name, float(self.years[0]), self._by(name), self.updates, seed)
            data |= answer_variables(name, dims, self.graph.sizes(dims), each)
        definitions = {d for dims in self._pools.definitions.values() for d in dims}
        return dataset(data, {**self._answer_coordinates(data), **self._pools.coordinates(definitions)})


def _returns_to_start(level: Array) -> bool:
    """Tell whether a level, (time, draw), is the same number at both ends of all worlds, and another one between."""
    if not level.size or level[0, 0] != level[-1, 0]:
        return False
    return bool((level[[0, -1]] == level[0, 0]).all() and (level != level[0, 0]).any())


def _error_record(error: ForecastError | None) -> tuple[str, str]:
    return type(error).__name__, str(error)


def _error(kind: str, text: str) -> ForecastError:
    """Return an error that is made of a sentence alone, or that sentence as one of data."""
    stated = getattr(errors, kind, DataError)
    return stated(text) if stated.__init__ is ForecastError.__init__ else DataError(text)
