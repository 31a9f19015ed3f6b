"""The error of rounding to few bits as records: two formulas, and the essay's vector."""

from __future__ import annotations

from collections.abc import Mapping

from forecast import Input, ModelSpec
from forecast_emergence.sources import ESSAY, INT8, JUDGED

__all__ = ["FORMULAS", "MODELS", "UNIFORM"]

UNIFORM = "error of rounding to a step, evenly spread: the step over the square root of 12 (Bennett 1948, "
UNIFORM += "doi:10.1002/j.1538-7305.1948.tb01340.x; from memory)"

_STEP = "(sqrt(12)*(2**(bits - 1) - 1)*spread)"
_SPREAD = Input(
    name="spread", unit="", distribution={"value": 1.0}, source=f"standard deviation of the other features; {JUDGED}"
)
#: Formula, quantities it takes, inputs.
FORMULAS: Mapping[str, tuple[str, Mapping[str, str], tuple[Input, ...]]] = {
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
        quantity=f"emergence.{'rounding_error' if name in FORMULAS else 'vector_error'}",
        unit="",
        target="forecast_emergence.quantisation.engine:quantisation_error",
        note=note,
        reference=reference,
    )
    for name, (title, reference, note) in _SAID.items()
)
