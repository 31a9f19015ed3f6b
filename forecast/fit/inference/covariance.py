"""How well parameters are known: Wald covariance, the sandwich for Huber's loss, bounds, what is not identified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forecast.errors import FitError
from forecast.fit.kernels.errors_in_variables import Effective, covariance
from forecast.fit.problem.objective import robust_scale
from forecast.fit.problem.problem import Array, Problem, at_bound
from forecast.fit.solve.newton import ROUNDING

__all__ = ["WIDE", "Uncertainty", "assess"]

#: How much the objective may rise when a nonlinear parameter that ran to 0 is set to it.
FLAT = 1e-9
#: Singular values of the Jacobian (columns of length one) below this share of the largest are a ridge.
RIDGE = 1e-8
#: A standard error of a logarithm above this (an interval over some eight decades) is no knowledge.
VAGUE = 5.0
WIDE = "its interval would span many decades"


@dataclass(frozen=True, kw_only=True)
class Uncertainty:
    """What a fit knows about its parameters.

    Parameters
    ----------
    names : tuple of str
        The free parameters.
    at : ndarray
        Their values, each in its own coordinate.
    logs : ndarray of bool
        Whose coordinate is the logarithm.
    covariance : ndarray
        (k, k), in these coordinates; rows and columns of what is not identified are nan.
    unidentified : mapping of str to str
        Parameter to reason.
    bounds : mapping of str to (float, int)
        Parameters on a bound: the bound, and 1 or -1 for the side that is open.
    dof : int
        Points less parameters; the quantiles are Student's.
    scale : float
        Standard deviation of one residual.
    scale_known : bool
        It was given (``sigma=``), not estimated.
    flaw : str
        Why no interval at all can be given; empty where some can.
    clusters : int
        Over how many groups of rows the sandwich was summed; 0 where rows are independent.
    """

    names: tuple[str, ...]
    at: Array
    logs: NDArray[np.bool_]
    covariance: Array
    unidentified: Mapping[str, str]
    bounds: Mapping[str, tuple[float, int]]
    dof: int
    scale: float
    scale_known: bool
    flaw: str = ""
    clusters: int = 0

    @property
    def freedom(self) -> int:
        """Degrees of freedom of Student's t: groups less one where rows depend on each other, else `dof`."""
        return max(self.clusters - 1 if self.clusters else self.dof, 1)

    def quantile(self, p: float) -> float:
        """Return the quantile of Student's t (normal where the scale is known)."""
        from scipy.special import ndtri, stdtrit

        known = self.scale_known and not self.clusters
        return float(ndtri(p) if known else stdtrit(self.freedom, p))

    @property
    def method(self) -> str:
        """Where the standard errors come from."""
        return f"cluster-robust sandwich over {self.clusters} groups" if self.clusters else "curvature at the optimum"

    def value(self, i: int) -> float:
        """Return parameter `i` as the law has it."""
        return float(np.exp(self.at[i]) if self.logs[i] else self.at[i])

    def known(self) -> NDArray[np.bool_]:
        """Tell which parameters have a standard error."""
        return np.array([not self.flaw and n not in self.unidentified for n in self.names], dtype=bool)

    def stderr(self, i: int) -> float:
        """Return the standard error of parameter `i` as the law has it; inf where it is not identified."""
        if self.flaw or self.names[i] in self.unidentified:
            return float("inf")
        error = float(np.sqrt(self.covariance[i, i]))
        return error * abs(self.value(i)) if self.logs[i] else error

    def interval(self, name: str, level: float, where: str) -> tuple[float, float]:
        """Return the interval of one parameter; see `forecast.Fit.interval`."""
        i = self.names.index(name)
        if self.flaw:
            raise FitError(f"{where}: no interval for '{name}': {self.flaw}")
        if name in self.unidentified:
            why = self.unidentified[name]
            raise FitError(f"{where}: no interval for '{name}': it is not identified by these data ({why})")
        error = float(np.sqrt(self.covariance[i, i]))
        if name in self.bounds:
            bound, side = self.bounds[name]
            far = float(self.at[i]) + side * self.quantile(level) * error
            return (bound, far) if side > 0 else (far, bound)
        half = self.quantile(0.5 + level / 2) * error
        low, high = self.at[i] - half, self.at[i] + half
        return (float(np.exp(low)), float(np.exp(high))) if self.logs[i] else (float(low), float(high))

    def refuse(self, where: str, what: str) -> None:
        """Raise unless every parameter is known."""
        if self.flaw:
            raise FitError(f"{where}: no {what}: {self.flaw}")
        if self.unidentified:
            name, reason = next(iter(self.unidentified.items()))
            raise FitError(f"{where}: no {what}: parameter '{name}' is not identified by these data ({reason})")

    def draw(self, generator: np.random.Generator, draws: int) -> dict[str, Array]:
        """Return joint draws of the free parameters as the law has them."""
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        normals = generator.standard_normal((draws, len(self.names)))
        moves = normals @ root.T
        if self.clusters or not self.scale_known:
            moves /= np.sqrt(generator.chisquare(self.freedom, draws) / self.freedom)[:, None]
        found = {}
        for i, name in enumerate(self.names):
            if name in self.bounds:
                bound, side = self.bounds[name]
                found[name] = bound + side * np.abs(moves[:, i])
            else:
                moved = self.at[i] + moves[:, i]
                found[name] = np.exp(moved) if self.logs[i] else moved
        return found


