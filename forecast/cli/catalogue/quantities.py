"""``forecast quantities``: what is measured, what bounds it, and whose forecast answers."""

from __future__ import annotations

from typing import Any

from forecast.cli.catalogue.listing import catalogue
from forecast.contract.registry import Record
from forecast.contract.specs import QuantitySpec


def _spec(record: Record) -> QuantitySpec:
    assert isinstance(record.spec, QuantitySpec)
    return record.spec


def _forecast(record: Record) -> str:
    return _with_settings(_spec(record)) or "none"


def _with_settings(each: Any) -> str:
    settings = ", ".join(f"{choice} = {value}" for choice, value in each.settings.items())
    return f"{each.forecast} ({settings})" if settings else str(each.forecast)


def _bound(value: float | None, source: str, unit: str) -> str:
    return source if value is None else f"{value:g} {unit}".strip() + f": {source}"


def _quantity_details(record: Record) -> dict[str, Any]:
    spec = _spec(record)
    return {
        "definition": spec.definition,
        "unit": spec.unit,
        "scale": spec.scale,
        "keeps": spec.keeps,
        "floor": _bound(spec.floor, spec.floor_source, spec.unit),
        "ceiling": _bound(spec.ceiling, spec.ceiling_source, spec.unit),
        "observed": spec.observed,
        "forecast": _forecast(record),
        "rivals": [{"name": r.name, "forecast": _with_settings(r), "differs": r.differs} for r in spec.rivals],
        "synonyms": list(spec.synonyms),
        "related": list(spec.related),
        "ask": f"forecast ask {spec.name}" if spec.forecast else "",
    }


quantities = catalogue(
    "quantities",
    "quantity",
    columns={"unit": lambda r: _spec(r).unit, "forecast": _forecast},
    describe=_quantity_details,
)
