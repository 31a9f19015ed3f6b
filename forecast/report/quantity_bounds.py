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
        ("below", quantity.floor, quantity.floor_source, -1),
        ("above", quantity.ceiling, quantity.ceiling_source, 1),
    )
    return [
        f"{quantity.name}: some of the worlds lie {side} {amount(bound, quantity.unit)}, which bounds it: {source}"
        for side, bound, source, sign in bounds
        if bound is not None and any(sign * end > sign * bound * (1 + sign * BOUND_RTOL) for end in ends)
    ]
