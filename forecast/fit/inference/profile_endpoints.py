"""Profile likelihood intervals of many fits at once: one parameter fixed, the others refitted, until the fit is just as
bad as a level of confidence allows.

A row is one side of one parameter of one fit, and its limit a root: of how far the objective of a refit has risen, as
a signed root, less what is allowed. The root is bracketed from the estimate outwards and then found by Chandrupatla's
method (1997). A refit starts from the solutions on both sides of it; what looks like a limit is refitted from the
optimum and from every coefficient at 0 too, and is none if that is better. A limit is on the profile, or the bound of
the parameter, or infinite where the profile stays below the level as far as it is followed.

All rows of all fits are one batch of the solver, which holds a coordinate of each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from forecast.base import budgets
from forecast.base.arrays import Array, BoolArray, IntArray
from forecast.base.roots import chandrupatla
from forecast.fit.problem.problem import Coordinates, Target
from forecast.fit.sizes import UNCHECKED_STEP_TOLERANCE
from forecast.fit.solve import newton


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
    """

    target: Target
    q: Array
    value: Array
    hessian: Array

    @classmethod
    def of(cls, target: Target, q: Array) -> Optima:
        """Return the fits of a target at their optima."""
        value, _, hessian = target.evaluate(q)
        return cls(target=target, q=q, value=value, hessian=hessian)

    @property
    def coordinates(self) -> Coordinates:
        """Bounds and logarithms of the coordinates."""
        return self.target.coordinates

    @property
    def inverse(self) -> Array:
        """The inverse Hessian, (k, k, B), directions without curvature given a little."""
        size = np.sqrt(np.abs(np.einsum("iib->ib", self.hessian)))
        size[size <= 0] = 1.0
        scaled = np.moveaxis(self.hessian / (size[:, None] * size[None]), 2, 0)
        values, vectors = np.linalg.eigh(np.where(np.isfinite(scaled), scaled, 0.0))
        inverse = np.einsum("bij,bj,bkj->ikb", vectors, 1.0 / np.maximum(np.abs(values), 1e-12), vectors)
        return np.asarray(inverse / (size[:, None] * size[None]))

    def moved(self, rows: BoolArray, q: Array) -> Optima:
        """Return the fits with some of them solved again from other starts."""
        again = newton.solve(self.target.take(np.flatnonzero(rows)), q)
        new_q, value, hessian = self.q.copy(), self.value.copy(), self.hessian.copy()
        new_q[:, rows], value[rows], hessian[:, :, rows] = again.q, again.value, again.hessian
        return replace(self, q=new_q, value=value, hessian=hessian)


def refit(
    optima: Optima, fit: IntArray, place: IntArray, start: Array, *, iterations: int | None = None
) -> newton.NewtonResult:
    """Refit with one coordinate fixed at its value in `start`; a row is a fit (by number) and a place."""
    steps = optima.target.solver.profile.refit_steps if iterations is None else iterations
    return newton.solve(optima.target.take(fit), start, blind=UNCHECKED_STEP_TOLERANCE, iterations=steps, fixed=place)


