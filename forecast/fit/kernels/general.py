"""A law at many parameters and points at once, contracted to gradient and Hessian: the general route.

A kernel works in the solver's coordinates (the logarithm of a positive parameter in which the law is not linear) on
parameters (k, B), one column a fit, and on points that all fits share, (n,), or that each has of its own, (B, n). It
gives ``f``, the law in the objective's link, and sums derivatives over the points with weights that the loss provides,
so that no (k, k, B, n) array is ever made.

The kernel of a grouped law sums the law's own derivatives at every point group by group. A point knows the parameters
of its own group only, so that what is summed is the law's few derivatives and not those of every group's parameters: 20
groups cost little more than one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.errors import ForecastError
from forecast.laws import Law
from forecast.laws.grouped import Grouped

#: Up to this many numbers in a table all sums are taken at once.
MAX_ONE_CALL_ELEMENTS = 4096


@dataclass(frozen=True, kw_only=True)
class Placement:
    """What a kernel computes: a law at points, in the solver's coordinates.

    Parameters
    ----------
    law : forecast.Law
    variables : mapping of str to ndarray
        (n,), or (B, n).
    free : tuple of str
        The parameters that are solved for, in the order of the coordinates.
    logs : ndarray of bool
        Whose coordinate is the logarithm.
    fixed : mapping of str to float
        The other parameters.
    link : bool
        f is the logarithm of the law.
    positive : ndarray of bool, optional
        Who is never negative; default: whose coordinate is the logarithm.
    """

    law: Law
    variables: Mapping[str, Array]
    free: tuple[str, ...]
    logs: BoolArray
    fixed: Mapping[str, float]
    link: bool
    positive: BoolArray | None = None

    def some(self, points: slice) -> Placement:
        """Return the law at some of the points."""
        return replace(self, variables={n: v[..., points] for n, v in self.variables.items()})


@dataclass(slots=True)
class LawState:
    """The law at some parameters.

    Parameters
    ----------
    f : ndarray
        (B, n), in the link.
    inner : Any
        What the kernel needs for derivatives.
    """

    f: Array
    inner: Any


class Kernel(Protocol):
    """What the solver asks of a law."""

    def at(self, q: Array, order: int = 2) -> LawState:
        """Return the law at parameters (k, B), with what is needed of its derivatives up to an order."""

    def contract(self, state: LawState, first: Array, second: Array, share: Array | None = None) -> tuple[Array, Array]:
        """Return sums over the points: gradient (k, B) and Hessian (k, k, B).

        Parameters
        ----------
        state : State
        first, second : ndarray
            (B, n): weighted first and second derivatives of the loss by f.
        share : ndarray, optional
            (B, 1): how much of the law's own curvature enters the Hessian; default all of it, 0 is Gauss-Newton.
        """

    def jacobian(self, state: LawState) -> Array:
        """Return the derivatives of f by the coordinates, (k, B, n)."""

    def fits(self, state: LawState, rows: Any) -> LawState | None:
        """Return the law of some of the fits, whose kernel this is; None where it must be computed anew."""

    def take(self, rows: Any) -> Kernel:
        """Return the kernel of some of the fits."""

    def some(self, points: slice) -> Kernel:
        """Return the kernel at some of the points."""


def natural(q: Array, logs: BoolArray) -> Array:
    """Return the parameters at coordinates (k, B)."""
    return np.where(logs[:, None], np.exp(np.where(logs[:, None], q, 0.0)), q)


def total(part: Any, weights: Any, shape: tuple[int, int]) -> Array:
    """Return the sum over points of a product that broadcasts to (B, n)."""
    whole = part if np.shape(part) == shape else np.broadcast_to(part, shape)
    return np.asarray(np.einsum("bn,bn->b", whole, weights))


class _Differences:
    """A law that has no program: its own value and Jacobian, without second derivatives.

    The code of a plugin need not broadcast. All fits are computed together as long as the first and the last of them
    come out as they do alone, and else one at a time.
    """

    def __init__(self, law: Law) -> None:
        self.law, self.together = law, True

    def evaluate(self, values: Mapping[str, Any], order: int) -> tuple[Any, list[Any], dict[tuple[int, int], Any]]:
        law = self.law
        parameters = {n: np.asarray(values[n], dtype=float) for n in law.parameters}
        variables = {n: values[n] for n in law.variables}
        rows = max((p.shape[0] for p in parameters.values() if p.ndim), default=1)

        def alone(b: int) -> tuple[dict[str, float], dict[str, Any]]:
            one = {
                n: float(p) if p.ndim == 0 else float(p[b if p.shape[0] > 1 else 0, 0]) for n, p in parameters.items()
            }
            return one, {n: v if np.ndim(v) < 2 else v[b] for n, v in variables.items()}

        if self.together and rows > 1:
            try:
                value = law.value(parameters, **variables)
                slopes = law.jacobian(parameters, **variables) if order else ()
            except ForecastError:
                self.together = False
            else:
                for b in (0, rows - 1):
                    one, points = alone(b)
                    self.together &= _is_close(law.value(one, **points), value[b])
                if self.together:
                    return value, list(slopes), {}
        found, each = [], []
        for b in range(rows):
            one, points = alone(b)
            found.append(law.value(one, **points))
            if order:
                each.append(law.jacobian(one, **points))
        return np.array(found), list(np.moveaxis(np.array(each), 0, 1)) if order else [], {}


def _is_close(one: Array, other: Array) -> bool:
    """Tell whether values are the same but for rounding."""
    return one.shape == other.shape and np.allclose(one, other, rtol=1e-12, atol=0, equal_nan=True)


def program_of(law: Law) -> Any:
    """Return what computes a law and its derivatives."""
    from forecast.laws.program import DifferenceProgram

    program = law.program()
    return _Differences(law) if isinstance(program, DifferenceProgram) else program


class ProgramKernel:
    """Any law, by its program of value, gradient and Hessian.

    Parameters
    ----------
    placement : Placement
    program : Program, optional
        The law's, where it is at hand.
    """

    def __init__(self, placement: Placement, *, program: Any = None) -> None:
        self.placement = placement
        self.variables, self.free = placement.variables, placement.free
        self.logs, self.link = placement.logs, placement.link
        self.program = program_of(placement.law) if program is None else program
        order = {name: i for i, name in enumerate(placement.law.parameters)}
        self.index = [order[name] for name in self.free]
        self.n = next(iter(self.variables.values())).shape[-1]
        self.own = any(v.ndim == 2 for v in self.variables.values())
        self.constants = {n: np.float64(v) for n, v in placement.fixed.items()}

    def take(self, rows: Any) -> ProgramKernel:
        """Return the kernel of some of the fits."""
        if not self.own:
            return self
        some = {n: v if v.ndim == 1 else v[rows] for n, v in self.variables.items()}
        return type(self)(replace(self.placement, variables=some), program=self.program)

    def fits(self, state: LawState, rows: Any) -> LawState:
        """Return the law of some of the fits."""
        p, value, slopes, curves = state.inner
        count = value.shape[0]

        def of(part: Any) -> Any:
            return part[rows] if np.ndim(part) == 2 and part.shape[0] == count else part

        some = p[:, rows], value[rows], [of(part) for part in slopes], {pair: of(part) for pair, part in curves.items()}
        return LawState(state.f[rows], some)

    def some(self, points: slice) -> ProgramKernel:
        """Return the kernel at some of the points."""
        return type(self)(self.placement.some(points), program=self.program)

    def at(self, q: Array, order: int = 2) -> LawState:
        """Return the law at parameters (k, B)."""
        with np.errstate(all="ignore"):
            p = natural(q, self.logs)
            given = {name: p[i][:, None] for i, name in enumerate(self.free)}
            value, slopes, curves = self._evaluated({**self.constants, **given}, order)
            value = np.broadcast_to(value, (q.shape[1], self.n))
            f = np.log(value) if self.link else value
        return LawState(f, (p, value, slopes, curves))

    def _evaluated(self, parameters: dict[str, Any], order: int) -> tuple[Any, list[Any], Any]:
        """Return value, slopes and curvatures of the law at its points."""
        value, slopes, curves = self.program.evaluate({**parameters, **self.variables}, order)
        return value, [slopes[i] for i in self.index] if order else [], curves

    def contract(self, state: LawState, first: Array, second: Array, share: Array | None = None) -> tuple[Array, Array]:
        """Return gradient (k, B) and Hessian (k, k, B); see `Kernel.contract`."""
        p, value, slopes, curves = state.inner
        with np.errstate(all="ignore"):
            slope = first
            if self.link:  # derivatives of log f from those of f
                inverse = 1.0 / value
                slope = first * inverse
                second = (second - (first if share is None else share * first)) * inverse * inverse
            bend = slope if share is None else share * slope
            return to_logs(*self._sums(slopes, curves, slope, second, bend), p, self.logs, share)

    def _sums(self, slopes: list[Any], curves: Any, slope: Array, second: Array, bend: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian by the parameters as the law has them."""
        if slope.size <= MAX_ONE_CALL_ELEMENTS:
            return self._sum_at_once(slopes, curves, slope, second, bend)
        k, shape = len(self.free), slope.shape
        gradient = np.empty((k, shape[0]))
        hessian = np.zeros((k, k, shape[0]))
        for a in range(k):
            part = slopes[a]
            gradient[a] = total(part, slope, shape)
            if np.ndim(part) == 0 and part == 0:
                continue
            side = np.multiply(second, part)
            for b in range(a + 1):
                hessian[a, b] = total(slopes[b], side, shape)
        for a in range(k):
            for b in range(a + 1):
                i, j = sorted((self.index[a], self.index[b]))
                if (i, j) in curves:
                    hessian[a, b] += total(curves[i, j], bend, shape)
                hessian[b, a] = hessian[a, b]
        return gradient, hessian

    def _sum_at_once(
        self, slopes: list[Any], curves: Mapping[tuple[int, int], Any], slope: Array, second: Array, bend: Array
    ) -> tuple[Array, Array]:
        """Sum all products in a few calls: where there are few numbers, it is the calls that cost."""
        k, shape = len(self.free), slope.shape
        place = {i: a for a, i in enumerate(self.index)}
        pairs = [(place[i], place[j]) for i, j in curves if i in place and j in place]
        table = np.empty((k, *shape))
        for a in range(k):
            table[a] = slopes[a]
        gradient = np.einsum("kbn,bn->kb", table, slope)
        across = table.transpose(1, 0, 2)
        hessian = np.matmul(across * second[:, None], across.transpose(0, 2, 1)).transpose(1, 2, 0)
        if pairs:
            bent = np.empty((len(pairs), *shape))
            kept = (part for (i, j), part in curves.items() if i in place and j in place)
            for part, out in zip(kept, bent, strict=True):
                out[:] = part
            sums = np.einsum("kbn,bn->kb", bent, bend)
            one, other = np.array(pairs).T
            hessian[one, other] += sums
            apart = one != other
            hessian[other[apart], one[apart]] += sums[apart]
        return gradient, hessian

    def jacobian(self, state: LawState) -> Array:
        """Return the derivatives of f by the coordinates, (k, B, n)."""
        p, value, slopes, _ = state.inner
        with np.errstate(all="ignore"):
            table = self._slope_table(slopes, value.shape)
            table *= np.where(self.logs[:, None], p, 1.0)[:, :, None]
            return table / value if self.link else table

    def _slope_table(self, slopes: list[Any], shape: tuple[int, ...]) -> Array:
        """Return the slopes by the free parameters as one array, (k, B, n)."""
        return np.array([np.broadcast_to(s, shape) for s in slopes], dtype=float)


