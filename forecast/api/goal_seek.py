"""The value of one assumption that makes an answer come true by a date."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from forecast.base.dates import parse_year
from forecast.errors import UsageError

if TYPE_CHECKING:
    from forecast.api.answer import Answer

#: The assumption is looked for within this factor of where it is drawn, and found to this precision.
MAX_SEARCH_FACTOR, SEARCH_RTOL = 1e12, 1e-5
#: Worlds that are near one another in an assumption, and years after the date that are drawn too.
NEARBY_DRAWS, MARGIN_YEARS = 100, 10.0
#: How late what never comes is, in years.
NEVER_YEARS = 1e6
#: Dates farther off than this, in years, only say on which side they lie: a jump to never is halved, not followed.
MAX_FOLLOWED_YEARS = 3.0


def required_value(
    answer: Answer, name: str, *, by: float | str, probability: float = 0.5, within: tuple[float, float] | None = None
) -> float:
    """Return the value of a quantity, the same in every world, that makes it so by a date.

    The draws of all other quantities stay. The root is found on the date at which the answer of the sentence reaches
    the probability, in the logarithm of the assumption where that is positive.

    Parameters
    ----------
    answer : Answer
        To a question that asks when.
    name : str
        A quantity behind the answer, or an input of a model.
    by : float or str
        The date: 2030.5, ``"2030-07"``.
    probability : float
        How likely it should be by then: by default the median date is meant.
    within : (float, float), optional
        Where to look; by default from where the quantity is drawn outwards.

    Returns
    -------
    float
        In the unit of the quantity.

    Raises
    ------
    UsageError
        If the answer does not depend on it, if no number makes it so, or if there is no one answer.

    Examples
    --------
    >>> import forecast
    >>> from forecast.language import start, t
    >>> x = forecast.uncertain(p05=1, p95=4, name="x")
    >>> answer = (x * (t - start) >= 10).when(start=2020, until=2040, draws=50)
    >>> round(answer.needed("x", by=2025), 4)
    2.0
    """
    from scipy.optimize import brentq

    answer._only("needed", "when")
    if not 0 < probability < 1:
        raise UsageError(f"needed: expected a probability between 0 and 1, got {probability:g}")
    if name not in answer._settable_names:
        raise answer._not_of(name, "needed")
    by, first = parse_year(by, "needed: by"), math.floor(answer.run.span[0])
    if by <= first:
        raise UsageError(f"needed: {by:g} is not after the first step, {first:g}: nothing moves what is so already")
    _ = answer.distribution  # there is one
    near, lateness = _shorten_horizon(answer, by), dict[float, float]()

    def late(number: float) -> float:
        """Return how many years after the date it is reached with this probability."""
        if number not in lateness:
            date = near.with_(**{name: number}).quantile(probability)
            lateness[number] = date - by if math.isfinite(date) else NEVER_YEARS
        return lateness[number]

    low, high = within or _input_range(answer, name)
    positive = low > 0
    if within is None:
        guess = _first_guess(answer, name, by, probability) if positive else None
        low, high = _bracket_date(late, low, high) if guess is None else _bracket_date(late, guess, guess)
    if (late(low) > 0) == (late(high) > 0):
        ends = ", ".join(f"{_format_lateness(late(end), by)} at {end:.3g}" for end in (low, high))
        raise UsageError(
            f"needed '{name}': no number from {low:.3g} to {high:.3g} makes it so by {by:g} with probability "
            f"{probability:g}: it is {ends}"
        )
    if not positive:
        return float(brentq(lambda x: _clip_lateness(late(x)), low, high, xtol=SEARCH_RTOL * (high - low)))
    lateness.update({math.exp(math.log(end)): late(end) for end in (low, high)})  # asked again as logarithms
    return math.exp(
        float(brentq(lambda x: _clip_lateness(late(math.exp(x))), math.log(low), math.log(high), xtol=SEARCH_RTOL))
    )


def _clip_lateness(late: float) -> float:
    return min(max(late, -MAX_FOLLOWED_YEARS), MAX_FOLLOWED_YEARS)


def _format_lateness(late: float, by: float) -> str:
    return "never" if late == NEVER_YEARS else f"{by + late:.1f}"


def _shorten_horizon(answer: Answer, by: float) -> Answer:
    """Return the question over a shorter time: steps well after the date have no influence."""
    last = max([by + MARGIN_YEARS, *(float(date[:4]) + 1 for date in answer.result.dates)])
    if last >= answer.run.span[1]:
        return answer
    return replace(answer, options={**answer.options, "until": math.ceil(last)})


def _first_guess(answer: Answer, name: str, by: float, probability: float) -> float | None:
    """Return about where it is, from the worlds that are there: those near each value; None where they do not tell."""
    run, result = answer.run, answer.result
    draws = run.uncertain.get(name)
    if draws is None and name in run.quantities:
        own = run.quantities[name].worlds.isel(time=0)
        chosen = {d: v for d, v in result.default.items() if d in own.dims}
        pooled = run.pooled(own.sel(chosen), result.rivals)
        draws = pooled.values if pooled.dims == ("draw",) else None
    if draws is None or len(draws) < 2 * NEARBY_DRAWS or not np.isfinite(draws).all():
        return None
    dates, _ = result.pooled_draws(result.default)
    order = np.argsort(draws, kind="stable")
    middles, late = [], []
    for part in np.array_split(order, len(order) // NEARBY_DRAWS):
        middles.append(float(np.median(draws[part])))
        late.append(float(np.nanquantile(dates[part], probability, method="inverted_cdf")) <= by)
    turns = np.flatnonzero(np.diff(np.array(late, dtype=int)))
    return math.sqrt(middles[turns[0]] * middles[turns[0] + 1]) if len(turns) == 1 else None


def _input_range(answer: Answer, name: str) -> tuple[float, float]:
    """Return the ends of where an assumption is drawn."""
    run = answer.run
    if name in run.quantities:
        values = np.asarray(run.quantities[name].worlds.values)
    elif name in run.uncertain:
        values = run.uncertain[name]
    else:
        way = "give the numbers within which to look: within=(low, high)"
        raise UsageError(f"needed '{name}': it is no quantity of the answer: {way}")
    values = values[np.isfinite(values)]
    return float(values.min()), float(values.max())


def _bracket_date(late: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return ends on two sides of the date, as far out as it takes."""
    if low > 0:
        low, high = low / 2, high * 2
        step, start, end = 4.0, low, high
        while (late(low) > 0) == (late(high) > 0) and high / end < MAX_SEARCH_FACTOR:
            low, high, step = start / step, end * step, step**1.5
        return low, high
    width = max(high - low, abs(high), 1.0)
    low, high, step = low - width, high + width, 1.0
    while (late(low) > 0) == (late(high) > 0) and step < MAX_SEARCH_FACTOR:
        step *= 8
        low, high = low - step * width, high + step * width
    return low, high
