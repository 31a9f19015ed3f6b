"""Ideas that get harder to find: what keeping a rate of growth takes.

Growth is a(t)' / a(t) = theta·S·A**-beta: the more has been found (A), the more researchers (S) the same growth needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forecast import Input
from forecast.models import Array, Description, FittedModel, Model, ModelRecord, Need, model
from forecast_resources.needs import BLOOM

if TYPE_CHECKING:
    from forecast import ModelSpec
    from forecast.fit.fit import Fit
    from forecast.streams import Streams


__all__ = ["needed"]

CHIPS = "resources/chip-progress-from-effort"


def needed(name: str, spec: ModelSpec) -> Model:
    """Build the factor by which effort must grow to keep `growth` for `years`: ``exp(beta*growth*years)``."""
    moore = f"{BLOOM}: Moore's law as a doubling in two years"
    inputs: dict[str, Need] = {
        "growth": Input(name="growth", unit="1/year", distribution={"value": 0.34657359027997264}, source=moore),
        "years": Input(name="years", unit="year", distribution={"value": 43.0}, source=f"{BLOOM}: 1971 to 2014"),
    }
    return _Needed.from_spec(name, spec, inputs=inputs)


@dataclass(frozen=True, kw_only=True)
class _Needed(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:

        relation = model(CHIPS).fit(as_of=as_of, seed=seed)
        return _FittedNeeded(model=self, fit=relation.fit)


@dataclass(frozen=True, kw_only=True)
class _FittedNeeded(FittedModel):
    model: _Needed
    fit: Fit

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Draw beta."""
        return {"beta": self.fit.drawn(streams)["beta"]}

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        rate = self.posterior(streams)["beta"] * inputs["growth"] * inputs["years"]
        return np.broadcast_to(np.exp(np.clip(rate, -600.0, 600.0)), (len(time), streams.draws)).copy()

    def describe(self) -> Description:
        low, high = self.fit.interval("beta", 0.9)
        beta = self.fit.values["beta"]
        return Description(
            summary=f"each per cent of growth takes {beta:.2f} per cent more researchers a year "
            f"[90 %: {low:.2f}, {high:.2f}]; {self.model.note}",
            assumptions=("twice the researchers find twice as much (lambda = 1)", *self.fit.notes),
            sources=self.model.sources,
            facts={"beta": beta, "beta_p05": float(low), "beta_p95": float(high)},
        )
