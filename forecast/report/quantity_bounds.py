"""What the bounds of a quantity of the world do to an answer about it, said in a sentence."""

from __future__ import annotations

import numpy as np

from forecast import units
from forecast.contract.specs import QuantitySpec
from forecast.projection.result import Projection, ValueAnswer
from forecast.report.headline import Labels, binding_shares
from forecast.report.words.number_text import amount, percent

#: What arithmetic may add to a bound that holds, and in which share of the worlds one decides before it is said.
BOUND_RTOL, MIN_BINDING_SHARE = 1e-9, 0.1
#: Of magnitude that an interval may span before it is said.
MAX_ORDERS = 6.0
_SIDES = {"limit": "above", "at_least": "below"}
_BOUND_WORDS = {"limit": "upper bound", "at_least": "lower bound"}


def bound_lines(run: Projection, quantity: QuantitySpec) -> list[str]:
    """Say where a bound decides in more than a tenth of the worlds, or where a publication leaves it.

    Parameters
    ----------
    run : Projection
        Its values are those of the quantity.
    quantity : QuantitySpec
    """
    bounds = {"limit": (quantity.ceiling, quantity.ceiling_source), "at_least": (quantity.floor, quantity.floor_source)}
    shares = list(binding_shares(run.opening)) if isinstance(run.opening, ValueAnswer) else []
    own = run.opening.text if isinstance(run.opening, ValueAnswer) else ""
    binding: dict[str, float | None] = {limit.bound: share for limit, share in shares if limit.name == own}
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
        shown = amount(bound, quantity.unit)
        lines.append(
            f"{quantity.name}: its {_BOUND_WORDS[side]} of {shown} decides in {percent(share)} of the worlds: {source}"
            if share is not None
            else f"{quantity.name}: some of the worlds lie {_SIDES[side]} {shown}, which bounds it: {source}"
        )
    words = Labels(run)
    told = [
        f"{words(limit.name)} ({_BOUND_WORDS[limit.bound]}: {percent(share)})"
        for limit, share in shares if limit.name != own and share > MIN_BINDING_SHARE
    ]  # fmt: skip
    if told:
        over = f"more than {percent(MIN_BINDING_SHARE)} of the worlds"
        lines.append(f"{quantity.name}: what it rests on is at a bound in {over}: {', '.join(told)}")
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
    bounds += [f"no more than {whole} ({why})" for whole, why in quantity.at_most.items()]
    if bounds and quantity.scale not in ("share", "percent"):
        bounds += ["no lower one is known"] if quantity.floor is None else []
        bounds += ["no upper one is known"] if quantity.ceiling is None and not quantity.at_most else []
    return f"What observes it: {quantity.observed}. Bounds: {'; '.join(bounds) or 'none known'}."
