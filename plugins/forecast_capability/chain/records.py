"""The largest run so far: what it takes, and for how long a record stands before another run beats it.

The estimate puts the compute of the frontier through the records, each on the day on which it was set. On any other day
the largest run is one that was done some time before. Records come at random, so many a year: how long the largest run
stood at a date, and how long it goes on to stand, are then both exponential, whatever the date.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from forecast.errors import EmptyDataError
from forecast.models import Array, Description, FittedModel, ModelRecord, Observations
from forecast.tables import series
from forecast_capability.chain.rows import FIRST_RECORD_YEAR
from forecast_capability.quantities.index import RUNS_TABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from forecast.streams import Streams


__all__ = ["age", "largest", "largest_runs"]


def largest_runs(name: str, as_of: float | None) -> Observations:
    """Return the training runs that were the largest so far when they were done.

    Parameters
    ----------
    name : str
        Who asks, for errors.
    as_of : float, optional
        Later ones are left out.

    Returns
    -------
    Observations
        In FLOP.
    """
    read = series.read_columns(
        RUNS_TABLE, x="date", y="training_compute", covariates={}, where={"record": "yes"}, as_of=as_of, name=name
    )
    return Observations(time=read.time, value=read.value, unit="FLOP", names=read.names)


@dataclass(frozen=True, kw_only=True)
class _Largest(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        return _FittedLargest(model=self, points=largest_runs(self.name, as_of))


@dataclass(frozen=True, kw_only=True)
class _FittedLargest(FittedModel):
    model: _Largest
    points: Observations = field(repr=False)

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        return np.full((len(time), streams.draws), self.points.value.max())

    def describe(self) -> Description:
        return Description(
            summary=f"{self.points.value.max():.3g} FLOP, by {self.points.names[int(self.points.value.argmax())]}",
            sources=self.model.sources,
        )


@dataclass(frozen=True, kw_only=True)
class _Age(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        from forecast_capability.chain.estimate import NOW

        dates = largest_runs(self.name, as_of).time
        counted = int((dates >= FIRST_RECORD_YEAR).sum())
        if not counted:
            raise EmptyDataError(f"{self.name}: no record of training compute is dated from {FIRST_RECORD_YEAR:g} on")
        years = (NOW if as_of is None else min(as_of, NOW)) - FIRST_RECORD_YEAR
        return _FittedAge(model=self, count=counted, years=years)


@dataclass(frozen=True, kw_only=True)
class _FittedAge(FittedModel):
    model: _Age
    count: int
    years: float

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        # how many come a year, given a count: a gamma, by Jeffreys' prior
        rate = streams("rate").standard_gamma(self.count + 0.5, streams.draws) / self.years
        stood = streams("age").standard_exponential(streams.draws) / rate
        return np.broadcast_to(stood, (len(time), streams.draws)).copy()

    def describe(self) -> Description:
        return Description(
            summary=f"records come at random, {self.count / self.years:.2g} a year "
            f"({self.count} since {FIRST_RECORD_YEAR:g})",
            assumptions=("a year brings as many records as it did, and each comes whenever it may",),
            sources=self.model.sources,
        )


#: Builds the model of the largest run so far, the same at all dates.
largest = _Largest.from_spec
#: Builds the model of how long the largest run has stood at a date: one number a world.
age = _Age.from_spec
