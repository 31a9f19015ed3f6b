"""The search for the optimum, of one data set or of many curves, and options of an objective that come from the data.

One data set is solved from rounds of starts until they agree; each of many curves from its best start, and what did not
arrive from it is tried again. Huber's threshold and the width of a quantile's kink are shares of the residuals' scale:
a threshold and its fit depend on each other, and are found in turns.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from forecast.base import budgets
from forecast.base.arrays import Array, IntArray
from forecast.fit.objectives.losses import HUBER_FACTOR, Squares
from forecast.fit.objectives.objective import effective_rows, robust_scale
from forecast.fit.problem.errors_in_variables import Orthogonal
from forecast.fit.problem.poles import POLE_AMONG_DATA, pole_remark
from forecast.fit.problem.problem import RESIDUAL_RTOL, Problem, Target, kernel_for, on_bound
from forecast.fit.problem.rescaling import Rescaled, rescale_problem, rescaled_curves
from forecast.fit.sizes import OPTIMUM_RTOL, STEP_TOLERANCE, UNCHECKED_STEP_TOLERANCE
from forecast.fit.solve import newton
from forecast.fit.solve.linear import solved_directly
from forecast.fit.solve.newton import MAX_RELATIVE_OFFSET, NewtonResult, refine
from forecast.fit.solve.separable import solve_separable
from forecast.fit.solve.starts import Grid, coarse_grid
from forecast.fit.solver_options import MultistartOptions

if TYPE_CHECKING:
    from forecast.fit.data.observations import Observations
    from forecast.laws import Law


FINAL_OPTIONS: dict[str, Any] = {"tolerance": STEP_TOLERANCE, "blind": UNCHECKED_STEP_TOLERANCE}
#: What a walk over a whole grid counts as: more than one start.
GRID = 2


#: A way to solve curves: law, curves, target, starts that were given -> target, ends, starts.
Way: TypeAlias = "Callable[[Law, Observations, Target, Array | None], tuple[Target, NewtonResult, Counts]]"
#: (2, B): how many starts led to an end, and how many there were.
Counts: TypeAlias = IntArray


def solve_batch(
    law: Law, observations: Observations, target: Target, start: Array | None = None, *, grid: bool = True
) -> tuple[Target, NewtonResult, Array | None, Counts]:
    """Solve every curve.

    Parameters
    ----------
    law : forecast.Law
    observations : Observations
        The curves.
    target : Target
        What is minimised.
    start : ndarray, optional
        (k, B), starts that were given: solve from these and from nowhere else.
    grid : bool
        Start from a grid where the law has no shorter way; else such curves come back untried.

    Returns
    -------
    Target
        With the options that come from the data.
    Solved
    ndarray or None
        (k, k, B): half the Gauss-Newton Hessian, of which covariances are made, of the curves for which the last step
        has gone all the way; nan for the others.
    ndarray of int
        (2, B): how many starts led there, and how many there were.
    """
    otherwise = _solve_from_grid if grid else _leave_unsolved
    if start is not None or target.objective.is_open(target.options):
        robust = functools.partial(_solve_curves, grid=grid)
        target, solved, starts = _solve_rescaled(law, observations, target, robust, start)
        return target, solved, None, starts
    found = solve_separable(law, observations, target, UNCHECKED_STEP_TOLERANCE)
    bread: Array | None = None
    if found is not None:
        solved, form = found
        # of a walk over a grid every value was a start, and all led to one place
        starts = np.full((2, solved.value.size), 1 if form is None else GRID)
        bread, left = 0.5 * solved.hessian, np.flatnonzero(~solved.settled)
        bread[:, :, left] = np.nan
        if left.size and form is not None:
            at, rows = form.edges(target.take(left), left)
            steps = target.solver.multistart.batch_iterations
            again = newton.solve(target.take(left[rows]), at, iterations=steps, **FINAL_OPTIONS)
            solved.put(again, left[rows])
    elif (nearly := _from_relative(law, observations, target)) is not None:
        solved, starts = nearly, np.full((2, nearly.value.size), GRID)
    else:
        target, solved, starts = _solve_rescaled(law, observations, target, otherwise)
        return target, solved, None, starts
    left = np.flatnonzero(~solved.settled)
    if left.size:
        _, again, starts[:, left] = _solve_rescaled(law, observations.take(left), target.take(left), otherwise)
        solved.put(again, left)
    return target, solved, bread, starts


def _from_relative(law: Law, observations: Observations, target: Target) -> NewtonResult | None:
    """Solve squares of logarithms from those of relative residuals, for laws that are linear in all but one parameter.

    Returns
    -------
    Solved or None
        None where the law or the objective is another.
    """
    if target.objective.scale != "residual" or not target.objective.log:
        return None
    y, weights = target.objective.nearby_squares(observations.y, observations.weights, target.options)
    kernel = kernel_for(target.coordinates.placement(law, observations.variables, link=False))
    relative = replace(target, kernel=kernel, objective=Squares("squares"), y=y, weights=weights)
    first = solve_separable(law, observations, relative, UNCHECKED_STEP_TOLERANCE)
    if first is None or first[1] is None:
        return None
    steps = target.solver.multistart.short_iterations
    solved = newton.solve(target, first[0].q, iterations=steps, **FINAL_OPTIONS)
    solved.settled[~first[0].settled] = False
    return solved


def _solve_rescaled(
    law: Law, observations: Observations, target: Target, way: Way, start: Array | None = None
) -> tuple[Target, NewtonResult, Counts]:
    """Solve every curve in units of its own size."""
    scaled = rescaled_curves(law, observations, target)
    if scaled is None:
        return way(law, observations, target, start)
    result, inside, moved = scaled
    tried, ends, starts = way(law, inside, moved, None if start is None else result.inwards(start))
    q = result.outwards(ends.q)
    target = replace(target, options={**result.options(tried.options, result.unit[:, None]), **target.options})
    kept = np.isfinite(np.where(target.coordinates.logs[:, None], np.exp(-np.abs(q)), q)).all(axis=0)
    if ends.settled.any():  # what can be computed in the data's own units may be past the range of numbers in these
        kept &= np.isfinite(target.value(q))
    return target, replace(ends, q=q, value=ends.value * result.share, settled=ends.settled & kept), starts


def _solve_curves(
    law: Law, observations: Observations, target: Target, start: Array | None, *, grid: bool
) -> tuple[Target, NewtonResult, Counts]:
    """Solve every curve, first by least squares where an option comes from what these leave."""
    if not target.objective.is_open(target.options):
        return _solve_given_starts(law, observations, target, start)
    squares = replace(target, objective=target.objective.as_squares(), options={})
    _, first, _, starts = solve_batch(law, observations, squares, start, grid=grid)
    if not grid and not first.settled.any():
        return target, first, starts
    if target.objective.robust:
        target, solved = with_threshold(target, first.q)
    else:
        target = with_width(target, first.q)
        solved = newton.solve(target, first.q, **FINAL_OPTIONS)
    if start is None:
        solved.settled[2 * starts[0] <= starts[1]] = False
    return target, solved, starts


def _solve_given_starts(
    law: Law, observations: Observations, target: Target, start: Array | None
) -> tuple[Target, NewtonResult, Counts]:
    """Solve every curve from its given start, two ways, and keep the better end."""
    assert start is not None
    way = newton.check_by_second_route if target.objective.scale == "residual" else newton.solve
    solved = way(target, start, iterations=target.solver.multistart.long_iterations)
    return target, solved, np.ones((2, start.shape[1]), dtype=np.int64)


def _leave_unsolved(
    law: Law, observations: Observations, target: Target, start: Array | None
) -> tuple[Target, NewtonResult, Counts]:
    """Leave every curve to who asks."""
    count = target.y.shape[0]
    return (
        target,
        newton.unsolved_result(np.zeros((len(target.coordinates.free), count))),
        np.zeros((2, count), dtype=np.int64),
    )


def _solve_from_grid(
    law: Law, observations: Observations, target: Target, start: Array | None
) -> tuple[Target, NewtonResult, Counts]:
    """Solve every curve from its best starts; nobody has settled where these do not agree."""
    starts = coarse_grid(law, observations, target)
    many, count = starts.shape[0], starts.shape[2]
    rows = np.tile(np.arange(count), many)
    gauss = np.full(rows.size, target.objective.scale == "residual")
    ends = newton.solve(
        target.take(rows),
        np.concatenate(list(starts), axis=1),
        iterations=target.solver.multistart.short_iterations,
        gauss=gauss,
        **FINAL_OPTIONS,
    )
    values = np.where(np.isfinite(ends.value), ends.value, np.inf).reshape(many, count)
    solved = ends.take(values.argmin(axis=0) * count + np.arange(count))
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(solved.value), target.unit())
        agree = (values <= solved.value + OPTIMUM_RTOL * size + target.rounding()).sum(axis=0)
    if many > 1:
        solved.settled[2 * agree <= many] = False
    return target, solved, np.array([agree, np.full(count, many)])


#: Huber's threshold is at least this share of the observations' size (1 of logarithms): below, nothing but rounding is
#: left of the squares. A width is at least the other.
MIN_THRESHOLD_SHARE, MIN_WIDTH_SHARE = 1e-8, 1e-9
#: A threshold is settled once it moves by less than this share: another unit of the data must not show in the
#: objective, nor in which fits stand beside each other.
THRESHOLD_RTOL = 1e-12
#: Turns of threshold and fit at most, and of a scale and what it makes of the residuals.
MAX_ROUNDS, MAX_SCALE_ROUNDS = 60, 200


def residual_scale(target: Target, q: Array) -> Array:
    """Return the residuals' scale at q, (B,): robust, or the one of greatest likelihood where it is profiled out."""
    weights = np.broadcast_to(target.weights, (q.shape[1], target.y.shape[-1]))
    apart = np.where(weights > 0, target.kernel.at(q, 0).f - target.y, 0.0)
    scale = np.asarray(robust_scale(apart, q.shape[0], weights))
    if not target.objective.profile:
        return scale
    share = weights / np.maximum(weights.sum(axis=1), 1e-300)[:, None]
    with np.errstate(all="ignore"):
        for _ in range(MAX_SCALE_ROUNDS):
            z = np.where(scale[:, None] > 0, apart / scale[:, None], 0.0)
            ratio = np.sum(share * z * np.clip(z, -HUBER_FACTOR, HUBER_FACTOR), axis=1)
            scale = scale * np.sqrt(ratio)
            if not (np.abs(ratio - 1) >= THRESHOLD_RTOL)[scale > 0].any():
                break
    return scale


