"""Outlier features against perplexity: exponential, as LLM.int8() says in words (it prints no constants)."""

from __future__ import annotations

from forecast import LawSpec, RelationSpec

__all__ = ["LAWS", "MODELS"]

INT8 = "Dettmers, Lewis, Belkada, Zettlemoyer 2022, LLM.int8(), arXiv:2208.07339"

COUNT_LAW = LawSpec(
    name="outlier-count",
    title="Outlier feature dimensions, exponential in perplexity",
    expression="exp(a - b*PPL)",
    variables={"PPL": ""},
    output="outliers",
    objective="least_squares_log",
    example={"a": 2.9, "b": 0.09},
    domain={"PPL": (12.0, 34.0)},
    reference=f"{INT8}, section 4 and figure 4b ('smooth'; no constants printed)",
)

LAYERS_LAW = LawSpec(
    name="layers-affected",
    title="Share of layers with outlier features, exponential in perplexity",
    expression="exp(a - b*PPL)",
    variables={"PPL": ""},
    output="layers",
    unit="percent",
    objective="least_squares_log",
    example={"a": 5.2, "b": 0.07},
    domain={"PPL": (15.0, 34.0)},
    reference=f"{INT8}, figure 3b ('a smooth, exponential function of decreasing perplexity'; no constants printed)",
)

LAWS = (COUNT_LAW, LAYERS_LAW)

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
