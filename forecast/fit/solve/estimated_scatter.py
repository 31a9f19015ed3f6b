"""The scatter of y where variables have known errors and y has none: estimated beside the parameters.

It is the sigma for which the sum of squared distances is the number of points less that of the parameters (Paule and
Mandel, 1982). For a straight line that is the moment estimator b = Sxy / (Sxx - n sigma_x**2).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from forecast.base.arrays import Array
from forecast.fit.problem.coordinates import start_in_coordinates
from forecast.fit.problem.errors_in_variables import Orthogonal
from forecast.fit.solve import newton
from forecast.fit.solve.multistart import search, solve_one

if TYPE_CHECKING:
    from forecast.fit.data.observations import Observations
    from forecast.fit.options import FitRequest
    from forecast.fit.problem.problem import Problem
    from forecast.fit.problem.setting import Setting


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
