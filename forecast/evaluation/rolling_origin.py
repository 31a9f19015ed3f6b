"""Rolling-origin backtests: what a model would have said at several dates in the past, against what then happened.

A model is frozen by fitting it as of its origin (`forecast.models.Model.fit`), so that whatever can be fitted can be
tested, and a table that states when each row became known is read as it stood. What happened is what the model reads
today.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.lazy import xr
from forecast.base.quantiles import QUANTILES
from forecast.contract.plugin_calls import call_guarded
from forecast.contract.specs import Input
from forecast.errors import DataError, EmptyDataError, ForecastError, UsageError, join_lines, printable
from forecast.evaluation.crossing_record import LEVEL_FACTORS, reached_by
from forecast.evaluation.origins import REFERENCE_SHAPES, choose_origins, choose_targets
from forecast.evaluation.scores import score, skill

if TYPE_CHECKING:
    from forecast.models import Model

Array = NDArray[np.float64]


__all__ = [
    "DEFAULT_SCORES",
    "Origin",
    "backtest",
    "benchmark_models",
    "fit_failures",
    "frozen",
    "of_name",
    "score_origins",
    "score_rows",
    "series_of",
]

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
    from forecast.contract.specs import TrendSpec
    from forecast.models import model
    from forecast.models.model_lookup import find_model
    from forecast.models.trends import from_spec

    entry = find_model(name)
    spec, series = entry.spec, entry.record.full_name
    if not isinstance(spec, TrendSpec):
        return {entry.name: model(entry.name)}, {}

    def of_shape(shape: Any) -> Model:
        return model(series, shape=shape) if isinstance(shape, str) else from_spec(series, spec, shape)

    return benchmark_models(of_shape, [entry.shape] if "@" in name else shapes)


def series_of(scenario: str) -> list[str]:
    """Return the names of the series that a scenario's quantities rest on, in any combination of its choices.

    Raises
    ------
    UsageError
        If there are none.
    """
    from forecast.contract.specs import TrendSpec
    from forecast.models.model_lookup import find_model
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
    models: str | Mapping[str, Model],
    *,
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
) -> xr.Dataset:
    """Forecast the same observations from the same origins with several models, and score each.

    The origins come after some dates and some share of the span. A forecast is one of an observation: it has the
    scatter of one.

    Parameters
    ----------
    models : str, or mapping of str to Model or Quantity
        The name of a series (``"hardware/linpack"``: with every shape) or of a model, which is compared with the last
        value and with a random walk with drift; or models of one series by name, the first of which that can be fitted
        says what happened.
    name : str
        Of the series.
    scores : sequence of str
        Of `forecast.evaluation.scores.SCORES`, or those of plugins.
    most_origins, most_targets : int
        Equally spaced, where there are more.
    years : float
        How far ahead.
    dates, share : int, float
        What an origin has behind it; see `forecast.evaluation.origins.choose_origins`.
    crossings : bool
        Also say with which probability a level was to be reached by each date, and whether it was.
    seed : int
    workers : int or concurrent.futures.Executor, optional
        Processes; the result is the same for any number.
    progress : callable, optional
        Called with (fits done, fits in all).

    Returns
    -------
    xarray.Dataset
        Over ``origin`` (decimal years), ``horizon`` (which target) and ``model``: ``forecast`` (also over
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
    from forecast.fit.solve.parallel import check_workers
    from forecast.models.protocol import as_model

    check_workers(workers, "backtest")
    if isinstance(models, str):
        name = name or models
        models, _ = of_name(models)
    models = {label: as_model(each) for label, each in models.items()}
    time, value, unit = _observed_today(models, seed)
    cuts = choose_origins(time, dates=dates, share=share, most=most_origins)
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
) -> xr.Dataset:
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
    xarray.Dataset
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
    dims = ("origin", "horizon")
    at = [cut.at for cut in cuts]
    made_of = xr.DataArray(draws, dims=(*dims, "model", "draw"), coords={"origin": at, "model": list(names)})
    observed = xr.DataArray(came, dims=dims, coords={"origin": at})
    out = {label: score(label)(made_of, observed, preserve_dims=[*dims, "model"]) for label in scores}
    stated = made_of.quantile(list(QUANTILES), "draw", skipna=False).transpose(*dims, "model", "quantile")
    if with_levels:
        out["stated"] = xr.DataArray(stated_by, dims=(*dims, "model", "level"), coords={"level": list(LEVEL_FACTORS)})
        out["happened"] = xr.DataArray(happened, dims=(*dims, "level"))
    return xr.Dataset(
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
        if points is None or not len(points.time):
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
