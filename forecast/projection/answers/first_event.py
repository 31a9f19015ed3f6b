"""Which of several questions' dates comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forecast.base.lazy import xr
from forecast.projection.failures import BlockSlice
from forecast.projection.streaming.columns import Column, Columns

if TYPE_CHECKING:
    from forecast.projection.likelihood_weights import Updates
    from forecast.scenarios.graph import ScenarioGraph
    from forecast.scenarios.quantities.node import Combination

Array = NDArray[np.float64]


__all__ = ["NONE_LABEL", "TOGETHER_LABEL", "Earliest", "earliest"]

#: What stands beside the names of the questions: several on the same first date, and none by the last step.
TOGETHER_LABEL, NONE_LABEL = " together", " none"


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


class Earliest(Columns):
    """Sums over all worlds of which question's date comes first.

    Parameters
    ----------
    graph : ScenarioGraph
    dates : Columns
        The dates of every question.
    counting : bool
        Worlds are counted; where they are kept, readers compare the dates themselves.
    """

    def __init__(self, graph: ScenarioGraph, dates: Columns, *, counting: bool) -> None:
        super().__init__(graph)
        self._dims = dates.dims
        self.events = {name: tuple(each.first) for name, each in graph.scenario.firsts.items()} if counting else {}
        for name, events in self.events.items():
            dims = tuple(d for d in graph.scenario.choices if any(d in self._dims[e] for e in events))
            self.columns[name] = Column(graph, dims, sums=len(events) + 3)
        self._drawn: dict[tuple[str, Combination], Array] = {}

    def add(self, name: str, combination: Combination, dates: Array) -> None:
        """Take the dates of some worlds of a question."""
        self._drawn[name, combination] = dates

    def reduce(self, updates: Updates, part: BlockSlice) -> None:
        """Count them."""
        for name, events in self.events.items():
            for combination in self[name].index:
                years = np.stack([self._drawn[each, self._own(name, each, combination)] for each in events])
                weights = updates.of(self[name].dims, combination, part)
                counts = np.where(np.isnan(years).any(axis=0), 0.0, 1.0 if weights is None else weights)
                holds = earliest(np.where(np.isnan(years), np.inf, years))
                self[name].add(combination, [*(holds * counts).sum(axis=1), counts.sum()])
        self._drawn = {}

    def _own(self, name: str, event: str, combination: Combination) -> Combination:
        chosen = dict(zip(self[name].dims, combination, strict=True))
        return tuple(chosen[d] for d in self._dims[event])

    def blank(self, name: str, combination: Combination) -> None:
        """Take out what depends on a question that failed under a combination of choices."""
        for of, events in self.events.items():
            for along in self[of].index if name in events else ():
                if self._own(of, name, along) == combination:
                    self[of].blank(along)

    def dataset(self) -> xr.Dataset:
        """Return the share of the worlds in which each comes first."""
        with np.errstate(invalid="ignore"):
            shares = {name: column.sums[:-1] / column.sums[-1] for name, column in self.columns.items()}
        data = {name: ((f"{name}_event", *self[name].dims), each) for name, each in shares.items()}
        coords = {f"{name}_event": [*events, TOGETHER_LABEL, NONE_LABEL] for name, events in self.events.items()}
        return xr.Dataset(data, coords={**coords, **self.coordinates()})
