"""What fits know of their parameters: Wald covariance, the sandwich for Huber's loss, bounds, what is not identified.

Many fits are judged together, and a single one is a batch of one. What needs a search (a parameter that ran to 0, a
ridge) is looked for in those fits alone whose standard errors are not ordinary.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from forecast.base import budgets
from forecast.base.arrays import AnyArray, Array, BoolArray, IntArray
from forecast.base.streams import student_t
from forecast.errors import UncertaintyError
from forecast.fit.kernels.general import natural
from forecast.fit.objectives.objective import robust_scale
from forecast.fit.problem.errors_in_variables import Orthogonal, covariance
from forecast.fit.problem.problem import RESIDUAL_RTOL, Coordinates, Problem, Target, on_bound
from forecast.fit.sizes import CHUNK_ELEMENTS
from forecast.fit.solve.newton import solve_damped

if TYPE_CHECKING:
    from forecast.laws import Law


#: What is said of a fit whose residuals are rounding.
ROUNDING_REASON = "the data lie on the law to rounding"


@dataclass(frozen=True, kw_only=True)
class Uncertainty:
    """What fits know about their parameters.

    Parameters
    ----------
    names : tuple of str
        The free parameters.
    at : ndarray
        (k, B), their values, each in its own coordinate.
    logs : ndarray of bool
        (k, B): whose coordinate is the logarithm.
    covariance : ndarray
        (B, k, k), in these coordinates; rows and columns of what is not identified are nan.
    bounds : ndarray
        (k, B), the bound a parameter stands on, else nan.
    sides : ndarray of int
        (k, B), 1 or -1 for the side of the bound that is open, else 0.
    unidentified : mapping of int to mapping of str to str
        Parameter to reason, in the fits that have some.
    flaws : mapping of int to str
        Why a fit gives no interval at all.
    dof : ndarray of int
        (B,), points less parameters; the quantiles are Student's.
    scale : ndarray
        (B,), standard deviation of one residual.
    exact : ndarray of bool
        (B,): the residuals are rounding; the scale is their length, and at least that of the observations' rounding.
    absolute_sigma : bool
        It was given (``sigma=``), not estimated.
    clusters : int
        Over how many groups of rows the sandwich was summed; 0 where rows are independent.
    """

    names: tuple[str, ...]
    at: Array
    logs: BoolArray
    covariance: Array
    bounds: Array
    sides: IntArray
    unidentified: Mapping[int, Mapping[str, str]]
    flaws: Mapping[int, str]
    dof: IntArray
    scale: Array
    exact: BoolArray
    absolute_sigma: bool
    clusters: int = 0

    def on_bounds(self, b: int = 0) -> dict[str, tuple[float, int]]:
        """Return the parameters of a fit that stand on a bound: the bound, and 1 or -1 for the side that is open."""
        standing = zip(self.names, self.bounds[:, b], self.sides[:, b], strict=True)
        return {name: (float(bound), int(side)) for name, bound, side in standing if side}

    def reasons(self, b: int = 0) -> dict[str, str]:
        """Return the parameters of a fit that are not identified, with the reason."""
        return dict(self.unidentified.get(b, {}))

    def flaw(self, b: int = 0) -> str:
        """Say why a fit gives no interval at all; empty where it gives some."""
        return self.flaws.get(b, "")

    @functools.cached_property
    def known(self) -> BoolArray:
        """Whether a parameter has a standard error, (k, B)."""
        sure = np.ones(self.at.shape, dtype=bool)
        sure[:, list(self.flaws)] = False
        for b, reasons in self.unidentified.items():
            sure[[self.names.index(name) for name in reasons], b] = False
        return sure

    @property
    def freedom(self) -> IntArray:
        """Degrees of freedom of Student's t: groups less one where rows depend on each other, else `dof`."""
        freedom = np.full_like(self.dof, self.clusters - 1) if self.clusters else self.dof
        return np.maximum(freedom, 1)

    def quantile(self, p: float) -> Array:
        """Return the quantile of Student's t for every fit (normal where the scale is known), (B,)."""
        from scipy.special import ndtri, stdtrit

        if self.absolute_sigma and not self.clusters:
            return np.full(self.dof.size, float(ndtri(p)))
        if self.dof.size == 1:
            return np.asarray(stdtrit(self.freedom, p))
        kinds, place = np.unique(self.freedom, return_inverse=True)
        return np.asarray(np.asarray(stdtrit(kinds, p))[np.ravel(place)])

    @functools.cached_property
    def factors(self) -> Array:
        """What turns errors into those of the parameters as the law has them, (k, B)."""
        with np.errstate(over="ignore"):
            return np.where(self.logs, np.exp(np.where(self.logs, self.at, 0.0)), 1.0)

    def natural(self) -> Array:
        """Return the covariances of the parameters as the law has them, (B, k, k); nan where one is not known."""
        with np.errstate(all="ignore"):
            covariance = self.covariance * (self.factors.T[:, :, None] * self.factors.T[:, None, :])
        covariance[~self.known.all(axis=0)] = np.nan
        return np.asarray(covariance)

    def errors(self) -> Array:
        """Return standard errors as the law has the parameters, (k, B); inf where one is not identified."""
        with np.errstate(all="ignore"):
            errors = np.sqrt(np.einsum("bii->ib", self.covariance)) * self.factors
        return np.where(self.known, errors, np.inf)

    def wald(self, i: int, level: float) -> tuple[Array, Array]:
        """Return Student's interval of parameter `i` about the estimate, or its logarithm; one-sided on a bound.

        (B,) each; nan where there is none.
        """
        with np.errstate(all="ignore"):
            error = np.where(self.known[i], np.sqrt(self.covariance[:, i, i]), np.nan)
            half = self.quantile(0.5 + level / 2) * error
            low, high = self.at[i] - half, self.at[i] + half
            low, high = (np.where(self.logs[i], np.exp(end), end) for end in (low, high))
        bounded = np.flatnonzero(self.sides[i])
        if bounded.size:
            bound, side = self.bounds[i, bounded], self.sides[i, bounded]
            far = self.at[i, bounded] + side * self.quantile(level)[bounded] * error[bounded]
            bound = np.where(np.isnan(far), np.nan, bound)
            low[bounded], high[bounded] = np.where(side > 0, bound, far), np.where(side > 0, far, bound)
        return low, high

    def why_not(self, b: int, name: str) -> str:
        """Say why a parameter of a fit has no standard error; empty where it has one."""
        if b in self.flaws:
            return self.flaws[b]
        reason = self.unidentified.get(b, {}).get(name)
        return f"it is not identified by these data ({reason})" if reason else ""

    @property
    def method(self) -> str:
        """Where the standard errors come from."""
        return f"cluster-robust sandwich over {self.clusters} groups" if self.clusters else "curvature at the optimum"

    def refuse(self, where: str, what: str, b: int = 0) -> None:
        """Raise unless every parameter of a fit is known."""
        if b in self.flaws:
            raise UncertaintyError(where, what, self.flaws[b], unidentified=bool(self.reasons(b)))
        for name, reason in self.reasons(b).items():
            why = f"parameter '{name}' is not identified by these data ({reason})"
            raise UncertaintyError(where, what, why, unidentified=True)

    def draw(self, uniforms: Array, b: int = 0) -> dict[str, Array]:
        """Return joint draws of the free parameters of a fit through uniforms, (parameter + 1, draw)."""
        values, vectors = np.linalg.eigh(self.covariance[b])
        # the symmetric root: eigenvectors have any sign, and a library on another processor gives another one
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        estimated = self.clusters or not self.absolute_sigma
        moves = root @ student_t(uniforms, int(self.freedom[b]) if estimated else np.inf)
        drawn, on_bounds = {}, self.on_bounds(b)
        for i, name in enumerate(self.names):
            if name in on_bounds:
                bound, side = on_bounds[name]
                drawn[name] = bound + side * np.abs(moves[i])
            else:
                moved = self.at[i, b] + moves[i]
                drawn[name] = np.exp(moved) if self.logs[i, b] else moved
        return drawn


