"""Known errors in the variables, by effective variance: they scatter y by the law's slope times themselves.

What is minimised is the sum of (y - f)**2 / (sigma**2 + sum of (df/dv * sigma_v)**2) over the points (Orear, 1982), in
logarithms under a log objective. The slope in the denominator moves with the parameters: for a straight line this is
Deming's and York's exact solution, and total least squares (scipy.odr) to first order elsewhere. Weights that are
frozen, computed anew and frozen again until nothing moves would not do: where all points have the same errors such
weights are all equal, and the slope is as attenuated as if there were no errors in x. Nor would the logarithm of the
variance, which a normal likelihood has: with it the derivative of the objective at the true slope is not zero on
average.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from forecast.fit.kernels.general import Kernel, Placement, State, natural, to_logs
from forecast.fit.problem.problem import Problem
from forecast.fit.problem.target import Target

if TYPE_CHECKING:
    from forecast.laws import Law
    from forecast.laws.forms import Form
    from forecast.laws.program import Program

__all__ = ["Effective", "EffectiveKernel", "covariance"]

Array: TypeAlias = NDArray[np.float64]

#: Programs by the form of the law and what it is differentiated along: a fit asks for one a dozen times.
_programs: WeakKeyDictionary[Form, dict[tuple[tuple[str, ...], ...], Any]] = WeakKeyDictionary()


def _program(law: Law, along: tuple[str, ...]) -> Any:
    """Return a program that takes some variables for parameters, so that it differentiates by them too."""
    from forecast.laws.program import DifferenceProgram

    names = (*law.parameters, *along), tuple(v for v in law.variables if v not in along)
    known = _programs.setdefault(law._form, {})
    if names not in known:
        program: Program = law._form.program(*names)
        known[names] = _OneByOne(program) if isinstance(program, DifferenceProgram) else program
    return known[names]


class _OneByOne:
    """A program whose code need not broadcast: one fit at a time."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def evaluate(self, values: Mapping[str, Any], order: int) -> tuple[Any, list[Any], dict[tuple[int, int], Any]]:
        columns = {n for n, v in values.items() if np.ndim(v) == 2}
        count = max((np.shape(values[n])[0] for n in columns), default=1)
        parts = []
        for b in range(count):
            one = {n: v[min(b, len(v) - 1)] if n in columns else v for n, v in values.items()}
            one = {n: v[0] if n in columns and len(v) == 1 else v for n, v in one.items()}
            parts.append(self.program.evaluate(one, order))
        first = parts[0]
        return (
            np.array([p[0] for p in parts]),
            [np.array([p[1][i] for p in parts]) for i in range(len(first[1]))],
            {key: np.array([p[2][key] for p in parts]) for key in first[2]},
        )


class EffectiveKernel:
    """A law moved towards the observations as far as errors in x excuse it: y + (f - y) * sigma / effective sigma.

    Its squares with the weights 1/sigma**2 are those of the effective variance. See
    `forecast.fit.kernels.general.Kernel`. The law's third derivatives are left out of the Hessian.

    Parameters
    ----------
    placement : Placement
    y : ndarray
        Observations in the link.
    ratios : mapping of str to ndarray
        For each variable with errors, these over the standard deviation of y, (n,).
    """

    def __init__(self, placement: Placement, *, y: Array, ratios: Mapping[str, Array]) -> None:
        self.placement = placement
        self.variables, self.fixed, self.link = placement.variables, placement.fixed, placement.link
        self.free, self.logs, self.y, self.ratios = placement.free, placement.logs, y, ratios
        self.program = _program(placement.law, tuple(ratios))
        order = {n: i for i, n in enumerate((*placement.law.parameters, *ratios))}
        self.index = [order[n] for n in self.free]
        self.along = [order[n] for n in ratios]
        self.squared = np.array([r * r for r in ratios.values()])

    def fits(self, state: State, rows: Any) -> None:
        """Return nothing: it is computed anew."""

    def take(self, rows: Any) -> EffectiveKernel:
        """Return the kernel of some of the fits."""
        return self

    def some(self, points: slice) -> EffectiveKernel:
        """Return the kernel at some of the points."""
        ratios = {n: r[points] for n, r in self.ratios.items()}
        return EffectiveKernel(self.placement.some(points), y=self.y[points], ratios=ratios)

    def at(self, q: Array, order: int = 2) -> State:
        """Return the moved law at parameters (k, B)."""
        shape = (q.shape[1], self.y.size)
        m, k = len(self.along), len(self.index)
        with np.errstate(all="ignore"):
            p = natural(q, self.logs)
            given = {name: p[i][:, None] for i, name in enumerate(self.free)}
            constants = {n: np.float64(v) for n, v in self.fixed.items()}
            value, slopes, curves = self.program.evaluate({**constants, **given, **self.variables}, 2)
            places = [*self.index, *self.along]
            one = np.empty((k + m, *shape))
            two = np.zeros((k + m, k, *shape))
            for i, place in enumerate(places):
                one[i] = slopes[place]
                for a in range(min(i + 1, k)):
                    pair = min(place, places[a]), max(place, places[a])
                    if pair in curves:
                        two[i, a] = curves[pair]
                        if i < k:
                            two[a, i] = two[i, a]
            f = np.array(np.broadcast_to(value, shape), dtype=float)
            if self.link:  # derivatives of log f from those of f
                one /= f
                two /= f
                two -= one[:, None] * one[None, :k]
                f = np.log(f)
            first, steep, bends, across = one[:k], one[k:], two[:k], two[k:]
            variance = 1.0 + np.einsum("mn,mbn,mbn->bn", self.squared, steep, steep)
            shrink = 1.0 / np.sqrt(variance)
            r = f - self.y
            # half the derivatives of the variance
            turn = np.einsum("mn,mbn,mkbn->kbn", self.squared, steep, across)
        return State(self.y + r * shrink, (p, r, shrink, first, turn, bends, across))

    def _slopes(self, state: State) -> Array:
        _, r, shrink, first, turn, _, _ = state.inner
        return np.asarray(first * shrink - turn * (r * shrink**3))

    def contract(self, state: State, first: Array, second: Array, share: Array | None = None) -> tuple[Array, Array]:
        """Return gradient (k, B) and Hessian (k, k, B); see `Kernel.contract`."""
        p, r, shrink, g, turn, bends, across = state.inner
        with np.errstate(all="ignore"):
            slopes = self._slopes(state)
            bend = first if share is None else share * first
            cube = shrink**3
            gradient = np.einsum("kbn,bn->kb", slopes, first)
            hessian = _products(slopes * second, slopes)
            hessian += np.einsum("ijbn,bn->ijb", bends, bend * shrink)
            turned = _products(g * (bend * cube), turn)
            hessian -= turned + turned.transpose(1, 0, 2)
            hessian += _products(turn * (3 * r * cube * shrink * shrink * bend), turn)
            for squared, along in zip(self.squared, across, strict=True):
                hessian -= _products(along * (squared * r * cube * bend), along)
            return to_logs(gradient, hessian, p, self.logs, share)

    def jacobian(self, state: State) -> Array:
        """Return the derivatives of the moved law by the coordinates, (k, B, n)."""
        p = state.inner[0]
        with np.errstate(all="ignore"):
            return self._slopes(state) * np.where(self.logs[:, None], p, 1.0)[:, :, None]


