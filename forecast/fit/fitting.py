"""Law + data = fit: choose the objective and the starts, solve, and judge the outcome."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.errors import FitError, UnknownNameError, UsageError, printable
from forecast.fit import objective as objectives
from forecast.fit.data import Observed, gather
from forecast.fit.result import Fit
from forecast.fit.solver import Array, Problem, Solution, solve
from forecast.fit.start import starts
from forecast.fit.uncertainty import Uncertainty, assess

if TYPE_CHECKING:
    from forecast.laws import Law
    from forecast.specs import PublishedFit

__all__ = ["fit_law", "label", "published_fit"]

#: Two solutions whose objectives differ by less than this share are the same optimum.
SAME = 1e-6
#: How many starts are polished, and how many when they do not agree.
FEW, MANY = 4, 16
#: Evaluations for one start of several, and for one that must arrive.
SHORT, LONG = 100, 2000


def label(law: Law) -> str:
    """Return what to call a law in a message: its name, or its formula."""
    return printable(law.name or law.expression or "law", 100)


def fit_law(
    law: Law,
    data: Any,
    *,
    objective: str | None = None,
    start: Mapping[str, float] | None = None,
    let: Mapping[str, str] | None = None,
    y: str | None = None,
    weights: Any = None,
    sigma: Any = None,
    seed: int = 0,
    level: float = 0.95,
    huber_delta: float | None = None,
) -> Fit:
    """Fit a law to data; the function behind `forecast.Law.fit`.

    Parameters
    ----------
    law : forecast.Law
    data : xarray.Dataset, DataFrame, dict of arrays, path of a CSV, or name of a table
    objective : {"least_squares", "least_squares_log", "huber_log"}, optional
        Default: the law's own.
    start : mapping of str to float, optional
        Solve from here and from nowhere else. Default: several starts found from the data.
    let : mapping of str to str, optional
        For a variable, a column or a formula over columns: ``{"N": "params_b*1e9"}``. Default: the column of its name.
    y : str, optional
        The column, or formula over columns, that the law explains. Default: the column named like the law's output.
    weights : column, formula or array, optional
        A weight of two is a row twice (in the estimate; the intervals count rows).
    sigma : column, formula or array, optional
        Known standard deviations of y (of log y under a log objective).
    seed : int
        Chooses among starts where there are too many; the same seed gives the same fit.
    level : float
        Confidence of the intervals in the summary.
    huber_delta : float, optional
        Threshold of ``huber_log`` instead of 1.345 robust residual scales; for protocols.

    Returns
    -------
    Fit

    Raises
    ------
    DataError, FitError, UsageError
        Naming the rows, the parameters or the option.

    Examples
    --------
    >>> from forecast import Law
    >>> x = [1.0, 2.0, 3.0, 4.0, 5.0]
    >>> fit = fit_law(Law("a + b*x", variables=["x"]), {"x": x, "y": [1.1, 2.9, 5.2, 6.8, 9.1]})
    >>> round(float(fit.params["b"]), 3), fit.converged
    (1.99, True)
    """
    name = label(law)
    chosen = objectives.find(objective or law.objective or "least_squares", where=name)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise UsageError(f"{name}: seed: expected an integer of at least 0, got {printable(repr(seed), 40)}")
    if not 0 < level < 1:
        raise UsageError(f"{name}: level: expected a number between 0 and 1, got {level:g}")
    seen = gather(law, data, objective=chosen, let=let, y=y, weights=weights, sigma=sigma, name=name)
    problem = _problem(law, seen, chosen, name)
    if problem.n < problem.k:
        raise FitError(
            f"{name}: {problem.n} points cannot determine {problem.k} parameters ({', '.join(problem.free)})"
        )
    begun = [_given(problem, start, name)] if start is not None else starts(problem, best=FEW, seed=seed)
    if not begun:
        raise FitError(f"{name}: found no parameters for which the law can be computed on these data; give start=")
    problem, found = _solve(problem, begun, huber_delta)
    if start is None and (_agreeing(found) < 2 or not found[0].settled):
        problem, found = _solve(problem, starts(problem, best=MANY, seed=seed), huber_delta)
    best = found[0]
    if not math.isfinite(best.value):
        raise FitError(f"{name}: the objective cannot be computed from {'this start' if start else 'any start'}")
    known = assess(problem, best.at, scale_known=seen.scale_known)
    agreeing = _agreeing(found)
    # flat in some direction from one start only: it may be a plateau, and not the optimum
    converged = best.settled and (not known.unidentified or agreeing > 1)
    return Fit(
        law=law,
        values=problem.named(problem.natural(best.at)),
        objective_name=chosen.name,
        objective=best.value,
        delta=problem.delta,
        converged=converged,
        starts=(agreeing, len(found)),
        n=problem.n,
        uncertainty=known,
        ranges={v: (float(c.min()), float(c.max())) for v, c in seen.variables.items()},
        residual_scale=_scatter(known, seen.weights),
        level=level,
        verdict=_verdict(converged, agreeing, len(found), start is not None, known),
        warnings=_warnings(problem, seen, converged, known),
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
        verdict=f"published parameters ({printable(published.reference, 200)})",
        warnings=tuple(warnings),
    )


def _problem(law: Law, seen: Observed, objective: objectives.Objective, name: str) -> Problem:
    bounds = dict.fromkeys(law.parameters, (-math.inf, math.inf))
    for parameter, (low, high) in law.bounds.items():
        if parameter not in bounds:
            raise UnknownNameError("parameter", parameter, law.parameters, where=f"{name}: bounds")
        if math.isnan(low) or math.isnan(high) or low > high:
            raise FitError(f"{name}: bounds of '{parameter}': expected low <= high, got ({low:g}, {high:g})")
        bounds[parameter] = (float(low), float(high))
    fixed = {p: low for p, (low, high) in bounds.items() if low == high}
    free = tuple(p for p in law.parameters if p not in fixed)
    if not free:
        raise FitError(f"{name}: every parameter is fixed by its bounds: nothing is left to fit")
    lower = np.array([bounds[p][0] for p in free])
    upper = np.array([bounds[p][1] for p in free])
    logs = lower >= 0
    with np.errstate(divide="ignore", invalid="ignore"):
        lower = np.where(logs, np.log(np.where(logs, lower, 1.0)), lower)
        upper = np.where(logs, np.log(np.where(logs, upper, 1.0)), upper)
    return Problem(
        law=law,
        variables=seen.variables,
        observed=seen.y,
        weights=seen.weights,
        objective=objective,
        free=free,
        fixed=fixed,
        logs=logs,
        lower=lower,
        upper=upper,
    )


def _given(problem: Problem, start: Mapping[str, float], name: str) -> Array:
    for parameter in start:
        if parameter not in problem.law.parameters:
            raise UnknownNameError("parameter", parameter, problem.law.parameters, where=f"{name}: start")
    values = []
    for i, parameter in enumerate(problem.free):
        if parameter not in start:
            raise UsageError(
                f"{name}: start: '{parameter}' is missing; a start names every parameter that is not fixed"
            )
        try:
            value = float(start[parameter])
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value) or (problem.logs[i] and value <= 0):
            kind = "a positive number" if problem.logs[i] else "a finite number"
            raise UsageError(
                f"{name}: start: '{parameter}': expected {kind}, got {printable(repr(start[parameter]), 40)}"
            )
        values.append(value)
    u = problem.internal(np.array(values))
    if (u < problem.lower).any() or (u > problem.upper).any():
        outside = problem.free[int(np.flatnonzero((u < problem.lower) | (u > problem.upper))[0])]
        raise UsageError(f"{name}: start: '{outside}' is outside its bounds")
    return u


def _solve(problem: Problem, begun: list[Array], huber_delta: float | None) -> tuple[Problem, list[Solution]]:
    """Solve from every start; return the problem (with Huber's threshold) and the solutions, best first."""
    if problem.objective.robust:
        if huber_delta is not None:
            problem = replace(problem, delta=float(huber_delta))
        else:
            short = SHORT if len(begun) > 1 else LONG
            squares = sorted(
                (solve(replace(problem, delta=None), u, evaluations=short) for u in begun), key=lambda s: s.value
            )
            problem = _threshold(problem, squares[0].at)
            begun = [s.at for s in squares]
    if len(begun) == 1:
        return problem, [solve(problem, begun[0], evaluations=LONG)]
    found = sorted((solve(problem, u, evaluations=SHORT) for u in begun), key=lambda s: (s.value, not s.settled))
    if not found[0].settled:
        found[0] = solve(problem, found[0].at, evaluations=LONG)
    return problem, found


def _threshold(problem: Problem, at: Array) -> Problem:
    """Set Huber's threshold by iterating between it and the fit, as scale and location are estimated together."""
    for _ in range(30):
        delta = objectives.HUBER_FACTOR * objectives.robust_scale(problem.residuals(at), problem.k)
        # noise-free points have no scale: any threshold above rounding leaves the squares alone
        delta = max(delta, 1e-12)
        if problem.delta is not None and abs(delta - problem.delta) <= 1e-6 * problem.delta:
            break
        problem = replace(problem, delta=delta)
        at = solve(problem, at).at
    return problem


def _scatter(known: Uncertainty, weights: Array) -> float | None:
    """Return the standard deviation of an observation of median weight."""
    scale = known.scale / math.sqrt(float(np.median(weights[weights > 0])))
    return scale if math.isfinite(scale) else None


def _agreeing(found: list[Solution]) -> int:
    best = found[0].value
    return sum(math.isfinite(s.value) and s.value <= best * (1 + SAME) + 1e-280 for s in found)


def _verdict(converged: bool, agreeing: int, total: int, given: bool, known: Uncertainty) -> str:
    parts = ["converged" if converged else "not converged"]
    parts.append("from the given start" if given else f"{agreeing} of {total} starts agree")
    for name, (bound, _) in known.bounds.items():
        parts.append(f"{name} at boundary ({bound:g})")
    if known.flaw:
        parts.append(f"no intervals: {known.flaw}")
    elif known.unidentified:
        parts.append(f"not identified: {', '.join(known.unidentified)}")
    else:
        parts.append("all parameters identified")
    return "; ".join(parts)


def _warnings(problem: Problem, seen: Observed, converged: bool, known: Uncertainty) -> tuple[str, ...]:
    name = label(problem.law)
    found = []
    if not converged:
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
