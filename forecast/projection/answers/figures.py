"""Values asked for at dates, and their growth: filled block by block, kept under ``/values/QUESTION``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.dates import decimal_year
from forecast.errors import DataError, ScenarioError, printable
from forecast.projection.failing import Attempt
from forecast.projection.paths.histories import ONE_YEAR, SAME_DATE
from forecast.projection.world import World
from forecast.scenarios.graph import Combination, Graph
from forecast.scenarios.questions import Figure

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Figures"]


class Figures:
    """What every world says to the questions for values.

    Raises
    ------
    ScenarioError
        For a date outside the projection.
    """

    def __init__(self, graph: Graph, years: Array, draws: int) -> None:
        self.graph, self.asked = graph, graph.scenario.figures
        self.dims = {name: graph.dims([*figure.of.names, *graph.weighed_by]) for name, figure in self.asked.items()}
        sizes = {n: tuple(len(graph.scenario.choices[d].values) for d in dims) for n, dims in self.dims.items()}
        self._values = {n: np.full((draws, len(f.dates), *sizes[n]), np.nan) for n, f in self.asked.items()}
        self._when = {n: decimal_year(np.array(f.dates, dtype="datetime64[s]")) for n, f in self.asked.items()}
        for name, when in self._when.items():
            for date, year in zip(self.asked[name].dates, when, strict=True):
                if not years[0] - SAME_DATE <= year <= years[-1] + SAME_DATE:
                    ends = f"expected dates from {years[0]:.10g} to {years[-1]:.10g}"
                    raise ScenarioError(f"{graph.scenario.where}: questions.{name}.dates: {ends}, got {date}")

    def fill(self, world: World, part: slice[Any, Any, Any], attempt: Attempt) -> None:
        """Compute one block; `part` is where it goes."""
        for name, figure in self.asked.items():
            for index, combination in self._cells(name):
                made = attempt(name, combination, partial(self._answer, world, name, figure, combination))
                if made is not None:
                    values, failing = made
                    kept = np.where(failing, np.nan, values[:, : len(failing)])
                    self._values[name][(part, slice(None), *index)] = kept.T

    def blank(self, name: str, combination: Combination) -> None:
        """Take out what failed under a combination of choices."""
        if name in self.asked:
            place = {c: i for i, c in self._cells(name)}[combination]
            self._values[name][(slice(None), slice(None), *place)] = np.nan

    def _answer(self, world: World, name: str, figure: Figure, combination: Combination) -> Array:
        """Return the values of one block, (date, draw)."""
        (of,) = figure.of.names
        own = world.restrict(of, self.dims[name], combination)
        now = world.at(of, own, self._when[name])
        if not figure.growth:
            return now
        with np.errstate(divide="ignore", invalid="ignore"):
            gained = (np.log(now) - np.log(world.at(of, own, self._when[name] - ONE_YEAR))) / ONE_YEAR

        def no_growth(lost: int) -> DataError:
            what = f"'{printable(figure.of.text, 80)}' has no growth in {lost} of {gained.size} values"
            return DataError(f"questions.{name}.growth: {what}: it is not above 0 and finite")

        steps = np.searchsorted(world.time, self._when[name] - SAME_DATE)
        return world.numbers(np.where(np.isfinite(gained), gained, np.nan), no_growth, steps=steps)

    def _cells(self, name: str) -> Iterator[tuple[Any, Combination]]:
        return zip(np.ndindex(*self._values[name].shape[2:]), self.graph.combinations(self.dims[name]), strict=True)

    def datasets(self, coordinates: Callable[[Iterable[str]], dict[str, Any]]) -> Iterator[tuple[str, xr.Dataset]]:
        """Walk the questions, with the value of every draw at every date."""
        import xarray as xr

        for name, figure in self.asked.items():
            unit = "1/year" if figure.growth else self.graph.nodes[figure.of.names[0]].unit
            dims = ("draw", "date", *self.dims[name])
            dates = np.array(figure.dates, dtype="datetime64[s]")
            about = {"units": unit, "long_name": printable(figure.title or figure.of.text, 500)}
            data = {"value": (dims, self._values[name], about)}
            yield name, xr.Dataset(data, coords={"date": dates, **coordinates(self.dims[name])})
