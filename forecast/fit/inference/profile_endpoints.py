"""Where the profile of a likelihood leaves what a level allows, for every parameter of many fits at once.

A row is one side of one parameter of one fit. Its limit is the root of z: the signed root of how far the objective of a
refit has risen, less what is allowed; -1 at the estimate, 0 at the limit, and nearly a straight line. The root is
bracketed outwards from the estimate and closed by the Illinois rule (Dowell and Jarratt, 1971) with bisections. Each
refit starts from both neighbours; a limit is refitted from the optimum and from every coefficient at 0 too, and dropped
where that is better. A limit is on the profile, or the bound of the parameter, or infinite where the profile stays
below the level as far as it is followed.

A refit of one row takes part of a second, and all rows share one run of the solver: that is why no root finder of
scipy's does it, which would ask for one function of one number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.base import budgets
from forecast.fit.problem.target import Target
from forecast.fit.sizes import UNCHECKED_STEP_TOLERANCE
from forecast.fit.solve import newton

__all__ = ["Optima", "ProfileEndpoints", "profile_endpoints", "refitted"]

Array: TypeAlias = NDArray[np.float64]

#: A logarithm, and whatever is positive upwards, is followed this far from its estimate (twelve decades), further where
#: the law is flat in it; the rest over this many of its widths or sizes, whichever is more.
REACH, FAR, WIDTHS = 12 * np.log(10.0), 300.0, 1e4
#: How near 0 the root z must come; the same of a refit that did not arrive; a bracket this narrow, beside its distance,
#: is closed; sooner before a wall, beyond which the law cannot be computed.
ROOT_TOLERANCE, ROUGH, CLOSED, WALL = 1e-7, 1e-5, 1e-10, 1e-3
#: Rounds of the search, and how often a limit may turn out to be none.
MAX_ROOT_ITERATIONS, AGAIN = 120, 3
#: Rounds in which a bracket is grown with care, and which round halves: the secant rule alone may creep.
CAREFUL, HALVING = 10, 8
#: The least share of a bracket that is cut off.
MIN_CUT_SHARE = 1e-9
#: Steps of a refit next to its solution, and of one that did not arrive.
ITERATIONS, LONG = 15, 60
#: Coefficients that are tried at 0 before a limit is one.
ZEROS = 4
#: A refit that is better than the optimum by this share of the allowed rise is another optimum.
BETTER = 1e-3


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
        inverse = np.einsum("bij,bj,bkj->ikb", vectors, 1.0 / np.maximum(np.abs(values), 1e-12), vectors)
        return np.asarray(inverse / (size[:, None] * size[None]))

    def moved(self, rows: NDArray[np.int64], q: Array) -> Optima:
        """Return the fits with some of them solved again from other starts."""
        again = newton.solve(self.target.take(rows), q, self.lower, self.upper, self.logs)
        new_q, value, hessian = self.q.copy(), self.value.copy(), self.hessian.copy()
        new_q[:, rows], value[rows], hessian[:, :, rows] = again.q, again.value, again.hessian
        return replace(self, q=new_q, value=value, hessian=hessian)


@dataclass(frozen=True, kw_only=True)
class ProfileEndpoints:
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
    optima: Optima, fit: NDArray[np.int64], place: NDArray[np.int64], start: Array, *, iterations: int = ITERATIONS
) -> newton.NewtonResult:
    """Refit with one coordinate held as `start` has it; a row is a fit (by number) and a place."""
    return newton.solve(
        optima.target.take(fit), start, optima.lower, optima.upper, optima.logs, blind=UNCHECKED_STEP_TOLERANCE,
        iterations=iterations, held=place,
    )  # fmt: skip


def profile_endpoints(
    optima: Optima, rise: Array, *, near: float = ROOT_TOLERANCE, again: bool = True
) -> ProfileEndpoints:
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
    search = _Search(optima, np.arange(optima.value.size), rise, near)
    search.run(to_the_end=False)
    low, high, settled, better = *search.ends(), search.improved()
    if better.any():
        rows = np.flatnonzero(better)
        optima = optima.moved(rows, search.best_q[:, rows])
        if again:
            search = _Search(optima, rows, rise[:, rows], near)
            search.run(to_the_end=True)
            low[:, rows], high[:, rows], settled[:, rows] = search.ends()
    return ProfileEndpoints(low=low, high=high, settled=settled, better=better, optima=optima)


class _Search:
    """The search for the limits of some fits. Each row stands at a distance `t` from its estimate; of a positive
    parameter upwards that is the logarithm of a factor.
    """

    def __init__(self, optima: Optima, fits: NDArray[np.int64], rise: Array, near: float) -> None:
        self.optima, self.inverse, self.shape = optima, optima.inverse, (optima.q.shape[0], 2, fits.size)
        self.place, side, self.column = (i.ravel() for i in np.indices(self.shape))
        self.sign, self.fit = 2.0 * side - 1.0, fits[self.column]
        self.rise = np.maximum(rise, 1e-300)[self.place, self.column]
        self.base, rows = optima.value[fits], self.place.size
        #: How near 0 a root must come: not nearer than rounding lets it.
        self.near = np.maximum(near, 1e-15 * np.abs(self.base[self.column]) / self.rise)
        self.best, self.best_q = self.base.copy(), optima.q[:, fits].copy()
        self._measure()
        #: Both ends of each bracket, inner and outer: distance, root, parameters; nan where there is no outer end yet.
        self.t, self.z = np.zeros((2, rows)), np.full((2, rows), -1.0)
        self.q = np.repeat(optima.q[:, self.fit][None], 2, axis=0)
        self.t[1] = self.z[1] = np.nan
        #: Of the Illinois rule: an end that stays twice counts half; and which end is the newer one.
        self.weight, self.newer = np.ones((2, rows)), np.zeros(rows, dtype=np.int64)
        #: The derivative of all parameters by t, at the inner end.
        self.slope = self.inverse[:, self.place, self.fit] / self.inverse[self.place, self.place, self.fit]
        self.slope *= np.where(self.factor, self.centre, self.sign)
        self.limit, self.sure = np.full(rows, np.nan), np.ones(rows, dtype=bool)
        self.limit[self.reach <= 0] = np.where(self.bound <= 0, 0.0, np.inf)[self.reach <= 0]
        self.checked = np.zeros(rows, dtype=bool)
        #: How often a limit turned out to be none.
        self.reopened = np.zeros(rows, dtype=np.int64)

    def _measure(self) -> None:
        """Set the first step of each row, how far it is followed, and where its bound lies."""
        optima, place, fit = self.optima, self.place, self.fit
        self.centre = optima.q[place, fit]
        self.factor = ~optima.logs[place] & (optima.lower[place] >= 0) & (self.sign > 0) & (self.centre > 0)
        logs, unit = optima.logs[place] | self.factor, np.where(self.factor, self.centre, 1.0)
        width = np.sqrt(2 * self.rise * self.inverse[place, place, fit]) / unit
        flat = 2 * self.rise > REACH**2 * np.abs(optima.hessian[place, place, fit]) * unit**2
        size = np.where(self.centre == 0, np.where((width > 0) & np.isfinite(width), width, 1.0), np.abs(self.centre))
        end = np.where(self.sign > 0, optima.upper[place], optima.lower[place])
        with np.errstate(all="ignore"):
            apart = np.where(self.factor, np.log(end / self.centre), np.abs(end - self.centre))
        self.bound = np.where(np.isnan(apart), np.inf, np.maximum(apart, 0.0))
        far = WIDTHS * np.maximum(np.minimum(width, 1e3 * size), size)
        self.reach = np.minimum(np.where(logs, np.where(flat, FAR, REACH), far), self.bound)
        width = np.where(np.isfinite(width), width, self.reach / 8)
        most, least = np.where(logs, 3.0, size + width), 1e-12 * np.where(logs, 1.0, size)
        self.step = np.minimum(np.clip(width, least, most), self.reach)

    def _value(self, rows: NDArray[np.int64], t: Array) -> Array:
        """Return the held parameter at distances of some rows."""
        low, high = self.optima.lower[self.place[rows]], self.optima.upper[self.place[rows]]
        centre, sign = self.centre[rows], self.sign[rows]
        with np.errstate(over="ignore"):
            moved = np.where(self.factor[rows], centre * np.exp(np.minimum(t, 700.0)), centre + sign * t)
        return np.asarray(np.where(t >= self.bound[rows], np.where(sign > 0, high, low), np.clip(moved, low, high)))

    # Refits -----------------------------------------------------------------------------------------------------------

    def _refits(
        self, rows: NDArray[np.int64], t: Array, starts: list[Array], *, arrive: bool = True
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Refit from several starts, (k, rows) each; return the best: its root, parameters, and whether it arrived."""
        all_rows, q = np.tile(rows, len(starts)), np.concatenate(starts, axis=1)
        place = self.place[all_rows]
        q[place, np.arange(all_rows.size)] = np.tile(self._value(rows, t), len(starts))
        solved = refitted(self.optima, self.fit[all_rows], place, q)
        lost = np.flatnonzero(~solved.settled & np.isfinite(solved.value) & (self._root(all_rows, solved.value) > 0))
        if lost.size and arrive:
            more = refitted(self.optima, self.fit[all_rows[lost]], place[lost], solved.q[:, lost], iterations=LONG)
            gain = np.flatnonzero(more.value <= solved.value[lost])
            solved.put(more.take(gain), lost[gain])
        value = np.where(np.isfinite(solved.value), solved.value, np.inf)
        chosen = value.reshape(len(starts), -1).argmin(axis=0) * rows.size + np.arange(rows.size)
        self._keep_best(rows, value[chosen], solved.q[:, chosen])
        return self._root(rows, value[chosen]), solved.q[:, chosen], solved.settled[chosen]

    def _keep_best(self, rows: NDArray[np.int64], value: Array, q: Array) -> None:
        for j in np.flatnonzero(value < self.best[self.column[rows]]):
            column = self.column[rows[j]]
            if value[j] < self.best[column]:
                self.best[column], self.best_q[:, column] = value[j], q[:, j]

    def _root(self, rows: NDArray[np.int64], value: Array) -> Array:
        """Return the signed root of the rise, less what is allowed: -1 at the estimate, 0 at a limit."""
        with np.errstate(invalid="ignore"):
            rise = np.maximum(value - self.base[self.column[rows]], 0.0) / self.rise[rows]
        return np.asarray(np.sqrt(rise) - 1.0)

    def _neighbours(self, rows: NDArray[np.int64], t: Array) -> list[Array]:
        """Return starts: along the tangent at the inner end, and between both ends."""
        (a, b), (inner, outer) = self.t[:, rows], self.q[:, :, rows]
        shift = self.slope[:, rows] * (t - a)
        ahead = inner + np.where(self.optima.logs[:, None], np.clip(shift, -20.0, 20.0), shift)
        with np.errstate(all="ignore"):
            between = inner + (t - a) / (b - a) * (outer - inner)
        usable = np.isfinite(self.z[1, rows]) & np.isfinite(between)
        return [np.where(np.isfinite(ahead), ahead, inner), np.where(usable, between, inner)]

    def _elsewhere(self, rows: NDArray[np.int64]) -> list[Array]:
        """Return starts that are no neighbours: the optimum, and each coefficient at 0."""
        optimum = self.optima.q[:, self.fit[rows]]
        starts = [optimum]
        for i in np.flatnonzero((self.optima.lower == 0) & ~self.optima.logs)[:ZEROS]:
            start = self.q[0][:, rows].copy()
            # from 0 itself, unless it is there already: then from what the optimum has
            start[i] = np.where(start[i] > 0, 0.0, optimum[i])
            starts.append(start)
        return starts

    # The search -------------------------------------------------------------------------------------------------------

    def run(self, *, to_the_end: bool) -> None:
        """Search until every row has its limit; of fits that turn out to be no optimum, only `to_the_end`."""
        for round_ in range(MAX_ROOT_ITERATIONS):
            budgets.check_time("profiling", round_, MAX_ROOT_ITERATIONS, "rounds")
            rows = np.flatnonzero(np.isnan(self.limit))
            if not rows.size and not self._doubted():
                return
            rows = np.flatnonzero(np.isnan(self.limit))
            t = self._next(rows, round_)
            z, q, arrived = self._refits(rows, t, self._neighbours(rows, t))
            self._narrow(rows, t, z, q)
            self._close(rows, t, z, arrived)
            if not to_the_end:
                self.limit[rows[self.improved()[self.column[rows]]]] = np.inf
        rows = np.flatnonzero(np.isnan(self.limit))
        self.limit[rows], self.sure[rows] = self.t[0, rows], False

    def _doubted(self) -> bool:
        """Refit what looks like a limit from elsewhere too; tell whether some of them are none, and open again."""
        rows = np.flatnonzero(~self.checked & np.isfinite(self.limit) & (self.limit > 0) & (self.limit < self.bound))
        if not rows.size:
            return False
        self.checked[rows] = True
        t = self.limit[rows]
        z, q, _ = self._refits(rows, t, self._elsewhere(rows), arrive=False)
        lower = (z < -np.where(self.sure[rows], 3 * self.near[rows], ROUGH)) & (self.reopened[rows] < AGAIN)
        again = rows[lower]
        self.reopened[again] += 1
        self.limit[again], self.checked[again], self.sure[again] = np.nan, False, True
        self.t[1, again] = self.z[1, again] = np.nan  # the bracket was of a worse valley: it begins anew from here
        self._narrow(again, t[lower], z[lower], q[:, lower])
        return bool(lower.any())

    def _next(self, rows: NDArray[np.int64], round_: int) -> Array:
        """Return where to refit next: outwards while there is no bracket, else by the secant rule or halfway."""
        (a, b), (inner, outer) = self.t[:, rows], self.z[:, rows] * self.weight[:, rows]
        with np.errstate(all="ignore"):
            least = 1.05 if round_ < CAREFUL else 4.0
            out = np.where(a > 0, a * np.clip(1.02 / (1.0 + inner), least, 4.0), self.step[rows])
            share = np.where(np.isfinite(outer) & (round_ % HALVING != HALVING - 1), -inner / (outer - inner), 0.5)
        inside = a + np.clip(share, MIN_CUT_SHARE, 1 - MIN_CUT_SHARE) * (b - a)
        return np.asarray(np.where(np.isnan(b), np.minimum(out, self.reach[rows]), inside))

    def _narrow(self, rows: NDArray[np.int64], t: Array, z: Array, q: Array) -> None:
        """Move the end of each bracket on whose side a refit is."""
        inside = z < 0
        some, a = rows[inside], self.t[0, rows[inside]]
        with np.errstate(all="ignore"):
            slope = (q[:, inside] - self.q[0][:, some]) / (t[inside] - a)
        self.slope[:, some] = np.where(np.isfinite(slope), slope, 0.0)
        for end, which in enumerate((inside, ~inside)):
            r = rows[which]
            self.t[end, r], self.z[end, r], self.q[end][:, r] = t[which], z[which], q[:, which]
            self.weight[end, r] = 1.0
            self.weight[1 - end, r] *= np.where(self.newer[r] == end, 0.5, 1.0)
            self.newer[r] = end

    def _close(self, rows: NDArray[np.int64], t: Array, z: Array, arrived: NDArray[np.bool_]) -> None:
        """Set the limits of rows that are at a root, at the end of their reach, or whose bracket is closed."""
        done = np.abs(z) <= np.where(arrived, self.near[rows], np.maximum(self.near[rows], ROUGH))
        far = (z < 0) & (t >= self.reach[rows] * (1 - 1e-12)) & ~done
        (a, b), wall = self.t[:, rows], np.isinf(self.z[1, rows])  # beyond a wall the law cannot be computed
        closed = (b - a <= np.where(wall, WALL, CLOSED) * b) & ~done & ~far
        self.limit[rows[done]], self.sure[rows[done]] = t[done], arrived[done]
        self.limit[rows[far]] = np.where(self.reach[rows] >= self.bound[rows], self.bound[rows], np.inf)[far]
        self.limit[rows[closed]], self.sure[rows[closed]] = np.where(wall, np.inf, b)[closed], False

    def improved(self) -> NDArray[np.bool_]:
        """Tell for which fits a refit was better than the optimum, by more than rounding."""
        allowed = self.rise.reshape(self.shape).min(axis=(0, 1))
        return np.asarray(self.base - self.best > np.maximum(BETTER * allowed, 1e-12 * np.abs(self.base)))

    def ends(self) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return the limits and whether the refits at them arrived, (k, B) each."""
        none = np.isinf(self.limit)
        at = np.where(none, self.sign * np.inf, self._value(np.arange(none.size), np.where(none, 0.0, self.limit)))
        both = at.reshape(self.shape)
        return both[:, 0], both[:, 1], np.asarray(self.sure.reshape(self.shape).all(axis=1))
