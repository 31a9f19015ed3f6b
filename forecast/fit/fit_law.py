"""Law + data = fit, of one curve or many: choose the objective and the starts, solve, and judge the outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import tables
from forecast.base.arrays import Array, IntArray
from forecast.contract.specs import PublishedFit
from forecast.errors import FitError, UsageError, printable
from forecast.fit import objectives
from forecast.fit.curves import fit_curves, fit_one
from forecast.fit.data import groups as grouping
from forecast.fit.data.column_units import in_order, in_units
from forecast.fit.data.observations import Observations, read_observations
from forecast.fit.fit import Fit
from forecast.fit.inference.bootstrap import Resampling, with_replicates
from forecast.fit.inference.resample import check_replicates as check_resampling
from forecast.fit.inference.uncertainty import join_uncertainties, placed
from forecast.fit.options import FitRequest
from forecast.fit.problem.errors_in_variables import Orthogonal
from forecast.fit.problem.problem import Problem, Setting, law_label, solver_coordinates, start_in_coordinates
from forecast.fit.solutions import Solutions
from forecast.fit.solve import newton
from forecast.fit.solve.domain import check_domain
from forecast.fit.solve.multistart import search, solve_one
from forecast.fit.solve.parallel import check_workers, share
from forecast.fit.solver_options import SolverOptions
from forecast.laws import Law
from forecast.tables.schema import separate

if TYPE_CHECKING:
    from forecast.fit.data.observations import Observations
    from forecast.fit.options import FitRequest
    from forecast.fit.problem.problem import Problem, Setting


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
    from forecast.fit.fits import Fits

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

    Curves are padded with points of weight 0, and worked on in chunks of a fixed size (`forecast.fit.curves`), so that
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
