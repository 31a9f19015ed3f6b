"""The largest AI data centre so far, at its dense 16-bit peak: a rate that is bought, which nobody measures."""

from __future__ import annotations

from forecast import TrendSpec

__all__ = ["CLUSTER_MODELS"]

CLUSTER_MODELS = (
    TrendSpec(
        name="ai-cluster",
        title="Dense 16-bit peak of the largest AI data centre so far",
        quantity="hardware.ai_cluster_maximum",
        unit="TFLOP/s",
        shape="trends/pool",
        table="datasets/data-centres",
        x="date",
        y="peak",
        records=True,
        keeps="frontier",
        where={"edition": "2026-09", "plan": "no", "status": "verified", "basis": "peak", "sparsity": "dense"},
        qualifiers={"precision": "16-bit"},
        note="chips times data-sheet rate, nothing measured; three and a half years; of sites that are followed, "
        "single ones off by a factor of two to four between editions, and more than one cluster may use",
        reference="Epoch AI, Frontier data centers (CC-BY 4.0), edition of 2026-09-27, as compiled in "
        "datasets/data-centres",
    ),
)