def _faded(problem: Problem, p: Array) -> list[int]:
    """Return the nonlinear positive parameters that ran to 0, where their logarithm has no end."""
    value, found = problem.value_at(p), []
    for i in map(int, np.flatnonzero(problem.logs & ~np.isfinite(problem.lower))):
        tried = np.where(np.arange(p.size) == i, 0.0, p)
        if problem.value_at(tried) <= value * (1 + FLAT) and np.linalg.norm(problem.slopes(tried)[:, i]) > 0:
            found.append(i)
    return found


def assess(problem: Problem, u: Array, *, scale_known: bool, groups: NDArray[np.int64] | None = None) -> Uncertainty:
    """Return what the data say about the parameters at a solution.

    Parameters
    ----------
    problem : Problem
    u : ndarray
        The solution, in the solver's coordinates.
    scale_known : bool
        The weights are one over known variances, so that the residuals' own spread is not used.
    groups : ndarray of int, optional
        Rows of one group are not independent: the covariance is the cluster-robust sandwich.
    """
    p = problem.natural(u)
    residuals = problem.residuals(u)
    n, k = problem.n, problem.k
    logs = problem.positive.copy()
    bounds: dict[str, tuple[float, int]] = {}
    unidentified: dict[str, str] = {}
    for i in _faded(problem, p):
        bounds[problem.free[i]] = (0.0, 1)
    lower, upper = problem.natural(problem.lower), problem.natural(problem.upper)
    for i in map(int, np.flatnonzero(at_bound(problem, u))):
        low = abs(u[i] - problem.lower[i]) <= abs(problem.upper[i] - u[i])
        bounds[problem.free[i]] = (float(lower[i] if low else upper[i]), 1 if low else -1)
    logs[[problem.free.index(name) for name in bounds]] = False
    with np.errstate(divide="ignore"):
        at = np.where(logs & problem.logs, u, np.where(logs, np.log(np.where(logs, p, 1.0)), p))
    table = problem.slopes(p) * np.where(logs, p, 1.0)
    root = np.sqrt(problem.weights)
    flaw = ""
    length = float(np.linalg.norm(root * residuals))
    if not np.isfinite(table).all() or not np.isfinite(length):
        flaw = "the law or its derivatives cannot be computed at the solution"
    elif n - k < 1:
        flaw = f"{n} points for {k} parameters leave nothing to judge the fit by; add points or fix a parameter"
    elif length <= ROUNDING * problem.size() and not _certain(problem, scale_known, groups):
        flaw = "the law passes through every point, so that the residuals are rounding only"
    scale = _scale(problem, residuals, scale_known)
    covariance = np.full((k, k), np.nan)
    if np.isfinite(table).all():  # an exact fit may be on a ridge too
        _find_ridges(problem, root[:, None] * table, at, bounds, unidentified)
    if not flaw:
        keep = [i for i, name in enumerate(problem.free) if name not in unidentified]
        part = _covariance(problem, residuals, table, keep, logs, at, scale_known, groups)
        covariance[np.ix_(keep, keep)] = part
        for i in keep:
            error = covariance[i, i]
            if not np.isfinite(error) or error < 0 or (logs[i] and error > VAGUE**2):
                unidentified[problem.free[i]] = WIDE
    return Uncertainty(
        names=problem.free,
        at=at,
        logs=logs,
        covariance=covariance,
        unidentified=unidentified,
        bounds=bounds,
        dof=n - k,
        scale=scale,
        scale_known=scale_known,
        flaw=flaw,
        clusters=0 if groups is None else len(np.unique(groups[problem.weights > 0])),
    )


def _certain(problem: Problem, scale_known: bool, groups: NDArray[np.int64] | None) -> bool:
    """Tell whether standard errors need no residuals: the scale is known, and neither groups nor a sandwich ask."""
    return scale_known and problem.objective.scale != "sandwich" and groups is None and not problem.errs_in_x


def _scale(problem: Problem, residuals: Array, scale_known: bool) -> float:
    if scale_known:
        return 1.0
    if problem.objective.scale == "sandwich":
        return float(robust_scale(residuals, problem.k, problem.weights))
    dof = problem.n - problem.k
    return float(np.sqrt(np.sum(problem.weights * residuals**2) / dof)) if dof > 0 else float("nan")


