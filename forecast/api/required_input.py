"""What one assumption would have to be, for an answer to be what one asks for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.lazy import xr
from forecast.errors import UsageError

if TYPE_CHECKING:
    from forecast.api.answer import Answer

__all__ = ["required"]

#: The assumption is looked for within this factor of where it is drawn, and found to this precision.
FARTHEST, PRECISION = 1e12, 1e-6
#: So many worlds tell where it is drawn.
WORLDS = 200
#: How late what never comes is, in years.
NEVER = 1e6


def required(
    answer: Answer,
    name: str,
    *,
    by: float | None,
    probability: float = 0.5,
    within: tuple[float, float] | None = None,
) -> Any:
    """Return what a quantity would have to be, the same in every world, for it to be so by a date.

    Every other quantity draws what it drew. The root is found on the date at which the probability is reached, in the
    logarithm of the assumption where that is positive.

    Parameters
    ----------
    answer : Answer
        To a question that asks when.
    name : str
        A quantity behind the answer, or an input of a model.
    by : float
        The decimal year.
    probability : float
        How likely it should be by then: by default the median date is meant.
    within : (float, float), optional
        Where to look; by default from where the quantity is drawn outwards.

    Returns
    -------
    float or xarray.DataArray
        In the unit of the quantity; along the choices on which the answer depends.

    Raises
    ------
    UsageError
        For what the answer does not depend on, and where no number makes it so.

    Examples
    --------
    >>> import forecast
    >>> from forecast.language import start, t
    >>> x = forecast.uncertain(p05=1, p95=4, name="x")
    >>> answer = (x * (t - start) >= 10).when(start=2020, until=2040, draws=50)
    >>> round(answer.needed("x", dates=2025), 6)
    2.0
    """
    answer._only("needed", "when")
    if by is None or not 0 < probability < 1:
        raise UsageError("needed: expected dates=, a decimal year, and a probability between 0 and 1")
    if name not in answer._knobs():
        raise answer._not_of(name, "needed")
    first = float(answer.run["projection"]["time"].dt.year[0])
    if by <= first:
        raise UsageError(f"needed: {by:g} is not after the first step, {first:g}: nothing moves what is so already")
    dims = [str(dim) for dim in answer.dates.dims if dim != "draw"]
    found = []
    for chosen in itertools.product(*(answer.dates[dim].values for dim in dims)):
        narrowed = {**(answer.options.get("set") or {}), **{d: str(v) for d, v in zip(dims, chosen, strict=True)}}
        each = replace(answer, options={**answer.options, "set": narrowed})
        found.append(_root(each, name, by, probability, within))
    if not dims:
        return found[0]
    shape = tuple(answer.dates.sizes[dim] for dim in dims)
    coords = {dim: answer.dates[dim].values for dim in dims}
    return xr.DataArray(np.reshape(found, shape), dims=dims, coords=coords, name=name)


def _root(answer: Answer, name: str, by: float, probability: float, within: tuple[float, float] | None) -> float:
    known: dict[float, float] = {}

    def late(number: float) -> float:
        """Return how many years after the date it is reached with this probability."""
        if number not in known:
            date = float(answer.with_(**{name: number}).quantiles(probability).values.ravel()[0])
            known[number] = date - by if math.isfinite(date) else NEVER
        return known[number]

    low, high = within or _drawn(answer, name)
    positive = low > 0
    if within is None:
        low, high = _bracket(late, low, high)
    if (late(low) > 0) == (late(high) > 0):
        told = ", ".join(f"{_when(late(end), by)} at {end:.3g}" for end in (low, high))
        raise UsageError(
            f"needed '{name}': no number from {low:.3g} to {high:.3g} makes it so by {by:g} with probability "
            f"{probability:g}: it is {told}"
        )
    from scipy.optimize import brentq

    if not positive:
        return float(brentq(late, low, high, xtol=PRECISION * (high - low)))
    return math.exp(float(brentq(lambda x: late(math.exp(x)), math.log(low), math.log(high), xtol=PRECISION)))


def _when(late: float, by: float) -> str:
    return "never" if late == NEVER else f"{by + late:.1f}"


def _drawn(answer: Answer, name: str) -> tuple[float, float]:
    """Return the ends of where an assumption is drawn."""
    quick = replace(answer, options={**answer.options, "draws": WORLDS}).with_()
    projected = quick.run["projection"].to_dataset()
    if name in projected:
        values = np.asarray(projected[name].values)
    else:
        owner, _, short = name.rpartition(".")
        try:
            values = np.asarray(quick.run[f"posterior/{owner}/{short}"].values)
        except KeyError:
            way = "give the numbers within which to look: within=(low, high)"
            raise UsageError(f"needed '{name}': it is no quantity of the answer: {way}") from None
    values = values[np.isfinite(values)]
    return float(values.min()), float(values.max())


def _bracket(late: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return ends on two sides of the date, as far out as it takes."""
    if low > 0:
        low, high = low / 2, high * 2
        step, start, end = 4.0, low, high
        while (late(low) > 0) == (late(high) > 0) and high / end < FARTHEST:
            low, high, step = start / step, end * step, step**1.5
        return low, high
    width = max(high - low, abs(high), 1.0)
    low, high, step = low - width, high + width, 1.0
    while (late(low) > 0) == (late(high) > 0) and step < FARTHEST:
        step *= 8
        low, high = low - step * width, high + step * width
    return low, high
