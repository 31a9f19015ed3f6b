"""Profile likelihood limits of many fits at once: one parameter held, the others refitted, until the fit is just as bad
as a level of confidence allows.

A row is one side of one parameter of one fit. All rows of all fits are one batch of the solver: a held coordinate is
one whose gradient is zero and whose curvature is one, so that Newton's step leaves it where it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.base import budgets
from forecast.fit.kernels.general import Kernel, State
from forecast.fit.solve import newton
from forecast.fit.solve.newton import Target

__all__ = ["Held", "Limits", "Optima", "limits", "refitted"]

Array: TypeAlias = NDArray[np.float64]

#: A logarithm is followed this far from its estimate (twelve decades), further where the law is flat in it.
REACH, FAR = 12 * np.log(10.0), 300.0
#: A parameter that is no logarithm is followed over this many of its widths or sizes, whichever is more.
WIDTHS = 100.0
#: Rounds of the search for a limit, and how near the allowed rise it must come (in standard errors).
ROUNDS, NEAR = 30, 1e-9
#: Rounds after which a row whose refits do not arrive is left with the wider limit: more would only follow their noise.
PATIENCE = 6
#: Steps of a refit: they start next to their solution, and where a law is flat they need not arrive.
ITERATIONS = 30
#: A refit that has risen by this many times what is allowed may be in a worse valley: it is made again.
LEAPT = 16.0
#: A refit that is better than the optimum by this share of the allowed rise is another optimum.
BETTER = 1e-3


class Held:
    """A kernel with one coordinate of every fit held where it is.

    Parameters
    ----------
    kernel : Kernel
    place : ndarray of int
        (B,), which one.
    """

    def __init__(self, kernel: Kernel, place: NDArray[np.int64]) -> None:
        self.kernel, self.place = kernel, place

    def take(self, rows: Any) -> Held:
        """Return the kernel of some of the fits."""
        return Held(self.kernel.take(rows), self.place[rows])

    def at(self, q: Array) -> State:
        """Return the law at parameters (k, B)."""
        return self.kernel.at(q)

    def contract(self, state: State, first: Array, second: Array, share: Array | None = None) -> tuple[Array, Array]:
        """Return gradient and Hessian in which the held coordinate has no slope."""
        gradient, hessian = self.kernel.contract(state, first, second, share)
        each = np.arange(self.place.size)
        gradient[self.place, each] = 0.0
        hessian[self.place, :, each] = 0.0
        hessian[:, self.place, each] = 0.0
        hessian[self.place, self.place, each] = 1.0
        return gradient, hessian

    def jacobian(self, state: State) -> Array:
        """Return the derivatives of f by the coordinates."""
        return self.kernel.jacobian(state)


@dataclass(frozen=True, kw_only=True)
class Optima:
    """Fits at their optima.

    Parameters
    ----------
    target : Target
    q : ndarray
        (k, B), in the solver's coordinates.
    value : ndarray
        (B,)
    hessian : ndarray
        (k, k, B)
    lower, upper : ndarray
        (k,)
    logs : ndarray of bool
        (k,)
    """

    target: Target
    q: Array
    value: Array
    hessian: Array
    lower: Array
    upper: Array
    logs: NDArray[np.bool_]

    @property
    def inverse(self) -> Array:
        """The inverse Hessian, (k, k, B), directions without curvature given a little."""
        size = np.sqrt(np.abs(np.einsum("iib->ib", self.hessian)))
        size[size <= 0] = 1.0
        scaled = np.moveaxis(self.hessian / (size[:, None] * size[None]), 2, 0)
        values, vectors = np.linalg.eigh(np.where(np.isfinite(scaled), scaled, 0.0))
        found = np.einsum("bij,bj,bkj->ikb", vectors, 1.0 / np.maximum(np.abs(values), 1e-12), vectors)
        return np.asarray(found / (size[:, None] * size[None]))

    def moved(self, rows: NDArray[np.bool_], q: Array) -> Optima:
        """Return the fits with some of them solved again from other starts."""
        again = newton.solve(self.target.take(np.flatnonzero(rows)), q, self.lower, self.upper, self.logs)
        new_q, value, hessian = self.q.copy(), self.value.copy(), self.hessian.copy()
        new_q[:, rows], value[rows], hessian[:, :, rows] = again.q, again.value, again.hessian
        return replace(self, q=new_q, value=value, hessian=hessian)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Intervals in the solver's coordinates.

    Parameters
    ----------
    low, high : ndarray
        (k, B); infinite where no limit was found.
    settled : ndarray of bool
        (k, B): the refits at the limits arrived.
    better : ndarray of bool
        (B,): a refit was better than the optimum, so that it was none; the intervals are about the better one.
    optima : Optima
        The best there is now.
    """

    low: Array
    high: Array
    settled: NDArray[np.bool_]
    better: NDArray[np.bool_]
    optima: Optima