def _observation_size(target: Target) -> Array:
    """Return the size of an observation, (B,) or a number: of what a residual is small beside."""
    squares = np.sum(target.weights * target.objective.sizes(target.y, target.options), axis=-1)
    return np.asarray(np.sqrt(squares / np.sum(target.weights, axis=-1)))


def with_width(target: Target, q: Array) -> Target:
    """Return the target with the width over which its kink is rounded off.

    He et al. (2021): ((k + log n)/n)**0.4 of the residuals' scale at `q`, (k, B).
    """
    n = np.asarray(effective_rows(target.weights), dtype=float)
    share = np.maximum(((q.shape[0] + np.log(n)) / n) ** 0.4, 0.05)
    width = np.maximum(share * residual_scale(target, q), MIN_WIDTH_SHARE * _observation_size(target))
    return replace(target, options={**target.options, "width": width[:, None]})


def with_threshold(target: Target, q: Array) -> tuple[Target, NewtonResult]:
    """Return the target with each fit's threshold, and the fits, found in turns as scale and location are.

    Parameters
    ----------
    target : Target
    q : ndarray
        (k, B), where each fit begins.
    """
    count = q.shape[1]
    least = np.broadcast_to(MIN_THRESHOLD_SHARE * _observation_size(target), (count,))
    delta, turning, solved = np.full(count, np.nan), np.arange(count), newton.unsolved_result(q)
    for _ in range(MAX_ROUNDS):
        wanted = np.maximum(HUBER_FACTOR * residual_scale(target.take(turning), solved.q[:, turning]), least[turning])
        moved = ~(np.abs(wanted - delta[turning]) <= THRESHOLD_RTOL * wanted)
        turning = turning[moved]
        if not turning.size:
            break
        delta[turning] = wanted[moved]
        some = replace(target, options={**target.options, "delta": delta[:, None]}).take(turning)
        ends = newton.solve(some, solved.q[:, turning])
        lost = ~np.isfinite(ends.value)
        ends.q[:, lost] = solved.q[:, turning[lost]]
        ends.q[:, ends.settled] = newton.refine(some.take(ends.settled), ends.q[:, ends.settled])
        solved.put(ends, turning)
    return replace(target, options={**target.options, "delta": delta[:, None]}), solved


