"""A scenario as it would have spoken at several dates in the past, each of its quantities against what was observed.

At a *vintage* the whole scenario is projected from what was known then (`forecast.project` with ``as_of``), and what it
says of a quantity some time ahead is compared with what is known today. A quantity can be scored where it was observed:
it is a trend, or names by ``observed`` whose observations are its own. A running record, or rows that never fall, are
compared with the record as it stood at the date, any other series with the mean of what was observed within three
months of it.

Beside it stand rivals, on the same rows: the series of the quantity by its own trend, the rows carried on by
`forecast.extrapolate`, the last value, and published models that had appeared by then and forecast the same quantity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import units
from forecast.base.arrays import Array
from forecast.base.dates import decimal_year, parse_year
from forecast.base.quantiles import QUANTILES
from forecast.contract.registry import Registry, get_registry
from forecast.errors import AsOfWarning, ForecastError, UnknownNameError, UsageError, printable
from forecast.evaluation.extrapolate import dated_quantiles
from forecast.evaluation.rolling_origin import REFERENCE_SHAPES
from forecast.evaluation.whole import scenario_scores as scores
from forecast.projection.claim_values import claim_draws
from forecast.projection.crossing import weighted_quantiles
from forecast.projection.engine import loaded, project
from forecast.projection.result import Projection
from forecast.scenarios.kinds.expression import Expression
from forecast.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from forecast.evaluation.backtest_datasets import ScenarioBacktest

# --- Rivals -----------------------------------------------------------------------------------------------------------
# What stands beside a scenario in the past: what was observed, the series carried on, and what had been published.


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

    def at(self, date: float, scale: scores.Scale) -> float:
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


def extrapolate_series(series: ObservedQuantity, dates: Array, scale: scores.Scale, seed: int) -> Array:
    """Carry the rows on as `forecast.extrapolate` does; a record never falls."""
    found = dated_quantiles(series.time, series.value, dates, QUANTILES, seed)
    return scale.of(np.maximum(found, series.value.max()) if series.record else found)


def last_value(series: ObservedQuantity, dates: Array, scale: scores.Scale, seed: int) -> Array:
    """Repeat the last value, or the record, with the spread of a random walk without drift."""
    from forecast.base.streams import Streams

    seen = scale.of(series.value)
    if series.record:
        seen = np.maximum.accumulate(seen)
    span = float(np.ptp(seen)) or 1.0  # the walk is one of logarithms: what is scored on a scale walks on it
    walk = REFERENCE_SHAPES["last-value"].fit(series.time, np.exp((seen - seen[-1]) / span))
    drawn = span * np.log(walk.sample(dates, Streams(seed=seed, node="last value", block=0))) + seen[-1]
    ends = np.quantile(np.maximum(drawn, seen[-1]) if series.record else drawn, QUANTILES, axis=1).T
    return np.asarray(np.round(ends, scores.ROUND_DIGITS))


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
    pack: Published, quantity: str, unit: str, dates: Array, scale: scores.Scale, *, draws: int, seed: int
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
    run: Projection, name: str, dates: Array, scale: scores.Scale, *, unit: str | None = None, between: bool = False
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
            out[i] = np.round(weighted_quantiles(drawn, weights, QUANTILES), scores.ROUND_DIGITS)
    return out


#: Years ahead, and from one vintage to the next; so many vintages unless others are named.
HORIZON_YEARS, VINTAGE_STEP_YEARS, MAX_VINTAGES = (0.5, 1.0, 2.0), 0.5, 7
#: A plain number of which all observations lie within this factor is scored in points, and not in powers of ten.
MAX_LINEAR_RATIO = 10.0
#: Rows that tell neither a date to begin at nor whether they are a record.
MIN_ROWS = 3


def backtest_scenario(
    scenario: str | Path | Scenario,
    *,
    vintages: Sequence[float | str] = (),
    ahead: Sequence[float] = HORIZON_YEARS,
    quantities: Sequence[str] = (),
    scales: Mapping[str, str] | None = None,
    published: bool = True,
    with_: Mapping[str, Any] | None = None,
    draws: int = 1024,
    seed: int = 0,
    progress: Callable[[float, float], None] | None = None,
) -> ScenarioBacktest:
    """Project a whole scenario as of several dates in the past, and score what it said against what was observed.

    Of a definition the first value is taken, which is the one that a sentence names. Of rivals that are pooled those
    count that have data for the quantity: one without leaves the others their weights in proportion.

    Parameters
    ----------
    scenario : str, path or Scenario
    vintages : sequence of float or str
        Dates; the scenario starts at each of them, and knows what was known before it. By default the last
        seven half-years after which half a year is known.
    ahead : sequence of float
        Years ahead, multiples of half a year.
    quantities : sequence of str
        Which of the observed ones; all by default.
    scales : mapping of str to str
        By quantity ``"log10"``, ``"log2"`` or ``"unit"``, in which it is scored. By default it is its unit where an
        observation is not above 0, or of a number without a unit where all lie within a factor of ten (the points of
        an index); else powers of ten.
    published : bool
        Set published models beside it, which had appeared by the vintage. A registered scenario is one where it states
        ``published_on``; its quantity is the same where both are asked in shared questions about one ``quantity``.
    with_ : mapping, optional
        What is set, as `forecast.project` takes it: ``{"route": "links"}``.
    draws, seed : int
    progress : callable, optional
        Called with (projections done, in all).

    Returns
    -------
    ScenarioBacktest
        An `xarray.Dataset` that shows its ``sentence`` first: over ``quantity``, ``origin`` (the vintage, a decimal
        year), ``ahead`` and ``model``, the scenario first:
        ``forecast`` (also over ``quantile``), and the scores ``weighted-interval``, ``half`` and ``coverage`` (whether
        the 50 and the 90 % interval held) and ``width`` of the 90 % interval; over the first three ``observed``. All
        are on the scale of the quantity, which stands beside it with its ``unit``. Where there is no forecast it is
        NaN; the attribute ``failures`` says why, and ``published`` when each published model appeared.

    Raises
    ------
    UsageError
        If nothing of the scenario is observed, or too little to be cut.
    UnknownNameError, ForecastError

    Examples
    --------
    >>> import numpy as np, forecast
    >>> speed = {"t": np.arange(2010.0, 2025.0), "v": 2.0 ** np.arange(15)}
    >>> made = forecast.trend(speed, shape="trends/exponential", x="t", y="v", unit="FLOP/s", name="speed")
    >>> asked = forecast.Scenario.from_dict({"until": 2030, "quantities": {"speed": {"model": made}}})
    >>> found = forecast.backtest_scenario(asked, draws=100)
    >>> float(found["origin"][-1]), bool(found["coverage"].sel(model="scenario").mean() > 0.8)
    (2023.5, True)
    """
    whole = loaded(scenario)
    steps = _check_horizons(ahead)
    # without questions: of rivals each quantity keeps those that have data for it, and not for all that is asked
    bare = whole.restated({key: each for key, each in whole.stated.items() if key not in ("questions", "says")})
    settings = {name: each.values[0] for name, each in bare.choices.items() if each.kind == "definition"}
    settings |= dict(with_ or {})
    today = project(bare, with_=settings, draws=1, seed=seed)
    series = {name: _observed_series(today, name) for name in today["observed"].children} if "observed" in today else {}
    sources = _trend_sources(bare, today, series)
    names = _scored_quantities(series, sources, bare, quantities, whole.name)
    cuts = sorted(parse_year(each, "vintages") for each in vintages) or _default_vintages([series[n] for n in names])
    if not cuts:
        raise UsageError(f"'{printable(whole.name, 60)}': too little is observed to be cut: name vintages")
    scales_of = _score_scales({name: (series[name], today.quantities[name].unit) for name in names}, scales or {})
    packs = list(published_models(whole, set(names), cuts[-1])) if published else []
    label = whole.name.rpartition("/")[2]
    past = _Past(
        names=names, cuts=cuts, steps=steps, models=[label, *scores.RIVALS, *(pack.name for pack in packs)],
        scales=scales_of, records={name: series[name].record for name in names},
    )  # fmt: skip
    for i, cut in enumerate(cuts):
        try:
            run = project(
                bare, as_of=cut, start=cut, until=cut + float(steps[-1]), step="1/2", with_=settings, draws=draws,
                keep=draws, seed=seed,
            )  # fmt: skip
        except ForecastError as problem:
            past.failed(label, cut, problem)
        else:
            _fill(past, label, cut, run, sources, seed)
        if progress is not None:
            progress(i + 1, len(cuts) + len(packs))
    for i, pack in enumerate(packs):
        for name in pack.quantities:
            unit, dates = today.quantities[name].unit, np.add.outer(np.array(cuts), steps)
            try:
                levels = published_levels(
                    pack, name, unit, dates.ravel(), scores.SCALES[scales_of[name]], draws=draws, seed=seed
                )
            except ForecastError as problem:
                past.failed(f"{pack.name}: {name}", pack.year, problem)
                continue
            for cut, made in zip(cuts, levels.reshape(*dates.shape, -1), strict=True):
                if cut >= pack.year - SAME_DATE_ATOL_YEARS:
                    past.put(name, cut, pack.name, made)
        if progress is not None:
            progress(len(cuts) + i + 1, len(cuts) + len(packs))
    came = [[[series[n].at(cut + s, scores.SCALES[scales_of[n]]) for s in steps] for cut in cuts] for n in names]
    coords = {
        "quantity": names, "origin": cuts, "ahead": steps, "model": past.models,
        "unit": ("quantity", [today.quantities[name].unit for name in names]),
        "scale": ("quantity", [scales_of[name] for name in names]),
    }  # fmt: skip
    return scores.scored_forecasts(past.forecasts, np.array(came), coords).assign_attrs(
        name=whole.name, failures=past.failures, published={pack.name: pack.on for pack in packs}
    )


@dataclass(kw_only=True)
class _Past:
    """What every model said of every quantity as of every vintage, (quantity, vintage, ahead, model, quantile)."""

    names: Sequence[str]
    cuts: Sequence[float]
    steps: Array
    models: Sequence[str]
    scales: Mapping[str, str]
    records: Mapping[str, bool]
    failures: dict[str, dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = (len(self.names), len(self.cuts), len(self.steps), len(self.models), len(QUANTILES))
        self.forecasts = np.full(shape, np.nan)

    def put(self, name: str, cut: float, model: str, levels: Array) -> None:
        """Note the quantiles that a model says of a quantity, (ahead, quantile)."""
        self.forecasts[self.names.index(name), self.cuts.index(cut), :, self.models.index(model)] = levels

    def failed(self, what: str, cut: float, why: object) -> None:
        """Note why a forecast could not be made."""
        self.failures.setdefault(what, {})[scores.month_of(cut)] = " ".join(str(why).split())


def _fill(past: _Past, label: str, cut: float, run: Projection, sources: Mapping[str, str], seed: int) -> None:
    """Note what the scenario, the quantities' own trends, extrapolation and the last value say as of a date."""
    dates = cut + past.steps
    for name in past.names:
        scale = scores.SCALES[past.scales[name]]
        said = quantiles_at(run, name, dates, scale) if name in run.worlds else np.full((1, 1), np.nan)
        if np.isfinite(said).any():
            past.put(name, cut, label, said)
        else:
            past.failed(f"{label}: {name}", cut, _missing_reason(run))
        if (own := sources.get(name)) in run.worlds:
            past.put(name, cut, scores.OWN_TREND, quantiles_at(run, str(own), dates, scale))
        if f"observed/{name}" not in run:
            continue
        known = replace(_observed_series(run, name), record=past.records[name])
        for rival, carried in ((scores.EXTRAPOLATED, extrapolate_series), (scores.LAST_VALUE_RIVAL, last_value)):
            try:
                past.put(name, cut, rival, carried(known, dates, scale, seed))
            except ForecastError as problem:
                past.failed(f"{rival}: {name}", cut, problem)


