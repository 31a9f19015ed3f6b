"""What a solver minimises: a kernel, an objective, observations and weights, over a batch of fits."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from forecast.base.arrays import Array, BoolArray, IntArray
from forecast.fit.objectives.objective import Scratch
from forecast.fit.sizes import CACHE_ELEMENTS
from forecast.fit.solver_options import SolverOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from forecast.fit.kernels.general import Kernel, LawState
    from forecast.fit.objectives.objective import Objective
    from forecast.fit.problem.coordinates import Coordinates


#: Residuals this small beside the observations are rounding.
RESIDUAL_RTOL = 1e-11
#: Residuals this small are as exact as numbers are.
EXACT_RTOL = 1e-14
#: More points than this are summed in pieces that stay in the cache.
MAX_UNBLOCKED_POINTS = 4 * CACHE_ELEMENTS


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is minimised, over a batch.

    Parameters
    ----------
    kernel : Kernel
    objective : Objective
    coordinates : Coordinates
        Their bounds, and which are logarithms.
    y : ndarray
        Observations in the link, (n,) or (B, n).
    weights : ndarray
        (n,) or (B, n).
    options : mapping
        Of the loss; arrays of two dimensions are one row a fit, of one dimension one number a point.
    factors : ndarray of bool, optional
        (k,): positive coordinates that multiply what bends with others; steps in them are factors, as in a logarithm,
        until they head for their bound. Default: none.
    solver : SolverOptions
    """

    kernel: Kernel
    objective: Objective
    coordinates: Coordinates
    y: Array
    weights: Array
    options: Mapping[str, Any]
    factors: BoolArray | None = None
    solver: SolverOptions = field(default_factory=SolverOptions)
    scratch: Scratch = field(default_factory=Scratch, repr=False)

    def take(self, rows: Any) -> Target:
        """Return the target of some of the fits."""
        return Target(
            kernel=self.kernel.take(rows),
            objective=self.objective,
            coordinates=self.coordinates,
            y=_rows_of(self.y, rows),
            weights=_rows_of(self.weights, rows),
            options={k: _rows_of(v, rows) for k, v in self.options.items()},
            factors=self.factors,
            solver=self.solver,
            scratch=self.scratch,
        )

    @functools.cached_property
    def pieces(self) -> list[Target]:
        """The target at a cacheful of points after the other, where all fits share many points; else itself."""
        n = self.y.shape[-1]
        options = {key: value for key, value in self.options.items() if np.ndim(value)}
        if (
            n <= MAX_UNBLOCKED_POINTS
            or self.y.ndim > 1
            or self.weights.ndim > 1
            or any(np.shape(v) != (n,) for v in options.values())
        ):
            return [self]
        found = []
        for first in range(0, n, CACHE_ELEMENTS):
            points = slice(first, first + CACHE_ELEMENTS)
            found.append(
                replace(
                    self, kernel=self.kernel.some(points), y=self.y[points], weights=self.weights[points],
                    options={**self.options, **{key: value[points] for key, value in options.items()}},
                )
            )  # fmt: skip
        return found

    def evaluate(self, q: Array, share: Array | None = None, ids: IntArray | None = None) -> tuple[Array, Array, Array]:
        """Return value (B,), gradient (k, B) and Hessian (k, k, B) of some fits, a cacheful of them at a time."""
        return self.evaluation(q, share, ids)[:3]

    def evaluation(self, q: Array, share: Array | None, ids: IntArray | None) -> Evaluation:
        """Return the same with what was computed for it, where a cacheful holds them all."""
        block = max(16, CACHE_ELEMENTS // self.y.shape[-1])
        parts = []
        for first in range(0, q.shape[1], block):
            rows = slice(first, min(first + block, q.shape[1]))
            part = self.take(rows if ids is None else ids[rows])
            parts.append(part._evaluated(q[:, rows], None if share is None else share[rows]))
        if len(parts) == 1:
            return parts[0]
        value, gradient, hessian = (np.concatenate(p, axis=-1) for p in zip(*(p[:3] for p in parts), strict=True))
        return Evaluation(value, gradient, hessian, self if ids is None else self.take(ids), None)

    def _evaluated(self, q: Array, share: Array | None) -> Evaluation:
        first, *more = self.pieces
        # without the law's own curvature, its second derivatives are not needed
        order = 2 if share is None or share.any() else 1
        state = first.kernel.at(q, order)
        value, gradient, hessian = first._summed(state, share)
        for piece in more:
            for whole, part in zip(
                (value, gradient, hessian), piece._summed(piece.kernel.at(q, order), share), strict=True
            ):
                whole += part
        return Evaluation(*_mask_non_finite(value, gradient, hessian), self, state if order == 2 and not more else None)

    def _summed(self, state: LawState, share: Array | None) -> tuple[Array, Array, Array]:
        with np.errstate(all="ignore"):
            value, first, second = self.objective.summed(state.f, self.y, self.weights, self.options, self.scratch)
        return value, *self.kernel.contract(state, first, second, share)

    def value(self, q: Array) -> Array:
        """Return the plain value, (B,); inf where it cannot be computed."""
        found = np.zeros(q.shape[1])
        for piece in self.pieces:
            with np.errstate(all="ignore"):
                value = self.objective.losses(piece.kernel.at(q, 0).f, piece.y, piece.options)[0]
                found += np.einsum("bn,bn->b", value, np.broadcast_to(piece.weights, value.shape))
        return np.where(np.isfinite(found), found, np.inf)

    def size(self) -> Any:
        """Return the length of the observations, against which a residual is small or not, a number or (B,)."""
        return np.sqrt(np.sum(self.weights * self.objective.sizes(self.y, self.options), axis=-1))

    def floor(self) -> Any:
        """Return the objective below which residuals are rounding only, a number or (B,)."""
        return (RESIDUAL_RTOL * self.size()) ** 2

    def rounding(self) -> Any:
        """Return the objective of residuals that are the rounding of the data, a number or (B,)."""
        return (EXACT_RTOL * self.size()) ** 2 + 1e-280

    def noise(self) -> Any:
        """Return what the root of an objective of squares is multiplied by to get its rounding, a number or (B,).

        Residuals carry the rounding of the observations, and the sum of n of them adds it up as errors add up.
        """
        return 2 * np.finfo(float).eps * self.size() / np.sqrt(self.y.shape[-1])

    def unit(self) -> Any:
        """Return what counts beside an objective near 0, a number or (B,)."""
        return self.objective.unit * np.mean(self.weights, axis=-1)


class Evaluation(NamedTuple):
    """Value (B,), gradient (k, B) and Hessian (k, k, B) of some fits, whose target it is, and the law there.

    `state` is there if it has the law's second derivatives.
    """

    value: Array
    gradient: Array
    hessian: Array
    target: Target
    state: LawState | None

    def curved(self, q: Array, rows: IntArray) -> tuple[Array, Array, Array]:
        """Return those of some of the fits, at `q`, with all of the law's own curvature."""
        target = self.target.take(rows)
        state = None if self.state is None else target.kernel.fits(self.state, rows)
        if state is None:
            return target._evaluated(q[:, rows], None)[:3]
        return _mask_non_finite(*target._summed(state, None))


def _mask_non_finite(value: Array, gradient: Array, hessian: Array) -> tuple[Array, Array, Array]:
    """Return what was summed; inf, and no derivatives, of fits where something is not a number."""
    bad = ~(np.isfinite(value) & np.isfinite(gradient).all(axis=0) & np.isfinite(hessian).all(axis=(0, 1)))
    if bad.any():
        value = np.where(bad, np.inf, value)
        gradient[:, bad] = 0.0
        hessian[:, :, bad] = 0.0
    return value, gradient, hessian


def _rows_of(values: Any, rows: Any) -> Any:
    return values[rows] if np.ndim(values) == 2 else values
