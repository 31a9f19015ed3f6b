"""Resources: linear progress needs exponential resources, as laws, fitted to real tables, and carried to their end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forecast import ClaimSpec, LawSpec, ModelSpec, RelationSpec, ScenarioSpec, TrendSpec, hookimpl, records_from

HERE = Path(__file__).parent


@hookimpl
def forecast_laws() -> tuple[LawSpec, ...]:
    """Bring the laws between a resource and progress."""
    return records_from(HERE / "laws.toml", LawSpec)


@hookimpl
def forecast_models() -> Iterator[ModelSpec]:
    """Bring the laws fitted to tables, and what progress needs, has and is stopped by."""
    from forecast_resources import automation, needs

    yield from records_from(HERE / "relations", RelationSpec)
    yield from records_from(HERE / "trends", TrendSpec)
    yield from (*needs.NEEDS_MODELS, *automation.AUTOMATION_MODELS)


@hookimpl
def forecast_scenarios() -> Iterator[ScenarioSpec]:
    """Bring scaling-ends and ai-diffusion."""
    yield ScenarioSpec(
        name="scaling-ends",
        title="When does a limit of money, power, chips or data bind, if progress is to go on as it has?",
        path=str(HERE / "scenarios" / "scaling-ends.toml"),
        reference="Dettmers 2025-12-10, Why AGI Will Not Happen (linear progress needs exponential resources; one or "
        "two more years of scaling)",
    )
    yield ScenarioSpec(
        name="ai-diffusion",
        title="How far does what the best models can do reach: open models, users, robots, research itself?",
        path=str(HERE / "scenarios" / "ai-diffusion.toml"),
        reference="Dettmers 2025-12-10, Why AGI Will Not Happen (adoption, robotics, self-improvement); Fisher & Pry "
        "1971; Davidson & Houlden 2025, How quick and big would a software intelligence explosion be?",
    )


@hookimpl
def forecast_claims() -> tuple[ClaimSpec, ...]:
    """Bring the figures of the essays on resources and agents."""
    return records_from(HERE / "claims.toml", ClaimSpec)
