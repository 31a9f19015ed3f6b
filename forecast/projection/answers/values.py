"""Values asked for at dates, and their growth, kept under ``/values/QUESTION``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.arrays import Array
from forecast.base.dates import decimal_year
from forecast.base.lazy import xr
from forecast.base.quantiles import QUANTILES
from forecast.errors import DataError, ScenarioError, printable
from forecast.projection.failures import Attempt, BlockSlice, infinite_error
from forecast.projection.likelihood_weights import Updates
from forecast.projection.paths.time_functions import ONE_YEAR, SAME_DATE
from forecast.projection.streaming.columns import Column, Columns, dataset
from forecast.projection.streaming.histograms import ValueHistogram
from forecast.scenarios.quantities.node import Combination
from forecast.scenarios.questions import ValueQuestion

if TYPE_CHECKING:
    from forecast.projection.evaluate import Block
    from forecast.projection.plan import Plan


class ValueReducer(Columns):
    """What every world says to the questions for values.

    Raises
    ------
    ScenarioError
        For a date outside the projection.
    """

    def __init__(
        self,
        plan: Plan,
        years: Array,
        n_stored: int,
        updates: Updates,
        under: Mapping[str, Mapping[str, str]],
        *,
        counting: bool,
    ) -> None:
        graph = plan.graph
        super().__init__(graph)
        self.questions, self.updates = graph.scenario.figures, updates
        self._when = {n: decimal_year(np.array(q.dates, dtype="datetime64[s]")) for n, q in self.questions.items()}
        for name, question in self.questions.items():
            dims, rows = graph.dims([*question.of.names, *graph.weighed_by]), len(question.dates)
            new_counts = partial(ValueHistogram, rows, weighted=updates.weighing) if counting else None
            self.columns[name] = Column(graph, dims, n_stored, (rows,), new_counts=new_counts)
            self.ask(plan, name, dims, partial(self._lowered, plan, name, dims, 0.0), under.get(name, {}))
            if question.growth:
                before = partial(self._lowered, plan, name, dims, ONE_YEAR)
                self.ask(plan, (name, "before"), dims, before, under.get(name, {}))
            for date, year in zip(question.dates, self._when[name], strict=True):
                if not years[0] - SAME_DATE <= year <= years[-1] + SAME_DATE:
                    ends = f"expected dates from {years[0]:.10g} to {years[-1]:.10g}"
                    raise ScenarioError(f"{graph.scenario.where}: questions.{name}.dates: {ends}, got {date}")

    def _lowered(self, plan: Plan, name: str, dims: tuple[str, ...], before: float, combination: Combination) -> int:
        """Return the step of the quantity at the dates of a question, or some years before."""
        (of,) = self.questions[name].of.names
        return plan.at(of, plan.restrict(of, dims, combination), self._when[name] - before)

    def fill(self, block: Block, part: BlockSlice, attempt: Attempt) -> None:
        """Take the values of some worlds."""
        for name, question in self.questions.items():
            for combination in (each for each in self[name].index if (name, each) in self.steps):
                made = attempt(name, combination, partial(self._answer, block, name, question, combination))
                if made is not None:
                    values = np.where(made[1], np.nan, made[0][:, : part.worlds])
                    self[name].put(combination, values, part, self.updates.of(self[name].dims, combination, part))

    def _answer(self, block: Block, name: str, question: ValueQuestion, combination: Combination) -> Array:
        """Return the values of one block, (date, draw)."""
        now: Array = block.take(self.steps[name, combination])
        steps = np.searchsorted(block.time, self._when[name] - SAME_DATE)
        if not question.growth:
            where = f"questions.{name}.value: '{printable(question.of.text, 80)}'"
            finite = np.where(np.isinf(now), np.nan, now)
            return block.numbers(finite, partial(infinite_error, where, now.size), steps=steps)
        before = block.take(self.steps[(name, "before"), combination])
        with np.errstate(divide="ignore", invalid="ignore"):
            gained = (np.log(now) - np.log(before)) / ONE_YEAR

        def no_growth(lost: int) -> DataError:
            what = f"'{printable(question.of.text, 80)}' has no growth in {lost} of {gained.size} values"
            return DataError(f"questions.{name}.growth: {what}: it is not above 0 and finite")

        return block.numbers(np.where(np.isfinite(gained), gained, np.nan), no_growth, steps=steps)

    def datasets(self) -> Iterator[tuple[str, xr.Dataset]]:
        """Walk the questions, with the value of every draw at every date."""
        for name, question in self.questions.items():
            own, unit = self[name], "1/year" if question.growth else self.graph.nodes[question.of.names[0]].unit
            about = {"units": unit, "long_name": printable(question.title or question.of.text, 500)}
            data = {"value": (("draw", "date", *own.dims), own.kept.swapaxes(0, 1), about)}
            dates = np.array(question.dates, dtype="datetime64[s]")
            coords: dict[str, Any] = {"date": dates, **self.coordinates(own.dims)}
            if own.counts:
                data["quantiles"] = (("quantile", "date", *own.dims), own.quantiles(), about)
                coords["quantile"] = list(QUANTILES)
            yield name, dataset(data, coords)