def refitted(
    optima: Optima, fit: NDArray[np.int64], place: NDArray[np.int64], start: Array, tolerance: float = 1e-14
) -> newton.Solved:
    """Refit with one coordinate held as `start` has it; a row is a fit (by number) and a place."""
    target = optima.target.take(fit)
    return newton.solve(
        replace(target, kernel=Held(target.kernel, place)),
        start,
        optima.lower,
        optima.upper,
        optima.logs,
        tolerance=tolerance,
        iterations=ITERATIONS,
    )


def limits(optima: Optima, rise: Array, *, near: float = NEAR, again: bool = True) -> Limits:
    """Return where the objective, minimised over the other parameters, has risen by as much as is allowed.

    Parameters
    ----------
    optima : Optima
    rise : ndarray
        (k, B), above the minimum.
    near : float
        How exactly: of the square root of the rise.
    again : bool
        Search about the better optimum where one was found; else such a fit has no limits.
    """
    k, count = optima.q.shape
    low, high = np.empty((k, count)), np.empty((k, count))
    settled, better = np.empty((k, count), dtype=bool), np.zeros(count, dtype=bool)
    todo = np.arange(count)
    for last in (False, True):
        search = _Search(optima, todo, rise[:, todo])
        search.run(near, end=last)
        low[:, todo], high[:, todo], settled[:, todo] = search.ends()
        found = search.improved()
        if not found.any() or last:
            break
        rows = np.zeros(count, dtype=bool)
        rows[todo[found]] = True
        better |= rows
        optima = optima.moved(rows, search.best_q[:, found])
        todo = todo[found]
        if not again:
            break
    return Limits(low=low, high=high, settled=settled, better=better, optima=optima)


