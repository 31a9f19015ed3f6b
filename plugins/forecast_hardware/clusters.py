"""The largest AI cluster of each year, at its dense 16-bit peak: a rate that is bought, which nobody measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from forecast import TrendSpec

__all__ = ["models"]


def models(shapes: Mapping[str, str]) -> Iterator[TrendSpec]:
    """Make the trend on each shape, given what it says: ``ai-cluster-exponential``, ..."""
    for shape, says in shapes.items():
        yield TrendSpec(
            name=f"ai-cluster-{shape}",
            title=f"Dense 16-bit peak of the largest AI cluster of each year: {says}",
            quantity="hardware.ai_cluster_maximum",
            unit="TFLOP/s",
            shape=f"trends/{shape}",
            table="datasets/ai-clusters",
            x="date",
            y="peak",
            yearly=True,
            where={"status": "verified", "path": "tensor", "sparsity": "dense", "basis": "peak"},
            qualifiers={"precision": "16-bit"},
            note="chips times data-sheet rate, nothing measured; nine years, and clusters that nobody reported are "
            "missing",
            reference="Epoch AI, Data on GPU clusters (CC-BY 4.0); Pilz et al. 2025, arXiv:2504.16026",
        )
