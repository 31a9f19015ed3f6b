"""Ideas that get harder to find: growth from research effort, fitted to tables, and how effort itself grew."""

from __future__ import annotations

from forecast import ModelSpec, RelationSpec, TrendSpec

__all__ = ["RESEARCH_MODELS"]

BLOOM = "Bloom, Jones, Van Reenen & Webb 2020, Are Ideas Getting Harder to Find?, American Economic Review 110(4)"


def _relation(name: str, title: str, field: str, researchers: str, note: str) -> RelationSpec:
    return RelationSpec(
        name=name,
        title=title,
        quantity=f"resources.{name.replace('-', '_')}",
        unit="1/year",
        law="resources/harder-ideas",
        table="datasets/research-productivity",
        let={"S": f"effort/{researchers}", "A": "ideas"},
        y="growth",
        where={"field": field},
        note=f"S in {researchers} effective researchers; {note}",
        reference=f"{BLOOM}, as compiled in datasets/research-productivity",
    )


def _effort(name: str, title: str, field: str) -> TrendSpec:
    return TrendSpec(
        name=name,
        title=title,
        quantity=f"resources.{name.replace('-', '_')}",
        unit="",
        shape="trends/pool",
        table="datasets/research-effort",
        x="year",
        y="spending/wage",
        where={"field": field},
        note="spending over what a researcher earns",
        reference=f"{BLOOM}, as compiled in datasets/research-effort",
    )


RESEARCH_MODELS: tuple[ModelSpec, ...] = (
    _relation(
        "chip-progress-from-effort",
        "Growth of transistors on a chip from research effort and from how many there are",
        "semiconductors",
        "1e5",
        "A in transistors; the source takes growth as 35 % a year throughout, here it is that of the largest processor",
    ),
    _relation(
        "us-productivity-from-effort",
        "Growth of productivity in the United States from research effort and from what was reached",
        "united-states",
        "1e6",
        "A is 1 in 1930; the first two decades have their growth from another source",
    ),
    _effort("chip-research", "Effective researchers on semiconductors, world-wide", "semiconductors"),
    _effort("us-research", "Effective researchers in the United States", "united-states"),
    ModelSpec(
        name="research-effort",
        title="By how much research effort on chips must grow to keep a rate of progress",
        quantity="resources.research_effort",
        unit="",
        target="forecast_resources.effort:needed",
        note="exp(beta·growth·years), with beta from resources/chip-progress-from-effort; the source has 18.3 for 1971 "
        "to 2014 from what was spent",
        reference=BLOOM,
    ),
)
