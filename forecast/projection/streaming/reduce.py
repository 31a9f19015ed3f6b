"""What a projection keeps of its worlds: all of them where they are few, else counts, and the first worlds as a sample.

A batch of worlds is reduced as soon as it is drawn. What two batches hold together does not depend on who drew them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from forecast.base.dates import decimal_year, from_decimal_year
from forecast.base.lazy import xr
from forecast.errors import DataError, ForecastError, PluginContractError, ScenarioError, UnitError, UsageError
from forecast.projection.answers.binding_limits import Binding
from forecast.projection.answers.crossing_dates import DateDraws, Dates, answers
from forecast.projection.answers.first_event import Earliest
from forecast.projection.answers.pooling import PooledDates
from forecast.projection.answers.ranking import Ranked
from forecast.projection.answers.values import ValueReducer
from forecast.projection.crossing import QUANTILES
from forecast.projection.failures import BlockSlice, FailureCounts, FailureLog
from forecast.projection.streaming.accumulators import CountedColumn, KeptColumn, WorldColumn, merge, side_by_side
from forecast.projection.streaming.histograms import DateHistogram, ValueHistogram
from forecast.projection.weights import Updates
from forecast.projection.world import World
from forecast.scenarios.graph import Combination, ScenarioGraph
from forecast.scenarios.quantities.dynamics import SolvedNumber, Stock
from forecast.scenarios.quantities.function_ref import FunctionRef
from forecast.scenarios.quantities.law_ref import LawRef
from forecast.scenarios.quantities.uncertain_inputs import MomentFit, OwnDraws, Regime, Schedule
from forecast.scenarios.scenario import Expression, ModelRef, Prior, SeriesRef, TableValue

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


T = TypeVar("T")

__all__ = ["Sampled", "Size"]

#: What stands behind a quantity, for those who read the results.
_KINDS = {
    ModelRef: "model", Expression: "expression", Prior: "prior", SeriesRef: "trend", TableValue: "table",
    Regime: "regime", Schedule: "schedule", OwnDraws: "draws", MomentFit: "fitted", Stock: "stock",
    SolvedNumber: "solved", LawRef: "law", FunctionRef: "function",
}  # fmt: skip


@dataclass(frozen=True)
class Size:
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
    def held(self) -> int:
        """How many worlds of the batch are kept."""
        return max(min(self.high, self.kept) - self.low, 0)


class Sampled:
    """What the worlds of a batch hold, and what failed in them.

    Parameters
    ----------
    graph : ScenarioGraph
    years : ndarray
        The steps in decimal years.
    size : Size
    updates : Updates
        What worlds count for.
    """

    def __init__(self, graph: ScenarioGraph, years: Array, size: Size, updates: Updates) -> None:
        self.graph, self.years, self.size, self.updates = graph, years, size, updates
        # By what failed and the combination: the first world of the block, and the error of the first block.
        self._failed: dict[tuple[str, Combination], tuple[int, ForecastError]] = {}
        self._unanswered: set[tuple[str, Combination]] = set()
        self._record = FailureLog()
        self._levels = {
            name: side_by_side((1 if node.steady else len(years), size.held), self._sizes(node.dims))
            for name, node in graph.quantities.items()
        }
        self._dims = {
            name: graph.dims([*question.when.names, *graph.weighed_by])
            for name, question in graph.scenario.questions.items()
        }
        self._dates = {name: side_by_side((size.held,), self._sizes(dims)) for name, dims in self._dims.items()}
        self._along = {
            name: (*node.dims, *(d for d in graph.dims(graph.weighed_by) if d not in node.dims))
            for name, node in graph.quantities.items()
        }
        self._level_counts: dict[tuple[str, Combination], ValueHistogram] = {}
        self._date_counts: dict[tuple[str, Combination], DateHistogram] = {}
        weighted = bool(updates.asked)
        if size.counting:
            for name, along in self._along.items():
                rows = 1 if graph.nodes[name].steady else len(years)
                for combination in graph.combinations(along):
                    self._level_counts[name, combination] = ValueHistogram(rows, weighted=weighted)
            for name, dims in self._dims.items():
                for combination in graph.combinations(dims):
                    self._date_counts[name, combination] = DateHistogram(
                        years[0], years[-1], self._by(name), weighted=weighted
                    )
        self._pools = PooledDates(
            graph,
            self._dims,
            size.counting,
            lambda name: DateHistogram(years[0], years[-1], self._by(name), weighted=weighted),
        )
        self._earliest = Earliest(graph, self._dims, counting=size.counting)
        self._ranked = Ranked(graph, size.held, updates, counting=size.counting)
        self._figures = ValueReducer(graph, years, size.held, updates, counting=size.counting)
        self._binding = Binding(graph, years, size.held, updates, counting=size.counting)

    def _by(self, name: str) -> tuple[float, ...]:
        dates = self.graph.scenario.questions[name].dates
        return tuple(decimal_year(np.array(dates, dtype="datetime64[s]")).tolist()) if dates else ()

    def _sizes(self, dims: Iterable[str]) -> tuple[int, ...]:
        return tuple(len(self.graph.scenario.choices[d].values) for d in dims)

    def _cells(self, dims: tuple[str, ...]) -> Iterator[tuple[Any, Combination]]:
        yield from zip(np.ndindex(*self._sizes(dims)), self.graph.combinations(dims), strict=True)

    def fill(self, world: World) -> None:
        """Reduce some blocks of worlds of the batch."""
        size = self.size
        worlds = min(world.draws, size.high - world.first)
        held = max(min(worlds, size.kept - world.first), 0)
        part = BlockSlice(world.first, worlds, slice(world.first - size.low, world.first - size.low + held))
        listed: list[ForecastError] = []

        def attempt(name: str, combination: Combination, make: Callable[[], T]) -> tuple[T, Mask] | None:
            try:
                made, faults = world.watched(make)
            except ForecastError as error:
                if name in self.graph.quantities:
                    listed.append(error)
                elif any(error is other for other in listed):  # the quantity's
                    self._unanswered.add((name, combination))
                    return None
                self._fail(name, combination, world.first, error)
                return None
            return made, self._record.add((name, combination), faults, world.first, worlds)

        levels: list[tuple[str, Combination, Array]] = []
        for name, node in self.graph.quantities.items():
            for index, combination in self._cells(node.dims):
                drawn = attempt(name, combination, partial(world.quantity, name, combination))
                if drawn is not None:
                    level, failing = drawn
                    level = level[: self._levels[name].shape[0], :worlds]
                    level = np.where(failing, np.nan, level) if failing.any() else level
                    self._levels[name][(slice(None), part.kept, *index)] = level[:, : part.held]
                    levels.append((name, combination, level))
        self.updates.fill(world, part, attempt)
        if size.counting:
            self._count_levels(levels, part)
        for name in self.graph.scenario.questions:
            for index, combination in self._cells(self._dims[name]):
                crossed = attempt(name, combination, partial(world.crossed, name, self._dims[name], combination))
                dates = np.full(worlds, np.nan)
                if crossed is not None:
                    found, failing = crossed
                    dates = np.where(failing, np.nan, found.date[:worlds])
                self._dates[name][(part.kept, *index)] = dates[: part.held]
                if self.size.counting:
                    weights = self.updates.of(self._dims[name], combination, part)
                    self._date_counts[name, combination].add(dates, weights)
                    self._pools.add(name, combination, dates, weights)
                    self._earliest.add(name, combination, dates)
        if self.size.counting:
            self._pools.reduce(world)
            self._earliest.reduce(self.updates, part)
        self._ranked.fill(world, part, attempt)
        self._figures.fill(world, part, attempt)
        self._binding.fill(world, part)

    def _count_levels(self, levels: Iterable[tuple[str, Combination, Array]], part: BlockSlice) -> None:
        for name, combination, level in levels:
            for along in self.graph.combinations(self._along[name]):
                if along[: len(combination)] == combination:
                    self._level_counts[name, along].add(level, self.updates.of(self._along[name], along, part))

    def _fail(self, name: str, combination: Combination, block: int, error: ForecastError) -> None:
        first = self._failed.get((name, combination), (block, error))
        self._failed[name, combination] = min(first, (block, error), key=lambda failure: failure[0])

    def holdings(self) -> list[WorldColumn]:
        """Return what is held of the worlds."""
        counts: list[ValueHistogram | DateHistogram] = [*self._level_counts.values(), *self._date_counts.values()]
        own = [KeptColumn(v, 1, complete=True) for v in self._levels.values()]
        own += [KeptColumn(v, complete=True) for v in self._dates.values()]
        parts = (self.updates, self._pools, self._earliest, self._ranked, self._figures, self._binding)
        return [
            *own,
            *(CountedColumn(each, complete=True) for each in counts),
            *(each for part in parts for each in part.holdings()),
        ]

    def notes(self) -> dict[str, Any]:
        """Return what failed, as plain data."""
        return {
            "failed": [[n, list(c), block, *_stated(e)] for (n, c), (block, e) in self._failed.items()],
            "unanswered": [[name, list(combination)] for name, combination in sorted(self._unanswered)],
            "record": [
                [n, list(c), t.worlds, t.first, t.block, *_stated(t.error)] for (n, c), t in self._record.tallies()
            ],
        }

    def note(self, notes: Mapping[str, Any]) -> None:
        """Take what failed from plain data, beside what is noted here."""
        for name, combination, block, *error in notes["failed"]:
            self._fail(name, tuple(combination), block, _error(*error))
        self._unanswered |= {(name, tuple(combination)) for name, combination in notes["unanswered"]}
        for name, combination, worlds, first, block, *error in notes["record"]:
            self._record.tally((name, tuple(combination)), FailureCounts(worlds, first, block, _error(*error)))

    def merge(self, other: Sampled) -> None:
        """Add the worlds of another batch."""
        first = other.size.low - self.size.low
        merge(self.holdings(), other.holdings(), slice(first, first + other.size.held))
        self.note(other.notes())

    def settle(self) -> None:
        """Take out, once all worlds are there, what failed in a block of them or in too many."""
        quantities = self.graph.quantities
        known = [error for (name, _), (_, error) in self._failed.items() if name in quantities]
        many = sorted(self._record.too_many(self.size.worlds), key=lambda failure: failure[0][0] not in quantities)
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
        for arrays, dims in ((self._levels, None), (self._dates, self._dims)):
            if name in arrays:
                along = self.graph.nodes[name].dims if dims is None else dims[name]
                place = {c: i for i, c in self._cells(along)}[combination]
                lead = (slice(None),) * (arrays[name].ndim - len(along))
                arrays[name][(*lead, *place)] = np.nan
        for (of, along), counts in self._level_counts.items():
            if of == name and along[: len(combination)] == combination:
                counts.clear()
        if (name, combination) in self._date_counts:
            self._date_counts[name, combination].clear()
        for part in (self._pools, self._earliest, self._ranked, self._figures, self.updates):
            part.blank(name, combination)

    def failing(self) -> list[dict[str, Any]]:
        """Say what fails in few worlds, and is answered by the others."""
        every = {**{name: node.dims for name, node in self.graph.quantities.items()}, **self._asked}
        asked = (
            ((name, combination), dict(zip(dims, combination, strict=True)))
            for name, dims in every.items()
            for combination in self.graph.combinations(dims)
            if (name, combination) not in self._failed
        )
        return list(self._record.rows(asked, self.years, self.size.worlds))

    def reasons(self) -> Iterator[str]:
        """Say what failed, where and why."""
        for (name, combination), (_, error) in self._failed.items():
            dims = self.graph.nodes[name].dims if name in self.graph.nodes else self._asked[name]
            chosen = ", ".join(f"{d} = {v}" for d, v in zip(dims, combination, strict=True))
            yield f"{name}{f' ({chosen})' if chosen else ''}: {error}"

    def raise_if_nothing_is_left(self) -> None:
        """Raise the failure of a quantity, or of an update, that failed in every combination."""
        for name, dims in {**{n: node.dims for n, node in self.graph.quantities.items()}, **self._weighed}.items():
            errors = [self._failed.get((name, c)) for c in self.graph.combinations(dims)]
            if all(errors) and errors[0] is not None:
                raise errors[0][1]

    @property
    def _asked(self) -> dict[str, tuple[str, ...]]:
        """The choices of every question."""
        return {**self._weighed, **self._dims, **self._ranked.dims, **self._figures.dims}

    @property
    def _weighed(self) -> dict[str, tuple[str, ...]]:
        """The choices of every update."""
        return {f"update.{name}": dims for name, dims in self.updates.dims.items()}

    def groups(self, time: NDArray[np.datetime64], seed: int) -> dict[str, xr.Dataset]:
        """Return what was asked for, by its place in the result."""
        out = {"/projection": self._projection(time), "/questions": self._questions()}
        pooled = self._pooled(seed)
        if pooled.data_vars:
            out["/pooled"] = pooled
        if self.size.counting:
            out["/levels"] = self._counted_levels(time)
            if self._earliest.asked:
                out["/first"] = self._earliest.dataset(self._coordinates)
        if self._ranked.asked:
            out["/rankings"] = self._ranked.dataset(self._coordinates)
        if self.updates.asked:
            out["/update"] = self.updates.dataset(self._coordinates)
        out |= {f"/values/{name}": data for name, data in self._figures.datasets(self._coordinates)}
        out |= {f"/limits/{name}": data for name, data in self._binding.datasets(time, self._coordinates)}
        return out

    def _projection(self, time: NDArray[np.datetime64]) -> xr.Dataset:
        """Return the levels of the worlds that are kept."""
        data = {}
        for name, node in self.graph.quantities.items():
            levels = self._levels[name]
            # what does not change is held once a world
            levels = np.broadcast_to(levels, (len(self.years), *levels.shape[1:])) if node.steady else levels
            data[name] = (("time", "draw", *node.dims), levels, self._about(name))
        return xr.Dataset(data, coords={"time": time, **self._coordinates(self.graph.scenario.choices)})

    def _about(self, name: str) -> dict[str, str]:
        node = self.graph.quantities[name]
        return {"units": node.unit, "kind": _KINDS[type(node.quantity)], **_flags(node.labels)}

    def _counted_levels(self, time: NDArray[np.datetime64]) -> xr.Dataset:
        """Return the quantiles of the levels of all worlds; of a regime the share of each label."""
        data: dict[str, Any] = {}
        for name, along in self._along.items():
            labels, steady = self.graph.nodes[name].labels, self.graph.nodes[name].steady
            if labels:
                table = np.empty((len(labels), *self._sizes(along)))
                for index, combination in self._cells(along):
                    table[(slice(None), *index)] = self._level_counts[name, combination].shares(range(len(labels)))
                data[name] = ((f"{name}_label", *along), table, self._about(name))
                continue
            levels = np.empty((len(QUANTILES), len(time), *self._sizes(along)))
            for index, combination in self._cells(along):
                rows = self._level_counts[name, combination].quantiles(list(QUANTILES.values()))
                levels[(slice(None), slice(None), *index)] = np.broadcast_to(rows, levels.shape[:2]) if steady else rows
            data[name] = (("quantile", "time", *along), levels, self._about(name))
        coords = {"quantile": list(QUANTILES.values()), "time": time}
        return xr.Dataset(data, coords={**coords, **self._coordinates(self.graph.scenario.choices)})

    def _coordinates(self, dims: Iterable[str]) -> dict[str, Any]:
        used = {d for node in self.graph.nodes.values() for d in node.dims}
        return {d: (d, list(self.graph.scenario.choices[d].values)) for d in dims if d in used}

    def _dated(self, name: str, index: Any, combination: Combination, weights: Array | None) -> Dates:
        """Return the dates of one question under one combination of choices."""
        if self.size.counting:
            return self._date_counts[name, combination]
        own = None if weights is None else weights[(slice(None), *index)]
        return DateDraws(self._dates[name][(slice(None), *index)], self.years[0], self._by(name), own)

    def _questions(self) -> xr.Dataset:
        """Return each question's quantiles, *already* and *never*, and the date of every world that is kept."""
        data: dict[str, Any] = {}
        dims_used = {d for dims in self._dims.values() for d in dims}
        for name, dims in self._dims.items():
            dates, weights = self._dates[name], self.updates.weights(dims)
            each = [self._dated(name, index, c, weights) for index, c in self._cells(dims)]
            title = self.graph.scenario.questions[name].title or self.graph.scenario.questions[name].when.text
            data |= answers(name, dims, self._sizes(dims), each, title)
            failing = np.isnan(dates) & ~np.isnan(data[f"{name}_never"][1])
            data[f"{name}_date"] = (("draw", *dims), from_decimal_year(np.where(np.isfinite(dates), dates, np.nan)))
            if failing.any():
                data[f"{name}_failing"] = (("draw", *dims), failing.astype(np.int8))
        coords = self._answer_coordinates(data)
        return xr.Dataset(
            data, coords={**coords, **self._coordinates(d for d in self.graph.scenario.choices if d in dims_used)}
        )

    def _answer_coordinates(self, data: dict[str, Any]) -> dict[str, Any]:
        questions = self.graph.scenario.questions.items()
        dated = {f"{n}_by_date": np.array(q.dates, dtype="datetime64[s]") for n, q in questions if f"{n}_by" in data}
        return {**({"quantile": list(QUANTILES.values())} if data else {}), **dated}

    def _pooled(self, seed: int) -> xr.Dataset:
        """Return the questions' dates over rivals that are pooled by their stated weights."""
        data: dict[str, Any] = {}
        for name, dims in self._pools.dims.items():
            weights = self.updates.weights(self._dims[name])
            drawn = self._dates[name], weights, float(self.years[0]), self._by(name), seed
            each = self._pools.counted(name) if self.size.counting else self._pools.drawn(name, *drawn)
            data |= answers(name, dims, self._sizes(dims), each)
        used = {d for dims in self._pools.dims.values() for d in dims}
        coords = self._coordinates(d for d in self.graph.scenario.choices if d in used)
        return xr.Dataset(data, coords={**self._answer_coordinates(data), **coords})


#: Errors that are made of a sentence alone.
_PLAIN = {each.__name__: each for each in (DataError, PluginContractError, ScenarioError, UnitError, UsageError)}


def _stated(error: ForecastError | None) -> tuple[str, str]:
    return type(error).__name__, str(error)


def _error(kind: str, text: str) -> ForecastError:
    return _PLAIN.get(kind, DataError)(text)


def _flags(labels: tuple[str, ...]) -> dict[str, str]:
    """Return what numbers stand for, in the words of the CF conventions; attributes hold text alone."""
    return {"flag_values": " ".join(map(str, range(len(labels)))), "flag_meanings": " ".join(labels)} if labels else {}
