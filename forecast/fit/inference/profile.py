"""Profile likelihood of a fit: intervals that keep their coverage where a law is curved, and the curve behind them.

One parameter is fixed while the others are refitted; the interval is where the fit is no worse than the level allows.
Unlike a standard error it needs no quadratic objective, does not change with the way the law is written, and shows
where the data set no limit: such a limit is infinite (0 for a positive parameter).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forecast.base.arrays import Array, BoolArray, IntArray
from forecast.base.lazy import xr
from forecast.base.number_checks import is_integer
from forecast.errors import UncertaintyError, UnknownNameError, UsageError, printable
from forecast.fit.fit import Fit
from forecast.fit.inference.covariance import ROUNDING_REASON
from forecast.fit.inference.profile_endpoints import Optima, ProfileEndpoints, refit
from forecast.fit.options import check_level
from forecast.fit.problem.poles import pole_remark
from forecast.fit.problem.problem import Problem
from forecast.fit.solutions import Solutions

#: Fits whose limits are searched together.
FITS_PER_BATCH = 1024
#: A profile this many times as wide as the sandwich's interval is a ridge that the sandwich does not see.
RIDGE_WIDTH_RATIO = 2.5


def check_data(solutions: Solutions | None, where: str, what: str = "profile") -> Solutions:
    """Return solutions whose data are at hand, for what needs them.

    Raises
    ------
    FitError
        For published parameters, and for what a fit says of one of its groups.
    """
    if solutions is None or not solutions.has_data:
        why = "published parameters come without data" if solutions is None else "it was made without keeping its data"
        raise UncertaintyError(where, what, why)
    return solutions


def problem_of_fit(fit: Fit, what: str = "profile") -> Problem:
    """Return the problem that a fit solved; a FitError for one without data."""
    return check_data(fit.solutions, fit.name, what).problem()


def optimum(fit: Fit, problem: Problem) -> Optima:
    """Return what the refits of a fit start from, in the coordinates of `problem`."""
    p = np.array([fit.values[n] for n in problem.free])
    at = problem.internal(p)[:, None]
    return Optima.of(problem.target(), at)


def hidden_ridges(solutions: Solutions, i: int, level: float) -> tuple[BoolArray, Array, Array]:
    """Tell where the sandwich's interval of parameter `i` is far too narrow, and return the profile's, (B,) each.

    The sandwich looks at the optimum alone. Where the law is identified the two agree within a tenth or so (Chinchilla
    on its 240 points: 0.90 to 1.11); on a ridge the refits go on for several times as far (the repetition constants of
    the data-constrained law on 182 runs: 4.3 and 5.8). Under a likelihood the profile is the interval, and hides none.
    """
    known = solutions.known
    some = solutions.affordable & known.known[i] & (known.sides[i] == 0)
    if solutions.likelihood or not some.any():
        none = np.full(some.size, np.nan)
        return np.zeros(some.size, dtype=bool), none, none
    low, high = endpoints_of(solutions, level, np.flatnonzero(some)).ends(i)
    narrow_low, narrow_high = known.wald(i, level)
    with np.errstate(all="ignore"):
        logs = narrow_low > 0
        narrow = np.where(logs, np.log(narrow_high) - np.log(narrow_low), narrow_high - narrow_low)
        wide = np.where(logs, np.where(low > 0, np.log(high) - np.log(low), np.inf), high - low)
        return some & ~np.isnan(low) & (wide > RIDGE_WIDTH_RATIO * narrow), low, high


def allowed_rise(solutions: Solutions, rows: IntArray, optima: Optima, level: float) -> Array:
    """Return by how much each objective may rise, (k, B): what makes the interval of a linear law Student's."""
    known, k, rule = solutions.known, optima.q.shape[0], solutions.objective.scale
    squared = known.quantile(0.5 + level / 2)[rows] ** 2
    if rule == "residual" and not known.clusters and (known.absolute_sigma or not solutions.errs_in_x):
        unit = 1.0 if known.absolute_sigma else optima.value / np.maximum(known.dof[rows], 1)
        return np.repeat((squared * unit)[None], k, axis=0)
    if rule == "known" and not known.clusters:
        return np.repeat((0.5 * squared)[None], k, axis=0)
    # no likelihood, or errors in x beside an estimated scatter: the rise that belongs to the variance (Kent, 1982)
    spread = np.einsum("iib->ib", optima.inverse)
    # both in the solver's coordinates
    logs, positive = known.logs[:, rows], optima.coordinates.positive[:, None]
    variance = np.einsum("bii->ib", known.covariance[rows])
    with np.errstate(all="ignore"):
        variance = np.where(logs & ~optima.coordinates.logs[:, None], variance * known.factors[:, rows] ** 2, variance)
        ratio = np.where(logs == positive, variance, np.nan) / spread
    good = np.isfinite(ratio) & (ratio > 0)
    middle = [np.median(r[g]) if g.any() else s**2 for r, g, s in zip(ratio.T, good.T, known.scale[rows], strict=True)]
    return np.asarray(0.5 * squared * np.where(good, ratio, np.array(middle)))


@dataclass(frozen=True)
class ProfileCurve:
    """Endpoints of the profiles of many fits, (k, B) each, in the solver's coordinates; nan where none are computed.

    Parameters
    ----------
    low, high : ndarray
    logs : ndarray of bool
        (k,): whose coordinate is the logarithm.
    done : ndarray of bool
        (B,): the fits whose limits were searched.
    better : mapping of int to (ndarray, float)
        A better optimum, and its objective, where the search found one: then there are no limits.
    """

    low: Array
    high: Array
    logs: BoolArray
    done: BoolArray
    better: dict[int, tuple[Array, float]]

    def ends(self, i: int) -> tuple[Array, Array]:
        """Return the limits of a parameter as the law has it, (B,) each."""
        if not self.logs[i]:
            return self.low[i].copy(), self.high[i].copy()
        with np.errstate(over="ignore"):
            return np.exp(self.low[i]), np.exp(self.high[i])


