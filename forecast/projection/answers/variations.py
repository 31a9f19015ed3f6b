"""Variations of one run: the answers where one thing is set or changed otherwise, those of one thing in one plan.

What a variation does not reach has the steps of every other one, and is computed once; answers that it does not reach
are those of the run itself. A whole variation, as of a sweep, keeps all that it reaches; another one, as of a lever,
its answers and the quantities of which sentences speak, and no limit.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from forecast.base.lazy import xr
from forecast.errors import ForecastError, UsageError, printable
from forecast.projection import blocks, supporting_data
from forecast.projection.evaluate import Block, Schedule
from forecast.projection.horizon import horizon, until_end
from forecast.projection.likelihood_weights import Updates
from forecast.projection.model_fits import ModelFits
from forecast.projection.paths.check_ordered import check_ordered
from forecast.projection.paths.run_cache import RunCache
from forecast.projection.plan import Plan
from forecast.projection.provenance import ORDERED_ATTRIBUTES, as_plain, provenance
from forecast.projection.result.projection import DRAWN_KINDS, Projection
from forecast.projection.streaming.batches import DRAWS_PER_BATCH, Job
from forecast.projection.streaming.reduce import BatchResult, DrawCounts, Reads
from forecast.scenarios import graph as graphs
from forecast.scenarios.graph import ScenarioGraph
from forecast.scenarios.scenario import Scenario
from forecast.scenarios.settings import ports, setting_targets, setting_values

# --- Sweeps -----------------------------------------------------------------------------------------------------------
# A sweep: one projection for each value that something is set to, side by side along a dimension of its name.
#
# What a name draws depends on seed, name and world alone, so that everything else is drawn alike along it.


#: More runs than this are a mistake.
MAX_RUNS = 1000

#: All values of a choice.
ALL_VALUES = "*"

#: What belongs to one question, after its name.
QUESTION_PARTS = ("", "_already", "_by", "_date", "_error", "_failing", "_never")

#: Projects a scenario with settings; of the worlds drawn, and of all, it tells a callable or nobody.
Run = Callable[["Scenario", Mapping[str, Any], "Progress | None"], "Projection"]
Progress = Callable[[int, int], None]
#: The groups of a projection by their places, and its attributes.
Parts = tuple[Mapping[str, "xr.Dataset"], Mapping[str, Any]]


def dimension(key: str) -> str:
    """Return the name of the dimension of what is swept: files take no ``/`` in names.

    Examples
    --------
    >>> dimension("hardware/linpack@exponential.growth")
    'hardware.linpack@exponential.growth'
    """
    return key.replace("/", ".")


def swept(
    scenario: Scenario,
    along: Mapping[str, Any],
    given: Mapping[str, Any],
    swaps: Mapping[str, str],
    run: Run,
    *,
    cache: RunCache | None,
    progress: Progress | None = None,
) -> tuple[dict[str, xr.Dataset], dict[str, str]]:
    """Run a scenario along every combination of the values of what is swept.

    The first is a run, and the others are variations of it in one plan; those that are not are runs as well.

    Parameters
    ----------
    scenario : Scenario
    along : mapping of str to list
        What is swept to the values it is set to; of a choice ``"*"`` are all its values.
    given : mapping
        What else is set.
    swaps : mapping
        What `run` swaps.
    run : callable
    cache : RunCache or None
        Of the runs, which all keep whole paths; None where each is a run of its own.
    progress : callable, optional

    Returns
    -------
    groups : dict of str to Dataset
        As of one projection, with a further dimension for each name; a quantity that is swept is this coordinate, and
        no variable.
    attributes : dict of str to str
        As of one projection, JSON text; ``choices`` lists what is swept too.

    Raises
    ------
    UsageError
        For no values, equal ones, or too many; also if a name is set too.
    """
    scenario = replace(scenario, swept={})
    values = {key: _swept_values(scenario, key, stated) for key, stated in along.items()}
    for key in values:
        if key in given:
            raise UsageError(
                f"sweep {printable(key, 80)}: it is set to {printable(given[key], 40)}; one of them is enough"
            )
    for key in [key for key in values if key in scenario.choices]:
        scenario = scenario.narrowed(key, tuple(values[key].values()))
        # what is swept is never pooled
        unpooled = replace(scenario.choices[key], kind="definition", weights=None)
        scenario = replace(scenario, choices={**scenario.choices, key: unpooled})
    others = {key: each for key, each in values.items() if key not in scenario.choices}
    runs = math.prod(map(len, others.values()))
    if runs > MAX_RUNS:
        raise UsageError(f"sweep: {runs:,} runs; at most {MAX_RUNS:,}")
    first = {key: next(iter(each.values())) for key, each in others.items()}

    with graphs.numbers_change():
        swept_over = ports.swap_models(scenario, swaps)
        setting_targets.check_has_effect(graphs.build(swept_over, given), others, "sweep")
        graph = graphs.build(swept_over, {**given, **first})
        every = [dict(zip(others, each, strict=True)) for each in itertools.product(*map(dict.values, others.values()))]

        def told(number: int) -> Progress | None:
            return progress and (lambda worlds, of: progress(number * of + worlds, runs * of))

        made = [run(scenario, {**given, **every[0]}, told(0))]
        together: Iterable[Projection | None] = itertools.repeat(None, runs - 1)
        draws = made[0].settings.draws
        if runs > 1 and cache is not None and can_vary(made[0], whole=True):
            moved = [(tuple(others), {"with_": each}) for each in every[1:]]
            together = Variations(scenario, made[0], cache, whole=True).walk(moved)
        for number, (each, variation) in enumerate(zip(every[1:], together, strict=True), 1):
            made.append(variation or run(scenario, {**given, **each}, told(number)))
            if variation is not None and progress is not None:
                progress((number + 1) * draws, runs * draws)
    parts: list[Parts] = [(each.groups, each.attributes) for each in made]
    for key in reversed(others):
        labels, reached = list(others[key]), affected_names(graph, [key])
        ends = range(0, len(parts), len(labels))
        parts = [_concatenate_runs(parts[i : i + len(labels)], key, labels, reached) for i in ends]
    ((groups, about),) = parts
    said = {dimension(key): list(each) for key, each in values.items()}
    about = {**about, "sweep": said, "set": {k: v for k, v in about["set"].items() if k in given}}
    return dict(groups), {k: json.dumps(v, sort_keys=k not in ORDERED_ATTRIBUTES) for k, v in about.items()}


def _swept_values(scenario: Scenario, key: str, stated: Any) -> dict[str, Any]:
    """Return the values of what is swept, by what stands at the coordinate."""
    if key in scenario.choices:
        every = scenario.choices[key].values
        listed: Iterable[Any] = (
            every if stated in (ALL_VALUES, [ALL_VALUES], (ALL_VALUES,)) else setting_values.parse_texts(key, stated)
        )
    elif isinstance(stated, (str, Mapping)) or not isinstance(stated, Iterable):
        raise UsageError(f"sweep {printable(key, 80)}: expected a list of values; '*' is for choices")
    else:
        listed = list(stated)
    listed = list(listed)
    values = {setting_values.as_phrase(value): value for value in listed}
    if len(values) < max(len(listed), 1):
        raise UsageError(f"sweep {printable(key, 80)}: expected values, each once")
    return values


def affected_names(graph: ScenarioGraph, keys: Iterable[str]) -> set[str]:
    """Return the quantities and the questions that depend on what keys set or change."""
    readers: dict[str, list[str]] = {}
    for name, node in graph.nodes.items():
        for source in node.sources:
            readers.setdefault(source, []).append(name)
    meant = {name for key in keys for name in setting_targets.meant(graph, key)}
    moved = setting_targets.reachable(meant, lambda name: readers.get(name, ())).keys()
    groups = (graph.scenario.questions, graph.scenario.figures, graph.scenario.rankings)
    asked = {name: question.needs for group in groups for name, question in group.items()}
    return {*moved, *(name for name, of in asked.items() if not moved.isdisjoint((*of, *graph.weighed_by)))}


def _concatenate_runs(every: Sequence[Parts], key: str, labels: list[str], touched: set[str]) -> Parts:
    """Put projections side by side along a new dimension: what is affected, and elsewhere what differs."""
    name, about = dimension(key), [each for _, each in every]
    first = every[0][0]
    if name in first["/projection"].dims:
        raise UsageError(f"sweep {printable(key, 80)}: results have a dimension of this name")
    questions = about[0]["questions"]
    failing = any(each.get("failing") for each in about)
    out = {}
    for path in first:
        data = [groups[path].drop_vars(key, errors="ignore") for groups, _ in every]
        group = path.strip("/").partition("/")[0]
        names = [str(n) for n in data[0].data_vars]
        if group == "past" and not all(data[0].identical(each) for each in data[1:]):
            continue  # what differs is of points that differ: it has no common dates
        alone = group in ("projection", "posterior", "levels") and not failing
        together = {n: [n] for n in names} if alone else {"": names}
        if group in ("questions", "pooled") and not failing:
            together = {question: [f"{question}{part}" for part in QUESTION_PARTS] for question in questions}
        if group == "observed":
            together = {}
        made = data[0]
        for owner, members in together.items():
            present = [n for n in names if n in members]
            alike = owner not in touched and all(_is_alike(data[0], each, present) for each in data[1:])
            if alike or not present:
                continue
            coordinate = xr.Variable(name, np.array(labels))
            joined = xr.concat(
                [each[present] for each in data],
                xr.DataArray(coordinate, coords={name: coordinate}, dims=name, name=name),
                join="exact",
                data_vars="all",
                coords="minimal",
                compat="equals",
                combine_attrs="override",
            )
            made = made.assign({n: joined[n].transpose(*data[0][n].dims, name) for n in present})
        out[path] = made[names] if names and group != "observed" else made  # without names it would lose its dates
    return out, _joined_attributes(about, name, labels)


def _is_alike(one: xr.Dataset, other: xr.Dataset, names: list[str]) -> bool:
    """Tell whether two hold the same under these names; what they share is."""
    same = all(n in other.variables and one.variables[n].values is other.variables[n].values for n in names)
    return same or one[names].identical(other[names])


def _joined_attributes(every: Sequence[Mapping[str, Any]], name: str, labels: list[str]) -> dict[str, Any]:
    """Return the attributes of projections that stand side by side."""
    about = dict(every[0])
    about["choices"] = {**about["choices"], name: labels}
    for key in ("failures", "warnings"):
        said = [one for each in every for one in each.get(key, ())]
        if said:
            about[key] = [one for place, one in enumerate(said) if one not in said[:place]]
    if any("failing" in each for each in every):
        pairs = zip(every, labels, strict=True)
        about["failing"] = [
            {**row, "choices": {**row["choices"], name: label}}
            for each, label in pairs
            for row in each.get("failing", ())
        ]
    if "effective_draws" in about:
        about["effective_draws"] = min(each["effective_draws"] for each in every)
    return about


#: What a text names in braces.
_SLOT = re.compile(r"\{([^{}]*)\}")
#: Attributes of a run that are not those of its variations.
_OWN_ATTRIBUTES = frozenset({"changes", "limits", "opens", "replaced", "scenario_hash", "scenario_text", "set", "swap"})
#: What the names of the variables of a question or of a ranking end in.
_PARTS = (*QUESTION_PARTS, "_first", "_among", "_value", "_takes")
#: Groups of a projection that have a variable for each question, called so or beginning so.
_BY_QUESTION = ("/questions", "/pooled", "/rankings")
#: Groups that are as a whole of the run or of a variation.
_BY_PATH = frozenset({"update", "values"})
#: Groups of what stands behind a projection, and is no answer.
_BESIDE = frozenset({"observed", "past", "posterior"})


@dataclass(eq=False)
class _Planned:
    """A variation whose steps are in the plan.

    Parameters
    ----------
    graph : ScenarioGraph
    reached : collection of str
        The questions and the quantities that depend on what varies.
    attributes, beside : mapping
        What its projection has beside its answers.
    sampled : BatchResult or None
        What it is asked for; None once that is computed.
    """

    graph: ScenarioGraph
    reached: Collection[str]
    attributes: Mapping[str, str]
    beside: Mapping[str, xr.Dataset]
    sampled: BatchResult | None


def can_vary(run: Projection, *, whole: bool = False) -> bool:
    """Tell whether variations of a run can be planned: its worlds are one batch, all kept; nothing is swept.

    It is not as of a date, and of `whole` ones no world is weighed.
    """
    settings, weighed = run.settings, whole and "update" in run
    is_kept = settings.kept == settings.draws <= DRAWS_PER_BATCH
    return is_kept and settings.as_of is None and not weighed and not run.swept


class Variations:
    """Variations of a run over the same steps.

    Parameters
    ----------
    scenario : Scenario
        With what was changed in the run.
    run : Projection
        Of the scenario, which `can_vary`, and of as many worlds as the variations.
    cache : RunCache
        Of the run.
    whole : bool
        With all quantities that a variation reaches, their limits, and what models warn of.
    """

    def __init__(self, scenario: Scenario, run: Projection, cache: RunCache, *, whole: bool = False) -> None:
        self.run, self.settings, self.whole = run, run.settings, whole
        self.draws, self.seed = self.settings.draws, self.settings.seed
        self.horizon = horizon(self.settings.start, self.settings.until, self.settings.step)
        self.scenario = ports.swap_models(scenario.starting(self.settings.start), self.settings.swap)
        self._ends = run.dataset("projection").sizes["time"] < len(self.horizon.years)
        self._first: dict[tuple[str, ...], _Planned] = {}
        self._definitions = {} if whole else _read_definitions(run)
        self._graphs: dict[Any, Any] = {}
        with graphs.numbers_change(self._graphs):
            graph = self._built(self.scenario, self.settings.set)
        # what a lever does not reach is not read: all that points share is in the plan
        fits = ModelFits(graph, as_of=None, seed=self.seed, cache=cache, share_draws=whole)
        stated: dict[str, Any] = {"settings": None, "worlds": self.draws, "kept": self.draws, "ends": self._ends}
        self._job = Job.of(graph, fits, years=self.horizon.years, **stated)
        self._plan = self._job.plan
        for name, node in graph.nodes.items():  # what a variation does not reach is there already
            for each in graph.combinations(node.dims):
                self._plan.attempt(self._plan.quantity, name, each)
        self._numbers = Block(Plan(graph, fits, np.empty(0), self.seed), blocks.blocks_between(0, self.draws))

    def walk(self, every: Sequence[tuple[tuple[str, ...], Mapping[str, Any]]]) -> Iterator[Projection | None]:
        """Walk variations in their order, with the answers of each; None where it fails, and has to be run by itself.

        Parameters
        ----------
        every : sequence of (tuple of str, mapping)
            What is set or changed, and how, beside what the run has: ``with_`` or ``what_if`` of `forecast.project`.
        """
        with graphs.numbers_change(self._graphs):
            together = [self._planned(name, moved) for name, moved in every]
        worlds = self._worlds([each.sampled for each in together if each is not None and each.sampled])
        for planned in together:
            yield None if planned is None else self._made(planned, worlds)

    def _built(self, scenario: Scenario, settings: Mapping[str, Any]) -> ScenarioGraph:
        return until_end(graphs.build(scenario, settings), self.horizon, until=self.horizon.years[-1])

    def _planned(self, varied: tuple[str, ...], moved: Mapping[str, Any]) -> _Planned | None:
        """Plan a variation; None where it cannot be."""
        settings, changes = {**self.settings.set, **moved.get("with_", {})}, moved.get("what_if", ())
        try:
            scenario, base = self.scenario.changed(changes), self._plan.graph
            grows = changes and all(each.value is None and each.of in base.nodes for each in scenario.changes)
            graph = graphs.grown(base, scenario) if grows else self._built(scenario, settings)
            first = self._first.get(varied)
            reached = affected_names(graph, varied) if first is None else first.reached
            plan = self._plan.beside(graph, reached)
            plan.fits.check_settings(graph, graph.models)
            check_ordered(graph, plan.fits, self.seed)
            return self._plan_variation(varied, reached, plan, settings, first)
        except ForecastError:
            return None

    def _plan_variation(
        self,
        varied: tuple[str, ...],
        reached: Collection[str],
        plan: Plan,
        settings: Mapping[str, Any],
        first: _Planned | None,
    ) -> _Planned:
        """Plan the questions that depend on what varies; `first` is the variation of it that came before."""
        graph, scenario = plan.graph, plan.graph.scenario
        if first is None:
            about = provenance(
                graph, run={}, settings=settings, swaps=self.settings.swap, models={}, failures=[], warnings=[]
            )
            attributes: Mapping[str, str] = {key: about[key] for key in _OWN_ATTRIBUTES & about.keys()}
        else:
            attributes = first.attributes
        # what a model is handed is in its past, and what is set of it in its posterior
        feeds = any(key not in graph.nodes for key in varied)
        feeds |= self.whole and any(graph.nodes[name].models for name in reached if name in graph.nodes)
        beside = first.beside if first is not None and not feeds else dict(self._groups_beside(plan, feeds))
        questions: dict[str, Any] = {
            group: {name: each for name, each in getattr(scenario, group).items() if name in reached}
            for group in ("questions", "figures", "rankings")
        }
        spoken = {*graph.nodes} if self.whole else self._spoken_of(graph)
        sampled = BatchResult(
            replace(plan, graph=replace(graph, scenario=replace(scenario, **questions))),
            DrawCounts(self.draws, self.draws, 0, self.draws),
            Updates(plan, self.draws),
            ends=self._ends,
            reads=Reads(spoken.intersection(reached), self._definitions, limits=self.whole),
        )
        told = {"set": json.dumps(as_plain(settings), sort_keys=True)}
        if scenario.changes:
            told["changes"] = json.dumps([change.plain for change in scenario.changes], sort_keys=True)
        result = _Planned(graph, reached, {**attributes, **told}, beside, sampled)
        self._first.setdefault(varied, result)
        return result

    def _groups_beside(self, plan: Plan, feeds: bool) -> Iterator[tuple[str, xr.Dataset]]:
        """Walk what a projection has beside its answers: that of the run where the same models stand behind it.

        Where what varies `feeds` a model, it has another past.
        """
        graph, base, fits = plan.graph, self._plan.graph, plan.fits
        same = not graph.set_inputs and not graph.set_parameters and graph.models.keys() == base.models.keys()
        kept = _BESIDE - ({"past"} if feeds else frozenset()) if same else frozenset[str]()
        yield from ((path, data) for path, data in self.run.groups.items() if path.split("/")[1] in kept)
        if not same:
            yield from ((f"/observed/{name}", data) for name, data in supporting_data.points_by_choice(graph, fits))
            block = replace(self._numbers, plan=self._numbers.plan.beside(graph))
            drawn = supporting_data.parameter_draws(block, self.draws)
            yield from ((f"/posterior/{name}", data) for name, data in drawn)
        if "past" not in kept:
            known = supporting_data.past(graph, fits, self.seed, self.draws, self.horizon.years[0])
            yield from ((f"/past/{name}", data) for name, data in known)

    def _spoken_of(self, graph: ScenarioGraph) -> set[str]:
        """Return the quantities of which sentences speak.

        Those are what titles name, what tells whether anything is uncertain, and those of which is told what they are
        today: what an authored sentence is about, and what its formulas are made of as far as that is not observed.
        """
        scenario, base = graph.scenario, self.run
        groups: tuple[Mapping[str, Any], ...] = (scenario.questions, scenario.figures, scenario.rankings)
        questions = {name: question for group in groups for name, question in group.items()}
        if base.opening is None:  # the sentence is then about a quantity
            return {*graph.quantities}
        texts = [*(each.title for each in questions.values()), *base.says.get(base.opening.name, {}).values()]
        names = {name.partition(" of ")[0] for text in texts for name in _SLOT.findall(text)}  # least of cheapest
        names |= {name for name, node in graph.quantities.items() if node.quantity.KIND in DRAWN_KINDS}
        left = [*questions[base.opening.name].needs] if base.opening.name in base.says else []
        while left:
            if (name := left.pop()) not in names and name in graph.nodes:
                names.add(name)
                left += graph.nodes[name].sources if f"observed/{name}" not in base else ()
        return names

    def _worlds(self, every: Sequence[BatchResult]) -> list[Block]:
        """Return the worlds of some variations, which share what they have in common, in blocks as the run has them."""
        asked = [step for each in every for part in each.schedule for step in part]
        schedule = Schedule(self._plan.steps, [], asked)
        return [Block(self._plan, numbers, schedule) for numbers in self._job.blocks(0)]

    def _made(self, each: _Planned, worlds: Sequence[Block]) -> Projection | None:
        """Compute the answers of a variation; None where something fails."""
        sampled, each.sampled = each.sampled, None  # its worlds leave with it
        assert sampled is not None
        told = self._plan.fits.outside
        told.clear()
        for block in worlds:
            sampled.fill(block)
        # a figure that the run lacks too, such as the price of one device, is no failure
        if sampled.notes()["record"] or any(sampled.reasons()) or not all(map(self.run.absent, sampled.blanks())):
            return None
        sampled.settle()
        groups = sampled.groups(self.horizon.dates, self.seed)
        base = self.run
        attributes = {key: text for key, text in base.texts.items() if key not in _OWN_ATTRIBUTES}
        unmoved = {name: found for name, found in base.distributions.items() if name not in each.reached}
        if self.whole and told:
            warned = [warning.record for warning in self._plan.fits.warnings(each.graph)]
            attributes["warnings"] = json.dumps([*json.loads(attributes.get("warnings", "[]")), *warned])
        return Projection(self._merged(each, base.groups, groups), {**attributes, **each.attributes}, unmoved)

    def _merged(
        self, each: _Planned, old: Mapping[str, xr.Dataset], new: Mapping[str, xr.Dataset]
    ) -> dict[str, xr.Dataset]:
        """Return the groups of the run with those answers that differ."""
        kinds = _BY_PATH | {"limits"} if self.whole else _BY_PATH
        out = {path: data for group in (old, new) for path, data in group.items() if path.split("/")[1] in kinds}
        gone = {str(name) for name in old["/projection"].data_vars} - each.graph.quantities.keys()
        out["/projection"] = _joined(old["/projection"], new["/projection"], gone.union(each.reached))
        replaced = {f"{name}{part}" for name in each.reached for part in _PARTS}
        nothing = xr.Dataset()
        for path in _BY_QUESTION:
            if path in old or path in new:
                out[path] = _joined(old.get(path, nothing), new.get(path, nothing), replaced)
        return {**out, **each.beside}


def _read_definitions(run: Projection) -> dict[str, dict[str, str]]:
    """Return under which definitions alone each question is read: all but the one that the sentence is about."""
    first = {name: choice.values[0] for name, choice in run.choices.items() if choice.kind == "definition"}
    rows = [each.sentence_row for each in run.firsts]
    chosen = [row.choices for row in rows if row is not None]
    chosen += [each.default for each in (*run.dates, *run.values)]
    if any(first[name] != value for each in chosen for name, value in each.items() if name in first):
        return {}  # under the first ones there is no answer
    return {each.name: first for each in (*run.dates, *run.values) if each is not run.opening}


def _joined(old: xr.Dataset, new: xr.Dataset, replaced: Collection[str]) -> xr.Dataset:
    """Return data with what is new in place of what is replaced."""
    coords = old.coords if new.coords.keys() <= old.coords.keys() else old.coords.merge(new.coords).coords
    every = {**{name: data for name, data in old.variables.items() if name not in replaced}, **new.variables}
    return xr.Dataset({name: data for name, data in every.items() if name not in coords}, coords)
