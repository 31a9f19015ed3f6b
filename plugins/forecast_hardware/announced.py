"""What makers have announced: an upper reading of a frontier, and never an observation of one.

Devices that were announced and not delivered stand in the accelerators table as ``evidence`` = ``announced``, with the
last day of the time for which their maker plans them and without a date of release. A frontier may be read as if each
came then, in full. Roadmaps slip and change: Rubin CPX was cancelled, Rubin Ultra is reported halved, Ascend 970 was
cut from 4 to 3.6 PFLOP/s, and Ascend 960DT moved forward by three quarters. Delay and share are therefore inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from forecast import ModelSpec
from forecast.models import Array, Description, FittedModel, ModelRecord, OtherQuantity
from forecast_hardware.gpu import ACCELERATORS_TABLE, PRECISIONS
from forecast_hardware.hardware_inputs import fixed

if TYPE_CHECKING:
    from forecast.models import Model
    from forecast.streams import Streams


__all__ = ["as_announced"]

_RATE_UNIT = "TFLOP/s"
_ROADMAPS = (
    "as announced; Rubin CPX was cancelled, Rubin Ultra is reported halved and late, Ascend 970 was cut by a tenth, "
    "Ascend 960DT moved forward by three quarters (table datasets/accelerators)"
)


def as_announced(name: str, spec: ModelSpec) -> Model:
    """Build the model: a frontier, raised at the date of each plan to what is planned."""
    inputs = {
        "frontier": OtherQuantity(unit=_RATE_UNIT, title="the best device of its day", qualifiers=spec.qualifiers),
        "slip": fixed("slip", "year", 0.0, _ROADMAPS, "how much later than planned devices come"),
        "delivered": fixed("delivered", "", 1.0, _ROADMAPS, "share of the announced rate that is delivered"),
    }
    return _AsAnnounced.from_spec(name, spec, inputs=inputs, rows=PRECISIONS[name.rpartition("-")[2]])


@dataclass(frozen=True, kw_only=True)
class _AsAnnounced(ModelRecord):
    rows: Mapping[str, str] = field(default_factory=dict)

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        """Read the plans that were known before a date."""
        from forecast import tables

        rows = tables.to_columns(ACCELERATORS_TABLE)
        kept = np.isfinite(rows.numeric("peak"))
        wanted = {**self.rows, "evidence": "announced", "sparsity": "dense", "status": "verified"}
        for column, value in {**wanted, "peak_status": "verified"}.items():
            kept &= rows[column] == value
        planned = tables.decimal_year(rows["planned_date"])
        kept &= np.isfinite(planned)
        if as_of is not None:
            kept &= tables.decimal_year(rows["announced"]) < as_of
        order = np.argsort(planned[kept], kind="stable")
        return _Plans(
            planned=planned[kept][order],
            peak=rows.numeric("peak")[kept][order],
            called=tuple(str(each) for each in rows["name"][kept][order]),
            model=self,
        )


@dataclass(frozen=True, kw_only=True)
class _Plans(FittedModel):
    """The plans, in the order of their dates."""

    planned: Array
    peak: Array
    called: tuple[str, ...]
    model: _AsAnnounced

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        level = np.array(np.broadcast_to(inputs["frontier"], (len(time), streams.draws)))
        for planned, peak in zip(self.planned, self.peak, strict=True):
            due = time[:, None] >= planned + inputs["slip"]
            level = np.where(due, np.maximum(level, peak * inputs["delivered"]), level)
        return level

    def describe(self) -> Description:
        plans = zip(self.called, self.peak, self.planned, strict=True)
        said = "; ".join(f"{name}: {peak:,.0f} {_RATE_UNIT} by {when:.1f}" for name, peak, when in plans)
        return Description(
            summary=f"{said or 'no device with a dense rate is announced'}; {self.model.note}",
            assumptions=("every announced device comes in the time that its maker plans, at the rate it announced",),
            sources=self.model.sources,
            facts={"n": float(len(self.planned))},
        )

    def with_inputs(self, inputs: Mapping[str, object]) -> FittedModel:
        return replace(self, model=replace(self.model, inputs={**self.model.inputs, **inputs}))
