"""The tables of emergence, precision and quantisation, by name, with title and reference."""

from __future__ import annotations

__all__ = ["TABLES"]

_INT8 = "Dettmers, Lewis, Belkada, Zettlemoyer 2022, LLM.int8(), arXiv:2208.07339"

#: Name, title, reference.
TABLES = (
    ("int8-perplexity", "C4 perplexity of fairseq models by 8-bit method (LLM.int8(), table 1)", f"{_INT8}, table 1"),
    ("int8-speed", "Speed of 8-bit matrix multiplication by model size (LLM.int8(), table 5)", f"{_INT8}, table 5"),
    ("int8-latency", "Milliseconds a token of BLOOM-176B in 16 and 8 bits (LLM.int8(), table 6)", f"{_INT8}, table 6"),
    (
        "outlier-figures",
        "Figures on outlier features that the essay, the paper and its table state differently",
        f"{_INT8}; Dettmers 2022-08-17, LLM.int8() and Emergent Features",
    ),
    (
        "four-bit-points",
        "Quality at two to four bits a weight (QLoRA, k-bit inference scaling)",
        "Dettmers et al. 2023, QLoRA, arXiv:2305.14314; Dettmers, Zettlemoyer 2022, The case for 4-bit precision, "
        "arXiv:2212.09720",
    ),
    (
        "emergence-thresholds",
        "Where abilities emerge: the smallest model above chance (Wei et al., table 1)",
        "Wei et al. 2022, Emergent Abilities of Large Language Models, arXiv:2206.07682, table 1",
    ),
    (
        "precision-constants",
        "Constants of the scaling laws for precision (Kumar et al.)",
        "Kumar et al. 2024, Scaling Laws for Precision, arXiv:2411.04330, appendix K, table 2, and appendix N",
    ),
    (
        "loss-thresholds",
        "How scores follow pre-training loss, and where they leave chance (Du et al.)",
        "Du, Zeng, Dong, Tang 2024, Understanding Emergent Abilities from the Loss Perspective, arXiv:2403.15796",
    ),
    (
        "model-sizes",
        "Sizes of models that answers are given for",
        f"{_INT8}, tables 4 and 5; OPT-66B as named in the essay of 2022-08-17; 1e12 and 1e13 are round numbers",
    ),
    (
        "observational-scores",
        "Benchmark and emergent scores of base models (described, not shipped)",
        "Ruan, Maddison, Hashimoto 2024, Observational Scaling Laws, arXiv:2405.10938",
    ),
)
