"""Does the law miss? Rows that share their variables show the scatter without any law: pure error.

What a fit leaves beyond that is lack of fit (Fisher's F test; Draper and Smith, 1998, ch. 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forecast.base.arrays import Array
from forecast.fit.data.groups import point_codes
from forecast.fit.problem.problem import Problem

#: Below this probability a law is said to miss.
MAX_P_VALUE = 0.01
#: Pure error of less than this share of the observations is rounding: rows that are copies tell nothing.
MIN_PURE_ERROR_SHARE = 1e-10


@dataclass(frozen=True, kw_only=True)
class LackOfFit:
    """The test of a law against the pure error of its data.

    Parameters
    ----------
    p : float
        The probability of so much lack of fit under the law.
    statistic : float
        F.
    dof : (int, int)
        Of the lack of fit (distinct places less parameters), and of the pure error (rows less distinct places).
    grouped : bool
        Rows of one group depend on each other, so that groups which differ look like lack of fit.
    """

    p: float
    statistic: float
    dof: tuple[int, int]
    grouped: bool = False

    def phrase(self) -> str:
        """Say that the law misses; nothing where it does not."""
        if self.p >= MAX_P_VALUE:
            return ""
        return (
            f"the law misses{' or groups differ' if self.grouped else ''}: lack of fit p = {self.p:.2g} "
            f"(F({self.dof[0]}, {self.dof[1]}) = {self.statistic:.3g}, against the scatter of rows that share their "
            "variables)"
        )


def lack_of_fit(problem: Problem, p: Array, *, grouped: bool = False) -> LackOfFit | None:
    """Return the test of a problem's solution; None where no rows share their variables, or nothing is left to test.

    Parameters
    ----------
    problem : Problem
        Under least squares or a Gaussian likelihood, of the observations or their logarithms.
    p : ndarray
        The free parameters as the law has them.
    grouped : bool
        Rows are in groups.

    Notes
    -----
    Rows that are copies of each other (of one observation, not of one configuration) understate the pure error.
    """
    from scipy.special import fdtrc

    if problem.objective.scale != "residual":
        return None
    rows = problem.weights > 0
    weights, y = problem.weights[rows], problem.y[rows]
    place = point_codes([v[rows] for v in problem.variables.values()])
    distinct = int(place.max()) + 1
    free, pure = distinct - problem.k, len(y) - distinct
    if free < 1 or pure < 1:
        return None
    means = np.bincount(place, weights * y) / np.bincount(place, weights)
    apart = float(np.sum(weights * (y - means[place]) ** 2))
    residuals = problem.residuals_at(p)[rows]
    left = float(np.sum(weights * residuals**2)) - apart
    if not np.isfinite(left) or apart <= (MIN_PURE_ERROR_SHARE * problem.size()) ** 2:
        return None
    statistic = max(left, 0.0) / free / (apart / pure)
    return LackOfFit(p=float(fdtrc(free, pure, statistic)), statistic=statistic, dof=(free, pure), grouped=grouped)
