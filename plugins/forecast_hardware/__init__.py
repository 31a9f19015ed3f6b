"""Hardware trends: the fastest supercomputer, on the metric that vendors like and on the one that hurts."""

from __future__ import annotations

from collections.abc import Iterator

from forecast import ClaimSpec, TrendSpec, hookimpl
from forecast_hardware.claims import CLAIMS

#: Column, what it measures, what a reader must know.
_METRICS = {
    "linpack": (
        "rmax_top1",
        "LINPACK (Rmax) of the first machine of each TOP500 list",
        "dense linear algebra in FP64: well above what most codes reach",
    ),
    "hpcg": (
        "hpcg_best",
        "best HPCG result of each TOP500 list",
        "memory-bound conjugate gradients in FP64; few lists, few records, two of them the same machine",
    ),
}
_SHAPES = {"exponential": "one growth rate", "changepoint": "growth changes at a tested break"}


@hookimpl
def forecast_models() -> Iterator[TrendSpec]:
    """Bring each metric on each shape: ``hpcg-exponential``, ``linpack-changepoint``, ..."""
    for metric, (column, title, note) in _METRICS.items():
        for shape, says in _SHAPES.items():
            yield TrendSpec(
                name=f"{metric}-{shape}",
                title=f"{title}: {says}",
                quantity=f"hardware.{metric}_maximum",
                unit="TFLOP/s",
                shape=f"trends/{shape}",
                table="datasets/supercomputers",
                x="date",
                y=column,
                frontier=True,
                where={"status": "verified"},
                note=note,
                reference="TOP500 and HPCG lists, June 1993 to November 2025 (top500.org, hpcg-benchmark.org)",
            )


@hookimpl
def forecast_claims() -> tuple[ClaimSpec, ...]:
    """Bring the hardware claims of the source essays."""
    return CLAIMS
