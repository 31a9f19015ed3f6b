"""What the bounds of a quantity of the world do to an answer about it, said in a sentence."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from forecast import units
from forecast.base.dates import decimal_year
from forecast.contract.specs import QuantitySpec
from forecast.projection.result import Projection, ValueAnswer
from forecast.report.words.number_text import amount, percent

#: What arithmetic may add to a bound that holds, and in which share of the worlds one decides before it is said.
BOUND_RTOL, MIN_BINDING_SHARE = 1e-9, 0.1
_SIDES = {"limit": "above", "at_least": "below"}


def bound_lines(run: Projection, quantity: QuantitySpec) -> list[str]:
    """Say where a bound decides in more than a tenth of the worlds, or where a publication leaves it.

    Parameters
    ----------
    run : Projection
        Its values are those of the quantity.
    quantity : QuantitySpec
    """
    bounds = {"limit": (quantity.ceiling, quantity.ceiling_source), "at_least": (quantity.floor, quantity.floor_source)}
    binding: dict[str, float | None] = dict(_binding_shares(run))
    for answer in run.values:
        ends = [end for row in answer.rows if row.distribution is not None for end in row.distribution.quantiles]
        values = units.convert(np.array(ends), answer.unit, quantity.unit, where=f"quantity '{quantity.name}'")
        for side, (bound, _) in bounds.items():
            if bound is not None and len(values) and side not in binding:
                past = values > bound * (1 + BOUND_RTOL) if side == "limit" else values < bound * (1 - BOUND_RTOL)
                if past.any():
                    binding[side] = None
    lines = []
    for side, share in binding.items():
        bound, source = bounds[side]
        if bound is None or (share is not None and share <= MIN_BINDING_SHARE):
            continue
        shown, end = amount(bound, quantity.unit), f"{'upper' if side == 'limit' else 'lower'} bound"
        lines.append(
            f"{quantity.name}: its {end} of {shown} decides in {percent(share)} of the worlds: {source}"
            if share is not None
            else f"{quantity.name}: some of the worlds lie {_SIDES[side]} {shown}, which bounds it: {source}"
        )
    return lines


def identity_line(quantity: QuantitySpec) -> str:
    """Say what observes a quantity and what bounds it.

    Examples
    --------
    >>> from forecast.contract.registry import get_registry
    >>> identity_line(get_registry().find("quantity", "run-cost").spec)[:60]
    'What observes it: datasets/training-runs-2026: cost, record '
    """
    ends = (("above", quantity.floor, quantity.floor_source), ("below", quantity.ceiling, quantity.ceiling_source))
    bounds = [f"{side} {amount(end, quantity.unit)} ({source})" for side, end, source in ends if end is not None]
    return f"What observes it: {quantity.observed}. Bounds: {'; '.join(bounds) or 'none known'}."


def _binding_shares(run: Projection) -> Iterator[tuple[str, float]]:
    """Yield in which share of the worlds either bound of what is asked binds, at the date of the answer."""
    opening = run.opening
    if not isinstance(opening, ValueAnswer):
        return
    place = int(np.abs(run.years - decimal_year([opening.date])[0]).argmin())
    for limit in run.limits:
        chosen = {choice: value for choice, value in opening.default.items() if choice in limit.choices}
        if limit.name == opening.text and chosen.items() <= limit.choices.items():
            yield limit.bound, float(limit.probability[place])
