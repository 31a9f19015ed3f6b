"""The largest AI cluster of each year, at its dense 16-bit peak: a rate that is bought, which nobody measures."""

from __future__ import annotations

from forecast import TrendSpec

__all__ = ["MODELS"]

MODELS = (
    TrendSpec(
        name="ai-cluster",
        title="Dense 16-bit peak of the largest AI cluster of each year",
        quantity="hardware.ai_cluster_maximum",
        unit="TFLOP/s",
        shape="trends/pool",
        table="datasets/ai-clusters",
        x="date",
        y="peak",
        yearly=True,
        keeps="frontier",
        where={"status": "verified", "path": "tensor", "sparsity": "dense", "basis": "peak"},
        qualifiers={"precision": "16-bit"},
        note="chips times data-sheet rate, nothing measured; nine years, and clusters that nobody reported are missing",
        reference="Epoch AI, Data on GPU clusters (CC-BY 4.0); Pilz et al. 2025, arXiv:2504.16026",
    ),
)
