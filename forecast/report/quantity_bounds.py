"""Where an answer about a quantity of the world leaves the bounds that the quantity has, said in a sentence."""

from __future__ import annotations

from forecast import units
from forecast.contract.specs import QuantitySpec
from forecast.projection.result import Projection
from forecast.report.words.number_text import amount

__all__ = ["bound_breaches"]

#: What arithmetic may add to a bound that holds.
BOUND_RTOL = 1e-9


def bound_breaches(run: Projection, quantity: QuantitySpec) -> list[str]:
    """Say which ends of the 90 % intervals lie outside the bounds of the quantity that is told; nothing if none does.

    Parameters
    ----------
    run : Projection
        Its values are those of the quantity.
    quantity : QuantitySpec
    """
    ends = [
        units.convert(end, answer.unit, quantity.unit, where=f"quantity '{quantity.name}'")
        for answer in run.values
        for row in answer.rows
        if row.distribution is not None
        for end in (row.distribution.quantiles[0], row.distribution.quantiles[-1])
    ]
    bounds = (
        ("below", quantity.floor, quantity.floor_source, lambda bound: min(ends) < bound * (1 - BOUND_RTOL)),
        ("above", quantity.ceiling, quantity.ceiling_source, lambda bound: max(ends) > bound * (1 + BOUND_RTOL)),
    )
    return [
        f"{quantity.name}: some of the worlds lie {side} {amount(bound, quantity.unit)}, which bounds it: {source}"
        for side, bound, source, is_left in bounds
        if ends and bound is not None and is_left(bound)
    ]
