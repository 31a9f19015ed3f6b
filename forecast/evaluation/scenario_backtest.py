"""A scenario as it would have spoken at several dates in the past, each of its quantities against what was observed.

At a *vintage* the whole scenario is projected from what was known then (`forecast.project` with ``as_of``), and what it
says of a quantity some time ahead is compared with what is known today. A quantity can be scored where it was observed:
it is a trend, or names by ``observed`` whose observations are its own. A running record is compared with the record as
it stood at the date, any other series with the mean of what was observed within three months of it.

Beside it stand rivals, on the same rows: the series of the quantity by its own trend, the rows carried on by
`forecast.extrapolate`, the last value, and published models that had appeared by then and forecast the same quantity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast import units
from forecast.base.dates import decimal_year, from_decimal_year
from forecast.base.lazy import xr
from forecast.errors import DataError, ForecastError, UnknownNameError, UsageError, printable
from forecast.evaluation.extrapolate import dated_quantiles
from forecast.evaluation.origins import REFERENCES
from forecast.evaluation.scores import LEVELS, coverage, weighted_interval
from forecast.projection.claim_values import worlds
from forecast.projection.crossing import weighted_quantiles
from forecast.projection.engine import project
from forecast.projection.result import Projection
from forecast.scenarios.kinds.expression import Expression
from forecast.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from forecast.contract.registry import Registry

Array = NDArray[np.float64]

__all__ = [
    "AHEAD",
    "RIVALS",
    "SCALES",
    "Scale",
    "backtest_scenario",
    "forecast_rows",
    "limits",
    "of_rows",
    "quantity_scores",
    "scored_forecasts",
    "sentence",
    "years_apart",
]

#: Years ahead, and from one vintage to the next; so many vintages unless others are named.
AHEAD, APART, MOST_VINTAGES = (0.5, 1.0, 2.0), 0.5, 7
#: Years within which what was observed counts as observed at a date.
NEAR = 0.25
#: A plain number of which all observations lie within this factor is scored in points, and not in powers of ten.
SPAN = 10.0
#: Digits of a forecast and of what came: a record that stands still is inside an interval that ends at it.
DIGITS = 9
_QUANTILES = ("p05", "p25", "p50", "p75", "p95")
OWN, EXTRAPOLATED, LAST = "own trend", "extrapolate", "last value"
RIVALS = (OWN, EXTRAPOLATED, LAST)


@dataclass(frozen=True, kw_only=True)
class Scale:
    """In what a quantity is scored.

    Parameters
    ----------
    title : str
        What one of it is called; empty where it is the quantity's own unit.
    forward, back : callable
        From a value in the quantity's unit, and to it.
    """

    title: str
    forward: Callable[[Array], Array]
    back: Callable[[Array], Array]

    def of(self, values: Array) -> Array:
        """Return values on the scale; what has no place there is NaN."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.forward(np.asarray(values, dtype=float))
        return np.round(np.where(np.isfinite(found), found, np.nan), DIGITS)


SCALES = {
    "log10": Scale(title="powers of ten", forward=np.log10, back=lambda x: np.asarray(10.0**x)),
    "log2": Scale(title="doublings", forward=np.log2, back=lambda x: np.asarray(2.0**x)),
    "unit": Scale(title="", forward=np.asarray, back=np.asarray),
}


@dataclass(frozen=True, kw_only=True)
class Series:
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

    def at(self, date: float, scale: Scale) -> float:
        """Return what was observed at a date, on a scale; NaN where nobody knows.

        A record stands as it is, up to three months after the last row.
        """
        seen = scale.of(self.value)
        if self.record:
            known = seen[self.time <= date + SAME]
            return float(known.max()) if known.size and date <= self.time[-1] + NEAR + SAME else np.nan
        near = seen[np.abs(self.time - date) <= NEAR + SAME]
        return float(near.mean()) if near.size else np.nan


#: Dates this many years apart are one.
SAME = 1e-6


