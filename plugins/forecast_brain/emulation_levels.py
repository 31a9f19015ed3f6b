"""Sandberg & Bostrom 2008: what whole-brain emulation needs, by the level of detail. Levels, not rivals."""

from __future__ import annotations

from collections.abc import Iterator

from forecast import EstimateSpec
from forecast_brain.brain_inputs import MEMORY, WBE, one_number

__all__ = ["LEVELS", "models"]

#: Name, what is emulated, FLOP/s, where the figure was read.
LEVELS: tuple[tuple[str, str, float, str], ...] = (
    (
        "l3-population",
        "analog network population model",
        1e15,
        "as quoted by Drexler (2019), Reframing Superintelligence, section 40.3.2",
    ),
    ("l4-spiking", "spiking neural network", 1e18, "as quoted by AI Impacts"),
    ("l5-electrophysiology", "electrophysiology", 1e22, "as quoted by AI Impacts"),
    ("l6-metabolome", "metabolome", 1e25, "as quoted by AI Impacts"),
    ("l7-proteome", "proteome", 1e26, MEMORY),
    ("l8-complexes", "states of protein complexes", 1e27, MEMORY),
    ("l9-distribution", "distribution of protein complexes", 1e30, MEMORY),
    ("l11-molecules", "stochastic behaviour of single molecules", 1e43, MEMORY),
)


def models() -> Iterator[EstimateSpec]:
    """Bring the range from spikes to electrophysiology, and every level by itself."""
    yield one_number(
        "sandberg-bostrom-2008",
        "Whole-brain emulation, from spiking networks to electrophysiology",
        {"low": 1e18, "high": 1e22, "family": "loguniform"},
        f"{WBE}, as quoted by AI Impacts: spiking network 1e18, electrophysiology 1e22",
        note="two levels of detail taken as the ends of a range",
    )
    for name, what, value, read in LEVELS:
        doubt = f"; {MEMORY}" if read == MEMORY else ""
        yield one_number(
            f"sandberg-bostrom-2008-{name}",
            f"Whole-brain emulation at the level of the {what}",
            {"value": value},
            f"{WBE}, {read}",
            note=f"a level of detail, not a rival estimate{doubt}",
        )
