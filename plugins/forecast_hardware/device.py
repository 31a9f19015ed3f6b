"""What one device delivers: roofline and caches, cycles of a matrix multiplication, batches and tiles."""

from __future__ import annotations

from collections.abc import Iterator

from forecast import EstimateSpec, TrendSpec, UnitSpec
from forecast_hardware.gpu import FIRST_RELEASE, series
from forecast_hardware.hardware_inputs import GPU, JUDGED, fixed

__all__ = ["DEVICE_UNITS", "models"]

_ROOFLINE = "Williams, Waterman, Patterson 2009, Roofline, CACM 52(4), doi:10.1145/1498765.1498785"
_MATMUL = f"{GPU}, on a 32 x 32 matrix multiplication with and without tensor cores"
_TABLE = "table datasets/accelerators, row a100-sxm4-40gb"

DEVICE_UNITS = (
    UnitSpec(name="cycle", definition="cycle = [cycle]", title="a clock cycle of a device", reference="ours"),
    UnitSpec(name="element", definition="element = [element]", title="a number in a tensor", reference="ours"),
)


def _roofline() -> Iterator[EstimateSpec]:
    peak = fixed(
        "peak", "TFLOP/s", 312.0, _TABLE, "dense FP16 tensor peak", precision="fp16", path="tensor", sparsity="dense"
    )
    bandwidth = fixed("bandwidth", "GB/s", 1555.0, _TABLE, "of the memory")
    intensity = fixed("intensity", "FLOP/B", 100.0, JUDGED, "FLOP for each byte moved from memory")
    yield EstimateSpec(
        name="roofline",
        title="Attainable rate of a kernel on one device, limited by arithmetic or by memory",
        quantity="hardware.attainable",
        unit="TFLOP/s",
        expression="min(peak, intensity*bandwidth)",
        inputs=(peak, bandwidth, intensity),
        note="an A100 until peak, bandwidth and intensity are set",
        reference=_ROOFLINE,
    )
    yield EstimateSpec(
        name="cache-roofline",
        title="The roofline with a cache level: bytes found there do not wait for memory",
        quantity="hardware.attainable",
        unit="TFLOP/s",
        expression="min(peak, intensity/(hit_share/cache_bandwidth + (1 - hit_share)/bandwidth))",
        inputs=(
            peak,
            bandwidth,
            intensity,
            fixed("hit_share", "", 0.5, JUDGED, "of the bytes that are found in the cache"),
            fixed(
                "cache_bandwidth", "GB/s", 7219.0, "NVIDIA A100: 5120 B a clock at 1.41 GHz; from memory, unverified"
            ),
        ),
        note="with several levels, put the time of the lower ones into bandwidth",
        reference="Ilic, Pratas, Sousa 2014, Cache-aware Roofline Model, doi:10.1109/L-CA.2013.6; levels add up",
    )


def _cycles() -> Iterator[EstimateSpec]:
    """Six estimates: three kernels, each with the essay's 200 cycles and with the latency of its own table."""
    shared = fixed("shared_latency", "cycle", 34.0, f"{_MATMUL}: shared memory")
    tensor = fixed("tensor_latency", "cycle", 1.0, f"{_MATMUL}: one tensor-core operation")
    kernels = {
        "plain": (
            "without tensor cores",
            "memory_latency + shared_reads*shared_latency + multiplications*multiply_latency",
            (
                shared,
                fixed("shared_reads", "", 8.0, f"{_MATMUL}: eight reads of shared memory"),
                fixed("multiplications", "", 8.0, f"{_MATMUL}: eight fused multiplications and additions"),
                fixed("multiply_latency", "cycle", 4.0, f"{_MATMUL}: four cycles each"),
            ),
        ),
        "tensor": ("with tensor cores", "memory_latency + shared_latency + tensor_latency", (shared, tensor)),
        "asynchronous": (
            "with tensor cores, the next tile copied behind the work on this one",
            "max(memory_latency, shared_latency + tensor_latency)",
            (shared, tensor),
        ),
    }
    memories = {
        "": (200.0, f"{_MATMUL}: 200 cycles", "200 is the latency of L2 in the essay's own table"),
        "-global": (380.0, f"{GPU}: 380 cycles in its table of latencies", "the essay counts 200 here"),
    }
    for kernel, (says, expression, inputs) in kernels.items():
        for suffix, (latency, source, note) in memories.items():
            yield EstimateSpec(
                name=f"matmul-cycles-{kernel}{suffix}",
                title=f"Cycles of a 32 x 32 matrix multiplication {says}",
                quantity="hardware.matmul_cycles",
                unit="cycle",
                expression=expression,
                inputs=(fixed("memory_latency", "cycle", latency, source), *inputs),
                note=note,
                reference=_MATMUL,
            )


