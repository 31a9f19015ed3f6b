"""What a fit minimises, by name: one class an objective, and the table of those there are."""

from __future__ import annotations

from forecast.errors import UnknownNameError, UsageError, printable
from forecast.fit.objectives.counts import Binomial, Poisson
from forecast.fit.objectives.huber import Huber, HuberLikelihood
from forecast.fit.objectives.objective import Objective, Option, RowRule
from forecast.fit.objectives.quantile import Quantile
from forecast.fit.objectives.squares import Gaussian, Squares

__all__ = ["OBJECTIVES", "Objective", "Option", "RowRule", "find_objective", "register"]

OBJECTIVES: dict[str, Objective] = {
    objective.name: objective
    for objective in (
        Squares("least_squares"),
        Squares("least_squares_log", log=True),
        Huber("huber_log", log=True),
        Gaussian("gaussian"),
        Gaussian("gaussian_log", log=True),
        HuberLikelihood("huber_likelihood"),
        HuberLikelihood("huber_likelihood_log", log=True),
        Poisson("poisson"),
        Binomial("binomial"),
        Quantile("quantile"),
        Quantile("quantile_log", log=True),
    )
}


def register(objective: Objective) -> None:
    """Make an objective one that ``law.fit(..., objective=NAME)`` and ``forecast.load`` find by its name.

    Raises
    ------
    UsageError
        If another objective has the name.
    """
    namesake = OBJECTIVES.get(objective.name, objective)
    if type(namesake).__qualname__ != type(objective).__qualname__:  # the same one where a module is read again
        raise UsageError(f"objective '{printable(objective.name, 60)}': the name is taken, give it one of its own")
    OBJECTIVES[objective.name] = objective


def find_objective(name: str, *, where: str = "") -> Objective:
    """Return the objective of that name.

    Raises
    ------
    UnknownNameError
        With the nearest name.

    Examples
    --------
    >>> import numpy as np
    >>> find_objective("least_squares").pointwise(np.array([[3.0]]), np.array([1.0]), {})[0]
    array([[4.]])
    """
    if name not in OBJECTIVES:
        raise UnknownNameError("objective", name, OBJECTIVES, where=where)
    return OBJECTIVES[name]
