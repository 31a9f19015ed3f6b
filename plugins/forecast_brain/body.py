"""A brain's power and mass, and what its neurons cost and a diet pays for."""

from __future__ import annotations

from collections.abc import Iterator

from forecast import EstimateSpec, LawSpec
from forecast_brain.figures import ESSAY, MEMORY, OURS, compute, spread

__all__ = ["LAWS", "models"]

_PRIMATES = (
    "Fonseca-Azevedo, K. & Herculano-Houzel, S. (2012), Metabolic constraint imposes tradeoff between body size and "
    "number of brain neurons in human evolution, PNAS 109(45), 18571-18576"
)


def models() -> Iterator[EstimateSpec]:
    """Bring the power and the mass of a brain, and of a graphics card beside it."""
    for name, title, unit, ends, source in (
        ("power", "Power of a human brain", "W", (15.0, 25.0), f"20 W, {MEMORY}; the range: {OURS}"),
        ("mass", "Mass of a human brain", "kg", (1.2, 1.6), f"about 1.4 kg, {MEMORY}; the range: {OURS}"),
        (
            "device-mass",
            "Mass of a large graphics card",
            "kg",
            (1.5, 3.0),
            f"about 2.2 kg for a card of 2022, {MEMORY}; the range: {OURS}",
        ),
    ):
        given = spread("amount", unit, {"p05": ends[0], "p95": ends[1]}, source, title)
        yield compute(
            name, title, "amount", (given,), source, unit=unit, quantity=f"brain.{name.replace('-', '_')}", note=MEMORY
        )


LAWS: tuple[LawSpec, ...] = (
    LawSpec(
        name="affordable-neurons",
        title="Billions of neurons that a primate's hours of feeding can pay for, next to its body",
        variables={"hours": "hour/day", "mass": "kg"},
        expression="hours*gain*mass**gain_exponent - upkeep*mass**upkeep_exponent",
        output="billions",
        positive=("gain", "gain_exponent", "upkeep", "upkeep_exponent"),
        # 25.9 kcal an hour and 70 kcal a day, each over the 6 kcal a day that a billion neurons cost
        example={"gain": 4.32, "gain_exponent": 0.53, "upkeep": 11.67, "upkeep_exponent": 0.75},
        domain={"hours": (4.0, 10.0), "mass": (0.5, 150.0)},
        reference=f"{_PRIMATES}; metabolism 70·kg^0.75 kcal a day (Kleiber) and 6 kcal a day for a billion neurons as "
        f"quoted; intake 25.9·kg^0.53 kcal an hour {MEMORY}. No table comes with it: the authors' could not be read",
    ),
    LawSpec(
        name="knowledge",
        title="What was known in a year as a share of what is known in a later one, if knowledge doubles",
        variables={"years": "year"},
        expression="2**(-years/doubling)",
        output="share",
        positive=("doubling",),
        example={"doubling": 2.0},
        domain={"years": (0.0, 20.0)},
        reference=f"{ESSAY}: neuroscience doubles its knowledge every year, and elsewhere every two",
    ),
)
