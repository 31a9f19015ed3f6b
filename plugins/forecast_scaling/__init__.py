"""Scaling laws: how loss falls with parameters, data and compute, with published parameters."""

from __future__ import annotations

from collections.abc import Iterator

from forecast import LawSpec, hookimpl


@hookimpl
def forecast_laws() -> Iterator[LawSpec]:
    """Bring the power law, the saturating power law and the Chinchilla law."""
    from forecast_scaling.laws import LAWS

    yield from LAWS
