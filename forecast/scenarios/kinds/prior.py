"""A number that a scenario states: certain, or with a distribution.

::

    [quantities.brain]
    p05 = 1e13
    p95 = 1e17
    unit = "FLOP/s"

    [quantities.most]
    ceiling_of = "device-rate-fp8"   # the bound that a quantity of the world states; floor_of too
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import units
from forecast.base.distributions import Distribution, distribution
from forecast.contract.registry import get_registry
from forecast.contract.specs import QuantitySpec
from forecast.scenarios.quantities.node import Combination, Node, Plan, StatedKind

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader


@dataclass(frozen=True, kw_only=True)
class Prior(StatedKind):
    """An uncertain (or fixed) number."""

    KIND, FORM = "prior", "a distribution"
    CONSTANT = True

    distribution: Distribution
    unit: str
    qualifiers: Mapping[str, str] = field(default_factory=dict)
    #: When the number was published, and its distribution before.
    published: str = ""
    earlier: Distribution | None = None

    @classmethod
    def told(cls, record: Mapping[str, Any]) -> bool:
        """Tell whether a record states anything beside a unit; what else it may be is asked first."""
        return bool(set(record) - {"unit", "qualifiers"})

    @classmethod
    def read(cls, reader: ScenarioReader, record: Mapping[str, Any], key: str, choices: Mapping[str, Any]) -> Prior:
        """Return a number with its distribution."""
        for side in ("floor", "ceiling"):
            if f"{side}_of" in record:
                record = _with_quantity_bound(reader, record, key, side)
        numbers = {k: v for k, v in record.items() if k not in ("unit", "qualifiers", "published", "earlier")}
        result = distribution(numbers, where=f"{reader.where}: {key}")
        published, earlier = reader.published(record, key), None
        if "earlier" in record:
            earlier = distribution(reader.mapping(record, "earlier", key), where=f"{reader.where}: {key}.earlier")
        return cls(
            distribution=result, unit=reader.unit(record, key), qualifiers=reader.qualifiers(record, key),
            published=published, earlier=earlier,
        )  # fmt: skip

    @property
    def one_uniform(self) -> bool:
        """Whether it is uncertain."""
        return self.distribution.family != "fixed"

    def lower(self, plan: Plan, node: Node, combination: Combination) -> int:
        """Return the quantiles of its uniforms."""
        return plan.number(node.name, plan.known(node.name, self.published, self.distribution, self.earlier))


def _with_quantity_bound(reader: ScenarioReader, record: Mapping[str, Any], key: str, side: str) -> dict[str, Any]:
    """Return a record with the bound of a quantity of the world in place of that quantity's name."""
    spec = get_registry().find("quantity", reader.text(record, f"{side}_of", key), where=f"{reader.where}: {key}").spec
    assert isinstance(spec, QuantitySpec)
    bound = getattr(spec, side)
    if "value" in record:
        raise reader.fail(f"{key}.value", f"'{side}_of' states the number: leave one of them out")
    if bound is None:
        raise reader.fail(f"{key}.{side}_of", f"'{spec.name}' has no {side}: forecast quantities show {spec.name}")
    unit = str(record.get("unit", spec.unit))
    value = float(units.convert(np.float64(bound), spec.unit, unit, where=f"{reader.where}: {key}"))
    return {**{k: v for k, v in record.items() if k != f"{side}_of"}, "value": value, "unit": unit}
