"""What a fit minimises, by name: one class an objective, and the table of those that need no plugin."""

from __future__ import annotations

import inspect

from forecast.contract.registry import get_registry, import_target
from forecast.errors import PluginContractError
from forecast.fit.objectives.losses import Binomial, Gaussian, Huber, HuberLikelihood, Poisson, Quantile, Squares
from forecast.fit.objectives.objective import Objective, Option, RowRule

__all__ = ["OBJECTIVES", "Objective", "Option", "RowRule", "find_objective"]

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


def find_objective(name: str, *, where: str = "") -> Objective:
    """Return the objective of that name: one of `OBJECTIVES`, or one that a plugin brings, as ``plugin/name``.

    Raises
    ------
    UnknownNameError, AmbiguousNameError, PluginError
        An unknown one with the nearest name.

    Examples
    --------
    >>> import numpy as np
    >>> find_objective("least_squares").pointwise(np.array([[3.0]]), np.array([1.0]), {})[0]
    array([[4.]])
    """
    if name in OBJECTIVES:
        return OBJECTIVES[name]
    record = get_registry().find("objective", name, where=where, near=lambda: OBJECTIVES)
    kind = import_target(record.spec.target, what=f"objective '{record.full_name}'")
    if not (isinstance(kind, type) and issubclass(kind, Objective)) or inspect.isabstract(kind):
        raise PluginContractError(
            f"objective '{record.full_name}': '{record.spec.target}': expected a subclass of "
            "forecast.fit.objectives.Objective with a method pointwise"
        )
    return kind(record.full_name, log=record.spec.log)
