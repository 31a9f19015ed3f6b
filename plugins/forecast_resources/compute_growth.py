"""How fast compute grows: as steady progress needs, or as it has been measured to grow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forecast.errors import DataError
from forecast.models import Array, Description, FittedModel, Model, ModelRecord, Need, OtherQuantity, Unfitted, model

if TYPE_CHECKING:
    from forecast import ModelSpec
    from forecast.streams import Streams


__all__ = ["as_measured", "as_needed"]

TREND = "capability/training-compute@exponential"


def as_needed(name: str, spec: ModelSpec) -> Model:
    """Build ``(wanted - without_compute)/by_compute``, each another quantity."""
    inputs: dict[str, Need] = {
        "wanted": OtherQuantity(unit="1/year", title="progress wanted"),
        "without_compute": OtherQuantity(unit="1/year", title="progress that comes without more compute"),
        "by_compute": OtherQuantity(unit="", title="progress for each factor e of compute"),
    }
    return _AsNeeded.from_spec(name, spec, inputs=inputs)


@dataclass(frozen=True, kw_only=True)
class _AsNeeded(Unfitted):
    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        by = inputs["by_compute"]
        if not by.all():
            raise DataError(f"{self.name}: by_compute is 0: where compute brings nothing, no growth of it is enough")
        return np.asarray((inputs["wanted"] - inputs["without_compute"]) / by)

    def describe(self) -> Description:
        return Description(
            summary=self.note,
            assumptions=("progress without compute goes on whatever compute does",),
            sources=self.sources,
        )


@dataclass(frozen=True, kw_only=True)
class _Measured(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:

        return _FittedMeasured(model=self, trend=model(TREND).fit(as_of=as_of, seed=seed))


#: Builds the growth of the trend of training compute, for ever.
as_measured = _Measured.from_spec


@dataclass(frozen=True, kw_only=True)
class _FittedMeasured(FittedModel):
    model: _Measured
    trend: FittedModel

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Draw the growth."""
        return {"growth": self.trend.posterior(streams)["growth"]}

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        return np.broadcast_to(self.posterior(streams)["growth"], (len(time), streams.draws)).copy()

    def describe(self) -> Description:
        import math

        found = self.trend.describe().facts
        rate, low, high = (found[key] for key in ("growth_per_year", "growth_p05", "growth_p95"))
        factors = (math.exp(v) for v in (rate, low, high))
        return Description(
            summary="training compute has grown by a factor {:.2f} a year [90 %: {:.2f}, {:.2f}]; ".format(*factors)
            + self.model.note,
            assumptions=("compute goes on growing at one rate until a ceiling binds",),
            sources=self.model.sources,
            facts={"growth": rate, "growth_p05": low, "growth_p95": high},
        )