def placed(parts: Sequence[AnyArray], rows: IntArray, whole: AnyArray) -> AnyArray:
    """Return a table with one batch after the other at these of its columns."""
    if parts:
        whole[..., rows] = np.concatenate(parts, axis=-1)
    return whole


def join_uncertainties(parts: list[Uncertainty], rows: IntArray, names: tuple[str, ...], dof: Any) -> Uncertainty:
    """Return what is known of one batch after the other, whose fits are these rows of all; nothing of the rest."""
    k, count = len(names), dof.size
    covariances = [np.moveaxis(p.covariance, 0, -1) for p in parts]
    places = np.split(rows, np.cumsum([p.dof.size for p in parts], dtype=int)[:-1])
    own = list(zip(parts, places, strict=False))
    return Uncertainty(
        names=names, dof=dof, absolute_sigma=bool(parts) and parts[0].absolute_sigma,
        at=placed([p.at for p in parts], rows, np.full((k, count), np.nan)),
        logs=placed([p.logs for p in parts], rows, np.zeros((k, count), dtype=bool)),
        bounds=placed([p.bounds for p in parts], rows, np.full((k, count), np.nan)),
        sides=placed([p.sides for p in parts], rows, np.zeros((k, count), dtype=np.int64)),
        scale=placed([p.scale for p in parts], rows, np.full(count, np.nan)),
        exact=placed([p.exact for p in parts], rows, np.zeros(count, dtype=bool)),
        covariance=np.ascontiguousarray(np.moveaxis(placed(covariances, rows, np.full((k, k, count), np.nan)), -1, 0)),
        unidentified={int(some[b]): reasons for p, some in own for b, reasons in p.unidentified.items()},
        flaws={int(some[b]): flaw for p, some in own for b, flaw in p.flaws.items()},
    )  # fmt: skip


