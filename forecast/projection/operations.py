"""What the steps of a plan compute: each operation takes a block of worlds, the values of its inputs, and arguments.

`read[i]` is the value of an input; where it has none its error is raised, and is the step's, unless the operation goes
on without it. A path is (time, draw), or (1, draw) where all its rows are one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast import units
from forecast.base.arrays import Array, BoolArray, accumulate
from forecast.base.distributions import Distribution
from forecast.contract.plugin_calls import call_guarded
from forecast.errors import (
    AbsentValueError,
    DataError,
    ForecastError,
    ForecastWarning,
    ModelWarning,
    NoDataAtDateError,
    PluginContractError,
    RaisedPathsWarning,
)
from forecast.formula import TIME_NAMES, Call, Comparison, Formula, Name, Node
from forecast.formula.tree import children, walk
from forecast.models import FittedModel, Model
from forecast.models.check_output import checked_draws, checked_posterior
from forecast.models.scales import Scale
from forecast.projection import blocks
from forecast.projection.crossing import find_crossing
from forecast.projection.failures import failed_mask, infinite_error
from forecast.projection.horizon import clock
from forecast.projection.paths.alike import PAIR, alike, dense, distinct, is_one_row, pair, read_only, spread, still
from forecast.projection.paths.apply_limits import binding, check_kept, hold_record, limited
from forecast.projection.paths.moment_fits import by_moments
from forecast.projection.paths.ordering import in_order, scores
from forecast.projection.paths.run_cache import CachedStreams
from forecast.projection.paths.time_functions import HistoryOf, over_time
from forecast.projection.paths.time_stepping import step_through

if TYPE_CHECKING:
    from forecast.projection.evaluate import Block, Inputs
    from forecast.scenarios.graph import ScenarioGraph
    from forecast.scenarios.quantities.correlation import Correlation
    from forecast.scenarios.quantities.node import Combination
    from forecast.units import Prepared

Operation = Callable[..., Any]

#: Every operation, by the name under which steps have it.
OPERATIONS: dict[str, Operation] = {}


def operation(function: Operation) -> Operation:
    """Add an operation."""
    OPERATIONS[function.__name__] = function
    return function


@operation
def failing(block: Block, read: Inputs, error: ForecastError) -> None:
    """Raise why something cannot be computed at all."""
    raise error


# --- what is drawn ----------------------------------------------------------------------------------------------------


@operation
def uniform(block: Block, read: Inputs, stream: str) -> Array:
    """Return the uniforms of a stream, (draw,)."""
    return np.concatenate([block.streams(stream, number).uniforms("uniform", 1)[0] for number in block.blocks])


@operation
def correlated(block: Block, read: Inputs, weights: Array) -> Array:
    """Return the uniforms of what moves together, (name, draw), from those of each; a row of weights for each."""
    from scipy.special import ndtr, ndtri

    total = np.zeros((len(read), block.draws))
    for i in range(len(read)):  # one after another, as the last digits depend on it
        total[i:] += weights[i:, [i]] * ndtri(read[i])
    return np.asarray(np.clip(ndtr(total), 2.0**-54, 1 - 2.0**-53))


@operation
def row(block: Block, read: Inputs, index: int) -> Array:
    """Return one row of several."""
    return read[0][index]  # type: ignore[no-any-return]


@operation
def quantiles(block: Block, read: Inputs, numbers: Distribution) -> Array:
    """Return the draws of a distribution, (draw,); a fixed number needs no uniforms."""
    return dense(numbers.ppf(read[0]) if len(read) else np.broadcast_to(numbers.ppf(np.full(1, 0.5)), block.draws))


@operation
def moments(block: Block, read: Inputs, name: str, of: str, family: str, place: int) -> Distribution:
    """Return the distribution with the mean and the variance of another quantity's worlds, the same for all blocks."""
    key = block.plan.steps.every[place].key + family.encode()
    return block.fits.once(key, partial(by_moments, block, name, of, family, place))


