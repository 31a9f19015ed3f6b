"""What it takes to repeat a result: versions, plugins, data, seed, settings. No clock, host or path, so that equal
seeds give equal bytes.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from forecast.errors import ForecastWarning
from forecast.models.relations import LawModel
from forecast.projection import source_tables
from forecast.scenarios.graph import ScenarioGraph
from forecast.scenarios.kinds.chosen import as_written
from forecast.scenarios.quantities.correlation import Correlation
from forecast.scenarios.scenario import COMMON_KEYS, Scenario
from forecast.scenarios.settings import setting_targets

_LIBRARIES = ("numpy", "scipy", "xarray")


def library_versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    ours = {"lawcast": _version("lawcast"), "python": platform.python_version()}
    return ours | {name: _version(name) for name in _LIBRARIES}


@functools.cache
def _version(distribution: str) -> str:
    # Reading it parses the README in the metadata as e-mail: a third of a small projection.
    return version(distribution)


def plugin_distributions(names: Any) -> list[dict[str, str]]:
    """Return the distributions behind full names, each once."""
    from forecast.contract.registry import get_registry

    wanted = {str(name).partition("/")[0] for name in names if "/" in str(name)}
    return [
        {"name": p.name, "distribution": p.distribution, "version": p.version}
        for p in get_registry().installed
        if not wanted.isdisjoint((p.name, f"{p.distribution}::{p.name}"))
    ]


#: Attributes that hold formulas.
_FORMULA_ATTRIBUTES = ("limits", "questions", "rankings", "values")
#: Attributes whose order says something.
ORDERED_ATTRIBUTES = ("questions", "rankings", "values", "first")
#: Attributes that are there where they hold something.
_OPTIONAL_ATTRIBUTES = frozenset({
    "published_on", "rankings", "values", "first", "opens", "update", "correlations", "limits", "changes", "show",
    "labels", "levers", "says", "definitions", "rivals", "streams", "replaced", "newest_data", "read", "warnings",
    "failing", "swap", "absent", "with_values",
})  # fmt: skip


def provenance(
    graph: ScenarioGraph,
    *,
    run: Mapping[str, Any],
    settings: Mapping[str, Any],
    models: Mapping[str, Any],
    failures: list[str],
    warnings: list[ForecastWarning],
    absent: Sequence[Mapping[str, Any]] = (),
    effective: float | None = None,
    failing: Sequence[Mapping[str, Any]] = (),
    swaps: Mapping[str, str],
    newest: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the attributes of a projection's root, each JSON text."""
    scenario = graph.scenario
    used = [*graph.models, *(m.law.name for m in graph.models.values() if isinstance(m, LawModel))]
    what = {
        "scenario": scenario.name,
        "title": scenario.title,
        "published_on": str(scenario.stated.get("published_on") or ""),
        "questions": {name: question.plain for name, question in scenario.questions.items()},
        "rankings": _ranking_records(graph),
        **_values_and_firsts(graph.scenario),
        "opens": setting_targets.opening_question(graph, [*settings, *(c.of for c in scenario.changes)])
        or scenario.opens,
        **_update_records(graph, effective),
        "limits": {name: node.limits.plain for name, node in graph.nodes.items() if node.limits},
        "changes": [change.plain for change in scenario.changes],
        "show": list(scenario.shown),
        "labels": dict(scenario.labels),
        "levers": [each.plain for each in scenario.levers],
        "says": {name: dict(each) for name, each in scenario.says.items()},
        "choices": {n: list(c.values) for n, c in scenario.choices.items()},
        **_choice_records(scenario),
        **run,
        "set": {str(k): as_plain(v) for k, v in settings.items()},
        "with_values": as_plain(scenario.with_values),
        "replaced": _replaced_inputs(graph, {**scenario.with_values, **settings}),
        "versions": library_versions(),
        "plugins": plugin_distributions([*used, scenario.name]),
        "data": source_tables.table_hashes(graph),
        "newest_data": dict(newest or {}),
        "read": list(graph.read),
        "models": models,
        "failures": failures,
        "absent": list(absent),
        "warnings": [each.record for each in warnings],
        "failing": list(failing),
        "swap": dict(swaps),
    }
    # questions stay in the scenario's order: the first opens the answer
    out = {
        key: json.dumps(value, sort_keys=key not in ORDERED_ATTRIBUTES, allow_nan=False)
        for key, value in what.items()
        if value or key not in _OPTIONAL_ATTRIBUTES
    }
    out |= {key: as_written(out[key]) for key in _FORMULA_ATTRIBUTES if key in out}
    out["scenario_hash"] = json.dumps(_scenario_hash(graph))
    return out