def backtest_scenario(
    scenario: str | Path | Scenario,
    *,
    vintages: Sequence[float] = (),
    ahead: Sequence[float] = AHEAD,
    quantities: Sequence[str] = (),
    scales: Mapping[str, str] | None = None,
    published: bool = True,
    with_: Mapping[str, Any] | None = None,
    draws: int = 1024,
    seed: int = 0,
    progress: Callable[[float, float], None] | None = None,
) -> xr.Dataset:
    """Project a whole scenario as of several dates in the past, and score what it said against what was observed.

    Of a definition the first value is taken, which is the one that a sentence names. Of rivals that are pooled those
    count that have data for the quantity: one without leaves the others their weights in proportion.

    Parameters
    ----------
    scenario : str, path or Scenario
    vintages : sequence of float
        Decimal years; the scenario starts at each of them, and knows what was known before it. By default the last
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
    xarray.Dataset
        Over ``quantity``, ``origin`` (the vintage, a decimal year), ``ahead`` and ``model``, the scenario first:
        ``forecast`` (also over ``quantile``), and the scores ``weighted-interval``, ``half`` and ``coverage`` (whether
        the 50 and the 90 % interval held) and ``width`` of the 90 % interval; over the first three ``observed``. All
        are on the scale of the quantity, which stands beside it with its ``unit``. Where there is no forecast it is NaN;
        the attribute ``failures`` says why, and ``published`` when each published model appeared.

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
    >>> found = forecast.backtest_scenario(asked, draws=64)
    >>> [round(float(year), 1) for year in found["origin"]][-1], bool(found["coverage"].sel(model="scenario").mean() > 0.8)
    (2023.5, True)
    """
    whole = scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)
    bare = whole.restated({key: each for key, each in whole.stated.items() if key not in ("questions", "says", "opens")})
    settings = {
        name: choice.values[0] for name, choice in bare.choices.items() if choice.kind == "definition"
    } | dict(with_ or {})
    steps = _steps(ahead)
    today = project(bare, with_=settings, draws=1, seed=seed)
    series = {name: _series(today, name) for name in today["observed"].children} if "observed" in today else {}
    sources = _sources(bare, today)
    names = _chosen(series, sources, bare, quantities, str(scenario) if isinstance(scenario, Path) else whole.name)
    cuts = np.array(sorted(vintages) if len(vintages) else _vintages([series[name] for name in names]))
    if not len(cuts):
        raise UsageError(f"'{printable(whole.name, 60)}': too little is observed to be cut: name vintages")
    held = {name: _scale(name, series[name], today.quantities[name].unit, scales or {}) for name in names}
    if unknown := next((name for name in scales or {} if name not in names), None):
        raise UnknownNameError("scored quantity", unknown, names, where="scales")
    label = whole.name.rpartition("/")[2]
    packs = list(_published(whole, set(names), float(cuts[-1]))) if published else []
    models = [label, *RIVALS, *(pack.name for pack in packs)]
    forecasts = np.full((len(names), len(cuts), len(steps), len(models), len(LEVELS)), np.nan)
    failures: dict[str, dict[str, str]] = {}
    runs = len(cuts) + len(packs)
    for i, vintage in enumerate(cuts):
        dates = vintage + steps
        when = _shown(vintage)
        try:
            run = project(
                bare, as_of=float(vintage), start=float(vintage), until=float(dates[-1]), step="1/2", with_=settings,
                draws=draws, keep=draws, seed=seed,
            )  # fmt: skip
        except ForecastError as problem:
            failures.setdefault(label, {})[when] = " ".join(str(problem).split())
            continue
        finally:
            if progress is not None:
                progress(i + 1, runs)
        for k, name in enumerate(names):
            scale = SCALES[held[name]]
            if name in run.worlds:
                forecasts[k, i, :, 0] = _levels(run, name, dates, scale)
            if not np.isfinite(forecasts[k, i, :, 0]).any():
                failures.setdefault(f"{label}: {name}", {})[when] = _reason(run)
            if sources.get(name) in run.worlds:
                forecasts[k, i, :, 1] = _levels(run, sources[name], dates, scale)
            if "observed" in run and name in run["observed"].children:
                known = _series(run, name)
                for j, rival in ((2, _extrapolated), (3, _last)):
                    try:
                        forecasts[k, i, :, j] = rival(known, dates, scale, seed)
                    except ForecastError as problem:
                        failures.setdefault(f"{models[j]}: {name}", {})[when] = " ".join(str(problem).split())
    for j, pack in enumerate(packs, len(models) - len(packs)):
        _fill(forecasts[..., j, :], pack, names, cuts, steps, held, today, draws, seed, failures)
        if progress is not None:
            progress(len(cuts) + j - len(models) + len(packs) + 1, runs)
    came = np.array([[[series[n].at(v + s, SCALES[held[n]]) for s in steps] for v in cuts] for n in names])
    coords = {
        "quantity": names, "origin": cuts, "ahead": steps, "model": models,
        "unit": ("quantity", [today.quantities[name].unit for name in names]),
        "scale": ("quantity", [held[name] for name in names]),
    }  # fmt: skip
    return scored_forecasts(forecasts, came, coords).assign_attrs(
        name=whole.name, failures=failures, published={pack.name: pack.on for pack in packs}
    )


