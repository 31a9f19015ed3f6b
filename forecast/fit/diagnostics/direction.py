"""Whether a law can go where the data go: they rise with a variable, and whatever its parameters the law only falls.

Such a fit ends on a bound, or with a term that has vanished, and looks like the optimum that it is.
"""

from __future__ import annotations

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.errors import printable
from forecast.fit.problem.problem import Problem
from forecast.fit.solutions import Solutions
from forecast.fit.solve.domain import law_values, likely_parameters

#: What has this chance without any trend is one; of fewer points nothing is said.
CHANCE, MIN_POINTS = 0.01, 5
#: A law of several variables is flat in one that moves it by less than this share of what the data do there.
FLAT = 0.01
#: Rows that are looked at, of more.
MOST_ROWS = 10_000
#: How the law and the data move: less than this share of the largest move is rounding.
ROUNDING = 1e-9


def opposite_direction(solutions: Solutions) -> str:
    """Say that y rises with a variable and this law only falls, or the reverse; empty where the law can follow."""
    problem = solutions.problem()
    if problem.law.levels or problem.errs_in_x or problem.n < MIN_POINTS:
        return ""
    rows = _thin_rows(problem.weights > 0)
    variables = {name: np.broadcast_to(v, rows.shape)[rows] for name, v in problem.variables.items()}
    columns = [name for name, v in variables.items() if np.ptp(v) > 0]
    trends = _directions(solutions, problem, rows, {name: variables[name] for name in columns})
    called = solutions.curves.called
    for name, trend in trends.items():
        if trend and _only_direction(problem, variables, name) == -trend:
            words = ("rises", "falls") if trend > 0 else ("falls", "rises")
            y, x = (printable(called.get(n, n), 60) for n in (problem.law.output, name))
            return f"{y} {words[0]} with {x}, this law only {words[1]}"
    return ""


def _directions(solutions: Solutions, problem: Problem, rows: BoolArray, variables: dict[str, Array]) -> dict[str, int]:
    """Return 1 or -1 for the variables with which the data surely rise or fall, and the law, of several, does not."""
    from scipy.special import stdtrit

    observed = problem.y[rows]
    if len(variables) == 1:
        left, table = _ranks(observed), [_ranks(v) for v in variables.values()]
    else:  # what the law leaves
        at = problem.predicted(solutions.problem().natural(solutions.q[:, 0]))[rows]
        with np.errstate(all="ignore"):
            left = observed - problem.objective.linked(at)
        table = [np.log(v) if (v > 0).all() else v for v in variables.values()]
    freedom = left.size - len(table) - 1
    if freedom < 1 or not np.isfinite(left).all():
        return {}
    design = np.column_stack([np.ones(left.size), *((t - t.mean()) / t.std() for t in table)])
    slopes, *_ = np.linalg.lstsq(design, left, rcond=None)
    spread = np.linalg.pinv(design.T @ design).diagonal() * np.sum((left - design @ slopes) ** 2) / freedom
    sure = np.abs(slopes) > float(stdtrit(freedom, 1 - CHANCE / 2)) * np.sqrt(spread)
    trends = {n: int(np.sign(slopes[i])) * int(sure[i]) for i, n in enumerate(variables, start=1)}
    if len(variables) == 1:
        return trends
    fitted = solutions.q[:, :1]
    given = {name: np.broadcast_to(v, rows.shape)[rows] for name, v in problem.variables.items()}
    return {
        n: trend * int(np.abs(_law_changes(problem, fitted, given, n)).max() <= FLAT * 2 * abs(slopes[i]))
        for i, (n, trend) in enumerate(trends.items(), start=1)
    }


def _thin_rows(rows: BoolArray) -> BoolArray:
    """Return at most `MOST_ROWS` of these rows, evenly spaced: more would make nothing surer."""
    kept = np.flatnonzero(rows)
    out = np.zeros_like(rows)
    out.flat[kept[:: max(1, -(-kept.size // MOST_ROWS))]] = True
    return out


def _ranks(values: Array) -> Array:
    """Return ranks, of equal values their mean."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - 0.5 * (count - 1))[np.ravel(place)])


def _only_direction(problem: Problem, variables: dict[str, Array], name: str) -> int:
    """Return 1 or -1 where the law only rises or falls with a variable, at all likely parameters; else 0."""
    moves = _law_changes(problem, likely_parameters(problem), variables, name)
    moves = moves[np.isfinite(moves).all(axis=1)]
    size = ROUNDING * np.abs(moves).max(axis=1, keepdims=True, initial=0.0)
    rises, falls = bool((moves > size).any()), bool((moves < -size).any())
    return int(rises) - int(falls)


def _law_changes(problem: Problem, samples: Array, variables: dict[str, Array], name: str) -> Array:
    """Return how the law moves, at some parameters (k, S), as a variable goes up: along its points, or their range.

    Not a number where it has no value, or none that is positive under a log objective.
    """
    steps = np.unique(variables[name])
    places = [{name: steps}]
    if len(variables) > 1:
        places = [{**variables, name: np.full(variables[name].size, end)} for end in (steps[0], steps[-1])]
    with np.errstate(all="ignore"):
        levels = [problem.objective.linked(law_values(problem, samples, place)) for place in places]
        return np.diff(levels[0], axis=1) if len(levels) == 1 else levels[1] - levels[0]