#: Fewer of the starts than this share are few.
MIN_AGREEING_SHARE = 0.1


@dataclass(frozen=True, kw_only=True)
class Solution:
    """Where a start led.

    Parameters
    ----------
    at : ndarray
        The parameters in the solver's coordinates.
    value : float
        The objective there.
    settled : bool
        No direction is left in which the objective still falls (relative to its own size).
    iterations : int
    pole : bool
        The law has a pole among the data there.
    """

    at: Array
    value: float
    settled: bool
    iterations: int
    pole: bool = False


def pole_remark_of(problem: Problem, solutions: list[Solution]) -> str:
    """Return what to say of the best of some solutions, best first, by where the law has poles; empty where nothing."""
    if solutions[0].pole:
        return POLE_AMONG_DATA
    return pole_remark(problem, solutions[0].value, min((s.value for s in solutions if s.pole), default=math.inf))


def count_agreeing(problem: Problem, solutions: list[Solution]) -> int:
    """Return how many solutions are as good as the best, or pass through every point but for rounding."""
    size = max(abs(solutions[0].value), float(problem.target().unit()))
    least = solutions[0].value + OPTIMUM_RTOL * size + problem.rounding()
    return sum(math.isfinite(s.value) and s.value <= least and s.pole == solutions[0].pole for s in solutions)


