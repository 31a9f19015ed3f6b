"""Which of several questions' dates comes first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.lazy import xr
from forecast.projection.failures import BlockSlice
from forecast.projection.streaming.accumulators import SummedColumn, WorldColumn

if TYPE_CHECKING:
    from forecast.projection.weights import Updates
    from forecast.scenarios.graph import Combination, ScenarioGraph

Array = NDArray[np.float64]


__all__ = ["NONE", "TOGETHER", "Earliest", "earliest"]

#: What stands beside the names of the questions: several on the same first date, and none by the last step.
TOGETHER, NONE = " together", " none"


def earliest(years: Array) -> NDArray[np.bool_]:
    """Tell which event comes alone before all others, whether several come together, and whether none comes.

    Parameters
    ----------
    years : ndarray
        (event, draw); infinite where never.

    Returns
    -------
    ndarray of bool
        (event + 2, draw).

    Examples
    --------
    >>> earliest(np.array([[2030.0, 2031.0, np.inf], [2031.0, 2031.0, np.inf]])).astype(int).tolist()
    [[1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    none = np.isposinf(years).all(axis=0)
    least = (years == years.min(axis=0)) & ~none
    alone = least.sum(axis=0) == 1
    return np.vstack([least & alone, ~alone & ~none, none])


class Earliest:
    """Counts of which question's date comes first.

    Parameters
    ----------
    graph : ScenarioGraph
    asked : mapping of str to tuple of str
        The choices of every question for a date.
    counting : bool
        Worlds are counted; where they are kept, readers compare the dates themselves.
    """

    def __init__(self, graph: ScenarioGraph, asked: Mapping[str, tuple[str, ...]], *, counting: bool) -> None:
        self.graph, self._of = graph, asked
        self.asked = {n: tuple(each.first) for n, each in graph.scenario.firsts.items()} if counting else {}
        self.dims = {
            name: tuple(d for d in graph.scenario.choices if any(d in asked[e] for e in events))
            for name, events in self.asked.items()
        }
        self._counts = {
            (name, c): np.zeros(len(events) + 3) for name, events in self.asked.items() for c in self._cells(name)
        }
        self._dates: dict[tuple[str, Combination], Array] = {}

    def _cells(self, name: str) -> Iterable[Combination]:
        return self.graph.combinations(self.dims[name])

    def add(self, name: str, combination: Combination, dates: Array) -> None:
        """Take the dates of some worlds of a question."""
        self._dates[name, combination] = dates

    def reduce(self, updates: Updates, part: BlockSlice) -> None:
        """Count them."""
        for name, events in self.asked.items():
            for combination in self._cells(name):
                years = np.stack([self._dates[each, self._own(name, each, combination)] for each in events])
                weights = updates.of(self.dims[name], combination, part)
                counts = np.ones(part.worlds) if weights is None else weights
                counts = np.where(np.isnan(years).any(axis=0), 0.0, counts)
                holds = earliest(np.where(np.isnan(years), np.inf, years))
                self._counts[name, combination] += [*(holds * counts).sum(axis=1), counts.sum()]
        self._dates = {}

    def _own(self, name: str, event: str, combination: Combination) -> Combination:
        chosen = dict(zip(self.dims[name], combination, strict=True))
        return tuple(chosen[d] for d in self._of[event])

    def holdings(self) -> list[WorldColumn]:
        """Return what is held of the worlds."""
        return [SummedColumn(each) for each in self._counts.values()]

    def blank(self, name: str, combination: Combination) -> None:
        """Take out what depends on a question that failed under a combination of choices."""
        for of, along in self._counts:
            if name in self.asked[of] and self._own(of, name, along) == combination:
                self._counts[of, along][...] = 0

    def dataset(self, coordinates: Callable[[Iterable[str]], dict[str, Any]]) -> xr.Dataset:
        """Return the share of the worlds in which each comes first."""
        data, used = {}, {d for dims in self.dims.values() for d in dims}
        for name, events in self.asked.items():
            rows = np.array([self._counts[name, c] for c in self._cells(name)])
            with np.errstate(invalid="ignore"):
                shares = (rows[:, :-1] / rows[:, -1:]).T
            sizes = [len(self.graph.scenario.choices[d].values) for d in self.dims[name]]
            data[name] = ((f"{name}_event", *self.dims[name]), shares.reshape(len(events) + 2, *sizes))
        coords = {f"{name}_event": [*events, TOGETHER, NONE] for name, events in self.asked.items()}
        return xr.Dataset(data, coords={**coords, **coordinates(d for d in self.graph.scenario.choices if d in used)})
