"""Known errors in the variables: the true variables are solved for beside the parameters (orthogonal distances).

What is minimised is the sum over the points of ((y - f(x + d)) / sigma)**2 + sum of (d / sigma_x)**2, over the
parameters and every shift d (Boggs, Byrd and Schnabel, 1987), in logarithms of y under a log objective. The shifts of a
point depend on nothing but the parameters: the kernel solves for them, point by point, and shows the solver a law of
the parameters alone whose residuals are the distances. Its gradient and Hessian are exact, by the theorem of the
envelope and that of implicit functions. For a straight line this is Deming's and York's solution.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.fit.kernels.general import Kernel, LawState, Placement, natural, to_logs
from forecast.fit.problem.problem import Problem
from forecast.laws import Law
from forecast.laws.forms import Form
from forecast.laws.program import DifferenceProgram, Program

#: Steps towards the true variables of a point, at most, and the share of a squared distance that the last may promise.
MAX_SHIFT_STEPS, BLIND_SHIFT_RTOL = 60, 1e-14
#: Damping of such a step: where it starts after a step that failed, and what it is multiplied by at each failure.
FIRST_DAMPING, DAMPING_FACTOR = 0.1, 8.0
#: Programs by the form of the law and what it is differentiated along: a fit asks for one a dozen times.
_programs: WeakKeyDictionary[Form, dict[tuple[tuple[str, ...], ...], Any]] = WeakKeyDictionary()


def _augmented_program(law: Law, parameters: tuple[str, ...]) -> Any:
    """Return a program of the law that differentiates by these of its names."""
    names = parameters, tuple(n for n in (*law.parameters, *law.variables) if n not in parameters)
    known = _programs.setdefault(law._form, {})
    if names not in known:
        program: Program = law._form.program(*names)
        known[names] = _UnbatchedProgram(program) if isinstance(program, DifferenceProgram) else program
    return known[names]


class _UnbatchedProgram:
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


@dataclass(slots=True)
class _Solved:
    """The law at the true variables that belong to some parameters.

    Parameters
    ----------
    p : ndarray
        (k, B), the parameters as the law has them.
    residual, distance : ndarray
        (B, n): the law less y there, and the distance of the point from it, with the sign of the residual.
    slopes, steep : ndarray
        (k, B, n) by the parameters, (m, B, n) by the variables in units of their errors.
    bends, across, curves : ndarray
        (k, k, B, n), (m, k, B, n) and (m, m, B, n): the second derivatives.
    """

    p: Array
    residual: Array
    distance: Array
    slopes: Array
    steep: Array
    bends: Array
    across: Array
    curves: Array

    @property
    def variance(self) -> Array:
        """The variance of y about the law in units of its own, (B, n): errors in x add the slope's square."""
        return np.asarray(1.0 + np.einsum("mbn,mbn->bn", self.steep, self.steep))

    @property
    def jacobian(self) -> Array:
        """The derivatives of the distances by the parameters, (k, B, n)."""
        return np.asarray(self.slopes / np.sqrt(self.variance))


