"""The time horizon at 80 % success, from that at 50 %: of one model METR states both.

Among the models from 2023 on the one is 5.3 times the other, and neither with longer horizons nor with later dates does
the factor move: a model that gets better does longer tasks at either rate. So a world's horizon at 80 % is that at 50 %
over its factor, and no trend beside the chain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from forecast import ModelSpec
from forecast.base.arrays import accumulate
from forecast.errors import DataError
from forecast.models import Array, Description, FittedModel, Model, ModelRecord, Observations, OtherQuantity
from forecast.streams import student_t
from forecast_capability.quantities.index import HORIZON_TABLE, VERSION

if TYPE_CHECKING:
    from forecast.streams import Streams


__all__ = ["FIRST_SUCCESS_YEAR", "factors", "reliable"]

#: Models before it did tasks of seconds, of which METR's suite has few.
FIRST_SUCCESS_YEAR = 2023.0
#: Fewer models say nothing of how far one is from the mean.
FEWEST = 5


def factors(as_of: float | None = None, *, name: str = "factors") -> tuple[Array, Array]:
    """Return the horizons at 50 % of models that METR could measure, in minutes, and their factors over those at 80 %.

    Parameters
    ----------
    as_of : float, optional
        Later ones are left out.
    name : str
        Who asks, for errors.
    """
    from forecast import tables
    from forecast.tables import series

    rows = series.rows_as_of(HORIZON_TABLE, where={"version": VERSION}, as_of=as_of, name=name, date="release_date")
    half, most = rows.numeric("horizon"), rows.numeric("horizon_80")
    measured = (rows.column("censored") != "yes") & (
        tables.decimal_year(rows.column("release_date")) >= FIRST_SUCCESS_YEAR
    )
    measured &= np.isfinite(half) & np.isfinite(most)
    return half[measured], half[measured] / most[measured]


@dataclass(frozen=True, kw_only=True)
class _Reliable(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        from forecast.tables import series

        logs = np.log2(factors(as_of, name=self.name)[1])
        if len(logs) < FEWEST:
            raise DataError(
                f"{self.name}: expected five models with both horizons since {FIRST_SUCCESS_YEAR:g}, got {len(logs)}"
            )
        read = series.read_columns(
            HORIZON_TABLE, x="release_date", y="horizon_80", covariates={},
            where={"version": VERSION, "frontier": "yes"},
            as_of=as_of, name=self.name,
        )  # fmt: skip
        points = Observations(time=read.time, value=read.value, unit="min", names=read.names)
        return _Fitted(model=self, mean=float(logs.mean()), scatter=float(logs.std(ddof=1)), n=len(logs), points=points)


@dataclass(frozen=True, kw_only=True)
class _Fitted(FittedModel):
    model: _Reliable
    mean: float
    scatter: float
    n: int
    points: Observations = field(repr=False)

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        # of the model that leads: one number a world, or of each observation its own
        off = self.scatter * streams("one model").standard_normal((len(time) if observed else 1, streams.draws))
        z = student_t(streams.uniforms("parameters", 2), self.n - 1.0)[0]
        minutes = inputs["horizon"] / np.exp2(self.mean + self.scatter / np.sqrt(self.n) * z + off)
        return minutes if observed else np.maximum(accumulate(np.maximum, minutes), self.points.value.max())

    def observed(self) -> Observations:
        return self.points

    def describe(self) -> Description:
        return Description(
            summary=f"that at 50 % is {2**self.mean:.2g} times that at 80 %, and of single models a factor of "
            f"{2**self.scatter:.2f} more or less ({self.n} models since {FIRST_SUCCESS_YEAR:g}, both measured)",
            assumptions=("the factor stays as it is, beyond the horizons that were measured too",),
            sources=self.model.sources,
            facts={"factor": 2**self.mean, "scatter": 2**self.scatter, "n": float(self.n)},
        )


def reliable(name: str, spec: ModelSpec) -> Model:
    """Build the time horizon at 80 % success of the best model so far, from that at 50 %."""
    needs = {"horizon": OtherQuantity(unit="min", title="time horizon at 50 % success")}
    return _Reliable.from_spec(name, spec, inputs=needs)
