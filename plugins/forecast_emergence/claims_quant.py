"""The essay's worked examples of quantisation, judged: figures are read from the examples as they are run now."""

from __future__ import annotations

from forecast import ClaimSpec
from forecast_emergence.sources import ESSAY

__all__ = ["CLAIMS"]

GROUP = "emergence"
#: Where the figures of `forecast_emergence.quant_worked.facts` can be read.
_FACTS = "emergence/vector-error"
_QLORA = "Dettmers et al. 2023, QLoRA, arXiv:2305.14314, table 2"


def _claim(name: str, statement: str, stated: str, fact: str, note: str = "", declared: str | None = None) -> ClaimSpec:
    return ClaimSpec(
        name=name,
        group=GROUP,
        statement=statement,
        stated=stated,
        formula="figure",
        facts={"figure": f"{_FACTS}.{fact}"},
        declared=declared,
        reference=ESSAY if declared != "ours" else f"Our figure, from the example of {ESSAY}",
        note=note,
    )


CLAIMS = (
    _claim(
        "quant-absmax",
        "[3, 1, 2, 3] quantised to {0, 2, 4} and back is [3, 0, 2, 3]: the second number becomes 0",
        "0",
        "second_number",
        "4/3 is nearer to 2 than to 0: [4, 2, 2, 4], and [3, 2, 2, 3] in the end. Only rounding down gives the essay's "
        "vector.",
    ),
    _claim(
        "quant-absmax-errors",
        "[3, 1, 2, 3] quantised to {0, 2, 4} and back has one error",
        "1",
        "errors",
        "It has one either way: 1 becomes 2 (to nearest) or 0 (down).",
    ),
    _claim(
        "quant-vectorwise",
        "One constant for [3, 1, 2, 3] and [0, 2, 2, 0] makes two errors",
        "2",
        "one_constant_errors",
        "The second vector survives the constant 3 too, after the last rounding.",
    ),
    _claim(
        "quant-vectorwise-before",
        "Errors that one constant for the two vectors makes before the last rounding",
        "",
        "one_constant_errors_before",
        "Two in each vector, where 1.5 stands for 1 or 2.",
        declared="ours",
    ),
    _claim(
        "quant-vectorwise-first",
        "[3, 1, 2, 3] is squished by 4",
        "4",
        "constant_first",
        "Its largest number is 3; 4 is that of the data type.",
    ),
    _claim(
        "quant-vectorwise-second",
        "[0, 2, 2, 0] is squished by 2",
        "2",
        "constant_second",
        "With its own constant it comes back without an error.",
    ),
    _claim(
        "quant-outlier",
        "Ten numbers, one of them -67, have a mean error of 0.12 in 8 bits",
        "0.12",
        "error_with_outlier",
        "The ten numbers as others transcribe the essay.",
    ),
    _claim(
        "quant-no-outlier",
        "Without the outlier the mean error is 0.015",
        "0.015",
        "error_without_outlier",
        "The nine numbers have a mean error of 0.003.",
    ),
    _claim(
        "quant-no-outlier-changes",
        "Without the outlier a single number changes, -0.29 to -0.28",
        "1",
        "changed",
        "0.34 becomes 0.33 too, as the essay's own vector shows.",
    ),
    ClaimSpec(
        name="quant-types",
        group=GROUP,
        statement="The 4-bit float E3M0 is better than E2M1, in perplexity",
        declared="constant",
        reference=_QLORA,
        note="29.48 against 31.07. Not told by the error of the weights: on normal weights in blocks of 64 E3M0 leaves "
        "0.19 of their size, E2M1 0.105, Int4 0.108, NF4 0.091. Only NF4 is best by both.",
    ),
)
