"""``forecast laws``: formulas, their units and published parameters."""

from __future__ import annotations

from typing import Any

from forecast.cli.catalogue import catalogue
from forecast.registry import Record
from forecast.specs import LawSpec


def _spec(record: Record) -> LawSpec:
    assert isinstance(record.spec, LawSpec)
    return record.spec


def _describe(record: Record) -> dict[str, Any]:
    spec = _spec(record)
    parameters = list(spec.example)
    if spec.expression is not None:
        from forecast.formula import parse

        formula = parse(spec.expression, where=f"law '{record.full_name}'")
        parameters = [n for n in formula.names if n not in spec.variables]
    low_high = dict.fromkeys(spec.positive, (0.0, None)) | dict(spec.bounds)
    return {
        "expression": spec.expression,
        "code": spec.target,
        "output": {"name": spec.output, "unit": spec.unit},
        "objective": spec.objective,
        "variables": [
            {"name": name, "unit": unit, "low": _end(spec.domain, name, 0), "high": _end(spec.domain, name, 1)}
            for name, unit in spec.variables.items()
        ],
        "parameters": [
            {
                "name": name,
                "low": _end(low_high, name, 0),
                "high": _end(low_high, name, 1),
                "example": spec.example.get(name),
            }
            for name in parameters
        ],
        "published": [
            {
                "name": fit.name,
                "parameters": dict(fit.parameters),
                "stderr": dict(fit.stderr),
                "rounded": fit.rounded,
                "note": fit.note,
                "reference": fit.reference,
            }
            for fit in spec.published
        ],
    }


def _end(ranges: Any, name: str, side: int) -> float | None:
    return ranges[name][side] if name in ranges else None


laws = catalogue(
    "laws",
    "law",
    columns={"expression": lambda r: _spec(r).expression or f"(code) {_spec(r).target}"},
    describe=_describe,
)
