"""Models of devices that are code: what is announced, devices to come by one model, the charts of an essay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from forecast import ModelSpec
from forecast_hardware.gpu import ACCELERATORS_TABLE, DEVICES, PRECISIONS
from forecast_hardware.hardware_inputs import GPU

__all__ = ["DEVICE_MEASURES", "JOINT", "WITHIN", "models"]

#: Measure to its unit, the factor from the table's units, the formula over the table's columns, and what it is.
DEVICE_MEASURES: Mapping[str, tuple[str, float, tuple[str, ...], str]] = {
    "rate": ("TFLOP/s", 1.0, ("peak",), "Peak rate"),
    "per-watt": ("GFLOP/s/W", 1e3, ("peak", "tdp"), "Peak rate per watt"),
    "per-dollar": ("GFLOP/s/USD", 1e3, ("peak", "launch_price"), "Peak rate per launch dollar"),
}
#: What the names of the models that are fitted together begin with.
JOINT = "gpu-joint-"
#: The measure of one device that is within a power and a price.
WITHIN = "within"

_GUIDE_ESSAY = ModelSpec(
    name="guide-essay",
    title="RTX 4090 as a share of an H100 in 8-bit inference, by the rules of the essay of 2023-01-30",
    quantity="hardware.guide_essay",
    unit="",
    target="forecast_hardware.guide_essay:build",
    note="its facts are the figures of the essay that our tables give",
    reference=GPU,
)


def models() -> Iterator[ModelSpec]:
    """Bring ``gpu-as-announced-fp16``, ``gpu-joint-rate`` and their like."""
    yield from _as_announced()
    yield from _joint()
    yield _GUIDE_ESSAY
    yield ModelSpec(
        name="device-price",
        title="What one device costs: its quotes carried forward, or an estimate where nobody quotes it",
        quantity="hardware.device_price",
        unit="USD",
        table="datasets/accelerator-prices",
        column="price",
        each="device",
        target="forecast_hardware.prices:make_device_price",
        qualifiers={"dollars": "nominal"},
        note="of a GeForce RTX 4090 unless a device stands behind @; a launch price is no quote",
        reference="tables datasets/accelerator-prices, datasets/compute-prices and datasets/accelerators",
    )


def _as_announced() -> Iterator[ModelSpec]:
    """Bring ``gpu-as-announced-fp32``, ``-fp16`` and ``-fp8``."""
    for precision, rows in PRECISIONS.items():
        yield ModelSpec(
            name=f"gpu-as-announced-{precision}",
            title=f"Peak rate of the best device, {precision.upper()} {rows['path']}, if what is announced comes",
            quantity=f"hardware.gpu_as_announced_{precision}",
            unit="TFLOP/s",
            target="forecast_hardware.announced:as_announced",
            qualifiers={"basis": "peak", "sparsity": "dense", **rows},
            keeps="frontier",
            note="an upper reading: roadmaps slip and change, and no announced device is an observation",
            reference="Accelerators announced and not delivered, in datasets/accelerators, each with its source",
        )


def _joint() -> Iterator[ModelSpec]:
    """Bring ``gpu-joint-rate``, ``-per-watt``, ``-per-dollar`` and ``-within`` in FP32, and the first two in FP16."""
    within = (DEVICE_MEASURES["rate"][0], 1.0, (), "Peak rate, within a power and a launch price,")
    for measure, (unit, _, _, title) in {**DEVICE_MEASURES, WITHIN: within}.items():
        for precision, ending in (("fp32", ""), ("fp16", "-fp16"))[: 2 if measure in ("rate", "per-watt") else 1]:
            rows = PRECISIONS[precision]
            yield ModelSpec(
                name=f"{JOINT}{measure}{ending}",
                title=f"{title} of the best device so far, {precision.upper()} {rows['path']}, dense, fitted together",
                quantity=f"hardware.gpu_joint_{measure}{ending}".replace("-", "_"),
                unit=unit,
                target="forecast_hardware.joint:joint",
                qualifiers={
                    **rows, "sparsity": "dense", "basis": "peak",
                    **({"dollars": "nominal"} if measure == "per-dollar" else {}),
                },
                keeps="frontier",
                note="the best of what is there and of devices that come as they came",
                table=ACCELERATORS_TABLE,
                reference=f"{DEVICES}; Harvey 1989, Forecasting, Structural Time Series Models and the Kalman "
                "Filter, 8.3; Anderson 1957, JASA 52 (missing measures)",
            )  # fmt: skip
