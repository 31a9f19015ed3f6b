"""The share of layers with outliers in two regimes: a power of the parameters up to the shift, all of them beyond."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forecast.models import Array, Description, FittedModel, Model, ModelRecord, Need, OtherQuantity
from forecast_emergence.features.feature_specs import TABLE

if TYPE_CHECKING:
    from forecast import ModelSpec
    from forecast.fit import Fit
    from forecast.streams import Streams


__all__ = ["two_regimes"]


@dataclass(frozen=True, kw_only=True)
class _Fitted(FittedModel):
    fit: Fit
    sources: tuple[str, ...]

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        return self.fit.drawn(streams)

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        size = np.broadcast_to(inputs["N"], (len(time), streams.draws))
        below = np.minimum(self.fit.law.value(self.posterior(streams), N=size), 100.0)
        return np.where(size >= inputs["shift"], 100.0, below)

    def describe(self) -> Description:
        from forecast_emergence.features import hindsight

        rows = {(r.measure, r.model): r for r in hindsight.backtest_features()}
        facts = {f"{m}_{n.removeprefix('fseq-').replace('.', '_')}": row.smooth for (m, n), row in rows.items()}
        facts["count_pearson"], facts["count_spearman"] = hindsight.correlations()
        return Description(
            summary=f"a power of the parameters fitted to {self.fit.n} models before the shift, 100 % after it; the "
            f"honest test: {hindsight.summary()}",
            assumptions=("all layers from the shift on, as seen at 6.7B and 13B", *self.fit.notes),
            sources=self.sources,
            facts=facts,
        )


@dataclass(frozen=True, kw_only=True)
class _Regimes(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        from forecast import law, tables

        rows = tables.to_columns(TABLE)
        size, share = rows.numeric("params"), rows.numeric("layers_affected")
        old = share < 100.0
        fit = law("emergence/power-in-parameters").fit({"N": size[old], "y": share[old]}, y="y", seed=seed)
        return _Fitted(fit=fit, sources=self.sources)


def two_regimes(name: str, spec: ModelSpec) -> Model:
    """Build ``layers-two-regimes``."""
    inputs: dict[str, Need] = {
        "N": OtherQuantity(unit="param", title="parameters"),
        "shift": OtherQuantity(unit="param", title="where the layers jump"),
    }
    return _Regimes.from_spec(name, spec, inputs=inputs)