_Rows: TypeAlias = IntArray | slice

#: How much the objective may rise when a nonlinear parameter that ran to 0 is set to it.
FLAT_RTOL = 1e-9
#: Singular values of the Jacobian (columns of length one) below this share of the largest are a ridge; of a law that is
#: linear in all parameters the Jacobian is known to rounding, and so is what it tells apart.
RIDGE_RTOL, LINEAR_RIDGE_RTOL = 1e-8, 1e-13
#: A standard error of a logarithm above this (an interval over some eight decades) is no knowledge.
MAX_LOG_ERROR = 5.0
WIDE_INTERVAL_REASON = "its interval would span many decades"
#: Normal equations are inverted as the solver has them where they inflate no variance by more than this, so that
#: rounding stays below 1e-11; beyond, the Jacobian itself is decomposed.
MAX_VARIANCE_INFLATION = 1e4


def assess_parameters(
    law: Law,
    target: Target,
    q: Array,
    coordinates: Coordinates | Problem,
    problem: Callable[[int], Problem],
    *,
    absolute_sigma: bool,
    groups: IntArray | None = None,
    converged: BoolArray | None = None,
    solved: tuple[Array, Array] | None = None,
) -> Uncertainty:
    """Return what the data say about the parameters at solutions.

    Parameters
    ----------
    law : forecast.Law
    target : Target
    q : ndarray
        (k, B), in the solver's coordinates.
    coordinates : Coordinates or Problem
    problem : callable
        ``problem(b)`` is fit `b` as a problem of its own.
    absolute_sigma : bool
        The weights are one over known variances, so that the residuals' own spread is not used.
    groups : ndarray of int, optional
        Rows of one group are not independent: the covariance is the cluster-robust sandwich.
    converged : ndarray of bool, optional
        (B,): those that are solutions; default all.
    solved : tuple of ndarray, optional
        Half the Gauss-Newton Hessian (k, k, B), nan where it is not known yet, and the squares (B,), where the solver
        has them.
    """
    if solved is None and len(target.pieces) > 1 and groups is None:  # the Jacobian of so many points is large
        value, _, hessian = target.evaluate(q, np.zeros((q.shape[1], 1)))
        solved = hessian / 2, value
    result = _Assessment(law, target, q, coordinates, problem, absolute_sigma, groups)
    good = np.ones(q.shape[1], dtype=bool) if converged is None else converged
    ready = np.zeros(q.shape[1], dtype=bool)
    if solved is not None and target.objective.scale == "residual":
        ready = result.by_normal_equations(*solved)
    result.by_jacobian(np.flatnonzero(good & ~ready))
    return result.done(good)


