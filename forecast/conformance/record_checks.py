"""What the conformance kit asks of each kind of record; `forecast.conformance.kit` assembles and runs it.

Each function takes a record and raises: a typed error where the record breaks the requirement,
``unittest.SkipTest`` where there is nothing to check.
"""

from __future__ import annotations

import contextlib
import functools
import unittest
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from forecast import claim_verdicts as claims, tables, units
from forecast.base.arrays import Array
from forecast.base.distributions import distribution
from forecast.base.streams import Streams
from forecast.conformance import constraint_checks
from forecast.conformance.answer_checks import Breach, find_breaches, lever_breaches
from forecast.conformance.called_with_data import load_code, objective_derives, reader_reads, score_scores
from forecast.conformance.law_checks import LAW_CHECKS, check_array, refuse, reject_writes
from forecast.conformance.shape_checks import SHAPE_CHECKS
from forecast.contract.registry import Record, Registry, get_registry, import_target
from forecast.contract.specs import EstimateSpec, FunctionSpec, Input, TrendSpec
from forecast.errors import DownloadError, ForecastError, printable
from forecast.formula import parse
from forecast.models import model
from forecast.models.functions import check_places, takes_time
from forecast.models.protocol import FittedModel, Model, OtherModel
from forecast.models.trends import check_options
from forecast.projection.engine import project
from forecast.projection.paths.run_cache import SHARED_BYTES, RunCache
from forecast.scenarios.question_text import read_question
from forecast.scenarios.scenario import Scenario
from forecast.tables.schema import descriptor

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
        constraint_checks.check_constraints(
            record, beside.model, beside.time, beside.sample(beside.model.fit(seed=0)), whose=f"@{shape} "
        )
    trial = _FittedModelTrial(record)
    fitted = trial.model.fit(seed=0)
    drawn = trial.sample(fitted)
    # made-up quantities may well be outside a law's domain
    constraint_checks.check_constraints(record, trial.model, trial.time, np.nan_to_num(drawn) if trial.free else drawn)
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
    constraint_checks.goes_on(record, list(constraint_checks.weighted_trends(record)))


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
    constraint_checks.of_run(record, run)


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