def scored_forecasts(forecasts: Array, came: Array, coords: Mapping[str, Any]) -> xr.Dataset:
    """Return forecasts, (quantity, vintage, ahead, model, quantile), with their scores against what came."""
    dims = ("quantity", "origin", "ahead")
    stated = xr.DataArray(forecasts, dims=(*dims, "model", "quantile"), coords={**coords, "quantile": list(LEVELS)})
    observed = xr.DataArray(came, dims=dims, coords={key: coords[key] for key in dims})
    kept: dict[str, Any] = {"preserve_dims": [*dims, "model"]}
    low, high = (stated.sel(quantile=level, drop=True) for level in (LEVELS[0], LEVELS[-1]))
    found = {
        "observed": observed,
        "forecast": stated,
        "weighted-interval": weighted_interval(stated, observed, logs=False, **kept),
        "half": coverage(stated, observed, level=0.5, **kept),
        "coverage": coverage(stated, observed, level=0.9, **kept),
        "width": (high - low).where(observed.notnull()),
    }
    return xr.Dataset(found)


# --- what is scored ---------------------------------------------------------------------------------------------------


def _steps(ahead: Sequence[float]) -> Array:
    steps = np.unique(np.asarray(ahead, dtype=float))
    if not steps.size or not (steps > 0).all() or not np.allclose(steps % 0.5, 0):
        raise UsageError("ahead: expected years ahead, multiples of half a year: 0.5, 1, 2")
    return steps


def _sources(scenario: Scenario, run: Projection) -> dict[str, str]:
    """Return whose observations a quantity takes for its own, where the scenario says so."""
    named = {
        name: each.observed for name, each in scenario.quantities.items() if isinstance(each, Expression) and each.observed
    }
    return {name: source for name, source in named.items() if source in run.worlds}


def _chosen(
    series: Mapping[str, Series], sources: Mapping[str, str], scenario: Scenario, asked: Sequence[str], label: str
) -> list[str]:
    """Return the quantities that are scored, those that are shown first; a series that another names is its rival."""
    if not series:
        raise UsageError(
            f"'{printable(label, 60)}': nothing of it is observed: no quantity is a trend, or names one by 'observed'"
        )
    for name in asked:
        if name not in series:
            raise UnknownNameError("observed quantity", name, list(series), where=printable(label, 60))
    behind = {source for name in series if name in sources for source in _behind(scenario, sources[name])}
    names = list(asked) or [name for name in series if name not in behind]
    return sorted(names, key=lambda name: (name not in scenario.shown, scenario.shown.index(name) if name in scenario.shown else 0))


def _behind(scenario: Scenario, name: str) -> Iterator[str]:
    """Walk a series and what it is a formula of."""
    yield name
    made = scenario.quantities.get(name)
    if isinstance(made, Expression):
        yield from made.tree.names


def _series(run: Projection, name: str) -> Series:
    """Return what was observed of a quantity; of rivals that change it, of the one that weighs most."""
    seen = run["observed"][name].to_dataset()
    keep = np.isfinite(seen["value"].values)
    for choice in (str(each) for each in seen.coords if each != "date" and seen[each].dims == ("point",)):
        stated = run.choices.get(choice)
        weights = None if stated is None else stated.weights
        labels = seen[choice].values
        heaviest = labels[0] if stated is None or weights is None else stated.values[int(np.argmax(weights))]
        keep &= labels == (heaviest if heaviest in labels else labels[0])
    time = np.asarray(decimal_year(seen["date"].values[keep]), dtype=float)
    order = np.argsort(time, kind="stable")
    value = units.convert(seen["value"].values[keep], str(seen["value"].attrs["units"]), run.quantities[name].unit)
    record = seen["value"].attrs.get("keeps") == "frontier"
    return Series(time=time[order], value=np.asarray(value, dtype=float)[order], record=record)


def _vintages(series: Iterable[Series]) -> list[float]:
    """Return the last half-years after which half a year of some series is known, and before which three rows are."""
    several = [each for each in series if len(each.time) > 3]
    if not several:
        return []
    last = max(each.time[-1] for each in several) + NEAR - AHEAD[0]
    first = min(each.time[2] for each in several)
    latest = np.floor((last + SAME) / APART) * APART
    return [v for v in (latest - APART * i for i in reversed(range(MOST_VINTAGES))) if v > first]


