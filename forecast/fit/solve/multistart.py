"""The search for the optimum of one data set: rounds of starts until they agree; options that come from the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.base import budgets
from forecast.fit.problem.objective import HUBER_FACTOR, robust_scale, rows_of
from forecast.fit.problem.problem import Problem, Solution, polished, solve
from forecast.fit.problem.rescaling import Rescaled, rescaled
from forecast.fit.solve.linear import solved_directly
from forecast.fit.solve.starts import Grid

__all__ = ["agreeing", "few", "is_optimum", "outcome", "search"]

Array: TypeAlias = NDArray[np.float64]

#: Two solutions whose objectives differ by less than this share are the same optimum.
SAME = 1e-6
#: How many starts are polished in each round; the next round comes where those do not agree.
ROUNDS = (4, 24, 96, 288)
#: Fewer of the starts than this share are few.
FEW = 0.1
#: Iterations for one start of several, and of a stretch of one that must arrive; how many of those come at the end.
SHORT, LONG, LAST = 100, 1000, 3
#: Stretches a start may go on for, and the share by which each must lower the objective: one given, one of several.
ALONE, OF_MANY = (40, 1e-6), (3, 1e-3)
#: Iterations of the first heat of many starts, and how many go on at least.
HEAT, LEADERS = 25, 8

#: Huber's threshold is never less (of logarithms): below, nothing but rounding is left of the squares.
FLOOR = 1e-8
#: It is settled once it moves by less than this share: another unit of the data must not show in the objective.
STEADY = 1e-12


def agreeing(problem: Problem, found: list[Solution]) -> int:
    """Return how many solutions are as good as the best, or pass through every point but for rounding."""
    size = max(abs(found[0].value), float(problem.target().unit()))
    least = found[0].value + SAME * size + problem.rounding()
    return sum(math.isfinite(s.value) and s.value <= least for s in found)


def is_optimum(agree: Any, total: Any, vague: Any, exact: Any) -> Any:
    """Tell whether what has settled is the optimum, by how many of the starts led there; of numbers or arrays.

    Flat in some direction from one start only, it may be a plateau; unless nothing fits better than exactly.
    """
    return (np.logical_not(vague) | (agree > 1) | exact) & ((total == 1) | (agree > 1))


def outcome(
    converged: bool, starts: tuple[int, int], given: bool, bounds: Mapping[str, tuple[float, int]], instead: str = ""
) -> str:
    """Say how a fit ended: whether it converged, whether starts agree, and what stands on a bound."""
    agree, total = starts
    parts = ["converged" if converged else "not converged"]
    if instead:
        parts.append(instead)
    elif given:
        parts.append("from the given start")
    elif total > 1 and agree == 1:
        parts.append(f"{total} starts disagree about the best, which one of them found")
    elif few(starts):
        parts.append(f"only {agree} of {total} starts agree")
    else:
        parts.append("the starts agree")
    return "; ".join([*parts, *(f"{name} at boundary ({bound:g})" for name, (bound, _) in bounds.items())])


def few(starts: tuple[int, int]) -> bool:
    """Tell whether so few of many starts led to the best objective that a better one may exist."""
    agree, total = starts
    return total > 1 and agree < FEW * total


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
    if direct is not None and direct.settled:
        return problem, [direct]
    scaled = rescaled(problem)
    if direct is not None:
        start = direct.at
    if scaled is None:
        tried, found = _searched(problem, start, seed)
    else:
        begun = None if start is None else scaled.inwards(start[None])[0]
        tried, found = _given(scaled, *_searched(scaled.problem, begun, seed))
        if found and not _representable(problem, found[0].at):
            tried, found = _searched(problem, start, seed)
    if found:
        found[0] = polished(tried, found[0])
    return tried, found


def _representable(problem: Problem, at: Array) -> bool:
    """Tell whether parameters, in these units, are within the range of numbers."""
    p = problem.natural(at)
    return bool(np.isfinite(p).all() and (p[problem.logs & np.isfinite(at)] > 0).all())


def _given(scaled: Rescaled, tried: Problem, found: list[Solution]) -> tuple[Problem, list[Solution]]:
    """Return solutions of the rescaled problem as those of the given one, and that with the options settled."""
    problem = scaled.given.with_options(**scaled.options(tried.options, scaled.unit))
    if not found:
        return problem, found
    places = scaled.outwards(np.array([s.at for s in found]))
    return problem, [replace(s, at=at, value=s.value * scaled.share) for s, at in zip(found, places, strict=True)]


def _searched(problem: Problem, start: Array | None, seed: int) -> tuple[Problem, list[Solution]]:
    if start is not None:
        return _from(problem, [start])
    grid = Grid(problem, seed=seed)
    found: list[Solution] = []
    tried = problem
    # Huber's loss with a threshold that somebody chose, often far below the scatter, has many valleys
    many = problem.objective.robust and problem.delta is not None
    for count in ROUNDS[2 if grid.hard else int(many) :]:
        budgets.check_time("the search for the optimum")
        # what an earlier round found is among the starts: a later one never ends above it
        begun = ([found[0].at] if found and math.isfinite(found[0].value) else []) + grid.best(count)
        if count > ROUNDS[0]:
            begun += grid.spread(count // 2)
        if not begun or (found and len(begun) <= len(found)):
            break
        tried, found = _from(problem, begun)
        enough = len(found) // 2 if count == ROUNDS[0] else 1
        if len(begun) == 1 or (found[0].settled and agreeing(tried, found) > enough):
            return tried, found
    if found and not found[0].settled and math.isfinite(found[0].value):
        # a long curved valley takes many steps; a second one that arrives at the same end confirms it
        last = _different(found, LAST)
        ends = sorted((_to_the_end(tried, s.at, *OF_MANY) for s in last), key=lambda s: (s.value, not s.settled))
        if ends[0].value <= found[0].value:
            rest = [s for s in found if not any(s is one for one in last)]
            found = sorted([*ends, *rest], key=lambda s: (s.value, not s.settled))
    return tried, found


def _to_the_end(problem: Problem, start: Array, stretches: int, progress: float) -> Solution:
    """Go on from one start, two ways, until it has arrived or gets on no longer: a long curved valley takes time."""
    found = solve(problem, [start], iterations=LONG, both=True)[0]
    for _ in range(stretches):
        before = found.value
        if found.settled or not math.isfinite(before) or found.iterations < LONG:
            break
        found = solve(problem, [found.at], iterations=LONG, both=True)[0]
        if not found.value < before * (1 - progress):
            break
    return found


def _different(found: list[Solution], count: int) -> list[Solution]:
    """Return the first solutions that do not stand at one place."""
    chosen: list[Solution] = []
    for solution in found:
        if len(chosen) < count and all(abs(solution.value - s.value) > SAME * abs(s.value) for s in chosen):
            chosen.append(solution)
    return chosen


def _from(problem: Problem, begun: list[Array]) -> tuple[Problem, list[Solution]]:
    """Solve from every start."""
    robust = problem.objective.robust
    free_width = problem.objective.loss == "quantile" and problem.options.get("width") is None
    if (robust and problem.delta is None) or free_width:
        squares = _race(problem.as_squares(), begun)
        if not math.isfinite(squares[0].value):
            return problem, squares
        pulled = [s.at for s in squares if math.isfinite(s.value)]
        if free_width:
            problem = _width(problem, pulled[0])
            return problem, _race(problem, pulled)
        wide, (problem, at) = (
            robust_scale(problem.residuals(pulled[0]), problem.k, problem.weights),
            _threshold(problem, pulled[0]),
        )
        found = _race(problem, pulled)
        far = found[0].value > problem.value(at) * (1 + SAME) + problem.rounding()
        if far or not found[0].settled or 2 * agreeing(problem, found) <= len(found):
            found = sorted([*found, *_narrowed(problem, [at, *begun], wide)], key=lambda s: (s.value, not s.settled))
        return problem, found
    return problem, _race(problem, begun)


def _narrowed(problem: Problem, begun: list[Array], width: float) -> list[Solution]:
    """Solve with a threshold that narrows: gross errors pull the squares, and all that starts there, far away."""
    delta = problem.delta or 0.0
    steps = [width / 4.0**j for j in range(1, 12) if width / 4.0**j > delta]
    for wider in steps:
        found = solve(problem.with_options(delta=wider), begun, iterations=HEAT)
        begun = [s.at for s in found if math.isfinite(s.value)] or begun
    return solve(problem, begun, iterations=SHORT)


def _race(problem: Problem, begun: list[Array]) -> list[Solution]:
    """Solve from every start a little way, and from the most promising places on to the end."""
    if len(begun) == 1:
        return [_to_the_end(problem, begun[0], *ALONE)]
    if len(begun) <= LEADERS:
        return solve(problem, begun, iterations=SHORT)
    found = solve(problem, begun, iterations=HEAT)
    leaders = max(LEADERS, len(found) // 8)
    for _ in range(SHORT // HEAT):
        open_ = [s for s in found[:leaders] if not s.settled and math.isfinite(s.value)]
        if not open_ or (found[0].settled and agreeing(problem, found) > 1):
            break
        rest = [s for s in found if not any(s is o for o in open_)]
        ends = solve(problem, [s.at for s in open_], iterations=HEAT, near=True)
        found = sorted(rest + ends, key=lambda s: (s.value, not s.settled))
    return found


def _threshold(problem: Problem, at: Array) -> tuple[Problem, Array]:
    """Set Huber's threshold by iterating between it and the fit, as scale and location are estimated together."""
    for _ in range(60):
        delta = HUBER_FACTOR * _huber_scale(problem, at)
        # noise-free points have no scale: any threshold above rounding leaves their squares alone
        delta = max(delta, FLOOR)
        if problem.delta is not None and abs(delta - problem.delta) <= STEADY * problem.delta:
            break
        problem = problem.with_options(delta=delta)
        at = solve(problem, [at])[0].at
    return problem, at


def _huber_scale(problem: Problem, at: Array) -> float:
    """Return the residual scale: robust, or the one of greatest likelihood where it is profiled out."""
    residuals = problem.residuals(at)
    scale = float(robust_scale(residuals, problem.k, problem.weights))
    if not problem.objective.profile or scale <= 0:
        return scale
    weights = problem.weights / problem.weights.sum()
    for _ in range(200):
        z = residuals / scale
        ratio = float(np.sum(weights * z * np.clip(z, -HUBER_FACTOR, HUBER_FACTOR)))
        scale *= math.sqrt(ratio)
        if abs(ratio - 1) < 1e-12 or scale <= 0:
            break
    return scale


def _width(problem: Problem, at: Array) -> Problem:
    """Set the width over which the quantile's kink is rounded off (He et al., 2021: ((k + log n)/n)**0.4 scales)."""
    scale = robust_scale(problem.residuals(at), problem.k, problem.weights)
    n = float(rows_of(problem.weights))
    share = max(((problem.k + math.log(n)) / n) ** 0.4, 0.05)
    size = problem.size() / math.sqrt(float(problem.weights.sum()))
    return problem.with_options(width=max(share * scale, 1e-9 * size))
