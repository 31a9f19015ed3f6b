"""Which limits bind, when, and in how many worlds: filled block by block, kept under ``/limits/QUANTITY``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.dates import from_decimal_year
from forecast.errors import ForecastError
from forecast.projection.failing import lost, too_many
from forecast.projection.weights import share
from forecast.projection.world import World
from forecast.scenarios.graph import Combination, Graph

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Binding"]


class Binding:
    """What every limit of a graph does to its quantity."""

    def __init__(self, graph: Graph, steps: int, draws: int) -> None:
        self.graph = graph
        self.asked = [(n, part) for n, node in graph.nodes.items() if node.limits for part in node.limits.conditions]
        self.dims = {name: graph.dims([name, *graph.weighed_by]) for name, _ in self.asked}
        sizes = {n: tuple(len(graph.scenario.choices[d].values) for d in dims) for n, dims in self.dims.items()}
        self._binds = {of: np.zeros((steps, draws, *sizes[of[0]]), dtype=bool) for of in self.asked}
        self._dates = {of: np.full((draws, *sizes[of[0]]), np.nan) for of in self.asked}
        self._lost: set[Any] = set()

    def fill(self, world: World, part: slice[Any, Any, Any]) -> None:
        """Compute one block; a quantity that fails is listed as such, and has no answer here."""
        for of in self.asked:
            for index, combination in self._cells(of):
                name, bound = of
                try:
                    own = world.restrict(name, self.dims[name], combination)
                    (binds, first), faults = world.watched(partial(world.binding, name, bound, own))
                except ForecastError:
                    self._lost.add((of, index))
                    continue
                failing = lost(faults, part.stop - part.start)
                self._binds[of][(slice(None), part, *index)] = binds[:, : len(failing)] & ~failing
                self._dates[of][(part, *index)] = np.where(failing, np.nan, first.date[: len(failing)])

    def _cells(self, of: tuple[str, str]) -> Iterator[tuple[Any, Combination]]:
        return zip(np.ndindex(*self._dates[of].shape[1:]), self.graph.combinations(self.dims[of[0]]), strict=True)

    def datasets(
        self,
        time: NDArray[np.datetime64],
        coordinates: Callable[[Iterable[str]], dict[str, Any]],
        weights: Callable[[tuple[str, ...]], Array | None],
    ) -> Iterator[tuple[str, xr.Dataset]]:
        """Walk the limited quantities: the share of worlds in which each bound binds, and the date of every draw."""
        import xarray as xr

        for name, dims in self.dims.items():
            data: dict[str, Any] = {}
            counts = weights(dims)
            for bound in (part for n, part in self.asked if n == name):
                dates, binds = self._dates[name, bound], self._binds[name, bound]
                failing = np.isnan(dates)
                answered = ~too_many(failing.sum(axis=0), len(dates))
                for of, index in self._lost:
                    if of == (name, bound):
                        answered[index] = False
                failing &= answered
                shares = np.stack([share(row, counts, failing) for row in binds])
                data[bound] = (("time", *dims), np.where(answered, shares, np.nan), {"units": ""})
                finite = np.where(np.isfinite(dates) & answered, dates, np.nan)
                data[f"{bound}_date"] = (("draw", *dims), from_decimal_year(finite))
            yield name, xr.Dataset(data, coords={"time": time, **coordinates(dims)})
