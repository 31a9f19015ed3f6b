"""What all fits of a batch have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.fit.problem.coordinates import Coordinates, problem_of
from forecast.fit.problem.problem import Problem, factors, kernel_for
from forecast.fit.problem.target import Target

if TYPE_CHECKING:
    from forecast.fit.data.padded import Padded
    from forecast.fit.objectives.objective import Objective
    from forecast.laws import Law

__all__ = ["Setting"]

Array: TypeAlias = NDArray[np.float64]


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
    """

    law: Law
    objective: Objective
    options: Mapping[str, Any]
    coordinates: Coordinates
    name: str

    def target(self, curves: Padded, own: Mapping[str, Array] | None = None) -> Target:
        """Return what is minimised over some curves; `own` are options of each, (B,)."""
        kernel = kernel_for(self.coordinates.placement(self.law, curves.variables, link=self.objective.log))
        same = bool((curves.weights == curves.weights[0]).all())
        return Target(
            kernel=kernel,
            objective=self.objective,
            y=curves.linked,
            weights=curves.weights[0] if same else curves.weights,
            options={**self.options, **curves.options, **{o: v[:, None] for o, v in (own or {}).items()}},
            factors=factors(self.law, self.coordinates.free, self.coordinates.positive & ~self.coordinates.logs),
        )

    def problem(self, curves: Padded, b: int, own: Mapping[str, float] | None = None) -> Problem:
        """Return one curve as a problem of its own."""
        seen = curves.one(b)
        options = {**self.objective.options, **self.options, **seen.options, **(own or {})}
        return problem_of(self.law, replace(seen, options=options), self.objective, self.name)
