"""What many fits know about their parameters, by the rules of a single one: covariances as one array.

What is not ordinary (a parameter on a bound, or not identified; no degree of freedom) is judged as a single fit is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.base import budgets
from forecast.fit.inference.covariance import VAGUE, Uncertainty, assess
from forecast.fit.problem.objective import robust_scale
from forecast.fit.solve.newton import ROUNDING, Target
from forecast.fit.solve.steps import factored

if TYPE_CHECKING:
    from collections.abc import Callable

    from forecast.fit.problem.coordinates import Coordinates
    from forecast.fit.problem.problem import Problem

__all__ = ["Known", "joined", "known_of"]

Array: TypeAlias = NDArray[np.float64]

#: A variance this many times what it would be were the other parameters known is left to the single fit's rules.
INFLATED = 1e8


@dataclass(frozen=True, kw_only=True)
class Known:
    """What many fits know.

    Parameters
    ----------
    at : ndarray
        (k, B), the parameters, positive ones by their logarithms.
    covariance : ndarray
        (B, k, k), of these; nan where a fit is not ordinary or there is none.
    logs : ndarray of bool
        (k,): whose coordinate is the logarithm.
    dof : ndarray of int
        (B,): points less parameters.
    scale : ndarray
        (B,): standard deviation of one residual.
    scale_known : bool
        It was given, not estimated.
    odd : mapping of int to Uncertainty
        The fits that are not ordinary.
    """

    at: Array
    covariance: Array
    logs: NDArray[np.bool_]
    dof: NDArray[np.int64]
    scale: Array
    scale_known: bool
    odd: Mapping[int, Uncertainty]

    def quantile(self, p: float) -> Array:
        """Return the quantile of Student's t for every fit (normal where the scale is known), (B,)."""
        from scipy.special import ndtri, stdtrit

        if self.scale_known:
            return np.full(self.dof.size, float(ndtri(p)))
        kinds, place = np.unique(np.maximum(self.dof, 1), return_inverse=True)
        return np.asarray(np.asarray(stdtrit(kinds, p))[np.ravel(place)])

    def natural(self) -> Array:
        """Return the covariances of the parameters as the law has them, (B, k, k); nan where one is not known."""
        with np.errstate(all="ignore"):
            factors = np.where(self.logs[:, None], np.exp(np.where(self.logs[:, None], self.at, 0.0)), 1.0).T
            found = self.covariance * (factors[:, :, None] * factors[:, None, :])
        for i, known in self.odd.items():
            scale = np.where(known.logs, np.exp(np.where(known.logs, known.at, 0.0)), 1.0)
            whole = not (known.flaw or known.unidentified)
            found[i] = known.covariance * np.outer(scale, scale) if whole else np.nan
        return np.asarray(found)

    def errors(self) -> Array:
        """Return standard errors as the law has the parameters, (k, B); inf where one is not identified."""
        with np.errstate(all="ignore"):
            found = np.sqrt(np.einsum("bii->ib", self.covariance))
            found = found * np.where(self.logs[:, None], np.exp(np.where(self.logs[:, None], self.at, 0.0)), 1.0)
        for i, known in self.odd.items():
            found[:, i] = [known.stderr(j) for j in range(len(known.names))]
        return np.asarray(found)

    def wald(self, i: int, level: float) -> tuple[Array, Array]:
        """Return Wald's interval of parameter `i` in every fit, (B,) each; nan where there is none."""
        with np.errstate(all="ignore"):
            half = self.quantile(0.5 + level / 2) * np.sqrt(self.covariance[:, i, i])
            low, high = np.asarray(self.at[i] - half), np.asarray(self.at[i] + half)
            if self.logs[i]:
                low, high = np.exp(low), np.exp(high)
        for b, known in self.odd.items():
            name = known.names[i]
            nothing = known.flaw or name in known.unidentified
            low[b], high[b] = (np.nan, np.nan) if nothing else known.interval(name, level, "")
        return low, high

    def marked(self, what: str, i: int) -> NDArray[np.bool_]:
        """Tell in which fits parameter `i` has no interval (``"unidentified"``), or is on a bound (``"bounds"``)."""
        found = np.zeros(self.dof.size, dtype=bool)
        for b, known in self.odd.items():
            name = known.names[i]
            found[b] = name in known.bounds if what == "bounds" else bool(known.flaw) or name in known.unidentified
        return found


