"""Curves fitted together, or one: solved, polished, and judged by what they tell of their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.base import budgets
from forecast.errors import ForecastError
from forecast.fit.data.observations import Observed
from forecast.fit.data.padded import Padded
from forecast.fit.inference.covariance import uncertainties
from forecast.fit.inference.uncertainty import Uncertainties, Uncertainty
from forecast.fit.problem.problem import Problem
from forecast.fit.problem.setting import Setting
from forecast.fit.problem.target import MANY, Target
from forecast.fit.solve import batch_solver, newton
from forecast.fit.solve.multistart import Solution, agreeing, is_optimum, search

if TYPE_CHECKING:
    from forecast.fit.problem.coordinates import Coordinates
    from forecast.fit.solve.newton import NewtonResult

__all__ = ["SolvedCurves", "fit_curves", "fit_one"]

Array: TypeAlias = NDArray[np.float64]

#: Options that may come from the data of each curve.
OWN = ("delta", "width")


@dataclass(frozen=True)
class SolvedCurves:
    """Some curves, fitted: arrays over them.

    Parameters
    ----------
    q : ndarray
        (k, B), in the solver's coordinates.
    value : ndarray
        (B,), the plain value of the objective.
    settled, converged : ndarray of bool
        (B,): a solution; and the optimum, as far as starts tell.
    starts : ndarray of int
        (2, B): how many starts led there, and how many there were.
    known : Uncertainties
    options : mapping of str to ndarray
        (B,), options that came from the data.
    """

    q: Array
    value: Array
    settled: NDArray[np.bool_]
    converged: NDArray[np.bool_]
    starts: NDArray[np.int64]
    known: Uncertainties
    options: Mapping[str, Array]


def fit_one(
    setting: Setting, seen: Observed, linked: Array, begun: Array | None
) -> tuple[Problem, Solution, tuple[int, int], Uncertainty] | None:
    """Fit one data set as a batch of one.

    Parameters
    ----------
    setting : Setting
    seen : Observed
    linked : ndarray
        y in the objective's link.
    begun : ndarray, optional
        The start that was given, in the solver's coordinates.

    Returns
    -------
    tuple or None
        The problem with the options that come from the data, its solution, how many starts led there and how many
        there were, and what is known of the parameters; None where the batch does not settle it.
    """
    if seen.y.size > MANY:  # the search goes over so many points piece by piece
        return None
    part = Padded.of(seen, linked)
    begun = None if begun is None else begun[:, None]
    target, solved, normal, starts = batch_solver.solve_batch(
        setting.law, part, setting.coordinates, setting.target(part), begun, grid=False
    )
    if not solved.settled[0] or not np.isfinite(solved.q).all():
        return None
    known, options = _known(setting, part, target, solved, normal, groups=seen.groups)
    solution = Solution(at=solved.q[:, 0], value=float(solved.value[0]), settled=True, iterations=0)
    problem = setting.problem(part, 0, {o: float(v[0]) for o, v in options.items()})
    return problem, solution, (int(starts[0, 0]), int(starts[1, 0])), known.one(0)


def _known(
    setting: Setting,
    part: Padded,
    target: Target,
    solved: NewtonResult,
    normal: Array | None,
    *,
    groups: NDArray[np.int64] | None = None,
) -> tuple[Uncertainties, dict[str, Array]]:
    """Polish solutions; return what is known of their parameters, and the options that came from the data, (B,)."""
    options = {o: np.ravel(target.options[o]) for o in OWN if o in target.options and np.ndim(target.options[o]) == 2}
    _polish(target, solved, setting.coordinates, normal)
    known = uncertainties(
        setting.law, target, solved.q, setting.coordinates,
        lambda b: setting.problem(part, b, {o: float(v[b]) for o, v in options.items()}),
        scale_known=part.scale_known, groups=groups, settled=solved.settled,
        solved=None if normal is None or groups is not None else (normal, solved.value),
    )  # fmt: skip
    return known, options


def fit_curves(setting: Setting, part: Padded, begun: Array | None, seed: int) -> SolvedCurves:
    """Fit some curves; what is not settled at once is searched with more starts, one by one."""
    target, solved, bread, starts = batch_solver.solve_batch(
        setting.law, part, setting.coordinates, setting.target(part), begun
    )
    target = _searched(setting, part, target, solved, starts, begun, seed)
    known, options = _known(setting, part, target, solved, bread)
    vague = np.zeros(solved.value.shape, dtype=bool)
    vague[list(known.unidentified)] = True
    exact = solved.value <= target.rounding() if vague.any() else False
    converged = solved.settled & is_optimum(starts[0], starts[1], vague, exact)
    return SolvedCurves(solved.q, solved.value, solved.settled, converged, starts, known, options)


def _searched(
    setting: Setting,
    part: Padded,
    target: Target,
    solved: NewtonResult,
    starts: NDArray[np.int64],
    begun: Array | None,
    seed: int,
) -> Target:
    """Search for the optimum of each curve that did not settle as for that of a single fit."""
    options = {o: np.array(v) for o, v in target.options.items()}
    for b in map(int, np.flatnonzero(~solved.settled)):
        problem = setting.problem(part, b)
        if problem.n < problem.k:
            continue
        try:
            problem, solutions = search(problem, None if begun is None else begun[:, b], seed)
        except (ForecastError, ArithmeticError, ValueError, np.linalg.LinAlgError):
            budgets.check_time("fits one by one", b, solved.settled.size, "curves")
            continue
        if solutions and np.isfinite(solutions[0].value) and solutions[0].settled:
            solved.q[:, b], solved.value[b], solved.settled[b] = solutions[0].at, solutions[0].value, True
            starts[:, b] = agreeing(problem, solutions), len(solutions)
            for option in OWN:
                if option in options and options[option].ndim == 2:
                    options[option][b] = problem.options[option]
    return replace(target, options=options)


def _polish(target: Target, solved: NewtonResult, coordinates: Coordinates, bread: Array | None) -> None:
    """Take one step more: where the objective has stopped falling, parameters may be off by a share of their errors."""
    open_ = np.arange(solved.value.size) if bread is None else np.flatnonzero(np.isnan(bread[0, 0]))
    if not open_.size:
        return
    some = open_[solved.settled[open_]]
    if some.size:
        at = newton.refined(
            target.take(some), solved.q[:, some], coordinates.lower, coordinates.upper, coordinates.logs
        )
        # the last digits of a value that is rounding say nothing: a step that lowers nothing raises nothing
        solved.q[:, some], solved.value[some] = at, np.fmin(target.take(some).value(at), solved.value[some])
