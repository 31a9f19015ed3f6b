"""Emergent features: outlier dimensions in transformers, and how they come with falling perplexity."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forecast import ClaimSpec, LawSpec, ModelSpec, ScenarioSpec, hookimpl, records_from

HERE = Path(__file__).parent


@hookimpl
def forecast_laws() -> tuple[LawSpec, ...]:
    """Bring the laws of features in perplexity and parameters, of abilities, and of bits."""
    return records_from(HERE / "laws", LawSpec)


@hookimpl
def forecast_models() -> Iterator[ModelSpec]:
    """Bring the laws fitted to LLM.int8(), the thresholds told in advance, and the chain from compute to cost."""
    from forecast_emergence import chain
    from forecast_emergence.features import feature_specs, magnitude
    from forecast_emergence.quantisation import quantisation_specs as errors

    for family in (feature_specs, magnitude, chain, errors):
        yield from family.MODELS


#: Name, title, reference.
_SCENARIOS = (
    (
        "emergence",
        "How many outlier features do models have, up to 1e13 parameters, and where do they jump?",
        "Dettmers et al. 2022, LLM.int8(), arXiv:2208.07339",
    ),
    (
        "precision",
        "How many bits should a weight have for a memory budget, and when does quantising hurt?",
        "Kumar et al. 2024, Scaling Laws for Precision, arXiv:2411.04330",
    ),
    (
        "quantisation",
        "How many bits do hidden states need, with and without their outlier features?",
        "Dettmers et al. 2022, LLM.int8(), arXiv:2208.07339",
    ),
    (
        "token-cost",
        "What does a token cost, from training compute through emergent features?",
        "Dettmers et al. 2022, LLM.int8(), arXiv:2208.07339, and the sources of its links",
    ),
)


@hookimpl
def forecast_scenarios() -> Iterator[ScenarioSpec]:
    """Bring emergence, precision, quantisation and token-cost."""
    words = {"precision": ("how many bits should I quantise to", "which precision fits my memory")}
    for name, title, reference in _SCENARIOS:
        yield ScenarioSpec(
            name=name, title=title, path=str(HERE / "scenarios" / f"{name}.toml"), reference=reference,
            synonyms=words.get(name, ()), amounts={"GB": "memory"} if name == "precision" else {},
        )  # fmt: skip


@hookimpl
def forecast_claims() -> tuple[ClaimSpec, ...]:
    """Bring the figures of the essay on emergent features, and of the papers it rests on."""
    return records_from(HERE / "claims", ClaimSpec)
