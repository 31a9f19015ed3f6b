"""Where one device ends when transistors shrink no more: features that grow up to a limit, and a law of them.

After Hobbhahn & Besiroglu (2022): how the rate depends on features (size of a transistor, number of cores), how the
features change with the years, and a limit of the first. Here each of the three is a model of its own, fitted to
our table, so that a limit can be set from outside; their regression is a published fit of the law.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from forecast import LawSpec, ModelSpec, PublishedFit, RelationSpec, TrendSpec
from forecast_hardware.gpu import DEVICES, SINCE, TABLE

__all__ = ["LAWS", "models"]

HOBBHAHN = "Hobbhahn & Besiroglu 2022, Predicting GPU performance, Epoch AI"
#: One row a device: its plain FP32 rate, dense.
_ROW: Mapping[str, str] = {"precision": "fp32", "path": "vector", "sparsity": "dense", "status": "verified"}
_NO_RATE = dict.fromkeys(("precision", "path", "sparsity"), "")

LAWS = (
    LawSpec(
        name="rate-from-features",
        title="Peak rate of a device from the size of a transistor and the number of its units",
        expression="c*process**-a*units**b",
        variables={"process": "nm", "units": ""},
        output="peak",
        positive=("c",),
        objective="least_squares_log",
        example={"c": 18.0, "a": 1.0, "b": 0.57},
        domain={"process": (4.0, 65.0), "units": (10.0, 300.0)},
        published=(
            PublishedFit(
                name="hobbhahn2022",
                # c = 10**10.084 FLOP/s. Redone on all 1948 rows of their file, R² is 0.9503; on the 1848 dated ones,
                # which gpu-trends holds, it gives 10.067, -0.397 and 0.919, R² 0.9497
                parameters={"c": 12133888504.64973, "a": 0.412, "b": 0.920},
                reference=f"{HOBBHAHN}: peak FP32 in FLOP/s, process in nm as marketed, units are shader cores; log10 "
                "of c is 10.084 (the regression redone on all 1948 rows of their file)",
            ),
        ),
        reference=HOBBHAHN,
    ),
    LawSpec(
        name="density-from-process",
        title="Transistors on an area from the size that a process is named after",
        expression="c*process**-k",
        variables={"process": "nm"},
        output="density",
        positive=("c",),
        objective="least_squares_log",
        example={"c": 1.2e9, "k": 1.7},
        domain={"process": (4.0, 65.0)},
        reference="Moore, G. E. (1965), Cramming more components onto integrated circuits, Electronics 38(8): the "
        "number follows from the size; names of processes are no lengths, so the exponent is not 2",
    ),
)


def models() -> Iterator[ModelSpec]:
    """Bring the features over time and the two relations."""
    yield TrendSpec(
        name="process-size",
        title="Size that the processes of accelerators are named after",
        quantity="hardware.process_size",
        unit="nm",
        shape="trends/exponential",
        table=TABLE,
        x="release_date",
        y="process",
        since=SINCE,
        where=_ROW,
        basis=_NO_RATE,
        note="a name since about 1997, and no length; every device counts, not the first of a process",
        reference=DEVICES,
    )
    yield RelationSpec(
        name="density-from-process",
        title="Transistors a square millimetre from the process",
        quantity="hardware.transistor_density",
        unit="1/mm**2",
        law="hardware/density-from-process",
        table=TABLE,
        let={"process": "process"},
        y="transistors/die_area",
        where=_ROW,
        basis=_NO_RATE,
        reference=DEVICES,
    )
    yield RelationSpec(
        name="rate-from-features",
        title="Peak FP32 rate from the process and the number of multiprocessors or compute units",
        quantity="hardware.gpu_peak_fp32",
        unit="TFLOP/s",
        law="hardware/rate-from-features",
        table=TABLE,
        let={"process": "process", "units": "units"},
        y="peak",
        where=_ROW,
        basis={"basis": "peak"},
        note="units of two makers are not alike, and both features grew with the years: the law is carried far "
        "beyond its table when a limit is asked for",
        reference=f"{DEVICES}; {HOBBHAHN} (the form)",
    )