class OrthogonalKernel:
    """A law as far from each observation as the point is from the law's curve: y + its signed distance.

    Its squares with the weights 1/sigma**2 are the squared distances in units of the errors. See
    `forecast.fit.kernels.general.Kernel`.

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
        self.program = _augmented_program(placement.law, (*self.free, *ratios))
        self.along = _augmented_program(placement.law, tuple(ratios))
        self.units = np.array(list(ratios.values()))[:, None]

    def fits(self, state: LawState, rows: Any) -> None:
        """Return nothing: it is computed anew."""

    def take(self, rows: Any) -> OrthogonalKernel:
        """Return the kernel of some of the fits."""
        return self

    def some(self, points: slice) -> OrthogonalKernel:
        """Return the kernel at some of the points."""
        ratios = {n: r[points] for n, r in self.ratios.items()}
        return OrthogonalKernel(self.placement.some(points), y=self.y[points], ratios=ratios)

    def _derivatives(self, program: Any, p: Array, shifts: Array) -> tuple[Array, Array, Array]:
        """Return the law in the link at parameters (k, B) and shifts (m, B, n), its slopes and second derivatives."""
        shape = shifts.shape[1:]
        values: dict[str, Any] = {n: np.float64(v) for n, v in self.fixed.items()}
        values |= {name: p[i][:, None] for i, name in enumerate(self.free)} | dict(self.variables)
        for name, unit, shift in zip(self.ratios, self.units, shifts, strict=True):
            values[name] = self.variables[name] + unit * shift
        value, slopes, curves = program.evaluate(values, 2)
        f, count = np.array(np.broadcast_to(value, shape), dtype=float), len(slopes)
        one, two = np.empty((count, *shape)), np.zeros((count, count, *shape))
        for i, slope in enumerate(slopes):
            one[i] = slope
        for (i, j), curve in curves.items():
            two[i, j] = two[j, i] = curve
        if self.link:  # derivatives of log f from those of f
            one /= f
            two /= f
            two -= one[:, None] * one[None]
            f = np.log(f)
        m = len(self.units)  # the variables come last
        one[-m:] *= self.units
        two[-m:] *= self.units[:, None]
        two[:, -m:] *= self.units[None]
        return f, one, two

    def _shifts(self, p: Array) -> Array:
        """Return the shifts to the true variables in units of their errors over that of y, (m, B, n).

        Damped Newton steps for every point by itself, from the variables as observed.
        """
        m, shape = len(self.units), (p.shape[1], self.y.size)
        shifts, step, gradient = (np.zeros((m, *shape)) for _ in range(3))
        value, damping, bent = np.full(shape, np.inf), np.zeros(shape), np.zeros((m, m, *shape))
        unsettled, live = np.ones(shape, dtype=bool), np.arange(shape[0])
        for _ in range(MAX_SHIFT_STEPS):
            tried = shifts[:, live] + step[:, live]
            f, slopes, curves = self._derivatives(self.along, p[:, live], tried)
            r = f - self.y
            found = r * r + np.einsum("mbn,mbn->bn", tried, tried)
            better = found < value[live]
            value[live] = np.where(better, found, value[live])
            shifts[:, live] = np.where(better, tried, shifts[:, live])
            gradient[:, live] = np.where(better, r * slopes + tried, gradient[:, live])
            bent[:, :, live] = np.where(better, slopes[:, None] * slopes[None] + r * curves, bent[:, :, live])
            refused = np.maximum(damping[live] * DAMPING_FACTOR, FIRST_DAMPING)
            damping[live] = np.where(better, damping[live] / DAMPING_FACTOR**2, refused)
            move, promised = _step(gradient[:, live], bent[:, :, live], damping[live])
            # a last step is taken without looking: it gains less than rounding lets one see
            last = unsettled[live] & (promised <= BLIND_SHIFT_RTOL * value[live])
            shifts[:, live] += np.where(last, move, 0.0)
            unsettled[live] &= ~last & np.isfinite(value[live])
            step[:, live] = np.where(unsettled[live], move, 0.0)
            live = live[unsettled[live].any(axis=1)]
            if not live.size:
                break
        return shifts

    def at(self, q: Array, order: int = 2) -> LawState:
        """Return the moved law at parameters (k, B)."""
        k = len(self.free)
        with np.errstate(all="ignore"):
            p = natural(q, self.logs)
            shifts = self._shifts(p)
            f, one, two = self._derivatives(self.program, p, shifts)
            r = f - self.y
            distance = np.copysign(np.sqrt(r * r + np.einsum("mbn,mbn->bn", shifts, shifts)), r)
        solved = _Solved(p, r, distance, one[:k], one[k:], two[:k, :k], two[k:, :k], two[k:, k:])
        return LawState(self.y + distance, solved)

    def contract(self, state: LawState, first: Array, second: Array, share: Array | None = None) -> tuple[Array, Array]:
        """Return gradient (k, B) and Hessian (k, k, B); see `Kernel.contract`."""
        s: _Solved = state.inner
        with np.errstate(all="ignore"):
            slopes, r = s.jacobian, s.residual
            # by half the squared distance, whose derivatives are those of a distance of 0 too
            bend = np.where(s.distance == 0, 0.0, first / s.distance) * (1.0 if share is None else share)
            gradient = np.einsum("kbn,bn->kb", slopes, first)
            hessian = _cross_products(slopes * (second - bend), slopes) + _cross_products(s.slopes * bend, s.slopes)
            hessian += np.einsum("ijbn,bn->ijb", s.bends, bend * r)
            # true variables that go along with the parameters
            moved = s.steep[:, None] * s.slopes[None] + r * s.across
            along = _solve(_squared_distance_curvature(s.steep[:, None] * s.steep[None] + r * s.curves), moved)
            for towards, by in zip(moved, along, strict=True):
                hessian -= _cross_products(towards * bend, by)
            return to_logs(gradient, hessian, s.p, self.logs, share)

    def jacobian(self, state: LawState) -> Array:
        """Return the derivatives of the moved law by the coordinates, (k, B, n)."""
        s: _Solved = state.inner
        with np.errstate(all="ignore"):
            return np.asarray(s.jacobian * np.where(self.logs[:, None], s.p, 1.0)[:, :, None])


def _squared_distance_curvature(bent: Array) -> Array:
    """Return the curvature of half a squared distance along the variables: what the law adds, and their own errors."""
    each = np.arange(len(bent))
    bent = bent.copy()
    bent[each, each] += 1.0
    return bent


def _solve(table: Array, right: Array) -> Array:
    """Return the solutions (m, ..., B, n) of a system (m, m, B, n) at every point; nan where it is singular."""
    m = len(table)
    if m == 1:
        return np.asarray(right / table[0])
    whole = np.moveaxis(table, (0, 1), (-2, -1))
    finite = np.asarray(np.isfinite(whole).all(axis=(-2, -1)))[..., None, None]
    good = finite & (np.linalg.det(np.where(finite, whole, 0.0))[..., None, None] != 0)
    columns = np.moveaxis(right.reshape(m, -1, *table.shape[2:]), (0, 1), (-2, -1))
    found = np.linalg.solve(np.where(good, whole, np.eye(m)), np.where(good, columns, np.nan))
    return np.moveaxis(found, (-2, -1), (0, 1)).reshape(right.shape)


def _step(gradient: Array, bent: Array, damping: Array) -> tuple[Array, Array]:
    """Return a damped Newton step (m, B, n) down from where every point is, and how much it promises of the square."""
    table = _squared_distance_curvature(bent)
    m = len(table)
    if m == 1:
        size = np.abs(table[0])
        step = -gradient / np.maximum(size * (1 + damping), 1e-300)
    else:
        good = np.isfinite(table).all(axis=(0, 1))
        values, vectors = np.linalg.eigh(np.moveaxis(np.where(good, table, 0.0), (0, 1), (-2, -1)))
        size = np.maximum(np.abs(values) * (1 + damping[..., None]), 1e-300)
        across = np.einsum("bnij,ibn->bnj", vectors, gradient) / size
        step = -np.einsum("bnij,bnj->ibn", vectors, across)
    step = np.where(np.isfinite(step), step, 0.0)
    return step, -np.einsum("mbn,mbn->bn", step, gradient)


def _cross_products(left: Array, right: Array) -> Array:
    """Return the sums over points of all products, (k, k, B), of two (k, B, n)."""
    return np.asarray(np.matmul(left.transpose(1, 0, 2), right.transpose(1, 2, 0)).transpose(1, 2, 0)).copy()


@dataclass(frozen=True, kw_only=True)
class Orthogonal(Problem):
    """A problem whose variables have known errors.

    Parameters
    ----------
    sigma_x : mapping of str to ndarray
        Standard deviations of variables. The weights are one over the variances of y.
    """

    sigma_x: Mapping[str, Array] = field(default_factory=dict)

    @classmethod
    def of(cls, plain: Problem, sigma_x: Mapping[str, Array], weights: Array) -> Orthogonal:
        """Return a problem with errors in its variables, and weights beside which they stand."""
        return cls(**{**plain.parts(), "weights": weights, "sigma_x": sigma_x})

    def plain(self) -> Problem:
        """Return the problem as if the variables were known."""
        return Problem(**{name: part for name, part in self.parts().items() if name != "sigma_x"})

    def kernel_in(self, logs: BoolArray) -> Kernel:
        """Return the law moved to each observation's distance from it."""
        return self.general(logs)

    def general(self, logs: BoolArray) -> OrthogonalKernel:
        """Return a kernel in other coordinates."""
        return OrthogonalKernel(self.placement(logs), y=self.y, ratios=self.ratios)

    @property
    def errs_in_x(self) -> bool:
        """Whether variables have known errors."""
        return True

    @property
    def ratios(self) -> dict[str, Array]:
        """The errors in x over those of y."""
        return {n: s * np.sqrt(self.weights) for n, s in self.sigma_x.items()}

    @functools.cached_property
    def _natural_kernel(self) -> OrthogonalKernel:
        return self.general(np.zeros(self.k, dtype=bool))

    def _state(self, p: Array) -> LawState:
        return self._natural_kernel.at(np.asarray(p, dtype=float)[:, None])

    def predicted(self, p: Array) -> Array:
        """Return the moved law at the points."""
        f = self._state(p).f[0]
        with np.errstate(all="ignore"):
            return np.asarray(np.exp(f) if self.objective.log else f)

    def slopes(self, p: Array) -> Array:
        """Return the derivatives of the residuals by the free parameters as the law has them, (n, k)."""
        return np.asarray(self._natural_kernel.jacobian(self._state(p))[:, 0].T)


