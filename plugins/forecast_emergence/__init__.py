"""Emergent features: outlier dimensions in transformers, and how they come with falling perplexity."""

from __future__ import annotations

from collections.abc import Iterator

from forecast import LawSpec, ModelSpec, hookimpl


@hookimpl
def forecast_laws() -> Iterator[LawSpec]:
    """Bring the laws of outlier count and of layers affected."""
    from forecast_emergence.outliers import LAWS

    yield from LAWS


@hookimpl
def forecast_models() -> Iterator[ModelSpec]:
    """Bring the same, fitted to the ten models of LLM.int8()."""
    from forecast_emergence.outliers import MODELS

    yield from MODELS
