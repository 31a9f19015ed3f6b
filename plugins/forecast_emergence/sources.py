"""The papers more than one record cites."""

from __future__ import annotations

__all__ = ["ESSAY", "INT8", "JUDGED", "KBIT", "KUMAR", "MEMORY", "RUAN", "SCHAEFFER", "SNELL", "TOKENIZER", "WEI"]

ESSAY = "Dettmers 2022-08-17, LLM.int8() and Emergent Features"
INT8 = "Dettmers, Lewis, Belkada, Zettlemoyer 2022, LLM.int8(), arXiv:2208.07339"
KBIT = "Dettmers, Zettlemoyer 2022, The case for 4-bit precision, arXiv:2212.09720"
KUMAR = "Kumar et al. 2024, Scaling Laws for Precision, arXiv:2411.04330"
RUAN = "Ruan, Maddison, Hashimoto 2024, Observational Scaling Laws, arXiv:2405.10938"
SCHAEFFER = (
    "Schaeffer, Miranda, Koyejo 2023, Are Emergent Abilities of Large Language Models a Mirage?, arXiv:2304.15004"
)
SNELL = "Snell, Wallace, Klein, Levine 2024, Predicting Emergent Capabilities by Finetuning, arXiv:2411.16035"
WEI = "Wei et al. 2022, Emergent Abilities of Large Language Models, arXiv:2206.07682"

#: Said of a form or a figure whose paper was not at hand.
MEMORY = "from memory, not compared with the paper"
#: What nobody has published for this purpose.
JUDGED = "our judgement, not a measurement"

#: Perplexities of GPT-2, GPT-J and fairseq models are of one vocabulary (from memory: GPT-2's byte-level BPE).
TOKENIZER = {"tokenizer": "gpt2-bpe"}
