"""The papers more than one record cites."""

from __future__ import annotations

__all__ = [
    "ALABDULMOHSIN",
    "BESIROGLU",
    "CABALLERO",
    "HOFFMANN",
    "KAPLAN",
    "KUMAR",
    "LLAMA3",
    "MEMORY",
    "MUENNIGHOFF",
    "RUAN",
]

ALABDULMOHSIN = "Alabdulmohsin, Neyshabur, Zhai 2022, Revisiting Neural Scaling Laws, arXiv:2209.06640"
BESIROGLU = "Besiroglu, Erdil, Barnett, You 2024, Chinchilla Scaling: A replication attempt, arXiv:2404.10102"
CABALLERO = "Caballero, Gupta, Rish, Krueger 2023, Broken Neural Scaling Laws, arXiv:2210.14891"
HOFFMANN = "Hoffmann et al. 2022, Training Compute-Optimal Large Language Models, arXiv:2203.15556"
KAPLAN = "Kaplan et al. 2020, Scaling Laws for Neural Language Models, arXiv:2001.08361"
KUMAR = "Kumar et al. 2024, Scaling Laws for Precision, arXiv:2411.04330"
LLAMA3 = "Llama Team 2024, The Llama 3 Herd of Models, arXiv:2407.21783"
MUENNIGHOFF = "Muennighoff et al. 2023, Scaling Data-Constrained Language Models, arXiv:2305.16264"
RUAN = "Ruan, Maddison, Hashimoto 2024, Observational Scaling Laws, arXiv:2405.10938"

#: Said of a form whose paper was not at hand.
MEMORY = "taken from notes, not compared with the paper"
