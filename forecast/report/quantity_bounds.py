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
#: What an interval of 90 % leaves no room beside.
MIN_WHOLE_SHARE = 0.9
#: Of magnitude that an interval may span before it is said.
MAX_ORDERS = 6.0
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
    opening = run.opening
    binding: dict[str, float | None] = dict(binding_shares(opening) if isinstance(opening, ValueAnswer) else ())
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


def width_lines(run: Projection) -> list[str]:
    """Say how wide the interval of a value is, where that is more than six orders of magnitude, and what bounds it.

    Parameters
    ----------
    run : Projection
    """
    found = opening.headline if isinstance(opening := run.opening, ValueAnswer) else None
    if opening is None or found is None or found.medians is not None or found.quantiles[0] <= 0:
        return []
    orders = float(np.log10(found.quantiles[4] / found.quantiles[0]))
    if orders <= MAX_ORDERS:
        return []
    bounded = any(limit.name == opening.text and limit.bound == "limit" for limit in run.limits)
    return [
        f"the 90 % interval spans {orders:.0f} orders of magnitude{'' if bounded else ', and no upper bound is known'}"
    ]


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


def binding_shares(answer: ValueAnswer) -> Iterator[tuple[str, float]]:
    """Yield in which share of the worlds either bound of what is asked binds, at the date of the answer."""
    place = int(np.abs(answer.run.years - decimal_year([answer.date])[0]).argmin())
    for limit in answer.run.limits:
        chosen = {choice: value for choice, value in answer.default.items() if choice in limit.choices}
        if limit.name == answer.text and chosen.items() <= limit.choices.items():
            yield limit.bound, float(limit.probability[place])


def is_at_bound(answer: ValueAnswer) -> bool:
    """Tell whether a value that has no interval is at a bound in nearly all worlds, and so no stated number."""
    found = answer.headline
    alike = found is not None and found.medians is None and found.quantiles[0] == found.quantiles[4]
    return alike and any(share >= MIN_WHOLE_SHARE for _, share in binding_shares(answer))