def _missing_reason(run: Projection) -> str:
    """Say why a quantity has no forecast as of a date."""
    count = sum(isinstance(each, AsOfWarning) and each.what == "model" for each in run.warnings)
    if count:
        return f"it rests on what had no data then, or too little: {count} models of the scenario had none"
    return next(iter(run.failures), "it has no number at these dates")


# --- what is scored ---------------------------------------------------------------------------------------------------


def _check_horizons(ahead: Sequence[float]) -> Array:
    steps = np.unique(np.asarray(ahead, dtype=float))
    if not steps.size or not (steps > 0).all() or not np.allclose(steps % VINTAGE_STEP_YEARS, 0):
        raise UsageError("ahead: expected years ahead, multiples of half a year: 0.5, 1, 2")
    return steps


def _trend_sources(scenario: Scenario, run: Projection, series: Mapping[str, ObservedQuantity]) -> dict[str, str]:
    """Return the trend of a quantity's own observations, which is its rival.

    It is what the quantity names by ``observed``, or a quantity of the same rows that the scenario does not show.
    """
    made = {name: each for name, each in scenario.quantities.items() if isinstance(each, Expression)}
    found = {name: each.observed for name, each in made.items() if each.observed and each.observed in run.worlds}
    for name in scenario.shown:
        if name in series and name not in found:
            rest = (each for each in series if each not in scenario.shown and each not in found)
            if (same := next((each for each in rest if series[each].same_as(series[name])), None)) is not None:
                found[name] = same
    return found


