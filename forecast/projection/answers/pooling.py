"""Rivals pooled: in every world one of them holds, drawn with their stated weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.lazy import xr
from forecast.base.sobol import BLOCK
from forecast.base.streams import Streams, choice as chosen
from forecast.projection.answers.crossing_dates import DateDraws, Dates, answered
from forecast.projection.failures import too_many
from forecast.projection.streaming.accumulators import CountedColumn, SummedColumn, WorldColumn
from forecast.projection.streaming.histograms import DateHistogram

if TYPE_CHECKING:
    from forecast.projection.world import World
    from forecast.scenarios.graph import Combination, ScenarioGraph

Array = NDArray[np.float64]


__all__ = ["PooledDates", "pooled", "rival_of_draw"]


def rival_of_draw(
    choice: str, weights: Sequence[float], *, seed: int, worlds: int, first: int = 0
) -> NDArray[np.int64]:
    """Return which rival of a choice holds in each world, by its place, (world,).

    Fewer worlds are the first of more, and no other quantity's draws depend on it.

    Parameters
    ----------
    choice : str
    weights : sequence of float
    seed, worlds : int
    first : int
        The first of the worlds, at the beginning of a block.

    Examples
    --------
    >>> rival_of_draw("trend", [0.0, 1.0], seed=0, worlds=3).tolist()
    [1, 1, 1]
    """
    begin = first // BLOCK
    blocks = [
        Streams(seed, choice, block).uniforms("choice", 1)[0] for block in range(begin, begin + -(-worlds // BLOCK))
    ]
    return chosen(weights, np.concatenate(blocks)[:worlds])


def pooled(values: xr.DataArray, weights: Mapping[str, Sequence[float]], *, seed: int) -> xr.DataArray:
    """Return values along ``draw`` and choices, with each choice that has weights drawn in every world.

    Parameters
    ----------
    values : xarray.DataArray
        With the dimension ``draw``.
    weights : mapping of str to sequence of float
        Of each choice that is pooled, in the order of its values; one that `values` do not have is left out.
    seed : int
        Of the projection.
    """
    worlds = values.sizes["draw"]
    held: dict[str, Any] = {
        str(choice): xr.DataArray(rival_of_draw(choice, stated, seed=seed, worlds=worlds), dims="draw")
        for choice, stated in weights.items()
        if choice in values.dims
    }
    return values.isel(held).drop_vars([c for c in held if c in values.coords], errors="ignore") if held else values


class PooledDates:
    """The dates of questions over rivals, all of whose rivals have weights.

    Parameters
    ----------
    graph : ScenarioGraph
    asked : mapping of str to tuple of str
        The choices of every question.
    counting : bool
        Worlds are counted.
    empty : callable
        Makes counts for a question.

    Attributes
    ----------
    dims : dict of str to tuple of str
        The definitions that are left, of the questions that are pooled.
    """

    def __init__(
        self,
        graph: ScenarioGraph,
        asked: Mapping[str, tuple[str, ...]],
        counting: bool,
        empty: Callable[[str], DateHistogram],
    ) -> None:
        choices = graph.scenario.choices
        self.graph, self._asked, self._empty = graph, asked, empty
        self._rivals = {n: tuple(d for d in dims if choices[d].kind == "rival") for n, dims in asked.items()}
        self.dims = {
            name: tuple(d for d in asked[name] if d not in rivals)
            for name, rivals in self._rivals.items()
            if rivals and all(choices[d].weights is not None for d in rivals)
        }
        self._counts: dict[tuple[str, Combination], DateHistogram] = {}
        self._weight: dict[tuple[str, Combination], Array] = {}
        if counting:
            for name in self.dims:
                for combination in graph.combinations(asked[name]):
                    self._counts[name, combination] = empty(name)
                    self._weight[name, combination] = np.zeros(1)
        self._drawn: list[tuple[str, Combination, Array, Array | None]] = []

    def add(self, name: str, combination: Combination, dates: Array, weights: Array | None) -> None:
        """Take the dates of some worlds under one combination of choices."""
        if name in self.dims:
            self._drawn.append((name, combination, dates, weights))

    def reduce(self, world: World) -> None:
        """Count the dates of the worlds in which each combination of rivals holds."""
        held: dict[str, NDArray[np.int64]] = {}
        for name, combination, dates, weights in self._drawn:
            which = np.ones(len(dates), dtype=bool)
            for rival, value in zip(self._asked[name], combination, strict=True):
                if rival not in self._rivals[name]:
                    continue
                choice = self.graph.scenario.choices[rival]
                if rival not in held:
                    held[rival] = rival_of_draw(
                        rival, choice.weights or (), seed=world.seed, worlds=world.draws, first=world.first
                    )
                which &= held[rival][: len(dates)] == choice.values.index(value)
            # a world in which another one holds is skipped, and those that count keep their number
            places = np.flatnonzero(which)
            self._weight[name, combination] += float(len(dates) if weights is None else weights.sum())
            own = None if weights is None else weights[places]
            self._counts[name, combination].add(dates[places], own, numbers=places)
        self._drawn = []

    def blank(self, name: str, combination: Combination) -> None:
        """Take out what failed under a combination of choices."""
        if (name, combination) in self._counts:
            self._counts[name, combination].clear()

    def holdings(self) -> list[WorldColumn]:
        """Return what is held of the worlds."""
        return [
            *(SummedColumn(each) for each in self._weight.values()),
            *(CountedColumn(each) for each in self._counts.values()),
        ]

    def counted(self, name: str) -> list[Dates | None]:
        """Return the dates over all rivals, under each combination of the definitions."""
        out: list[Dates | None] = []
        weighted = self.graph.weighed_by or self.graph.scenario.updates
        for kept in self.graph.combinations(self.dims[name]):
            whole = self._empty(name)
            for combination in self._under(name, kept):
                # a likelihood weighs the worlds of each rival, and leaves the rivals' own weights as they are stated
                scale = float(1 / self._weight[name, combination][0]) if weighted else 1.0
                whole.merge(self._counts[name, combination], scale)
            out.append(whole if whole.total > 0 and not too_many(whole.failed, whole.weight) else None)
        return out

    def drawn(
        self, name: str, dates: Array, weights: Array | None, start: float, by: Sequence[float], seed: int
    ) -> list[Dates | None]:
        """Return the dates over all rivals from those of every world, (draw, choices)."""
        dims, rivals = self._asked[name], self._rivals[name]
        held = {
            rival: rival_of_draw(rival, self.graph.scenario.choices[rival].weights or (), seed=seed, worlds=len(dates))
            for rival in rivals
        }
        out: list[Dates | None] = []
        for kept in self.graph.combinations(self.dims[name]):
            values = dict(zip(self.dims[name], kept, strict=True))
            place = tuple(
                held[d] if d in held else self.graph.scenario.choices[d].values.index(values[d]) for d in dims
            )
            own = dates[(np.arange(len(dates)), *place)]
            counts = None if weights is None else weights[(np.arange(len(dates)), *place)]
            whole = DateDraws(own, start, by, None if counts is None else counts / counts.sum())
            out.append(whole if answered(own) else None)
        return out

    def _under(self, name: str, kept: Combination) -> list[Combination]:
        values = dict(zip(self.dims[name], kept, strict=True))
        dims = self._asked[name]
        return [
            combination
            for combination in self.graph.combinations(dims)
            if all(values.get(d, v) == v for d, v in zip(dims, combination, strict=True))
        ]
