"""Profile likelihood of a fit: intervals that keep their coverage where a law is curved, and the curve behind them.

One parameter is held while the others are refitted; the interval is where the fit gets no worse than the level allows.
Unlike a standard error it needs no quadratic objective, does not change with the way the law is written, and shows
where the data set no limit: such a limit is infinite (0 for a positive parameter).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.errors import FitError, UnknownNameError, UsageError, printable
from forecast.fit.inference.limits import Limits, Optima, limits, refitted
from forecast.fit.predict import check_level

if TYPE_CHECKING:
    import xarray as xr

    from forecast.fit.inference.covariance import Uncertainty
    from forecast.fit.problem.problem import Problem
    from forecast.fit.solution import Fit

__all__ = ["allowed", "cheap", "interval", "limits_of", "optimum", "problem_of_fit", "profile"]

Array: TypeAlias = NDArray[np.float64]

#: Points times parameters up to which the default interval is the profile's: some hundredths of a second.
CHEAP = 100_000
#: A profile this many times as wide as the sandwich's interval is a ridge that the sandwich does not see.
RIDGE = 2.5


def problem_of_fit(fit: Fit, what: str = "profile") -> Problem:
    """Return the problem a fit solved, made again from the data that it keeps.

    Raises
    ------
    FitError
        For a fit without data.
    """
    from forecast.fit.problem.coordinates import problem_of
    from forecast.fit.problem.objective import find

    if fit.data is None:
        why = "published parameters come without data" if fit.published else "it was made without keeping its data"
        raise FitError(f"{fit.name}: no {what}: {why}")
    return problem_of(fit.law, fit.data, find(fit.objective_name), fit.name)


def affordable(fit: Fit) -> bool:
    """Tell whether profiling a fit costs little: it keeps its data, the law has derivatives, the data are not many."""
    if fit.data is None or fit.n is None:
        return False
    return fit.n * len(fit.values) <= CHEAP and fit.law._plain.expression is not None


def likelihood(fit: Fit) -> bool:
    """Tell whether the objective is a likelihood; Huber's loss and quantiles, with their sandwich, are none.

    Nor is any objective whose rows depend on each other in groups.
    """
    from forecast.fit.problem.objective import find

    if fit.uncertainty is not None and fit.uncertainty.clusters:
        return False
    return find(fit.objective_name).scale != "sandwich"


def cheap(fit: Fit) -> bool:
    """Tell whether the default interval of a fit is the profile's: a likelihood that costs little to profile."""
    return affordable(fit) and likelihood(fit)


def hidden_ridge(fit: Fit, name: str, level: float) -> tuple[float, float] | None:
    """Return the profile's interval where the sandwich's is far too narrow, under an objective that is no likelihood.

    The sandwich looks at the optimum alone. Where the law is identified the two agree within a tenth or so (Chinchilla
    on its 240 points: 0.90 to 1.11); on a ridge the refits go on for several times as far (the repetition constants of
    the data-constrained law on 182 runs: 4.3 and 5.8).
    """
    known = fit.uncertainty
    if known is None or known.flaw or name not in known.names or name in known.unidentified or name in known.bounds:
        return None
    if likelihood(fit) or not affordable(fit):
        return None
    try:
        low, high = interval(fit, name, level)
    except FitError:
        return None
    narrow_low, narrow_high = known.interval(name, level, fit.name)
    logs = narrow_low > 0
    wide = np.log(high) - np.log(low) if logs and low > 0 else np.inf if logs else high - low
    narrow = np.log(narrow_high) - np.log(narrow_low) if logs else narrow_high - narrow_low
    return (low, high) if wide > RIDGE * narrow else None


def optimum(fit: Fit, problem: Problem) -> Optima:
    """Return the fit as a batch of one."""
    p = np.array([fit.values[n] for n in problem.free])
    at = problem.internal(p)[:, None]
    target = problem.target()
    value, _, hessian = target.evaluate(at)
    return Optima(
        target=target,
        q=at,
        value=value,
        hessian=hessian,
        lower=problem.lower,
        upper=problem.upper,
        logs=problem.logs,
    )


def allowed(problem: Problem, known: Uncertainty, optima: Optima, level: float) -> Array:
    """Return by how much the objective may rise, (k,): what makes the interval of a linear law Student's."""
    k, squared = problem.k, known.quantile(0.5 + level / 2) ** 2
    value = float(optima.value[0])
    if problem.objective.scale == "residual" and not known.clusters and not problem.errs_in_x:
        return np.full(k, squared if known.scale_known else squared * value / max(known.dof, 1))
    if problem.objective.scale == "known" and not known.clusters:
        return np.full(k, 0.5 * squared)
    # no likelihood, or errors in x: the rise that belongs to the sandwich's variance (Kent, 1982)
    spread = np.einsum("ii->i", optima.inverse[:, :, 0])
    # both in the solver's coordinates
    turned = known.logs & ~problem.logs
    variance = np.diag(known.covariance) * np.where(turned, np.exp(np.where(turned, known.at, 0.0)), 1.0) ** 2
    variance = np.where(known.logs == problem.positive, variance, np.nan)
    with np.errstate(all="ignore"):
        ratio = variance / spread
    good = np.isfinite(ratio) & (ratio > 0)
    if not good.any():
        return np.full(k, 0.5 * squared * known.scale**2)
    return 0.5 * squared * np.where(good, ratio, float(np.median(ratio[good])))