def _scored_quantities(
    series: Mapping[str, ObservedQuantity],
    sources: Mapping[str, str],
    scenario: Scenario,
    wanted: Sequence[str],
    label: str,
) -> list[str]:
    """Return the quantities that are scored, those that are shown first; a series that another names is its rival."""
    where = f"'{printable(label, 60)}'"
    if not series:
        raise UsageError(f"{where}: nothing of it is observed: no quantity is a trend, or names one by 'observed'")
    for name in wanted:
        if name not in series:
            raise UnknownNameError("observed quantity", name, list(series), where=where)
    behind = {source for name in series if name in sources for source in _series_and_sources(scenario, sources[name])}
    names = list(dict.fromkeys(wanted)) or [name for name in series if name not in behind]
    shown = {name: place for place, name in enumerate(scenario.shown)}
    return sorted(names, key=lambda name: shown.get(name, len(shown)))


def _series_and_sources(scenario: Scenario, name: str) -> Iterator[str]:
    """Walk a series and what it is a formula of."""
    yield name
    made = scenario.quantities.get(name)
    if isinstance(made, Expression):
        yield from made.tree.names


def _observed_series(run: Projection, name: str) -> ObservedQuantity:
    """Return what was observed of a quantity; of rivals that change it, of the one that weighs most."""
    seen = run.dataset(f"observed/{name}")
    keep = np.isfinite(seen["value"].values)
    for choice in (str(each) for each in seen.coords if each != "date" and seen[each].dims == ("point",)):
        heaviest, labels = run.heaviest(choice), seen[choice].values
        keep &= labels == (heaviest if heaviest in labels else labels[0])
    time = np.asarray(decimal_year(seen["date"].values[keep]), dtype=float)
    order = np.argsort(time, kind="stable")
    value = units.convert(seen["value"].values[keep], str(seen["value"].attrs["units"]), run.quantities[name].unit)
    time, value = time[order], np.asarray(value, dtype=float)[order]
    return ObservedQuantity(
        time=time, value=value, record=seen["value"].attrs.get("keeps") == "frontier" or _is_record(time, value)
    )