def is_optimum(agree: Any, total: Any, vague: Any, exact: Any) -> Any:
    """Tell whether what has settled is the optimum, by how many of the starts led there; of numbers or arrays.

    Flat in some direction from one start only, it may be a plateau; unless nothing fits better than exactly.
    """
    return (np.logical_not(vague) | (agree > 1) | exact) & ((total == 1) | (agree > 1))


def outcome(
    converged: bool, starts: tuple[int, int], given: bool, bounds: Mapping[str, tuple[float, int]], instead: str = "",
    remark: str = "",
) -> str:  # fmt: skip
    """Say how a fit ended: whether it converged, whether starts agree, and what stands on a bound; then a remark."""
    agree, total = starts
    parts = ["converged" if converged else "not converged"]
    if instead:
        parts.append(instead)
    elif given:
        parts.append("from the given start")
    elif total > 1 and agree == 1:
        parts.append(f"{total} starts disagree about the best, which one of them found")
    elif is_too_few(starts):
        parts.append(f"only {agree} of {total} starts agree")
    else:
        parts.append("the starts agree" if converged else "no start has arrived at an optimum")
    parts += [remark] if remark else []
    return "; ".join([*parts, *(f"{name} at boundary ({bound:g})" for name, (bound, _) in bounds.items())])


def is_too_few(starts: tuple[int, int]) -> bool:
    """Tell whether so few of many starts led to the best objective that a better one may exist."""
    agree, total = starts
    return total > 1 and agree < MIN_AGREEING_SHARE * total


