"""What one accelerator gives, per device, per dollar, per watt, and how fast it moves data: trends on rival shapes.

The shape that did best on other series, `trends/pool`, stands beside each where none is named; any other may. Of seven
of them each world may draw one (``@pooled``): that is our choice and measures nothing. Every series is of one precision
and one path, dense: a series that goes from 32 bits to 16 to 8 shows formats that each came once, and takes them for
growth. The staircase is the shape for such a series.

What the best device gives, at all or per watt, is a running maximum, and shapes that follow one path go from the best
of one year to that of the next. Of what devices give per dollar and, as rivals of the best, per watt, every device
tells, as buyers do not all buy the best: such a shape then follows the mean of each year, in logs, which is what a line
through all devices estimates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from forecast import SeriesShape, TrendSpec

__all__ = ["POOL_SHAPES", "PRECISIONS", "models", "series"]

ACCELERATORS_TABLE = "datasets/accelerators"
#: Devices without a date, for which no source was opened, are left out with those before it.
FIRST_RELEASE = "2006-01-01"
DEVICES = "Accelerators compiled in datasets/accelerators, each with its source"
HOBBHAHN = "Hobbhahn & Besiroglu 2022, Predicting GPU performance, Epoch AI: 1e14 to 1e15 FLOP/s in FP32 by 2027-2035"

#: Precision to the rows that state it: one path each, dense.
PRECISIONS = {
    "fp32": {"precision": "fp32", "path": "vector"},
    "fp16": {"precision": "fp16", "path": "tensor"},
    "fp8": {"precision": "fp8", "path": "tensor"},
}
#: Formula over the table's columns, unit, what it is, its precisions, and whether only records count.
_GPU_MEASURES = {
    "peak": ("peak", "TFLOP/s", "Peak rate of the best device so far", ("fp32", "fp16", "fp8"), True),
    "per-dollar": ("peak/launch_price", "GFLOP/s/USD", "Every device's peak rate per launch dollar", ("fp32",), False),
    "per-watt": ("peak/tdp", "GFLOP/s/W", "Every device's peak rate per watt", ("fp32", "fp16", "fp8"), False),
    "best-per-watt": (
        "peak/tdp",
        "GFLOP/s/W",
        "Peak rate per watt of the best device so far",
        ("fp32", "fp16", "fp8"),
        True,
    ),
}
#: Shapes of which a world of ``@pooled`` draws one, every one alike.
POOL_SHAPES = ("exponential", "changepoint", "logistic", "gompertz", "damped-trend", "local-linear", "random-walk")
#: Shapes that follow one path: devices of one season are no steps of it.
_PATHS = ("damped-trend", "local-linear", "random-walk")
#: FP8 has so few years that a state space goes by its single records, and a mean is that of half a year.
_SHORT_FORMAT = "fp8"
#: A damped trend needs six records, and of FP8 there are five per watt.
_FIVE_RECORDS = ("best-per-watt", "fp8")
#: No default model uses an unverified row, and that leaves too few prices of tensor cores.
_ONE_PRECISION = (
    "FP32 alone: most rates of tensor cores that have a launch price beside them are derived, and marked unverified"
)
#: What FP32 can reach, after the one source that derives it; how many times more a lower precision gives is ours.
_CAPS: Mapping[str, Mapping[str, object]] = {
    "fp32": {"p05": 100.0, "p95": 1000.0, "unit": "TFLOP/s", "source": HOBBHAHN},
    "fp16": {
        "p05": 1600.0,
        "p95": 16000.0,
        "unit": "TFLOP/s",
        "source": f"{HOBBHAHN}; times 16, about what tensor cores give over FP32 in 2024 and 2025 (ours)",
    },
    "fp8": {
        "p05": 3200.0,
        "p95": 32000.0,
        "unit": "TFLOP/s",
        "source": f"{HOBBHAHN}; times 32: half the bits of FP16, twice its rate (ours)",
    },
}
_DENSE: Mapping[str, str] = {"sparsity": "dense", "peak_status": "verified", "status": "verified"}

_WIDTH = "how wide the gain is, and the years, are our judgement"
#: One-off features of the peak rate, and of bandwidth: when a tenth of their effect was there, and what they gave. That
#: they came once is the essay's; a test holds what is said of the table here against the table.
FORMATS: Mapping[str, Mapping[str, object]] = {
    "16-bit": {
        "date": 2016.3,
        "gain": {"p05": 1.5, "p95": 2.5},
        "years": 2.0,
        "source": "the first device of the table with twice its FP32 rate in 16 bits: tesla-p100-sxm2, 2016-04-05; "
        f"{_WIDTH}",
    },
    "tensor-cores": {
        "date": 2017.4,
        "gain": {"p05": 2.0, "p95": 8.0},
        "years": 2.0,
        "source": "between the first two devices of the table with a matrix path in 16 bits: tpu-v2, 2017-05-01, and "
        f"tesla-v100-pcie-16gb, 2017-06-21, whose matrix path gives 4 times its plain one; {_WIDTH}",
    },
    "8-bit": {
        "date": 2022.6,
        "gain": {"p05": 1.5, "p95": 2.5},
        "years": 2.0,
        "source": "between the first devices of the table with FP8: gaudi-2, 2022-05-10, and geforce-rtx-4090 and "
        f"h100-sxm5, 2022-09-20, each with twice its 16-bit rate; {_WIDTH}",
    },
    "4-bit": {
        "date": 2024.9,
        "gain": {"p05": 1.5, "p95": 2.5},
        "years": 2.0,
        "source": "between the first devices of the table with FP4: b200, announced 2024-03-18, with twice its FP8 "
        f"rate, and geforce-rtx-5090, 2025-01-30; where between them, {_WIDTH}",
    },
    "below-4-bit": {
        "date": {"low": 2027.0, "high": 2035.0},
        "gain": {"p05": 1.1, "p95": 2.0},
        "years": 3.0,
        "probability": 0.25,
        "source": "no device of the table has it: date, gain, years and probability are our judgement",
    },
}
MEMORY_STEPS: Mapping[str, Mapping[str, object]] = {
    "HBM": {
        "date": 2015.5,
        "gain": {"p05": 1.3, "p95": 3.0},
        "years": 3.0,
        "source": "the first device of the table with HBM: radeon-r9-fury-x, 2015-06-24; gain and years are our "
        "judgement",
    }
}
SCALING_ESSAY = (
    "Dettmers 2025-12-10, Why AGI Will Not Happen (16-bit, tensor cores, HBM, TMA, 8-bit, 4-bit: one-off features)"
)


def models() -> Iterator[TrendSpec]:
    """Bring ``gpu-peak-fp16``, ``gpu-per-watt-fp32``, ``gpu-bandwidth``, ..."""
    for measure, (column, unit, title, precisions, records) in _GPU_MEASURES.items():
        for precision in precisions:
            rows = PRECISIONS[precision]
            yield series(
                f"gpu-{measure}-{precision}",
                f"{title}, {precision.upper()} {rows['path']}, dense",
                y=column,
                unit=unit,
                where={**rows, **_DENSE},
                qualifiers={"basis": "peak", **({"dollars": "nominal"} if measure == "per-dollar" else {})},
                records=records,
                keeps="frontier" if records else "",
                shapes=tuple(
                    each
                    for each in _pool_shapes(
                        records, _CAPS[precision] if measure == "peak" else None, short=precision == _SHORT_FORMAT
                    )
                    if (measure, precision) != _FIVE_RECORDS or each.name != "trends/damped-trend"
                ),
                note=_ONE_PRECISION if measure == "per-dollar" else "",
            )
    yield series(
        "gpu-per-dollar-fp16-consumer",
        "Peak rate per launch dollar of the best consumer device so far, FP16 tensor, dense",
        y="peak/launch_price",
        unit="GFLOP/s/USD",
        where={"kind": "consumer", **PRECISIONS["fp16"], **_DENSE},
        qualifiers={"basis": "peak", "dollars": "nominal"},
        records=True,
        keeps="frontier",
        note="few points: of most consumer devices the rate of tensor cores is derived, and marked unverified; makers "
        "of data-centre devices publish no price",
    )
    yield series(
        "gpu-bandwidth",
        "Memory bandwidth of the best device so far",
        y="bandwidth",
        unit="GB/s",
        where={"status": "verified"},
        records=True,
        keeps="frontier",
        shapes=(*_pool_shapes(True), _staircase(MEMORY_STEPS, "HBM came once")),
    )
    yield series(
        "gpu-power",
        "Power of the released device that draws most so far",
        y="tdp",
        unit="W",
        where={"status": "verified"},
        records=True,
        keeps="frontier",
        shapes=_pool_shapes(True),
        note="by the data sheet of one package; wafers, whose makers state the power of a system, are left out",
    )
    nobody = "no source says what the best device can reach at whatever precision"
    yield series(
        "gpu-best",
        "Peak rate at whatever precision, best so far",
        y="peak",
        unit="TFLOP/s",
        where=_DENSE,
        qualifiers={"basis": "peak", "precision": "any", "path": "any"},
        records=True,
        keeps="frontier",
        shapes=(
            SeriesShape(name="trends/pool", note="it takes the steps of formats for growth"),
            SeriesShape(name="trends/exponential", note="it takes the steps of formats for growth"),
            _staircase(FORMATS, "TMA raises what is delivered, not the peak"),
            SeriesShape(name="trends/logistic", needs=("cap",), note=nobody),
            SeriesShape(name="trends/gompertz", needs=("cap",), note=nobody),
        ),
        note="formats with fewer bits are in it, and each came once",
    )


def _pool_shapes(
    best: bool, cap: Mapping[str, object] | None = None, *, short: bool = False
) -> tuple[SeriesShape, ...]:
    """Say what each shape of the pool needs; `best`: the series keeps records, `short`: it covers few years."""
    each = tuple(
        SeriesShape(
            name=f"trends/{shape}",
            weight=1.0,
            options=_options(shape, best, cap, short),
            yearly=True if shape in _PATHS and best and (shape == "random-walk" or not short) else None,
        )
        for shape in POOL_SHAPES
    )
    return (SeriesShape(name="trends/pool", note="several shapes in one, so no world draws it again"), *each)


def _options(shape: str, best: bool, cap: Mapping[str, object] | None, short: bool) -> dict[str, object]:
    if shape in ("logistic", "gompertz") and cap is not None:
        return {"cap": cap}
    return {"average": 0.5 if short else 1.0} if shape in _PATHS and not best else {}


def _staircase(features: Mapping[str, Mapping[str, object]], note: str) -> SeriesShape:
    return SeriesShape(name="trends/staircase", options={"features": features}, note=note, reference=SCALING_ESSAY)


def series(name: str, title: str, *, quantity: str = "", since: str = FIRST_RELEASE, **said: Any) -> TrendSpec:
    """Return a series of devices by their dates of release."""
    return TrendSpec(
        name=name,
        title=title,
        quantity=f"hardware.{quantity or name.replace('-', '_')}",
        shape="trends/pool",
        table=ACCELERATORS_TABLE,
        x="release_date",
        since=since,
        reference=DEVICES,
        **said,
    )