def to_logs(gradient: Array, hessian: Array, p: Array, logs: BoolArray, share: Array | None) -> tuple[Array, Array]:
    """Turn derivatives by parameters into derivatives by their logarithms, in place."""
    chosen = np.flatnonzero(logs)
    for a in chosen:
        gradient[a] *= p[a]
        hessian[a] *= p[a]
        hessian[:, a] *= p[a]
    for a in chosen:
        hessian[a, a] += gradient[a] if share is None else gradient[a] * share[:, 0]
    return gradient, hessian


def is_supported(law: Law, variables: Mapping[str, Array]) -> bool:
    """Tell whether a law is grouped, has a formula, and all fits share the points."""
    form = law._form
    return (
        isinstance(form, Grouped)
        and form.law.expression is not None
        and all(v.ndim == 1 for v in variables.values())
    )  # fmt: skip


class GroupKernel(ProgramKernel):
    """A grouped law at the points; see `forecast.fit.kernels.general.Kernel`.

    Parameters
    ----------
    placement : Placement
        Of a grouped law, with the groups among the variables, all of them (n,).
    program : Program, optional
        That of the law that each group follows, where it is at hand.
    """

    def __init__(self, placement: Placement, *, program: Any = None) -> None:
        form = placement.law._form
        assert isinstance(form, Grouped)
        super().__init__(placement, program=form.law.program() if program is None else program)
        self.form, self.codes = form, placement.variables[form.by]
        self.points = {n: placement.variables[n] for n in form.law.variables}
        self.member = (self.codes[:, None] == np.arange(len(form.labels))).astype(float)
        roles = form.roles()
        #: For each parameter of the law, the coordinates that take its place: (coordinate, group or None).
        self.places: list[list[tuple[int, int | None]]] = [[] for _ in form.law.parameters]
        for a, name in enumerate(self.free):
            for i, group in roles[name]:
                self.places[i].append((a, group))
        #: For each pair of the law's parameters, the coordinates that meet in some group: (one, other, which sum).
        self.pairs = {
            (i, j): [
                (a, b, other if group is None else group)
                for a, group in mine
                for b, other in self.places[j]
                if group is None or other is None or group == other
            ]
            for i, mine in enumerate(self.places)
            for j in range(i + 1)
        }

    def _evaluated(self, parameters: dict[str, Any], order: int) -> tuple[Any, list[Any], Any]:
        """Return value, slopes and curvatures of the law that each group follows, each point with those of its own."""
        chosen = self.form.chosen({**parameters, self.form.by: self.codes})
        shared = {n: parameters[n] for n in self.form.law.parameters if n not in chosen}
        return self.program.evaluate({**shared, **chosen, **self.points}, order)  # type: ignore[no-any-return]

    def _sums(self, slopes: list[Any], curves: Any, slope: Array, second: Array, bend: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian by the parameters as the law has them."""
        k, count = len(self.free), len(slope)
        gradient, hessian = np.zeros((k, count)), np.zeros((k, k, count))
        for i, mine in enumerate(self.places):
            if not mine:
                continue
            sums = self._summed(np.multiply(slopes[i], slope), {group for _, group in mine})
            for a, group in mine:
                gradient[a] += sums[group]
            side = np.multiply(second, slopes[i])
            for j in range(i + 1):
                pairs = self.pairs[i, j]
                if not pairs:
                    continue
                table = np.multiply(side, slopes[j])
                if (j, i) in curves:
                    table = table + np.multiply(curves[j, i], bend)
                sums = self._summed(table, {group for _, _, group in pairs})
                for a, b, group in pairs:
                    hessian[a, b] += sums[group]
                    if j < i:
                        hessian[b, a] += sums[group]
        return gradient, hessian

    def _summed(self, table: Array, groups: set[int | None]) -> dict[int | None, Array]:
        """Return the sums over the requested `groups`: over all points under None, over a group under its place."""
        found: dict[int | None, Array] = {}
        if groups - {None}:
            sums = table @ self.member
            found.update({g: sums[:, g] for g in groups if g is not None})
        if None in groups:
            found[None] = table.sum(axis=1)
        return found

    def _slope_table(self, slopes: list[Any], shape: tuple[int, ...]) -> Array:
        """Return the slopes by the free parameters as one array, (k, B, n)."""
        table = np.zeros((len(self.free), *shape))
        for i, mine in enumerate(self.places):
            for a, group in mine:
                table[a] += np.multiply(slopes[i], 1.0 if group is None else self.member[:, group])
        return table
