"""The names of the links of published models that are code."""

from __future__ import annotations

from collections.abc import Iterator

from forecast import ModelSpec

__all__ = ["models"]

METR = (
    "METR, Measuring AI Ability to Complete Long Tasks: METR/eval-analysis-public@52d6b56 and "
    "peterhurford/metr_graph@dde102f (no licence: figures only, no code)"
)


def models() -> Iterator[ModelSpec]:
    """Bring the doubling time and the line of every window and success rate."""
    for year in (2019, 2023, 2024):
        for share in (50, 80):
            name = f"{year}" if share == 50 else f"{year}-p{share}"
            about = f"METR time horizon at {share} % success, models from {year} on that led at their release"
            yield ModelSpec(
                name=f"horizon-{name}",
                title=f"Doubling time: {about}",
                quantity="capability.horizon_doubling",
                unit="day",
                keeps="positive",
                target="forecast_capability.links.horizon:doubling",
                note="the interval is that of a regression on independent points; METR's own, 105 to 157 days from "
                "2023 on, resamples tasks, whose results are not published here",
                reference=METR,
            )
            yield ModelSpec(
                name=f"horizon-line-{name}",
                title=f"Line through the centre of the points: {about}",
                quantity="capability.time_horizon",
                unit="min",
                keeps="positive",
                target="forecast_capability.links.horizon:line",
                note="beyond 16 h METR calls its measurements unreliable",
                reference=METR,
            )
