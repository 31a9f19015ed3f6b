"""``forecast quantities``: what is measured, what bounds it, and whose forecast answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forecast.cli.catalogue.listing import catalogue
from forecast.contract.registry import Record
from forecast.contract.specs import QuantitySpec

__all__ = ["QUANTITY_COLUMNS", "describe_quantity", "quantities"]


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


def describe_quantity(record: Record) -> dict[str, Any]:
    """Return what a quantity of the world is, as plain data."""
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


#: What a list of quantities shows beside their names and titles.
QUANTITY_COLUMNS: dict[str, Callable[[Record], Any]] = {"unit": lambda r: _spec(r).unit, "forecast": _forecast}

quantities = catalogue(
    "quantities",
    "quantity",
    columns=QUANTITY_COLUMNS,
    describe=describe_quantity,
)
