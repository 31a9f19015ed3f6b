"""Who is best, with which probability: the values of a choice compared draw by draw, in the same worlds.

A projection keeps the last level of every value of the choice, and whether it takes part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forecast import units
from forecast.base.lazy import xr
from forecast.errors import printable
from forecast.projection.crossing import QUANTILES
from forecast.projection.failures import Attempt, BlockSlice
from forecast.projection.streaming.accumulators import CountedColumn, KeptColumn, SummedColumn, WorldColumn
from forecast.projection.streaming.histograms import ValueHistogram
from forecast.projection.weights import Updates, value_quantiles, weighted_share
from forecast.projection.world import World
from forecast.scenarios.graph import Combination, ScenarioGraph

Array = NDArray[np.float64]


__all__ = ["Ranked", "bests", "first"]


class Ranked:
    """What the worlds of a batch say to every ranking of a graph.

    Parameters
    ----------
    graph : ScenarioGraph
    held : int
        How many worlds are kept one by one.
    updates : Updates
    counting : bool
        Worlds are counted.
    """

    def __init__(self, graph: ScenarioGraph, held: int, updates: Updates, *, counting: bool) -> None:
        self.graph, self.asked, self.updates = graph, graph.scenario.rankings, updates
        self.dims: Mapping[str, tuple[str, ...]] = {
            name: graph.dims([*r.rank.names, *(n for c in r.among for n in c.names), *graph.weighed_by])
            for name, r in self.asked.items()
        }
        self.units = {n: units.infer(r.rank, graph.unit_of()) for n, r in self.asked.items()}
        sizes = {n: tuple(len(graph.scenario.choices[d].values) for d in dims) for n, dims in self.dims.items()}
        self._value = {n: np.full((held, *size), np.nan) for n, size in sizes.items()}
        self._among = {n: np.zeros((held, *size), dtype=bool) for n, size in sizes.items()}
        self._counts: dict[tuple[str, Combination], ValueHistogram] = {}
        # how much is first, takes part, and does not fail, and what all of that counts beside others that fail
        self._sums: dict[str, Array] = {}
        if counting:
            self._sums = {n: np.zeros((4, *size)) for n, size in sizes.items()}
            for name, dims in self.dims.items():
                for combination in graph.combinations(dims):
                    self._counts[name, combination] = ValueHistogram(1, weighted=bool(updates.asked))

    def fill(self, world: World, part: BlockSlice, attempt: Attempt) -> None:
        """Compare in some worlds."""
        for name in self.asked:
            size = self._value[name].shape[1:]
            values, among = np.full((part.worlds, *size), np.nan), np.zeros((part.worlds, *size), dtype=bool)
            for index, combination in self._cells(name):
                made = attempt(name, combination, partial(self._compared, world, name, combination))
                if made is not None:
                    (value, takes), failing = made
                    values[(slice(None), *index)] = np.where(failing, np.nan, value[: part.worlds])
                    among[(slice(None), *index)] = takes[: part.worlds] & ~failing
            self._value[name][part.kept], self._among[name][part.kept] = values[: part.held], among[: part.held]
            if self._counts:
                self._count(name, part, values, among)

    def _count(self, name: str, part: BlockSlice, values: Array, among: NDArray[np.bool_]) -> None:
        dims, counts = self.dims[name], np.ones(values.shape)
        for index, combination in self._cells(name):
            weights = self.updates.of(dims, combination, part)
            counts[(slice(None), *index)] = 1.0 if weights is None else weights
            self._counts[name, combination].add(values[(slice(None), *index)][None], weights)
        axis = dims.index(self.asked[name].over) + 1
        best, left = bests(np.moveaxis(values, axis, -1), np.moveaxis(among, axis, -1), lowest=self._lowest(name))
        first = np.moveaxis(best, -1, axis) * counts
        compared = np.moveaxis(np.broadcast_to(left[..., None], best.shape), -1, axis) * counts
        answered = np.where(np.isnan(values), 0.0, counts)
        self._sums[name] += [each.sum(axis=0) for each in (first, among * counts, answered, compared)]

    def _lowest(self, name: str) -> bool:
        return self.asked[name].best == "lowest"

    def _compared(self, world: World, name: str, combination: Combination) -> tuple[Array, NDArray[np.bool_]]:
        """Return what is compared at the last step, and what takes part, (draw,)."""
        asked, dims, where = self.asked[name], self.dims[name], f"questions.{name}"
        value = world.formula(asked.rank, dims, combination, target=self.units[name], where=f"{where}.rank", step=-1)
        among = np.ones(world.draws, dtype=bool)
        for condition in asked.among:
            holds = world.formula(condition.formula, dims, combination, target="", where=f"{where}.subject_to", step=-1)
            among &= holds[0] != 0
        return value[0], among

    def holdings(self) -> list[WorldColumn]:
        """Return what is held of the worlds."""
        kept = [KeptColumn(each) for part in (self._value, self._among) for each in part.values()]
        sums = [SummedColumn(each) for each in self._sums.values()]
        return [*kept, *sums, *(CountedColumn(each) for each in self._counts.values())]

    def blank(self, name: str, combination: Combination) -> None:
        """Take out what failed under a combination of choices."""
        if name in self.asked:
            place = {c: i for i, c in self._cells(name)}[combination]
            self._value[name][(slice(None), *place)] = np.nan
            self._among[name][(slice(None), *place)] = False
            if self._counts:
                self._counts[name, combination].clear()
                self._sums[name][(slice(None), *place)] = 0.0

    def _cells(self, name: str) -> Iterator[tuple[Any, Combination]]:
        return zip(np.ndindex(*self._value[name].shape[1:]), self.graph.combinations(self.dims[name]), strict=True)

    def dataset(self, coordinates: Callable[[Iterable[str]], dict[str, Any]]) -> xr.Dataset:
        """Return each ranking's quantiles, how often each is first and takes part, and what every kept world says."""
        data: dict[str, Any] = {}
        for name, asked in self.asked.items():
            dims = self.dims[name]
            levels, best, among = self._counted(name) if self._counts else self._drawn(name)
            title = {"units": self.units[name], "long_name": printable(asked.title or asked.rank.text, 500)}
            data[name] = (("quantile", *dims), levels, title)
            data[f"{name}_first"] = (dims, best)
            data[f"{name}_among"] = (dims, among)
            data[f"{name}_value"] = (("draw", *dims), self._value[name], title)
            data[f"{name}_takes"] = (("draw", *dims), self._among[name].astype(np.int8))
        used = {d for dims in self.dims.values() for d in dims}
        coords = coordinates(d for d in self.graph.scenario.choices if d in used)
        return xr.Dataset(data, coords={"quantile": list(QUANTILES.values()), **coords})

    def _counted(self, name: str) -> tuple[Array, Array, Array]:
        """Return quantiles, shares of being first and shares of taking part, from the counts."""
        levels = np.empty((len(QUANTILES), *self._value[name].shape[1:]))
        for index, combination in self._cells(name):
            levels[(slice(None), *index)] = self._counts[name, combination].quantiles(list(QUANTILES.values()))[:, 0]
        first, among, answered, compared = self._sums[name]
        with np.errstate(invalid="ignore"):
            return levels, first / compared, among / answered

    def _drawn(self, name: str) -> tuple[Array, Array, Array]:
        """Return the same from all worlds."""
        dims, value, among = self.dims[name], self._value[name], self._among[name]
        axis, weights = dims.index(self.asked[name].over) + 1, self.updates.weights(dims)
        counts = np.ones(value.shape) if weights is None else weights * len(value)
        values, takes, counted = (np.moveaxis(each, axis, -1) for each in (value, among, counts))
        rows = []
        for place in np.ndindex(*values.shape[1:-1]):
            cell = (slice(None), *place)
            own: tuple[Array, NDArray[np.bool_]] = values[cell], takes[cell].astype(bool)
            rows.append(first(*own, lowest=self._lowest(name), counts=counted[cell]))
        best = np.moveaxis(np.asarray(rows).reshape(values.shape[1:]), -1, axis - 1)
        failing = np.isnan(value)
        return value_quantiles(value, weights), best, weighted_share(among, weights, failing & ~failing.all(axis=0))


