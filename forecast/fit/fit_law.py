"""Law + data = fit, of one curve or many: choose the objective and the starts, solve, and judge the outcome.

Curves that are fitted together, or one, are solved, polished, and judged by what they tell of their parameters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import tables
from forecast.base import budgets
from forecast.base.arrays import Array, BoolArray, IntArray
from forecast.contract.specs import PublishedFit
from forecast.errors import FitError, ForecastError, UsageError, printable
from forecast.fit import objectives
from forecast.fit.data import groups as grouping
from forecast.fit.data.column_units import in_order, in_units
from forecast.fit.data.observations import Observations, read_observations
from forecast.fit.fit import Fit
from forecast.fit.inference.bootstrap import Resampling, check_replicates as check_resampling, with_replicates
from forecast.fit.inference.covariance import assess_parameters, join_uncertainties, placed
from forecast.fit.kernels.general import natural
from forecast.fit.options import FitRequest
from forecast.fit.problem.errors_in_variables import Orthogonal
from forecast.fit.problem.poles import POLE_AMONG_DATA, POLE_BY_CHANCE, Poles, poles_of
from forecast.fit.problem.problem import (
    MAX_UNBLOCKED_POINTS,
    Problem,
    Setting,
    Target,
    law_label,
    solver_coordinates,
    start_in_coordinates,
)
from forecast.fit.solutions import Solutions
from forecast.fit.solve import multistart, newton
from forecast.fit.solve.domain import MAX_FINITE_SHARE, check_domain
from forecast.fit.solve.multistart import count_agreeing, is_optimum, is_too_few, pole_remark_of, search, solve_one
from forecast.fit.solve.parallel import check_workers, share
from forecast.fit.solver_options import SolverOptions
from forecast.laws import Law
from forecast.tables.schema import separate

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


def fit_law(law: Law, data: Any, request: FitRequest) -> Any:
    """Fit a law to data; the function behind `forecast.Law.fit`.

    Parameters
    ----------
    law : forecast.Law
    data : xarray.Dataset, DataFrame, dict of arrays, path of a CSV, or name of a table
    request : Request

    Returns
    -------
    Fit, or Fits with ``by``

    Raises
    ------
    DataError, FitError, UsageError
        Naming the rows, the parameters or the option.
    """
    name = law_label(law)
    request.check(name)
    check_workers(request.workers, name, law)
    varying = grouping.check_varying(request, name)
    request = in_order(data, request, name)
    data = in_units(law.variables, {law.output: law.unit}, data, request, name)
    _check_mixed(law, data, request, name)
    if request.protocol is not None:
        from forecast.fit.protocols import fit_by

        return fit_by(fit_law, law, data, request)
    chosen = objectives.find_objective(request.objective or law.objective or "least_squares", where=name)
    options = chosen.resolve_options(request.options or {}, name)
    if request.bootstrap is None and request.resample != "pairs":
        raise UsageError(
            f"{name}: resample={request.resample!r} says what a bootstrap resamples: give bootstrap= with it"
        )
    if request.bootstrap is not None:
        check_resampling(request.bootstrap, request.resample, request.groups is not None, chosen, name)
    if request.by is not None:
        _check_by(law, request, name)
    seen = read_observations(law, data, request, objective=chosen, options=options, name=name)
    law, seen = grouping.of_groups(law, seen, varying, name)
    plain = {o: v for o, v in options.items() if v is not None and o not in seen.columns}
    setting = Setting(
        law=law, objective=chosen, options=plain, coordinates=solver_coordinates(law, name), name=name,
        solver=request.solver or SolverOptions(),
    )  # fmt: skip
    if request.by is None:
        observed = with_scatter(setting, seen, request)
        problem = setting.problem(observed)
        solutions = fit_one(setting, observed, problem, _start_vector(problem, request, name), request.seed)
    else:
        solutions = fit_over(setting, seen, request)
    if request.bootstrap is not None:
        resampling = Resampling(
            replicates=request.bootstrap, resample=request.resample, seed=request.seed, fresh=request.start is None
        )
        solutions = with_replicates(
            solutions, resampling, labels=seen.groups, workers=request.workers, progress=request.progress
        )
    if request.by is None:
        return Fit(law=law, solutions=solutions, level=request.level)
    from forecast.fit.fit import Fits

    return Fits(by=request.by, level=request.level, solutions=solutions)


def _check_by(law: Law, request: FitRequest, name: str) -> None:
    """Refuse what many fits at once do not take."""
    if request.bootstrap is not None and request.resample == "cluster":
        raise UsageError(f"{name}: by= does not take resample='cluster': fit one curve at a time")
    if law.levels:
        raise UsageError(f"{name}: by= takes no law with groups: fit one curve at a time")
    if request.by in law.parameters:
        raise UsageError(f"{name}: by='{request.by}' is also a parameter of the law: give the column another name")


def _start_vector(problem: Problem, request: FitRequest, name: str) -> Array | None:
    """Return the start that was given, in the solver's coordinates; refuse what no start can fit."""
    if problem.n < problem.k:
        points = "1 point" if problem.n == 1 else f"{problem.n} points"
        raise FitError(
            f"{name}: {points} cannot determine {problem.k} parameters ({', '.join(problem.free)}); add points, or "
            "fix parameters with law.with_()"
        )
    _check_design(problem, name)
    begun = None
    if request.start is not None:
        begun = start_in_coordinates(problem, grouping.expand_start(problem.law, request.start) or {}, name)
    check_domain(problem, name, begun)
    return begun