def _find_ridges(
    problem: Problem,
    weighted: Array,
    at: Array,
    bounds: Mapping[str, tuple[float, int]],
    unidentified: dict[str, str],
) -> None:
    lengths = np.linalg.norm(weighted, axis=0)
    zeros = [name for name, (bound, _) in bounds.items() if bound == 0]
    for i, name in enumerate(problem.free):
        # a parameter that stands at 0 has no size of its own
        nothing = (
            lengths[i] == 0 if name in zeros else lengths[i] * max(abs(float(at[i])), 1.0) <= 1e-12 * problem.size()
        )
        if nothing:
            unidentified[name] = "what it belongs to ran to zero" if zeros else "moving it changes nothing"
    keep = [i for i, name in enumerate(problem.free) if name not in unidentified]
    if not keep:
        return
    _, strengths, directions = np.linalg.svd(weighted[:, keep] / lengths[keep], full_matrices=False)
    for strength, direction in zip(strengths, directions, strict=True):
        if strength < RIDGE * strengths[0]:
            together = [problem.free[keep[j]] for j in np.flatnonzero(np.abs(direction) > 0.05)]
            for name in together:
                others = [o for o in together if o != name]
                why = f"only a combination with {', '.join(others)} is" if others else "the law is flat in it"
                unidentified.setdefault(name, why)


def _covariance(
    problem: Problem,
    residuals: Array,
    table: Array,
    keep: list[int],
    logs: NDArray[np.bool_],
    at: Array,
    scale_known: bool,
    groups: NDArray[np.int64] | None,
) -> Array:
    if not keep:
        return np.zeros((0, 0))
    lengths = np.linalg.norm(np.sqrt(problem.weights)[:, None] * table[:, keep], axis=0)
    slopes = table[:, keep] / lengths
    weighted = np.sqrt(problem.weights)[:, None] * slopes
    dof = problem.n - problem.k
    _, strengths, directions = np.linalg.svd(weighted, full_matrices=False)
    bread = (directions.T / strengths**2) @ directions
    if problem.objective.scale == "residual":
        spread = 1.0 if scale_known else float(np.sum(problem.weights * residuals**2)) / dof
        found = spread * bread
        if isinstance(problem, Effective) and groups is None:
            curved = covariance(problem, at, logs, keep, scale_known)
            if curved is not None:
                return curved
        if groups is not None:
            found = bread @ _clustered(problem, slopes * (problem.weights * residuals)[:, None], groups) @ bread
    else:
        _, score, second = problem.pointwise(_natural(at, logs))
        inner = problem.weights * second
        curvature = _curvature(problem, score, keep, logs, at) / np.outer(lengths, lengths)
        hessian = slopes.T @ (inner[:, None] * slopes) + curvature
        # where the loss is not convex around the solution (few points within the threshold), leave the curvature out
        for tried in (hessian, slopes.T @ (inner[:, None] * slopes), weighted.T @ weighted):
            if np.all(np.linalg.eigvalsh(tried) > RIDGE):
                bread = np.linalg.inv(tried)
                break
        if groups is not None:
            found = bread @ _clustered(problem, slopes * (problem.weights * score)[:, None], groups) @ bread
            return np.asarray(found / np.outer(lengths, lengths))
        meat = slopes.T @ ((problem.weights * score)[:, None] ** 2 * slopes)
        found = bread if problem.objective.scale == "known" else bread @ meat @ bread * problem.n / dof
    return np.asarray(found / np.outer(lengths, lengths))


def _clustered(problem: Problem, scores: Array, groups: NDArray[np.int64]) -> Array:
    """Return the covariance of the summed scores where rows of one group depend on each other (Liang and Zeger, 1986).

    With the usual correction for few groups, G/(G-1) * (n-1)/(n-k).
    """
    sums = np.zeros((int(groups.max()) + 1, scores.shape[1]))
    np.add.at(sums, groups, scores)
    count, n = len(np.unique(groups[problem.weights > 0])), problem.n
    return np.asarray(sums.T @ sums * count / (count - 1) * (n - 1) / (n - problem.k))


def _natural(at: Array, logs: NDArray[np.bool_]) -> Array:
    with np.errstate(over="ignore"):
        return np.where(logs, np.exp(np.where(logs, at, 0.0)), at)


def _curvature(problem: Problem, score: Array, keep: list[int], logs: NDArray[np.bool_], at: Array) -> Array:
    """Return the second-order term of the objective: the law's own curvature, weighted by the score."""
    p = _natural(at, logs)
    kernel = problem.general(logs)
    state = kernel.at(np.where(logs, at, p)[:, None])
    weighted = (problem.weights * score)[None]
    table = kernel.contract(state, weighted, np.zeros_like(weighted))[1][:, :, 0][np.ix_(keep, keep)]
    return table if np.isfinite(table).all() else np.zeros((len(keep), len(keep)))
