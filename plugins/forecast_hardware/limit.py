"""Where one device ends when transistors shrink no more: features that grow up to a limit, and a law of them.

After Hobbhahn & Besiroglu (2022): how the rate depends on features (size of a transistor, number of cores), how the
features change with the years, and a limit of the first. Here each of the three is a model of its own, fitted to
our table, so that a limit can be set from outside; their regression is a published fit of the law.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from forecast import ModelSpec, RelationSpec, SeriesShape, TrendSpec
from forecast_hardware.gpu import ACCELERATORS_TABLE, DEVICES, series

__all__ = ["models"]

HOBBHAHN_LIMIT = "Hobbhahn & Besiroglu 2022, Predicting GPU performance, Epoch AI"
#: One row a device: its plain FP32 rate, dense.
_LIMIT_ROW: Mapping[str, str] = {"precision": "fp32", "path": "vector", "sparsity": "dense", "status": "verified"}
#: What makers announced is no observation: it has no date of release, so that no trend sees it, and no relation may.
_RELEASED: Mapping[str, str] = {**_LIMIT_ROW, "evidence": "released"}
_NO_RATE = dict.fromkeys(("precision", "path", "sparsity"), "")


def models() -> Iterator[ModelSpec]:
    """Bring the features over time and the two relations."""
    yield series(
        "process-size",
        "Size that the processes of accelerators are named after",
        unit="nm",
        shapes=tuple(
            SeriesShape(name=f"trends/{shape}", refused="it falls, and the cap of this shape lies above")
            for shape in ("logistic", "gompertz")
        ),
        y="process",
        where=_LIMIT_ROW,
        qualifiers=_NO_RATE,
        note="a name since about 1997, and no length; every device counts, not the first of a process",
    )
    yield TrendSpec(
        name="fab-cost",
        title="What a fab costs, as its maker announces it",
        quantity="hardware.fab_cost",
        unit="USD",
        shape="trends/pool",
        table="datasets/fabs",
        x="date",
        y="cost/plants",
        where={"origin": "announced"},
        qualifiers={"dollars": "nominal"},
        note="announcements are for years to come and do not all buy the same; the essay of 2015 says 7 to 10 % a year "
        "in its text and a doubling in 18 or 36 months in a caption",
        reference="Announcements of makers, as compiled in datasets/fabs; Moore's second law: Rupp & Selberherr 2011, "
        "The economic limit to Moore's law, doi:10.1109/TSM.2010.2089811 (from memory)",
    )
    yield RelationSpec(
        name="density-from-process",
        title="Transistors a square millimetre from the process",
        quantity="hardware.transistor_density",
        unit="1/mm**2",
        law="hardware/density-from-process",
        table=ACCELERATORS_TABLE,
        let={"process": "process"},
        y="transistors/die_area",
        where=_RELEASED,
        qualifiers=_NO_RATE,
        reference=DEVICES,
    )
    yield RelationSpec(
        name="rate-from-features",
        title="Peak FP32 rate from the process and the number of multiprocessors or compute units",
        quantity="hardware.gpu_peak_fp32",
        unit="TFLOP/s",
        law="hardware/rate-from-features",
        table=ACCELERATORS_TABLE,
        let={"process": "process", "units": "units"},
        y="peak",
        where=_RELEASED,
        qualifiers={"basis": "peak"},
        note="units of two makers are not alike, and both features grew with the years: the law is carried far "
        "beyond its table when a limit is asked for",
        reference=f"{DEVICES}; {HOBBHAHN_LIMIT} (the form)",
    )
