"""A quantity that compounds: from what it was at a date, at a growth rate that another quantity gives.

Before the date it is held at what it was: what is to come says nothing of what has been.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forecast import Input, ModelSpec
from forecast.errors import DataError
from forecast.models import Description, Model, Need, OtherQuantity, Unfitted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forecast.streams import Streams

    Array = NDArray[np.float64]

__all__ = ["compounding"]

#: Log values beyond this leave what a float holds.
_LARGEST = 600.0


def compounding(name: str, spec: ModelSpec) -> Model:
    """Build ``start*exp(growth*max(t - date, 0))``; growth is a quantity, may change over time, and is summed up.

    Parameters
    ----------
    name : str
    spec : ModelSpec
        One of those that `forecast_resources.needs.STARTS` gives a start and its date.
    """
    from forecast_resources.needs import STARTS

    inputs: dict[str, Need] = {i.name: i for i in STARTS[spec.name]}
    inputs["growth"] = OtherQuantity(unit="1/year", title="rate of growth of the logarithm")
    return _Compounding(
        name=name, unit=spec.unit, inputs=inputs, note=spec.note, sources=(spec.reference,), qualifiers=spec.qualifiers
    )


@dataclass(frozen=True, kw_only=True)
class _Compounding(Unfitted):
    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        import numpy as np

        growth, date = inputs["growth"], inputs["date"]
        if not np.isfinite(growth).all():
            raise DataError(
                f"{self.name}.growth: expected finite rates, {int((~np.isfinite(growth)).sum())} of {growth.size} are "
                "infinite or not numbers; is something divided by zero?"
            )
        # growth is that of a step between dates, at the later one; from the start to the first date it is that date's
        since = np.maximum(time[:, None] - date, 0.0)
        level = np.log(inputs["start"]) + np.cumsum(np.diff(since, axis=0, prepend=0.0) * growth, axis=0)
        return np.asarray(np.exp(np.clip(level, -_LARGEST, _LARGEST)))

    def describe(self) -> Description:
        start = self.inputs["start"]
        assert isinstance(start, Input)
        return Description(
            summary="compounds at the growth that another quantity gives" + (f"; {self.note}" if self.note else ""),
            assumptions=(f"start: {dict(start.distribution)} [{start.unit}] ({start.source})",),
            sources=self.sources,
        )
