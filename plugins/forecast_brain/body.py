"""A brain's power and mass, and what its neurons cost and a diet pays for."""

from __future__ import annotations

from collections.abc import Iterator

from forecast import EstimateSpec
from forecast_brain.brain_inputs import MEMORY, OURS, compute, spread

__all__ = ["models"]


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