def _scale(name: str, series: Series, unit: str, stated: Mapping[str, str]) -> str:
    if name in stated:
        if stated[name] not in SCALES:
            raise UnknownNameError("scale", stated[name], list(SCALES), where=f"scales: {printable(name, 60)}")
        return stated[name]
    low, high = series.value.min(), series.value.max()
    return "unit" if low <= 0 or (not unit and high < SPAN * low) else "log10"


def _levels(run: Projection, name: str, dates: Array, scale: Scale) -> Array:
    """Return the quantiles that the worlds say at dates, (date, quantile): of rivals those that have data."""
    values = run.worlds[name]
    out = np.full((len(dates), len(LEVELS)), np.nan)
    if values.dtype.kind != "f":
        return out
    for i, date in enumerate(dates):
        at = values
        if "time" in values.dims:
            place = int(np.abs(run.years - date).argmin())
            if abs(run.years[place] - date) > 0.02:  # half a year of the calendar is not half of its days
                continue
            at = values.isel(time=place)
        drawn, weights = worlds(run, _first_of_the_rest(run, at), where=name)
        if np.isfinite(drawn).any():
            out[i] = scale.of(weighted_quantiles(drawn, weights, LEVELS))
    return out


def _first_of_the_rest(run: Projection, values: xr.DataArray) -> xr.DataArray:
    """Return values under the first of each choice that nobody weighs."""
    return values.isel({str(dim): 0 for dim in values.dims if dim != "draw" and str(dim) not in run.rivals})


def _reason(run: Projection) -> str:
    """Say why a quantity has no forecast as of a date."""
    count = sum("left out: " in text for text in run.warnings)
    if count:
        return f"it rests on what had no data then, or too little: {count} models of the scenario had none"
    return next(iter(run.failures), "it has no number at these dates")


# --- rivals -----------------------------------------------------------------------------------------------------------


def _extrapolated(known: Series, dates: Array, scale: Scale, seed: int) -> Array:
    """Carry the rows on as `forecast.extrapolate` does; a record never falls."""
    found = dated_quantiles(known.time, known.value, dates, LEVELS, seed)
    return scale.of(np.maximum(found, known.value.max()) if known.record else found)


def _last(known: Series, dates: Array, scale: Scale, seed: int) -> Array:
    """Repeat the last value, or the record, with the spread of a random walk without drift."""
    from forecast.base.streams import Streams

    seen = scale.of(known.value)
    if known.record:
        seen = np.maximum.accumulate(seen)
    span = float(np.ptp(seen)) or 1.0  # the walk is one of logarithms: what is scored on a scale walks on it
    walk = REFERENCES["last-value"].fit(known.time, np.exp((seen - seen[-1]) / span))
    drawn = span * np.log(walk.sample(dates, Streams(seed=seed, node="last value", block=0))) + seen[-1]
    if known.record:
        drawn = np.maximum(drawn, seen[-1])
    return np.round(np.quantile(drawn, LEVELS, axis=1).T, DIGITS)


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


def _published(scenario: Scenario, names: set[str], last: float) -> Iterator[Published]:
    """Walk the published models that appeared by the last vintage and share a quantity with the scenario."""
    from forecast.contract.registry import get_registry
    from forecast.evaluation.shared_questions import shared_questions, sharing

    registry: Registry = get_registry()
    questions = shared_questions(registry)
    ours = {about: name for about, (name, _) in _about(scenario, questions).items() if name in names}
    for other, _ in sharing(registry, questions) if ours else ():
        on = str(other.stated.get("published_on", ""))
        both = {ours[about]: found for about, found in _about(other, questions).items() if about in ours}
        if on and both and other.name != scenario.name:
            pack = Published(name=other.name.rpartition("/")[2], scenario=other, on=on, quantities=both)
            if pack.year <= last + SAME:
                yield pack


def _about(scenario: Scenario, questions: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, Mapping[str, str]]]:
    """Return the quantity that stands for each shared one, and the values of choices under which it does."""
    found: dict[str, tuple[str, Mapping[str, str]]] = {}
    asked = [(each.shared, each.when.left.text) for each in scenario.questions.values()]
    asked += [(each.shared, each.of.text) for each in scenario.figures.values()]
    for shared, quantity in asked:
        for question, under in shared.items():
            about = questions.get(question, {}).get("quantity", "")
            if about and quantity in scenario.quantities:
                found.setdefault(about, (quantity, under))
    return found


