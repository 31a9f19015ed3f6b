"""Who is best, with which probability: the values of a choice compared draw by draw, in the same worlds.

A projection keeps the last level of every value of the choice, and whether it takes part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import units
from forecast.errors import printable
from forecast.projection.crossing import QUANTILES
from forecast.projection.failing import Attempt
from forecast.projection.weights import level_quantiles, share
from forecast.projection.world import World
from forecast.scenarios.graph import Combination, Graph

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Ranked", "first"]


class Ranked:
    """The arrays that blocks fill for every ranking of a graph."""

    def __init__(self, graph: Graph, draws: int) -> None:
        self.graph, self.asked = graph, graph.scenario.rankings
        self.dims: Mapping[str, tuple[str, ...]] = {
            name: graph.dims([*r.rank.names, *(n for c in r.among for n in c.names), *graph.weighed_by])
            for name, r in self.asked.items()
        }
        self.units = {n: units.infer(r.rank, graph.unit_of()) for n, r in self.asked.items()}
        sizes = {n: tuple(len(graph.scenario.choices[d].values) for d in dims) for n, dims in self.dims.items()}
        self._value = {n: np.full((draws, *size), np.nan) for n, size in sizes.items()}
        self._among = {n: np.zeros((draws, *size), dtype=bool) for n, size in sizes.items()}

    def fill(self, world: World, part: slice[Any, Any, Any], attempt: Attempt) -> None:
        """Compute one block; `part` is where it goes."""
        for name in self.asked:
            for index, combination in self._cells(name):
                made = attempt(name, combination, partial(self._compared, world, name, combination))
                if made is not None:
                    (value, among), failing = made
                    self._value[name][(part, *index)] = np.where(failing, np.nan, value[: len(failing)])
                    self._among[name][(part, *index)] = among[: len(failing)] & ~failing

    def _compared(self, world: World, name: str, combination: Combination) -> tuple[Array, NDArray[np.bool_]]:
        """Return what is compared at the last step, and what takes part, (draw,)."""
        asked, dims, where = self.asked[name], self.dims[name], f"questions.{name}"
        value = world.formula(asked.rank, dims, combination, target=self.units[name], where=f"{where}.rank", step=-1)
        among = np.ones(world.draws, dtype=bool)
        for condition in asked.among:
            holds = world.formula(condition.formula, dims, combination, target="", where=f"{where}.among", step=-1)
            among &= holds[0] != 0
        return value[0], among

    def blank(self, name: str, combination: Combination) -> None:
        """Take out what failed under a combination of choices."""
        if name in self.asked:
            place = {c: i for i, c in self._cells(name)}[combination]
            self._value[name][(slice(None), *place)] = np.nan
            self._among[name][(slice(None), *place)] = False

    def _cells(self, name: str) -> Iterator[tuple[Any, Combination]]:
        return zip(np.ndindex(*self._value[name].shape[1:]), self.graph.combinations(self.dims[name]), strict=True)

    def dataset(
        self,
        coordinates: Callable[[Iterable[str]], dict[str, Any]],
        weights_along: Callable[[tuple[str, ...]], Array | None],
    ) -> xr.Dataset:
        """Return each ranking's quantiles, how often each is first, and how often it takes part."""
        import xarray as xr

        data: dict[str, Any] = {}
        for name, asked in self.asked.items():
            dims, value, among = self.dims[name], self._value[name], self._among[name]
            axis = dims.index(asked.over) + 1
            flat = np.moveaxis(value, axis, -1).reshape(-1, value.shape[axis])
            takes = np.moveaxis(among, axis, -1).reshape(flat.shape)
            weights = weights_along(dims)
            counts = np.ones(value.shape) if weights is None else weights * len(value)
            counts = np.moveaxis(counts, axis, -1).reshape(flat.shape)
            lowest = asked.best == "lowest"
            rows = [
                first(v, t, lowest=lowest, counts=c)
                for v, t, c in zip(*(_worlds(each, len(value)) for each in (flat, takes, counts)), strict=True)
            ]
            others = tuple(n for i, n in enumerate(value.shape[1:], 1) if i != axis)
            best = np.moveaxis(np.asarray(rows).reshape(*others, value.shape[axis]), -1, axis - 1)
            levels = level_quantiles(value, weights)
            title = {"units": self.units[name], "long_name": printable(asked.title or asked.rank.text, 500)}
            data[name] = (("quantile", *dims), levels, title)
            data[f"{name}_first"] = (dims, best)
            failing = np.isnan(value)
            data[f"{name}_among"] = (dims, share(among, weights, failing & ~failing.all(axis=0)))
        used = {d for dims in self.dims.values() for d in dims}
        coords = coordinates(d for d in self.graph.scenario.choices if d in used)
        return xr.Dataset(data, coords={"quantile": list(QUANTILES.values()), **coords})


def _worlds(flat: Array, draws: int) -> Iterable[Any]:
    """Cut (draw x others, choice) into one (draw, choice) for each combination of the other choices."""
    cube = flat.reshape(draws, -1, flat.shape[1])
    return (cube[:, i] for i in range(cube.shape[1]))


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
    takes = among & ~np.isnan(value)
    score = np.where(takes, -value if lowest else value, -np.inf)
    best = takes & (score == score.max(axis=1, keepdims=True))
    ties = np.maximum(best.sum(axis=1, keepdims=True), 1)
    failing = np.isnan(value)
    left = ~(failing & ~failing.all(axis=0)).any(axis=1)
    if left.all():
        return np.asarray((best / ties * counts).mean(axis=0))
    kept = np.broadcast_to(counts, value.shape)[left]
    return np.asarray((best[left] / ties[left] * kept).sum(axis=0) / kept.sum(axis=0))
