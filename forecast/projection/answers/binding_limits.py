"""Which limits bind, when, and in how many worlds, kept under ``/limits/QUANTITY``."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.arrays import Array, BoolArray
from forecast.base.dates import from_decimal_year
from forecast.base.lazy import xr
from forecast.base.quantiles import QUANTILES
from forecast.errors import ForecastError
from forecast.projection.answers.crossing_dates import to_datetime64
from forecast.projection.failures import BlockSlice, failed_mask, is_too_many
from forecast.projection.likelihood_weights import Updates, weighted_share
from forecast.projection.streaming.columns import Column, Columns
from forecast.projection.streaming.histograms import DateHistogram

if TYPE_CHECKING:
    from forecast.projection.evaluate import Block
    from forecast.projection.plan import Plan


class Binding(Columns):
    """What every limit of a graph does to its quantity in the worlds of a batch.

    Parameters
    ----------
    plan : Plan
    years : ndarray
        The steps in decimal years.
    kept : int
        The number of worlds that are kept one by one.
    updates : Updates
    bounded : collection of str
        The quantities whose limits are asked for.
    rows : slice
        Those at which it is told whether a limit binds.
    counting : bool
        Worlds are counted.
    """

    def __init__(
        self,
        plan: Plan,
        years: Array,
        n_stored: int,
        updates: Updates,
        bounded: Collection[str],
        *,
        rows: slice,
        counting: bool,
    ) -> None:
        graph = plan.graph
        super().__init__(graph)
        self.updates, self._rows = updates, rows
        limits = {name: node.limits for name, node in graph.nodes.items() if node.limits and name in bounded}
        self._limits = [(name, part) for name, each in limits.items() for part in each.conditions]
        new_counts = partial(DateHistogram, years[0], years[-1], weighted=updates.weighing) if counting else None
        for of in self._limits:
            dims, count = graph.dims([of[0], *graph.weighed_by]), len(years[self._rows])
            self.ask(plan, of, dims, partial(plan.binding, *of, dims))
            # when it first binds; how often the quantity failed
            self.columns["date", of] = Column(graph, dims, n_stored, new_counts=new_counts, sums=1)
            # whether it binds, step by step: in the kept worlds, or how much of the counted ones
            kept_rows, sums = (0, count) if counting else (count, 0)
            self.columns["binds", of] = Column(graph, dims, n_stored, (kept_rows,), sums=sums, fill=False)

    def fill(self, block: Block, part: BlockSlice) -> None:
        """See what binds in some worlds; a quantity that fails is listed as such, and has no answer here."""
        for of in self._limits:
            when, bound = self["date", of], self["binds", of]
            for combination in when.index:
                try:
                    (binds, first), faults = block.watched(partial(block.take, self.steps[of, combination]))
                except ForecastError:
                    when.add(combination, 1)
                    continue
                failing = failed_mask(faults, part.worlds)
                binds = binds[self._rows, : part.worlds] & ~failing
                weights = self.updates.of(when.dims, combination, part)
                when.put(combination, np.where(failing, np.nan, first[: part.worlds]), part, weights)
                bound.put(combination, binds[: len(bound.kept)], part)
                if when.counts:
                    bound.add(combination, (binds if weights is None else binds * weights).sum(axis=1))

    def datasets(self, time: NDArray[np.datetime64]) -> Iterator[tuple[str, xr.Dataset]]:
        """Walk the limited quantities: the share of worlds in which each bound binds, and the dates of those kept."""
        for name in dict.fromkeys(name for name, _ in self._limits):
            data: dict[str, Any] = {}
            for of in (each for each in self._limits if each[0] == name):
                when, bound = self["date", of], of[1]
                shares, answered = self._counted(of) if when.counts else self._drawn(of)
                answered = answered & (when.sums[0] == 0)
                finite = np.where(np.isfinite(when.kept) & answered, when.kept, np.nan)
                data[bound] = (("time", *when.dims), np.where(answered, shares, np.nan), {"units": ""})
                data[f"{bound}_date"] = (("draw", *when.dims), from_decimal_year(finite))
                if when.counts:
                    data |= self._first(bound, when, answered)
            coords = {"quantile": list(QUANTILES)} if when.counts else {}
            yield name, xr.Dataset(data, coords={"time": time, **coords, **self.coordinates(when.dims)})

    def _first(self, bound: str, when: Column, answered: BoolArray) -> dict[str, Any]:
        """Return in how many of the counted worlds a bound binds at all, and when it first does in these."""
        levels, ever = np.full((len(QUANTILES), *when.sizes), np.nan), np.full(when.sizes, np.nan)
        for combination, index in when.index.items():
            if answered[index]:
                counts = when.counts[combination]
                ever[index] = 1 - counts.never
                levels[(slice(None), *index)] = counts.quantiles([q * (1 - counts.never) for q in QUANTILES])
        levels[:, ever == 0] = np.nan
        return {f"{bound}_first": (("quantile", *when.dims), to_datetime64(levels)), f"{bound}_ever": (when.dims, ever)}

    def _counted(self, of: tuple[str, str]) -> tuple[Array, BoolArray]:
        """Return the shares of the worlds in which a bound binds, (time, ...), and where there is an answer."""
        when = self["date", of]
        total = np.reshape([counts.total for counts in when.counts.values()], when.sizes)
        answered = np.reshape(
            [c.total > 0 and not is_too_many(c.failed, c.weight) for c in when.counts.values()], when.sizes
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            return self["binds", of].sums / total, answered

    def _drawn(self, of: tuple[str, str]) -> tuple[Array, BoolArray]:
        """Return the same from all worlds."""
        dates, weights = self["date", of].kept, self.updates.weights(self["date", of].dims)
        failing = np.isnan(dates)
        answered = np.asarray(~is_too_many(failing.sum(axis=0), len(dates)))
        failing &= answered
        return np.stack([weighted_share(row, weights, failing) for row in self["binds", of].kept]), answered