@operation
def quantiles_of_moments(block: Block, read: Inputs) -> Array:
    """Return the draws of a distribution that is fitted to another quantity's worlds."""
    return np.asarray(read[1].ppf(read[0]))[np.newaxis]


@operation
def path_of_number(block: Block, read: Inputs) -> Array:
    """Return the path of what is one number a world."""
    return np.asarray(read[0][np.newaxis])


@operation
def drawn(block: Block, read: Inputs, values: Callable[[Array], Array]) -> Array:
    """Return what a kind of quantity makes of uniforms, one number a world."""
    return values(read[0])[np.newaxis]


@operation
def constant(block: Block, read: Inputs, value: float) -> Array:
    """Return a number that is the same in all worlds."""
    return np.broadcast_to(np.float64(value), (1, block.draws))


@operation
def absent(block: Block, read: Inputs, said: str) -> Array:
    """Raise for a figure that its table lacks."""
    raise AbsentValueError(said)


@operation
def path_of_dates(block: Block, read: Inputs, values: Callable[..., Array]) -> Array:
    """Return what a kind of quantity makes of the dates, (time,), or of these and of uniforms, (time, draw)."""
    path = values(block.time, *(read[i] for i in range(len(read))))
    return np.broadcast_to(path[:, np.newaxis] if path.ndim == 1 else path, block.shape)


# --- models -----------------------------------------------------------------------------------------------------------


@operation
def model(
    block: Block,
    read: Inputs,
    made: Model,
    stream: str,
    asker: str,
    inputs: Sequence[str],
    parameters: Sequence[str],
    is_ordered: bool,
) -> Array:
    """Return the draws of a model, (time, draw), in its unit.

    The values of its inputs come first, then those of the parameters that are set, then the order of its worlds. A
    model is foreign code: it computes one block at a time.
    """
    fitted = block.fits[made]
    given, set_to, order = _model_inputs(block, read, inputs, parameters, is_ordered)
    parts = [_sample_model(block, fitted, made, stream, asker, given, set_to, i) for i in range(len(block.blocks))]
    if all(map(is_one_row, parts)):
        parts = [part[:1] for part in parts]
    values = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    values = np.broadcast_to(values if order is None else values[:, order], block.shape)
    what = f"model '{made.name}': sample"
    return block.numbers(values, lambda bad: PluginContractError(f"{what}: {bad} of {values.size} values are NaN"))


def _model_inputs(
    block: Block, read: Inputs, inputs: Sequence[str], parameters: Sequence[str], is_ordered: bool
) -> tuple[dict[str, Array], dict[str, Array], NDArray[np.intp] | None]:
    """Return what a model is handed, what is set of it, and the order of its worlds."""
    set_to = {name: read[len(inputs) + i] for i, name in enumerate(parameters)}
    values = {name: read[i] for i, name in enumerate(inputs)}
    given = {name: dense(v if v.ndim == 1 else block.whole(v)) for name, v in values.items()}
    if not is_ordered:
        return given, set_to, None
    order = read[len(inputs) + len(parameters)]
    back = np.argsort(order)  # what it is handed belongs to the worlds, and stays there
    given, set_to = ({n: read_only(v[..., back]) for n, v in each.items()} for each in (given, set_to))
    return given, set_to, order


def _sample_model(
    block: Block,
    fitted: FittedModel,
    made: Model,
    stream: str,
    asker: str,
    given: Mapping[str, Array],
    parameters: Mapping[str, Array],
    place: int,
) -> Array:
    """Return the draws of a model in one block."""
    number, own = block.blocks[place], block.places[place]
    streams = blocks.node_streams(CachedStreams, block.seed, stream, number, store=block.store(made))
    inputs = {name: values[..., own] for name, values in given.items()}
    if parameters:
        fitted = fitted.with_parameters({name: values[own] for name, values in parameters.items()})
    what = f"model '{made.name}': sample"
    values = call_guarded(what, lambda: fitted.sample(read_only(block.time), inputs, streams))
    if number == 0:  # the others are draws of the same
        aside = f"model '{made.name}': warnings"
        told = call_guarded(aside, lambda: tuple(fitted.warnings(inputs)))  # a plugin may say one in a sentence
        warned = (w if isinstance(w, ForecastWarning) else ModelWarning(note=str(w)) for w in told)
        block.warn(asker, made.name, tuple(warned))
    return checked_draws(values, (len(block.time), streams.draws), what)


