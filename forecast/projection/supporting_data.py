"""What stands behind a projection: the observations of its trends and their fitted past, the draws of its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forecast import units
from forecast.base.arrays import Array
from forecast.base.dates import from_decimal_year
from forecast.base.lazy import xr
from forecast.base.quantiles import QUANTILES
from forecast.base.sobol import DRAWS_PER_BLOCK
from forecast.contract.specs import Input
from forecast.errors import ForecastError, NoDataAtDateError, printable
from forecast.models import Observations
from forecast.projection import blocks
from forecast.projection.evaluate import Block
from forecast.projection.likelihood_weights import value_quantiles
from forecast.projection.model_fits import ModelFits
from forecast.projection.plan import Plan
from forecast.scenarios.graph import ScenarioGraph
from forecast.scenarios.kinds.expression import Expression
from forecast.scenarios.quantities.node import Combination

Points = tuple[Array, Array, NDArray[np.str_]]
Series = Mapping[Combination, Points]

#: So many points of a series have names, of so many characters.
MAX_NAMED_POINTS, MAX_POINT_NAME = 6, 40


def quantity_points(graph: ScenarioGraph, fits: ModelFits) -> Iterator[tuple[str, Combination, Observations]]:
    """Walk the observations behind every quantity, with the combination of its model's own choices.

    Those of a pool of shapes are those of the series that all of them see.
    """
    for name, node in graph.nodes.items():
        for combination, model in node.models.items():
            if seen := fits.observed(model.rests_on()):
                yield name, combination, seen


def points_by_choice(graph: ScenarioGraph, fits: ModelFits) -> Iterator[tuple[str, xr.Dataset]]:
    """Return the points behind each quantity, each once, labelled by the choices that change them."""
    by_name: dict[str, dict[Combination, Points]] = {}
    for name, combination, seen in quantity_points(graph, fits):
        value = units.convert(seen.value, seen.unit, graph.nodes[name].unit, where=name)
        by_name.setdefault(name, {})[combination] = seen.time, value, _point_names(seen)
    made: dict[str, xr.Dataset] = {}
    for name, series in by_name.items():
        value, beside, called = _once_each(series, graph.nodes[name].own)
        row = {"row": ("point", called)} if (called != "").any() else {}
        about = {"units": graph.nodes[name].unit, **_keeps(graph, name)}
        made[name] = xr.Dataset({"value": ("point", value, about), **row}, coords=beside)
    yield from made.items()
    for name, node in graph.nodes.items():
        quantity, is_set = node.quantity, node.fixed is not None
        source = quantity.observed if isinstance(quantity, Expression) and not is_set else ""
        found = _points_of_source(graph, made, source) if source else None
        if found is not None:
            value = units.convert(found[1], graph.nodes[source].unit, node.unit, where=name)
            about = {"units": node.unit, **_keeps(graph, found[2])}
            yield name, found[0].assign(value=("point", value, about))


def _points_of_source(
    graph: ScenarioGraph, made: Mapping[str, xr.Dataset], source: str
) -> tuple[xr.Dataset, Array, str] | None:
    """Return the points of a series, their values in its unit, and which model they are of; None where there are none.

    The series may be a formula of one that has a model, and else of plain numbers.
    """
    node = graph.nodes[source]
    if source in made:
        return made[source], np.asarray(made[source]["value"].values), source
    tree = node.quantity.tree if isinstance(node.quantity, Expression) and node.fixed is None else None
    if tree is None or len(tree.names) != 1 or (of := next(iter(tree.names))) not in made:
        return None
    value = made[of]["value"].values
    return made[of], np.asarray(units.value_of(tree, {of: value}, {of: graph.nodes[of].unit}, target=node.unit)), of


def _keeps(graph: ScenarioGraph, name: str) -> dict[str, str]:
    """Return what the observations of a quantity are, where they are running records."""
    models = graph.nodes[name].models.values()
    return {"keeps": "frontier"} if models and all(model.keeps == "frontier" for model in models) else {}


def _point_names(observations: Observations) -> NDArray[np.str_]:
    """Return what the few points are called that a figure may name, and of the others an empty text.

    A name without a letter is a date or a number, and tells a reader nothing.
    """
    called = np.zeros(len(observations.time), dtype=f"<U{MAX_POINT_NAME}")
    for place in notable(observations.time, observations.value) if observations.names else ():
        if any(map(str.isalpha, observations.names[place])):
            called[place] = printable(observations.names[place], MAX_POINT_NAME)
    return called


def notable(time: Array, value: Array) -> list[int]:
    """Return the places of a few points that readers want named: the newest, then records, the largest steps first.

    A record is the lowest value so far where values fall.

    Examples
    --------
    >>> import numpy as np
    >>> notable(np.array([2000.0, 2001, 2002, 2003, 2004]), np.array([1.0, 2, 9, 3, 10]))
    [4, 2, 1, 0]
    """
    if not len(time):
        return []
    sign = -1.0 if value[int(np.argmax(time))] < np.median(value) else 1.0
    order = np.lexsort((sign * value, time))
    best = sign * np.maximum.accumulate(sign * value[order])
    steps = np.abs(np.diff(np.log(best) if best.min() > 0 else best))
    records = [int(order[1:][i]) for i in np.argsort(-steps, kind="stable") if steps[i] > 0]
    return list(dict.fromkeys([int(order[-1]), *records, int(order[0])]))[:MAX_NAMED_POINTS]


def past(
    graph: ScenarioGraph, fits: ModelFits, seed: int, draws: int, start: float
) -> Iterator[tuple[str, xr.Dataset]]:
    """Return the fitted past of each quantity that a figure draws: quantiles of its level at the dates of its points.

    It ends before the first step, and is that of the worlds of the projection, of which 1,024 are enough. A model
    that needs what has no past of its own has none, nor has a rival without weight, nor a pool of shapes; nor have
    worlds that are weighed by what is known besides.
    """
    drawn, of_worlds = _plotted_quantities(graph), blocks.blocks_between(0, min(draws, DRAWS_PER_BLOCK))
    by_name: dict[str, dict[Combination, Points]] = {}
    for name, combination, seen in quantity_points(graph, fits) if not graph.scenario.updates else ():
        node, dates = graph.nodes[name], np.unique(seen.time[seen.time < start])
        model = node.models[combination]
        known = node.dims == node.own and _is_fitted(graph, name) and model.rests_on() is model
        if name not in drawn or not known or not dates.size or not _has_positive_weight(graph, node.own, combination):
            continue
        try:
            plan = Plan(graph, fits, dates, seed)
            level = Block(plan, of_worlds).take(plan.level(node, combination))
        except ForecastError as error:
            error.with_traceback(None)  # its block keeps it
            if not isinstance(error, NoDataAtDateError):  # which goes on from a date, and fits nothing before
                fits.failures.setdefault(f"past of {name} {combination}", str(error))
            continue
        made = value_quantiles(level[:, :draws].T, None)
        if np.isfinite(made).all():
            by_name.setdefault(name, {})[combination] = dates, made, np.zeros(len(dates), dtype=str)
    for name, series in by_name.items():
        node = graph.nodes[name]
        level, beside, _ = _once_each(series, node.own)
        stands = all(node.models[combination].keeps == "frontier" for combination in series)
        about = {"units": node.unit, "keeps": "frontier" if stands else ""}
        dims = ("quantile", "point")
        yield name, xr.Dataset({"level": (dims, level, about)}, coords={"quantile": list(QUANTILES), **beside})


def _plotted_quantities(graph: ScenarioGraph) -> set[str]:
    """Return the quantities of the questions; all quantities if the scenario has no question."""
    scenario = graph.scenario
    sides = [side for q in scenario.questions.values() for side in (q.when.left, q.when.right)]
    sides += [figure.of for figure in scenario.figures.values()]
    return {side.text for side in sides} if sides or scenario.rankings else set(graph.nodes)


def _is_fitted(graph: ScenarioGraph, name: str) -> bool:
    """Tell whether a model gives a quantity, of nothing but what other models give or what never moves."""
    node = graph.nodes[name]
    return (
        bool(node.models)
        and not node.cycle
        and all(graph.nodes[each].steady or _is_fitted(graph, each) for each in node.sources)
    )


def _has_positive_weight(graph: ScenarioGraph, own: Sequence[str], combination: Combination) -> bool:
    """Tell whether rivals that are pooled count this one."""
    pairs = ((graph.scenario.choices[choice], value) for choice, value in zip(own, combination, strict=True))
    return all(not stated.weights or stated.weights[stated.values.index(value)] for stated, value in pairs)


def _once_each(series: Series, own: Sequence[str]) -> tuple[Array, dict[str, Any], NDArray[np.str_]]:
    """Return the values of series one behind another, beside each its date and choices that change it, and names."""
    matters = [i for i in range(len(own)) if _differs_along(series, i)]
    kept: dict[Combination, Points] = {}
    for combination, each in series.items():
        kept.setdefault(tuple(combination[i] for i in matters), each)
    labels = {
        own[i]: ("point", np.concatenate([[c[k]] * len(time) for c, (time, *_) in kept.items()]).astype(str))
        for k, i in enumerate(matters)
    }
    dates, values, called = zip(*kept.values(), strict=True)
    beside = {"date": ("point", np.concatenate([from_decimal_year(time) for time in dates])), **labels}
    return np.concatenate(values, axis=-1), beside, np.concatenate(called)


def _differs_along(series: Series, axis: int) -> bool:
    """Tell whether the points differ between any two combinations that differ in this choice alone."""
    seen: dict[Combination, tuple[bytes, bytes]] = {}
    for combination, (time, value, _) in series.items():
        rest = (*combination[:axis], *combination[axis + 1 :])
        data = (time.tobytes(), value.tobytes())
        if seen.setdefault(rest, data) != data:
            return True
    return False


def set_inputs(graph: ScenarioGraph, model: str) -> dict[str, Input]:
    """Return the inputs of a model that were set, as that."""
    return {
        key.rpartition(".")[2]: replace(graph.inputs[key], distribution=stated, source="set for this run")
        for key, stated in graph.set_inputs.items()
        if key.rpartition(".")[0] == model
    }


def parameter_draws(block: Block, draws: int) -> Iterator[tuple[str, xr.Dataset]]:
    """Return the draws of every input and of every fitted parameter."""
    plan, fits = block.plan, block.fits
    for name, model in plan.graph.models.items():
        inputs, parameters = plan.inputs(model), None
        if not isinstance(fits.outcome(model), ForecastError):  # else its sampling tells why
            parameters = plan.attempt(plan.posterior, model)
        known = {each: place for each, place in inputs.items() if plan.steps.every[place].operation != "failing"}
        data = {each: block.take(place) for each, place in known.items()}
        try:
            data |= {} if parameters is None else block.take(parameters)
        except ForecastError as error:
            error.with_traceback(None)
            if not isinstance(error, NoDataAtDateError):  # told where it is left out
                fits.failures.setdefault(f"model '{name}': posterior", str(error))
        if data:
            yield name, xr.Dataset({each: ("draw", values[:draws]) for each, values in data.items()})
