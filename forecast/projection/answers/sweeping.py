"""A sweep: one projection for each value that something is set to, side by side along a dimension of its name.

What a name draws depends on seed, name and world alone, so that everything else is drawn alike along it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.lazy import xr
from forecast.errors import UsageError, printable
from forecast.projection.provenance import ORDERED_ATTRIBUTES
from forecast.scenarios import graph as graphs
from forecast.scenarios.graph import ScenarioGraph
from forecast.scenarios.settings import ports, setting_targets, setting_values

if TYPE_CHECKING:
    from forecast.projection.result import Projection
    from forecast.scenarios.scenario import Scenario

__all__ = ["QUESTION_PARTS", "dimension", "swept", "touched"]

#: More runs than this are a mistake.
MAX_RUNS = 1000

#: All values of a choice.
ALL_VALUES = "*"

#: What belongs to one question, after its name.
QUESTION_PARTS = ("", "_already", "_by", "_date", "_error", "_failing", "_never")

Run = Callable[["Scenario", Mapping[str, Any], int, int], "Projection"]
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
    scenario: Scenario, along: Mapping[str, Any], given: Mapping[str, Any], swaps: Mapping[str, str], run: Run
) -> tuple[dict[str, xr.Dataset], dict[str, str]]:
    """Run a scenario along every combination of the values of what is swept.

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
        Projects a scenario with settings; it is told the number of this run, and of all.

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
    done = iter(range(runs))
    first = {key: next(iter(each.values())) for key, each in others.items()}

    def side_by_side(left: Sequence[str], chosen: Mapping[str, Any]) -> Parts:
        if not left:
            made = run(scenario, {**given, **chosen}, next(done), runs)
            return made.groups, made.attributes
        key, *rest = left
        parts = [side_by_side(rest, {**chosen, key: value}) for value in others[key].values()]
        return _concatenate_runs(parts, key, list(others[key]), reached[key])

    with graphs.numbers_change():
        swept_over = ports.swap_models(scenario, swaps)
        setting_targets.check_has_effect(graphs.build(swept_over, given), others, "sweep")
        graph = graphs.build(swept_over, {**given, **first})
        reached = {key: touched(graph, key) for key in others}
        groups, about = side_by_side(list(others), {})
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


def touched(graph: ScenarioGraph, key: str) -> set[str]:
    """Return the quantities and the questions that depend on what a key sets or changes."""
    meant = setting_targets.meant(graph, key)
    names: dict[str, Sequence[str]] = {name: (name,) for name in graph.nodes}
    for group in (graph.scenario.questions, graph.scenario.figures, graph.scenario.rankings):
        names |= {name: (*question.needs, *graph.weighed_by) for name, question in group.items()}
    return {name for name, of in names.items() if not meant.isdisjoint(setting_targets.with_dependencies(graph, of))}


def _concatenate_runs(every: Sequence[Parts], key: str, labels: list[str], touched: set[str]) -> Parts:
    """Put projections side by side along a new dimension: what is `touched`, and elsewhere what differs."""
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
        beside = _DatasetJoiner(data)
        if group == "past" and not beside.identical(names, whole=True):
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
            if owner not in touched and beside.identical(present):
                continue
            coordinate = xr.Variable(name, np.array(labels))
            for n in present:
                values = xr.concat(
                    [each[n] for each in data],
                    xr.DataArray(coordinate, coords={name: coordinate}, dims=name, name=name),
                    join="exact",
                    coords="minimal",
                    compat="equals",
                    combine_attrs="override",
                )
                made = made.drop_vars(n).assign({n: values.transpose(*data[0][n].dims, name)})
        out[path] = made[names] if group != "observed" else made
    return _in_order(out), _joined_attributes(about, name, labels)


def _in_order(groups: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Return groups in the order that files have: those around others first, and what is left of the past last."""
    past = {path: data for path, data in groups.items() if path.startswith("/past/")}
    every = dict.fromkeys(
        str(each)
        for path in groups
        if path not in past
        for each in reversed((PurePosixPath(path), *PurePosixPath(path).parents))
    )
    every.pop("/", None)
    return {path: groups.get(path, xr.Dataset()) for path in sorted(every, key=lambda path: path.count("/"))} | past


class _DatasetJoiner:
    """Datasets of one group, which may differ from the first.

    Equal bytes are the same; xarray is asked where they differ, for a hole is one however it is written.
    """

    def __init__(self, data: Sequence[xr.Dataset]) -> None:
        self.data, self._variables = data, [each.variables for each in data]
        coordinates = [set(each.coords) for each in data]
        self._alike = [
            own == coordinates[0] and each.attrs == data[0].attrs and self._same_bytes(place, own)
            for place, (own, each) in enumerate(zip(coordinates, data, strict=True))
        ]

    def identical(self, names: Sequence[str], *, whole: bool = False) -> bool:
        """Tell whether all hold the same under these names, or only these where they are the `whole`."""
        if whole and any(set(each.data_vars) != set(names) for each in self.data):
            return False
        return all(
            (self._alike[place] and self._same_bytes(place, names)) or self.data[0][names].identical(each[names])
            for place, each in enumerate(self.data)
            if place
        )

    def _same_bytes(self, place: int, names: Iterable[Hashable]) -> bool:
        one, other = self._variables[0], self._variables[place]
        return all(_same_bytes(one[name], other[name]) for name in names)


def _same_bytes(one: xr.Variable, other: xr.Variable) -> bool:
    if one.dims != other.dims or one.attrs != other.attrs or one.dtype != other.dtype or one.dtype.hasobject:
        return False
    a, b = one.values, other.values
    if a is b:
        return True
    if a.shape != b.shape or a.strides != b.strides:
        return False
    once = tuple(slice(None) if step else slice(1) for step in a.strides)  # along a broadcast axis all is one
    return a[once].tobytes() == b[once].tobytes()


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
