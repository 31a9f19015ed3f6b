"""Outlier features against perplexity: exponential, as LLM.int8() says in words (it prints no constants)."""

from __future__ import annotations

from forecast import RelationSpec

__all__ = ["MODELS"]

INT8 = "Dettmers, Lewis, Belkada, Zettlemoyer 2022, LLM.int8(), arXiv:2208.07339"


#: The perplexity that is put in must be of the tokenizer of the models that were fitted.
RELATION = "forecast_emergence.tokenized:relation"

SHIFT = (
    "It does not see the phase shift at 6.7B parameters: fitted to the eight models with a perplexity of 13.5 and "
    "more, it predicts {predicted} for the two below, where {observed} were observed."
)

COUNT = RelationSpec(
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
    note=SHIFT.format(predicted="5.2 and 5.6 dimensions", observed="6 and 7")
    + " Ten models of three families; counts of 1 to 7 with normal noise on their logarithm.",
    reference=f"{INT8}, appendix C, table 4",
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
    note=SHIFT.format(predicted="59.7 and 62.3 % of the layers", observed="100 and 100 %")
    + " It has no ceiling: below a perplexity of about 8.7 it passes 100 %. Ten models of three families.",
    reference=f"{INT8}, appendix C, table 4",
)

MODELS = (COUNT, LAYERS)