def _fill(
    out: Array,
    pack: Published,
    names: Sequence[str],
    cuts: Array,
    steps: Array,
    held: Mapping[str, str],
    today: Projection,
    draws: int,
    seed: int,
    failures: dict[str, dict[str, str]],
) -> None:
    """Fill in what a published model said, from its publication on, of dates that lie on its own steps or between."""
    for name, (own, under) in pack.quantities.items():
        first = {n: c.values[0] for n, c in pack.scenario.choices.items() if c.kind == "definition"}
        try:
            run = project(pack.scenario, with_={**first, **under}, draws=draws, keep=draws, seed=seed)
        except ForecastError as problem:
            failures.setdefault(f"{pack.name}: {name}", {})["all"] = " ".join(str(problem).split())
            continue
        scale, k = SCALES[held[name]], names.index(name)
        values = _first_of_the_rest_but_time(run, run.worlds[own])
        for i, vintage in enumerate(cuts):
            for j, date in enumerate(vintage + steps):
                inside = run.years[0] - 0.02 <= date <= run.years[-1] + 0.02
                if vintage >= pack.year - SAME and inside:
                    place = int(np.searchsorted(run.years, date - 0.02))
                    after = min(place, len(run.years) - 1)
                    before = max(after - 1, 0) if run.years[after] - date > 0.02 else after
                    span = run.years[after] - run.years[before]
                    share = (date - run.years[before]) / span if span else 0.0
                    ends = []
                    for at in (before, after):
                        drawn, weights = worlds(run, values.isel(time=at) if "time" in values.dims else values, where=own)
                        ends.append(scale.of(units.convert(drawn, run.quantities[own].unit, today.quantities[name].unit)))
                    between = ends[0] + share * (ends[1] - ends[0])
                    if np.isfinite(between).any():
                        out[k, i, j] = np.round(weighted_quantiles(between, weights, LEVELS), DIGITS)


def _first_of_the_rest_but_time(run: Projection, values: xr.DataArray) -> xr.DataArray:
    rest = {str(d): 0 for d in values.dims if d not in ("draw", "time") and str(d) not in run.rivals}
    return values.isel(rest)


# --- what it comes to -------------------------------------------------------------------------------------------------


def quantity_scores(found: xr.Dataset, *, by_ahead: bool = False) -> list[dict[str, Any]]:
    """Return a row for each quantity and model: means over what it forecast and what is known.

    Parameters
    ----------
    found : xarray.Dataset
        Of `backtest_scenario`.
    by_ahead : bool
        A row for each time ahead too.

    Returns
    -------
    list of dict
        ``quantity``, ``scale``, ``model``, ``ahead`` (None: all), how many ``forecasts`` and ``vintages``, the shares
        of intervals that held (``half``, ``held``), ``width`` of the 90 % interval, ``score``, and on the forecasts that
        the scenario made too ``beside``: the scenario's score there, with ``both``, how many they are, and ``mine``,
        the model's own there.
    """
    rows = []
    first = found["model"].values[0]
    for quantity in map(str, found["quantity"].values):
        of = found.sel(quantity=quantity)
        for ahead in (None, *(map(float, of["ahead"].values) if by_ahead else ())):
            part = of if ahead is None else of.sel(ahead=[ahead])
            own = part["weighted-interval"].sel(model=first)
            for model in map(str, found["model"].values):
                each = part.sel(model=model)
                made = each["weighted-interval"].notnull()
                if not bool(made.any()):
                    continue
                both = made & own.notnull()
                rows.append(
                    {
                        "quantity": quantity, "unit": str(of["unit"].values), "scale": str(of["scale"].values),
                        "model": model, "ahead": ahead, "forecasts": int(made.sum()),
                        "vintages": int(made.any("ahead").sum()),
                        "half": float(each["half"].where(made).mean()), "held": float(each["coverage"].where(made).mean()),
                        "width": float(each["width"].where(made).mean()),
                        "score": float(each["weighted-interval"].mean()),
                        "both": int(both.sum()), "mine": _mean(each["weighted-interval"].where(both)),
                        "beside": _mean(own.where(both)),
                    }
                )  # fmt: skip
    return rows