def _is_record(time: Array, value: Array) -> bool:
    """Tell whether rows never fall and are less than half a year apart: they are a record, or as good as one."""
    several = len(time) > MIN_ROWS
    return several and bool((np.diff(value) >= 0).all()) and float(np.median(np.diff(time))) < VINTAGE_STEP_YEARS


def _default_vintages(series: Iterable[ObservedQuantity]) -> list[float]:
    """Return the last half-years after which half a year of some series is known, and before which three rows are."""
    several = [each for each in series if len(each.time) > MIN_ROWS]
    if not several:
        return []
    last = max(each.time[-1] for each in several) + MATCH_YEARS - HORIZON_YEARS[0]
    first = min(each.time[2] for each in several)
    latest = float(np.floor((last + SAME_DATE_ATOL_YEARS) / VINTAGE_STEP_YEARS) * VINTAGE_STEP_YEARS)
    return [cut for cut in (latest - VINTAGE_STEP_YEARS * i for i in reversed(range(MAX_VINTAGES))) if cut > first]


def _score_scales(of: Mapping[str, tuple[ObservedQuantity, str]], stated: Mapping[str, str]) -> dict[str, str]:
    """Return in what each quantity is scored."""
    for name, scale in stated.items():
        if name not in of:
            raise UnknownNameError("scored quantity", name, list(of), where="scales")
        if scale not in scores.SCALES:
            raise UnknownNameError("scale", scale, list(scores.SCALES), where=f"scales: {printable(name, 60)}")
    return {name: stated.get(name) or _default_scale(seen.value, unit) for name, (seen, unit) in of.items()}


def _default_scale(value: Array, unit: str) -> str:
    low, high = value.min(), value.max()
    return "unit" if low <= 0 or (not unit and high < MAX_LINEAR_RATIO * low) else "log10"
