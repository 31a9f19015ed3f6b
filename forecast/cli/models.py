"""``forecast models``: what produces a quantity, from what, and where its numbers come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forecast.cli.catalogue import catalogue
from forecast.registry import Record
from forecast.specs import EstimateSpec, Input, MixtureSpec, ModelSpec, RelationSpec, TrendSpec

_KINDS = {TrendSpec: "trend", EstimateSpec: "estimate", MixtureSpec: "mixture", RelationSpec: "relation"}


def _spec(record: Record) -> ModelSpec:
    assert isinstance(record.spec, ModelSpec)
    return record.spec


def _kind(record: Record) -> str:
    return next((name for cls, name in _KINDS.items() if isinstance(record.spec, cls)), "model")


def _describe(record: Record) -> dict[str, Any]:
    spec = _spec(record)
    found: dict[str, Any] = {"kind": _kind(record), "quantity": spec.quantity, "unit": spec.unit, "note": spec.note}
    if spec.target is not None:
        found |= {"code": spec.target}
    if isinstance(spec, TrendSpec):
        found |= {"shape": spec.shape, "table": spec.table, "x": spec.x, "y": spec.y, "frontier": spec.frontier}
        found |= {"where": dict(spec.where), "inputs": []}
    elif isinstance(spec, EstimateSpec):
        found |= {"expression": spec.expression, "inputs": _inputs(spec.inputs)}
    elif isinstance(spec, MixtureSpec):
        found |= {"weights": dict(spec.weights), "inputs": []}
    elif isinstance(spec, RelationSpec):
        found |= {"law": spec.law, "table": spec.table, "y": spec.y, "let": dict(spec.let), "where": dict(spec.where)}
        found |= {"inputs": []}
    else:
        found |= {"inputs": _needs(record)}
    return found


def _inputs(inputs: tuple[Input, ...]) -> list[dict[str, Any]]:
    return [
        {"name": i.name, "unit": i.unit, "distribution": dict(i.distribution), "source": i.source, "title": i.title}
        for i in inputs
    ]


def _needs(record: Record) -> list[dict[str, Any]]:
    """Ask the plugin's own model what it needs; only here is its code imported."""
    from forecast.models import model

    needs: Mapping[str, Any] = model(record.full_name).inputs
    found = []
    for name, need in needs.items():
        if isinstance(need, Input):
            found += _inputs((need,))
        else:
            found.append({"name": name, "unit": getattr(need, "unit", ""), "title": "another quantity or model"})
    return found


models = catalogue(
    "models", "model", columns={"kind": _kind, "unit": lambda r: _spec(r).unit}, describe=_describe
)  # fmt: skip
