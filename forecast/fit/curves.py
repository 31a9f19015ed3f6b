"""Curves fitted together, or one: solved, polished, and judged by what they tell of their parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from forecast.base import budgets
from forecast.base.arrays import Array, BoolArray, IntArray
from forecast.errors import FitError, ForecastError
from forecast.fit.data.observations import Observations
from forecast.fit.inference.covariance import assess_parameters
from forecast.fit.kernels.general import natural
from forecast.fit.problem.poles import POLE_AMONG_DATA, POLE_BY_CHANCE, Poles, poles_of
from forecast.fit.problem.problem import MAX_UNBLOCKED_POINTS, Problem, Setting, Target
from forecast.fit.solutions import Solutions
from forecast.fit.solve import multistart, newton
from forecast.fit.solve.domain import MAX_FINITE_SHARE, check_domain
from forecast.fit.solve.multistart import count_agreeing, is_optimum, is_too_few, pole_remark_of, search

if TYPE_CHECKING:
    from forecast.fit.solve.newton import NewtonResult


def fit_one(
    setting: Setting, observations: Observations, problem: Problem, start: Array | None, seed: int
) -> Solutions:
    """Fit one data set: as a curve beside no other where that settles it, else by a search from many starts.

    Laws with groups, errors in x and very many points go by the search at once.

    Parameters
    ----------
    setting : Setting
    observations : Observations
    problem : Problem
        The same as a problem.
    start : ndarray, optional
        The start that was given, in the solver's coordinates.
    seed : int

    Raises
    ------
    FitError
        If the law cannot be computed from any start.
    """
    result: Solutions | None = None
    if not (
        setting.law.levels or observations.sigma_x or observations.y.size > MAX_UNBLOCKED_POINTS
    ):  # the search goes over so many piece by piece
        result = _converged_in_batch(setting, observations, problem, start)
    if result is None:
        result = _fit_by_search(setting, observations, problem, start, seed)
    # what is known was computed from the very arrays that the solution keeps
    vague = bool(result.known.unidentified)
    agree, total = int(result.starts[0, 0]), int(result.starts[1, 0])
    exact = bool(result.value[0] <= result.problem().rounding())
    # a curve may come near its points in many ways where these may lie elsewhere: few agreeing starts are no proof
    doubtful = problem.errs_in_x and is_too_few((agree, total))
    result.converged[:] &= bool(is_optimum(agree, total, vague, exact)) and not doubtful
    if problem.poles is not None and bool(problem.poles.mask(problem.natural(result.q[:, 0])[:, None])[0]):
        result.refute(POLE_AMONG_DATA)
    return result


def _converged_in_batch(
    setting: Setting, observations: Observations, problem: Problem, start: Array | None
) -> Solutions | None:
    part = observations.as_curves()
    target, solved, normal, starts = multistart.solve_batch(
        setting.law, part, setting.target(part), None if start is None else start[:, None],
        grid=False,
    )  # fmt: skip
    if not solved.settled[0] or not np.isfinite(solved.q).all():
        return None
    _polish_optima(target, solved, normal)
    return _single_solution(
        setting, observations, problem, _per_curve_options(target), solved.q, True, starts, start is not None
    )


def _fit_by_search(
    setting: Setting, observations: Observations, problem: Problem, start: Array | None, seed: int
) -> Solutions:
    problem, found = search(problem, start, seed)
    if not found or not math.isfinite(found[0].value):
        check_domain(problem, setting.name, start, often=MAX_FINITE_SHARE)
    if not found:
        raise FitError(
            f"{setting.name}: found no parameters for which the law can be computed on these data; give start="
        )
    best = found[0]
    if not math.isfinite(best.value):
        begins = "any start" if start is None else "this start"
        raise FitError(f"{setting.name}: the objective cannot be computed from {begins}")
    starts = np.array([[count_agreeing(problem, found)], [len(found)]])
    tuning = setting.objective.tuning
    is_tuned = tuning not in setting.options and problem.options.get(tuning) is not None
    own = {tuning: np.array([problem.options[tuning]])} if is_tuned else {}
    result = _single_solution(
        setting, observations, problem, own, best.at[:, None], best.settled, starts, start is not None
    )
    result.judge(pole_remark_of(problem, found))
    return result


def _single_solution(
    setting: Setting, observations: Observations, problem: Problem, own: Mapping[str, Array], q: Array,
    settled: bool, starts: IntArray, given: bool,
) -> Solutions:  # fmt: skip
    result = Solutions(
        setting=setting, curves=observations.as_curves(), q=q, settled=np.array([True]),
        converged=np.array([settled]), starts=starts, options=own, given=given,
    )  # fmt: skip
    result.keep(problem.with_options(**{o: float(v[0]) for o, v in own.items()}))
    return result


def _per_curve_options(target: Target) -> dict[str, Array]:
    """Return the options that came from the data of each curve, (B,)."""
    tuning = target.objective.tuning
    tuned = tuning in target.options and np.ndim(target.options[tuning]) == 2
    return {tuning: np.ravel(target.options[tuning])} if tuned else {}


def fit_curves(setting: Setting, part: Observations, start: Array | None, seed: int) -> Solutions:
    """Fit some curves; what is not settled at once is searched with more starts, one by one."""
    target, solved, bread, starts = multistart.solve_batch(setting.law, part, setting.target(part), start)
    poles = poles_of(setting.law, setting.coordinates, part.variables, part.weights)
    doubted = _with_pole(poles, setting, solved)
    if start is None:
        solved.settled[doubted] = False
    target, unsure = _search_optima(setting, part, target, solved, starts, start, seed)
    doubted = _with_pole(poles, setting, solved) | unsure
    options = _per_curve_options(target)
    _polish_optima(target, solved, bread)
    known = assess_parameters(
        setting.law, target, solved.q, setting.coordinates,
        lambda b: setting.problem(part.one(b), {o: float(v[b]) for o, v in options.items()}),
        absolute_sigma=part.absolute_sigma, converged=solved.settled,
        solved=None if bread is None else (bread, solved.value),
    )  # fmt: skip
    vague = np.zeros(solved.value.shape, dtype=bool)
    vague[list(known.unidentified)] = True
    exact = solved.value <= target.rounding() if vague.any() else False
    converged = solved.settled & is_optimum(starts[0], starts[1], vague, exact) & ~doubted
    return Solutions(
        setting=setting, curves=part, q=solved.q, settled=solved.settled, converged=converged, starts=starts,
        options=options, given=start is not None, assessed=known,
    )  # fmt: skip


def _search_optima(
    setting: Setting,
    part: Observations,
    target: Target,
    solved: NewtonResult,
    starts: IntArray,
    start: Array | None,
    seed: int,
) -> tuple[Target, BoolArray]:
    """Search for the optimum of each curve that did not settle as for that of a single fit; tell which are in doubt."""
    doubted = np.zeros(solved.settled.size, dtype=bool)
    options = {o: np.array(v) for o, v in target.options.items()}
    tuning = setting.objective.tuning
    for b in map(int, np.flatnonzero(~solved.settled)):
        problem = setting.problem(part.one(b))
        if problem.n < problem.k:
            continue
        try:
            problem, solutions = search(problem, None if start is None else start[:, b], seed)
        except (ForecastError, ArithmeticError, ValueError, np.linalg.LinAlgError):
            budgets.check_time("fits one by one", b, solved.settled.size, "curves")
            continue
        if solutions and np.isfinite(solutions[0].value) and solutions[0].settled:
            solved.q[:, b], solved.value[b], solved.settled[b] = solutions[0].at, solutions[0].value, True
            starts[:, b] = count_agreeing(problem, solutions), len(solutions)
            doubted[b] = pole_remark_of(problem, solutions) not in ("", POLE_BY_CHANCE)
            if tuning in options and options[tuning].ndim == 2:
                options[tuning][b] = problem.options[tuning]
    return replace(target, options=options), doubted


def _with_pole(poles: Poles | None, setting: Setting, solved: NewtonResult) -> BoolArray:
    """Tell which curves were solved with a pole among their points."""
    if poles is None:
        return np.zeros(solved.settled.size, dtype=bool)
    return poles.mask(natural(solved.q, setting.coordinates.logs))


def _polish_optima(target: Target, solved: NewtonResult, bread: Array | None) -> None:
    """Take one step more: where the objective has stopped falling, parameters may be off by a share of their errors."""
    open_ = np.arange(solved.value.size) if bread is None else np.flatnonzero(np.isnan(bread[0, 0]))
    if not open_.size:
        return
    some = open_[solved.settled[open_]]
    if some.size:
        at = newton.refine(target.take(some), solved.q[:, some])
        # the last digits of a value that is rounding say nothing: a step that lowers nothing raises nothing
        solved.q[:, some], solved.value[some] = at, np.fmin(target.take(some).value(at), solved.value[some])
