"""Rows at which a law has no value, whatever its parameters: log(0), a power of a negative number.

Found by trial: the law is computed at many likely parameters, none of them a round number, and a row counts where it
never has a value while others have. Without this a fit would end "not converged", and leave the reader to find the row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forecast.base.arrays import Array, BoolArray, IntArray
from forecast.errors import DataError, first_names, printable
from forecast.fit.kernels.general import program_of
from forecast.fit.solve.starts import low_discrepancy, plausible_values, shift_places

if TYPE_CHECKING:
    from forecast.fit.problem.problem import Problem


#: How many parameters are tried, and how far they are moved off round numbers.
N_SAMPLES, OFF_ROUND_FACTOR = 64, 1.0137
#: After a failed fit: a row counts that has a value at no more than this share of the parameters.
MAX_FINITE_SHARE = 0.75
#: Rows that are tried; of more, all that are not positive and an even share of the others.
MAX_TRIED_ROWS = 4000


def check_domain(problem: Problem, name: str, start: Array | None = None, *, often: float = 0.0) -> None:
    """Raise where a law has no value at some rows while it has at others.

    Parameters
    ----------
    problem : Problem
    name : str
    start : ndarray, optional
        A given start, in the solver's coordinates: where the law has values at it, all is well.
    often : float
        A row counts that has a value at no more than this share of the parameters at which others have; more than
        none of them once a fit has failed.

    Raises
    ------
    DataError
        Naming the variable, the rows and the law.
    """
    shape = problem.observed.shape
    doubtful = np.zeros(shape, dtype=bool)
    for values in problem.variables.values():
        doubtful |= values <= 0
    rows = np.flatnonzero(problem.weights > 0)
    if rows.size > MAX_TRIED_ROWS:
        rows = np.union1d(rows[doubtful[rows]][:MAX_TRIED_ROWS], rows[:: rows.size // MAX_TRIED_ROWS])
    if start is not None and np.isfinite(problem.as_squares().value(start[:, None])).all():
        return
    samples = likely_parameters(problem)
    seen = {n: v[rows] for n, v in problem.variables.items()}
    good = _rows_mostly_finite(problem, samples, seen, often)
    if good.all() or not good.any():
        return
    bad = np.flatnonzero(~good)
    for variable, values in seen.items():
        low = bad[values[bad] <= 0]
        if not low.size or variable in problem.law.levels:
            continue
        # that variable is at fault where the law has a value once it is moved to where others are
        usable = values[good & (values > 0)]
        moved = {n: v[low] for n, v in seen.items()}
        moved[variable] = np.full(low.size, float(np.median(usable)) if usable.size else 1.0)
        cured = low[_rows_mostly_finite(problem, samples, moved, often)]
        if cured.size:
            _undefined_rows_error(problem, variable, rows[cured], name)


def likely_parameters(problem: Problem) -> Array:
    """Return likely parameters in the solver's coordinates, (k, few)."""
    law = problem.law
    roles = [law._role(n) for n in problem.free]
    kinds = list(dict.fromkeys(roles))
    lists = plausible_values(law, problem.coordinates, [roles.index(r) for r in kinds], problem.variables)
    places = shift_places(law._plain, {n: problem.variables[n] for n in law._plain.variables})
    for i, role in enumerate(kinds):
        if role in places:  # what is subtracted from a variable may lie beyond the data
            low, high = float(places[role].min()), float(places[role].max())
            reach = np.array([0.4, 3.0]) * (high - low)
            lists[i] = np.sort(np.concatenate([lists[i], low - reach, high + reach, [-low, -high]]))
    table = low_discrepancy(lists, (27, ()), N_SAMPLES)
    with np.errstate(all="ignore"):
        inside = problem.internal(table[:, [kinds.index(r) for r in roles]] * OFF_ROUND_FACTOR).T
        inside = np.clip(inside, problem.lower[:, None], problem.upper[:, None])
    return np.asarray(inside[:, np.isfinite(inside).all(axis=0)])


def law_values(problem: Problem, samples: Array, variables: dict[str, Array]) -> Array:
    """Return the law at some rows, (samples, rows)."""
    p = problem.natural(samples.T).T
    given = {n: np.float64(v) for n, v in problem.fixed.items()}
    columns = {n: p[i][:, None] for i, n in enumerate(problem.free)}
    with np.errstate(all="ignore"):
        found = program_of(problem.law).evaluate({**given, **columns, **variables}, 0)[0]
    rows = next(iter(variables.values())).size
    return np.asarray(np.broadcast_to(found, (samples.shape[1], rows)), dtype=float)


def _rows_mostly_finite(problem: Problem, samples: Array, variables: dict[str, Array], share: float) -> BoolArray:
    """Tell at which rows the law has a value often enough; under a log objective a positive one."""
    found = law_values(problem, samples, variables)
    good = np.isfinite(found) & (found > 0 if problem.objective.log else True)
    some = good.any(axis=1)
    return np.asarray(good.sum(axis=0) > share * max(int(some.sum()), 1))


def _undefined_rows_error(problem: Problem, variable: str, rows: IntArray, name: str) -> None:
    where = f"{'row' if rows.size == 1 else 'rows'} {first_names(rows + 1)} of {problem.observed.size} (counted from 1)"
    law = printable(problem.law.text, 80)
    least = float(problem.variables[variable][rows].min())
    raise DataError(
        f"{name}: variable '{variable}' is not positive in {where} (down to {least:g}), where '{law}' has no value; "
        "drop these rows, or shift the variable with let="
    )