@dataclass(frozen=True)
class _Linearisation:
    """What fits look like at their solutions, in the coordinates in which parameters are reported.

    Parameters
    ----------
    table : ndarray
        (B, n, k), derivatives of the law in the link by the parameters, over their lengths; unweighted.
    lengths : ndarray
        (B, k), of the weighted columns.
    weights, residuals : ndarray
        (B, n)
    first, second : ndarray, optional
        (B, n), derivatives of the loss, where it is not the square.
    hessian : ndarray, optional
        (B, k, k), of the objective, over the lengths.
    """

    table: Array
    lengths: Array
    weights: Array
    residuals: Array
    first: Array | None = None
    second: Array | None = None
    hessian: Array | None = None

    @property
    def finite(self) -> BoolArray:
        """Whether the law and its derivatives can be computed, (B,)."""
        return np.asarray(np.isfinite(self.lengths).all(axis=1) & np.isfinite(self.residuals).all(axis=1))

    @functools.cached_property
    def weighted(self) -> Array:
        """The table by the roots of the weights."""
        return np.asarray(self.table * np.sqrt(self.weights)[:, :, None])

    def row(self, b: int, keep: list[int]) -> _Linearisation:
        """Return one of the fits with some of its parameters."""
        some = {f: v if (v := getattr(self, f)) is None else v[b : b + 1] for f in ("first", "second", "hessian")}
        if some["hessian"] is not None:
            some["hessian"] = some["hessian"][:, keep][:, :, keep]
        return _Linearisation(
            self.table[b : b + 1][:, :, keep], self.lengths[b : b + 1][:, keep], self.weights[b : b + 1],
            self.residuals[b : b + 1], **some,
        )  # fmt: skip


def _linearise(target: Target, q: Array, turn: Array, into_logs: BoolArray) -> _Linearisation:
    """Return what fits look like; `turn` (k, B) is the derivative of the coordinates by those of the report."""
    state = target.kernel.at(q)
    with np.errstate(all="ignore"):
        table = np.moveaxis(target.kernel.jacobian(state) * turn[:, :, None], 0, 2)
        weights = np.broadcast_to(target.weights, table.shape[:2])
        residuals = np.where(weights > 0, target.objective.residuals(state.f, target.y, target.options), 0.0)
        lengths = np.sqrt(np.einsum("bnk,bn,bnk->bk", table, weights, table))
        table = table / np.where(lengths > 0, lengths, 1.0)[:, None]
        if target.objective.scale == "residual":
            return _Linearisation(table, lengths, weights, residuals)
        _, first, second = target.objective.losses(state.f, target.y, target.options)
        gradient, hessian = target.kernel.contract(state, first * weights, second * weights)
        hessian = hessian * turn[:, None] * turn[None]
        each = np.arange(len(q))
        # the second derivative of the coordinate itself, by its logarithm or of one
        hessian[each, each] += np.where(into_logs, turn, np.where(turn == 1.0, 0.0, -(turn**2))) * gradient
        hessian = np.moveaxis(hessian, 2, 0) / (lengths[:, :, None] * lengths[:, None])
    return _Linearisation(table, lengths, weights, residuals, first, second, hessian)