def _products(left: Array, right: Array) -> Array:
    """Return the sums over points of all products, (k, k, B), of two (k, B, n)."""
    return np.asarray(np.matmul(left.transpose(1, 0, 2), right.transpose(1, 2, 0)).transpose(1, 2, 0)).copy()


@dataclass(frozen=True, kw_only=True)
class Effective(Problem):
    """A problem whose variables have known errors.

    Parameters
    ----------
    sigma_x : mapping of str to ndarray
        Standard deviations of variables. The weights are one over the variances of y.
    """

    sigma_x: Mapping[str, Array] = field(default_factory=dict)

    @functools.cached_property
    def kernel(self) -> Kernel:
        """The law at the points, moved as far as errors in x excuse it."""
        return self.general(self.logs)

    def general(self, logs: NDArray[np.bool_]) -> EffectiveKernel:
        """Return a kernel in other coordinates."""
        return EffectiveKernel(self.placement(logs), y=self.linked, ratios=self.ratios)

    @property
    def errs_in_x(self) -> bool:
        """Whether variables have known errors."""
        return True

    @property
    def ratios(self) -> dict[str, Array]:
        """The errors in x over those of y."""
        return {n: s * np.sqrt(self.weights) for n, s in self.sigma_x.items()}

    @functools.cached_property
    def _natural_kernel(self) -> EffectiveKernel:
        return self.general(np.zeros(self.k, dtype=bool))

    def _state(self, p: Array) -> State:
        return self._natural_kernel.at(np.asarray(p, dtype=float)[:, None])

    def predicted(self, p: Array) -> Array:
        """Return the moved law at the points."""
        f = self._state(p).f[0]
        with np.errstate(all="ignore"):
            return np.asarray(np.exp(f) if self.objective.log else f)

    def slopes(self, p: Array) -> Array:
        """Return the derivatives of the residuals by the free parameters as the law has them, (n, k)."""
        return np.asarray(self._natural_kernel.jacobian(self._state(p))[:, 0].T)


def covariance(problem: Effective, at: Array, logs: NDArray[np.bool_], keep: list[int], known: bool) -> Array | None:
    """Return the covariance of some parameters at a solution; None where the objective has no lowest point there.

    It is the inverse of the objective's own curvature: products of slopes, as of a law without errors in x, would count
    the errors among the signal. Where the scatter of y was estimated, what that adds is added (for a straight line the
    sum is Fuller's, 1987, section 1.2).

    Parameters
    ----------
    problem : Effective
    at : ndarray
        The solution in coordinates of which `logs` are logarithms.
    logs : ndarray of bool
    keep : list of int
        Places of the parameters.
    known : bool
        The scatter of y is known.
    """

    def gradient(factor: float) -> tuple[Array, Array, State]:
        scaled = replace(problem, weights=problem.weights / factor)
        kernel = scaled.general(logs)
        target = Target(
            kernel=kernel, objective=problem.objective, y=problem.linked, weights=scaled.weights, options={}
        )
        _, first, second = target.evaluate(at[:, None])
        return first[keep, 0] / 2, second[:, :, 0][np.ix_(keep, keep)] / 2, kernel.at(at[:, None])

    _, table, state = gradient(1.0)
    size = np.sqrt(np.abs(np.diag(table)))
    if not np.isfinite(table).all() or not (size > 0).all():
        return None
    scaled = table / np.outer(size, size)
    if np.linalg.eigvalsh(scaled)[0] < 1e-10:
        return None
    inverse = np.linalg.inv(scaled) / np.outer(size, size)
    if known:
        return np.asarray(inverse)
    step = 1e-4
    turn = (gradient(np.exp(step))[0] - gradient(np.exp(-step))[0]) / (2 * step)
    moves = inverse @ turn
    shares = state.inner[2][0][problem.weights > 0] ** 2
    return np.asarray(inverse + np.outer(moves, moves) * 2 * (problem.n - problem.k) / float(shares.sum()) ** 2)
