"""The growth of another quantity: what it gained a year over the last five years."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forecast import ModelSpec
from forecast.models import Array, Description, Model, OtherQuantity, Unfitted

if TYPE_CHECKING:
    from forecast.streams import Streams


__all__ = ["growth"]

#: Growth is taken over this many years: from one to the next, draws of a walk go up and down.
GROWTH_YEARS = 5.0


def growth(name: str, spec: ModelSpec) -> Model:
    """Build the model: d(log y)/dt of the quantity ``level``, which has no unit (divide it by one of its units)."""
    return _Growth.from_spec(name, spec, inputs={"level": OtherQuantity(unit="")})


@dataclass(frozen=True, kw_only=True)
class _Growth(Unfitted):
    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        with np.errstate(divide="ignore"):
            logs = np.log(inputs["level"])
        now = np.arange(len(time))
        # the last step at least five years ago; before there is one, the first step; at the first, the second's growth
        then = np.maximum(np.searchsorted(time, time - GROWTH_YEARS + 1e-6, side="right") - 1, 0)
        now[0] = min(1, len(time) - 1)
        apart = np.maximum(time[now] - time[then], 1e-9)
        return np.asarray((logs[now] - logs[then]) / apart[:, None])

    def describe(self) -> Description:
        return Description(
            summary=f"growth a year of the logarithm over the last {GROWTH_YEARS:g} years",
            assumptions=(f"over the first {GROWTH_YEARS:g} years of the projection: since its start",),
            sources=self.sources,
        )
