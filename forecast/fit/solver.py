"""One fit from one start: the problem in the solver's coordinates, and scipy's least squares behind it.

A parameter whose lower bound is at least 0 is solved in its logarithm; everything else as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from forecast.fit.objective import Objective

if TYPE_CHECKING:
    from forecast.laws import Law

__all__ = ["Problem", "Solution", "solve"]

Array = NDArray[np.float64]

#: The largest share of the residual's length that may still be explained by moving the parameters.
OFFSET = 1e-6
#: Residuals this small beside the observations are rounding.
ROUNDING = 1e-11
#: Stands for a residual that cannot be computed, so that a step there is refused.
WALL = 1e100


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A law, observations and an objective, over the free parameters in the solver's coordinates.

    Parameters
    ----------
    law : forecast.Law
    variables : mapping of str to ndarray
    observed, weights : ndarray
    objective : Objective
    free : tuple of str
        The parameters that are solved for.
    fixed : mapping of str to float
        The others.
    logs : ndarray of bool
        Which of the free ones are solved in their logarithm.
    lower, upper : ndarray
        Bounds in the solver's coordinates.
    delta : float, optional
        Huber's threshold.
    """

    law: Law
    variables: Mapping[str, Array]
    observed: Array
    weights: Array
    objective: Objective
    free: tuple[str, ...]
    fixed: Mapping[str, float]
    logs: NDArray[np.bool_]
    lower: Array
    upper: Array
    delta: float | None = None

    @property
    def n(self) -> int:
        """Number of points with weight."""
        return int(np.count_nonzero(self.weights))

    @property
    def k(self) -> int:
        """Number of free parameters."""
        return len(self.free)

    def natural(self, u: Array) -> Array:
        """Return the free parameters as the law has them."""
        with np.errstate(over="ignore"):
            return np.where(self.logs, np.exp(np.where(self.logs, u, 0.0)), u)

    def internal(self, p: Array) -> Array:
        """Return the free parameters in the solver's coordinates."""
        with np.errstate(divide="ignore"):
            return np.where(self.logs, np.log(np.where(self.logs, p, 1.0)), p)

    def named(self, p: Array) -> dict[str, float]:
        """Return all parameters by name, in the law's order."""
        known = {**self.fixed, **dict(zip(self.free, (float(v) for v in p), strict=True))}
        return {name: known[name] for name in self.law.parameters}

    def predicted(self, p: Array) -> Array:
        """Return the law at the points, not finite where it overflows."""
        with np.errstate(all="ignore"):
            value = np.asarray(self.law.value(self.named(p), **self.variables), dtype=float)
        return np.broadcast_to(value, self.observed.shape)

    def residuals(self, u: Array) -> Array:
        """Return residuals, unweighted."""
        return self.objective.residuals(self.observed, self.predicted(self.natural(u)))

    def slopes(self, p: Array) -> Array:
        """Return the derivatives of the residuals by the free parameters as the law has them, (n, k)."""
        with np.errstate(all="ignore"):
            rows = np.asarray(self.law.jacobian(self.named(p), **self.variables), dtype=float)
            keep = [list(self.law.parameters).index(name) for name in self.free]
            table = np.array([np.broadcast_to(rows[i], self.observed.shape) for i in keep], dtype=float).T
            return table / self.predicted(p)[:, None] if self.objective.log else table

    def jacobian(self, u: Array) -> Array:
        """Return the derivatives of the residuals by the solver's coordinates, (n, k)."""
        p = self.natural(u)
        with np.errstate(all="ignore"):
            return self.slopes(p) * np.where(self.logs, p, 1.0)

    def value(self, u: Array) -> float:
        """Return the objective; inf where it cannot be computed."""
        return self.value_at(self.natural(u))

    def value_at(self, p: Array) -> float:
        """Return the objective at parameters as the law has them."""
        got = self.objective.value(self.objective.residuals(self.observed, self.predicted(p)), self.weights, self.delta)
        return got if np.isfinite(got) else float("inf")

    def size(self) -> float:
        """Return the length of the observations, against which a residual is small or not."""
        of = np.ones_like(self.observed) if self.objective.log else self.observed
        return float(np.linalg.norm(np.sqrt(self.weights) * of))


@dataclass(frozen=True, kw_only=True)
class Solution:
    """Where a start led.

    Parameters
    ----------
    at : ndarray
        The parameters in the solver's coordinates.
    value : float
        The objective there.
    settled : bool
        No direction is left in which the objective still falls (relative to its own size).
    evaluations : int
    """

    at: Array
    value: float
    settled: bool
    evaluations: int