def search(problem: Problem, start: Array | None, seed: int) -> tuple[Problem, list[Solution]]:
    """Return the problem, its options settled, and the solutions, best first; none where nothing can be computed.

    Parameters
    ----------
    problem : Problem
    start : ndarray, optional
        Solve from here and from nowhere else.
    seed : int
        Chooses among starts where there are too many.
    """
    direct = solved_directly(problem)
    if direct is not None and problem.objective.scale == "residual":
        return problem, [
            Solution(at=direct, value=float(problem.value(direct[:, None])[0]), settled=True, iterations=1)
        ]
    if direct is not None:
        start = direct
    scaled = rescale_problem(problem)
    tried, solutions = (problem, []) if scaled is None else _search_rescaled(problem, *scaled, start, seed)
    if scaled is None or (solutions and not _representable(tried, solutions[0])):
        tried, solutions = _search(problem, start, seed)
    if solutions:
        solutions[0] = _polish_solution(tried, solutions[0])
    return tried, solutions


def _representable(problem: Problem, solution: Solution) -> bool:
    """Tell whether parameters, in these units, and the law with them are within the range of numbers."""
    p = problem.natural(solution.at)
    inside = bool(np.isfinite(p).all() and (p[problem.logs & np.isfinite(solution.at)] > 0).all())
    return inside and math.isfinite(problem.value(solution.at[:, None])[0]) == math.isfinite(solution.value)


def _search_rescaled(
    problem: Problem, scaled: Rescaled, inside: Problem, start: Array | None, seed: int
) -> tuple[Problem, list[Solution]]:
    """Search in units of the data's own size; return problem and solutions in those that were given."""
    begun = None if start is None else scaled.inwards(start[:, None])[:, 0]
    tried, solutions = _search(inside, begun, seed)
    problem = problem.with_options(**scaled.options(tried.options, float(scaled.unit[0])))
    if not solutions:
        return problem, solutions
    share = 1.0 if problem.errs_in_x else float(scaled.share[0])
    places = scaled.outwards(np.array([s.at for s in solutions]).T).T
    return problem, [replace(s, at=at, value=s.value * share) for s, at in zip(solutions, places, strict=True)]


