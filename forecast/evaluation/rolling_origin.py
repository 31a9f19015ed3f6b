"""Rolling-origin backtests: what a model would have said at several dates in the past, against what then happened.

A model is frozen by fitting it as of its origin (`forecast.models.Model.fit`), so that whatever can be fitted can be
tested, and a table that states when each row became known is read as it stood. What happened is what the model reads
today.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.arrays import Array
from forecast.base.dates import today
from forecast.base.lazy import xr
from forecast.base.quantiles import QUANTILES
from forecast.contract.plugin_calls import call_guarded
from forecast.contract.specs import Input, TrendSpec
from forecast.errors import DataError, EmptyDataError, FitError, ForecastError, UsageError, join_lines, printable
from forecast.evaluation.crossing_record import LEVEL_FACTORS, reached_by
from forecast.evaluation.scores import score, skill
from forecast.models import Description, FittedShape, Model, Shape, trend
from forecast.models.model_lookup import find_model
from forecast.models.shapes import record_sign

if TYPE_CHECKING:
    from forecast.base.streams import Streams
    from forecast.evaluation.backtest_datasets import Backtest


# --- Origins and what must be beaten ----------------------------------------------------------------------------------
# The origins of a backtest, the targets of each, and the two benchmarks that any forecast must beat.


def choose_origins(time: Array, *, dates: int = 8, share: float = 0.4, most: int = 6) -> Array:
    """Return the dates from which to forecast: equally spaced among those with enough behind and something ahead.

    Parameters
    ----------
    time : ndarray
        Decimal years of the observations.
    dates : int
        Distinct dates that a fit needs, the origin's own among them.
    share : float
        Of the span that must have passed.
    most : int
        Origins.

    Examples
    --------
    >>> import numpy as np
    >>> choose_origins(np.arange(2000.0, 2021.0), most=3).tolist()
    [2008.0, 2014.0, 2019.0]
    """
    known = np.unique(time)
    allowed = known[dates - 1 : -1]
    return np.asarray(_equally_spaced(allowed[allowed >= known[0] + share * (known[-1] - known[0])], most))


def choose_targets(time: Array, origin: float, *, years: float = 10.0, most: int = 10) -> NDArray[np.intp]:
    """Return which observations a forecast from `origin` is compared with: equally spaced among those within `years`.

    Examples
    --------
    >>> import numpy as np
    >>> choose_targets(np.arange(2000.0, 2021.0), 2004.0, most=4).tolist()
    [5, 8, 11, 14]
    """
    return np.asarray(_equally_spaced(np.flatnonzero((time > origin) & (time <= origin + years)), most))


def _equally_spaced(found: Any, most: int) -> Any:

    if len(found) <= most:
        return found
    return found[np.unique(np.rint(np.linspace(0, len(found) - 1, most)).astype(int))]


@dataclass(frozen=True)
class Drift(Shape):
    """A random walk with drift of the logarithm, and the interval of a textbook: what a trend must beat.

    Parameters
    ----------
    drift : bool
        Without it the last value is the forecast of every date.

    References
    ----------
    Hyndman, R. J. & Athanasopoulos, G. (2021), Forecasting: principles and practice, 3rd edition, table 5.2: variance
    σ²·h·(1 + h/T) with the drift, σ²·h without it; h and T are years here, since dates may be uneven.
    """

    drift: bool = True

    def fit(self, time: Array, value: Array, *, frontier: bool = False, seed: int = 0) -> FittedShape:
        """Measure drift and noise, several values of one date averaged in logs."""
        dates, which = np.unique(time, return_inverse=True)
        if len(dates) < 3:
            raise FitError(f"a walk needs at least 3 dates, got {len(dates)}")
        level = np.bincount(which, np.log(value)) / np.bincount(which)
        growth = float((level[-1] - level[0]) / (dates[-1] - dates[0])) if self.drift else 0.0
        step = np.diff(dates)
        noise = (np.diff(level) - growth * step) / np.sqrt(step)
        sigma = float(np.sqrt(np.sum(noise**2) / (len(noise) - self.drift)))
        span = float(dates[-1] - dates[0]) if self.drift else float("inf")
        return _FittedDrift(last=float(dates[-1]), level=float(level[-1]), growth=growth, sigma=sigma, span=span)


@dataclass(frozen=True, kw_only=True)
class _FittedDrift(FittedShape):
    last: float
    level: float
    growth: float
    sigma: float
    span: float

    def posterior(self, streams: Streams) -> dict[str, Array]:
        """Return nothing: no parameter is drawn."""
        return {}

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw each date independently: a backtest reads no paths of a benchmark."""
        ahead = np.maximum(np.asarray(time, dtype=float) - self.last, 0.0)[:, None]
        noise = streams("noise").standard_normal((len(ahead), streams.draws))
        spread = self.sigma * np.sqrt(ahead * (1 + ahead / self.span))
        return np.asarray(self.central(time)[:, None] * np.exp(spread * noise))

    def central(self, time: Array) -> Array:
        """Return the line from the last value on."""
        ahead = np.maximum(np.asarray(time, dtype=float) - self.last, 0.0)
        return np.asarray(np.exp(self.level + self.growth * ahead))

    def describe(self) -> Description:
        """Say how fast it grows."""
        return Description(summary=f"grows by {self.growth:.3g} a year in logs, from its last value")