def first(value: Array, among: NDArray[np.bool_], *, lowest: bool = False, counts: Array | float = 1.0) -> Array:
    """Return how often each value of a choice is the best of those that take part.

    Parameters
    ----------
    value : ndarray
        (draw, choice); NaN in every draw takes no part, and a draw in which another one is NaN is left out.
    among : ndarray of bool
        Which ones take part, (draw, choice).
    lowest : bool
        The lowest is the best.
    counts : ndarray
        What a draw counts for, 1 on average, (draw, choice).

    Returns
    -------
    ndarray
        Shares of the draws, (choice,). Those that tie share a draw; one in which none takes part counts for nobody.

    Examples
    --------
    >>> import numpy as np
    >>> value = np.array([[3.0, 2.0, 9.0], [1.0, 2.0, 9.0]])
    >>> first(value, np.array([[True, True, False], [True, True, False]])).tolist()
    [0.5, 0.5, 0.0]
    """
    best, left = bests(value, among, lowest=lowest)
    if left.all():
        return np.asarray((best * counts).mean(axis=0))
    kept = np.broadcast_to(counts, value.shape)[left]
    return np.asarray((best[left] * kept).sum(axis=0) / kept.sum(axis=0))


def bests(value: Array, among: NDArray[np.bool_], *, lowest: bool) -> tuple[Array, NDArray[np.bool_]]:
    """Return each one's share of being the best, (draw, ..., choice), and which draws can be compared, (draw, ...).

    See `first`. A draw that cannot be compared has no best.
    """
    takes = among & ~np.isnan(value)
    score = np.where(takes, -value if lowest else value, -np.inf)
    best = takes & (score == score.max(axis=-1, keepdims=True))
    ties = np.maximum(best.sum(axis=-1, keepdims=True), 1)
    failing = np.isnan(value)
    left = np.asarray(~(failing & ~failing.all(axis=0)).any(axis=-1))
    return np.where(left[..., None], best / ties, 0.0), left