def known_of(
    target: Target,
    q: Array,
    settled: NDArray[np.bool_],
    given: NDArray[np.bool_],
    where: Coordinates,
    scale_known: bool,
    one: Callable[[int], Problem],
    solved: tuple[Array, Array] | None = None,
) -> Known:
    """Return what is known at solutions.

    Parameters
    ----------
    target : Target
    q : ndarray
        (k, B), in the solver's coordinates.
    settled : ndarray of bool
        (B,): those that are solutions.
    given : ndarray of bool
        (B, n): the points that are no padding.
    where : Coordinates
    scale_known : bool
    one : callable
        ``one(b)`` is fit `b` as a problem of its own.
    solved : tuple of ndarray, optional
        Half the Gauss-Newton Hessian (k, k, B), nan where it is not known yet, and the squares (B,), where the solver
        has them.
    """
    k, count = q.shape
    weights = np.broadcast_to(target.weights, given.shape)
    n = (weights > 0).sum(axis=1)
    dof = n - k
    covariance, scale, unsure = np.empty((count, k, k)), np.empty(count), np.empty(count, dtype=bool)
    step = max(256, 400_000 // given.shape[1])
    ready = np.zeros(count, dtype=bool) if solved is None else np.isfinite(solved[0]).all(axis=(0, 1))
    for quick in (True, False):
        if quick and not ready.any():
            continue
        # the quick way goes over all rows, so that nothing is copied; those it is not for come again
        some = np.arange(count) if quick else np.flatnonzero(~ready)
        for first in range(0, int(some.size), step):
            budgets.check_time("standard errors", first, int(some.size), "fits")
            rows: Any = slice(first, min(first + step, count)) if some.size == count else some[first : first + step]
            own = (solved[0][:, :, rows], solved[1][rows]) if quick and solved is not None else None
            covariance[rows], scale[rows], unsure[rows] = _covariances(
                target.take(rows), q[:, rows], weights[rows], given[rows], dof[rows], scale_known, own
            )
    bound = where.at_bound(q)
    at, logs = where.reported(q), where.positive
    with np.errstate(all="ignore"):
        size = np.where((logs & ~where.logs)[:, None], 1.0 / q, 1.0).T
        covariance *= size[:, :, None] * size[:, None, :]
        vague = logs & (np.einsum("bii->bi", covariance) > VAGUE**2)
    unsure = unsure | bound.any(axis=0) | vague.any(axis=1) | (dof < 1)
    covariance[unsure | ~settled] = np.nan
    alone = {int(b): assess(one(int(b)), q[:, b], scale_known=scale_known) for b in np.flatnonzero(unsure & settled)}
    for b, known in alone.items():
        scale[b] = known.scale
    return Known(
        at=at,
        covariance=covariance,
        logs=logs,
        dof=dof,
        scale=np.where(settled, scale, np.nan),
        scale_known=scale_known,
        odd=alone,
    )


def joined(parts: list[Known], rows: NDArray[np.int64], dof: NDArray[np.int64], logs: NDArray[np.bool_]) -> Known:
    """Return what is known of one batch after the other, whose fits are these rows of all; nothing of the rest."""
    k, first = logs.size, 0
    odd: dict[int, Uncertainty] = {}
    covariance, scale = np.full((dof.size, k, k), np.nan), np.full(dof.size, np.nan)
    at = np.full((k, dof.size), np.nan)
    for part in parts:
        some = rows[first : first + part.dof.size]
        odd |= {int(some[b]): known for b, known in part.odd.items()}
        at[:, some], covariance[some], scale[some] = part.at, part.covariance, part.scale
        first += part.dof.size
    known = bool(parts) and parts[0].scale_known
    return Known(at=at, covariance=covariance, logs=logs, dof=dof, scale=scale, scale_known=known, odd=odd)


def _covariances(
    target: Target,
    q: Array,
    weights: Array,
    given: NDArray[np.bool_],
    dof: NDArray[np.int64],
    scale_known: bool,
    solved: tuple[Array, Array] | None,
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return covariances (B, k, k), residual scales (B,), and which fits are not ordinary."""
    k, count = q.shape
    rule = target.objective.scale
    apart, meat, free = np.zeros((0, 0)), None, np.maximum(dof, 1)
    with np.errstate(all="ignore"):
        if solved is None:
            plain, bread, meat, squares, apart = _sums(target, q, weights, given, free)
        else:
            plain, squares = solved
            bread = plain
        inverse, unsure = _inverse(bread)
        found = inverse if meat is None else np.einsum("ijb,jlb,lmb->imb", inverse, meat, inverse)
        if rule == "residual":
            found = found * (1.0 if scale_known else squares / free)
        own = np.einsum("iib->ib", bread)
        unsure |= (np.einsum("iib->ib", inverse) * own > INFLATED).any(axis=0)
        unsure |= ~(np.isfinite(found).all(axis=(0, 1)) & (np.einsum("iib->ib", found) > 0).all(axis=0))
        linked = np.ones_like(target.y) if target.objective.log else target.y
        size = np.sqrt(np.sum(weights * linked**2, axis=-1))
        unsure |= squares <= (2 * ROUNDING * size) ** 2
        flat = np.sqrt(np.einsum("iib->ib", plain)) * np.maximum(np.abs(q), 1.0)
        unsure |= (flat < 1e-10 * size).any(axis=0)
        if scale_known:
            scale = np.ones(count)
        elif rule == "sandwich":
            scale = robust_scale(np.where(given, apart, 0.0), k, np.where(given, weights, 0.0))
        else:
            scale = np.sqrt(squares / np.where(dof > 0, dof, np.nan))
    return np.moveaxis(found, 2, 0).copy(), scale, unsure


def _sums(
    target: Target, q: Array, weights: Array, given: NDArray[np.bool_], free: NDArray[np.int64]
) -> tuple[Array, Array, Array | None, Array, Array]:
    """Return the Gauss-Newton matrix, bread and meat (k, k, B), squares (B,) and residuals (B, n)."""
    rule, k = target.objective.scale, len(q)
    state = target.kernel.at(q)
    apart = np.where(given, state.f - target.y, np.nan)
    zero, meat = np.zeros_like(state.f), None
    squares = np.nansum(weights * apart**2, axis=1)
    _, score, second = target.objective.pointwise(state.f, target.y, target.options)
    # the kernel's state is good until it is asked again
    plain = target.kernel.contract(state, zero, np.ascontiguousarray(weights))[1]
    bread = plain
    if rule != "residual":
        if rule == "sandwich":
            meat = target.kernel.contract(state, zero, (score * weights) ** 2)[1] * ((free + k) / free)
        bread = target.kernel.contract(state, score * weights, second * weights)[1]
    return plain, bread, meat, squares, apart


def _inverse(bread: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return the inverses of symmetric matrices, (k, k, B), and which are not positive."""
    k, count = bread.shape[0], bread.shape[2]
    size = np.abs(bread[range(k), range(k)])
    size = np.where(size > 0, size, 1.0)
    found, bad = np.empty_like(bread), np.zeros(count, dtype=bool)
    for a in range(k):
        unit = np.zeros((k, count))
        unit[a] = -1.0
        found[:, a], wrong = factored(bread, unit, np.zeros((k, count)), size)
        bad |= wrong
    return found, bad