def _replaced_inputs(graph: ScenarioGraph, settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what each number that is set was stated as: its distribution and its unit."""
    out, beside = {}, (*COMMON_KEYS, "unit", "qualifiers", "published", "earlier")
    stated = graph.scenario.stated.get("quantities", {})
    for key in settings:
        if key in stated and isinstance(stated[key], Mapping):
            record = {k: v for k, v in stated[key].items() if k not in beside}
            if made := next((k for k in ("model", "expression", "law", "function", "table") if k in record), ""):
                record = {"made": made}
            unit = stated[key].get("unit", "")
        elif len(found := setting_targets.matching_inputs(graph, key)) == 1:
            record, unit = dict(graph.inputs[found[0]].distribution), graph.inputs[found[0]].unit
        else:
            continue
        out[str(key)] = {"stated": as_plain(record), "unit": str(unit)}
    return out


def _update_records(graph: ScenarioGraph, effective: float | None) -> dict[str, Any]:
    """Return by what worlds are weighed and how many are effective, and what moves together."""
    scenario = graph.scenario
    updated = {name: tree.text for name, tree in scenario.updates.items()}
    groups = [
        {"of": list(each.of), "matrix": [list(row) for row in each.matrix], **_fitted_members(graph, each)}
        for each in scenario.correlations
    ]
    weighed = {"update": updated, "effective_draws": effective} if updated else {}
    return {**weighed, "correlations": groups}


def _fitted_members(graph: ScenarioGraph, group: Correlation) -> dict[str, dict[str, list[str]]]:
    """Return the fitted numbers for which names of a group stand, where any do: ``machine.growth`` on each shape."""
    of: dict[str, list[str]] = {}
    for owner, (number, name) in graph.ordered.items():
        if name in group.of:
            of.setdefault(name, []).append(f"{owner}.{number}")
    return {"fitted": of} if of else {}


def _values_and_firsts(scenario: Scenario) -> dict[str, Any]:
    """Return the value questions and the first-of-several questions, and the name of the opening one."""
    values = {name: figure.plain for name, figure in scenario.figures.items()}
    first = {name: each.plain for name, each in scenario.firsts.items()}
    groups = {"values": values, "first": first, "opens": scenario.opens}
    return {key: each for key, each in groups.items() if each}


def _ranking_records(graph: ScenarioGraph) -> dict[str, Any]:
    """Return what is ranked."""
    return {
        name: {
            "rank": r.rank.text,
            "over": r.over,
            "among": [c.text for c in r.among],
            "best": r.best,
            **({"ordered": True} if r.ordered else {}),
            "title": r.title,
        }
        for name, r in graph.scenario.rankings.items()
    }


def _choice_records(scenario: Scenario) -> dict[str, Any]:
    """Return which choices are definitions, the weights of rivals, and the names by which these draw."""
    definitions = [name for name, choice in scenario.choices.items() if choice.kind == "definition"]
    weights = {name: list(choice.weights) for name, choice in scenario.choices.items() if choice.weights is not None}
    streams = {name: scenario.streams[name] for name in weights if name in scenario.streams}
    return {"definitions": definitions, "rivals": weights, "streams": streams}


def as_plain(value: Any) -> Any:
    """Return what was set as plain data."""
    if isinstance(value, (list, tuple)):
        return [as_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): as_plain(each) for key, each in value.items()}
    if isinstance(value, float) and not math.isfinite(value):  # where a distribution is cut
        return str(value)
    return value if isinstance(value, (int, str)) else float(value)  # a number of numpy's


def _scenario_hash(graph: ScenarioGraph) -> str:
    """Hash what the scenario says (not where it stands)."""
    scenario = graph.scenario
    contents = (
        scenario.title,
        sorted((name, choice.values, choice.kind, choice.weights) for name, choice in scenario.choices.items()),
        sorted((name, scenario.quantities[name].described()) for name in graph.quantities),
        sorted((name, question.when.text) for name, question in scenario.questions.items()),
        *([sorted(_ranking_records(graph).items())] if scenario.rankings else []),
        *([sorted(scenario.before.items())] if scenario.before else []),
        *([sorted(scenario.updates.items())] if scenario.updates else []),
        *([scenario.correlations] if scenario.correlations else []),
        *([sorted((name, repr(bound)) for name, bound in scenario.limits.items())] if scenario.limits else []),
        *([repr(_values_and_firsts(scenario))] if _values_and_firsts(scenario) else []),
        *([repr(scenario.changes)] if scenario.changes else []),
    )
    return hashlib.sha256(repr(contents).encode()).hexdigest()
