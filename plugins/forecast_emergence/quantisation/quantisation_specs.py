"""The error of rounding to few bits as records: two links, and the essay's vector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from forecast import Input, ModelSpec
from forecast.errors import UsageError
from forecast_emergence.links import Link, specs
from forecast_emergence.sources import ESSAY, INT8, JUDGED

if TYPE_CHECKING:
    from forecast.models import Array

__all__ = ["MODELS", "ROUNDING_LINKS"]

UNIFORM = "error of rounding to a step, evenly spread: the step over the square root of 12 (Bennett 1948, "
UNIFORM += "doi:10.1002/j.1538-7305.1948.tb01340.x; from memory)"

_STEP = "(sqrt(12)*(2**(bits - 1) - 1)*spread)"
_SPREAD = Input(
    name="spread", unit="", distribution={"value": 1.0}, source=f"standard deviation of the other features; {JUDGED}"
)


def _check_rounding(name: str, values: Mapping[str, Array]) -> None:
    """Refuse a sign without a magnitude, and numbers that are no sizes."""
    from forecast_emergence.quantisation.engine import check_bits

    check_bits(values["bits"], name)
    for each, value in values.items():
        if float(value.min()) <= 0:
            raise UsageError(f"{name}: {each}: expected more than 0, got {float(value.min()):g}")


ROUNDING_LINKS: Mapping[str, Link] = {
    "rounding-error-absmax": Link(
        title="Error of ordinary features under absmax with one constant, over their size, from bits and outlier "
        "magnitude",
        unit="",
        quantity="rounding_error",
        expression=f"min(1, magnitude*reach/{_STEP})",
        takes={"bits": "bit", "magnitude": ""},
        inputs=(
            Input(
                name="reach", unit="", distribution={"p05": 1.1, "p95": 1.4},
                source=f"largest over median magnitude; {JUDGED}: the quartiles of {INT8}, table 4, continued as far "
                "beyond give 48/40 at 6.7B and 68/58 at 13B",
            ),
            _SPREAD,
        ),
        check=_check_rounding,
        note="held against generated hidden states by a test; where the step is above the features' size it is 1",
        reference=f"{UNIFORM}; {INT8}, section 2",
    ),
    "rounding-error-decomposed": Link(
        title="Error of ordinary features with the outlier columns kept in 16 bits, over their size, from bits",
        unit="",
        quantity="rounding_error",
        expression=f"min(1, ordinary/{_STEP})",
        takes={"bits": "bit"},
        inputs=(
            Input(
                name="ordinary", unit="", distribution={"value": 3.5},
                source=f"{INT8}, section 4: the other features are usually within 3.5 of 0",
            ),
            _SPREAD,
        ),
        check=_check_rounding,
        note="one constant a token: the largest ordinary feature sets it; where nothing is left it is 1",
        reference=f"{UNIFORM}; {INT8}, section 3.2",
    ),
}  # fmt: skip

#: Title and note.
_VECTORS = {
    "vector-error": (
        "Mean error of the essay's ten numbers, quantised by absmax with their outlier",
        "the ten numbers as others transcribe the essay",
    ),
    "vector-error-without-outlier": (
        "Mean error of the essay's numbers, quantised by absmax without their outlier",
        "nine numbers; the essay states 0.015",
    ),
}

MODELS = (
    *specs(ROUNDING_LINKS),
    *(
        ModelSpec(
            name=name,
            title=title,
            quantity="emergence.vector_error",
            unit="",
            target="forecast_emergence.quantisation.engine:quantisation_error",
            note=note,
            reference=ESSAY,
        )
        for name, (title, note) in _VECTORS.items()
    ),
)
