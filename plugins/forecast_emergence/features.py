"""Outlier features from perplexity and from size, before and after the shift: what the scenario emergence compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forecast import EstimateSpec, Input, ModelSpec, RelationSpec
from forecast.models import Description, FittedModel, Model, ModelRecord, Need, OtherQuantity
from forecast_emergence.outliers import RELATION
from forecast_emergence.sources import INT8, TOKENIZER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forecast.fit import Fit
    from forecast.streams import Streams

    Array = NDArray[np.float64]

__all__ = ["MODELS", "two_regimes"]

TABLE = "datasets/outlier-features"
T4 = f"{INT8}, appendix C, table 4"


def _relation(name: str, title: str, unit: str, *, law: str, x: str, y: str, note: str, **more: object) -> RelationSpec:
    fields: dict[str, object] = {
        "name": name, "title": title, "quantity": f"emergence.{name.replace('-', '_')}", "unit": unit, "law": law,
        "table": TABLE, "let": {x: {"PPL": "ppl_c4", "N": "params"}[x]}, "y": y, "note": note, "reference": T4,
        **({"target": RELATION} if x == "PPL" else {}), **more,
    }  # fmt: skip
    return RelationSpec(**fields)  # type: ignore[arg-type]


_RELATIONS = (
    _relation(
        "perplexity-from-size", "C4 perplexity of fairseq models from their parameters", "",
        law="emergence/perplexity-in-parameters", x="N", y="ppl_c4", where={"family": "FSEQ"}, basis=TOKENIZER,
        note="five models of one family for three parameters, so that the intervals rest on normal noise; the "
        "tokenizer "
        "is from memory",
    ),
    _relation(
        "outlier-count-poisson", "Outlier feature dimensions from C4 perplexity, counted (Poisson)", "",
        law="emergence/outlier-count", x="PPL", y="outlier_count", objective="poisson",
        note="counts of 1 to 7 have a Poisson likelihood, whose slope (0.098) is known less well than that of the "
        "logarithms (0.090): these counts spread less than Poisson's",
    ),
    _relation(
        "outlier-count-by-size", "Outlier feature dimensions from parameters, a power", "",
        law="emergence/power-in-parameters", x="N", y="outlier_count",
        note="the rival of the perplexity law, with a lower R² (0.83 against 0.94)",
    ),
    _relation(
        "layers-by-size", "Share of layers with outliers from parameters, a logistic", "percent",
        law="emergence/logistic-in-parameters", x="N", y="layers_affected", note="one regime: it sees no shift",
    ),
    _relation(
        "magnitude", "Median magnitude of the most common outlier from C4 perplexity", "",
        law="emergence/outlier-count", x="PPL", y="abs(quartile2)",
        note="R² 0.50: families differ more than sizes do; it sees no shift",
    ),
    _relation(
        "sequence-dims", "Share of sequence dimensions with outliers from C4 perplexity", "percent",
        law="emergence/layers-affected", x="PPL", y="seq_dims_affected", note="R² 0.66; without a ceiling",
    ),
)  # fmt: skip

SHIFT = EstimateSpec(
    name="shift-size",
    title="Size of the phase shift: where the layers jump",
    quantity="emergence.shift_size",
    unit="param",
    expression="shift",
    inputs=(
        Input(
            name="shift",
            unit="param",
            distribution={"low": 2.7e9, "high": 6.7e9, "family": "loguniform"},
            source=f"{T4}: of the fairseq models 2.7B has 52 % of the layers and 6.7B all; an interval-censored "
            "threshold, uniform in its logarithm. With GPT-J, of another family, it would lie between 6.0B and 6.7B",
            title="where the layers jump",
        ),
    ),
    note="one quantity for all that jumps there, so that layers and magnitude jump in the same draw",
    reference=f"{T4}; section 4: between 6B and 6.7B",
)
REGIMES = ModelSpec(
    name="layers-two-regimes",
    title="Share of layers with outliers: a power of the parameters up to the shift, all of them beyond",
    quantity="emergence.layers_affected",
    unit="percent",
    target="forecast_emergence.features:two_regimes",
    reference=f"{T4}; section 4: all layers from 6.7B on",
)

MODELS = (*_RELATIONS, SHIFT, REGIMES)


@dataclass(frozen=True, kw_only=True)
class _Fitted(FittedModel):
    fit: Fit
    sources: tuple[str, ...]

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        return self.fit.sample_parameters(streams("parameters"), streams.draws)

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        import numpy as np

        size = np.broadcast_to(inputs["N"], (len(time), streams.draws))
        below = np.minimum(self.fit.law.value(self.posterior(streams), N=size), 100.0)
        return np.where(size >= inputs["shift"], 100.0, below)

    def describe(self) -> Description:
        from forecast_emergence import hindsight

        rows = {(r.measure, r.model): r for r in hindsight.backtest()}
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
    def fit(self, *, before: float | None = None, seed: int = 0) -> FittedModel:
        from forecast import law, tables

        rows = tables.columns(TABLE)
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
    return _Regimes(name=name, unit=spec.unit, inputs=inputs, sources=(spec.reference,))