class _Assessment:
    """The work on many fits: arrays that are filled by one way or the other."""

    def __init__(
        self, law: Law, target: Target, q: Array, coordinates: Coordinates | Problem,
        problem: Callable[[int], Problem], absolute_sigma: bool, groups: IntArray | None,
    ) -> None:  # fmt: skip
        self.target, self.q, self.coordinates, self.problem = target, q, coordinates, problem
        self.absolute_sigma, self.groups, self.rule = absolute_sigma, groups, target.objective.scale
        self.names, (k, count) = coordinates.free, q.shape
        linear = {law._role(name) for name in self.names} <= set(law._plain.linear if law._plain.expression else ())
        #: Whether the Jacobian is the same everywhere.
        self.linear = linear and not target.objective.log
        n = (target.weights > 0).sum(axis=-1)
        self.n = np.full(count, int(n)) if n.ndim == 0 else n
        self.dof = self.n - k
        with np.errstate(all="ignore"):
            size = np.sum(target.weights * target.objective.sizes(target.y, target.options), axis=-1)
        self.size = np.broadcast_to(np.sqrt(size), (count,))
        self._set_coordinates()
        self.covariance, self.scale = np.full((count, k, k), np.nan), np.full(count, np.nan)
        self.exact = np.zeros(count, dtype=bool)
        self.unidentified: dict[int, dict[str, str]] = {}
        self.flaws: dict[int, str] = {}

    def _set_coordinates(self) -> None:
        """Set the coordinates of the report: the logarithm of what is positive and on no bound."""
        c, q = self.coordinates, self.q
        lower, upper = c.lower[:, None], c.upper[:, None]
        logs = c.logs[:, None]
        on_bounds = on_bound(q, c)
        self.logs = c.positive[:, None] & ~on_bounds
        with np.errstate(all="ignore"):
            p = natural(q, c.logs)
            low = on_bounds & (np.abs(q - lower) <= np.abs(upper - q))
            ends = natural(lower, c.logs), natural(upper, c.logs)
            self.bounds = np.where(on_bounds, np.where(low, *ends), np.nan)
            self.sides = np.where(low, 1, np.where(on_bounds, -1, 0))
            self.at = np.where(self.logs == logs, q, np.where(logs, p, np.log(np.where(self.logs, q, 1.0))))
            self.into_logs = self.logs & ~logs
            self.turn = np.where(self.into_logs, q, np.where(logs & ~self.logs, 1 / p, 1.0))

    # Two ways of taking the same sums ---------------------------------------------------------------------------------

    def by_normal_equations(self, bread: Array, squares: Array) -> BoolArray:
        """Invert what the solver has; tell for which fits that is good enough, and nothing odd about them."""
        with np.errstate(all="ignore"):
            bread = bread * self.turn[:, None] * self.turn[None]
            lengths = np.sqrt(np.einsum("iib->ib", bread))
            unit = bread / (lengths[:, None] * lengths[None])
            inverse, bad = _invert_symmetric(unit)
            inflation = np.einsum("iib->ib", inverse)
        good: BoolArray = ~bad & (inflation <= MAX_VARIANCE_INFLATION).all(axis=0)
        self._set_residual_scale(slice(None), squares, None)
        with np.errstate(all="ignore"):
            inverse *= self.scale**2 / (lengths[:, None] * lengths[None])
        self.covariance[:] = np.moveaxis(inverse, 2, 0)
        good &= ~self._odd_mask(slice(None), inflation, lengths) & (self.dof > 0)
        return good

    def by_jacobian(self, rows: IntArray) -> None:
        """Decompose the Jacobian, whose columns an offset or a scale makes no worse than rounding does."""
        step = max(1, CHUNK_ELEMENTS // self.target.y.shape[-1])
        for first in range(0, rows.size, step):
            budgets.check_time("standard errors", first, rows.size, "fits")
            some = rows[first : first + step]
            part = self.target if some.size == self.q.shape[1] else self.target.take(some)
            slopes = _linearise(part, self.q[:, some], self.turn[:, some], self.into_logs[:, some])
            finite = slopes.finite
            with np.errstate(all="ignore"):
                squares = np.einsum("bn,bn,bn->b", slopes.weights, slopes.residuals, slopes.residuals)
            self._set_residual_scale(some, squares, slopes)
            inverse = _inverse_of_squares(np.where(finite[:, None, None], slopes.weighted, np.nan))
            inflation = np.einsum("bii->bi", inverse)
            variance = self._variance(some, slopes, inverse)
            with np.errstate(all="ignore"):
                self.covariance[some] = variance / (slopes.lengths[:, :, None] * slopes.lengths[:, None])
            odd = self._odd_mask(some, inflation.T, slopes.lengths.T) | ~finite
            for j in np.flatnonzero(odd):
                self._assess_single(int(some[j]), slopes, int(j), bool(finite[j]))
            for b in some[self.dof[some] < 1]:
                self.covariance[b] = np.nan
                self.flaws.setdefault(int(b), self._too_few(int(b)))

    def _too_few(self, b: int) -> str:
        n, k = int(self.n[b]), len(self.names)
        return f"{n} points for {k} parameters leave nothing to judge the fit by; add points or fix a parameter"

    def _set_residual_scale(self, rows: _Rows, squares: Array, slopes: _Linearisation | None) -> None:
        """Set the scale of the residuals; where they are rounding, their length, and at least that of y's rounding."""
        dof = self.dof[rows]
        with np.errstate(all="ignore"):
            scale = np.sqrt(squares / np.where(dof > 0, dof, np.nan))
            if not self._certain():
                exact = np.sqrt(squares) <= RESIDUAL_RTOL * self.size[rows]
                floor = np.finfo(float).eps * self.size[rows] / np.sqrt(self.n[rows])
                # residuals of rounding need not be independent: they may be one step that the search did not take
                least = np.where(dof > 0, np.maximum(np.sqrt(squares), floor), np.nan)
                if self.rule == "sandwich" and slopes is not None:
                    scale = robust_scale(slopes.residuals, len(self.names), slopes.weights)
                scale = np.where(exact, least, scale)
                self.exact[rows] = exact & (dof > 0)
        self.scale[rows] = 1.0 if self.absolute_sigma else scale

    def _certain(self) -> bool:
        """Tell whether standard errors need no residuals: the scale is known, and neither groups nor a sandwich ask."""
        if self.rule == "known" or isinstance(self.coordinates, Orthogonal):
            return self.groups is None
        return self.absolute_sigma and self.rule != "sandwich" and self.groups is None

    def _variance(self, rows: IntArray, slopes: _Linearisation, inverse: Array) -> Array:
        """Return the covariances over the lengths of the columns, (B, k, k)."""
        plain = self.scale[rows, None, None] ** 2 * inverse
        weights, dof = slopes.weights, np.maximum(self.dof[rows], 1)
        exact = self.exact[rows]
        if (self.rule == "residual" and self.groups is None) or exact.all():
            return np.asarray(plain)
        first, bread = slopes.residuals, inverse
        with np.errstate(all="ignore"):
            if slopes.hessian is not None and slopes.first is not None and slopes.second is not None:
                first = slopes.first
                bread = _inverse_hessians(slopes.hessian, slopes.weighted, slopes.second, inverse)
            if self.groups is not None:
                variance = bread @ self._clustered_covariance(slopes.table * (weights * first)[:, :, None]) @ bread
            elif self.rule == "known":
                variance = bread
            else:
                scores = slopes.table * (weights * first)[:, :, None]
                meat = np.matmul(scores.transpose(0, 2, 1), scores)
                variance = bread @ meat @ bread * (self.n[rows] / dof)[:, None, None]
        return np.where(exact[:, None, None], plain, variance)

    def _clustered_covariance(self, scores: Array) -> Array:
        """Return the covariance of the summed scores where rows of one group depend on each other.

        (Liang and Zeger, 1986.) With the usual correction for few groups, G/(G-1) * (n-1)/(n-k).
        """
        assert self.groups is not None
        sums = np.zeros((len(scores), int(self.groups.max()) + 1, scores.shape[2]))
        np.add.at(sums.transpose(1, 0, 2), self.groups, scores.transpose(1, 0, 2))
        count, n = self.clusters, int(self.n[0])
        correction = count / (count - 1) * (n - 1) / max(n - len(self.names), 1)
        return np.asarray(np.matmul(sums.transpose(0, 2, 1), sums) * correction)

    @functools.cached_property
    def clusters(self) -> int:
        """Over how many groups the sandwich is summed."""
        if self.groups is None:
            return 0
        return len(np.unique(self.groups[np.ravel(self.target.weights) > 0]))

    # What is not ordinary ---------------------------------------------------------------------------------------------

    def _odd_mask(self, rows: _Rows, inflation: Array, lengths: Array) -> BoolArray:
        """Tell which fits must be looked at by themselves: weak columns, ridges, errors that are none, or too wide.

        Inflation of variances and lengths of columns are (k, B).
        """
        variance = np.einsum("bii->ib", self.covariance[rows])
        ridge = LINEAR_RIDGE_RTOL if self.linear else RIDGE_RTOL
        with np.errstate(all="ignore"):
            odd = self._flat_mask(rows, lengths).any(axis=0)
            odd |= ~(inflation <= 1.0 / (len(self.names) * ridge) ** 2).all(axis=0)
            odd |= ~(variance >= 0).all(axis=0) & (self.dof[rows] > 0)
            odd |= (self.logs[:, rows] & (variance > MAX_LOG_ERROR**2)).any(axis=0)
        return np.asarray(odd | isinstance(self.coordinates, Orthogonal))

    def _flat_mask(self, rows: _Rows, lengths: Array) -> BoolArray:
        """Tell which columns are nothing beside the observations, (k, B)."""
        flat = lengths * np.maximum(np.abs(self.at[:, rows]), 1.0) <= 1e-12 * self.size[rows]
        # a parameter that stands at 0 has no size of its own, and one of a linear law no unit that counts
        unsized = self.bounds[:, rows] == 0
        if self.linear:
            unsized |= ~self.logs[:, rows]
        return np.where(unsized, lengths == 0, flat) if unsized.any() else np.asarray(flat)

    def _assess_single(self, b: int, slopes: _Linearisation, j: int, finite: bool) -> None:
        """Judge one fit that is not ordinary: what ran to 0, what is flat, what is on a ridge."""
        problem = self.problem(b)
        if faded := _vanished_parameters(problem, problem.natural(self.q[:, b])):
            self.logs[faded, b], self.bounds[faded, b], self.sides[faded, b] = False, 0.0, 1
            logs = self.logs[:, b]
            p = problem.natural(self.q[:, b])
            with np.errstate(all="ignore"):
                self.at[:, b] = np.where(logs == problem.logs, self.q[:, b], np.where(logs, np.log(p), p))
            # by 0 itself a logarithm has no derivatives
            target = replace(problem.target(), kernel=problem.general(logs))
            once = np.ones((len(p), 1))
            slopes, j = _linearise(target, self.at[:, b : b + 1], once, once < 0), 0
            finite = bool(slopes.finite[0])
        if not finite:
            self.flaws[b] = "the law or its derivatives cannot be computed at the solution"
            self.covariance[b] = np.nan
            return
        reasons = self._ridges(b, slopes.weighted[j], slopes.lengths[j])
        self.covariance[b] = np.nan
        if self.dof[b] > 0:
            keep = [i for i, name in enumerate(self.names) if name not in reasons]
            self.covariance[np.ix_([b], keep, keep)] = self._restrict_to_active(b, problem, slopes.row(j, keep), keep)
            for i in keep:
                variance = self.covariance[b, i, i]
                if not np.isfinite(variance) or variance < 0 or (self.logs[i, b] and variance > MAX_LOG_ERROR**2):
                    reasons[self.names[i]] = WIDE_INTERVAL_REASON
        if reasons:
            self.unidentified[b] = reasons
        if reasons and self.exact[b]:
            # the errors of the others hold these where they are, and no profile can tell what moving them would do
            self.flaws[b] = f"the law passes through every point with {', '.join(reasons)} not identified by them"
            self.covariance[b], self.exact[b] = np.nan, False

    def _restrict_to_active(self, b: int, problem: Problem, slopes: _Linearisation, keep: list[int]) -> Array:
        if not keep:
            return np.zeros((1, 0, 0))
        if isinstance(problem, Orthogonal) and self.groups is None and not self.absolute_sigma:
            curved = covariance(problem, self.at[:, b], self.logs[:, b], keep)
            if curved is not None:
                return curved[None]
        variance = self._variance(np.array([b]), slopes, _inverse_of_squares(slopes.weighted))
        return variance / (slopes.lengths[:, :, None] * slopes.lengths[:, None])

    def _ridges(self, b: int, weighted: Array, lengths: Array) -> dict[str, str]:
        """Return the parameters that the data leave open, with the reason."""
        flat = self._flat_mask(slice(b, b + 1), lengths[:, None])[:, 0]
        why = "what it belongs to ran to zero" if (self.bounds[:, b] == 0).any() else "moving it changes nothing"
        reasons = {name: why for name, nothing in zip(self.names, flat, strict=True) if nothing}
        keep = np.flatnonzero(~flat)
        if not keep.size:
            return reasons
        _, strengths, directions = np.linalg.svd(weighted[:, keep], full_matrices=False)
        for strength, direction in zip(strengths, directions, strict=True):
            if strength < (LINEAR_RIDGE_RTOL if self.linear else RIDGE_RTOL) * strengths[0]:
                together = [self.names[keep[j]] for j in np.flatnonzero(np.abs(direction) > 0.05)]
                for name in together:
                    others = [o for o in together if o != name]
                    why = f"only a combination with {', '.join(others)} is" if others else "the law is flat in it"
                    reasons.setdefault(name, why)
        return reasons

    def done(self, converged: BoolArray) -> Uncertainty:
        """Return what was found; nothing of fits that are no solutions."""
        self.covariance[~converged] = np.nan
        self.scale[~converged] = np.nan
        self.sides[:, ~converged], self.bounds[:, ~converged] = 0, np.nan
        return Uncertainty(
            names=self.names,
            at=self.at,
            logs=self.logs,
            covariance=self.covariance,
            bounds=self.bounds,
            sides=self.sides,
            unidentified=self.unidentified,
            flaws=self.flaws,
            dof=self.dof,
            scale=self.scale,
            exact=self.exact & converged,
            absolute_sigma=self.absolute_sigma,
            clusters=self.clusters,
        )


def _vanished_parameters(problem: Problem, p: Array) -> list[int]:
    """Return the nonlinear positive parameters that ran to 0, where their logarithm has no end."""
    value, faded = problem.value_at(p), []
    for i in map(int, np.flatnonzero(problem.logs & ~np.isfinite(problem.lower))):
        tried = np.where(np.arange(p.size) == i, 0.0, p)
        if problem.value_at(tried) <= value * (1 + FLAT_RTOL) and np.linalg.norm(problem.slopes(tried)[:, i]) > 0:
            faded.append(i)
    return faded


def _invert_symmetric(bread: Array) -> tuple[Array, BoolArray]:
    """Return the inverses of symmetric matrices, (k, k, B), and which are not positive."""
    k, count = bread.shape[0], bread.shape[2]
    inverse, bad = np.empty_like(bread), np.zeros(count, dtype=bool)
    none, size = np.zeros((k, count)), np.ones((k, count))
    for a in range(k):
        unit = none.copy()
        unit[a] = -1.0
        inverse[:, a], wrong = solve_damped(bread, unit, none, size)
        bad |= wrong
    return inverse, bad


def _inverse_of_squares(weighted: Array) -> Array:
    """Return the inverses of the squares of tables (B, n, k) by their triangles; nan where one is singular."""
    k = weighted.shape[2]
    triangle = np.asarray(np.linalg.qr(weighted, mode="r"))
    each = np.arange(k)
    triangle[:, each, each] = np.where(triangle[:, each, each] == 0, np.nan, triangle[:, each, each])
    with np.errstate(all="ignore"):  # of a table that is all but singular the squares may be past the range of numbers
        inverse = np.linalg.inv(triangle)
        return np.asarray(np.matmul(inverse, inverse.transpose(0, 2, 1)))


def _inverse_hessians(hessian: Array, weighted: Array, second: Array, inverse: Array) -> Array:
    """Return the inverse Hessians, (B, k, k).

    Where the loss is not convex around the solution (few points within the threshold), the law's own curvature is left
    out, and then the loss's.
    """
    gauss = np.matmul(weighted.transpose(0, 2, 1), second[:, :, None] * weighted)
    bread = inverse.copy()
    open_ = np.ones(len(bread), dtype=bool)
    for table in (hessian, gauss):
        with np.errstate(all="ignore"):
            finite = np.isfinite(table).all(axis=(1, 2)) & open_
            least = np.linalg.eigvalsh(np.where(finite[:, None, None], table, 0.0))[:, 0]
        good = finite & (least > RIDGE_RTOL)
        bread[good] = np.linalg.inv(table[good])
        open_ &= ~good
    return bread