@operation
def posterior(
    block: Block,
    read: Inputs,
    made: Model,
    stream: str,
    inputs: Sequence[str],
    parameters: Sequence[str],
    is_ordered: bool,
) -> dict[str, Array]:
    """Return the draws of the fitted parameters of a model, (draw,) each."""
    given, set_to, order = _model_inputs(block, read, inputs, parameters, is_ordered)
    what, each = f"model '{made.name}': posterior", []
    for here, number in zip(block.places, block.blocks, strict=True):
        streams = block.streams(stream, number)
        fitted = block.fits[made].with_draws({n: v[here] for n, v in given.items()})
        if set_to:
            fitted = fitted.with_parameters({n: v[here] for n, v in set_to.items()})
        each.append(checked_posterior(call_guarded(what, partial(fitted.posterior, streams)), streams.draws, what))
    values = {n: np.concatenate([one[n] for one in each]) for n in each[0] if all(n in one for one in each)}
    return values if order is None else {n: v[order] for n, v in values.items()}


@operation
def in_others_order(
    block: Block, read: Inputs, made: str, number: str, name: str, group: Correlation, drawn: frozenset[str]
) -> NDArray[np.intp]:
    """Return the order of a model's worlds, block by block, in which a fitted number of it moves together with others.

    The draws of its parameters come first, then the uniforms of all that move together.
    """
    from scipy.special import ndtri

    values = read[0]
    if number not in values:
        raise DataError(f"model '{made}': posterior: '{number}' is to move with others, and is not there")
    own = {each: ndtri(read[1 + i]) for i, each in enumerate(group.of)}
    places = []
    for here in block.places:
        wanted = scores(group, name, {n: v[here] for n, v in own.items()}, drawn)
        places.append(here.start + in_order(values[number][here], wanted))
    return np.concatenate(places)


# --- formulas ---------------------------------------------------------------------------------------------------------


@operation
def formula(
    block: Block,
    read: Inputs,
    tree: Formula,
    prepared: Prepared,
    labels: Mapping[str, tuple[str, ...]],
    step: int | None,
) -> Array:
    """Return a formula over quantities, (time, draw) or (1, draw); of one `step` only, (1, draw)."""
    names = [n for n in tree.names if n not in TIME_NAMES]
    values: dict[str, Array] = {}
    without: NoDataAtDateError | None = None
    for place, name in enumerate(names):
        values[name], error = _read_branch(block, read, tree, place, name)
        without = without or error
    together = bool(names) and all(map(alike, values.values()))
    values = {n: pair(v) if together else dense(v) for n, v in values.items()}
    values |= {n: clock(n, block.time)[:, np.newaxis] for n in tree.names if n in TIME_NAMES}
    if step is not None:
        values = {n: v[[step if len(v) > 1 else 0]] for n, v in values.items()}
    texts = {n: np.asarray(each)[values[n].astype(np.intp)] for n, each in labels.items()}
    value = np.asarray(prepared.evaluate({**values, **texts}), dtype=np.float64)
    made = np.broadcast_to(value, (len(value) if value.ndim else 1, PAIR if together else block.draws))
    made = spread(made, block.draws) if together else made
    steps = () if step is None else (step % len(block.time),)
    what = f"{prepared.where}: '{tree.text}'"
    return block.numbers(
        made,
        lambda bad: without or DataError(f"{what}: {bad} of {made.size} values are not numbers (NaN)"),
        steps=steps,
    )


