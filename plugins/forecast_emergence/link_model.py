"""The model of a link: its formula, evaluated on what the engine draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forecast import Input
from forecast.errors import UsageError
from forecast.models import Array, Description, Model, Need, OtherQuantity, Unfitted
from forecast_emergence.chain import LINKS
from forecast_emergence.features.magnitude import MAGNITUDE_LINKS
from forecast_emergence.links import Link
from forecast_emergence.quantisation.quantisation_specs import ROUNDING_LINKS

if TYPE_CHECKING:
    from forecast import ModelSpec
    from forecast.streams import Streams


__all__ = ["link"]

#: A longer formula is no sentence: it stands among the assumptions.
_SHOWN = 160


@dataclass(frozen=True, kw_only=True)
class _Chained(Unfitted):
    link: Link

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        from forecast import formula

        if self.link.check is not None:
            self.link.check(self.name, inputs)
        self._sizes(inputs)
        with np.errstate(all="ignore"):
            value = formula.parse(self.link.expression, where=self.name).evaluate(inputs)
        out = np.array(np.broadcast_to(value, (len(time), streams.draws)), dtype=float)
        if not np.isfinite(out).all():
            first = int(np.flatnonzero(~np.isfinite(out).all(axis=0))[0])
            own = [name for name, need in self.inputs.items() if isinstance(need, Input)]
            at = ", ".join(f"{name} = {float(inputs[name][first]):.4g}" for name in own)
            said = f"{self.name}: its formula gives no finite number"
            raise UsageError(f"{said} at {at}" if at else said)
        return out

    def _sizes(self, inputs: Mapping[str, Array]) -> None:
        """Refuse a quantity that is no size: the formula would give a number, and it would mean nothing."""
        for name, unit in self.link.takes.items():
            least = float(inputs[name].min())
            if least < 0 or (least == 0 and name not in self.link.zero):
                expected = "0 or more" if name in self.link.zero else "more than 0"
                shown = f"{least:g} {unit}".rstrip()
                raise UsageError(f"{self.name}: {name}: expected {expected}, got {shown}")

    def describe(self) -> Description:
        own = [need for need in self.inputs.values() if isinstance(need, Input)]
        formula = f": {self.link.expression}" if len(self.link.expression) <= _SHOWN else ""
        return Description(
            summary=f"{self.link.title}{formula}" + (f"; {self.note}" if self.note else ""),
            assumptions=(*((self.link.expression,) if not formula else ()), *(each.as_line() for each in own)),
            sources=self.sources,
        )


def link(name: str, spec: ModelSpec) -> Model:
    """Build the model of a link by its name."""
    found = {**LINKS, **MAGNITUDE_LINKS, **ROUNDING_LINKS}[spec.name]
    inputs: dict[str, Need] = {n: OtherQuantity(unit=unit) for n, unit in found.takes.items()}
    return _Chained.from_spec(name, spec, link=found, inputs=inputs | {i.name: i for i in found.inputs})
