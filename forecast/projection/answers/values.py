"""Values asked for at dates, and their growth, kept under ``/values/QUESTION``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.dates import decimal_year
from forecast.base.lazy import xr
from forecast.errors import DataError, ScenarioError, printable
from forecast.projection.crossing import QUANTILES
from forecast.projection.failures import Attempt, BlockSlice
from forecast.projection.paths.time_functions import ONE_YEAR, SAME_DATE
from forecast.projection.streaming.accumulators import CountedColumn, KeptColumn, WorldColumn
from forecast.projection.streaming.histograms import ValueHistogram
from forecast.projection.weights import Updates
from forecast.projection.world import World
from forecast.scenarios.graph import Combination, ScenarioGraph
from forecast.scenarios.questions import ValueQuestion

Array = NDArray[np.float64]


__all__ = ["ValueReducer"]


class ValueReducer:
    """What every world says to the questions for values.

    Raises
    ------
    ScenarioError
        For a date outside the projection.
    """

    def __init__(self, graph: ScenarioGraph, years: Array, held: int, updates: Updates, *, counting: bool) -> None:
        self.graph, self.asked, self.updates = graph, graph.scenario.figures, updates
        self.dims = {name: graph.dims([*figure.of.names, *graph.weighed_by]) for name, figure in self.asked.items()}
        sizes = {n: tuple(len(graph.scenario.choices[d].values) for d in dims) for n, dims in self.dims.items()}
        self._values = {n: np.full((held, len(f.dates), *sizes[n]), np.nan) for n, f in self.asked.items()}
        self._when = {n: decimal_year(np.array(f.dates, dtype="datetime64[s]")) for n, f in self.asked.items()}
        self._counts: dict[tuple[str, Combination], ValueHistogram] = {}
        if counting:
            for name, figure in self.asked.items():
                for combination in graph.combinations(self.dims[name]):
                    self._counts[name, combination] = ValueHistogram(len(figure.dates), weighted=bool(updates.asked))
        for name, when in self._when.items():
            for date, year in zip(self.asked[name].dates, when, strict=True):
                if not years[0] - SAME_DATE <= year <= years[-1] + SAME_DATE:
                    ends = f"expected dates from {years[0]:.10g} to {years[-1]:.10g}"
                    raise ScenarioError(f"{graph.scenario.where}: questions.{name}.dates: {ends}, got {date}")

    def fill(self, world: World, part: BlockSlice, attempt: Attempt) -> None:
        """Take the values of some worlds."""
        for name, figure in self.asked.items():
            for index, combination in self._cells(name):
                made = attempt(name, combination, partial(self._answer, world, name, figure, combination))
                if made is not None:
                    values, failing = made
                    values = np.where(failing, np.nan, values[:, : part.worlds])
                    self._values[name][(part.kept, slice(None), *index)] = values[:, : part.held].T
                    if self._counts:
                        weights = self.updates.of(self.dims[name], combination, part)
                        self._counts[name, combination].add(values, weights)

    def holdings(self) -> list[WorldColumn]:
        """Return what is held of the worlds."""
        return [
            *(KeptColumn(each) for each in self._values.values()),
            *(CountedColumn(each) for each in self._counts.values()),
        ]

    def blank(self, name: str, combination: Combination) -> None:
        """Take out what failed under a combination of choices."""
        if name in self.asked:
            place = {c: i for i, c in self._cells(name)}[combination]
            self._values[name][(slice(None), slice(None), *place)] = np.nan
        if (name, combination) in self._counts:
            self._counts[name, combination].clear()

    def _answer(self, world: World, name: str, figure: ValueQuestion, combination: Combination) -> Array:
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
        for name, figure in self.asked.items():
            unit = "1/year" if figure.growth else self.graph.nodes[figure.of.names[0]].unit
            dims = ("draw", "date", *self.dims[name])
            dates = np.array(figure.dates, dtype="datetime64[s]")
            about = {"units": unit, "long_name": printable(figure.title or figure.of.text, 500)}
            data = {"value": (dims, self._values[name], about)}
            coords: dict[str, Any] = {"date": dates, **coordinates(self.dims[name])}
            if self._counts:
                levels = np.empty((len(QUANTILES), *self._values[name].shape[1:]))
                for index, combination in self._cells(name):
                    rows = self._counts[name, combination].quantiles(list(QUANTILES.values()))
                    levels[(slice(None), slice(None), *index)] = rows
                data["quantiles"] = (("quantile", "date", *self.dims[name]), levels, about)
                coords["quantile"] = list(QUANTILES.values())
            yield name, xr.Dataset(data, coords=coords)
