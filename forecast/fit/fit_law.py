"""Law + data = fit: choose the objective and the starts, solve, and judge the outcome."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import tables
from forecast.errors import FitError, UsageError, printable
from forecast.fit.curves import fit_one
from forecast.fit.data import groups as grouping
from forecast.fit.data.column_units import in_order, in_units
from forecast.fit.data.observations import Observed, gather, no_counts
from forecast.fit.inference import by_group
from forecast.fit.inference.bootstrap import Resampling, replicated
from forecast.fit.inference.covariance import assess
from forecast.fit.inference.resample import check as check_resampling
from forecast.fit.inference.uncertainty import Uncertainty
from forecast.fit.objectives import objective as objectives
from forecast.fit.options import Request
from forecast.fit.problem.coordinates import coordinates, given_start, label, problem_of
from forecast.fit.problem.problem import Array, Problem
from forecast.fit.problem.setting import Setting
from forecast.fit.solution import Fit
from forecast.fit.solve.domain import USUAL, check_domain
from forecast.fit.solve.multistart import Solution, agreeing, few, is_optimum, outcome, search
from forecast.fit.solve.parallel import check_workers
from forecast.fit.solve.scatter import with_scatter
from forecast.tables.schema import separate

if TYPE_CHECKING:
    from forecast.contract.specs import PublishedFit
    from forecast.laws import Law

__all__ = ["diagnosed", "fit_law", "label", "published_fit"]


def fit_law(law: Law, data: Any, request: Request) -> Any:
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
    name = label(law)
    request.check(name)
    check_workers(request.workers, name, law)
    varying = grouping.check(request, name)
    request = in_order(data, request, name)
    data = in_units(law, data, request, name)
    _check_mixed(law, data, request, name)
    if request.protocol is not None:
        from forecast.fit.protocols import fit_by

        return fit_by(fit_law, law, data, request)
    chosen = objectives.find(request.objective or law.objective or "least_squares", where=name)
    options = objectives.check_options(chosen, dict(request.options or {}), name)
    if request.bootstrap is None and request.resample != "pairs":
        raise UsageError(
            f"{name}: resample={request.resample!r} says what a bootstrap resamples: give bootstrap= with it"
        )
    if request.bootstrap is not None:
        check_resampling(request.bootstrap, request.resample, request.groups is not None, chosen, name)
    if request.by is not None:
        from forecast.fit.batch import fit_over

        return fit_over(law, data, request, objective=chosen, options=options, name=name)
    seen = gather(law, data, request, objective=chosen, options=options, name=name)
    law, seen = grouping.of_groups(law, seen, varying, name)
    seen = with_scatter(law, seen, chosen, request, name)
    problem, best, starts, known = _solved(problem_of(law, seen, chosen, name), seen, request, name)
    fit = diagnosed(problem, best, starts, seen, known, given=request.start is not None, level=request.level)
    return fit if request.bootstrap is None else _resampled(fit, problem, best.at, seen, request)


def _check_mixed(law: Law, data: Any, request: Request, name: str) -> None:
    """Refuse rows of a table that must not be mixed, unless the fit tells them apart."""
    if not isinstance(data, tables.Columns):  # a grid over `over`
        if not any(column.attrs.get("separate") for column in data.variables.values()):
            return
        data = tables.columns(data, where=name)
    told = {text for text in (request.by, request.groups) if isinstance(text, str)}
    told |= {(request.let or {}).get(variable, variable) for variable in law.levels}
    advice = "keep one (--where \"{column} is {first}\"), or fit each: by='{column}'"
    separate.check(data, name, told_apart=told, advice=advice)


def _solved(
    problem: Problem, seen: Observed, request: Request, name: str
) -> tuple[Problem, Solution, tuple[int, int], Uncertainty | None]:
    """Return the problem with its options settled, its solution, how many of the starts led there, and what is known.

    The batch settles most; what it leaves is searched with more starts, and so are laws with groups or errors in x.

    Raises
    ------
    FitError, UsageError
        If the points are too few, or the law cannot be computed from any start.
    """
    if problem.n < problem.k:
        points = "1 point" if problem.n == 1 else f"{problem.n} points"
        raise FitError(
            f"{name}: {points} cannot determine {problem.k} parameters ({', '.join(problem.free)}); add points, or "
            "fix parameters with law.with_()"
        )
    _check_design(problem, name)
    begun = (
        None
        if request.start is None
        else given_start(problem, grouping.started(problem.law, request.start) or {}, name)
    )
    check_domain(problem, name, begun)
    if not (problem.law.levels or seen.sigma_x):
        plain = {o: v for o, v in seen.options.items() if v is not None and np.ndim(v) == 0}
        setting = Setting(
            law=problem.law, objective=problem.objective, options=plain, coordinates=coordinates(problem.law, name),
            name=name,
        )  # fmt: skip
        made = fit_one(setting, seen, problem.linked, begun)
        if made is not None:
            return made
    problem, solutions = search(problem, begun, request.seed)
    if not solutions or not math.isfinite(solutions[0].value):
        check_domain(problem, name, begun, often=USUAL)
    if not solutions:
        raise FitError(f"{name}: found no parameters for which the law can be computed on these data; give start=")
    if not math.isfinite(solutions[0].value):
        raise FitError(
            f"{name}: the objective cannot be computed from {'this start' if request.start else 'any start'}"
        )
    return problem, solutions[0], (agreeing(problem, solutions), len(solutions)), None


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


def diagnosed(
    problem: Problem, best: Solution, starts: tuple[int, int], seen: Observed, known: Uncertainty | None = None, *,
    given: bool, level: float, instead: str = "",
) -> Fit:  # fmt: skip
    """Return the fit that a solution of a problem makes, with what is known of its parameters.

    Parameters
    ----------
    problem : Problem
        Its options settled.
    best : Solution
    starts : (int, int)
        How many starts led there, and how many there were.
    seen : Observed
    known : Uncertainty, optional
        What is known of the parameters, where that is known already.
    given : bool
        The only start was given.
    level : float
    instead : str
        How the solution was found, where it was not from starts.
    """
    law, (agree, total) = problem.law, starts
    if known is None:
        known = assess(problem, best.at, scale_known=seen.scale_known, groups=seen.groups)
    vague = bool(known.unidentified) and not instead
    converged = best.settled and bool(is_optimum(agree, total, vague, best.value <= problem.rounding()))
    return Fit(
        law=law,
        values=problem.named(problem.natural(best.at)),
        objective_name=problem.objective.name,
        objective=problem.objective.stated(best.value, float(seen.weights.sum()), problem.delta),
        delta=problem.delta,
        converged=converged,
        starts=starts,
        n=problem.n,
        uncertainty=known,
        ranges={v: (float(c.min()), float(c.max())) for v, c in seen.variables.items() if v not in law.levels},
        residual_scale=_scatter(known, seen.weights),
        level=level,
        outcome=outcome(converged, starts, given, known.bounds, instead),
        data=replace(seen, options=problem.options),
        notes=_notes(problem, seen, converged, known, starts),
    )


def _resampled(fit: Fit, problem: Problem, at: Array, seen: Observed, request: Request) -> Fit:
    """Return the fit with the bootstrap that was asked for."""
    asked = Resampling(
        replicates=request.bootstrap or 0, resample=request.resample, seed=request.seed, fresh=request.start is None
    )
    labels = seen.groups if request.resample == "cluster" else None
    return replicated(fit, problem, at, asked, labels=labels, workers=request.workers, progress=request.progress)


def published_fit(law: Law, published: PublishedFit) -> Fit:
    """Return published parameters as a fit that needs no data; the function behind `forecast.Law.published`.

    Raises
    ------
    FitError
        If the parameters are not those of the law.
    """
    name = f"{label(law)}@{printable(published.name, 60)}"
    for parameter in law.parameters:
        if parameter not in published.parameters:
            raise FitError(f"{name}: the published parameters lack '{parameter}'")
    for parameter in {**published.parameters, **published.errors}:
        if parameter not in law.parameters:
            raise FitError(f"{name}: '{printable(parameter, 60)}' is no parameter of the law")
    warnings = []
    if published.rounded:
        warnings.append(f"{name}: the source prints rounded figures, and rounded constants give biased forecasts")
    return Fit(
        law=law,
        values={p: float(published.parameters[p]) for p in law.parameters},
        objective_name="published",
        published=published,
        outcome=f"published parameters ({printable(published.reference, 200)})",
        notes=tuple(warnings),
    )


def _scatter(known: Uncertainty, weights: np.ndarray[Any, np.dtype[np.float64]]) -> float | None:
    """Return the standard deviation of an observation of median weight."""
    scale = known.scale / math.sqrt(float(np.median(weights[weights > 0])))
    return scale if math.isfinite(scale) else None


def _notes(
    problem: Problem, seen: Observed, converged: bool, known: Uncertainty, starts: tuple[int, int]
) -> tuple[str, ...]:
    name = label(problem.law)
    notes = []
    agree, total = starts
    if total > 1 and agree == 1:
        notes.append(f"{name}: no two starts led to the best objective: a better one may exist; give start= to choose")
    elif not converged:
        notes.append(f"{name}: the fit did not converge: its parameters are not the optimum")
    elif few(starts):
        notes.append(
            f"{name}: only {agree} of {total} starts led to the best objective: a better one may exist; "
            "give start= to choose"
        )
    for parameter, reason in known.unidentified.items():
        notes.append(f"{name}: parameter '{parameter}' is not identified by these data: {reason}")
    columns = [*seen.variables.values(), seen.y]
    # one column that differs in most rows says it already
    most = max(np.unique(column).size for column in columns)
    distinct = most if 2 * most > problem.n else len(np.unique(np.column_stack(columns), axis=0))
    if distinct <= problem.n / 2:
        notes.append(
            f"{name}: {problem.n} rows are only {distinct} different ones; the intervals take them as independent"
        )
    if (counts := no_counts(problem.objective, seen.y, seen.weights)) != "":
        notes.append(f"{name}: {counts}")
    notes += by_group.notes(problem, seen, known, name)
    if 0 < known.dof < 5:
        notes.append(f"{name}: {problem.n} points for {problem.k} parameters: intervals rest on normal noise")
    return tuple(notes)