def sentence(found: xr.Dataset) -> str:
    """Say in a sentence how often the intervals of the scenario held.

    Raises
    ------
    UsageError
        If nothing that it said can be compared yet.
    """
    name = str(found["model"].values[0])
    held = found["coverage"].sel(model=name)
    made = held.notnull()
    count, cuts = int(made.sum()), found["origin"].values[made.any(["quantity", "ahead"]).values]
    if not count:
        raise UsageError(f"{printable(name, 60)}: of what it said at these dates nothing is known yet, or it said nothing")
    of = int(made.any(["origin", "ahead"]).sum())
    what = f"{of} quantities" if of > 1 else str(found["quantity"].values[made.any(["origin", "ahead"]).values][0])
    when = f"{len(cuts)} dates from {_shown(cuts[0])} to {_shown(cuts[-1])}" if len(cuts) > 1 else _shown(cuts[0])
    years = float(found["ahead"].values[made.any(["quantity", "origin"]).values].max())
    return (
        f"As of {when}, {int(held.sum())} of {count} 90 % intervals of {name} held ({100 * float(held.mean()):.0f} %): {what}, "
        f"up to {12 * years:.0f} months ahead."
    )


def forecast_rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """Return a row for each forecast whose outcome is known: quantiles and what came, on the scale of its quantity."""
    rows = []
    for quantity in map(str, found["quantity"].values):
        of = found.sel(quantity=quantity)
        for model in map(str, found["model"].values):
            for vintage in of["origin"].values:
                for years in of["ahead"].values:
                    each = of.sel(model=model, origin=vintage, ahead=years)
                    if bool(each["weighted-interval"].notnull()):
                        stated = dict(zip(_QUANTILES, map(float, each["forecast"].values), strict=True))
                        rows.append(
                            {
                                "quantity": quantity, "unit": str(each["unit"].values), "scale": str(each["scale"].values),
                                "model": model, "vintage": _shown(vintage), "ahead": float(years), **stated,
                                "observed": float(each["observed"]),
                            }
                        )  # fmt: skip
    return rows


def of_rows(rows: Sequence[Mapping[str, Any]], **attributes: Any) -> xr.Dataset:
    """Return what `forecast_rows` tells, scored as it was.

    Raises
    ------
    DataError
        If a row is not one of these.
    """
    try:
        names = {key: list(dict.fromkeys(str(row[key]) for row in rows)) for key in ("quantity", "model")}
        cuts = sorted({str(row["vintage"]) for row in rows})
        steps = sorted({float(row["ahead"]) for row in rows})
        shape = (len(names["quantity"]), len(cuts), len(steps))
        forecasts, came = np.full((*shape, len(names["model"]), len(LEVELS)), np.nan), np.full(shape, np.nan)
        about = {str(row["quantity"]): (str(row["unit"]), str(row["scale"])) for row in rows}
        for row in rows:
            at = (names["quantity"].index(row["quantity"]), cuts.index(row["vintage"]), steps.index(float(row["ahead"])))
            forecasts[(*at, names["model"].index(row["model"]))] = [float(row[key]) for key in _QUANTILES]
            came[at] = float(row["observed"])
        years = decimal_year(np.array(cuts, dtype="datetime64[s]"))
    except (KeyError, ValueError, TypeError) as problem:
        raise DataError(f"a row of past forecasts: {type(problem).__name__}: {printable(problem, 100)}") from None
    coords = {
        **names, "origin": years, "ahead": steps,
        "unit": ("quantity", [about[name][0] for name in names["quantity"]]),
        "scale": ("quantity", [about[name][1] for name in names["quantity"]]),
    }  # fmt: skip
    return scored_forecasts(forecasts, came, coords).assign_attrs(attributes)


def _mean(values: xr.DataArray) -> float | None:
    return float(values.mean()) if bool(values.notnull().any()) else None


def limits(found: xr.Dataset) -> list[str]:
    """Say what such a record cannot tell."""
    cuts, on = found["origin"].values, found.attrs["published"]
    lines = [
        "rows are chosen by their dates, and hold the values of today's editions where no older one is kept",
        "priors, weights and forms of the scenario are today's, chosen in sight of what came",
        f"forecasts overlap: of {len(cuts)} dates {years_apart(cuts)} lie a year apart, and are independent at best",
    ]
    if on:
        named = ", ".join(f"{name} {date}" for name, date in on.items())
        lines.append(f"published models are as published, and count from that day on: {named}")
    return lines


def years_apart(cuts: Array) -> int:
    """Return how many vintages lie a year apart, at most."""
    count, last = 0, -np.inf
    for cut in cuts:
        if cut >= last + 1 - 0.01:  # a date in days is no exact part of a year
            count, last = count + 1, float(cut)
    return count


def _shown(year: float) -> str:
    return str(from_decimal_year(np.array([year]))[0])[:7]
