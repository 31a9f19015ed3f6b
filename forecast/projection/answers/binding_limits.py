"""Which limits bind, when, and in how many worlds, kept under ``/limits/QUANTITY``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.dates import from_decimal_year
from forecast.base.lazy import xr
from forecast.errors import ForecastError
from forecast.projection.answers.crossing_dates import stamps
from forecast.projection.crossing import QUANTILES
from forecast.projection.failures import BlockSlice, lost, too_many
from forecast.projection.streaming.accumulators import (
    CountedColumn,
    KeptColumn,
    SummedColumn,
    WorldColumn,
    side_by_side,
)
from forecast.projection.streaming.histograms import DateHistogram
from forecast.projection.weights import Updates, weighted_share
from forecast.projection.world import World
from forecast.scenarios.graph import Combination, ScenarioGraph

Array = NDArray[np.float64]


__all__ = ["Binding"]


class Binding:
    """What every limit of a graph does to its quantity in the worlds of a batch.

    Parameters
    ----------
    graph : ScenarioGraph
    years : ndarray
        The steps in decimal years.
    held : int
        How many worlds are kept one by one.
    updates : Updates
    counting : bool
        Worlds are counted.
    """

    def __init__(self, graph: ScenarioGraph, years: Array, held: int, updates: Updates, *, counting: bool) -> None:
        self.graph, self.updates = graph, updates
        self.asked = [(n, part) for n, node in graph.nodes.items() if node.limits for part in node.limits.conditions]
        self.dims = {name: graph.dims([name, *graph.weighed_by]) for name, _ in self.asked}
        sizes = {n: tuple(len(graph.scenario.choices[d].values) for d in dims) for n, dims in self.dims.items()}
        steps = 0 if counting else len(years)
        self._binds = {of: np.zeros((steps, held, *sizes[of[0]]), dtype=bool) for of in self.asked}
        self._dates = {of: side_by_side((held,), sizes[of[0]]) for of in self.asked}
        # how much is bound, step by step, and when it first is
        self._counts = {
            (of, c): (np.zeros(len(years)), DateHistogram(years[0], years[-1], weighted=bool(updates.asked)))
            for of in (self.asked if counting else ())
            for c in graph.combinations(self.dims[of[0]])
        }
        # how often the quantity failed
        self._lost = {of: np.zeros(sizes[of[0]], dtype=np.int64) for of in self.asked}

    def fill(self, world: World, part: BlockSlice) -> None:
        """See what binds in some worlds; a quantity that fails is listed as such, and has no answer here."""
        for of in self.asked:
            for index, combination in self._cells(of):
                name, bound = of
                try:
                    own = world.restrict(name, self.dims[name], combination)
                    (binds, first), faults = world.watched(partial(world.binding, name, bound, own))
                except ForecastError:
                    self._lost[of][index] += 1
                    continue
                failing = lost(faults, part.worlds)
                binds, dates = binds[:, : part.worlds] & ~failing, np.where(failing, np.nan, first.date[: part.worlds])
                self._dates[of][(part.kept, *index)] = dates[: part.held]
                if (of, combination) in self._counts:
                    weights = self.updates.of(self.dims[name], combination, part)
                    bound_so_far, counts = self._counts[of, combination]
                    bound_so_far += binds.sum(axis=1) if weights is None else (binds * weights).sum(axis=1)
                    counts.add(dates, weights)
                else:
                    self._binds[of][(slice(None), part.kept, *index)] = binds[:, : part.held]

    def holdings(self) -> list[WorldColumn]:
        """Return what is held of the worlds."""
        kept = [
            *(KeptColumn(each, 1) for each in self._binds.values()),
            *(KeptColumn(each) for each in self._dates.values()),
        ]
        sums = [SummedColumn(each) for each in (*self._lost.values(), *(bound for bound, _ in self._counts.values()))]
        return [*kept, *sums, *(CountedColumn(each) for _, each in self._counts.values())]

    def _cells(self, of: tuple[str, str]) -> Iterator[tuple[Any, Combination]]:
        return zip(np.ndindex(*self._dates[of].shape[1:]), self.graph.combinations(self.dims[of[0]]), strict=True)

    def datasets(
        self, time: NDArray[np.datetime64], coordinates: Callable[[Iterable[str]], dict[str, Any]]
    ) -> Iterator[tuple[str, xr.Dataset]]:
        """Walk the limited quantities: the share of worlds in which each bound binds, and the dates of those kept."""
        for name, dims in self.dims.items():
            data: dict[str, Any] = {}
            for of in (each for each in self.asked if each[0] == name):
                _, bound = of
                shares, answered = self._counted(of) if self._counts else self._drawn(of)
                answered = answered & (self._lost[of] == 0)
                dates = self._dates[of]
                data[bound] = (("time", *dims), np.where(answered, shares, np.nan), {"units": ""})
                finite = np.where(np.isfinite(dates) & answered, dates, np.nan)
                data[f"{bound}_date"] = (("draw", *dims), from_decimal_year(finite))
                if self._counts:
                    data |= self._first(of, answered)
            coords = {"quantile": list(QUANTILES.values())} if self._counts else {}
            yield name, xr.Dataset(data, coords={"time": time, **coords, **coordinates(dims)})

    def _first(self, of: tuple[str, str], answered: NDArray[np.bool_]) -> dict[str, Any]:
        """Return in how many of the counted worlds a bound binds at all, and when it first does in these."""
        (name, bound), sizes = of, self._dates[of].shape[1:]
        levels, ever = np.full((len(QUANTILES), *sizes), np.nan), np.full(sizes, np.nan)
        for index, combination in self._cells(of):
            _, counts = self._counts[of, combination]
            if answered[index]:
                ever[index] = 1 - counts.never
                levels[(slice(None), *index)] = counts.quantiles([q * (1 - counts.never) for q in QUANTILES.values()])
        levels[:, ever == 0] = np.nan
        dims = self.dims[name]
        return {
            f"{bound}_first": (("quantile", *dims), stamps(levels)),
            f"{bound}_ever": (dims, ever),
        }

    def _counted(self, of: tuple[str, str]) -> tuple[Array, NDArray[np.bool_]]:
        """Return the shares of the worlds in which a bound binds, (time, ...), and where there is an answer."""
        sizes = self._dates[of].shape[1:]
        answered, columns = np.zeros(sizes, dtype=bool), []
        for index, combination in self._cells(of):
            bound, counts = self._counts[of, combination]
            answered[index] = counts.total > 0 and not too_many(counts.failed, counts.weight)
            columns.append(bound / counts.total if counts.total > 0 else np.full(len(bound), np.nan))
        return np.array(columns).T.reshape(-1, *sizes), answered

    def _drawn(self, of: tuple[str, str]) -> tuple[Array, NDArray[np.bool_]]:
        """Return the same from all worlds."""
        dates, binds, weights = self._dates[of], self._binds[of], self.updates.weights(self.dims[of[0]])
        failing = np.isnan(dates)
        answered = np.asarray(~too_many(failing.sum(axis=0), len(dates)))
        failing &= answered
        return np.stack([weighted_share(row, weights, failing) for row in binds]), answered
