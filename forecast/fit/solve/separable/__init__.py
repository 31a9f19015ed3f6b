"""Separable least squares: what is linear in a law is solved for, and not searched (Golub and Pereyra, 1973).

A law that is linear in everything is one small system a curve (`linear`); one that is linear in all but one parameter
is a function of that one (`variable_projection`), for each value of which the rest is such a system (`basis`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forecast.fit.solve.separable.linear import curves_solved, solved_directly
from forecast.fit.solve.separable.variable_projection import Projected, project_problem

if TYPE_CHECKING:
    from forecast.fit.data.observations import Observations
    from forecast.fit.problem.problem import Target
    from forecast.fit.solve.newton import NewtonResult
    from forecast.laws import Law

__all__ = ["solve_separable", "solved_directly"]


def solve_separable(
    law: Law, observations: Observations, target: Target, tolerance: float
) -> tuple[NewtonResult, Projected | None] | None:
    """Solve curves by what is linear in their law.

    Parameters
    ----------
    law : forecast.Law
    observations : Observations
        The curves.
    target : Target
    tolerance : float
        A last step that should lower the objective by no more than this share is taken without looking.

    Returns
    -------
    (NewtonResult, Projected or None) or None
        What has not settled here may settle elsewhere; and the problem in the one parameter that is not linear, None
        where every one is. None of both where the objective is another than least squares, or more than one parameter
        is not linear.
    """
    direct = curves_solved(law, observations.variables, target)
    if direct is not None:
        return direct, None
    form = project_problem(law, observations, target)
    return None if form is None else (form.solve(target, tolerance), form)