def _search(problem: Problem, start: Array | None, seed: int) -> tuple[Problem, list[Solution]]:
    if start is not None:
        return _from(problem, [start])
    options = problem.solver.multistart
    grid = Grid(problem, seed=seed, more=_without_errors(problem, seed))
    solutions: list[Solution] = []
    tried = problem
    # Huber's loss with a threshold that somebody chose, often far below the scatter, has many
    # valleys, and so has a curve that may pass by its points anywhere within their errors
    many = (problem.objective.robust and problem.options.get("delta") is not None) or problem.errs_in_x
    for count in options.starts_per_round[2 if grid.hard else int(many) :]:
        budgets.check_time("the search for the optimum")
        # what an earlier round found is among the starts: a later one never ends above it
        begun = [s.at for s in _leaders(solutions)] + grid.best(count)
        begun += grid.spread(count // 2) if count > options.starts_per_round[0] else grid.rivals()
        if not begun or (solutions and len(begun) <= len(solutions)):
            break
        tried, solutions = _from(problem, begun)
        enough = min(count, len(solutions)) // 2 if count == options.starts_per_round[0] else 1
        if len(begun) == 1 or (solutions[0].settled and count_agreeing(tried, solutions) > enough):
            back = _back_from_infinity(tried, solutions[0], grid)
            if not back or _rank(back[0]) >= (solutions[0].pole, solutions[0].value * (1 - OPTIMUM_RTOL), False):
                return tried, solutions
            solutions = sorted([*solutions, *back], key=_rank)
        if _in_one_valley(solutions, options):
            break
    alone = bool(solutions) and solutions[0].settled and count_agreeing(tried, solutions) < 2
    on_the_way = [s for s in solutions if not s.settled] if alone else solutions
    if solutions and math.isfinite(solutions[0].value) and on_the_way and (alone or not solutions[0].settled):
        # a long curved valley takes many steps; a second one that arrives at the same end confirms it
        last = _distinct_solutions(on_the_way, options.final_starts)
        reached = _to_the_end(
            tried, [s.at for s in last], options.open_stretches, options.open_iterations, options.open_gain
        )
        if alone or _rank(reached[0]) <= _rank(solutions[0]):
            rest = [s for s in solutions if not any(s is one for one in last)]
            solutions = sorted([*reached, *rest], key=_rank)
    return tried, solutions


def _without_errors(problem: Problem, seed: int) -> list[Array]:
    """Return where fits end as if the variables had no errors: of all points, and of few drawn at random.

    Errors flatten a law that is fitted as if there were none; through few points it is as steep as it may be. Nothing
    where variables have no errors.
    """
    if not isinstance(problem, Orthogonal):
        return []
    plain, solutions = _search(problem.plain(), None, seed)
    starts = [s.at for s in solutions if math.isfinite(s.value)]
    if not starts:
        return []
    rows, rng = np.flatnonzero(plain.weights > 0), np.random.default_rng(seed)
    options = problem.solver.multistart
    weights = np.zeros((options.subsets, plain.weights.size))
    for one in weights:
        some = rng.permutation(rows)[: problem.k + 1]
        one[some] = plain.weights[some]
    begun = np.repeat(starts[0][:, None], options.subsets, axis=1)
    solved = newton.solve(plain.target(weights), begun, iterations=options.subset_iterations)
    return [*starts, *solved.q.T]


def _back_from_infinity(problem: Problem, solution: Solution, grid: Grid) -> list[Solution]:
    """Solve from the other side of infinity where a parameter that is not linear has gone there, as x/s with s."""
    options, starts = problem.solver.multistart, []
    for i in grid.signed:
        if abs(solution.at[i]) > options.infinite:
            place = np.arange(solution.at.size) == i
            starts += [np.where(place, -np.sign(solution.at[i]) * size, solution.at) for size in options.finite]
    inside = [np.clip(start, problem.lower, problem.upper) for start in starts]
    return solve_one(problem, inside, iterations=options.short_iterations) if inside else []


def _leaders(solutions: list[Solution]) -> list[Solution]:
    """Return the best of some solutions, and the best of those with a pole where that fits closer."""
    first = [next((s for s in solutions if s.pole == pole), None) for pole in (False, True)]
    leaders = sorted((s for s in first if s is not None and math.isfinite(s.value)), key=lambda s: s.value)
    return leaders if len(leaders) == 2 and leaders[0].pole else leaders[:1]


def _in_one_valley(solutions: list[Solution], options: MultistartOptions) -> bool:
    """Tell whether the best of many starts are all on their way along one valley."""
    near = [s for s in solutions if s.value <= solutions[0].value * (1 + options.valley_rtol)]
    return (
        len(solutions) > options.min_leaders and len(near) >= options.valley_starts and not any(s.settled for s in near)
    )


def _to_the_end(
    problem: Problem, starts: list[Array], stretches: int, iterations: int, progress: float
) -> list[Solution]:
    """Go on from a few starts, two ways, until they have arrived or get on no longer: a long valley takes time."""
    way: dict[str, Any] = {"iterations": iterations, "both": True}
    reached = [_recheck_convergence(problem, s) for s in _minimise_all(problem, starts, **way)]
    going = list(range(len(starts)))
    for _ in range(stretches):
        going = [i for i in going if not reached[i].settled and reached[i].iterations >= iterations]
        going = [i for i in going if math.isfinite(reached[i].value)]
        if not going:
            break
        further = [
            _recheck_convergence(problem, s) for s in _minimise_all(problem, [reached[i].at for i in going], **way)
        ]
        before = [reached[i].value for i in going]
        for i, solution in zip(going, further, strict=True):
            reached[i] = solution
        going = [i for i, value in zip(going, before, strict=True) if reached[i].value < value * (1 - progress)]
    return sorted(reached, key=_rank)


def _distinct_solutions(solutions: list[Solution], count: int) -> list[Solution]:
    """Return the first solutions that do not stand at one place."""
    chosen: list[Solution] = []
    for solution in solutions:
        if len(chosen) < count and all(abs(solution.value - s.value) > OPTIMUM_RTOL * abs(s.value) for s in chosen):
            chosen.append(solution)
    return chosen


def _from(problem: Problem, starts: list[Array]) -> tuple[Problem, list[Solution]]:
    """Solve from every start."""
    if not problem.objective.is_open(problem.options):
        return problem, _race_starts(problem, starts)
    squares = _race_starts(problem.as_squares(), starts)
    if not math.isfinite(squares[0].value):
        return problem, squares
    pulled = [s.at for s in squares if math.isfinite(s.value)]
    at = pulled[0][:, None]
    if not problem.objective.robust:
        width = with_width(problem.target(), at).options["width"]
        problem = problem.with_options(width=float(width[0, 0]))
        return problem, _race_starts(problem, pulled)
    wide = float(residual_scale(problem.target(), at)[0])
    target, solved = with_threshold(problem.target(), at)
    problem = problem.with_options(delta=float(target.options["delta"][0, 0]))
    solutions = _race_starts(problem, pulled)
    far = solutions[0].value > float(solved.value[0]) * (1 + OPTIMUM_RTOL) + problem.rounding()
    if far or not solutions[0].settled or 2 * count_agreeing(problem, solutions) <= len(solutions):
        solutions = sorted([*solutions, *_solve_narrowing(problem, [solved.q[:, 0], *starts], wide)], key=_rank)
    return problem, solutions


def _solve_narrowing(problem: Problem, starts: list[Array], width: float) -> list[Solution]:
    """Solve with a threshold that narrows: gross errors pull the squares, and all that starts there, far away."""
    delta, options = problem.options.get("delta") or 0.0, problem.solver.multistart
    steps = [width / 4.0**j for j in range(1, 12) if width / 4.0**j > delta]
    for wider in steps:
        solutions = solve_one(problem.with_options(delta=wider), starts, iterations=options.first_iterations)
        starts = [s.at for s in solutions if math.isfinite(s.value)] or starts
    return solve_one(problem, starts, iterations=options.short_iterations)


def _race_starts(problem: Problem, starts: list[Array]) -> list[Solution]:
    """Solve from every start a little way, and from the most promising places on to the end."""
    options = problem.solver.multistart
    if len(starts) == 1:
        return _to_the_end(problem, starts, options.given_stretches, options.long_iterations, options.given_gain)
    if len(starts) <= options.starts_per_round[0]:
        return solve_one(problem, starts, iterations=options.short_iterations)
    heat = options.error_iterations if problem.errs_in_x else options.first_iterations
    solutions = solve_one(problem, starts, iterations=heat)
    leaders = max(options.min_leaders, len(solutions) // 8)
    for _ in range(options.short_iterations // options.first_iterations):
        open_ = [s for s in solutions[:leaders] if not s.settled and math.isfinite(s.value)]
        agree = count_agreeing(problem, solutions)
        # where variables have errors, few agreeing starts are no proof: the other leaders go on
        doubtful = problem.errs_in_x and is_too_few((agree, len(solutions)))
        if not open_ or (solutions[0].settled and agree > 1 and not doubtful):
            break
        rest = [s for s in solutions if not any(s is o for o in open_)]
        ends = solve_one(problem, [s.at for s in open_], iterations=options.first_iterations, near=True)
        solutions = sorted(rest + ends, key=_rank)
    return solutions


def _minimise_all(
    problem: Problem, starts: Sequence[Array], *, iterations: int = 200, both: bool = False, near: bool = False
) -> list[Solution]:
    """Minimise from every start; return where each led.

    Parameters
    ----------
    problem : Problem
    starts : sequence of ndarray
        In the solver's coordinates.
    iterations : int
        At most, for each.
    both : bool
        Go two ways from each start, full Newton and Levenberg's, and keep the better end: for a few starts.
    near : bool
        The starts are close to their ends: full Newton at once.
    """
    begun, squares = np.array(starts, dtype=float).T, problem.objective.scale == "residual"
    target = problem.target()
    if both and squares:
        solved = newton.check_by_second_route(target, begun, iterations=iterations)
    else:
        gauss = np.full(len(starts), squares and not near)
        solved = newton.solve(target, begun, iterations=iterations, gauss=gauss)
    known = problem.poles
    poles = np.zeros(len(starts), dtype=bool) if known is None else known.mask(problem.natural(solved.q.T).T)
    return [
        Solution(
            at=solved.q[:, i].copy(),
            value=float(solved.value[i]),
            settled=bool(solved.settled[i]),
            iterations=int(solved.iterations[i]),
            pole=bool(poles[i]),
        )
        for i in range(len(starts))
    ]


def solve_one(problem: Problem, starts: Sequence[Array], **options: Any) -> list[Solution]:
    """Minimise from every start, see `_minimise_all`; return the solutions, best first."""
    best, *rest = sorted(_minimise_all(problem, starts, **options), key=_rank)
    return [_recheck_convergence(problem, best), *rest]


def _recheck_convergence(problem: Problem, solution: Solution) -> Solution:
    """Return a solution that may have settled though its steps did not say so: by its residuals."""
    if solution.settled or not np.isfinite(solution.value) or problem.objective.scale != "residual":
        return solution
    return replace(solution, settled=_is_converged(problem, solution.at))


def _polish_solution(problem: Problem, solution: Solution) -> Solution:
    """Take Newton's step once more, undamped: what no longer shows in the objective still shows in the parameters."""
    if not (solution.settled and np.isfinite(solution.value)):
        return solution
    at = refine(problem.target(), _drop_zero_terms(problem, solution)[:, None])
    return replace(solution, at=at[:, 0])


def _drop_zero_terms(problem: Problem, solution: Solution) -> Array:
    """Return the solution in which terms that are worth nothing are 0."""
    at = solution.at
    for i in np.flatnonzero((problem.lower == 0) & ~problem.logs & (at > 0)):
        tried = np.where(np.arange(at.size) == i, 0.0, at)
        if problem.value(tried[:, None])[0] <= solution.value:
            at = tried
    return at


def _rank(solution: Solution) -> tuple[bool, float, bool]:
    """Return what the better of two solutions has less of."""
    return solution.pole or not math.isfinite(solution.value), solution.value, not solution.settled


def _is_converged(problem: Problem, u: Array) -> bool:
    """Tell whether the objective has stopped falling, by the relative offset of Bates and Watts (1981).

    The offset is the length of the residuals' projection on the directions the parameters can move in, over the length
    of the residuals (for Huber's loss, of its derivative). A parameter on a bound is not free to move.
    """
    residual = problem.residuals(u)
    table = problem.jacobian(u)[:, ~on_bound(u, problem.coordinates)]
    if not (np.isfinite(residual).all() and np.isfinite(table).all()):
        return False
    root = np.sqrt(problem.weights)
    if float(np.linalg.norm(root * residual)) <= RESIDUAL_RTOL * problem.size():
        return True
    score = residual
    lengths = np.linalg.norm(root[:, None] * table, axis=0)
    table = table[:, lengths > 0] / lengths[lengths > 0]
    if table.shape[1] == 0:
        return True
    basis, strengths, _ = np.linalg.svd(root[:, None] * table, full_matrices=False)
    basis = basis[:, strengths > 1e-10 * strengths[0]]
    score = root * score
    return float(np.linalg.norm(basis.T @ score)) <= MAX_RELATIVE_OFFSET * float(np.linalg.norm(score))
