"""Rivals pooled: in every world one of them holds, drawn with their stated weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forecast.base.streams import Streams, choice as chosen
from forecast.projection import blocks
from forecast.projection.answers.crossing_dates import DateDraws, Dates, has_answer
from forecast.projection.failures import is_too_many
from forecast.projection.streaming.columns import Column, Columns

if TYPE_CHECKING:
    from forecast.projection.evaluate import Block
    from forecast.projection.likelihood_weights import Updates
    from forecast.scenarios.graph import ScenarioGraph
    from forecast.scenarios.quantities.node import Combination

Array = NDArray[np.float64]


__all__ = ["PooledDates", "rival_of_draw"]


def rival_of_draw(
    stream: str, weights: Sequence[float], *, seed: int, worlds: int, first: int = 0
) -> NDArray[np.int64]:
    """Return which rival of a choice holds in each world, by its place, (world,).

    Fewer worlds are the first of more, and no other quantity's draws depend on it.

    Parameters
    ----------
    stream : str
        The name by which the choice draws.
    weights : sequence of float
    seed, worlds : int
    first : int
        The first of the worlds, at the beginning of a block.

    Examples
    --------
    >>> rival_of_draw("trend", [0.0, 1.0], seed=0, worlds=3).tolist()
    [1, 1, 1]
    """
    numbers = blocks.blocks_between(first, first + worlds)
    drawn = [blocks.node_streams(Streams, seed, stream, number).uniforms("choice", 1)[0] for number in numbers]
    return chosen(weights, np.concatenate(drawn)[:worlds])


class PooledDates(Columns):
    """The dates of questions over rivals, all of whose rivals have weights.

    Where worlds are counted, a column counts the dates of the worlds in which each combination of rivals holds, and
    adds up what all worlds count for.

    Parameters
    ----------
    graph : ScenarioGraph
    dates : Columns
        The dates of every question.

    Attributes
    ----------
    definitions : dict of str to tuple of str
        The choices that are left, of the questions that are pooled.
    """

    def __init__(self, graph: ScenarioGraph, dates: Columns) -> None:
        super().__init__(graph)
        choices, self._dates = graph.scenario.choices, dates
        self._rivals = {n: tuple(d for d in dims if choices[d].kind == "rival") for n, dims in dates.dims.items()}
        self.definitions = {
            name: tuple(d for d in dates[name].dims if d not in rivals)
            for name, rivals in self._rivals.items()
            if rivals and all(choices[d].weights is not None for d in rivals)
        }
        self.columns = {
            name: Column(graph, dates[name].dims, new_counts=dates[name].new_counts, sums=1)
            for name in self.definitions
            if dates[name].counts
        }
        self._drawn: list[tuple[str, Combination, Array, Array | None]] = []

    def add(self, name: str, combination: Combination, dates: Array, weights: Array | None) -> None:
        """Take the dates of some worlds under one combination of choices."""
        if name in self.columns:
            self._drawn.append((name, combination, dates, weights))

    def reduce(self, block: Block) -> None:
        """Count the dates of the worlds in which each combination of rivals holds."""
        rival_by_choice: dict[str, NDArray[np.int64]] = {}
        for name, combination, dates, weights in self._drawn:
            holds = np.ones(len(dates), dtype=bool)
            for choice, value in zip(self[name].dims, combination, strict=True):
                if choice in self._rivals[name]:
                    if choice not in rival_by_choice:
                        rival_by_choice[choice] = self._rival(choice, block.seed, block.draws, block.first)
                    holds &= rival_by_choice[choice][: len(dates)] == self._place(choice, value)
            # a world in which another one holds is skipped, and those that count keep their number
            places = np.flatnonzero(holds)
            self[name].add(combination, float(len(dates) if weights is None else weights.sum()))
            own = None if weights is None else weights[places]
            self[name].counts[combination].add(dates[places], own, numbers=places)
        self._drawn = []

    def _rival(self, choice: str, seed: int, worlds: int, first: int = 0) -> NDArray[np.int64]:
        weights = self.graph.scenario.choices[choice].weights or ()
        return rival_of_draw(self.graph.stream(choice), weights, seed=seed, worlds=worlds, first=first)

    def _place(self, choice: str, value: str) -> int:
        return self.graph.scenario.choices[choice].values.index(value)

    def dates(self, name: str, start: float, by: Sequence[float], updates: Updates, seed: int) -> list[Dates | None]:
        """Return the dates over all rivals, under each combination of the definitions."""
        if name in self.columns:
            return [self._counted(name, definition) for definition in self._defined(name)]
        dates = self._dates[name]
        weights = updates.weights(dates.dims)
        rivals = {choice: self._rival(choice, seed, len(dates.kept)) for choice in self._rivals[name]}
        out: list[Dates | None] = []
        for definition in self._defined(name):
            place = tuple(rivals[d] if d in rivals else self._place(d, definition[d]) for d in dates.dims)
            own = dates.kept[(np.arange(len(dates.kept)), *place)]
            # a rival of which no world is possible weighs nothing
            counts = None if weights is None else np.nan_to_num(weights[(np.arange(len(dates.kept)), *place)])
            total = 1.0 if counts is None else float(counts.sum())
            shares = None if counts is None or not total else counts / total
            out.append(DateDraws(own, start, by, shares) if total and has_answer(own) else None)
        return out

    def _defined(self, name: str) -> Iterator[dict[str, str]]:
        """Walk the combinations of the definitions."""
        for combination in self.graph.combinations(self.definitions[name]):
            yield dict(zip(self.definitions[name], combination, strict=True))

    def _counted(self, name: str, definition: Mapping[str, str]) -> Dates | None:
        """Add up the counts of the rivals under one combination of the definitions."""
        column, weighted = self[name], self.graph.weighed_by or self.graph.scenario.updates
        assert column.new_counts is not None  # as columns are made
        whole = column.new_counts()
        for combination, index in column.index.items():
            counted = float(column.sums[(0, *index)])
            if counted and all(definition.get(d, v) == v for d, v in zip(column.dims, combination, strict=True)):
                # a likelihood weighs the worlds of each rival, and leaves the rivals' own weights as they are stated
                whole.merge(column.counts[combination], 1 / counted if weighted else 1.0)
        return whole if whole.total > 0 and not is_too_many(whole.failed, whole.weight) else None
