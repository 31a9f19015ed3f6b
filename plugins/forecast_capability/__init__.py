"""GPU and model capability over time, and what the field's published models say of it, rebuilt in the same engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forecast import ModelSpec, ScenarioSpec, hookimpl

HERE = Path(__file__).parent


@hookimpl
def forecast_models() -> Iterator[ModelSpec]:
    """Bring the series of the frontier, and the links between them."""
    from forecast_capability import quantities

    yield from quantities.models()


@hookimpl
def forecast_scenarios() -> Iterator[ScenarioSpec]:
    """Bring the scenario in which all families meet."""
    from forecast_capability import quantities

    yield from quantities.scenarios()
