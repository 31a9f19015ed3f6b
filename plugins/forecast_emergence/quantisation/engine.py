"""Error against bits for the engine: the essay's vector, with its facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forecast.errors import UsageError
from forecast.models import Array, Description, Model, OtherQuantity, Unfitted

if TYPE_CHECKING:
    from forecast import ModelSpec
    from forecast.streams import Streams


__all__ = ["check_bits", "quantisation_error"]


#: The widest numbers that the vector is quantised to.
MAX_BITS = 16


@dataclass(frozen=True, kw_only=True)
class _Vector(Unfitted):
    """The essay's ten numbers, quantised to every width."""

    outlier: bool

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        from forecast_emergence.quantisation.worked import VECTOR, vector_error

        bits = np.broadcast_to(np.asarray(inputs["bits"], dtype=float), (len(time), streams.draws))
        check_bits(bits, self.name, largest=MAX_BITS)
        # in one bit, a sign, nothing is left; between whole widths some numbers have the one, some the other
        errors = [float(np.mean(np.abs(VECTOR if self.outlier else VECTOR[:-1])))]
        errors += [vector_error(b, outlier=self.outlier)[0] for b in range(2, MAX_BITS + 1)]
        return np.asarray(np.interp(bits, range(1, MAX_BITS + 1), errors))

    def describe(self) -> Description:
        from forecast_emergence.quantisation.worked import facts

        return Description(
            summary=f"Mean error of the essay's ten numbers {'with' if self.outlier else 'without'} the outlier of "
            "-67, quantised by absmax",
            sources=self.sources,
            facts=facts(),
        )


def check_bits(bits: Array, name: str, *, largest: float = float("inf")) -> None:
    """Refuse bits that hold no more than a sign."""
    least, most = float(np.min(bits)), float(np.max(bits))
    if not (least > 1 and most <= largest):
        wrong = most if least > 1 else least
        upper = f", and at most {largest:g}" if largest < float("inf") else ""
        raise UsageError(f"{name}: got {wrong:g} bits; a sign takes one, so absmax needs more than 1{upper}")


def quantisation_error(name: str, spec: ModelSpec) -> Model:
    """Build a model of the vector's error by its name."""
    inputs = {"bits": OtherQuantity(unit="bit")}
    return _Vector.from_spec(name, spec, outlier=not spec.name.endswith("without-outlier"), inputs=inputs)
