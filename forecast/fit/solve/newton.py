"""Many fits at once: damped full Newton on arrays, one column a fit.

Each fit has its own damping. The Hessian is factored by a Cholesky decomposition written over arrays, so that a
thousand systems cost little more than one; a fit where it is not positive takes the absolute values of its eigenvalues
instead, which leads away from saddles. Fits that have stopped are dropped from the arrays. A fit has *settled* if its
gradient passes a test of its own, whatever made it stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from forecast.base import budgets
from forecast.base.arrays import Array, BoolArray, IntArray
from forecast.fit.problem.problem import Target, on_bound
from forecast.fit.sizes import CACHE_ELEMENTS

#: Up to this many fits a call costs more than its numbers.
BATCH_THRESHOLD = 200


def diagonal(h: Array) -> Array:
    """Return a view of the diagonals of matrices (k, k, B), (k, B)."""
    return np.asarray(np.einsum("iib->ib", h))


def curvature(g: Array, h: Array, q: Array) -> Array:
    """Return how curved each coordinate is, (k, B): one without curvature counts by the slope along it."""
    sizes = np.abs(diagonal(h))
    np.maximum(sizes, 1e-3 * np.abs(g) / np.maximum(np.abs(q), 1.0), out=sizes)
    sizes[sizes <= 0] = 1.0
    return sizes


def decrement(g: Array, h: Array, active: BoolArray, q: Array) -> Array:
    """Return half the Newton decrement, (B,): how far the objective is above its minimum; inf at a saddle."""
    if active.any():
        g, h = frozen(g, h, active)
    sizes = curvature(g, h, q)
    step, bad = solve_damped(h, g, 1e-12 * sizes, sizes)
    half = -0.5 * np.einsum("ib,ib->b", step, g)
    if bad.any():
        scale = 1.0 / np.sqrt(sizes[:, bad])
        values, vectors = np.linalg.eigh(np.moveaxis(h[:, :, bad] * scale[:, None] * scale[None], 2, 0))
        across = np.einsum("bij,ib->bj", vectors, g[:, bad] * scale)
        part = 0.5 * np.sum(across**2 / np.maximum(values, 1e-12), axis=1)
        half[bad] = np.where(values[:, 0] < -1e-7, np.inf, part)
    return np.asarray(half)


def frozen(g: Array, h: Array, active: BoolArray) -> tuple[Array, Array]:
    """Return derivatives in which coordinates on an active bound cannot move."""
    if not active.any():
        return g, h
    g, h = np.where(active, 0.0, g), h.copy()
    for a in np.flatnonzero(active.any(axis=1)):
        h[a, :, active[a]] = 0.0
        h[:, a, active[a]] = 0.0
        h[a, a, active[a]] = 1.0
    return g, h


def relative(g: Array, h: Array, q: Array, places: IntArray, which: BoolArray) -> tuple[Array, Array]:
    """Return derivatives by the logarithms of some coordinates, in the fits where `which` (places, B) says so."""
    g, h = g.copy(), h.copy()
    for row, a in enumerate(places):
        size = np.where(which[row], q[a], 1.0)
        g[a] *= size
        h[a] *= size
        h[:, a] *= size
        h[a, a] += np.where(which[row], g[a], 0.0)
    return g, h


def solve_damped(h: Array, g: Array, extra: Array, scale: Array) -> tuple[Array, BoolArray]:
    """Solve (H + diag(extra)) step = -g for every fit, and tell where that is not positive."""
    k, count = g.shape
    low = np.empty((k + 1, k, count))  # the last row is the right side, which the same steps turn into the solution
    low[:k], low[k] = h, -g
    diagonal(low[:k])[:] += extra
    good = np.empty((k, count), dtype=bool)
    least = 1e-15 * scale
    with np.errstate(all="ignore"):
        for i in range(k):
            np.greater(low[i, i], least[i], out=good[i])
            root = low[i, i] = 1.0 / np.sqrt(np.where(good[i], low[i, i], scale[i]))
            below = low[i + 1 :, i]
            below *= root
            if count <= BATCH_THRESHOLD:  # one call costs more than the half of the matrix that nobody reads
                low[i + 1 :, i + 1 :] -= below[:, None] * below[None, :-1]
                continue
            for j in range(i + 1, k):
                low[j:, j] -= low[j:, i] * low[j, i]
        step = low[k]
        for i in reversed(range(k)):
            step[i] *= low[i, i]
            step[:i] -= low[i, :i] * step[i]
    return step, np.asarray(~good.all(axis=0))


def saddle_free(h: Array, g: Array, damping: Array, curved: Array) -> Array:
    """Return Newton steps with the absolute values of the eigenvalues, in coordinates scaled to a unit diagonal."""
    scale = 1.0 / np.sqrt(curved)
    values, vectors = np.linalg.eigh(np.moveaxis(h * scale[:, None] * scale[None], 2, 0))
    sizes = np.maximum(np.abs(values), 1e-10) + damping[:, None]
    across = np.einsum("bij,ib->bj", vectors, g * scale)
    return np.asarray(-np.einsum("bij,bj->ib", vectors, across / sizes) * scale)


#: The largest share of the residual's length that may still be explained by moving the parameters: Bates and Watts'
#: relative offset (1981). Half the Newton decrement, over the objective, is its square.
MAX_RELATIVE_OFFSET = 1e-6
#: How many times as many fits are in work together: enough that the calls for each step cost little.
BLOCKS_PER_BATCH = 16


@dataclass(frozen=True, kw_only=True)
class NewtonResult:
    """Where the starts led.

    Parameters
    ----------
    q : ndarray
        (k, B), in the solver's coordinates.
    value : ndarray
        (B,), the plain value; inf where nothing could be computed.
    settled : ndarray of bool
        (B,): no direction is left in which the objective still falls.
    iterations : ndarray of int
    hessian : ndarray
        (k, k, B), at the solution.
    """

    q: Array
    value: Array
    settled: BoolArray
    iterations: IntArray
    hessian: Array

    def take(self, rows: Any) -> NewtonResult:
        """Return some of the fits."""
        return NewtonResult(**{name: getattr(self, name)[..., rows] for name in self.__dataclass_fields__})

    def put(self, other: NewtonResult, rows: Any) -> None:
        """Put other ends in the place of some."""
        for name in self.__dataclass_fields__:
            getattr(self, name)[..., rows] = getattr(other, name)


def unsolved_result(q: Array) -> NewtonResult:
    """Return starts (k, B) from which nothing was tried."""
    k, count = q.shape
    return NewtonResult(
        q=np.array(q),
        value=np.full(count, np.inf),
        settled=np.zeros(count, dtype=bool),
        iterations=np.zeros(count, dtype=np.int64),
        hessian=np.zeros((k, k, count)),
    )


def solve(
    target: Target,
    start: Array,
    *,
    iterations: int = 200,
    gauss: BoolArray | None = None,
    tolerance: float = 1e-15,
    blind: float = 0.0,
    fixed: IntArray | None = None,
) -> NewtonResult:
    """Minimise from every column of `start`.

    Parameters
    ----------
    target : Target
    start : ndarray
        (k, B).
    iterations : int
        At most.
    gauss : ndarray of bool, optional
        (B,): leave the law's own curvature out until close to the solution (Gauss-Newton, Levenberg's rule), which
        finds its way from some starts better than full Newton.
    tolerance : float
        Stop when a step lowers the objective by less than this share.
    blind : float
        A step that should lower the objective by less than this share is the last, and taken without looking: what is
        then missing is smaller by orders of magnitude where the law is smooth, and never more than this share.
    fixed : ndarray of int, optional
        (B,): a coordinate of each that keeps its value in `start`.
    """
    return _FitQueue(target, start, tolerance, blind, fixed).run(iterations, gauss)


@dataclass(slots=True)
class _ActiveFits:
    """The fits in work: arrays whose last axis is the fits."""

    ids: IntArray
    q: Array
    value: Array
    g: Array
    h: Array
    share: Array
    damping: Array
    age: IntArray
    done: BoolArray

    def keep(self, which: BoolArray) -> None:
        """Drop the others."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name)[..., which])

    def join(self, other: _ActiveFits) -> None:
        """Take in more fits."""
        for name in self.__slots__:
            setattr(self, name, np.concatenate([getattr(self, name), getattr(other, name)], axis=-1))


