"""How much compute matches a brain: published estimates as formulas over uncertain inputs.

The inputs carry the disagreement, so that people can argue about inputs instead of conclusions.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forecast import (
    ClaimSpec,
    LawSpec,
    MixtureSpec,
    ModelSpec,
    QuantitySpec,
    ScenarioSpec,
    UnitSpec,
    hookimpl,
    records_from,
)

HERE = Path(__file__).parent

#: Estimates that state FLOP/s and could be verified, one an author, and the year each was published.
POOLED = {
    "dettmers-2015": 2015,
    "kurzweil-2005": 2005,
    "carlsmith-2020": 2020,
    "ai-impacts-2015": 2015,
    "sandberg-bostrom-2008": 2008,
    "moravec-1997": 1997,
}
#: Name, title, reference.
_BRAIN_SCENARIOS = (
    (
        "brain-parity",
        "When does the fastest supercomputer match the brain, and how likely is never?",
        "Dettmers, T. (2015-07-27), The Brain vs Deep Learning Part I: Computational Complexity",
    ),
    (
        "brain-evidence",
        "How have published estimates of the brain's compute moved?",
        "the estimates of the table brain-estimates that state FLOP/s and could be verified, one an author",
    ),
    (
        "brain-efficiency",
        "What do a watt and a kilogram compute, in a brain and in a graphics card?",
        "the estimates of this plugin; table datasets/accelerators; power and mass of a brain from memory, unverified",
    ),
)


@hookimpl
def forecast_units() -> tuple[UnitSpec, ...]:
    """Bring machine instructions, which are not FLOP."""
    from forecast_brain import authors

    return authors.BRAIN_UNITS


@hookimpl
def forecast_laws() -> tuple[LawSpec, ...]:
    """Bring the neurons that a diet pays for, and knowledge that doubles."""
    return records_from(HERE / "laws.toml", LawSpec)


@hookimpl
def forecast_quantities() -> tuple[QuantitySpec, ...]:
    """Bring the quantities of the world that are of brains."""
    return records_from(HERE / "world.toml", QuantitySpec)


@hookimpl
def forecast_models() -> Iterator[ModelSpec]:
    """Bring the estimates of every author, their mixture, the evidence by year, and a brain's power and mass."""
    from forecast_brain import authors, body, carlsmith, dettmers, emulation_levels

    for module in (dettmers, authors, emulation_levels, carlsmith, body):
        yield from module.models()
    yield ModelSpec(
        name="evidence",
        title="What had been published by then, every author alike",
        quantity="brain.compute",
        unit="FLOP/s",
        target="forecast_brain.evidence:evidence",
        note="a draw keeps its place among the authors, so that it moves only when a new one is published",
        reference="the estimates of the table brain-estimates that state FLOP/s and were verified, one an author",
    )
    yield MixtureSpec(
        name="pooled",
        title="One vote an author",
        quantity="brain.compute",
        unit="FLOP/s",
        weights={f"brain/{name}": 1.0 for name in POOLED},
        note="equal weights are a choice, not a measurement",
        reference="the estimates of the table brain-estimates that state FLOP/s and could be verified, one an author",
    )


@hookimpl
def forecast_scenarios() -> Iterator[ScenarioSpec]:
    """Bring the founding question, how the estimate moved, and efficiency."""
    words = {"brain-parity": ("when does a supercomputer match the brain", "computer as powerful as a human brain")}
    for name, title, reference in _BRAIN_SCENARIOS:
        path = str(HERE / "scenarios" / f"{name}.toml")
        yield ScenarioSpec(name=name, title=title, path=path, reference=reference, synonyms=words.get(name, ()))


@hookimpl
def forecast_claims() -> tuple[ClaimSpec, ...]:
    """Bring what the essay says about the brain, and what the other estimates print."""
    return records_from(HERE / "claims.toml", ClaimSpec)
