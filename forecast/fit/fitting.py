"""Law + data = fit: choose the objective and the starts, solve, and judge the outcome."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.errors import FitError, UsageError, printable
from forecast.fit import bootstrap as resampling
from forecast.fit import objective as objectives
from forecast.fit.data import Observed, gather
from forecast.fit.prepare import given_start, label, problem_of
from forecast.fit.request import Request
from forecast.fit.result import Fit
from forecast.fit.search import agreeing, search
from forecast.fit.solver import Problem
from forecast.fit.uncertainty import Uncertainty, assess

if TYPE_CHECKING:
    from forecast.laws import Law
    from forecast.specs import PublishedFit

__all__ = ["fit_law", "label", "published_fit"]


def fit_law(law: Law, data: Any, request: Request) -> Any:
    """Fit a law to data; the function behind `forecast.Law.fit`.

    Parameters
    ----------
    law : forecast.Law
    data : xarray.Dataset, DataFrame, dict of arrays, path of a CSV, or name of a table
    request : Request

    Returns
    -------
    Fit, or Fits with ``over``

    Raises
    ------
    DataError, FitError, UsageError
        Naming the rows, the parameters or the option.
    """
    name = label(law)
    request.check(name)
    if request.protocol is not None:
        from forecast.protocols import fit_by

        return fit_by(fit_law, law, data, request)
    chosen = objectives.find(request.objective or law.objective or "least_squares", where=name)
    settings = objectives.check_options(chosen, dict(request.options or {}), name)
    if request.bootstrap is not None:
        resampling.check(request.bootstrap, request.kind, name)
    if request.over is not None:
        from forecast.fit.batch import fit_over

        if request.start is not None or request.bootstrap is not None:
            raise UsageError(f"{name}: over= goes with neither start= nor bootstrap=")
        return fit_over(law, data, request, objective=chosen, options=settings, name=name)
    start, bootstrap, seed = request.start, request.bootstrap, request.seed
    seen = gather(law, data, request, objective=chosen, options=settings, name=name)
    problem = problem_of(law, seen, chosen, name)
    if problem.n < problem.k:
        raise FitError(
            f"{name}: {problem.n} points cannot determine {problem.k} parameters ({', '.join(problem.free)})"
        )
    begun = None if start is None else given_start(problem, start, name)
    problem, found = search(problem, begun, seed)
    if not found:
        raise FitError(f"{name}: found no parameters for which the law can be computed on these data; give start=")
    best = found[0]
    if not math.isfinite(best.value):
        raise FitError(f"{name}: the objective cannot be computed from {'this start' if start else 'any start'}")
    known = assess(problem, best.at, scale_known=seen.scale_known)
    repeated = (
        resampling.resample(problem, best.at, bootstrap, seed=seed, kind=request.kind, fresh=start is None)
        if bootstrap is not None
        else None
    )
    agree = agreeing(found)
    # flat in some direction from one start only: it may be a plateau, and not the optimum
    converged = best.settled and (not known.unidentified or agree > 1) and (len(found) == 1 or agree > 1)
    return Fit(
        law=law,
        values=problem.named(problem.natural(best.at)),
        objective_name=chosen.name,
        objective=chosen.stated(best.value, float(seen.weights.sum()), problem.delta),
        delta=problem.delta,
        converged=converged,
        starts=(agree, len(found)),
        n=problem.n,
        uncertainty=known,
        replicates=repeated,
        ranges={v: (float(c.min()), float(c.max())) for v, c in seen.variables.items()},
        residual_scale=_scatter(known, seen.weights),
        level=request.level,
        outcome=_outcome(converged, agree, len(found), start is not None, known),
        data=replace(seen, options=problem.options),
        warnings=(
            *_warnings(problem, seen, converged, known, len(found) > 1 and agree == 1),
            *_resampling_warnings(repeated, problem, name),
        ),
    )


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
    for parameter in {**published.parameters, **published.stderr}:
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
        warnings=tuple(warnings),
    )


def _scatter(known: Uncertainty, weights: np.ndarray[Any, np.dtype[np.float64]]) -> float | None:
    """Return the standard deviation of an observation of median weight."""
    scale = known.scale / math.sqrt(float(np.median(weights[weights > 0])))
    return scale if math.isfinite(scale) else None


def _outcome(converged: bool, agree: int, total: int, given: bool, known: Uncertainty) -> str:
    parts = ["converged" if converged else "not converged"]
    if given:
        parts.append("from the given start")
    elif total > 1 and agree == 1:
        parts.append(f"{total} starts disagree about the best, which one of them found")
    else:
        parts.append(f"{agree} of {total} starts agree")
    for name, (bound, _) in known.bounds.items():
        parts.append(f"{name} at boundary ({bound:g})")
    return "; ".join(parts)


def _warnings(problem: Problem, seen: Observed, converged: bool, known: Uncertainty, disagree: bool) -> tuple[str, ...]:
    name = label(problem.law)
    found = []
    if disagree:
        found.append(f"{name}: no two starts led to the best objective: a better one may exist; give start= to choose")
    elif not converged:
        found.append(f"{name}: the fit did not converge: its parameters are not the optimum")
    for parameter, reason in known.unidentified.items():
        found.append(f"{name}: parameter '{parameter}' is not identified by these data: {reason}")
    rows = np.column_stack([*seen.variables.values(), seen.y])
    distinct = len(np.unique(rows, axis=0))
    if distinct <= problem.n / 2:
        found.append(
            f"{name}: {problem.n} rows are only {distinct} different ones; the intervals take them as independent"
        )
    if 0 < known.dof < 5:
        found.append(f"{name}: {problem.n} points for {problem.k} parameters: intervals rest on normal noise")
    return tuple(found)


def _resampling_warnings(repeated: resampling.Replicates | None, problem: Problem, name: str) -> list[str]:
    if repeated is None:
        return []
    found = []
    lost, total = int((~repeated.converged).sum()), repeated.converged.size
    if lost:
        found.append(
            f"{name}: {lost} of {total} replicates could not be fitted; {repeated.degenerate} had too few points"
        )
    if repeated.changed:
        found.append(
            f"{name}: {repeated.changed} of {repeated.audited} audited replicates had a better optimum elsewhere"
        )
    if problem.n < resampling.FEW:
        found.append(f"{name}: {problem.n} points are few to resample: the bootstrap understates the uncertainty")
    return found
