"""Claims in short: a statement of an essay, the figure it prints, and the arithmetic."""

from __future__ import annotations

from collections.abc import Mapping

from forecast import ClaimSpec

__all__ = ["GROUP", "claim", "constant", "scenario"]

GROUP = "hardware"


def claim(
    name: str,
    statement: str,
    stated: str,
    formula: str,
    unit: str,
    source: str,
    *,
    note: str = "",
    declared: str | None = None,
    facts: Mapping[str, str] | None = None,
    **values: float,
) -> ClaimSpec:
    """Return a claim that is computed from `values` and the facts of fitted models."""
    return ClaimSpec(
        name=name,
        group=GROUP,
        statement=statement,
        stated=stated,
        formula=formula,
        values=values,
        facts=facts or {},
        unit=unit,
        declared=declared,
        reference=source,
        note=note,
    )


def constant(name: str, statement: str, source: str, *, note: str = "", declared: str = "constant") -> ClaimSpec:
    """Return a statement that nothing in the source lets one compute."""
    return ClaimSpec(name=name, group=GROUP, statement=statement, declared=declared, reference=source, note=note)


def scenario(name: str, statement: str, source: str, *, note: str = "") -> ClaimSpec:
    """Return a statement about the future, to be scored when it comes."""
    return constant(name, statement, source, note=note, declared="scenario")
