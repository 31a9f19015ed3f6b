"""Outlier features as records: against perplexity and size, the shift, and what the small models told in advance."""

from __future__ import annotations

from forecast import EstimateSpec, Input, ModelSpec, RelationSpec
from forecast_emergence.sources import INT8, TOKENIZER

__all__ = ["MODELS", "ROUTES", "TABLE"]

TABLE = "datasets/outlier-features"
T4 = f"{INT8}, appendix C, table 4"
#: The perplexity that is put in must be of the tokenizer of the models that were fitted.
RELATION = "forecast_emergence.features.tokenized:relation"

UNSEEN = (
    "It does not see the phase shift at 6.7B parameters: fitted to the eight models with a perplexity of 13.5 and "
    "more, it predicts {predicted} for the two below, where {observed} were observed."
)

OUTLIER_COUNT = RelationSpec(
    name="outlier-count",
    title="Outlier feature dimensions from C4 perplexity",
    quantity="emergence.outlier_count",
    unit="",
    target=RELATION,
    law="emergence/outlier-count",
    table="datasets/outlier-features",
    let={"PPL": "ppl_c4"},
    y="outlier_count",
    objective="least_squares_log",
    note=UNSEEN.format(predicted="5.2 and 5.6 dimensions", observed="6 and 7")
    + " Ten models of three families; counts of 1 to 7 with normal noise on their logarithm.",
    reference=T4,
)

LAYERS = RelationSpec(
    name="layers-affected",
    title="Share of layers with outlier features from C4 perplexity",
    quantity="emergence.layers_affected",
    unit="percent",
    target=RELATION,
    law="emergence/layers-affected",
    table="datasets/outlier-features",
    let={"PPL": "ppl_c4"},
    y="layers_affected",
    objective="least_squares_log",
    note=UNSEEN.format(predicted="59.7 and 62.3 % of the layers", observed="100 and 100 %")
    + " It has no ceiling: below a perplexity of about 8.7 it passes 100 %. Ten models of three families.",
    reference=T4,
)


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
        law="emergence/perplexity-in-parameters", x="N", y="ppl_c4", where={"family": "FSEQ"}, qualifiers=TOKENIZER,
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
    scale="share",
    title="Share of layers with outliers: a power of the parameters up to the shift, all of them beyond",
    quantity="emergence.layers_affected",
    unit="percent",
    target="forecast_emergence.features.regimes:two_regimes",
    reference=f"{T4}; section 4: all layers from 6.7B on",
)

#: Rival routes to a threshold, from the smaller models alone.
ROUTES = {
    "smooth": "a power of the parameters, carried on",
    "logistic": "a logistic in log parameters, carried on",
    "hazard": "a jump that has not come yet, with a constant hazard in log parameters",
}

THRESHOLDS = tuple(
    ModelSpec(
        name=f"threshold-{route}",
        title=f"Size from which nearly all layers have outliers, told from models up to 1.5e9 parameters: {says}",
        quantity="emergence.threshold_size",
        unit="param",
        target="forecast_emergence.features.threshold:threshold",
        reference="Dettmers et al. 2022, LLM.int8(), arXiv:2208.07339, appendix C, table 4; the forecast is ours",
    )
    for route, says in ROUTES.items()
)

MODELS = (OUTLIER_COUNT, LAYERS, *_RELATIONS, SHIFT, REGIMES, *THRESHOLDS)
