"""``forecast laws``: formulas, their units and published parameters."""

from __future__ import annotations

from typing import Any

from forecast.cli.catalogue.listing import catalogue
from forecast.contract.registry import Record


def _law_details(record: Record) -> dict[str, Any]:
    from forecast.contract.track_record import of_law

    spec = record.spec
    parameters = list(spec.example)
    if spec.expression is not None:
        from forecast.formula import parse

        sides = [text for text in (spec.expression, spec.equals) if text is not None]
        names = [n for text in sides for n in parse(text, where=f"law '{record.full_name}'").names]
        parameters = [n for n in dict.fromkeys(names) if n not in spec.variables and n != spec.output]
    low_high = dict.fromkeys(spec.positive, (0.0, None)) | dict(spec.bounds)
    return {
        "expression": spec.expression,
        **({} if spec.equals is None else {"equals": spec.equals, "between": list(spec.between or ())}),
        "code": spec.target,
        "output": {"name": spec.output, "unit": spec.unit},
        "objective": spec.objective,
        "variables": [
            {"name": name, "unit": unit, **_range_of(spec.domain, name)} for name, unit in spec.variables.items()
        ],
        "parameters": [
            {"name": name, **_range_of(low_high, name), "example": spec.example.get(name)} for name in parameters
        ],
        "published": [
            {
                "name": fit.name,
                "parameters": dict(fit.parameters),
                "stderr": dict(fit.errors),
                "covariance": {a: dict(row) for a, row in fit.covariance.items()},
                "rounded": fit.rounded,
                "note": fit.note,
                "reference": fit.reference,
            }
            for fit in spec.published
        ],
        "record": of_law(record.full_name),
    }


def _range_of(ranges: Any, name: str) -> dict[str, float | None]:
    """Return between what a name lies."""
    return dict(zip(("low", "high"), ranges.get(name, (None, None)), strict=True))


def _expression_text(record: Record) -> str:
    spec = record.spec
    if spec.expression is None:
        return f"(code) {spec.target}"
    return spec.expression if spec.equals is None else f"{spec.expression} = {spec.equals}"


laws = catalogue("laws", "law", columns={"expression": _expression_text}, describe=_law_details)