def _huber(weights: Array) -> Callable[[Array], Array]:
    """Return weighted Huber loss in scipy's form: rho, rho' and rho'' of the squared scaled residual."""

    def rho(z: Array) -> Array:
        inside = z <= 1
        root = np.sqrt(np.where(inside, 1.0, z))
        table = np.array(
            [np.where(inside, z, 2 * root - 1), np.where(inside, 1.0, 1 / root), np.where(inside, 0.0, -0.5 / root**3)]
        )
        return np.asarray(weights * table)

    return rho


def _walled(values: Array) -> Array:
    return np.where(np.isfinite(values), np.clip(values, -WALL, WALL), WALL)


def solve(problem: Problem, start: Array, *, evaluations: int = 2000) -> Solution:
    """Minimise from one start.

    The stopping rule is relative: scipy's own tolerances are set to rounding, and what it returns is *settled* if the
    part of the residuals that a move of the parameters could still explain is below `OFFSET` of their length.
    """
    from scipy.optimize import least_squares

    # Huber's loss is weighted after it is taken, squares before: both make a weight of two a row twice
    root = np.sqrt(problem.weights) if problem.delta is None else np.ones_like(problem.weights)

    def residuals(u: Array) -> Array:
        return _walled(root * problem.residuals(u))

    def jacobian(u: Array) -> Array:
        table = root[:, None] * problem.jacobian(u)
        return np.where(np.isfinite(table), np.clip(table, -WALL, WALL), 0.0)

    inside = np.clip(start, problem.lower, problem.upper)
    bounded = bool(np.isfinite(problem.lower).any() or np.isfinite(problem.upper).any())
    methods: list[Literal["lm", "trf"]] = (
        ["trf"] if bounded or problem.delta is not None or problem.n < problem.k else ["lm", "trf"]
    )
    loss: dict[str, Any] = (
        {"loss": _huber(problem.weights), "f_scale": problem.delta} if problem.delta is not None else {}
    )
    best = Solution(at=inside, value=problem.value(inside), settled=False, evaluations=0)
    used = 0
    for method in [*methods, *methods]:  # a second round, from where the first ended
        limits = (problem.lower, problem.upper) if bounded else (-np.inf, np.inf)
        try:
            with np.errstate(all="ignore"):
                found = least_squares(
                    residuals,
                    _strictly_inside(best.at, problem) if bounded else best.at,
                    jac=jacobian,
                    bounds=limits,
                    method=method,
                    x_scale="jac",
                    ftol=1e-15,
                    xtol=1e-15,
                    gtol=None if method == "trf" else 1e-15,
                    max_nfev=evaluations,
                    **loss,
                )
        except (ValueError, np.linalg.LinAlgError):  # a start, or a step, where nothing can be computed
            continue
        used += int(found.nfev)
        value = problem.value(found.x)
        if value <= best.value:
            best = Solution(at=found.x, value=value, settled=settled(problem, found.x), evaluations=used)
        if best.settled:
            break
    return best


def _strictly_inside(u: Array, problem: Problem) -> Array:
    """Move a start off the bounds: scipy's interior method cannot leave one it starts on."""
    step = 1e-10 * np.maximum(np.abs(u), 1.0)
    low = np.where(np.isfinite(problem.lower), problem.lower + step, -np.inf)
    high = np.where(np.isfinite(problem.upper), problem.upper - step, np.inf)
    return np.clip(u, low, high)


def at_bound(problem: Problem, u: Array) -> NDArray[np.bool_]:
    """Tell which free parameters stand on a finite bound of the solver's coordinates."""
    near = 1e-7 * np.maximum(np.abs(u), 1.0)
    return (u - problem.lower <= near) | (problem.upper - u <= near)


def settled(problem: Problem, u: Array) -> bool:
    """Tell whether the objective has stopped falling, by the relative offset of Bates and Watts (1981).

    The offset is the length of the residuals' projection on the directions the parameters can move in, over the length
    of the residuals (for Huber's loss, of its derivative). A parameter on a bound is not free to move.
    """
    residual = problem.residuals(u)
    table = problem.jacobian(u)[:, ~at_bound(problem, u)]
    if not (np.isfinite(residual).all() and np.isfinite(table).all()):
        return False
    root = np.sqrt(problem.weights)
    if float(np.linalg.norm(root * residual)) <= ROUNDING * problem.size():
        return True
    score = residual if problem.delta is None else np.clip(residual, -problem.delta, problem.delta)
    lengths = np.linalg.norm(root[:, None] * table, axis=0)
    table = table[:, lengths > 0] / lengths[lengths > 0]
    if table.shape[1] == 0:
        return True
    basis, strengths, _ = np.linalg.svd(root[:, None] * table, full_matrices=False)
    basis = basis[:, strengths > 1e-10 * strengths[0]]
    score = root * score
    return float(np.linalg.norm(basis.T @ score)) <= OFFSET * float(np.linalg.norm(score))