class _FitQueue:
    """A queue of fits, of which as many are in work as a chunk holds: who has stopped makes room for the next."""

    def __init__(self, target: Target, start: Array, tolerance: float, blind: float, fixed: IntArray | None) -> None:
        self.target, self.tolerance, self.fixed = target, tolerance, fixed
        self.options, coordinates = target.solver.damping, target.coordinates
        lower, upper = coordinates.lower, coordinates.upper
        self.blind = max(blind, tolerance)
        self.bounded = bool(np.isfinite(lower).any() or np.isfinite(upper).any())
        self.fixes = self.bounded or fixed is not None
        self.lower, self.upper, self.logs = lower[:, None], upper[:, None], np.flatnonzero(coordinates.logs)
        self.factors = np.flatnonzero(target.factors) if target.factors is not None else np.zeros(0, dtype=np.int64)
        self.k, self.count = start.shape
        self.q = np.clip(start, self.lower, self.upper) if self.bounded else np.array(start)
        n = target.y.shape[-1]
        self.size = max(64, min(BLOCKS_PER_BATCH * CACHE_ELEMENTS // n, 8192))
        self.value = np.full(self.count, np.inf)
        self.g, self.h = np.zeros((self.k, self.count)), np.zeros((self.k, self.k, self.count))
        self.age = np.zeros(self.count, dtype=np.int64)
        self.whole = target.floor()
        self.noise = target.noise()
        self.gauss = False

    def _begin(self, ids: IntArray, gauss: BoolArray | None) -> _ActiveFits:
        share = np.ones(ids.size) if gauss is None else np.where(gauss[ids], 0.0, 1.0)
        q = self.q[:, ids]
        value, g, h = self.target.evaluate(q, self._curved(share), ids)
        return _ActiveFits(
            ids=ids,
            q=q,
            value=value,
            g=g,
            h=h,
            share=share,
            damping=np.full(ids.size, self.options.initial),
            age=np.zeros(ids.size, dtype=np.int64),
            done=np.zeros(ids.size, dtype=bool),
        )

    def _curved(self, share: Array) -> Array | None:
        return None if not self.gauss or bool((share == 1.0).all()) else share[:, None]

    def run(self, iterations: int, gauss: BoolArray | None) -> NewtonResult:
        """Work through the queue."""
        self.gauss = gauss is not None and bool(gauss.any())
        waiting = min(self.size, self.count)
        if not waiting:
            return self._final_result()
        live = self._begin(np.arange(waiting), gauss)
        while True:
            budgets.check_time("Newton's method", waiting - live.ids.size, self.count, "solutions")
            room = self.size - live.ids.size
            if waiting < self.count and room > self.size // 3:
                more = np.arange(waiting, min(waiting + room, self.count))
                waiting += more.size
                live.join(self._begin(more, gauss))
            trial, predicted, sure = self._step(live)
            gone = live.done | (live.age >= iterations)
            # hardly anything is left to gain: take the step without looking
            last = sure & ~gone & (np.abs(predicted) <= self.blind * np.abs(live.value)) & (live.share > 0)
            if last.any():
                some = trial[:, last] - live.q[:, last]
                live.q[:, last] = trial[:, last]
                live.value[last] -= predicted[last]
                live.g[:, last] += np.einsum("ijb,jb->ib", live.h[:, :, last], some)
                live.age[last] += 1
                gone |= last
            if gone.any():
                self._store(live, gone)
                keep = ~gone
                live.keep(keep)
                if not live.ids.size:
                    if waiting >= self.count:
                        return self._final_result()
                    continue
                trial, predicted = trial[:, keep], predicted[keep]
            self._advance(live, trial, predicted)

    def _store(self, live: _ActiveFits, finished: BoolArray) -> None:
        ids = live.ids[finished]
        self.q[:, ids], self.value[ids], self.age[ids] = live.q[:, finished], live.value[finished], live.age[finished]
        self.g[:, ids], self.h[:, :, ids] = live.g[:, finished], live.h[:, :, finished]

    def _advance(self, live: _ActiveFits, trial: Array, predicted: Array) -> None:
        """Try a step; take it where the objective falls, and set the damping by how well that was foreseen."""
        share = self._curved(live.share)
        found = self.target.evaluation(trial, share, live.ids)
        value, g, h = found[:3]
        floor, noise = (s[live.ids] if np.ndim(s) else s for s in (self.whole, self.noise))
        with np.errstate(all="ignore"):
            gain = live.value - value
            ratio = gain / np.where(predicted > 0, predicted, 1e-300)
            better = value < live.value
            least = self.tolerance * np.abs(live.value)
            arrived = better & (
                ((np.abs(gain) <= least) & (ratio > 0.1)) | ((value <= floor) & (2 * gain <= live.value))
            )
            # what a step should gain is less than the rounding of the objective
            nothing = np.abs(predicted) <= np.maximum(least, noise * np.sqrt(np.abs(live.value)))
            stuck = ~better & ((nothing & np.isfinite(live.value)) | (live.damping > self.options.maximum))
        live.done = arrived | stuck
        change = np.where(better, np.where(ratio > 0.75, 0.1, np.where(ratio < 0.25, 3.0, 1.0)), 8.0)
        live.damping = np.maximum(live.damping * change, np.where(better, self.options.minimum, 1e-6))
        near = better & (gain <= 1e-6 * np.abs(live.value))
        if not better.all():
            worse = np.flatnonzero(~better)
            for new, old in ((trial, live.q), (value, live.value), (g, live.g), (h, live.h)):
                new[..., worse] = old[..., worse]
        live.q, live.value, live.g, live.h = trial, value, g, h
        live.age += 1
        if share is not None:  # let the law's own curvature in where Gauss-Newton has nearly arrived
            turned = (live.share == 0.0) & (near | live.done)
            if turned.any():
                live.share[turned], live.damping[turned] = 1.0, self.options.initial
                live.done &= ~turned
                # where a step was refused, what was computed is that of another place
                for which, known in ((turned & better, found), (turned & ~better, found._replace(state=None))):
                    rows = np.flatnonzero(which)
                    if rows.size:
                        live.value[rows], live.g[:, rows], live.h[:, :, rows] = known.curved(live.q, rows)

    def _step(self, live: _ActiveFits) -> tuple[Array, Array, BoolArray]:
        """Return where to go (k, B), by how much the objective should fall, and where that is sure."""
        q, g, h, damping = live.q, live.g, live.h, live.damping
        if self.fixes:
            g, h = frozen(g, h, self._active(q, g, live.ids))
        factor = None
        if self.factors.size:
            factor = self._factor_mask(q, g, h, live.value)
            g, h = relative(g, h, q, self.factors, factor)
        curved = curvature(g, h, q)
        step, bad = solve_damped(h, g, damping * curved, curved)
        if bad.any():
            step[:, bad] = saddle_free(h[:, :, bad], g[:, bad], damping[bad], curved[:, bad])
        if self.logs.size:
            self._shortened(step, np.abs(step[self.logs]).max(axis=0))
        if factor is not None:
            self._shortened(step, np.where(factor, np.abs(step[self.factors]), 0.0).max(axis=0))
        trial = q + step
        if factor is not None:
            base, moved = q[self.factors], np.where(factor, step[self.factors], 0.0)
            trial[self.factors] = np.where(factor, base * np.exp(moved), trial[self.factors])
        if self.bounded:
            np.minimum(np.maximum(trial, self.lower, out=trial), self.upper, out=trial)
            step = trial - q
            if factor is not None:
                with np.errstate(all="ignore"):
                    step[self.factors] = np.where(factor, np.log(trial[self.factors] / base), step[self.factors])
        bent = np.einsum("ijb,jb->ib", h, step)
        return trial, -np.einsum("ib,ib->b", step, g + 0.5 * bent), ~bad & (damping <= self.options.initial)

    def _shortened(self, step: Array, longest: Array) -> None:
        if longest.max(initial=0.0) > self.options.max_log_step:
            step *= np.minimum(1.0, self.options.max_log_step / np.maximum(longest, 1e-300))

    def _factor_mask(self, q: Array, g: Array, h: Array, value: Array) -> BoolArray:
        """Tell which positive coordinates move by a factor: not those at 0, nor what matters little and heads there."""
        base, slope = q[self.factors], g[self.factors]
        heading = (slope >= h[self.factors, self.factors] * base) & (
            slope * base <= self.options.vanishing_share * np.abs(value)
        )
        return (base > 0) & ~heading

    def _active(self, q: Array, g: Array, ids: IntArray) -> BoolArray:
        """Tell which coordinates cannot move: on a bound beyond which the objective would fall, or fixed."""
        active = ((q <= self.lower) & (g > 0)) | ((q >= self.upper) & (g < 0))
        if self.fixed is not None:
            active[self.fixed[ids], np.arange(ids.size)] = True
        return active

    def _final_result(self) -> NewtonResult:
        everyone = np.arange(self.count)
        active = self._active(self.q, self.g, everyone) if self.fixes else np.zeros(self.q.shape, dtype=bool)
        size = np.maximum(np.abs(self.value), self.target.unit())
        settled = decrement(self.g, self.h, active, self.q) <= MAX_RELATIVE_OFFSET**2 * size
        with np.errstate(invalid="ignore"):
            settled |= self.value <= self.whole
        settled &= np.isfinite(self.value)
        return NewtonResult(q=self.q, value=self.value, settled=settled, iterations=self.age, hessian=self.h)


def check_by_second_route(target: Target, start: Array, *, iterations: int) -> NewtonResult:
    """Minimise from every column of `start` by Levenberg's rule and by full Newton, and keep the better ends.

    Of two whose objectives differ by less than the test of arrival sees, one that has arrived is better.
    """
    count = start.shape[1]
    twice = np.tile(np.arange(count), 2)
    gauss = np.arange(2 * count) < count
    ends = solve(target.take(twice), start[:, twice], iterations=iterations, gauss=gauss)
    solved, other = ends.take(slice(count)), ends.take(slice(count, None))
    with np.errstate(invalid="ignore"):
        alike = np.abs(other.value - solved.value) <= MAX_RELATIVE_OFFSET**2 * np.abs(solved.value)
    better = np.where(alike & (solved.settled != other.settled), other.settled, other.value < solved.value)
    solved.put(other.take(better), better)
    return solved


def refine(target: Target, q: Array) -> Array:
    """Return solutions (k, B) after Newton's last steps, where these are as small as those of a solution must be.

    Where residuals are rounding the steps may be of any share of the objective: the solution comes from units in which
    it was rounded otherwise. What would raise the objective stays where it was.
    """
    if not q.size:
        return q
    begun, q, options = q, q.copy(), target.solver.polish
    low, high = target.coordinates.lower[:, None], target.coordinates.upper[:, None]
    on_bounds = on_bound(q, target.coordinates)
    good = np.ones(q.shape[1], dtype=bool)
    before, floor = target.value(q), target.floor()
    for _ in range(options.steps):
        value, gradient, hessian = target.evaluate(q)
        gradient, hessian = frozen(gradient, hessian, on_bounds)
        diagonal = np.abs(np.einsum("iib->ib", hessian))
        step, bad = solve_damped(hessian, gradient, 0.0 * diagonal, np.where(diagonal > 0, diagonal, 1.0))
        with np.errstate(all="ignore"):
            drop = -0.5 * np.einsum("ib,ib->b", step, gradient)
            moved = q + step
            good &= ~bad & ((moved >= low) & (moved <= high)).all(axis=0) & (drop >= 0)
            good &= (drop <= options.max_gain * value) | (value <= floor)
            good &= (np.abs(step) <= options.max_step * np.maximum(np.abs(q), 1.0)).all(axis=0)
        q[:, good] = moved[:, good]
    return np.where(target.value(q) > before * (1 + options.max_rise), begun, q)
