"""Bootstraps as one array problem: resampled rows are weights, and all replicates are solved at once.

Replicates start from the optimum of all data, moved by one step that every replicate's own gradient suggests. A sample
of them is solved again from fresh starts, and how many changed is reported; where many did, or where the points are
few, all are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.errors import UnknownNameError, UsageError, printable
from forecast.fit import newton
from forecast.fit.newton import Solved
from forecast.fit.objective import robust_scale
from forecast.fit.solver import Problem
from forecast.fit.start import Grid

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["KINDS", "Replicates", "resample", "resampled"]

Array: TypeAlias = NDArray[np.float64]

#: Replicates in a block: drawn whole and then cut, so that fewer are a prefix of more.
BLOCK = 256
#: Below this number of points every replicate is solved from fresh starts.
FEW = 20
#: How many replicates are audited, from how many starts each; beyond which share of changes all are solved anew.
AUDIT, STARTS, TOLERATED = 24, 2, 0.1
#: An objective lower by more than this share is another optimum.
BETTER = 1e-6
#: Stop when a step lowers a replicate's objective by less than this share.
TOLERANCE, BLIND = 1e-12, 3e-10


@dataclass(frozen=True, kw_only=True)
class Replicates:
    """A fit repeated on resampled data.

    Parameters
    ----------
    names : tuple of str
        The free parameters.
    values : ndarray
        (k, B), as the law has them; nan where a replicate could not be fitted.
    objective : ndarray
        (B,), the plain value.
    converged : ndarray of bool
    kind : str
    seed : int
    audited, changed : int
        Replicates that were solved again from fresh starts, and how many of them found a better optimum.
    degenerate : int
        Replicates with fewer different points than parameters.
    """

    names: tuple[str, ...]
    values: Array
    objective: Array
    converged: NDArray[np.bool_]
    kind: str
    seed: int
    audited: int
    changed: int
    degenerate: int

    @property
    def good(self) -> Array:
        """The replicates that were fitted, (k, B')."""
        return self.values[:, self.converged]

    def stderr(self, name: str) -> float:
        """Return the standard deviation over replicates; inf with fewer than two."""
        found = self.good[self.names.index(name)]
        return float(np.std(found, ddof=1)) if found.size > 1 else float("inf")

    def interval(self, name: str, level: float) -> tuple[float, float]:
        """Return the percentile interval."""
        low, high = np.quantile(self.good[self.names.index(name)], [0.5 - level / 2, 0.5 + level / 2])
        return float(low), float(high)

    def dataset(self) -> xr.Dataset:
        """Return one variable a parameter over ``replicate``, with the objective and what became of each."""
        import xarray as xr

        found = {"objective": self.objective, "converged": self.converged}
        found |= dict(zip(self.names, self.values, strict=True))
        attrs = {
            "kind": self.kind,
            "seed": self.seed,
            "audited": self.audited,
            "changed": self.changed,
            "degenerate": self.degenerate,
            "not_converged": int(np.sum(~self.converged)),
        }
        return xr.Dataset({name: ("replicate", column) for name, column in found.items()}, attrs=attrs)


def _case(seed: int, points: int, block: int) -> Array:
    """Return how often each row is drawn in each replicate of a block, (BLOCK, points)."""
    key = int.from_bytes(hashlib.blake2b(b"bootstrap/case", digest_size=8).digest(), "big")
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(key, block))))
    rows = generator.integers(0, points, size=(BLOCK, points), dtype=np.int64)
    rows += np.arange(BLOCK)[:, None] * points
    return np.bincount(rows.ravel(), minlength=BLOCK * points).reshape(BLOCK, points).astype(float)


#: Kind to a function of (seed, points, block): how often each row is drawn in each replicate of the block.
KINDS: Mapping[str, Callable[[int, int, int], Array]] = MappingProxyType({"case": _case})