def limits_of(fit: Fit, level: float) -> tuple[Problem, Limits]:
    """Return the limits of all parameters of a fit.

    Raises
    ------
    FitError
        Where there are none, saying why.
    """
    problem = problem_of_fit(fit)
    known = fit.uncertainty
    if known is None or known.flaw:
        raise FitError(f"{fit.name}: no profile: {known.flaw if known else 'nothing is known of its parameters'}")
    optima = optimum(fit, problem)
    return problem, limits(optima, allowed(problem, known, optima, level)[:, None], again=False)


def _solved(fit: Fit, level: float) -> tuple[Problem, Limits]:
    kept = fit.profiled
    if level not in kept:
        kept[level] = limits_of(fit, level)
    problem, found = kept[level]
    if found.better[0]:
        raise FitError(f"{fit.name}: no profile: {better_optimum(problem, found)}")
    return problem, found


def better_optimum(problem: Problem, found: Limits) -> str:
    """Say where a profile found a better optimum than that of the fit."""
    at = problem.natural(found.optima.q[:, 0])
    start = ", ".join(f'"{n}": {v:.6g}' for n, v in zip(problem.free, at, strict=True))
    return f"a better optimum was found ({found.optima.value[0]:.10g}): fit again with start={{{start}}}"


def _number(problem: Problem, i: int, u: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(u)) if problem.logs[i] else float(u)


def interval(fit: Fit, name: str, level: float) -> tuple[float, float]:
    """Return the profile-likelihood interval of a parameter; an end is infinite (or 0) where nothing limits it.

    Raises
    ------
    FitError
        If the fit keeps no data, leaves no degree of freedom, or is not at its optimum.
    """
    problem, found = _solved(fit, level)
    i = _place(fit, problem, name)
    return _number(problem, i, found.low[i, 0]), _number(problem, i, found.high[i, 0])


def _place(fit: Fit, problem: Problem, name: str) -> int:
    if name not in fit.values:
        raise UnknownNameError("parameter", name, fit.values, where=fit.name)
    if name not in problem.free:
        raise FitError(f"{fit.name}: no profile of '{name}': its bounds fix it")
    return problem.free.index(name)


def profile(fit: Fit, name: str, *, points: int = 41, level: float = 0.99) -> xr.Dataset:
    """Return the profile of a parameter: the best objective for each of its values.

    Parameters
    ----------
    fit : Fit
    name : str
    points : int
        How many values, half on each side of the estimate.
    level : float
        The grid spans the interval of this level (three of its widths where it has no end).

    Returns
    -------
    xarray.Dataset
        Over ``point``: every parameter (the others refitted), ``objective``, and ``signed_root``: how far a value is
        from the estimate, in standard errors. Attributes: ``lower`` and ``upper``, the interval.
    """
    import xarray as xr

    check_level(level, fit.name)
    if isinstance(points, bool) or not isinstance(points, int) or not 3 <= points <= 10_000:
        got = printable(repr(points), 40)
        raise UsageError(f"{fit.name}: profile: points: expected an integer from 3 to 10000, got {got}")
    problem, found = _solved(fit, level)
    i = _place(fit, problem, name)
    optima = found.optima
    centre = float(optima.q[i, 0])
    width = float(np.sqrt(2 * allowed(problem, fit.uncertainty, optima, level)[i] * optima.inverse[i, i, 0]))  # type: ignore[arg-type]
    reach = min(max(width, 0.0), 6.0 if problem.logs[i] else np.inf)
    low, high = (float(e) for e in (found.low[i, 0], found.high[i, 0]))
    low = low if np.isfinite(low) else max(centre - 3 * reach, float(problem.lower[i]))
    high = high if np.isfinite(high) else min(centre + 3 * reach, float(problem.upper[i]))
    half = points // 2
    grid = np.concatenate([np.linspace(low, centre, half + 1), np.linspace(centre, high, points - half)[1:]])
    rows = np.zeros(grid.size, dtype=int)
    toward = optima.inverse[:, i, 0] / optima.inverse[i, i, 0]
    start = optima.q + toward[:, None] * (grid - centre)
    solved = refitted(optima, rows, rows + i, start)
    for step in (1, -1):  # each from its neighbour's solution too
        begun = np.roll(solved.q, step, axis=1)
        begun[i] = grid
        again = refitted(optima, rows, rows + i, begun)
        better = again.value < solved.value
        solved.q[:, better], solved.value[better] = again.q[:, better], again.value[better]
    natural = problem.natural(solved.q.T).T
    with np.errstate(invalid="ignore"):
        rise = np.maximum(solved.value - optima.value[0], 0.0)
        root = np.sign(grid - centre) * np.sqrt(rise / allowed(problem, fit.uncertainty, optima, level)[i])  # type: ignore[arg-type]
    q = fit.uncertainty.quantile(0.5 + level / 2) if fit.uncertainty else 1.0
    columns = {n: ("point", natural[j]) for j, n in enumerate(problem.free)}
    columns |= {"objective": ("point", solved.value), "signed_root": ("point", root * q)}
    limit = [_number(problem, i, float(e[i, 0])) for e in (found.low, found.high)]
    return xr.Dataset(columns, attrs={"parameter": name, "level": level, "lower": limit[0], "upper": limit[1]})
