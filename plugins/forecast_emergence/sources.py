"""The papers more than one record cites."""

from __future__ import annotations

__all__ = ["ESSAY", "INT8", "JUDGED", "KBIT", "KUMAR", "TOKENIZER"]

ESSAY = "Dettmers 2022-08-17, LLM.int8() and Emergent Features"
INT8 = "Dettmers, Lewis, Belkada, Zettlemoyer 2022, LLM.int8(), arXiv:2208.07339"
KBIT = "Dettmers, Zettlemoyer 2022, The case for 4-bit precision, arXiv:2212.09720"
KUMAR = "Kumar et al. 2024, Scaling Laws for Precision, arXiv:2411.04330"

#: What nobody has published for this purpose.
JUDGED = "our judgement, not a measurement"

#: Perplexities of GPT-2, GPT-J and fairseq models are of one vocabulary (from memory: GPT-2's byte-level BPE).
TOKENIZER = {"tokenizer": "gpt2-bpe"}