def endpoints_of(solutions: Solutions, level: float, rows: IntArray) -> ProfileCurve:
    """Return the limits of all parameters of some fits; those that were searched before are kept."""
    kept = solutions.profiled
    if level not in kept:
        shape = solutions.known.at.shape
        none, logs = np.zeros(shape[1], dtype=bool), np.zeros(shape[0], dtype=bool)
        kept[level] = ProfileCurve(np.full(shape, np.nan), np.full(shape, np.nan), logs, none, {})
    profiled: ProfileCurve = kept[level]
    rows = rows[~profiled.done[rows]]
    for first in range(0, rows.size, FITS_PER_BATCH):
        some = rows[first : first + FITS_PER_BATCH]
        optima = solutions.optima(some)
        ends = ProfileEndpoints(optima, allowed_rise(solutions, some, optima, level))
        profiled.low[:, some] = np.where(ends.better, np.nan, ends.low)
        profiled.high[:, some] = np.where(ends.better, np.nan, ends.high)
        for j in np.flatnonzero(ends.better):
            better = ends.optima.q[:, j], float(ends.optima.value[j])
            profiled.better[int(some[j])] = better
            refute(solutions, int(some[j]), *better)
        profiled.logs[:] = optima.coordinates.logs
        profiled.done[some] = True
    return profiled


def no_profile(solutions: Solutions, level: float) -> str:
    """Say why a single fit has no profile; empty where it has one."""
    known = solutions.known
    if known.flaw():
        return known.flaw()
    if known.exact[0]:
        return f"{ROUNDING_REASON}: a refit cannot be told from them (method='wald' gives an interval)"
    better = endpoints_of(solutions, level, np.array([0])).better
    return solutions.doubts[0] if better else ""


def refute(made: Solutions, b: int, at: Array, value: float) -> None:
    """Note that a fit has not converged: refits of it found a better optimum, (k,) in the solver's coordinates."""
    problem = made.problem(b)
    p = problem.natural(at)
    if problem.poles is not None and bool(problem.poles.mask(p[:, None])[0]):
        made.judge(pole_remark(problem, float(made.value[b]), value), b)
        return
    start = ", ".join(f'"{n}": {v:.6g}' for n, v in zip(problem.free, p, strict=True))
    made.refute(f"a better optimum was found ({value:.10g}): fit again with start={{{start}}}", b)


def _profile_endpoints(fit: Fit, name: str, level: float) -> tuple[Solutions, ProfileCurve]:
    """Return the solution of a fit and its limits.

    Raises
    ------
    FitError
        If the fit keeps no data, leaves no degree of freedom, or is not at its optimum.
    """
    result = check_data(fit.solutions, fit.name)
    if name not in fit.values:
        raise UnknownNameError("parameter", name, fit.values, where=fit.name)
    if why := no_profile(result, level):
        raise UncertaintyError(fit.name, "profile", why)
    if name not in result.setting.coordinates.free:
        raise UncertaintyError(fit.name, f"profile of '{name}'", "its bounds fix it")
    return result, endpoints_of(result, level, np.array([0]))


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
    check_level(level, fit.name)
    if not is_integer(points) or not 3 <= points <= 10_000:
        got = printable(repr(points), 40)
        raise UsageError(f"{fit.name}: profile: points: expected an integer from 3 to 10000, got {got}")
    made, profiled = _profile_endpoints(fit, name, level)
    problem = made.problem()
    i, one = problem.free.index(name), np.array([0])
    optima = made.optima(one)
    rise = float(allowed_rise(made, one, optima, level)[i, 0])
    centre = float(optima.q[i, 0])
    width = float(np.sqrt(2 * rise * optima.inverse[i, i, 0]))
    reach = min(max(width, 0.0), 6.0 if problem.logs[i] else np.inf)
    low, high = float(profiled.low[i, 0]), float(profiled.high[i, 0])
    low = low if np.isfinite(low) else max(centre - 3 * reach, float(problem.lower[i]))
    high = high if np.isfinite(high) else min(centre + 3 * reach, float(problem.upper[i]))
    half = points // 2
    grid = np.concatenate([np.linspace(low, centre, half + 1), np.linspace(centre, high, points - half)[1:]])
    rows = np.zeros(grid.size, dtype=int)
    toward = optima.inverse[:, i, 0] / optima.inverse[i, i, 0]
    start = optima.q + toward[:, None] * (grid - centre)
    solved = refit(optima, rows, rows + i, start)
    for step in (1, -1):  # each from its neighbour's solution too
        begun = np.roll(solved.q, step, axis=1)
        begun[i] = grid
        again = refit(optima, rows, rows + i, begun)
        better = again.value < solved.value
        solved.q[:, better], solved.value[better] = again.q[:, better], again.value[better]
    natural = problem.natural(solved.q.T).T
    with np.errstate(invalid="ignore"):
        root = np.sign(grid - centre) * np.sqrt(np.maximum(solved.value - optima.value[0], 0.0) / rise)
    q = float(made.known.quantile(0.5 + level / 2)[0])
    columns = {n: ("point", natural[j]) for j, n in enumerate(problem.free)}
    columns |= {"objective": ("point", solved.value), "signed_root": ("point", root * q)}
    lower, upper = (float(end[0]) for end in profiled.ends(i))
    return xr.Dataset(columns, attrs={"parameter": name, "level": level, "lower": lower, "upper": upper})