#: The forecasts that skill is measured against, by the name they have in a backtest.
REFERENCE_SHAPES = {"last-value": Drift(drift=False), "drift": Drift()}


#: What is scored where nobody names scores.
DEFAULT_SCORES = ("weighted-interval", "coverage", "width", "pit")
#: What stands beside the scores in a result.
NON_SCORE_VARIABLES = ("years", "ahead", "observed", "forecast", "stated", "happened")


def benchmark_models(
    series: Callable[[Any], Model], shapes: Iterable[str] = ()
) -> tuple[dict[str, Model], dict[str, str]]:
    """Return a model for each shape beside a series, the references among them, and why others cannot be made.

    Parameters
    ----------
    series : callable
        Makes the model from a shape, or the name of one.
    shapes : iterable of str
        Names; every shape that plugins bring, by default.
    """
    from forecast.contract.registry import get_registry

    models: dict[str, Model] = {}
    refused: dict[str, str] = {}
    registry = get_registry()
    shape_names = [registry.find("shape", name).full_name for name in shapes]
    for name in dict.fromkeys(shape_names or registry.names("shape")):
        try:
            models[name] = series(name)
        except ForecastError as problem:
            if shape_names:
                raise
            refused[name] = str(problem)
    return {**models, **{name: series(shape) for name, shape in REFERENCE_SHAPES.items()}}, refused


def of_name(name: str, shapes: Iterable[str] = ()) -> tuple[dict[str, Model], dict[str, str]]:
    """Return the models that a name stands for, the references among them, and why others cannot be made.

    A series stands for itself with every shape, or with those of `shapes`; a series with a shape, and any other
    model, for itself.

    Raises
    ------
    UnknownNameError, AmbiguousNameError, UsageError
    """
    from forecast.models import model
    from forecast.models.trends import from_spec

    entry = find_model(name)
    spec, series = entry.spec, entry.record.full_name
    if not isinstance(spec, TrendSpec):
        return {entry.name: model(entry.name)}, {}

    def of_shape(shape: Any) -> Model:
        return model(series, shape=shape) if isinstance(shape, str) else from_spec(series, spec, shape)

    return benchmark_models(of_shape, [entry.shape] if "@" in name else shapes)


