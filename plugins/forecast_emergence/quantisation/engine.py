"""Error against bits for the engine: what the law says of hidden states, and the essay's vector with its facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forecast import Input
from forecast.errors import UsageError
from forecast.models import Array, Description, Model, Need, OtherQuantity, Unfitted
from forecast_emergence.quantisation.quantisation_specs import FORMULAS, UNIFORM
from forecast_emergence.sources import ESSAY, INT8

if TYPE_CHECKING:
    from forecast import ModelSpec
    from forecast.streams import Streams


__all__ = ["quantisation_error"]


#: The widest numbers that the vector is quantised to.
MAX_BITS = 16
_VECTORS = {"vector-error": True, "vector-error-without-outlier": False}


@dataclass(frozen=True, kw_only=True)
class _Rounding(Unfitted):
    """The law, capped where nothing is left."""

    formula: str
    title: str

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        from forecast import formula

        _check_bits(inputs["bits"], self.name)
        for name in self.inputs:
            if float(np.min(inputs[name])) <= 0:
                raise UsageError(f"{self.name}: {name}: expected more than 0, got {float(np.min(inputs[name])):g}")
        value = formula.parse(self.formula, where=self.name).evaluate(inputs)
        return np.array(np.broadcast_to(value, (len(time), streams.draws)), dtype=float)

    def describe(self) -> Description:
        own = [need for need in self.inputs.values() if isinstance(need, Input)]
        return Description(
            summary=f"{self.title}: {self.formula}; 1 where nothing is left",
            assumptions=tuple(f"{i.name}: {dict(i.distribution)} ({i.source})" for i in own),
            sources=(UNIFORM, INT8),
        )


@dataclass(frozen=True, kw_only=True)
class _Vector(Unfitted):
    """The essay's ten numbers, quantised to every width."""

    outlier: bool

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        from forecast_emergence.quantisation.worked import VECTOR, vector_error

        bits = np.broadcast_to(np.asarray(inputs["bits"], dtype=float), (len(time), streams.draws))
        _check_bits(bits, self.name, largest=MAX_BITS)
        # in one bit, a sign, nothing is left; between whole widths some numbers have the one, some the other
        errors = [float(np.mean(np.abs(VECTOR if self.outlier else VECTOR[:-1])))]
        errors += [vector_error(b, outlier=self.outlier)[0] for b in range(2, MAX_BITS + 1)]
        return np.asarray(np.interp(bits, range(1, MAX_BITS + 1), errors))

    def describe(self) -> Description:
        from forecast_emergence.quantisation.worked import facts

        return Description(
            summary=f"Mean error of the essay's ten numbers {'with' if self.outlier else 'without'} the outlier of "
            "-67, quantised by absmax",
            sources=(ESSAY,),
            facts=facts(),
        )


def _check_bits(bits: Array, name: str, *, largest: float = float("inf")) -> None:

    least, most = float(np.min(bits)), float(np.max(bits))
    if not (least > 1 and most <= largest):
        wrong = most if least > 1 else least
        upper = f", and at most {largest:g}" if largest < float("inf") else ""
        raise UsageError(f"{name}: got {wrong:g} bits; a sign takes one, so absmax needs more than 1{upper}")


def quantisation_error(name: str, spec: ModelSpec) -> Model:
    """Build a model of the error by its name."""
    if spec.name in _VECTORS:
        return _Vector(
            name=name, unit=spec.unit, outlier=_VECTORS[spec.name], inputs={"bits": OtherQuantity(unit="bit")}
        )
    formula, takes, own = FORMULAS[spec.name]
    inputs: dict[str, Need] = {n: OtherQuantity(unit=unit) for n, unit in takes.items()}
    inputs |= {i.name: i for i in own}
    return _Rounding(name=name, unit=spec.unit, formula=formula, title=spec.title, inputs=inputs)
