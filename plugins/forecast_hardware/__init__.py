"""Hardware: what machines deliver and cost, how fast they grow, and what the source essays say about it, recomputed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forecast import (
    ClaimSpec,
    EstimateSpec,
    LawSpec,
    ModelSpec,
    QuantitySpec,
    ScenarioSpec,
    TrendSpec,
    UnitSpec,
    hookimpl,
    records_from,
)

HERE = Path(__file__).parent

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


#: Words in which people ask for a scenario, and what an amount in them sets.
_ASKED: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "gpu-guide": (
        ("which GPU should I buy", "best GPU to buy", "best graphics card for money", "which card for deep learning"),
        {"USD": "budget"},
    ),
    "rent-or-buy": (
        ("should I rent or buy a GPU", "rent or buy", "cloud or own GPU", "when does buying a GPU pay"), {},
    ),
    "wait-or-buy": (
        ("should I wait to buy a GPU", "wait or buy", "buy a GPU now or later", "will GPUs get cheaper"), {},
    ),
    "gpu-cluster": (
        ("what does a training run cost to rent", "cost of FLOP", "cost of compute on rented GPUs"), {"FLOP": "work"},
    ),
    "gpu-limit": (("when do transistors stop shrinking", "end of Moore's law", "when does Moore's law end"), {}),
}  # fmt: skip


@hookimpl
def forecast_laws() -> tuple[LawSpec, ...]:
    """Bring the laws of one device and of many."""
    return records_from(HERE / "laws.toml", LawSpec)


@hookimpl
def forecast_units() -> tuple[UnitSpec, ...]:
    """Bring clock cycles and elements of tensors."""
    from forecast_hardware import device

    return device.DEVICE_UNITS


@hookimpl
def forecast_models() -> Iterator[ModelSpec]:
    """Bring the fastest supercomputers, and what devices and clusters deliver, need and cost."""
    from forecast_hardware import cluster, clusters, device, gpu, interconnect, limit, memory, named

    yield from _supercomputers()
    yield from clusters.CLUSTER_MODELS
    for module in (gpu, named, limit, device, interconnect, cluster, memory):
        yield from module.models()
    yield from records_from(HERE / "ownership.toml", EstimateSpec)


def _supercomputers() -> Iterator[TrendSpec]:
    """Bring ``linpack`` and ``hpcg``."""
    for metric, (column, title, note) in _METRICS.items():
        yield TrendSpec(
            name=metric,
            title=title,
            quantity=f"hardware.{metric}_maximum",
            unit="TFLOP/s",
            shape="trends/pool",
            table="datasets/supercomputers",
            x="date",
            y=column,
            frontier=True,
            keeps="frontier",
            where={"status": "verified"},
            qualifiers={"basis": metric, "precision": "fp64"},
            note=note,
            reference="TOP500 and HPCG lists, June 1993 to June 2026 (top500.org, hpcg-benchmark.org)",
        )


@hookimpl
def forecast_quantities() -> tuple[QuantitySpec, ...]:
    """Bring the quantities of the world that are of devices, machines and what they are made of."""
    return records_from(HERE / "world.toml", QuantitySpec)


@hookimpl
def forecast_scenarios() -> Iterator[ScenarioSpec]:
    """Bring the growth of one device, the choice of a device to own, and of one to rent for a training run."""
    for name, title, reference in (
        (
            "gpu-capability",
            "What does one device give by 2040, per dollar and per watt, and when does its growth end?",
            "table datasets/accelerators; one-off features after Dettmers 2025-12-10, Why AGI Will Not Happen; limits "
            "after Hobbhahn & Besiroglu 2022, Predicting GPU performance",
        ),
        (
            "gpu-goal",
            "When do GPUs give 10 PFLOP/s in 16 bits for a kilowatt, or 1 PFLOP/s in FP32 for 1,000 dollars?",
            "table datasets/accelerators; one model of the devices to come",
        ),
        (
            "gpu-limit",
            "When do transistors stop shrinking, and what does one device give then?",
            "Hobbhahn & Besiroglu 2022, Predicting GPU performance, Epoch AI; fitted to datasets/accelerators",
        ),
        (
            "gpu-choice",
            "Which device gives most work for a dollar of ownership, for a stated use?",
            "Dettmers 2023-01-30, Which GPU(s) to Get for Deep Learning: performance per dollar of ownership",
        ),
        (
            "gpu-guide",
            "Which GPUs, new or used, do most work for the money, at what they cost now?",
            "Dettmers 2023-01-30, Which GPU(s) to Get for Deep Learning; prices: table datasets/accelerator-prices",
        ),
        (
            "rent-or-buy",
            "After how many hours of work is a GPU cheaper to buy than to rent?",
            "Dettmers 2023-01-30, Which GPU(s) to Get for Deep Learning; prices: table datasets/accelerator-prices",
        ),
        (
            "wait-or-buy",
            "What does the same money buy of GPUs if it waits, and what does waiting cost?",
            "table datasets/accelerators, by hardware/gpu-joint-rate, -per-watt and -per-dollar; market prices: table "
            "datasets/accelerator-prices",
        ),
        (
            "gpu-delivered",
            "What does a cluster deliver of its peak, built up step by step?",
            "Williams, Waterman, Patterson 2009, Roofline, doi:10.1145/1498765.1498785; each step names its own",
        ),
        (
            "gpu-cluster",
            "What does a training run cost on a rented cluster, and how long does it take?",
            "tables datasets/accelerators and datasets/compute-prices; shares as in hardware/effective-cluster",
        ),
    ):
        path = str(HERE / "scenarios" / f"{name}.toml")
        synonyms, amounts = _ASKED.get(name, ((), {}))
        yield ScenarioSpec(
            name=name, title=title, path=path, reference=reference, plans=name == "gpu-cluster", synonyms=synonyms,
            amounts=amounts,
        )  # fmt: skip


@hookimpl
def forecast_claims() -> tuple[ClaimSpec, ...]:
    """Bring the hardware claims of the source essays."""
    return records_from(HERE / "claims", ClaimSpec)
