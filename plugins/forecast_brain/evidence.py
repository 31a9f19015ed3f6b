"""How the estimate moved: what somebody who weighed every published figure alike would have said in each year."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from forecast import Input
from forecast.errors import DataError
from forecast.models import Array, Description, FittedModel, Model, Need, OtherModel, Unfitted, model
from forecast_brain import POOLED

if TYPE_CHECKING:
    from forecast import ModelSpec
    from forecast.streams import Streams


__all__ = ["PUBLISHED", "evidence"]

#: Estimate to the year it was published, the earliest first.
PUBLISHED: Mapping[str, int] = {
    f"brain/{name}": year for year, name in sorted((year, name) for name, year in POOLED.items())
}
PICK = "member"


def evidence(name: str, spec: ModelSpec) -> Model:
    """Build the model: at each time, a mixture of what was published by then."""
    pick = Input(
        name=PICK,
        unit="",
        distribution={"low": 0.0, "high": 1.0},
        source="every author alike",
        title="which of the authors a draw takes, in the order of publication",
    )
    inputs: dict[str, Need] = {PICK: pick}
    inputs.update({member: OtherModel(model=model(member, where=name)) for member in PUBLISHED})
    return _Evidence.from_spec(name, spec, inputs=inputs)


@dataclass(frozen=True, kw_only=True)
class _Evidence(Unfitted):
    as_of: float = float("inf")

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        return self if as_of is None else replace(self, as_of=as_of)

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        names = list(PUBLISHED)
        years = np.array([PUBLISHED[n] for n in names])
        levels = np.stack([inputs[n] for n in names])
        out = np.empty((len(time), streams.draws))
        for step, now in enumerate(time):
            known = int(np.sum((years <= now) & (years < self.as_of)))
            if known == 0:
                first = f"{years[0]}" if now < years[0] else f"the date {self.as_of:.1f} that it was fitted before"
                raise DataError(f"{self.name}: nothing was published by {now:.1f}; expected a start from {first} on")
            taken = np.minimum((inputs[PICK] * known).astype(int), known - 1)
            out[step] = levels[taken, step, np.arange(streams.draws)]
        return out

    def describe(self) -> Description:
        said = ", ".join(f"{n.partition('/')[2]}" for n, year in PUBLISHED.items() if year < self.as_of)
        return Description(
            summary=f"the published estimates year by year, every author alike: {said}; {self.note}",
            assumptions=("an estimate counts from the first day of its year and for ever after",),
            sources=self.sources,
        )
