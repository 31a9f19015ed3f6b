"""The log-linear law: each step of progress multiplies the resource, progress = a + b log(resource)."""

from __future__ import annotations

from forecast import RelationSpec

__all__ = ["LOGLINEAR_MODELS"]

LINEAR_PROGRESS_ESSAY = "Dettmers 2025-12-10, Why AGI Will Not Happen (linear progress needs exponential resources)"


PERPLEXITY = RelationSpec(
    name="perplexity-from-parameters",
    title="C4 perplexity of fairseq models from their parameters",
    quantity="resources.perplexity",
    unit="",
    law="resources/log-linear",
    table="datasets/outlier-features",
    let={"x": "params"},
    y="ppl_c4",
    where={"family": "FSEQ"},
    note="Five models of one family, so the intervals are wide and rest on normal noise. It says what a factor in "
    "parameters came with within 125M to 13B. It cannot say what data or compute bought, and its line falls below any "
    "irreducible perplexity when carried far: there a saturating law is the better one.",
    reference="Dettmers, Lewis, Belkada, Zettlemoyer 2022, LLM.int8(), arXiv:2208.07339, appendix C, table 4 "
    f"(perplexity and parameters); {LINEAR_PROGRESS_ESSAY} (the law)",
)

LOGLINEAR_MODELS = (PERPLEXITY,)