def _check_mixed(law: Law, data: Any, request: FitRequest, name: str) -> None:
    """Refuse rows of a table that must not be mixed, unless the fit tells them apart."""
    if not isinstance(data, tables.Columns):  # a grid over `over`
        if not any(column.attrs.get("separate") for column in data.variables.values()):
            return
        data = tables.to_columns(data, where=name)
    told = {text for text in (request.by, request.groups) if isinstance(text, str)}
    told |= {(request.let or {}).get(variable, variable) for variable in law.levels}
    advice = "keep one (--where \"{column} is {first}\"), or fit each: by='{column}'"
    separate.check_not_mixed(data, name, told_apart=told, advice=advice)


def _check_design(problem: Problem, name: str) -> None:
    """Refuse rows that all stand at one place of the law: they tell one number, however many they are."""
    columns = [np.asarray(v, dtype=float).ravel() for v in problem.variables.values()]
    if problem.k < 2 or not columns or any(np.ptp(c) > 0 for c in columns):
        return
    at = ", ".join(f"{n} = {c[0]:g}" for n, c in zip(problem.variables, columns, strict=True))
    raise FitError(
        f"{name}: parameters {', '.join(problem.free)} are not identified: all {problem.n} rows have {at}; add rows at "
        "other values, or fix all parameters but one"
    )


def published_fit(law: Law, published: PublishedFit) -> Fit:
    """Return published parameters as a fit that needs no data; the function behind `forecast.Law.published`.

    Raises
    ------
    FitError
        If the parameters are not those of the law.
    """
    name = f"{law_label(law)}@{printable(published.name, 60)}"
    for parameter in law.parameters:
        if parameter not in published.parameters:
            raise FitError(f"{name}: the published parameters lack '{parameter}'")
    for parameter in {**published.parameters, **published.errors}:
        if parameter not in law.parameters:
            raise FitError(f"{name}: '{printable(parameter, 60)}' is no parameter of the law")
    return Fit(law=law, published=published)


#: Points of the curves in a chunk.
CHUNK_POINTS = 200_000


def fit_over(setting: Setting, seen: Observations, request: FitRequest) -> Solutions:
    """Fit every curve of a data set, as ``law.fit(..., by=)`` does; one that cannot be fitted has the reason.

    Curves are padded with points of weight 0, and worked on in chunks of a fixed size, so that
    the results are the same for any number of workers.
    """
    reasons = np.array(seen.reasons, dtype=object)
    n, k = (seen.weights > 0).sum(axis=1), len(setting.coordinates.free)
    reasons[(reasons == "") & (n < k)] = f"not fitted: fewer than {k} points"
    seen = replace(seen, reasons=tuple(reasons))
    usable = np.flatnonzero(reasons == "")
    begun = _start_array(setting, seen.take(usable), usable, request.start) if usable.size else None
    parts = _fit_chunks(setting, seen, usable, begun, request) if usable.size else []
    return _scatter_chunks(setting, seen, usable, parts, request.start is not None)


def _start_array(
    setting: Setting, observations: Observations, rows: IntArray, start: Mapping[str, Any] | None
) -> Array | None:
    """Return the start that was given, (k, B): one for all curves, or one a curve."""
    if start is None:
        return None
    problem = setting.problem(observations.one(0))
    if all(np.ndim(v) == 0 for v in start.values()):
        return np.repeat(start_in_coordinates(problem, start, setting.name)[:, None], len(rows), axis=1)
    each = {p: np.asarray(v)[rows] if np.ndim(v) else np.full(rows.size, v) for p, v in start.items()}
    some = [start_in_coordinates(problem, {p: v[b] for p, v in each.items()}, setting.name) for b in range(rows.size)]
    return np.array(some).T


