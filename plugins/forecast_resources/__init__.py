"""Resources: linear progress needs exponential resources, as a law and fitted to real tables."""

from __future__ import annotations

from collections.abc import Iterator

from forecast import LawSpec, ModelSpec, hookimpl


@hookimpl
def forecast_laws() -> Iterator[LawSpec]:
    """Bring the log-linear law."""
    from forecast_resources.loglinear import LAWS

    yield from LAWS


@hookimpl
def forecast_models() -> Iterator[ModelSpec]:
    """Bring the law fitted to perplexity against parameters."""
    from forecast_resources.loglinear import MODELS

    yield from MODELS