def _read_branch(
    block: Block, read: Inputs, tree: Formula, place: int, name: str
) -> tuple[Array, NoDataAtDateError | None]:
    """Return a quantity that a formula reads; where ``where`` may choose another one, NaN where it has no data."""
    if block.fits.as_of is None or not _only_in_branches(tree.root, name):
        return still(read[place]), None
    try:
        path, faults = block.watched(lambda: read[place])
    except NoDataAtDateError as error:
        return np.full((1, block.draws), np.nan), error
    without = [fault for fault in faults if isinstance(fault.error, NoDataAtDateError)]
    block.faults.extend(fault for fault in faults if fault not in without)
    path = still(path)
    if without:
        path = np.where(failed_mask(without, block.draws), np.nan, path)
    return path, next((fault.error for fault in without if isinstance(fault.error, NoDataAtDateError)), None)


def _only_in_branches(node: Node, name: str, *, inside: bool = False) -> bool:
    """Tell whether a name stands in branches of ``where`` alone, and is compared with nothing."""
    if isinstance(node, Name):
        return inside or node.name != name
    if isinstance(node, Comparison):
        return not _has_name(node, name)
    if isinstance(node, Call) and node.function == "where":
        condition, *branches = children(node)
        return not _has_name(condition, name) and all(_only_in_branches(each, name, inside=True) for each in branches)
    return all(_only_in_branches(each, name, inside=inside) for each in children(node))


def _has_name(node: Node, name: str) -> bool:
    return any(isinstance(each, Name) and each.name == name for each in walk(node))


@operation
def converted(block: Block, read: Inputs, source: str, target: str, where: str) -> Array:
    """Return a path in another unit."""
    values = read[0]
    return np.broadcast_to(units.convert(still(values), source, target, where=where), values.shape)


@operation
def function_over_time(
    block: Block, read: Inputs, function: str, argument: float | None, unit: str, past: HistoryOf
) -> Array:
    """Return a function over time of another quantity's path; its argument is a number or the second input."""
    path, given = read[0], argument if len(read) == 1 else read[1]
    if isinstance(given, np.ndarray):  # one number for all steps, or for all worlds, is looked up once
        given = units.convert(distinct(given), unit, "" if units.same_dimension(unit, "") else "year")
    together = alike(path) and (not isinstance(given, np.ndarray) or given.shape[1] == 1)
    if together:
        path = pair(path)
    found = over_time(function, block.time, path, given, block.past(past))
    return spread(found, block.draws) if together else found


@operation
def at_dates(block: Block, read: Inputs, past: HistoryOf, dates: Sequence[float]) -> Array:
    """Return a quantity at dates, (date, draw); before the first step what was observed."""
    rows = [over_time("at", block.time, read[0], date, block.past(past))[-1] for date in dates]
    return np.stack(np.broadcast_arrays(*rows))


# --- changes and limits -----------------------------------------------------------------------------------------------


@operation
def replaced(block: Block, read: Inputs, since: float, until: float) -> Array:
    """Return a path that has another value at the steps from one date on and before another."""
    inside = (block.time >= since) & (block.time < until)
    return np.asarray(np.where(inside[:, np.newaxis], read[1], read[0]))


@operation
def grown(block: Block, read: Inputs, name: str, growth: float, since: float, until: float, scale: Scale) -> Array:
    """Return a path whose growth is multiplied between two dates.

    Its increments on its scale, of a level those of its logarithm, are multiplied; of a step in which a date lies, the
    part beyond it. What was gained or lost stays so afterwards. Before the first date the path keeps every bit.
    """
    time, path = block.time, block.whole(read[0])
    part = np.maximum(np.minimum(time[1:], until) - np.maximum(time[:-1], since), 0.0) / np.diff(time)
    inside = part > 0
    touched = (np.append(inside, False) | np.append(False, inside))[:, np.newaxis]
    scaled = scale.to(path)
    without = ~np.isfinite(scaled) & touched  # such as a level of 0, which has no logarithm
    scaled = np.where(without, 0.0, scaled)
    with np.errstate(invalid="ignore"):
        gained = np.where(inside[:, np.newaxis], (growth - 1) * part[:, np.newaxis] * np.diff(scaled, axis=0), 0.0)
    moved = np.concatenate([np.zeros((1, path.shape[1])), accumulate(np.add, gained)])
    path = np.where(moved == 0, path, scale.back(scaled + moved))
    ends = "not above 0 and finite" if scale.is_plain else f"not between the ends of its scale ({scale.line})"
    return block.numbers(
        np.where(without, np.nan, path),
        lambda bad: DataError(f"changes of {name}: growth of what is {ends}: {bad} values"),
    )


