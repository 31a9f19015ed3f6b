"""What stands beside a scenario in the past: what was observed, the series carried on, and what had been published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast import units
from forecast.base.dates import decimal_year
from forecast.base.quantiles import QUANTILES
from forecast.evaluation.extrapolate import dated_quantiles
from forecast.evaluation.origins import REFERENCE_SHAPES
from forecast.evaluation.whole.scenario_scores import ROUND_DIGITS, Scale
from forecast.projection.claim_values import claim_draws
from forecast.projection.crossing import weighted_quantiles
from forecast.projection.engine import project
from forecast.projection.result import Projection
from forecast.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from forecast.contract.registry import Registry

Array = NDArray[np.float64]

__all__ = [
    "ObservedQuantity",
    "Published",
    "extrapolate_series",
    "last_value",
    "published_levels",
    "published_models",
    "quantiles_at",
]

#: Years within which what was observed counts as observed at a date.
MATCH_YEARS = 0.25
#: Dates this many years apart are one; and steps, since half a year of the calendar is not half of its days.
SAME_DATE_ATOL_YEARS, STEP_ATOL_YEARS = 1e-6, 0.02


@dataclass(frozen=True, kw_only=True)
class ObservedQuantity:
    """What was observed of a quantity.

    Parameters
    ----------
    time, value : ndarray
        Decimal years that do not fall, and values in the quantity's unit.
    record : bool
        A running maximum.
    """

    time: Array
    value: Array
    record: bool

    def same_as(self, other: ObservedQuantity) -> bool:
        """Tell whether both are of the same rows."""
        return np.array_equal(self.time, other.time) and np.array_equal(self.value, other.value)

    def at(self, date: float, scale: Scale) -> float:
        """Return what was observed at a date, on a scale; NaN where nobody knows.

        A record stands as it is, up to three months after the last row.
        """
        seen = scale.of(self.value)
        if self.record:
            known = seen[self.time <= date + SAME_DATE_ATOL_YEARS]
            return (
                float(known.max())
                if known.size and date <= self.time[-1] + MATCH_YEARS + SAME_DATE_ATOL_YEARS
                else np.nan
            )
        near = seen[np.abs(self.time - date) <= MATCH_YEARS + SAME_DATE_ATOL_YEARS]
        return float(near.mean()) if near.size else np.nan


def extrapolate_series(series: ObservedQuantity, dates: Array, scale: Scale, seed: int) -> Array:
    """Carry the rows on as `forecast.extrapolate` does; a record never falls."""
    found = dated_quantiles(series.time, series.value, dates, QUANTILES, seed)
    return scale.of(np.maximum(found, series.value.max()) if series.record else found)


def last_value(series: ObservedQuantity, dates: Array, scale: Scale, seed: int) -> Array:
    """Repeat the last value, or the record, with the spread of a random walk without drift."""
    from forecast.base.streams import Streams

    seen = scale.of(series.value)
    if series.record:
        seen = np.maximum.accumulate(seen)
    span = float(np.ptp(seen)) or 1.0  # the walk is one of logarithms: what is scored on a scale walks on it
    walk = REFERENCE_SHAPES["last-value"].fit(series.time, np.exp((seen - seen[-1]) / span))
    drawn = span * np.log(walk.sample(dates, Streams(seed=seed, node="last value", block=0))) + seen[-1]
    ends = np.quantile(np.maximum(drawn, seen[-1]) if series.record else drawn, QUANTILES, axis=1).T
    return np.asarray(np.round(ends, ROUND_DIGITS))


@dataclass(frozen=True, kw_only=True)
class Published:
    """A published model that forecasts quantities of the scenario.

    Parameters
    ----------
    name : str
    scenario : Scenario
    on : str
        When it appeared, ISO.
    quantities : mapping of str to (str, mapping)
        By quantity of the scenario its own, and the values of choices under which it is the same.
    """

    name: str
    scenario: Scenario
    on: str
    quantities: Mapping[str, tuple[str, Mapping[str, str]]]

    @property
    def year(self) -> float:
        """When it appeared, as a decimal year."""
        return float(decimal_year(np.datetime64(self.on, "s")))


def published_models(scenario: Scenario, names: set[str], last: float) -> Iterator[Published]:
    """Walk the published models that appeared by the last vintage and share a quantity with the scenario."""
    from forecast.contract.registry import get_registry
    from forecast.evaluation.shared_questions import scenarios_sharing, shared_questions

    registry: Registry = get_registry()
    questions = shared_questions(registry)
    ours = {about: name for about, (name, _) in _matching_quantities(scenario, questions).items() if name in names}
    for other, _ in scenarios_sharing(registry, questions) if ours else ():
        on = str(other.stated.get("published_on", ""))
        both = {ours[about]: found for about, found in _matching_quantities(other, questions).items() if about in ours}
        if on and both and other.name != scenario.name:
            pack = Published(name=other.name.rpartition("/")[2], scenario=other, on=on, quantities=both)
            if pack.year <= last + SAME_DATE_ATOL_YEARS:
                yield pack


def _matching_quantities(
    scenario: Scenario, questions: Mapping[str, Mapping[str, Any]]
) -> dict[str, tuple[str, Mapping[str, str]]]:
    """Return the quantity that stands for each shared one, and the values of choices under which it does."""
    found: dict[str, tuple[str, Mapping[str, str]]] = {}
    pairs = [(each.shared, each.when.left.text) for each in scenario.questions.values()]
    pairs += [(each.shared, each.of.text) for each in scenario.figures.values()]
    for shared, quantity in pairs:
        for question, under in shared.items():
            about = questions.get(question, {}).get("quantity", "")
            if about and quantity in scenario.quantities:
                found.setdefault(about, (quantity, under))
    return found


def published_levels(
    pack: Published, quantity: str, unit: str, dates: Array, scale: Scale, *, draws: int, seed: int
) -> Array:
    """Return the quantiles that a published model says of a quantity at dates, (date, quantile); NaN outside its span.

    Raises
    ------
    ForecastError
        If it cannot be run.
    """
    own, under = pack.quantities[quantity]
    first = {name: each.values[0] for name, each in pack.scenario.choices.items() if each.kind == "definition"}
    run = project(pack.scenario, with_={**first, **under}, draws=draws, keep=draws, seed=seed)
    return quantiles_at(run, own, dates, scale, unit=unit, between=True)


# --- from worlds to quantiles -----------------------------------------------------------------------------------------


def quantiles_at(
    run: Projection, name: str, dates: Array, scale: Scale, *, unit: str | None = None, between: bool = False
) -> Array:
    """Return the quantiles of a quantity at dates, (date, quantile), on a scale; NaN where it has none.

    Rivals that are pooled count by their weights, those without data not at all; of a choice that nobody weighs the
    first value is taken.

    Parameters
    ----------
    unit : str, optional
        Of the scale, where it is not the quantity's own.
    between : bool
        Dates between two steps count too, on a straight line of the scale in every world.
    """
    values = run.worlds[name]
    out = np.full((len(dates), len(QUANTILES)), np.nan)
    if values.dtype.kind != "f":
        return out
    values = values.isel({str(d): 0 for d in values.dims if d not in ("time", "draw") and str(d) not in run.rivals})

    def levels(place: int) -> tuple[Array, Array]:
        drawn, weights = claim_draws(run, values.isel(time=place) if "time" in values.dims else values, where=name)
        own = run.quantities[name].unit
        return scale.of(drawn if unit is None else units.convert(drawn, own, unit, where=name)), weights

    for i, date in enumerate(dates):
        place = int(np.abs(run.years - date).argmin())
        if abs(run.years[place] - date) <= STEP_ATOL_YEARS:
            drawn, weights = levels(place)
        elif between and run.years[0] < date < run.years[-1]:
            after = int(np.searchsorted(run.years, date))
            (low, weights), (high, _) = levels(after - 1), levels(after)
            step = run.years[after] - run.years[after - 1]
            drawn = low + (date - run.years[after - 1]) / step * (high - low)
        else:
            continue
        if np.isfinite(drawn).any():
            out[i] = np.round(weighted_quantiles(drawn, weights, QUANTILES), ROUND_DIGITS)
    return out