class _Search:
    """The search for the limits of some fits; rows are (parameter, side, fit)."""

    def __init__(self, optima: Optima, fits: NDArray[np.int64], rise: Array) -> None:
        k, count = optima.q.shape[0], fits.size
        self.optima, self.k, self.count = optima, k, count
        shape = (k, 2, count)
        self.place = np.broadcast_to(np.arange(k)[:, None, None], shape).ravel()
        self.sign = np.broadcast_to(np.array([-1.0, 1.0])[None, :, None], shape).ravel()
        self.column = np.broadcast_to(np.arange(count), shape).ravel()
        self.fit = fits[self.column]
        self.rise = np.broadcast_to(np.maximum(rise, 1e-300)[:, None], shape).ravel()
        self.centre = optima.q[self.place, self.fit]
        inverse = optima.inverse
        spread = inverse[self.place, self.place, self.fit]
        self.toward = inverse[:, self.place, self.fit] / spread
        logs = optima.logs[self.place]
        width = np.sqrt(2 * self.rise * spread)
        size = np.where(self.centre == 0, np.where(np.isfinite(width), width, 1.0), np.abs(self.centre))
        own = np.maximum(np.abs(np.einsum("iib->ib", optima.hessian)[self.place, self.fit]), 1e-300)
        flat = np.sqrt(2 * self.rise / own) > REACH
        reach = np.where(logs, np.where(flat, FAR, REACH), WIDTHS * np.maximum(np.minimum(width, 1e3 * size), size))
        bound = np.where(self.sign > 0, optima.upper[self.place], optima.lower[self.place])
        self.bound = np.abs(bound - self.centre)
        self.reach = np.minimum(reach, self.bound)
        width = np.where(np.isfinite(width), width, self.reach / 8)
        self.step = np.minimum(np.clip(width, 1e-12 * size, np.where(logs, 3.0, size + width)), self.reach)
        rows = self.place.size
        # distances from the centre between which a limit lies, what the law needs there, and the parameters there
        self.near_t, self.near_z, self.near_q = np.zeros(rows), np.zeros(rows), optima.q[:, self.fit].copy()
        #: By how much z rose over the last move outwards, a unit of t; how often in a row t came from the same side.
        self.slope, self.side = np.full(rows, np.nan), np.zeros(rows)
        self.far_t, self.far_z, self.far_q = np.full(rows, np.nan), np.full(rows, np.nan), self.near_q.copy()
        self.found = np.full(rows, np.nan)
        self.sure = np.ones(rows, dtype=bool)
        self.best = optima.value[fits].copy()
        self.best_q = optima.q[:, fits].copy()
        self.base = optima.value[fits]

    def _start(self, rows: NDArray[np.int64], t: Array) -> Array:
        """Return where to start a refit: along the tangent, or between two solutions."""
        near_t, near_q = self.near_t[rows], self.near_q[:, rows]
        with np.errstate(all="ignore"):
            slope = np.where(near_t > 0, (near_q - self.optima.q[:, self.fit[rows]]) / near_t, 0.0)
            tangent = self.toward[:, rows] * self.sign[rows]
            between = (self.far_q[:, rows] - near_q) / (self.far_t[rows] - near_t)
        slope = np.where(near_t > 0, slope, tangent)
        slope = np.where(np.isfinite(self.far_t[rows]) & np.isfinite(self.far_z[rows]), between, slope)
        moved = (t - near_t) * np.where(np.isfinite(slope), slope, 0.0)
        start = near_q + np.clip(moved, -20.0, 20.0) if self.optima.logs.any() else near_q + moved
        start = np.where(np.isfinite(start), start, near_q)
        start[self.place[rows], np.arange(rows.size)] = self.centre[rows] + self.sign[rows] * t
        return np.asarray(start)

    def _next(self, rows: NDArray[np.int64], round_: int) -> Array:
        a, b = self.near_t[rows], self.far_t[rows]
        za, zb = self.near_z[rows], self.far_z[rows]
        with np.errstate(all="ignore"):
            # where z stops rising, as far as its last rise says: proportion would creep along the plateau
            ahead = np.fmax(1.02 / za, 1.0 + (1.02 - za) / np.maximum(self.slope[rows] * a, 1e-300))
            grow = np.where(a > 0, a * np.clip(ahead, 1.05, 4.0), self.step[rows])
            secant = a + (1.0 - za) * (b - a) / (zb - za)
            if round_ % 2:  # a logarithm that grows from nothing bends the law exponentially
                secant = np.where((za > 0) & (zb > 10 * za), a + (b - a) * np.log(za) / np.log(za / zb), secant)
            margin = 1e-3 * (b - a) if round_ % 4 else 0.3 * (b - a)  # now and then nearly halve what is left
            near = np.minimum(np.abs(1 - za), np.abs(zb - 1)) < 1e-3
            margin = np.where(near, 1e-7 * (b - a), margin)
            inside = np.clip(secant, a + margin, b - margin)
            stalled = (np.abs(self.side[rows]) > 1) & (zb > 3)  # a jump, or a wall: it is to be cornered, not followed
            inside = np.where(np.isfinite(inside) & np.isfinite(zb) & ~stalled, inside, 0.5 * (a + b))
        return np.asarray(np.where(np.isnan(b), np.minimum(grow, self.reach[rows]), inside))

    def run(self, near: float, *, end: bool = True) -> None:
        """Search until every row has its limit; not for fits that turn out to be no optimum, unless to the end."""
        self.found[self.reach <= 0] = np.where(self.bound <= 0, 0.0, np.inf)[self.reach <= 0]
        for round_ in range(ROUNDS):
            budgets.check_time("profiling", round_, ROUNDS, "rounds")
            rows = np.flatnonzero(np.isnan(self.found))
            if not rows.size:
                return
            t = self._next(rows, round_)
            solved = self._refitted(rows, t)
            value = np.where(np.isfinite(solved.value), solved.value, np.inf)
            z = np.sqrt(np.maximum(value - self.base[self.column[rows]], 0.0) / self.rise[rows])
            self._best(rows, value, solved.q)
            self._take(rows, t, z, solved, near)
            if not end:
                self.found[rows[self.improved()[self.column[rows]]]] = np.inf
            if round_ >= PATIENCE:
                lost = rows[np.isnan(self.found[rows]) & ~solved.settled & ~np.isnan(self.far_t[rows])]
                self.found[lost] = np.where(np.isfinite(self.far_z[lost]), self.far_t[lost], np.inf)
                self.sure[lost] = False
        rows = np.flatnonzero(np.isnan(self.found))
        self.found[rows] = np.where(np.isnan(self.far_t[rows]), np.inf, self.near_t[rows])
        self.sure[rows] = False

    def _refitted(self, rows: NDArray[np.int64], t: Array) -> newton.Solved:
        solved = refitted(self.optima, self.fit[rows], self.place[rows], self._start(rows, t))
        with np.errstate(invalid="ignore"):
            risen = (solved.value - self.base[self.column[rows]]) / self.rise[rows]
            lost = np.flatnonzero((~solved.settled & ~(risen <= 1.0)) | ~(risen < LEAPT))
        if lost.size:  # the start was too bold: only the held parameter moves
            some = rows[lost]
            start = self.near_q[:, some].copy()
            start[self.place[some], np.arange(some.size)] = self.centre[some] + self.sign[some] * t[lost]
            again = refitted(self.optima, self.fit[some], self.place[some], start)
            better = again.settled | ~(again.value >= solved.value[lost])
            for name in ("q", "value", "settled"):
                getattr(solved, name)[..., lost[better]] = getattr(again, name)[..., better]
        return solved

    def _take(self, rows: NDArray[np.int64], t: Array, z: Array, solved: newton.Solved, near: float) -> None:
        inside = z < 1.0
        some, other = rows[inside], rows[~inside]
        self.side[some] = np.fmax(self.side[some], 0.0) + 1.0
        self.side[other] = np.fmin(self.side[other], 0.0) - 1.0
        with np.errstate(all="ignore"):
            self.slope[some] = (z[inside] - self.near_z[some]) / (t[inside] - self.near_t[some])
        self.near_t[some], self.near_z[some], self.near_q[:, some] = t[inside], z[inside], solved.q[:, inside]
        self.far_t[other], self.far_z[other], self.far_q[:, other] = t[~inside], z[~inside], solved.q[:, ~inside]
        done = np.abs(z - 1.0) <= near
        self.found[rows[done]] = t[done]
        self.sure[rows[done]] = solved.settled[done]
        # as far as it goes, and still no worse than is allowed
        ended = inside & (t >= self.reach[rows] * (1 - 1e-12)) & ~done
        limit = np.where(self.reach[rows] >= self.bound[rows], self.bound[rows], np.inf)
        self.found[rows[ended]] = limit[ended]
        with np.errstate(invalid="ignore"):
            gap = self.far_t[rows] - self.near_t[rows]
            closed = gap <= 4e-15 * np.maximum(np.abs(self.centre[rows]), self.far_t[rows])
            closed |= (gap <= 1e-5 * self.far_t[rows]) & ((self.far_z[rows] > 1.01) | (self.near_z[rows] < 0.99))
        closed &= np.isnan(self.found[rows])
        # a jump from one valley to another: the wider limit; what cannot be computed beyond a place is none
        self.found[rows[closed]] = np.where(np.isfinite(self.far_z[rows]), self.far_t[rows], np.inf)[closed]

    def _best(self, rows: NDArray[np.int64], value: Array, q: Array) -> None:
        order = np.argsort(-value, kind="stable")
        column = self.column[rows][order]
        least = np.full(self.count, np.inf)
        least[column] = value[order]  # the last one written is the least
        where = np.full(self.count, -1)
        where[column] = order
        better = least < self.best
        self.best[better] = least[better]
        self.best_q[:, better] = q[:, where[better]]

    def improved(self) -> NDArray[np.bool_]:
        """Tell for which fits a refit was better than the optimum."""
        allowed = self.rise.reshape(self.k, 2, self.count).min(axis=(0, 1))
        # what rounding makes of a large objective is none
        return np.asarray(self.base - self.best > np.maximum(BETTER * allowed, 1e-12 * np.abs(self.base)))

    def ends(self) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return the limits and whether the refits at them arrived, (k, B) each."""
        shape = (self.k, 2, self.count)
        found = (self.centre + self.sign * self.found).reshape(shape)
        return found[:, 0], found[:, 1], np.asarray(self.sure.reshape(shape).all(axis=1))
