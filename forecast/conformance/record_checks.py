"""What the conformance kit asks of each kind of record; `forecast.conformance.kit` assembles and runs it.

Each function takes a record and raises: a typed error where the record breaks the requirement,
``unittest.SkipTest`` where there is nothing to check.

Of bounds they ask that what is declared holds, and that a series goes on where its observations end. Objectives, scores
and readers are called with data, as a fit, a backtest and a table call them.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import tempfile
import unittest
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import claim_verdicts as claims, tables, units
from forecast.base.arrays import Array, BoolArray
from forecast.base.dates import iso_date
from forecast.base.distributions import distribution
from forecast.base.lazy import xr
from forecast.base.streams import DRAWS_PER_BLOCK, Streams
from forecast.conformance.answer_checks import Breach, find_breaches, lever_breaches
from forecast.conformance.law_checks import (
    BAND_QUANTILES,
    LAW_CHECKS,
    N_LAST,
    SHAPE_CHECKS,
    check_array,
    fewest,
    refuse,
    reject_writes,
)
from forecast.contract.registry import Record, Registry, get_registry, import_target
from forecast.contract.specs import EstimateSpec, FunctionSpec, Input, TrendSpec
from forecast.errors import DownloadError, ForecastError, PluginError, one_line, printable
from forecast.fit.objectives import find_objective
from forecast.formula import parse
from forecast.models import model
from forecast.models.functions import check_places, takes_time
from forecast.models.protocol import FittedModel, Model, Observations, OtherModel
from forecast.models.scales import Bounds, find_scale
from forecast.models.trends import check_options
from forecast.projection.engine import project
from forecast.projection.paths.run_cache import SHARED_BYTES, RunCache
from forecast.scenarios.question_text import read_question
from forecast.scenarios.scenario import Scenario
from forecast.tables.schema import descriptor

if TYPE_CHECKING:
    from forecast.projection.result import Projection


#: Rounding of values that come from logarithms.
CONSTRAINT_RTOL = 1e-9


def check_constraints(record: Record, model: Model, time: Array, draws: Array, *, whose: str = "") -> None:
    """Refuse draws, (time, draw), that leave what a model declares, naming the first date and the value."""
    spec = record.spec
    if isinstance(spec, TrendSpec) and (spec.frontier or spec.records) and model.keeps != "frontier":
        raise refuse(record, 'its series is a running maximum, and it does not declare keeps = "frontier"')
    problem = _find_breach(time, draws, model.keeps, model.bounds, model.at_most, model.unit)
    if problem:
        raise refuse(record, f"{whose}{problem}")


def _find_breach(time: Array, path: Array, keeps: str, bounds: Bounds, at_most: float | None, unit: str) -> str:
    """Say what a path breaks, when and with which value; nothing where it breaks nothing."""
    found: list[tuple[str, BoolArray]] = []
    if keeps == "frontier":
        falls = np.zeros(path.shape, dtype=bool)
        falls[1:] = path[1:] < path[:-1] * (1 - CONSTRAINT_RTOL)
        found.append(("keeps a frontier, and falls to", falls))
    if bounds:
        scale = find_scale(np.empty(0), unit=unit, declared=bounds)
        found.append((f"is on a scale of {scale.ends}, and is", scale.is_beyond(path)))
    if keeps == "positive":
        found.append(("keeps what is positive, and is", path <= 0))
    if at_most is not None:
        found.append((f"never exceeds {at_most:g}, and is", path > at_most))
    for said, bad in found:
        if bad.any():
            step, draw = np.argwhere(bad)[0]
            return f"{said} {path[step, draw]:.4g} {unit} on {iso_date(time[step])}".replace("  ", " ")
    return ""


def goes_on(record: Record, trends: list[tuple[Model, float]]) -> None:
    """Refuse a series whose last observation its own forecast does not hold, or whose frontier starts elsewhere.

    The band of one observation (90 %) at its date holds it; where it does not, so many of the last ten as chance
    explains. A frontier starts at the highest observation.

    Parameters
    ----------
    record : Record
    trends : list of (Model, float)
        The trend, or the members of its pool, and their weights.
    """
    seen, levels = _observations_and_draws(trends)
    low, high = np.quantile(levels, BAND_QUANTILES, axis=1)
    value = seen.value[-len(low) :]
    hits = (low * (1 - CONSTRAINT_RTOL) <= value) & (value <= high * (1 + CONSTRAINT_RTOL))
    least = fewest(len(hits))
    if not hits[-1] and hits.sum() < least:
        raise refuse(
            record,
            f"its last observation, {value[-1]:.4g} {seen.unit} on {iso_date(seen.time[-1])}, lies outside its band of"
            f" one (90 %), {low[-1]:.4g} to {high[-1]:.4g}, and {hits.sum()} of the last {len(hits)} lie inside; "
            f"{least} are the fewest that chance explains",
        )
    top = float(seen.value.max())
    for trend, _ in trends:
        if trend.keeps == "frontier":
            start = _sample_trend(trend, seen.time[-1:], observed=False)
            off = float(start.flat[np.abs(start - top).argmax()])
            if abs(off - top) > CONSTRAINT_RTOL * top:
                raise refuse(
                    record,
                    f"its frontier starts at {off:.4g} {seen.unit} on {iso_date(seen.time[-1])}, not at {top:.4g}",
                )


def _observations_and_draws(trends: list[tuple[Model, float]]) -> tuple[Observations, Array]:
    """Return what was observed, and draws of one observation at the last dates, of all members by their weights."""
    most = max(weight for _, weight in trends)
    seen = trends[0][0].fit(seed=0).observed()
    drawn = [
        (_sample_trend(model, np.sort(seen.time)[-N_LAST:], observed=True), weight / most) for model, weight in trends
    ]
    return seen, np.concatenate([d[:, : max(round(share * d.shape[1]), 1)] for d, share in drawn], axis=1)


def _sample_trend(model: Model, time: Array, *, observed: bool) -> Array:
    """Draw a trend at dates."""
    inputs = {
        name: distribution(need.distribution, where=name).ppf(np.random.default_rng(i).random(DRAWS_PER_BLOCK))
        for i, (name, need) in enumerate(model.inputs.items())
        if isinstance(need, Input)
    }
    return model.fit(seed=0).sample(time, inputs, Streams(seed=0, node=model.name, block=0), observed=observed)


def of_run(record: Record, run: Projection) -> None:
    """Refuse a run of a scenario in which a quantity leaves what it declares, naming quantity, date and value."""
    time = run.years
    for name, stated in run.constraints.items():
        levels = run.worlds[name].transpose("time", ...)
        path = levels.values.reshape(len(time), -1)
        bounds = Bounds(**{key: stated[key] for key in ("scale", "floor", "ceiling") if key in stated})
        unit = levels.attrs.get("units", "")
        problem = _find_breach(time, path, stated.get("keeps", ""), bounds, stated.get("at_most"), unit)
        if problem:
            raise refuse(record, f"{name} {problem}")


def weighted_trends(record: Record) -> Iterator[tuple[Model, float]]:
    """Walk the trends that stand behind a series where nobody names a shape, with their weights."""
    spec = record.spec
    for shape, weight in [(spec.shape, 1.0)] if spec.shape else [(s.name, s.weight) for s in spec.shapes if s.weight]:
        yield model(record.full_name, shape=shape), weight


GRAMMAR = "f(forecast, observed, *, reduce_dims=None, preserve_dims=None, weights=None)"
#: What a reader is given where its record names no file.
TINY_CSV = "date,value\n2020-01-01,1\n2021-01-01,2\n"


def load_code(record: Record) -> Callable[..., Any]:
    """Return the code that a record names; an error where it is nothing to call."""
    code = import_target(record.spec.target, what=f"{record.spec.kind} '{record.full_name}'")
    if not callable(code):
        raise refuse(record, f"target: expected something to call, got {type(code).__name__}")
    return code  # type: ignore[no-any-return]


def _check_signature(record: Record, code: Callable[..., Any], grammar: str, *given: Any, **named: Any) -> None:
    """Refuse code that cannot be called so."""
    try:
        inspect.signature(code).bind(*given, **named)
    except TypeError as problem:
        raise refuse(record, f"cannot be called as {grammar}: {printable(problem, 120)}") from None
    except ValueError:  # built-in code that does not say what it takes
        pass


# Objectives -----------------------------------------------------------------------------------------------------------

#: Step of the differences that derivatives of losses are held to, and their error as a share of the largest one.
LOSS_STEP, LOSS_RTOL = 1e-5, 1e-4


def objective_derives(record: Record) -> None:
    """Its loss is finite and of its own fit alone, and both derivatives are, on the rows that it takes."""
    objective = find_objective(record.full_name)
    rng = np.random.default_rng(0)
    f, y = rng.uniform(0.1, 0.9, (3, 40)), np.round(rng.uniform(1, 9, (1, 40)))
    y[0, ::2] = f[0, ::2] + 0.01  # counts, and what lies close to the law
    options = {n: 0.5 if v is None else v for n, v in {objective.tuning: None, **objective.defaults}.items()}
    columns = {n: np.full(y.shape, 9.0 if (v := objective.defaults[n]) is None else v) for n in objective.columns}
    rules = list(objective.rules(y, columns))
    good = ~np.any([np.zeros(y.shape, dtype=bool), *(rule.bad for rule in rules)], axis=0)
    if not good.any():
        raise unittest.SkipTest(f"takes none of the numbers from 0.1 to 9: {rules[0].text((0, 0))}")
    options |= {name: column[good] for name, column in columns.items()}
    f, y = objective.linked(f[:, good[0]]), objective.linked(y[good])
    f.flags.writeable = y.flags.writeable = False

    def losses(f: Any) -> Any:
        with reject_writes(record, "pointwise"):
            return np.array(objective.losses(f, y, options))

    whole = losses(f)
    if not np.isfinite(whole).all():
        raise refuse(record, "pointwise: expected finite numbers where law and observation are good")
    if not np.array_equal(whole[:, 1:2], losses(f[1:2])):
        raise refuse(record, "pointwise: a fit among others has another loss than alone")
    slopes = (losses(f + LOSS_STEP) - losses(f - LOSS_STEP)) / (2 * LOSS_STEP)
    for which, given, slope in zip(("first", "second"), whole[1:], slopes[:2], strict=True):
        worst = np.unravel_index(np.argmax(np.abs(given - slope)), slope.shape)
        if abs(given[worst] - slope[worst]) > LOSS_RTOL * np.abs(slope).max():
            said = f"is {given[worst]:.6g} where differences are {slope[worst]:.6g}"
            raise refuse(record, f"pointwise: the {which} derivative {said}")


# Scores -------------------------------------------------------------------------------------------------------------


def _sample_forecasts() -> Iterator[tuple[str, xr.DataArray, xr.DataArray]]:
    """Walk forecasts of every form, each with what happened; code that writes into them is told so."""
    rng = np.random.default_rng(0)
    dims, shape = ("origin", "place"), (3, 2)
    draws, levels = np.exp(0.3 * rng.standard_normal((*shape, 24))), [0.05, 0.25, 0.5, 0.75, 0.95]
    happened = np.exp(0.3 * rng.standard_normal(shape))
    quantiles = np.moveaxis(np.quantile(draws, levels, axis=-1), 0, -1)
    for array in (draws, happened, quantiles, chances := rng.uniform(0.1, 0.9, shape)):
        array.flags.writeable = False
    observed = xr.DataArray(happened, dims=dims)
    yield "draws", xr.DataArray(draws, dims=(*dims, "draw")), observed
    yield "quantiles", xr.DataArray(quantiles, dims=(*dims, "quantile"), coords={"quantile": levels}), observed
    yield "a probability", xr.DataArray(chances, dims=dims), (observed > 1).astype(np.float64)


def score_scores(record: Record) -> None:
    """It follows the grammar of scores: what it gives, along which dimensions, and what weights do."""
    code = load_code(record)
    _check_signature(record, code, GRAMMAR, None, None, reduce_dims=None, preserve_dims=None, weights=None)
    said: list[str] = []
    for form, forecast, observed in _sample_forecasts():
        try:
            with reject_writes(record, "its code"):
                code(forecast, observed)
            break
        except PluginError:
            raise
        except Exception as problem:
            said.append(f"{form}: {one_line(problem, 120)}")
    else:
        raise refuse(record, f"scores no form of a forecast ({'; '.join(said)})")

    def scored(what: str, dims: tuple[str, ...], part: slice = slice(None), **options: Any) -> Any:
        with reject_writes(record, "its code"):
            made = xr.DataArray(code(forecast.isel(origin=part), observed.isel(origin=part), **options))
        if made.dtype.kind not in "fiu" or not np.isfinite(made).all():
            raise refuse(record, f"{what}: expected finite numbers, got {printable(made.values, 60)}")
        if set(made.dims) != set(dims):
            expected = f"the dimensions {', '.join(dims)}" if dims else "one number"
            raise refuse(record, f"{what}: expected {expected}, got {', '.join(map(str, made.dims)) or 'one number'}")
        return made.transpose(*dims).values

    whole = scored("without options", ())
    by_origin = scored("preserve_dims=['origin']", ("origin",), preserve_dims=["origin"])
    scored("reduce_dims=['origin']", ("place",), reduce_dims=["origin"])
    scored("preserve_dims of both dimensions", ("origin", "place"), preserve_dims=["origin", "place"])
    even, first = xr.DataArray(np.full(3, 2.0), dims="origin"), xr.DataArray([1.0, 0.0, 0.0], dims="origin")
    _like(record, "equal weights change it", scored("weights", (), weights=even), whole)
    alone = scored("one origin", (), slice(0, 1))
    _like(record, "preserve_dims gives another score than that part alone", by_origin[0], alone)
    _like(record, "a weight of 0 does not leave a part out", scored("weights", (), weights=first), alone)


def _like(record: Record, says: str, one: Any, other: Any) -> None:

    if not np.allclose(one, other, rtol=1e-9, atol=1e-12):
        raise refuse(record, f"{says}: {float(one):.6g} instead of {float(other):.6g}")


# Readers ------------------------------------------------------------------------------------------------------------


def reader_reads(record: Record) -> None:
    """It makes columns of one length of the file that its record names, or of a tiny CSV file."""
    from forecast.tables.file_formats import read_with

    code = load_code(record)
    _check_signature(record, code, "f(path)", Path("file"))
    if record.spec.example:
        read_with(record, Path(record.spec.example), where="its example")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tiny.csv")
        path.write_text(TINY_CSV, encoding="utf-8")
        try:
            code(path)
        except (TypeError, AttributeError, NameError):  # no form of a file excuses these
            raise
        except Exception as problem:
            refused = f"refuses a tiny CSV file ({one_line(problem, 80)})"
            raise unittest.SkipTest(f"{refused}: give its record a small file of its form, example=...") from None
        read_with(record, path, where="a tiny CSV file")


#: Years in which models are sampled: after their last observations, before which some have no path of their own.
SAMPLE_YEARS = 2028.0, 2040.0
#: Draws at yearly and at quarterly steps are the same where they differ by no more; else two samples of one
#: distribution differ as much as they do in this share of cases at most.
SAME_DRAWS, STEP_LEVEL = 1e-6, 1e-6
#: Worlds in which every scenario of a plugin is run.
SCENARIO_DRAWS = 64
#: And those in which its answers are held to one another: shares of fewer say little.
COMPARISON_DRAWS = 256

# Models -------------------------------------------------------------------------------------------------------------


def _model_unit(record: Record) -> None:
    where = f"model '{record.full_name}'"
    units.unit(record.spec.unit, where=where)
    if isinstance(record.spec, EstimateSpec):
        formula = parse(record.spec.expression, where=where)
        inferred = units.infer(formula, {i.name: i.unit for i in record.spec.inputs}, where=where)
        units.check(inferred, record.spec.unit, where=where)
    if isinstance(record.spec, FunctionSpec):
        for name, unit in record.spec.inputs.items():
            units.unit(unit, where=f"{where}: input '{printable(name, 60)}'")


class _FittedModelTrial:
    """A fitted model with read-only draws of everything it needs."""

    def __init__(self, record: Record, shape: str = "", every: float = 1.0) -> None:

        self.record = record
        self.model: Model = model(record.full_name, shape=shape)
        self.time = np.arange(*SAMPLE_YEARS, every)
        self.time.flags.writeable = False
        self.free = False  # needs quantities of a scenario, which are made up here
        self.inputs = self._inputs(self.model)

    def _inputs(self, model: Model) -> dict[str, Array]:

        drawn = {}
        domain = getattr(self.record.spec, "domain", {})
        for index, (name, need) in enumerate(model.inputs.items()):
            u = np.random.default_rng(index).random(self.streams(model).draws)
            if isinstance(need, Input):
                draws = distribution(need.distribution, where=f"input '{printable(name, 80)}'").ppf(u)
            elif isinstance(need, OtherModel):
                draws = self._sample(need.model, need.model.fit(seed=0), self.time, self._inputs(need.model))
            else:
                self.free = True
                low, high = domain.get(name, (1.0, 2.0))
                draws = np.broadcast_to(low + (high - low) * u, (len(self.time), len(u))).copy()
            draws.flags.writeable = False
            drawn[name] = draws
        return drawn

    @staticmethod
    def streams(model: Model, block: int = 0) -> Streams:
        """Return those of the first piece of a block: who draws another number than `streams.draws` is found out."""
        return Streams(seed=0, node=model.name, block=block, piece=0)

    def _sample(
        self, model: Model, fitted: FittedModel, time: Array, inputs: Mapping[str, Array], block: int = 0
    ) -> Array:
        with reject_writes(self.record, "sample"):
            return fitted.sample(time, inputs, self.streams(model, block))

    def at(self, date: float) -> Array:
        """Return draws of one date, of several blocks, in order."""
        fitted, place = self.model.fit(seed=0), int(np.argmin(np.abs(self.time - date)))
        drawn = [self._sample(self.model, fitted, self.time, self.inputs, block)[place] for block in range(4)]
        return np.sort(np.nan_to_num(np.concatenate(drawn)))

    def sample(self, fitted: FittedModel, steps: int | None = None) -> Array:
        """Return the draws for the first steps; `inputs` that run over time are cut with it."""
        inputs = {k: v if v.ndim == 1 else v[:steps] for k, v in self.inputs.items()}
        return self._sample(self.model, fitted, self.time[:steps], inputs)


def _untested_shapes(record: Record) -> Iterator[str]:
    """Walk the shapes that a series says something of and that nothing else tries: not its own, nor those of its pool.

    Of those that are refused, or wait for an option, the names alone are looked at.
    """
    spec = record.spec
    if not isinstance(spec, TrendSpec):
        return
    for beside in spec.shapes:
        options = {**beside.options, **dict.fromkeys(beside.needs)}
        check_options(beside.name, options, where=f"model '{record.full_name}': shapes")
        pooled = beside.weight and not spec.shape
        if not (beside.refused or beside.needs or pooled or beside.name == spec.shape):
            yield beside.name


def _model_samples(record: Record) -> None:
    for shape in ("", *_untested_shapes(record)):
        trial = _FittedModelTrial(record, shape)
        drawn = trial.sample(trial.model.fit(seed=0))
        if trial.free and isinstance(drawn, np.ndarray):  # made-up quantities may well be outside a law's domain
            drawn = np.nan_to_num(drawn)
        check_array(record, "sample", drawn, (len(trial.time), trial.streams(trial.model).draws))


def _model_repeats(record: Record) -> None:
    """Same seed, same draws: called again, fitted again, with other random numbers drawn in between."""
    trial = _FittedModelTrial(record)
    fitted = trial.model.fit(seed=0)
    before = repr(np.random.get_state())
    first = trial.sample(fitted)
    if repr(np.random.get_state()) != before:
        raise refuse(record, "sample draws from numpy's global random state; use the streams it is given")
    if not np.array_equal(first, trial.sample(fitted), equal_nan=True):
        raise refuse(record, "the same seed gives other draws when sample is called again")
    if not np.array_equal(first, trial.sample(trial.model.fit(seed=0)), equal_nan=True):
        raise refuse(record, "the same seed gives other draws after fitting again")


def _model_prefix(record: Record) -> None:
    trial = _FittedModelTrial(record)
    fitted = trial.model.fit(seed=0)
    if not np.array_equal(trial.sample(fitted)[:5], trial.sample(fitted, 5), equal_nan=True):
        raise refuse(record, "a longer horizon changes the earlier steps: draw arrays as (time, draw)")


def _model_steps(record: Record) -> None:
    """What it says of a date does not depend on how many others are looked at on the way."""
    if isinstance(record.spec, FunctionSpec):  # it draws nothing, and may sum over the steps that it is given
        return
    date = SAMPLE_YEARS[1] - 1.0
    one, other = (_FittedModelTrial(record, every=every).at(date) for every in (1.0, 0.25))
    every = np.concatenate([one, other])
    apart = np.searchsorted(one, every, side="right") - np.searchsorted(other, every, side="right")
    chance = np.sqrt(-np.log(STEP_LEVEL / 2) * len(one))  # of Kolmogorov and Smirnov's distance, in draws
    if not np.allclose(one, other, rtol=SAME_DRAWS) and np.abs(apart).max() > chance:
        (low, high), (lower, higher) = (np.quantile(each, [0.05, 0.95]) for each in (one, other))
        raise refuse(
            record,
            f"what it says of {date:g} depends on the steps: 90 % in {low:.4g} to {high:.4g} at yearly ones, "
            f"in {lower:.4g} to {higher:.4g} at quarterly ones; draw noise for the years that pass, not for the step",
        )


def _model_keeps(record: Record) -> None:
    """It keeps what its record declares, and draws nothing negative where everything observed is positive."""
    for shape in _untested_shapes(record):
        beside = _FittedModelTrial(record, shape)
        check_constraints(
            record, beside.model, beside.time, beside.sample(beside.model.fit(seed=0)), whose=f"@{shape} "
        )
    trial = _FittedModelTrial(record)
    fitted = trial.model.fit(seed=0)
    drawn = trial.sample(fitted)
    # made-up quantities may well be outside a law's domain
    check_constraints(record, trial.model, trial.time, np.nan_to_num(drawn) if trial.free else drawn)
    seen = trial.model.rests_on().fit(seed=0).observed()
    positive = len(seen.value) > 0 and bool((seen.value > 0).all())
    lowest = record.spec.at_least if record.spec.at_least is not None else 0.0 if positive else None
    if lowest is None:
        if trial.model.keeps or trial.model.bounds or trial.model.at_most is not None:
            return
        raise unittest.SkipTest("declares nothing that it keeps, and rests on no positive series")
    least = float(drawn.min())
    if least < lowest:
        why = "at_least declares" if record.spec.at_least is not None else "everything it observed is positive:"
        raise refuse(record, f"draws {least:.4g} {record.spec.unit}; {why} {lowest:g} at the least")


def _model_goes_on(record: Record) -> None:
    """Its band of one observation holds the last observation, and a frontier starts at the record."""
    if not isinstance(record.spec, TrendSpec):
        raise unittest.SkipTest("is no series")
    goes_on(record, list(weighted_trends(record)))


def _function_vectorises(record: Record) -> None:
    """A part of the inputs, in another order, gives that part of the output: along what the function declares."""
    call = import_target(record.spec.target, what=f"function '{record.full_name}'")
    trial = _FittedModelTrial(record)
    given = dict(trial.inputs)
    shape = next(iter(given.values())).shape
    if takes_time(call) and "t" not in given:
        given["t"] = np.broadcast_to(trial.time[:, None], shape)
    with reject_writes(record, "its function"):
        whole = np.asarray(call(**given))
        if whole.shape != shape:
            raise refuse(record, f"its function returns shape {whole.shape} for inputs of another")
        check_places(call, given, whole, record.spec.along, f"function '{record.full_name}': its function")


# The others ---------------------------------------------------------------------------------------------------------


def _table_described(record: Record) -> None:
    """Schema, licence, source and hash stand in the descriptor, and every unit parses."""
    package = descriptor.read_descriptor(Path(record.spec.descriptor))
    for resource in package.resources:
        if resource.parser != "csv":
            get_registry().find(
                "reader", resource.parser, where=f"table '{record.full_name}': '{resource.name}': parser"
            )
        for field in resource.fields:
            units.unit(field.unit, where=f"table '{record.full_name}': column '{printable(field.name, 60)}'")


def _table_reads(record: Record) -> None:
    if any(resource.remote for resource in descriptor.read_descriptor(Path(record.spec.descriptor)).resources):
        raise unittest.SkipTest("is downloaded")
    tables.table(record.full_name)


@contextlib.contextmanager
def _skip_downloads() -> Iterator[None]:
    """Skip what needs a table that is not here."""
    try:
        yield
    except DownloadError as problem:
        raise unittest.SkipTest(f"needs a table that is downloaded: {problem}") from None


def _refuse_breaches(record: Record, found: list[Breach], what: str = "") -> None:
    """Refuse a scenario that breaks rules: the first three are told."""
    if found:
        raise refuse(record, "; ".join(f"{what}{each.question}: {printable(each.message, 300)}" for each in found[:3]))


@functools.lru_cache(maxsize=1)
def _cache_of(registry: Registry) -> RunCache:
    """Return what the checks of scenarios fit and draw, so that it is fitted once; other plugins start another one."""
    return RunCache(SHARED_BYTES)


def _scenario_runs(record: Record) -> None:
    """It runs whole, in every combination of its choices, and every quantity keeps what it declares."""
    with _skip_downloads():
        run = project(Scenario.load(record.full_name), draws=SCENARIO_DRAWS, cache=_cache_of(get_registry()))
    if failed := run.failures:
        raise refuse(record, f"{len(failed)} of its parts cannot be had: {printable(failed[0], 400)}")
    of_run(record, run)


def _scenario_holds(record: Record) -> None:
    """Its answers contradict neither its data nor one another."""
    scenario = Scenario.load(record.full_name)
    if "published_on" in scenario.stated:
        raise unittest.SkipTest("a rebuilt publication prints what was published")
    with _skip_downloads():
        found = find_breaches(project(scenario, draws=COMPARISON_DRAWS, cache=_cache_of(get_registry())))
    _refuse_breaches(record, found)


def _scenario_levers(record: Record) -> None:
    """Each of its levers moves an answer."""
    scenario = Scenario.load(record.full_name)
    if not scenario.levers:
        raise unittest.SkipTest("names no levers")
    with _skip_downloads():
        found = list(lever_breaches(scenario, draws=SCENARIO_DRAWS, cache=_cache_of(get_registry())))
    _refuse_breaches(record, found, "lever ")


def _quantity_answers(record: Record) -> None:
    """The house's forecast and each rival answer, in a unit that converts to the quantity's."""
    units.check(record.spec.unit, record.spec.unit, where=f"quantity '{record.full_name}'")
    for rival in ["", *(each.name for each in record.spec.rivals)] if record.spec.forecast else ():
        what = f"rival '{rival}'" if rival else "forecast"
        try:
            with _skip_downloads():
                run = project(read_question(record.spec.name, rival=rival), draws=SCENARIO_DRAWS)
                units.convert(1.0, run.values[0].unit, record.spec.unit, where=what)
        except ForecastError as problem:
            raise refuse(record, f"{what}: {printable(problem, 300)}") from None
        if run.opening is None or run.opening.headline is None:
            raise refuse(record, f"{what}: has no answer: {printable(next(iter(run.failures), ''), 300)}")


def _claim_computes(record: Record) -> None:
    claim = claims.evaluate(record.spec)
    if claim["verdict"] == claims.FAILED:
        raise refuse(record, f"cannot be computed: {claim['note']}")
    if claim["verdict"] == "disagrees" and not record.spec.note.strip():
        raise refuse(
            record, f"computes {claim['computed']:.6g} where {claim['stated']} is stated, and its note does not say why"
        )


def _unit_parses(record: Record) -> None:
    where = f"unit '{record.full_name}'"
    # a record's name is lower case; the unit's own name, which its definition gives, need not be: OP
    units.unit(units.check_definition(record.spec.definition, where=where), where=where)


def _command_loads(record: Record) -> None:
    import click

    command = import_target(record.spec.target, what=f"command '{record.full_name}'")
    if not isinstance(command, click.Command):
        raise refuse(record, f"target: expected a click command, got {type(command).__name__}")


#: Kind of record to (label, check).
CHECKS: Mapping[str, tuple[tuple[str, Callable[[Record], object]], ...]] = {
    "law": LAW_CHECKS,
    "model": (
        ("units parse and balance", _model_unit),
        ("samples finite numbers and leaves its inputs alone", _model_samples),
        ("same seed, same draws", _model_repeats),
        ("a longer horizon keeps the earlier steps", _model_prefix),
        ("says the same at any step", _model_steps),
        ("keeps what it declares", _model_keeps),
        ("goes on where its observations end", _model_goes_on),
    ),
    "shape": SHAPE_CHECKS,
    "table": (("has schema, licence, source and hash", _table_described), ("reads", _table_reads)),
    "scenario": (
        ("reads", lambda record: Scenario.load(record.full_name)),
        (f"runs at {SCENARIO_DRAWS} worlds", _scenario_runs),
        ("holds to its data and its other answers", _scenario_holds),
        ("its levers move its answers", _scenario_levers),
    ),
    "quantity": (("its forecast and its rivals answer", _quantity_answers),),
    "claim": (("computes, and says where it disagrees", _claim_computes),),
    "unit": (("parses", _unit_parses),),
    "objective": (("its loss, derivatives and rows agree", objective_derives),),
    "score": (("its code loads", load_code), ("scores in the grammar of scores", score_scores)),
    "reader": (("its code loads", load_code), ("reads", reader_reads)),
    "command": (("its code loads", _command_loads),),
}

#: Checks of a function, besides those of every model.
FUNCTION_CHECKS: tuple[tuple[str, Callable[[Record], None]], ...] = (("vectorises", _function_vectorises),)
