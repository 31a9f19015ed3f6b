"""Sources, and inputs in short: a fixed figure, a range, and one number that is a whole estimate."""

from __future__ import annotations

from collections.abc import Mapping

from forecast import EstimateSpec, Input

__all__ = [
    "AI_IMPACTS",
    "BRAIN_ESSAY",
    "CARLSMITH",
    "KURZWEIL",
    "MEMORY",
    "MERKLE",
    "MORAVEC",
    "OURS",
    "WBE",
    "compute",
    "fixed",
    "one_number",
    "spread",
]

BRAIN_ESSAY = "Dettmers, T. (2015-07-27), The Brain vs Deep Learning Part I: Computational Complexity"
CARLSMITH = (
    "Carlsmith, J. (2020), How Much Computational Power Does It Take to Match the Human Brain?, Open Philanthropy"
)
KURZWEIL = "Kurzweil, R. (2005), The Singularity Is Near"
AI_IMPACTS = "AI Impacts (2015), Brain performance in TEPS, and in FLOPS"
WBE = "Sandberg, A. & Bostrom, N. (2008), Whole Brain Emulation: A Roadmap, FHI Technical Report 2008-3, table 9"
MORAVEC = (
    "Moravec, H. (1998), When will computer hardware match the human brain?, Journal of Evolution and Technology 1"
)
MERKLE = "Merkle, R. (1989), Energy Limits to the Computational Power of the Human Brain, Foresight Update 6"

#: Put before a figure that nobody here has read in its source.
MEMORY = "from memory, unverified"
#: Put before a range that no source states.
OURS = "a range of ours, which no source states"

QUANTITY = "brain.compute"


def fixed(name: str, unit: str, value: float, source: str, title: str = "") -> Input:
    """Return an input that is one figure, of something that is never negative."""
    return Input(name=name, unit=unit, distribution={"value": value}, source=source, title=title, lower=0.0)


def spread(name: str, unit: str, distribution: Mapping[str, float | str], source: str, title: str = "") -> Input:
    """Return an input with a range."""
    return Input(name=name, unit=unit, distribution=distribution, source=source, title=title)


def compute(
    name: str,
    title: str,
    expression: str,
    inputs: tuple[Input, ...],
    reference: str,
    *,
    unit: str = "FLOP/s",
    quantity: str = QUANTITY,
    note: str = "",
) -> EstimateSpec:
    """Return an estimate of the brain's compute as a formula over inputs."""
    return EstimateSpec(
        name=name,
        title=title,
        quantity=quantity,
        unit=unit,
        expression=expression,
        inputs=inputs,
        note=note,
        reference=reference,
    )


def one_number(
    name: str,
    title: str,
    distribution: Mapping[str, float | str],
    source: str,
    *,
    unit: str = "FLOP/s",
    quantity: str = QUANTITY,
    note: str = "",
) -> EstimateSpec:
    """Return an estimate that its author states as a number or a range, with no formula behind it."""
    given = spread("compute", unit, distribution, source, title)
    return compute(name, title, "compute", (given,), source, unit=unit, quantity=quantity, note=note)