def covariance(problem: Orthogonal, at: Array, logs: BoolArray, keep: list[int]) -> Array | None:
    """Return the covariance of some parameters at a solution; None where the objective has no lowest point there.

    It is the inverse of the objective's own curvature: products of slopes, as of a law without errors in x, would count
    the errors among the signal. Where the scatter of y was estimated, what that adds is added (for a straight line the
    sum is Fuller's, 1987, section 1.2).

    Parameters
    ----------
    problem : Orthogonal
    at : ndarray
        The solution in coordinates of which `logs` are logarithms.
    logs : ndarray of bool
    keep : list of int
        Places of the parameters.
    """

    def gradient(factor: float) -> tuple[Array, Array, LawState]:
        scaled = problem.with_changes(weights=problem.weights / factor, coordinates=problem.coordinates.with_logs(logs))
        _, first, second = scaled.evaluate(at[:, None])
        return first[keep, 0] / 2, second[:, :, 0][np.ix_(keep, keep)] / 2, scaled.kernel.at(at[:, None])

    _, table, state = gradient(1.0)
    size = np.sqrt(np.abs(np.diag(table)))
    if not np.isfinite(table).all() or not (size > 0).all():
        return None
    scaled = table / np.outer(size, size)
    if np.linalg.eigvalsh(scaled)[0] < 1e-10:
        return None
    inverse = np.linalg.inv(scaled) / np.outer(size, size)
    step = 1e-4
    turn = (gradient(np.exp(step))[0] - gradient(np.exp(-step))[0]) / (2 * step)
    moves = inverse @ turn
    shares = 1 / state.inner.variance[0][problem.weights > 0]
    return np.asarray(inverse + np.outer(moves, moves) * 2 * (problem.n - problem.k) / float(shares.sum()) ** 2)
