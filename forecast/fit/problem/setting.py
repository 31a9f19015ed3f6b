"""What all fits of a batch have in common; with data it makes the problem of one, or the target of many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from forecast.base.arrays import Array
from forecast.fit.problem.coordinates import Coordinates
from forecast.fit.problem.problem import Problem, kernel_for, multiplied_parameters
from forecast.fit.problem.target import Target
from forecast.fit.solver_options import SolverOptions

if TYPE_CHECKING:
    from forecast.fit.data.observations import Observations
    from forecast.fit.objectives.objective import Objective
    from forecast.laws import Law


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
    """What all fits of a batch have in common.

    Parameters
    ----------
    law : forecast.Law
    objective : Objective
    options : mapping
        Of the objective, numbers.
    coordinates : Coordinates
    name : str
        What to call the law in messages.
    solver : SolverOptions
    """

    law: Law
    objective: Objective
    options: Mapping[str, Any]
    coordinates: Coordinates
    name: str
    solver: SolverOptions = field(default_factory=SolverOptions)

    def target(self, curves: Observations, own: Mapping[str, Array] | None = None) -> Target:
        """Return what is minimised over some curves; `own` are options of each, (B,)."""
        kernel = kernel_for(self.coordinates.placement(self.law, curves.variables, link=self.objective.log))
        same = bool((curves.weights == curves.weights[0]).all())
        return Target(
            kernel=kernel,
            objective=self.objective,
            coordinates=self.coordinates,
            solver=self.solver,
            y=self.objective.linked(curves.y),
            weights=curves.weights[0] if same else curves.weights,
            options={**self.options, **curves.columns, **{o: v[:, None] for o, v in (own or {}).items()}},
            factors=multiplied_parameters(self.law, self.coordinates),
        )

    def problem(self, observations: Observations, own: Mapping[str, float] | None = None) -> Problem:
        """Return one data set as a problem; `own` are options that came from it."""
        parts: dict[str, Any] = {
            "law": self.law,
            "variables": observations.variables,
            "observed": observations.y,
            "weights": observations.weights,
            "objective": self.objective,
            "coordinates": self.coordinates,
            "solver": self.solver,
            "options": {**self.options, **observations.columns, **(own or {})},
        }
        if not observations.sigma_x:
            return Problem(**parts)
        from forecast.fit.problem.errors_in_variables import Orthogonal

        return Orthogonal(**parts, sigma_x=observations.sigma_x)