class ProfileEndpoints:
    """Intervals in the solver's coordinates: where the objective, refitted, has risen enough.

    They are searched for at once. Rows of the search are (parameter, side, fit); where a row stands is a distance from
    the estimate; of a positive parameter upwards, the logarithm of a factor.

    Parameters
    ----------
    optima : Optima
    rise : ndarray
        (k, B), how much is enough, above the minimum.

    Attributes
    ----------
    low, high : ndarray
        (k, B); infinite where no limit was found.
    better : ndarray of bool
        (B,): a refit was better than the optimum, so that it was none: such a fit has no limits.
    optima : Optima
        The best there is now.
    """

    def __init__(self, optima: Optima, rise: Array) -> None:
        k, count = optima.q.shape
        self.options = optima.target.solver.profile
        self.logs, self.lower, self.upper = (
            optima.coordinates.logs, optima.coordinates.lower, optima.coordinates.upper,
        )  # fmt: skip
        self.optima, self.k, self.count = optima, k, count
        shape = (k, 2, count)
        self.place = np.broadcast_to(np.arange(k)[:, None, None], shape).ravel()
        self.sign = np.broadcast_to(np.array([-1.0, 1.0])[None, :, None], shape).ravel()
        self.fit = np.broadcast_to(np.arange(count), shape).ravel()
        self.rise = np.broadcast_to(np.maximum(rise, 1e-300)[:, None], shape).ravel()
        self.centre = optima.q[self.place, self.fit]
        self.inverse = optima.inverse
        spread = self.inverse[self.place, self.place, self.fit]
        positive = ~self.logs[self.place] & (self.lower[self.place] >= 0)
        self.factor = positive & (self.sign > 0) & (self.centre > 0)
        self._measure(np.sqrt(2 * self.rise * spread))
        rows = self.place.size
        self.inner_t, self.inner_z = np.zeros(rows), np.full(rows, -1.0)
        self.inner_q = optima.q[:, self.fit].copy()
        self.outer_t, self.outer_z = np.full(rows, np.nan), np.full(rows, np.nan)
        self.outer_q = self.inner_q.copy()
        #: The end of the bracket before, for quadratic steps.
        self.third_t, self.third_z = np.full(rows, np.nan), np.full(rows, np.nan)
        #: Whether the outer end is the newer one.
        self.turned = np.zeros(rows, dtype=bool)
        self.slope = np.full(rows, np.nan)
        self.limit, self.sure = np.full(rows, np.nan), np.ones(rows, dtype=bool)
        #: How often a refit went astray, however long.
        self.astray = np.zeros(rows, dtype=np.int64)
        #: Who was refitted from elsewhere, and how often it was better there.
        self.reopened = np.zeros(rows, dtype=np.int64)
        self.checked = np.zeros(rows, dtype=bool)
        self.base = optima.value
        #: How near 0 a root must come: not nearer than rounding lets it.
        self.near = np.maximum(self.options.root_tolerance, 1e-15 * np.abs(self.base[self.fit]) / self.rise)
        self.best, self.best_q = self.base.copy(), optima.q.copy()
        self._run()
        self.low, self.high = self._ends()
        self.better = self._improved()
        if self.better.any():
            self.optima = optima.moved(self.better, self.best_q[:, self.better])

    def _measure(self, width: Array) -> None:
        """Set the first step of each row, how far it goes, and where its bound lies."""
        optima = self.optima
        options, logs = self.options, self.logs[self.place] | self.factor
        unit = np.where(self.factor, self.centre, 1.0)
        width = width / unit
        own = np.abs(np.einsum("iib->ib", optima.hessian)[self.place, self.fit]) * unit**2
        size = np.where(self.centre == 0, np.where(np.isfinite(width) & (width > 0), width, 1.0), np.abs(self.centre))
        flat = np.sqrt(2 * self.rise / np.maximum(own, 1e-300)) > options.max_log_reach
        reach = np.where(
            logs,
            np.where(flat, options.max_flat_reach, options.max_log_reach),
            options.max_reach_widths * np.maximum(np.minimum(width, 1e3 * size), size),
        )
        bound = np.where(self.sign > 0, self.upper[self.place], self.lower[self.place])
        with np.errstate(all="ignore"):
            apart = np.where(self.factor, np.log(bound / self.centre), np.abs(bound - self.centre))
        self.bound = np.where(np.isnan(apart), np.inf, np.maximum(apart, 0.0))
        self.reach = np.minimum(reach, self.bound)
        width = np.where(np.isfinite(width), width, self.reach / 8)
        self.step = np.minimum(
            np.clip(width, 1e-12 * np.where(logs, 1.0, size), np.where(logs, 3.0, size + width)), self.reach
        )

    def _value(self, rows: IntArray, t: Array) -> Array:
        """Return the fixed parameter at distances of some rows."""
        with np.errstate(all="ignore"):
            moved = np.where(self.factor[rows], self.centre[rows] * np.exp(t), self.centre[rows] + self.sign[rows] * t)
        ends = self.lower[self.place[rows]], self.upper[self.place[rows]]
        at_end = t >= self.bound[rows]
        return np.asarray(np.where(at_end, np.where(self.sign[rows] > 0, ends[1], ends[0]), np.clip(moved, *ends)))

    # Refits -----------------------------------------------------------------------------------------------------------

    def _refit_from_starts(
        self, rows: IntArray, t: Array, starts: list[Array], *, arrive: bool = True
    ) -> tuple[Array, Array, BoolArray]:
        """Refit from several starts, (k, rows) each; return signed roots, parameters, and who arrived."""
        fixed_value, many = self._value(rows, t), len(starts)
        begun = np.concatenate(starts, axis=1)
        all_rows = np.tile(rows, many)
        place = self.place[all_rows]
        begun[place, np.arange(place.size)] = np.tile(fixed_value, many)
        steps = self.options.refit_steps if arrive else self.options.nearby_steps
        solved = refit(self.optima, self.fit[all_rows], place, begun, iterations=steps)
        value = np.where(np.isfinite(solved.value), solved.value, np.inf)
        astray = ~solved.settled & np.isfinite(value) & (self._root(all_rows, value) > 0)
        lost = np.flatnonzero(astray & (self.astray[all_rows] < self.options.max_retries))
        if lost.size and arrive:
            more = refit(
                self.optima,
                self.fit[all_rows[lost]],
                place[lost],
                solved.q[:, lost],
                iterations=self.options.long_steps,
            )
            gain = more.value <= value[lost]
            solved.q[:, lost[gain]], value[lost[gain]] = more.q[:, gain], more.value[gain]
            solved.settled[lost[gain]] = more.settled[gain]
            self.astray[np.unique(all_rows[lost[~more.settled]])] += 1
        shape = (many, rows.size)
        table = value.reshape(shape)
        chosen = table.argmin(axis=0) * rows.size + np.arange(rows.size)
        least, q = value[chosen], solved.q[:, chosen]
        self._keep_best(rows, least, q)
        return self._root(rows, least), q, solved.settled[chosen]

    def _root(self, rows: IntArray, value: Array) -> Array:
        """Return the signed root of the rise, less what is allowed: -1 at the estimate, 0 at a limit."""
        with np.errstate(invalid="ignore"):
            rise = np.maximum(value - self.base[self.fit[rows]], 0.0) / self.rise[rows]
        return np.asarray(np.sqrt(rise) - 1.0)

    def _keep_best(self, rows: IntArray, value: Array, q: Array) -> None:
        order = np.argsort(-value, kind="stable")
        column = self.fit[rows][order]
        least, place = np.full(self.count, np.inf), np.full(self.count, -1)
        least[column], place[column] = value[order], order  # the last one written is the least
        better = least < self.best
        self.best[better] = least[better]
        self.best_q[:, better] = q[:, place[better]]

    def _starts_along_line(self, rows: IntArray, t: Array) -> Array:
        """Return starts along the line from the estimate through the inner solution, or along the tangent there."""
        q, place, fit = self.optima.q[:, self.fit[rows]], self.place[rows], self.fit[rows]
        inner_t, inner_q = self.inner_t[rows], self.inner_q[:, rows]
        fixed_value, before, centre = self._value(rows, t), self._value(rows, inner_t), self.centre[rows]
        # lines are straightest in the logarithms of what is positive
        bent = self._positive_mask(q, inner_q)
        own = bent[place, np.arange(rows.size)] & (fixed_value > 0)
        with np.errstate(all="ignore"):
            at, inner = (np.where(bent, np.log(p), p) for p in (q, inner_q))
            fixed_value, before, middle = (np.where(own, np.log(p), p) for p in (fixed_value, before, centre))
            tangent = self.inverse[:, place, fit] / self.inverse[place, place, fit]
            tangent = tangent / np.where(bent, q, 1.0) * np.where(own, centre, 1.0)
            slope = np.where(inner_t > 0, (inner - at) / (before - middle), tangent)
            shift = np.where(np.isfinite(slope), slope, 0.0) * (fixed_value - before)
            moved = inner + np.where(bent | self.logs[:, None], np.clip(shift, -20.0, 20.0), shift)
            moved = np.where(bent, np.exp(moved), moved)
        return np.asarray(np.where(np.isfinite(moved), moved, inner_q))

    def _positive_mask(self, *tables: Array) -> BoolArray:
        """Tell which parameters are positive as they are, in all tables."""
        positive = np.broadcast_to((~self.logs & (self.lower >= 0))[:, None], tables[0].shape)
        return np.asarray(np.logical_and.reduce([positive, *(table > 0 for table in tables)]))

    def _starts_between(self, rows: IntArray, t: Array) -> Array:
        """Return starts between the solutions on both sides."""
        inner_t, outer_t = self.inner_t[rows], self.outer_t[rows]
        inner, outer = self.inner_q[:, rows], self.outer_q[:, rows]
        bent = self._positive_mask(inner, outer)
        with np.errstate(all="ignore"):
            share = (t - inner_t) / (outer_t - inner_t)
            between = np.where(bent, inner * (outer / inner) ** share, inner + share * (outer - inner))
        good = np.isfinite(between) & np.isfinite(self.outer_z[rows])
        return np.asarray(np.where(good, between, inner))

    def _starts_elsewhere(self, rows: IntArray) -> list[Array]:
        """Return starts that are no neighbours: the optimum, and each coefficient at 0."""
        q = self.optima.q[:, self.fit[rows]]
        starts = [q.copy()]
        zero = np.flatnonzero((self.lower == 0) & ~self.logs)
        for i in zero[: self.options.zeroed_coefficients]:
            start = self.inner_q[:, rows].copy()
            # from 0 itself, unless it is there already: then from what the optimum has
            start[i] = np.where(start[i] > 0, 0.0, q[i])
            starts.append(start)
        return starts

    # The search -------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        """Search until every row has its limit; not for fits that turn out to be no optimum."""
        self.limit[self.reach <= 0] = np.where(self.bound <= 0, 0.0, np.inf)[self.reach <= 0]
        for round_ in range(self.options.max_rounds):
            budgets.check_time("profiling", round_, self.options.max_rounds, "rounds")
            rows = np.flatnonzero(np.isnan(self.limit))
            if not rows.size and not self._doubted():
                return
            rows = np.flatnonzero(np.isnan(self.limit))
            t = self._next_distance(rows)
            open_ = np.isnan(self.outer_t[rows])
            other = np.where(open_, self.inner_q[:, rows], self._starts_between(rows, t))
            z, q, arrived = self._refit_from_starts(rows, t, [self._starts_along_line(rows, t), other])
            self._take(rows, t, z, q, arrived)
            self.limit[rows[self._improved()[self.fit[rows]]]] = np.inf
        rows = np.flatnonzero(np.isnan(self.limit))
        self.limit[rows], self.sure[rows] = self.inner_t[rows], False

    def _doubted(self) -> bool:
        """Refit what looks like a limit from elsewhere too; tell whether some of them are none, and open again."""
        rows = np.flatnonzero(~self.checked & np.isfinite(self.limit) & (self.limit > 0) & (self.limit < self.bound))
        if not rows.size:
            return False
        self.checked[rows] = True
        t = self.limit[rows]
        z, q, _ = self._refit_from_starts(rows, t, self._starts_elsewhere(rows), arrive=False)
        lower = (z < -np.where(self.sure[rows], 3 * self.near[rows], self.options.unconverged_rtol)) & (
            self.reopened[rows] < self.options.max_retries
        )
        again = rows[lower]
        self.reopened[again] += 1
        self.limit[again], self.checked[again], self.sure[again] = np.nan, False, True
        # the bracket was of a worse valley: it begins anew from here
        self.outer_t[again] = np.nan
        self._narrow(again, t[lower], z[lower], q[:, lower])
        return bool(lower.any())

    def _next_distance(self, rows: IntArray) -> Array:
        a, b = self.inner_t[rows], self.outer_t[rows]
        za = self.inner_z[rows]
        with np.errstate(all="ignore"):
            # where z stops rising, as far as its last rise says: proportion would creep along the plateau
            ahead = np.fmax(1.02 / (1.0 + za), 1.0 + (0.02 - za) / np.maximum(self.slope[rows] * a, 1e-300))
            grow = np.where(a > 0, a * np.clip(ahead, 1.05, 4.0), self.step[rows])
        inside = a + self._chandrupatla(rows) * (b - a)
        return np.asarray(np.where(np.isnan(b), np.minimum(grow, self.reach[rows]), inside))

    def _chandrupatla(self, rows: IntArray) -> Array:
        """Return the next share of the brackets: by the inverse parabola where it can be trusted, else the half."""
        turned, c, fc = self.turned[rows], self.third_t[rows], self.third_z[rows]
        near, far = (self.inner_t[rows], self.inner_z[rows]), (self.outer_t[rows], self.outer_z[rows])
        (a, fa), (b, fb) = (
            tuple(np.where(turned, *p) for p in zip(*ends, strict=True)) for ends in ((far, near), (near, far))
        )
        with np.errstate(all="ignore"):
            share = np.where(np.isnan(c), fa / (fa - fb), chandrupatla((a, fa), (b, fb), (c, fc)))
            share = np.where(np.isfinite(share) & np.isfinite(fb), share, 0.5)
        share = np.clip(share, self.options.min_cut_share, 1 - self.options.min_cut_share)
        return np.asarray(np.where(turned, 1 - share, share))

    def _take(self, rows: IntArray, t: Array, z: Array, q: Array, arrived: BoolArray) -> None:
        options = self.options
        done = np.abs(z) <= np.where(
            arrived, self.near[rows], np.maximum(self.near[rows], self.options.unconverged_rtol)
        )
        far = (z < 0) & (t >= self.reach[rows] * (1 - 1e-12)) & ~done
        with np.errstate(invalid="ignore"):
            gap = self.outer_t[rows] - self.inner_t[rows]
            wall, jump = (
                np.isinf(self.outer_z[rows]),
                np.maximum(self.outer_z[rows], -self.inner_z[rows]) > options.jump,
            )
            small = np.where(jump, options.jump_rtol, options.bracket_rtol) * self.outer_t[rows]
            small = np.where(wall, options.wall_rtol * np.maximum(self.step[rows], self.outer_t[rows]), small)
        closed = ~done & ~far & (gap <= small + 1e-300)
        self.limit[rows[done]], self.sure[rows[done]] = t[done], arrived[done]
        limit = np.where(self.reach[rows] >= self.bound[rows], self.bound[rows], np.inf)
        self.limit[rows[far]] = limit[far]
        # a wall: the law cannot be computed beyond, so that nothing else limits it; or refits that do not arrive
        self.limit[rows[closed]] = np.where(np.isfinite(self.outer_z[rows]), self.outer_t[rows], np.inf)[closed]
        self.sure[rows[closed]] = False
        self._narrow(rows, t, z, q)

    def _narrow(self, rows: IntArray, t: Array, z: Array, q: Array) -> None:
        inside = z < 0
        some, beyond = rows[inside], rows[~inside]
        self.turned[rows] = ~inside
        with np.errstate(all="ignore"):
            self.slope[some] = (z[inside] - self.inner_z[some]) / (t[inside] - self.inner_t[some])
        bracketed = ~np.isnan(self.outer_t[some])
        # Chandrupatla's third point is the end that was replaced
        self.third_t[some] = np.where(bracketed, self.inner_t[some], np.nan)
        self.third_z[some] = np.where(bracketed, self.inner_z[some], np.nan)
        self.third_t[beyond], self.third_z[beyond] = self.outer_t[beyond], self.outer_z[beyond]
        self.inner_t[some], self.inner_z[some], self.inner_q[:, some] = t[inside], z[inside], q[:, inside]
        self.outer_t[beyond], self.outer_z[beyond], self.outer_q[:, beyond] = t[~inside], z[~inside], q[:, ~inside]

    def _improved(self) -> BoolArray:
        """Tell for which fits a refit was better than the optimum."""
        allowed = self.rise.reshape(self.k, 2, self.count).min(axis=(0, 1))
        # what rounding makes of a large objective is none
        return np.asarray(
            self.base - self.best > np.maximum(self.options.better_share * allowed, 1e-12 * np.abs(self.base))
        )

    def _ends(self) -> tuple[Array, Array]:
        """Return the limits, (k, B) each."""
        shape = (self.k, 2, self.count)
        rows = np.arange(self.limit.size)
        at = np.where(
            np.isinf(self.limit), self.sign * np.inf, self._value(rows, np.where(np.isinf(self.limit), 0.0, self.limit))
        )
        both = at.reshape(shape)
        return both[:, 0], both[:, 1]