def _tiles() -> Iterator[EstimateSpec]:
    yield EstimateSpec(
        name="tensor-core-operations",
        title="Tensor-core operations in a square matrix multiplication",
        quantity="hardware.tensor_core_operations",
        unit="",
        expression="(side/core_side)**3",
        inputs=(
            fixed("side", "", 32.0, _MATMUL),
            fixed("core_side", "", 4.0, f"{GPU}: a tensor core multiplies 4 x 4 matrices"),
        ),
        note="the essay counts 64, the tiles of the result alone; each needs eight products",
        reference="a product of n x n matrices has n**3 multiplications",
    )
    yield EstimateSpec(
        name="tile-efficiency",
        scale="share",
        title="Share of the work that is wanted when a matrix is cut into whole tiles",
        quantity="hardware.tile_efficiency",
        unit="",
        expression="rows*columns/(ceil(rows/tile_rows)*tile_rows*ceil(columns/tile_columns)*tile_columns)",
        inputs=(
            fixed("rows", "", 32.0, f"{GPU}: the batch a device; it loses speed below 64"),
            fixed("columns", "", 1024.0, JUDGED),
            fixed("tile_rows", "", 64.0, f"{GPU}: tiles of 64 x 128"),
            fixed("tile_columns", "", 128.0, f"{GPU}: tiles of 64 x 128"),
        ),
        reference="NVIDIA, Matrix Multiplication Background User's Guide, tile quantization (from memory, unverified)",
    )
    yield EstimateSpec(
        name="wave-efficiency",
        scale="share",
        title="Share of the time that the units of a device are busy when blocks come in whole waves",
        quantity="hardware.wave_efficiency",
        unit="",
        expression="blocks/(ceil(blocks/units)*units)",
        inputs=(
            fixed("blocks", "", 90.0, JUDGED),
            fixed("units", "", 82.0, "streaming multiprocessors of an RTX 3090: table datasets/accelerators"),
        ),
        reference="NVIDIA, Matrix Multiplication Background User's Guide, wave quantization (from memory, unverified)",
    )


def _frontiers() -> Iterator[TrendSpec]:
    """Bring the trends that claims are judged by, and the series of a published figure that does not reproduce."""
    # one row a device: its plain FP32 rate; what is then said is not of FP32
    row = {"precision": "fp32", "path": "vector", "sparsity": "dense"}
    where = {**row, "status": "verified"}
    yield series(
        "memory-bandwidth-frontier",
        "Highest memory bandwidth of an accelerator",
        quantity="memory_bandwidth",
        unit="GB/s",
        y="bandwidth",
        records=True,
        keeps="frontier",
        where=where,
        qualifiers=dict.fromkeys(row, ""),
    )
    plain = "plain FP32 of every device with a launch price, in dollars of the day"
    mixed = "no growth of one kind: cards of 2016 ran FP16 at 1/64 of FP32, later ones at its rate or twice that"
    for name, precision, since, title, note in (
        ("fp32-per-dollar", "fp32", FIRST_RELEASE, "FP32 rate for each dollar of launch price", plain),
        ("fp32-per-dollar-since-2018", "fp32", "2018-07-01",
         "FP32 rate for each dollar of launch price, since the middle of 2018", plain),
        ("fp16-per-dollar", "fp16", FIRST_RELEASE, "FP16 rate of vector units for each dollar of launch price", mixed),
    ):  # fmt: skip
        yield series(
            name,
            title,
            quantity=f"{precision}_per_dollar",
            unit="GFLOP/s/USD",
            y="peak/launch_price",
            since=since,
            where={**where, "precision": precision},
            qualifiers={"dollars": "nominal"},
            note=note,
        )


def models() -> Iterator[EstimateSpec | TrendSpec]:
    """Bring the estimates, and the trends that claims need."""
    yield from _roofline()
    yield from _cycles()
    yield from _tiles()
    yield from _frontiers()