@operation
def limit(block: Block, read: Inputs, name: str, how: str, sharpness: float) -> Array:
    """Return a path under its limit; of which nothing was known, it does not bind."""
    path: Array = read[0]
    try:
        bound = read[1]
    except NoDataAtDateError:
        return path
    below, what = limited(path, bound, how, sharpness), f"quantities.{name}.limit: {how}"
    problem = "values are negative, or have a limit that is not above 0"
    return block.numbers(below, lambda bad: DataError(f"{what}: {bad} of {below.size} {problem}"))


@operation
def floor(block: Block, read: Inputs) -> Array:
    """Return a path above what it is at least."""
    path: Array = read[0]
    try:
        return np.asarray(np.maximum(path, read[1]))
    except NoDataAtDateError:
        return path


@operation
def never_falls(block: Block, read: Inputs, past: HistoryOf) -> Array:
    """Return a path that never falls, from the last record observed before the first step."""
    path, raised = hold_record(block.whole(read[0]), block.past(past).highest())
    if raised and 0 in block.blocks:  # as the warnings of models: of the first worlds
        block.warn(past.name, "keeps", (RaisedPathsWarning(share=float(raised)),))
    return path


@operation
def kept(block: Block, read: Inputs, name: str, keeps: str, scale: Scale, at_most: float) -> Array:
    """Return a path that keeps what it should, or fail."""
    path: Array = read[0]
    check_kept(block.time, path, keeps, scale, at_most, where=f"quantities.{name}")
    return path


@operation
def quantity(block: Block, read: Inputs, name: str, is_hidden: bool, is_steady: bool) -> Array:
    """Return a quantity without those worlds in which it is infinite: they fail; one row of what does not change.

    A part of a formula, which is hidden, may be infinite: a date that never comes.
    """
    path = read[0][:1] if is_steady else block.whole(read[0])
    if is_hidden or not np.isinf(distinct(path)).any():
        return path
    infinite = np.where(np.isinf(path), np.nan, path)
    return block.numbers(infinite, partial(infinite_error, f"quantities.{name}", path.size))


@operation
def bound_by(block: Block, read: Inputs, is_floor: bool) -> tuple[BoolArray, Array]:
    """Tell where a bound binds, and when it first does."""
    return binding(block.time, block.whole(read[0]), block.whole(read[1]), floor=is_floor)


@operation
def crossed(block: Block, read: Inputs, is_strict: bool, where: str) -> Array:
    """Return when one side of a condition passes the other; what it divides by follows the two sides."""
    above, below = block.whole(read[0]), block.whole(read[1])
    if len(read) > 2 and (infinite := np.isinf(above) | np.isinf(below)).any():
        divided = infinite & np.logical_or.reduce([block.whole(read[i]) == 0 for i in range(2, len(read))])
        problem, size = f"{where}: a division by zero has no value", above.size
        above = block.numbers(
            np.where(divided, np.nan, above), lambda bad: DataError(f"{problem}: {bad} of {size} values")
        )
    return find_crossing(block.time, above, below, strict=is_strict)


# --- cycles -----------------------------------------------------------------------------------------------------------


@operation
def walked(
    block: Block,
    read: Inputs,
    graph: ScenarioGraph,
    members: tuple[str, ...],
    combination: Combination,
    needed: frozenset[str] | None,
    sources: Sequence[str],
) -> dict[str, Array]:
    """Return the paths of a cycle's members, walked through time."""
    places = {name: i for i, name in enumerate(sources)}
    cycle = block, graph, members, combination, sources
    return step_through(*cycle, lambda name: read[places[name]], read.key, needed)


@operation
def member(block: Block, read: Inputs, name: str) -> Array:
    """Return the path of one member of a cycle."""
    return read[0][name]  # type: ignore[no-any-return]