def of_column(
    data: Any,
    *,
    x: str | None = None,
    y: str | None = None,
    name: str = "",
    shapes: Iterable[str] = (),
    frontier: bool = False,
    records: bool = False,
    rule: str = "",
) -> tuple[dict[str, Model], dict[str, str]]:
    """Return the models of a column of a file or of other data, as `of_name` does; see `backtest`."""
    from forecast.scenarios.question_text import find_date_column, split_file_column
    from forecast.tables import to_columns
    from forecast.tables.column_names import unquoted
    from forecast.tables.same_place import double_quoted, note_dates_to_come, read_points

    if isinstance(data, str) and not y:
        data, y = split_file_column(data)
    rows = to_columns(data, where="backtest")
    if not y:
        raise UsageError(f"{rows.label}: expected a column of values, as y (--y) or FILE:COLUMN: {', '.join(rows)}")
    x, y = unquoted(x or find_date_column(rows, rows.label), rows), unquoted(y, rows)
    if rows.from_file and not records:  # of one date the largest sets the record
        points = read_points(rows, x, y, rule, rows.label, dated=True)
        series = {x: points.place, y: points.value}
    else:
        rows = rows.complete([x, y])
        series = {x: rows.years(x) if rows.from_file else rows.column(x), y: rows.numeric(y)}
    if rows.from_file and (count := note_dates_to_come(rows, series[x])):
        raise DataError(
            f"{rows.label}: {count:,} of {rows.rows:,} rows have dates to come, which test nothing: say "
            f'--where "{double_quoted(printable(x, 60))} <= {today()}"'
        )

    def of_shape(shape: Any) -> Model:
        return trend(series, shape=shape, x=x, y=y, unit="", name=name or y, frontier=frontier, records=records)

    return benchmark_models(of_shape, shapes)


def series_of(scenario: str) -> list[str]:
    """Return the names of the series that a scenario's quantities rest on, in any combination of its choices.

    Raises
    ------
    UsageError
        If there are none.
    """
    from forecast.scenarios import graph
    from forecast.scenarios.scenario import Scenario

    built = graph.build(Scenario.load(scenario))
    models = [model.name for node in built.nodes.values() for model in node.models.values()]
    found = []
    for name in models:
        entry = find_model(name) if "@" in name else None
        if entry is not None and isinstance(entry.spec, TrendSpec):
            found.append(entry.record.full_name)
    if not found:
        raise UsageError(f"'{printable(scenario, 60)}' rests on no registered series: there is nothing to test")
    return list(dict.fromkeys(found))