def _fit_chunks(
    setting: Setting, observations: Observations, usable: IntArray, start: Array | None, request: FitRequest
) -> list[Solutions]:
    """Fit the usable curves chunk by chunk."""
    size = max(64, CHUNK_POINTS // observations.y.shape[1])
    chunks = [usable[i : i + size] for i in range(0, usable.size, size)]
    reached = 0

    def done(i: int) -> None:
        nonlocal reached
        reached += chunks[i].size
        if request.progress is not None and request.bootstrap is None:
            request.progress(reached, usable.size)

    starts = [None] * len(chunks) if start is None else np.split(start, range(size, usable.size, size), axis=1)
    pieces = [(setting, observations.take(rows), own, request.seed) for rows, own in zip(chunks, starts, strict=True)]
    return share(fit_curves, pieces, request.workers, where=setting.name, done=done)


def _scatter_chunks(
    setting: Setting, observations: Observations, usable: IntArray, parts: list[Solutions], given: bool
) -> Solutions:
    """Put the chunks in their places among all curves; nan where a curve was not fitted."""
    k, count = len(setting.coordinates.free), len(observations.reasons)
    known = join_uncertainties(
        [p.known for p in parts], usable, setting.coordinates.free, (observations.weights > 0).sum(axis=1) - k
    )
    return Solutions(
        setting=setting, curves=observations, given=given, assessed=known,
        q=placed([np.where(p.settled, p.q, np.nan) for p in parts], usable, np.full((k, count), np.nan)),
        settled=placed([p.settled for p in parts], usable, np.zeros(count, dtype=bool)),
        converged=placed([p.converged for p in parts], usable, np.zeros(count, dtype=bool)),
        starts=placed([p.starts for p in parts], usable, np.zeros((2, count), dtype=np.int64)),
        options={
            option: placed([p.options[option] for p in parts], usable, np.full(count, np.nan))
            for option in (parts[0].options if parts else ())
        },
    )  # fmt: skip


#: The scatter of y is at least this share of what the errors in x make of it.
MIN_SCATTER_SHARE = 1e-3
#: Rounds of fit and scatter, and the relative move at which they stop.
MAX_SCATTER_ROUNDS, SCATTER_RTOL = 60, 1e-9
#: A step that promises less than this share of the objective is the last: what is then missing is its square.
ROUGH_STEP_TOLERANCE = 1e-6


def with_scatter(setting: Setting, observations: Observations, request: FitRequest) -> Observations:
    """Return what was observed; where its errors in x leave the scatter of y open, with that estimated."""
    if not observations.sigma_x or request.sigma is not None:
        return observations
    plain = setting.problem(replace(observations, sigma_x={}))
    if plain.n <= plain.k:
        return observations
    start = None if request.start is None else start_in_coordinates(plain, request.start, setting.name)
    plain, solutions = search(plain, start, request.seed)
    good = [s.at for s in solutions if np.isfinite(s.value)]
    return estimate_scatter(plain, observations, good) if good else observations


def estimate_scatter(plain: Problem, observations: Observations, starts: list[Array]) -> Observations:
    """Return what was observed with the scatter of y that its errors in x leave, estimated beside the parameters.

    It is the sigma for which the sum of squared distances is the number of points less that of the parameters (Paule
    and Mandel, 1982). For a straight line that is the moment estimator b = Sxy / (Sxx - n sigma_x**2).

    Parameters
    ----------
    plain : Problem
        Without errors in x; its weights are relative ones.
    observations : Observations
    starts : list of ndarray
        Solutions of `plain`, best first.
    """
    at, dof = starts[0], max(plain.n - plain.k, 1)
    residuals = plain.residuals(at)
    spread = float(np.sum(plain.weights * residuals**2)) / dof
    bottom = spread
    for tries in range(MAX_SCATTER_ROUNDS):
        tried = Orthogonal.of(plain, observations.sigma_x, plain.weights / spread)
        at = solve_one(tried, [at])[0].at if tries == 0 else _nearby_optimum(tried, at)
        solved = tried._state(tried.natural(at)).inner
        before, rows = spread, plain.weights > 0
        with np.errstate(all="ignore"):
            excused = (solved.variance - 1)[0] / tried.weights  # the part of the variance that comes of x
            r = solved.distance * np.sqrt(solved.variance)  # whose share under that variance is the distance
        bottom = (MIN_SCATTER_SHARE**2) * float(np.median((excused * plain.weights)[rows]))
        spread = _scatter_variance(r[0][rows], excused[rows], plain.weights[rows], dof, bottom)
        if abs(spread - before) <= SCATTER_RTOL * before:
            break
    # nothing of the scatter is left to y: the errors in x say more than enough, and their scale is known
    return replace(observations, weights=plain.weights / spread, absolute_sigma=spread <= bottom)


def _nearby_optimum(problem: Orthogonal, at: Array) -> Array:
    """Return the optimum next to a place: the scatter asks for the objective there, which is flat about it."""
    return newton.solve(problem.target(), at[:, None], blind=ROUGH_STEP_TOLERANCE).q[:, 0]


def _scatter_variance(r: Array, excused: Array, weights: Array, dof: int, bottom: float) -> float:
    """Return the variance s for which the sum of r**2/(s/w + excused) is the degrees of freedom, by Newton's rule.

    The sum falls with s and is convex: from below no step passes the root.
    """
    high = float(np.sum(weights * r * r)) / dof
    if bottom <= 0:  # errors in x too small to show
        return high
    if high <= bottom:
        return bottom
    s = bottom
    for _ in range(200):
        shares = r * r / (s / weights + excused)
        left = float(np.sum(shares)) - dof
        if not left > 0:
            break
        step = left / float(np.sum(shares / (s + weights * excused)))
        s += step
        if step <= 1e-14 * s:
            break
    return s
