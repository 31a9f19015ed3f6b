"""Error against bits for the engine: what the law says of hidden states, and the essay's vector with its facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forecast import Input, ModelSpec
from forecast.errors import UsageError
from forecast.models import Description, Model, Need, OtherQuantity, Unfitted
from forecast_emergence.sources import ESSAY, INT8, JUDGED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forecast.streams import Streams

    Array = NDArray[np.float64]

__all__ = ["MODELS", "build"]

UNIFORM = "error of rounding to a step, evenly spread: the step over the square root of 12 (Bennett 1948, "
UNIFORM += "doi:10.1002/j.1538-7305.1948.tb01340.x; from memory)"


_STEP = "(sqrt(12)*(2**(bits - 1) - 1)*spread)"
_SPREAD = Input(
    name="spread", unit="", distribution={"value": 1.0}, source=f"standard deviation of the other features; {JUDGED}"
)
#: Formula, quantities it takes, inputs.
_FORMULAS: Mapping[str, tuple[str, Mapping[str, str], tuple[Input, ...]]] = {
    "rounding-error-absmax": (
        f"min(1, magnitude*reach/{_STEP})",
        {"bits": "bit", "magnitude": ""},
        (
            Input(
                name="reach", unit="", distribution={"p05": 1.1, "p95": 1.4},
                source=f"largest over median magnitude; {JUDGED}: the quartiles of {INT8}, table 4, continued as far "
                "beyond give 48/40 at 6.7B and 68/58 at 13B",
            ),
            _SPREAD,
        ),
    ),
    "rounding-error-decomposed": (
        f"min(1, ordinary/{_STEP})",
        {"bits": "bit"},
        (
            Input(
                name="ordinary", unit="", distribution={"value": 3.5},
                source=f"{INT8}, section 4: the other features are usually within 3.5 of 0",
            ),
            _SPREAD,
        ),
    ),
}  # fmt: skip
#: The widest numbers that the vector is quantised to.
LARGEST = 16
_VECTORS = {"vector-error": True, "vector-error-without-outlier": False}


@dataclass(frozen=True, kw_only=True)
class _Rounding(Unfitted):
    """The law, capped where nothing is left."""

    formula: str
    title: str

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        import numpy as np

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
        import numpy as np

        from forecast_emergence.quant_worked import VECTOR, vector_error

        bits = np.broadcast_to(np.asarray(inputs["bits"], dtype=float), (len(time), streams.draws))
        _check_bits(bits, self.name, largest=LARGEST)
        # in one bit, a sign, nothing is left; between whole widths some numbers have the one, some the other
        errors = [float(np.mean(np.abs(VECTOR if self.outlier else VECTOR[:-1])))]
        errors += [vector_error(b, outlier=self.outlier)[0] for b in range(2, LARGEST + 1)]
        return np.asarray(np.interp(bits, range(1, LARGEST + 1), errors))

    def describe(self) -> Description:
        from forecast_emergence.quant_worked import facts

        return Description(
            summary=f"Mean error of the essay's ten numbers {'with' if self.outlier else 'without'} the outlier of "
            "-67, quantised by absmax",
            sources=(ESSAY,),
            facts=facts(),
        )


def _check_bits(bits: Array, name: str, *, largest: float = float("inf")) -> None:
    import numpy as np

    least, most = float(np.min(bits)), float(np.max(bits))
    if not (least > 1 and most <= largest):
        wrong = most if least > 1 else least
        upper = f", and at most {largest:g}" if largest < float("inf") else ""
        raise UsageError(f"{name}: got {wrong:g} bits; a sign takes one, so absmax needs more than 1{upper}")


def build(name: str, spec: ModelSpec) -> Model:
    """Build a model of the error by its name."""
    if spec.name in _VECTORS:
        return _Vector(
            name=name, unit=spec.unit, outlier=_VECTORS[spec.name], inputs={"bits": OtherQuantity(unit="bit")}
        )
    formula, takes, own = _FORMULAS[spec.name]
    inputs: dict[str, Need] = {n: OtherQuantity(unit=unit) for n, unit in takes.items()}
    inputs |= {i.name: i for i in own}
    return _Rounding(name=name, unit=spec.unit, formula=formula, title=spec.title, inputs=inputs)


_SAID = {
    "rounding-error-absmax": (
        "Error of ordinary features under absmax with one constant, over their size, from bits and outlier magnitude",
        f"{UNIFORM}; {INT8}, section 2",
        "held against generated hidden states by a test; where the step is above the features' size it is 1",
    ),
    "rounding-error-decomposed": (
        "Error of ordinary features with the outlier columns kept in 16 bits, over their size, from bits",
        f"{UNIFORM}; {INT8}, section 3.2",
        "one constant a token: the largest ordinary feature sets it",
    ),
    "vector-error": (
        "Mean error of the essay's ten numbers, quantised by absmax with their outlier",
        ESSAY,
        "the ten numbers as others transcribe the essay",
    ),
    "vector-error-without-outlier": (
        "Mean error of the essay's numbers, quantised by absmax without their outlier",
        ESSAY,
        "nine numbers; the essay states 0.015",
    ),
}

MODELS = tuple(
    ModelSpec(
        name=name,
        title=title,
        quantity=f"emergence.{'rounding_error' if name in _FORMULAS else 'vector_error'}",
        unit="",
        target="forecast_emergence.quant_model:build",
        note=note,
        reference=reference,
    )
    for name, (title, reference, note) in _SAID.items()
)