def backtest(
    models: Any,
    *,
    x: str | None = None,
    y: str | None = None,
    shapes: Iterable[str] = (),
    name: str = "",
    scores: Sequence[str] = DEFAULT_SCORES,
    most_origins: int = 6,
    most_targets: int = 10,
    years: float = 10.0,
    dates: int = 8,
    share: float = 0.4,
    crossings: bool = False,
    seed: int = 0,
    workers: Any = None,
    progress: Callable[[int, int], None] | None = None,
) -> Backtest:
    """Forecast the same observations from the same origins with several models, and score each.

    The origins come after some dates and some share of the span. A forecast is one of an observation: it has the
    scatter of one. Of a series that keeps its best so far it is one of the record that stands, from and at evenly
    spaced dates: those on which a record came would be no fair choice.

    Parameters
    ----------
    models : str, data, or mapping of str to Model or Quantity
        The name of a series (``"hardware/linpack"``: with every shape) or of a model, which is compared with the last
        value and with a random walk with drift; a column of a file, ``"costs.csv:cost"``, or anything that
        `forecast.read` reads, with `y`; or models of one series by name, the first of which that can be fitted says
        what happened.
    x, y : str, optional
        Of data: the columns of dates, by default the only one, and of values.
    shapes : iterable of str
        Of a series or data: only these shapes, beside what they must beat.
    name : str
        Of the series.
    scores : sequence of str
        Of `forecast.evaluation.scores.SCORES`, or those of plugins.
    most_origins, most_targets : int
        Equally spaced, where there are more.
    years : float
        How far ahead.
    dates, share : int, float
        What an origin has behind it; see `forecast.evaluation.rolling_origin.choose_origins`.
    crossings : bool
        Also say with which probability a level was to be reached by each date, and whether it was.
    seed : int
    workers : int or concurrent.futures.Executor, optional
        Processes; the result is the same for any number.
    progress : callable, optional
        Called with (fits done, fits in all).

    Returns
    -------
    Backtest
        An `xarray.Dataset` that shows its ``sentence`` first: over ``origin`` (decimal years), ``horizon`` (which
        target) and ``model``: ``forecast`` (also over
        ``quantile``) and a variable for each score; over origin and horizon ``years`` ahead and ``observed``. With
        `crossings` also ``stated`` over model and ``level`` (so many times beyond the best so far, see
        `forecast.evaluation.crossing_record`), and ``happened``. Where there is no forecast it is NaN, and the
        attribute ``failures`` says why, as JSON.

    Raises
    ------
    DataError, ForecastError
        If no model can be fitted to the whole series, or it is too short to be cut.

    Examples
    --------
    >>> import numpy as np, forecast
    >>> t = np.arange(1990.0, 2011.0)
    >>> y = np.exp(0.3 * (t - 1990) + 0.1 * np.random.default_rng(0).standard_normal(21))
    >>> def series(shape):
    ...     return forecast.trend({"t": t, "y": y}, shape=shape, x="t", y="y", unit="FLOP/s")
    >>> models, _ = benchmark_models(series, ["trends/exponential"])  # and the two that any other must beat
    >>> found = backtest(models)
    >>> [row["model"] for row in score_rows([found])]
    ['trends/exponential', 'drift', 'last-value']
    """
    from forecast.base.operators import Operators
    from forecast.fit.solve.parallel import check_workers
    from forecast.models.protocol import as_model
    from forecast.scenarios.question_text import split_file_column

    check_workers(workers, "backtest")
    if not (isinstance(models, Mapping) and all(isinstance(each, (Model, Operators)) for each in models.values())):
        is_column = y or not isinstance(models, str) or split_file_column(models)[1]
        name = name or (models if isinstance(models, str) else y or "")
        models, _ = of_column(models, x=x, y=y, shapes=shapes) if is_column else of_name(models, shapes)
    models = {label: as_model(each) for label, each in models.items()}
    time, value, unit = _observed_today(models, seed)
    dated = np.unique(time)
    if record_sign(time, value):  # a day on which a record came is none like others: who asks names any date
        even = np.linspace(dated[0], dated[-1], len(dated))
        time, value = even, value[np.searchsorted(time, even, side="right") - 1]
    cuts = choose_origins(time, dates=dates, share=share, most=most_origins)
    cuts = cuts[cuts >= dated[min(dates, len(dated)) - 1]]
    if not len(cuts):
        least = f"{'eight' if dates == 8 else dates} dates and {100 * share:.0f} % of the span"
        raise DataError(
            f"{printable(name, 60) or 'backtest'}: too short to be cut: expected an observation after {least}, got "
            f"{len(np.unique(time))} dates"
        )
    cut: list[Origin] = []
    pieces = []
    for origin in cuts:
        chosen = choose_targets(time, origin, years=years, most=most_targets)
        target_times, place = np.unique(time[chosen], return_inverse=True)
        known = value[time <= origin] if crossings else None
        cut.append(
            Origin(at=float(origin), ahead=time[chosen] - origin, observed=value[chosen], place=place, known=known)
        )
        pieces += [(model, float(origin), target_times, seed) for model in models.values()]
    found = score_origins(frozen, pieces, cut, list(models), scores=scores, workers=workers, progress=progress)
    return found.rename(ahead="years").assign_attrs(name=name, unit=unit)


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where forecasts are made from, and what they are compared with.

    Parameters
    ----------
    at : float or str
        The origin.
    ahead, observed : ndarray
        (targets,): how far ahead, and what came.
    place : ndarray of int
        (targets,): the row of a forecast that each is compared with.
    known : ndarray, optional
        What was observed before, oldest first; given, levels beyond the best of it are asked for.
    """

    at: float | str
    ahead: Array
    observed: Array
    place: NDArray[np.intp]
    known: Array | None = None


def score_origins(
    forecast: Callable[..., Array | str],
    pieces: Sequence[tuple[Any, ...]],
    cuts: Sequence[Origin],
    names: Sequence[str],
    *,
    scores: Sequence[str],
    workers: Any = None,
    progress: Callable[[int, int], None] | None = None,
) -> Backtest:
    """Make every forecast from every origin, and score each against what came.

    Parameters
    ----------
    forecast : callable
        Returns draws of observations, (row, draw), or why there are none.
    pieces : sequence of tuple
        What it is called with: of each cut in turn, for each name in turn.
    cuts : sequence of Origin
    names : sequence of str
        Of the models.
    scores, workers, progress
        See `backtest`.

    Returns
    -------
    Backtest
        As `backtest` does, with ``ahead`` in place of ``years``.
    """
    from forecast.fit.solve.parallel import share

    done = 0

    def count(_: int) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, len(pieces))

    found = share(forecast, pieces, workers, where="backtest", done=count)
    size = next((made.shape[1] for made in found if not isinstance(made, str) and len(made)), 1)
    most = max(len(cut.place) for cut in cuts)
    draws = np.full((len(cuts), most, len(names), size), np.nan)
    ahead, came = np.full((2, len(cuts), most), np.nan)
    with_levels = any(cut.known is not None for cut in cuts)
    stated_by = np.full((len(cuts), most, len(names), len(LEVEL_FACTORS)), np.nan)
    happened = np.full((len(cuts), most, len(LEVEL_FACTORS)), np.nan)
    failures: dict[str, dict[str, str]] = {}
    for i, cut in enumerate(cuts):
        count_of = len(cut.place)
        ahead[i, :count_of], came[i, :count_of] = cut.ahead, cut.observed
        for j, label in enumerate(names):
            made = found[i * len(names) + j]
            if isinstance(made, str):
                shown = cut.at if isinstance(cut.at, str) else f"{cut.at:.2f}"
                failures.setdefault(label, {})[shown] = made
            else:
                draws[i, :count_of, j] = made[cut.place]
                if cut.known is not None:
                    stated_by[i, :count_of, j], happened[i, :count_of] = reached_by(
                        made[cut.place], cut.observed, cut.known
                    )
    from forecast.evaluation.backtest_datasets import Backtest

    dims = ("origin", "horizon")
    at = [cut.at for cut in cuts]
    made_of = xr.DataArray(draws, dims=(*dims, "model", "draw"), coords={"origin": at, "model": list(names)})
    observed = xr.DataArray(came, dims=dims, coords={"origin": at})
    out = {label: score(label)(made_of, observed, preserve_dims=[*dims, "model"]) for label in scores}
    stated = made_of.quantile(list(QUANTILES), "draw", skipna=False).transpose(*dims, "model", "quantile")
    if with_levels:
        out["stated"] = xr.DataArray(stated_by, dims=(*dims, "model", "level"), coords={"level": list(LEVEL_FACTORS)})
        out["happened"] = xr.DataArray(happened, dims=(*dims, "level"))
    return Backtest(
        {"ahead": (dims, ahead), "observed": observed, "forecast": stated, **out},
        attrs={"failures": json.dumps(failures)},
    )


def _observed_today(models: Mapping[str, Model], seed: int) -> tuple[Array, Array, str]:
    """Return what the first model that can be fitted reads today."""
    problem: ForecastError | None = None
    for label, model in models.items():
        try:
            points = call_guarded(f"{label}: fit", lambda m=model: m.fit(seed=seed)).observed()  # type: ignore[misc]
        except ForecastError as refused:
            problem = problem or refused
            continue
        if not len(points.time):
            raise UsageError(f"{printable(label, 60)}: it rests on no observations in time: there is nothing to test")
        return points.time, points.value, points.unit
    raise problem or EmptyDataError("backtest: no model")


def frozen(model: Model, origin: float, times: Array, seed: int) -> Array | str:
    """Return draws of observations, (time, draw), from what was known at an origin; or why there are none."""
    import warnings

    from forecast.base.distributions import distribution
    from forecast.base.streams import Streams

    streams = Streams(seed=seed, node=f"backtest/{origin!r}", block=0)
    try:
        needs = {}
        for key, need in model.inputs.items():
            if not isinstance(need, Input):
                return f"it needs '{key}', which is no number: only what rests on time and numbers can be frozen"
            shares = streams(f"inputs/{key}").random(streams.draws)
            needs[key] = distribution(need.distribution, where=key).ppf(shares)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the same at every origin; a fit that fails says so
            fitted = call_guarded(
                f"{model.name}: fit", lambda: model.fit(as_of=float(np.nextafter(origin, np.inf)), seed=seed)
            )
            drawn = call_guarded(f"{model.name}: sample", lambda: fitted.sample(times, needs, streams, observed=True))
    except ForecastError as problem:
        return join_lines(problem)
    if not np.isfinite(drawn).all() or (drawn <= 0).any():
        return "its draws are not all positive and finite"
    return np.asarray(drawn, dtype=float)


def fit_failures(found: Iterable[xr.Dataset]) -> dict[str, str]:
    """Return, for each model that made no forecast from some origin, the first reason."""
    out: dict[str, str] = {}
    for each in found:
        for label, reasons in json.loads(each.attrs["failures"]).items():
            origin, why = next(iter(reasons.items()))
            out.setdefault(label, f"from {origin}: {why}")
    return out


def score_rows(found: Iterable[xr.Dataset]) -> list[dict[str, Any]]:
    """Return a row for each model, best first: means over the forecasts of a series, then over series.

    ``skill_last_value`` and ``skill_drift`` are of the weighted interval score, over the forecasts that both made.
    """
    results = list(found)
    rows = []
    for label in dict.fromkeys(str(name) for each in results for name in each["model"].values):
        there = [each for each in results if label in each["model"].values]
        row: dict[str, Any] = {"model": label, "series": 0, "origins": 0, "forecasts": 0}
        parts: dict[str, list[float]] = {}
        for each in there:
            own = each.sel(model=label)
            made = own["forecast"].notnull().all("quantile")
            if not bool(made.any()):
                continue
            row["series"] += 1
            row["origins"] += int(made.any("horizon").sum())
            row["forecasts"] += int(made.sum())
            for key in own.data_vars:
                if key not in NON_SCORE_VARIABLES:
                    mean = float((own[key] ** 2).mean() ** 0.5 if key == "rmsle" else own[key].mean())
                    parts.setdefault(str(key), []).append(mean)
            for reference in REFERENCE_SHAPES:
                if "weighted-interval" in each and reference in each["model"].values and reference != label:
                    other = each["weighted-interval"].sel(model=reference).where(made)
                    kept = own["weighted-interval"].where(other.notnull())
                    parts.setdefault(f"own {reference}", []).append(float(kept.mean()))
                    parts.setdefault(f"its {reference}", []).append(float(other.mean()))
        if row["forecasts"]:
            means = {key: float(np.mean(values)) for key, values in parts.items()}
            row |= {key: mean for key, mean in means.items() if not key.startswith(("own ", "its "))}
            for reference in REFERENCE_SHAPES:
                if f"own {reference}" in means and means[f"its {reference}"]:
                    share = skill(means[f"own {reference}"], means[f"its {reference}"])
                    row[f"skill_{reference.replace('-', '_')}"] = share
            rows.append(row)
    return sorted(rows, key=lambda row: row.get("weighted-interval", np.inf))


def best_model_sentence(rows: Sequence[dict[str, Any]], found: Sequence[xr.Dataset]) -> str:
    """Return in a sentence which model was best, how good it is, and the coverage of its intervals."""
    rivals = [row for row in rows if row["model"] not in REFERENCE_SHAPES]
    if not rivals:
        return "No model could be fitted to the past of any series."
    best = max(rivals, key=lambda row: row["forecasts"])
    name = printable(found[0].attrs.get("name", ""), 60)
    of = f" of {len(found)} series" if len(found) > 1 else f" of {name}" if name else ""
    plural = "" if best["origins"] == 1 else "s"
    if found[0]["origin"].dtype.kind == "U":
        places = f"group{plural} that {'were' if plural else 'was'} left out"
    else:
        places = f"place{plural} below" if "ahead" in found[0] else f"date{plural} in the past"
    beaten = best.get("skill_last_value")
    side = "better" if beaten is not None and beaten > 0 else "worse"
    beside = "" if beaten is None else f"; {100 * abs(beaten):.0f} % {side} than repeating the last value"
    return (
        f"In {best['forecasts']} forecasts{of} from {best['origins']} {places}, {best['model']} was best: a score of "
        f"{best['weighted-interval']:.3g} (0 is perfect), and {100 * best['coverage']:.0f} % of its 90 % intervals "
        f"contained what came{beside}."
    )


# --- Track records ----------------------------------------------------------------------------------------------------
# From backtests to a track record: a row for each model by kind of series and horizon.


def tally(
    found: Sequence[tuple[str, xr.Dataset]], names: Sequence[str], horizons: Mapping[str, tuple[float, float]]
) -> Iterator[dict[str, Any]]:
    """Walk how each model has done: means over the forecasts of a series, then over series.

    Parameters
    ----------
    found : sequence of (str, xarray.Dataset)
        Kind of series, and its backtest (`forecast.evaluation.rolling_origin.backtest` or that of laws).
    names : sequence of str
        Of the models.
    horizons : mapping of str to (float, float)
        Years, or decades, ahead: more than the first, at most the second.

    Yields
    ------
    dict
        ``name``, ``kind``, ``horizon``, how many ``series`` and ``forecasts``, ``score`` (the weighted interval score
        of the natural logarithm), the coverage of 90 % intervals (``held``) and of 50 % intervals (``half``),
        ``deciles`` (the share of outcomes in each tenth of the forecasts, ten numbers in a row), and
        ``over_last_value``, by what share the score is better than the last value's.
    """
    for name in names:
        for kind in ("all", *sorted({kind for kind, _ in found})):
            for horizon, (low, high) in horizons.items():
                parts: dict[str, list[Any]] = {key: [] for key in ("score", "last", "held", "half", "deciles")}
                count = 0
                for own, each in found:
                    if kind not in ("all", own) or name not in each["model"].values:
                        continue
                    ahead = each["years"] if "years" in each else each["ahead"]
                    score = each["weighted-interval"].where((ahead > low) & (ahead <= high))
                    made = score.sel(model=name).notnull()
                    if not bool(made.any()):
                        continue
                    mine = each.sel(model=name)
                    middle = mine["forecast"].sel(quantile=[0.25, 0.75], method="nearest")
                    inside = (middle[..., 0] <= each["observed"]) & (each["observed"] <= middle[..., 1])
                    tenth = np.minimum((mine["pit"].values[made.values] * 10).astype(int), 9)
                    parts["score"].append(float(score.sel(model=name).mean()))
                    parts["last"].append(float(score.sel(model="last-value").where(made).mean()))
                    parts["held"].append(float(mine["coverage"].where(made).mean()))
                    parts["half"].append(float(inside.where(made).mean()))
                    parts["deciles"].append(np.bincount(tenth, minlength=10) / tenth.size)
                    count += int(made.sum())
                if count:
                    mean = {key: np.mean(values, axis=0) for key, values in parts.items()}
                    yield {
                        "name": name, "kind": kind, "horizon": horizon, "series": len(parts["score"]),
                        "forecasts": count, "score": f"{mean['score']:.3g}", "held": f"{mean['held']:.2f}",
                        "half": f"{mean['half']:.2f}",
                        "deciles": " ".join(f"{share:.2f}" for share in mean["deciles"]),
                        "over_last_value": f"{1 - mean['score'] / mean['last']:.2f}",
                    }  # fmt: skip
