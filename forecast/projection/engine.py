"""Run a scenario: sample its draws, answer its questions, and store everything needed to repeat the run."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from forecast.base.arrays import Array
from forecast.base.budgets import check_memory, give_back, memory
from forecast.base.dates import check_has_come, decimal_year, parse_year
from forecast.base.number_checks import is_integer
from forecast.base.sobol import REPLICATES
from forecast.base.streams import DRAWS_PER_BLOCK, check_seed
from forecast.errors import (
    DataError,
    FewWorldsWarning,
    ForecastWarning,
    NoDataAtDateError,
    ScenarioError,
    UncorrelatedWarning,
    UnknownNameError,
    UsageError,
    printable,
)
from forecast.projection import blocks, missing_data, source_tables, supporting_data
from forecast.projection.answers.variations import swept
from forecast.projection.evaluate import Block, Schedule
from forecast.projection.horizon import Horizon, horizon, step_of, until_end
from forecast.projection.likelihood_weights import MIN_ESS
from forecast.projection.model_fits import ModelFits, ModelNames
from forecast.projection.paths.check_ordered import check_ordered
from forecast.projection.paths.run_cache import RunCache, cache_of_process
from forecast.projection.plan import Plan
from forecast.projection.provenance import provenance
from forecast.projection.result import Projection
from forecast.projection.source_tables import OwnRows
from forecast.projection.streaming.batches import Checkpoint, Job, run_batches
from forecast.projection.streaming.foresight import peak_bytes
from forecast.projection.streaming.histograms import DATE_BINS
from forecast.projection.unread_rows import unread_rows
from forecast.scenarios import graph as graphs
from forecast.scenarios.graph import ScenarioGraph
from forecast.scenarios.kinds.table_value import TableValue
from forecast.scenarios.question_text import check_is_whole
from forecast.scenarios.scenario import Scenario
from forecast.scenarios.settings import ports
from forecast.scenarios.settings.setting_values import names_model
from forecast.scenarios.table_values import Tables
from forecast.scenarios.toml_text import toml_text
from forecast.tables import editions

#: Copies of the stored draws: the result, and one more while it is saved or summarised.
STORED_COPIES = 2
#: No quantity has more steps than these that are whole paths, with what they take beside: below that nothing is
#: foreseen step by step.
MAX_PATHS = 16
#: Bytes of the bins of one step of a quantity, over thirty doublings, and of a question.
STEP_BYTES, QUESTION_BYTES = 4 * 64 * 30, 8 * REPLICATES * DATE_BINS
#: Where worlds are counted so many of the first are kept, for figures and for what moves an answer.
MAX_SAMPLE_DRAWS = 2048
#: A process that holds more gives freed memory back between runs.
RESIDENT_BYTES = 320 * 2**20
#: The dates of a question: as years, finite ones alone, as dates, and who has crossed already.
N_DATE_ARRAYS = 6


def project(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    until: float | str | None = None,
    start: float | str | None = None,
    step: float | str | None = None,
    draws: int = 2048,
    seed: int | None = 0,
    with_: Mapping[str, Any] | None = None,
    preset: str | None = None,
    sweep: Mapping[str, Any] | None = None,
    what_if: Sequence[Mapping[str, Any]] = (),
    as_of: float | str | None = None,
    data: OwnRows | None = None,
    keep: int = 10_000,
    paths: Collection[str] | None = None,
    ends: bool = False,
    workers: int = 1,
    client: Any = None,
    progress: Callable[[int, int], None] | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    cache: RunCache | None = None,
) -> Projection:
    """Project a scenario: every quantity over time, in jointly drawn worlds, along every choice.

    Parameters
    ----------
    scenario : str, path, mapping or Scenario
        A registered name (``"brain-parity"``), a TOML file, or what such a file holds.
    until, start : float or str, optional
        Last and first date as decimal years, instead of the scenario's. Values that it asks for after `until` are left
        out; those of which none is left are asked for at the end.
    step : {"year", "month"}, float or str, optional
        Years from one step to the next: ``"1/12"``, ``0.25``; a ``"month"`` is that of the calendar.
    draws : int
        Fewer draws are a prefix of more.
    seed : int or None
        None takes a fresh seed, recorded in the result.
    with_ : mapping, optional
        Other values for what the scenario has: ``{"trend": "changepoint"}`` narrows a choice; ``{"brain": 1e18}`` fixes
        a quantity in its unit; ``{"brain/dettmers-2015.firing_rate": 100}`` fixes an input,
        ``{"machine.growth": 0.2}`` a fitted parameter of the models behind a quantity. Instead of a number:
        ``"1 EFLOP/s"``, a range ``"1e13..1e17"``, a distribution ``{"lognormal": [1e14, 1e18]}``; or another model,
        ``{"machine": "hardware/linpack@random-walk"}``, or a quantity.
    preset : str, optional
        The scenario's settings of this name; what `with_` and `sweep` set goes before.
    sweep : mapping, optional
        What is set to each of several values, beside the scenario's: ``{"goal": [1e16, 1e18], "trend": "*"}`` gives a
        dimension for each name; ``"*"`` are all values of a choice. What is swept is never pooled.
    what_if : sequence of mapping
        Changes from a date on, beside the scenario's:
        ``[{"of": "machine", "growth": "0.5*", "since": 2028, "until": 2032}]``.
    as_of : float or str, optional
        Use only what was known before this decimal year, or date: ``2024.5``, ``"2024-07-01"``. A scenario that reads
        data and states a later first date then starts here. What had no data yet is left out and named in the result's
        ``warnings``: the models, the quantities and questions that rest on them, limits, which then do not bind, and of
        rivals that are drawn the worlds that hold them. Tables are today's: rows are chosen by their dates.
    data : path, or mapping of str to path, optional
        Rows of one's own beside those of a table that the scenario reads: a CSV file with columns of the table, in its
        units, ``"new.csv"``, or ``{"training-runs-2026": "new.csv"}`` where several tables have such columns.
    keep : int
        Up to so many worlds are stored one by one; more are counted.
    paths : collection of str, optional
        Quantities that are stored and may change with time; all by default. The answers are the same, and what nothing
        reads is not drawn.
    ends : bool
        Store quantities, and whether limits bind, at the first and the last step alone, as for a screen or a table of
        answers. These, and what fails and is warned of, are the same; it takes less memory.
    workers : int
        Threads; the result is bitwise the same for any number.
    progress : callable, optional
        Called with (blocks done, blocks in all).
    cache : RunCache, optional
        What earlier runs have fitted and drawn; of it is taken what this run would fit and draw alike. The runs of a
        sweep share one by default, and all runs of a process what models of plugins fit and draw, up to 128 MB.

    Returns
    -------
    Projection
        Its ``answers``, ``quantities``, ``limits``, ``settings`` and ``warnings``, and everything needed to repeat it;
        ``run["projection"]`` and the other groups are those of its `xarray.DataTree`.

    Raises
    ------
    UnknownNameError, ScenarioError, UnitError, UsageError
        If the scenario cannot be run with these options.
    ForecastError
        If a quantity fails in every combination of choices; one that fails in some is NaN there, and listed under
        its ``failures``. A quantity fails where it is no number in more than 1 in 1,000 worlds; up
        to that these worlds are NaN, are left out of the answers, and are counted under ``failing``.

    Examples
    --------
    >>> import forecast
    >>> run = forecast.project({"start": 2025, "until": 2030, "quantities": {
    ...     "x": {"p05": 1, "p95": 4, "unit": "FLOP"}, "none": {"expression": "x - x"}}}, draws=10)
    >>> float(abs(run["projection"]["none"]).max())
    0.0
    """
    seed = check_seed(seed)
    last = None if until is None else parse_year(until, "until")
    first = None if start is None else parse_year(start, "start")
    as_of = None if as_of is None else check_has_come(parse_year(as_of, "as_of"), "as_of")
    draws = _check_integer("draws", draws, 1, 1_000_000_000)
    keep = _check_integer("keep", keep, 1, 100_000_000)
    changed = loaded(scenario)
    if first is None and as_of is not None and as_of < (changed.start or as_of) and changed.reads_dated_tables:
        first = as_of  # what a table says of the years before the start is read as of then
        last = first + changed.until - changed.start if last is None and changed.start and changed.until else last
    changed = changed.starting(first).changed(what_if)
    for name in paths or ():
        if name not in changed.quantities:
            raise UnknownNameError("quantity", name, changed.quantities, where="paths")
    if preset is not None:
        by_name = changed.preset(preset).settings
        with_ = {**{key: value for key, value in by_name.items() if key not in (sweep or {})}, **(with_ or {})}
    values = with_ or {}
    swaps = {key: value for key, value in values.items() if key not in changed.choices and names_model(value)}
    settings = {key: value for key, value in values.items() if key not in swaps}
    along = {**{key: values for key, values in changed.swept.items() if key not in settings}, **(sweep or {})}
    if along:
        options: dict[str, Any] = {"until": last, "start": first, "step": step, "draws": draws, "seed": seed}
        options |= {"as_of": as_of, "keep": keep, "paths": paths, "ends": ends, "workers": workers}
        options |= {"client": client, "data": data}
        options |= {"cache": RunCache() if cache is None else cache}

        def one(part: Scenario, given: Mapping[str, Any], told: Callable[[int, int], None] | None) -> Projection:
            return project(part, **options, with_={**given, **swaps}, progress=told)

        apart = as_of is not None or data is not None or paths is not None
        shared = None if apart else options["cache"]
        groups, attributes = swept(changed, along, settings, swaps, one, cache=shared, progress=progress)
        return Projection(groups, {**attributes, **_scenario_text_attribute(changed, along)})
    swapped_scenario = ports.swap_models(changed, swaps)
    workers = _check_integer("workers", workers, 1, 1024)
    kept = draws if draws <= keep else min(keep, MAX_SAMPLE_DRAWS)
    added = {} if data is None else source_tables.tables_with_user_rows(graphs.build(swapped_scenario, settings), data)
    with editions.use_editions(added) as read:
        if added:  # a choice may have its values from a table
            swapped_scenario = swapped_scenario.restated(swapped_scenario.stated)
        graph = graphs.build(swapped_scenario, settings)
        shared = cache_of_process() if cache is None else cache
        shared.weigh()  # what runs before this one have fitted
        is_first = cache is None or shared.draws.n_bytes == 0
        # blocks that are only counted are too many to keep: of them runs share the fits
        fits = ModelFits(graph, as_of=as_of, seed=seed, cache=shared, share_draws=draws <= keep)
        fits.check_settings(graph, graph.models)
        check_ordered(graph, fits, seed)
        unread = [*unread_rows(graph, fits, added)]
        steps, width = _find_horizon(graph, fits, until=last, start=first, step=step, as_of=as_of)
        graph = until_end(graph, steps, until=last)
        _check_size(graph, steps.years, draws, kept, workers, ends=ends)
        whole, left_out = graph, missing_data.LeftOut()
        if as_of is not None:
            for name, node in graph.nodes.items():
                if isinstance(node.quantity, TableValue):
                    Tables(graph.scenario.where).check_known(node.quantity, f"quantities.{name}", as_of)

            def rebuilt(rivals: Mapping[str, tuple[str, ...]]) -> ScenarioGraph:
                narrowed = graphs.build(swapped_scenario, {**settings, **rivals})
                return until_end(narrowed, steps, until=last)

            whole, left_out = missing_data.narrowed_scenario(
                graph, lambda each: Block(Plan(each, fits, steps.years, seed), range(1)), rebuilt
            )
            graph = missing_data.hidden(whole, left_out)

        run = {
            "seed": seed,
            "draws": draws,
            **({"kept": kept} if kept < draws else {}),
            "start": _int_if_whole(steps.years[0]),
            "until": _int_if_whole(steps.years[-1]) if width != "month" else int(steps.years[-1]),
            "step": width,
            "as_of": as_of,
            "labels": {**changed.labels, **graph.scenario.labels},  # what is set aside is named beside what is left
        }
        stated = partial(provenance, graph, run=run, settings=settings, swaps=swaps)
        job = Job.of(
            whole,
            fits,
            settings={**settings, **left_out.rivals},
            years=steps.years,
            worlds=draws,
            kept=kept,
            left_out=left_out,
            paths=None if paths is None else frozenset(paths),
            ends=ends,
        )
        every = {
            name: fits.describe(each, supporting_data.set_inputs(graph, name)) for name, each in graph.models.items()
        }
        described = {name: each for name, each in every.items() if each is not None}
        fitted_to = frozenset(read)  # before a world is drawn, which another process may do
        place = None if checkpoint is None else Checkpoint(Path(checkpoint), resume)
        identity = {} if place is None else stated(models={}, failures=[], warnings=[])
        # runs that are asked for together share a cache, and memory; the first of them leaves what others freed
        is_another = is_first and _is_another(job.schedule)
        if is_another:
            give_back(above=RESIDENT_BYTES)
        sampled = run_batches(
            job, workers=workers, client=client, progress=progress, checkpoint=place, identity=identity
        )
        sampled.settle()
        sampled.raise_if_nothing_is_left()

        numbers = Block(Plan(graph, fits, np.empty(0), seed), blocks.blocks_between(0, kept))
        groups = {
            **sampled.groups(steps.dates, seed),
            **{f"/observed/{name}": data for name, data in supporting_data.points_by_choice(graph, fits)},
            **{f"/past/{name}": data for name, data in supporting_data.past(graph, fits, seed, kept, steps.years[0])},
            **{f"/posterior/{name}": data for name, data in supporting_data.parameter_draws(numbers, kept)},
        }
        effective = sampled.updates.effective()
        attributes = stated(
            models=described,
            failures=sorted({*sampled.reasons(), *fits.failures.values(), *sampled.updates.impossible()}),
            warnings=[
                *unread,
                *fits.warnings(whole),
                *_run_warnings(swapped_scenario.alone, effective, draws),
                *missing_data.left_out_lines(whole, fits, left_out),
            ],
            absent=sampled.absent(),
            effective=effective,
            failing=sampled.failing(),
            newest=source_tables.reach(graph, fits, fitted_to),
        )
        result = Projection(groups, {**attributes, **_scenario_text_attribute(changed, {})})
    if is_another:
        give_back(above=RESIDENT_BYTES)
    return result


#: The last run that was asked for alone, as a hash of the keys of what it is asked.
_last_run = 0


def _is_another(schedule: Schedule) -> bool:
    """Tell whether a run differs from the one before: to be asked the same again is fastest with the same memory."""
    global _last_run
    this, last = hash(tuple(schedule.steps.every[place].key for place in schedule.outputs)), _last_run
    _last_run = this
    return this != last


def _scenario_text_attribute(scenario: Scenario, along: Mapping[str, Any]) -> dict[str, str]:
    """Return the attribute that holds the scenario's text.

    Nothing where it is made of Python's objects, or names a file by where it stands on one machine: results hold no
    path.
    """
    stated = {**scenario.record, **({"sweep": dict(along)} if along else {})}
    if _has_absolute_path(stated):
        return {}
    try:
        return {"scenario_text": json.dumps(toml_text(stated))}
    except ScenarioError:
        return {}


def _has_absolute_path(stated: object) -> bool:
    """Tell whether a path from the root of a file system stands in it."""
    if isinstance(stated, (str, int, float)):
        return isinstance(stated, str) and Path(stated).is_absolute()
    if isinstance(stated, Mapping):
        return any(map(_has_absolute_path, stated.values()))
    return isinstance(stated, (list, tuple)) and any(map(_has_absolute_path, stated))


def _run_warnings(alone: Collection[str], effective: float | None, draws: int) -> Iterator[ForecastWarning]:
    """Walk what a reader must be warned of beside what models and missing data say."""
    if alone:
        yield UncorrelatedWarning(names=tuple(printable(name, 80) for name in sorted(alone)))
    if effective is not None and effective < MIN_ESS:
        yield FewWorldsWarning(left=effective, draws=draws, least=MIN_ESS)


def loaded(given: str | Path | Mapping[str, Any] | Scenario) -> Scenario:
    """Return the scenario to run that is meant by a name, a file or what it holds."""
    if isinstance(given, Scenario):
        return given
    if isinstance(given, Mapping):
        return Scenario.from_dict(given)
    check_is_whole(str(given))
    return Scenario.load(given)


def _check_integer(name: str, value: object, low: int, high: int) -> int:
    if not is_integer(value) or not low <= int(value) <= high:
        raise UsageError(f"{name}: expected a whole number from {low} to {high}, got '{printable(value, 40)}'")
    return int(value)


def _find_horizon(
    graph: ScenarioGraph, fits: ModelFits, *, until: float | None, start: float | None, step: float | str | None,
    as_of: float | None,
) -> tuple[Horizon, str]:  # fmt: skip
    """Return the steps, and their width as it is recorded."""
    scenario = graph.scenario
    width = step_of(scenario.step if step is None else step)
    last = scenario.until if until is None else until
    question_years = [year for each in scenario.figures.values() for year in decimal_year(each.dates).tolist()]
    if last is None and question_years:
        last = max(question_years)
    if last is None:
        raise ScenarioError(f"{scenario.where}: until: is missing: the last year of the projection")
    first = scenario.start if start is None else start
    if first is None:
        first = _after_observations(graph, fits, width)
        if first is None and question_years and not fits.refusals():  # nothing was observed
            first = min(question_years)
            last = max(last, first + 1)
    elif start is None and as_of is not None and as_of < first and _reads_data(graph, fits):
        first = float(int(as_of)) if width == "month" else as_of
        steps = 1.0 if width in ("year", "month") else float(Fraction(width))
        last = first + math.ceil((last - first) / steps - 1e-9) * steps  # the dates that are asked for are reached
    if first is None:
        for error in fits.refusals():  # there would be observations, had this model been fitted
            raise error if isinstance(error, UsageError) else DataError(f"{scenario.where}: {error}") from error
        raise ScenarioError(f"{scenario.where}: start: is missing, and no quantity has observations to start from")
    return horizon(first, last, width), width


def _reads_data(graph: ScenarioGraph, fits: ModelFits) -> bool:
    """Tell whether what was known makes a difference: a model has observations, or had none yet."""
    observed = any(fits.observed(model) for model in graph.models.values())
    return observed or any(isinstance(error, NoDataAtDateError) for error in fits.refusals())


def _int_if_whole(year: float) -> float:
    """Return a whole year as a whole number."""
    return int(year) if year == int(year) else float(year)


def _after_observations(graph: ScenarioGraph, fits: ModelFits, width: str) -> float | None:
    """Return the year of the last observation; of steps finer than a year the first that is not before it."""
    ends = [float(seen.time[-1]) for _, _, seen in supporting_data.quantity_points(graph, fits)]
    if not ends:  # a mixture has no points of its own, and its members have
        behind = map(fits.observed, graph.models.values())
        ends = [float(seen.time[-1]) for seen in behind if seen]
    if not ends:
        return None
    year = int(max(ends))
    step = Fraction(1) if width in ("year", "month") else Fraction(width)
    steps = 0 if step >= 1 else math.ceil(Fraction(max(ends) - year) / step)
    return float(year + steps * step)


def _check_size(graph: ScenarioGraph, years: Array, draws: int, n_stored: int, workers: int, *, ends: bool) -> None:
    """Refuse what would fill the memory: what is kept or counted, and the whole blocks that are being drawn.

    Nothing is fitted or drawn for it.
    """
    steps = len(years)
    rows = {name: 1 if node.steady else steps for name, node in graph.nodes.items()}
    combined = {name: math.prod(graph.sizes(node.dims)) for name, node in graph.nodes.items()}
    cells = sum(combined[name] for name in graph.quantities)
    stored = min(steps, 2) if ends else steps
    values = sum(min(rows[name], stored) * combined[name] for name in graph.quantities)
    drawn = 8 * MAX_PATHS * sum(rows[name] * each for name, each in combined.items()) * DRAWS_PER_BLOCK * workers
    questions = [q.when for q in graph.scenario.questions.values()]
    weighed = graph.weighed_by
    date_answers = sum(math.prod(graph.sizes(graph.dims([*when.names, *weighed]))) for when in questions)
    each = 8 * (STORED_COPIES * values + N_DATE_ARRAYS * date_answers)
    figures = [(len(f.dates), graph.dims([*f.of.names, *weighed])) for f in graph.scenario.figures.values()]
    each += 8 * STORED_COPIES * sum(count * math.prod(graph.sizes(dims)) for count, dims in figures)
    bounds = [(name, len(node.limits.conditions)) for name, node in graph.nodes.items() if node.limits]
    bound = sum(count * math.prod(graph.sizes(graph.dims([name, *weighed]))) for name, count in bounds)
    each += (stored + 8 * N_DATE_ARRAYS) * bound  # at each step a truth value, and a date
    counted = STORED_COPIES * (values * STEP_BYTES + (date_answers + bound) * QUESTION_BYTES) if n_stored < draws else 0
    if each * n_stored + counted + drawn > memory():
        names = ModelNames(graph, as_of=None, seed=0)
        job = Job.of(graph, names, settings={}, years=years, worlds=draws, kept=n_stored, ends=ends)
        drawn = (
            peak_bytes(job.schedule, steps, min(blocks.start(blocks.blocks_between(0, draws).stop), DRAWS_PER_BLOCK))
            * workers
        )
    left = (memory() - drawn - counted) // each
    check_memory(
        each * n_stored + drawn + counted,
        f"draws: {n_stored:,} draws of {cells:,} quantities over {steps:,} steps take",
        instead=f"{left:,} draws fit" if left > 0 else "fewer steps or fewer choices fit",
    )
