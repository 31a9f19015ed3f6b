"""GPU and model capability over time, and what the field's published models say of it, rebuilt in the same engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forecast import (
    ClaimSpec,
    CommandSpec,
    EstimateSpec,
    FunctionSpec,
    ModelSpec,
    QuantitySpec,
    ScenarioSpec,
    ShapeSpec,
    TableSpec,
    hookimpl,
    records_from,
)

HERE = Path(__file__).parent


@hookimpl
def forecast_tables() -> Iterator[TableSpec]:
    """Bring the questions that published models share with what is known of them, and the draws of the chain."""
    from forecast_capability import chain

    yield TableSpec(
        name="shared-questions",
        title="Questions that published models share, and what is known of them",
        descriptor=str(HERE / "questions" / "datapackage.json"),
        reference="METR, time horizons TH1.1; Epoch AI, AI models; each row names its own",
    )
    yield from chain.tables()


@hookimpl
def forecast_shapes() -> Iterator[ShapeSpec]:
    """Bring shapes for a series whose last observations say "at least"."""
    for name, other, of in (
        ("pool-at-least", "trends/pool", "PoolAtLeast"),
        ("walk-at-least", "trends/random-walk", "WalkAtLeast"),
    ):
        yield ShapeSpec(
            name=name,
            title=f"As {other}, where an observation at a limit says that it is at least that",
            target=f"forecast_capability.quantities.censored:{of}",
            reference="Tanner, M. A. & Wong, W. H. (1987), The calculation of posterior distributions by data "
            "augmentation, Journal of the American Statistical Association 82(398), 528-540",
        )


@hookimpl
def forecast_models() -> Iterator[ModelSpec]:
    """Bring our series and links, and the links of published models, under names of their own."""
    from forecast_capability import accounts, chain, quantities
    from forecast_capability.links import named

    yield from chain.models()
    yield from accounts.models()
    yield from quantities.models()
    yield from records_from(HERE / "links", EstimateSpec)
    yield from named.models()


@hookimpl
def forecast_functions() -> Iterator[FunctionSpec]:
    """Bring what of the published models is code."""
    from forecast_capability.links import named

    yield from named.functions()


@hookimpl
def forecast_quantities() -> tuple[QuantitySpec, ...]:
    """Bring the quantities of the world that this plugin forecasts."""
    return records_from(HERE / "world.toml", QuantitySpec)


@hookimpl
def forecast_scenarios() -> Iterator[ScenarioSpec]:
    """Bring the scenario in which all families meet, and the published models."""
    from forecast_capability import chain, packs, quantities

    yield from chain.scenarios()
    yield from quantities.quantity_scenarios()
    yield from packs.scenarios()


@hookimpl
def forecast_commands() -> Iterator[CommandSpec]:
    """Bring the estimate of the chain, and the accounts of money and compute."""
    from forecast_capability import accounts, chain

    yield from chain.commands()
    yield from accounts.commands()


@hookimpl
def forecast_claims() -> tuple[ClaimSpec, ...]:
    """Bring what the published models print."""
    return records_from(HERE / "claims", ClaimSpec)
