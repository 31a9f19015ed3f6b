"""Emergent features: outlier dimensions in transformers, and how they come with falling perplexity."""

from __future__ import annotations

from collections.abc import Iterator

from forecast import LawSpec, ModelSpec, hookimpl


@hookimpl
def forecast_laws() -> Iterator[LawSpec]:
    """Bring the laws of features in perplexity and parameters, of abilities, and of bits."""
    from forecast_emergence import abilities, bits, outliers, size

    for family in (outliers, size, abilities, bits):
        yield from family.LAWS


@hookimpl
def forecast_models() -> Iterator[ModelSpec]:
    """Bring the laws fitted to LLM.int8(), the thresholds told in advance, and the chain from compute to cost."""
    from forecast_emergence import chain, features, outliers, threshold

    for family in (outliers, features, threshold, chain):
        yield from family.MODELS