def resampled(kind: str, seed: int, points: int, replicates: int) -> Array:
    """Return the count matrix (replicates, points); it depends on the seed and on the place of a replicate alone."""
    blocks = [KINDS[kind](seed, points, block) for block in range(-(-replicates // BLOCK))]
    return np.concatenate(blocks)[:replicates]


def check(replicates: object, kind: str, where: str) -> int:
    """Return how many replicates are asked for.

    Raises
    ------
    UsageError
        For anything but an integer of at least 2, or an unknown kind.
    """
    if kind not in KINDS:
        raise UnknownNameError("kind of bootstrap", kind, KINDS, where=where)
    if isinstance(replicates, bool) or not isinstance(replicates, int) or replicates < 2:
        got = printable(repr(replicates), 40)
        raise UsageError(f"{where}: bootstrap: expected a number of replicates of at least 2, got {got}")
    return replicates


def resample(
    problem: Problem, at: Array, replicates: int, *, seed: int, kind: str = "case", fresh: bool = True
) -> Replicates:
    """Refit a problem to resampled rows.

    Parameters
    ----------
    problem : Problem
        Its options (Huber's threshold) stay as they are.
    at : ndarray
        Its optimum.
    replicates : int
    seed : int
    kind : str
        One of `KINDS`.
    fresh : bool
        Other starts than the optimum are allowed, for the audit.
    """
    rows = np.flatnonzero(problem.weights > 0)
    share = max(BLOCK, BLOCK * (2_000_000 // (BLOCK * max(rows.size, 1))))
    grid = Grid(problem, seed=seed) if fresh else None
    warm = _Warm(problem, at)
    few = rows.size < FEW and grid is not None
    kept: list[Solved] = []
    counted, audits = 0, []
    picked = np.unique(np.linspace(0, replicates - 1, min(AUDIT, replicates)).astype(int))
    for first in range(0, replicates, share):
        last = min(first + share, replicates)
        blocks = range(first // BLOCK, -(-last // BLOCK))
        counts = np.concatenate([KINDS[kind](seed, rows.size, b) for b in blocks])[: last - first]
        weights = counts
        if not bool((problem.weights == 1.0).all()):
            weights = np.zeros((last - first, problem.weights.size))
            weights[:, rows] = counts * problem.weights[rows]
        poor = _poor(problem, counts, rows)
        counted += int(poor.sum())
        found = _solved(problem, weights, warm.starts(weights))
        if grid is not None:
            chosen = np.arange(last - first) if few else picked[(picked >= first) & (picked < last)] - first
            audits.append(_audit(problem, grid, weights, found, chosen))
            if not few and sum(c for c, _ in audits) > TOLERATED * max(sum(t for _, t in audits), 1):
                few = True  # the optimum of all data misleads: from here on every replicate has starts of its own
                audits[-1] = _audit(problem, grid, weights, found, np.arange(last - first))
        found.settled[poor] = False
        kept.append(found)
    values = problem.natural(np.concatenate([s.q for s in kept], axis=1).T).T
    settled = np.concatenate([s.settled for s in kept])
    objective = np.concatenate([s.value for s in kept])
    return Replicates(
        names=problem.free,
        values=np.where(settled, values, np.nan),
        objective=np.where(settled, objective, np.nan),
        converged=settled,
        kind=kind,
        seed=seed,
        audited=sum(tried for _, tried in audits),
        changed=sum(changed for changed, _ in audits),
        degenerate=counted,
    )


def _solved(problem: Problem, weights: Array, starts: Array) -> Solved:
    return newton.solve(
        problem.target(weights), starts, problem.lower, problem.upper, problem.logs, tolerance=TOLERANCE, blind=BLIND
    )


def _poor(problem: Problem, counts: Array, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which replicates have fewer different points than parameters."""
    design = np.column_stack([v[rows] for v in problem.variables.values()])
    _, group = np.unique(design, axis=0, return_inverse=True)
    group = np.ravel(group)
    groups = int(group.max()) + 1
    if groups > 8 * problem.k + 40:  # that few of that many do not happen
        return np.zeros(len(counts), dtype=bool)
    member = np.zeros((rows.size, groups))
    member[np.arange(rows.size), group] = 1.0
    return np.asarray(((counts @ member) > 0).sum(axis=1) < problem.k)


class _Warm:
    """Starts for replicates: the optimum of all data, and one step from it along the replicate's own gradient."""

    def __init__(self, problem: Problem, at: Array) -> None:
        self.problem, self.at = problem, at
        target = problem.target()
        state = problem.kernel.at(at[:, None])
        _, first, second = problem.objective.pointwise(state.f, target.y, target.options)
        self.scores = first * problem.kernel.jacobian(state)[:, 0]
        share = 1.0
        if problem.objective.robust:
            # the curvature of Huber's loss as a move of the size of the noise meets it, not at a point
            residuals, delta = (state.f - target.y)[0], float(target.options["delta"])
            width = max(0.5 * robust_scale(residuals, problem.k), delta)
            both = [np.clip(residuals + s * width, -delta, delta) for s in (1.0, -1.0)]
            second, share = ((both[0] - both[1]) / (2 * width))[None], 0.7
        table = problem.kernel.contract(state, first * problem.weights, second * problem.weights)[1][:, :, 0]
        self.steps = np.zeros_like(table)
        diagonal = np.sqrt(np.abs(np.diag(table)))
        if np.isfinite(table).all() and np.isfinite(self.scores).all() and (diagonal > 0).all():
            scaled = table / np.outer(diagonal, diagonal)
            if np.linalg.eigvalsh(scaled)[0] > 1e-10:
                self.steps = share * np.linalg.inv(scaled) / np.outer(diagonal, diagonal)

    def starts(self, weights: Array) -> Array:
        """Return the starts of replicates with these weights, (k, B)."""
        problem = self.problem
        moves = -(self.steps @ (self.scores @ weights.T))
        if problem.logs.any():
            longest = np.abs(moves[problem.logs]).max(axis=0)
            moves *= np.minimum(1.0, 1.0 / np.maximum(longest, 1e-300))
        return np.asarray(self.at[:, None] + moves)


def _audit(problem: Problem, grid: Grid, weights: Array, found: Solved, chosen: NDArray[np.int64]) -> tuple[int, int]:
    """Solve some replicates again from the optimum's start and fresh ones; keep what is better; count the changes."""
    if not chosen.size or not grid.order.size:
        return 0, 0
    candidates = grid.starts[:, grid.order[:512]]
    target = problem.target()
    with np.errstate(all="ignore"):
        losses = problem.objective.pointwise(problem.kernel.at(candidates).f, target.y, target.options)[0]
    losses = np.where(np.isfinite(losses), losses, 1e100)
    changed = 0
    step = max(1, 4096 // (STARTS + 1))
    for first in range(0, chosen.size, step):
        some = chosen[first : first + step]
        best = np.argsort(weights[some] @ losses.T, axis=1)[:, :STARTS]
        starts = np.concatenate([candidates[:, best.ravel()]], axis=1)
        again = _solved(problem, np.repeat(weights[some], best.shape[1], axis=0), starts)
        value = again.value.reshape(some.size, -1)
        winner = np.argmin(value, axis=1)
        lowest = value[np.arange(some.size), winner]
        column = np.arange(some.size) * best.shape[1] + winner
        with np.errstate(invalid="ignore"):
            better = (lowest < found.value[some] * (1 - BETTER)) & again.settled[column]
        better |= again.settled[column] & ~found.settled[some]
        where = some[better]
        found.q[:, where], found.value[where] = again.q[:, column[better]], lowest[better]
        found.settled[where] = True
        changed += int(better.sum())
    return changed, int(chosen.size)
