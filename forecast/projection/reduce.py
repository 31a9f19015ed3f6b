"""What a projection keeps: levels and crossing dates along every choice, filled block by block, and what failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from forecast.base.dates import from_decimal_year
from forecast.base.streams import BLOCK
from forecast.errors import ForecastError, printable
from forecast.projection.answers.binding import Binding
from forecast.projection.answers.figures import Figures
from forecast.projection.answers.ranking import Ranked
from forecast.projection.crossing import QUANTILES, Crossing, crossing, date_quantiles, weighted_quantiles
from forecast.projection.failing import Record
from forecast.projection.weights import Updates, share
from forecast.projection.world import World
from forecast.scenarios.graph import Combination, Graph
from forecast.scenarios.quantities.dynamics import Solved, Stock
from forecast.scenarios.quantities.functions import FunctionRef
from forecast.scenarios.quantities.inputs import Fitted, OwnDraws, Regime, Schedule
from forecast.scenarios.quantities.laws import LawRef
from forecast.scenarios.scenario import Cell, Expression, ModelRef, Prior, SeriesRef

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

T = TypeVar("T")

__all__ = ["Sampled"]

#: What stands behind a quantity, for those who read the results.
_KINDS = {
    ModelRef: "model", Expression: "expression", Prior: "prior", SeriesRef: "trend", Cell: "table", Regime: "regime",
    Schedule: "schedule", OwnDraws: "draws", Fitted: "fitted", Stock: "stock", Solved: "solved", LawRef: "law",
    FunctionRef: "function",
}  # fmt: skip


class Sampled:
    """The arrays that blocks fill, and what failed while they did."""

    def __init__(self, graph: Graph, years: Array, draws: int) -> None:
        self.graph, self.years, self.draws = graph, years, draws
        # By what failed and the combination: the block and the error. The first block's is kept, whichever thread
        # is first, so that the result is the same for any number of workers.
        self._failed: dict[tuple[str, Combination], tuple[int, ForecastError]] = {}
        self._unanswered: set[tuple[str, Combination]] = set()
        self._record = Record()
        self._lock = Lock()
        self._levels = {
            name: np.full((len(years), draws, *self._sizes(node.dims)), np.nan)
            for name, node in graph.quantities.items()
        }
        self._dims = {
            name: graph.dims([*question.when.names, *graph.weighed_by])
            for name, question in graph.scenario.questions.items()
        }
        self._dates = {name: np.full((draws, *self._sizes(dims)), np.nan) for name, dims in self._dims.items()}
        self._ranked = Ranked(graph, draws)
        self._figures = Figures(graph, years, draws)
        self._binding = Binding(graph, len(years), draws)
        self.updates = Updates(graph, draws)
        self._already = {name: np.zeros(dates.shape, dtype=bool) for name, dates in self._dates.items()}

    def _sizes(self, dims: Iterable[str]) -> tuple[int, ...]:
        return tuple(len(self.graph.scenario.choices[d].values) for d in dims)

    def _cells(self, dims: tuple[str, ...]) -> Iterator[tuple[Any, Combination]]:
        yield from zip(np.ndindex(*self._sizes(dims)), self.graph.combinations(dims), strict=True)

    def fill(self, world: World) -> None:
        """Compute one block and keep the part of it that was asked for."""
        low = world.block * BLOCK
        high = min(low + BLOCK, self.draws)
        part: slice[Any, Any, Any] = slice(low, high)
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
                self._fail(name, combination, world.block, error)
                return None
            return made, self._record.add((name, combination), faults, world.block, high - low)

        for name, node in self.graph.quantities.items():
            for index, combination in self._cells(node.dims):
                drawn = attempt(name, combination, partial(world.quantity, name, combination))
                if drawn is not None:
                    level, failing = drawn
                    kept = level[:, : high - low]
                    kept = np.where(failing, np.nan, kept) if failing.any() else kept
                    self._levels[name][(slice(None), part, *index)] = kept
        for name in self.graph.scenario.questions:
            for index, combination in self._cells(self._dims[name]):
                crossed = attempt(name, combination, partial(self._crossed, world, name, combination))
                if crossed is not None:
                    crossing, failing = crossed
                    self._dates[name][(part, *index)] = np.where(failing, np.nan, crossing.date[: high - low])
                    self._already[name][(part, *index)] = crossing.already[: high - low] & ~failing
        self._ranked.fill(world, part, attempt)
        self._figures.fill(world, part, attempt)
        self._binding.fill(world, part)
        self.updates.fill(world, part, attempt)

    def _crossed(self, world: World, name: str, combination: Combination) -> Crossing:
        when = self.graph.scenario.questions[name].when
        greater, lesser = world.sides(when, self._dims[name], combination, where=f"questions.{name}.when")
        return crossing(self.years, greater, lesser, strict=when.op in (">", "<"))

    def _fail(self, name: str, combination: Combination, block: int, error: ForecastError) -> None:
        with self._lock:
            first = self._failed.get((name, combination), (block, error))
            self._failed[name, combination] = min(first, (block, error), key=lambda failure: failure[0])

    def settle(self) -> None:
        """Take out, once all blocks are there, what failed in one of them or in too many worlds."""
        quantities = self.graph.quantities
        known = [error for (name, _), (_, error) in self._failed.items() if name in quantities]
        many = sorted(self._record.too_many(self.draws), key=lambda failure: failure[0][0] not in quantities)
        for (name, combination), block, error in many:
            if name in quantities:
                known.append(error)
            elif any(error is other for other in known):
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
        for part in (self._ranked, self._figures, self.updates):
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
        return list(self._record.rows(asked, self.years, self.draws))

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

    def rankings(self) -> xr.Dataset | None:
        """Return the rankings; None where none is asked for."""
        return self._ranked.dataset(self._coordinates, self.updates.weights) if self._ranked.asked else None

    def binding(self, time: NDArray[np.datetime64]) -> Iterator[tuple[str, xr.Dataset]]:
        """Walk the limited quantities, with where and when their limits bind."""
        return self._binding.datasets(time, self._coordinates, self.updates.weights)

    def values(self) -> Iterator[tuple[str, xr.Dataset]]:
        """Walk the questions for values at dates."""
        return self._figures.datasets(self._coordinates)

    def likelihoods(self) -> xr.Dataset | None:
        """Return by what worlds are weighed; None where they all count alike."""
        return self.updates.dataset(self._coordinates) if self.updates.asked else None

    def projection(self, time: NDArray[np.datetime64]) -> xr.Dataset:
        """Return the levels as a dataset."""
        import xarray as xr

        data = {}
        for name, node in self.graph.quantities.items():
            data[name] = (
                ("time", "draw", *node.dims),
                self._levels[name],
                {"units": node.unit, "kind": _KINDS[type(node.quantity)], **_flags(node.labels)},
            )
        return xr.Dataset(data, coords={"time": time, **self._coordinates(self.graph.scenario.choices)})

    def _coordinates(self, dims: Iterable[str]) -> dict[str, Any]:
        used = {d for node in self.graph.nodes.values() for d in node.dims}
        return {d: (d, list(self.graph.scenario.choices[d].values)) for d in dims if d in used}

    def questions(self) -> xr.Dataset:
        """Return each question's quantiles, *already* and *never*, and the date of every draw."""
        import xarray as xr

        data: dict[str, Any] = {}
        dims_used = {d for dims in self._dims.values() for d in dims}
        for name, dims in self._dims.items():
            dates = self._dates[name]
            weights = self.updates.weights(dims)
            if weights is None:
                quantiles = np.apply_along_axis(date_quantiles, 0, dates)
            else:
                quantiles = weighted_quantiles(dates, weights, list(QUANTILES.values()))
            answered = ~np.isnan(quantiles[0])
            failing = np.isnan(dates) & answered
            finite = np.where(np.isfinite(dates), dates, np.nan)
            title = self.graph.scenario.questions[name].title or self.graph.scenario.questions[name].when.text
            data[name] = (("quantile", *dims), _stamps(quantiles), {"long_name": printable(title, 500)})
            data[f"{name}_already"] = (dims, np.where(answered, share(self._already[name], weights, failing), np.nan))
            data[f"{name}_never"] = (dims, np.where(answered, share(np.isposinf(dates), weights, failing), np.nan))
            data[f"{name}_date"] = (("draw", *dims), _stamps(finite))
            if failing.any():
                data[f"{name}_failing"] = (("draw", *dims), failing.astype(np.int8))
        coords = {"quantile": list(QUANTILES.values())} if data else {}
        return xr.Dataset(
            data, coords={**coords, **self._coordinates(d for d in self.graph.scenario.choices if d in dims_used)}
        )


def _flags(labels: tuple[str, ...]) -> dict[str, str]:
    """Return what numbers stand for, in the words of the CF conventions; attributes hold text alone."""
    return {"flag_values": " ".join(map(str, range(len(labels)))), "flag_meanings": " ".join(labels)} if labels else {}


def _stamps(years: Array) -> NDArray[np.datetime64]:
    """Return dates; NaT where a date is infinite (never) or missing."""
    return from_decimal_year(np.where(np.isfinite(years), years, np.nan))
