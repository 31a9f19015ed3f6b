"""A fit repeated on resampled data: what is resampled, the replicates, and what must be said of them.

Resampled rows are weights. Resampled residuals keep the design and change the observations; the wild bootstrap keeps
each residual at its point and changes its sign (Mammen's two points), so that scatter may differ from point to point;
clusters draw whole groups of rows (model families, seeds of one run), as rows of a group are not independent.

All replicates of a block are solved at once. They start from the optimum of all data, moved by one step that every
replicate's own gradient suggests. Some of them are solved again from fresh starts, and how many changed is reported;
where many did, or where the points are few, all are. A block is always drawn and solved whole, and then cut: fewer
replicates are the first of more, to the last bit, and the same for any number of workers. Where the points are many a
block is drawn and solved in pieces whose size depends on the number of points alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base import budgets
from forecast.base.arrays import Array, BoolArray, IntArray
from forecast.base.budgets import check_memory
from forecast.base.lazy import xr
from forecast.base.number_checks import is_integer
from forecast.errors import DataError, FitError, UncertaintyError, UnknownNameError, UsageError, printable
from forecast.fit.data.groups import check_scheme, labels_of, point_codes
from forecast.fit.objectives.objective import Objective, robust_scale
from forecast.fit.problem.problem import Problem, Target
from forecast.fit.sizes import OPTIMUM_RTOL, STEP_TOLERANCE, TABLE_ELEMENTS, UNCHECKED_STEP_TOLERANCE
from forecast.fit.solve import newton
from forecast.fit.solve.newton import NewtonResult
from forecast.fit.solve.parallel import Progress, Workers, check_workers, share
from forecast.fit.solve.starts import Grid
from forecast.laws.grouped import Grouped

if TYPE_CHECKING:
    from forecast.fit.solutions import Solutions


#: Percentiles are taken where this many replicates lie beyond each of them.
MIN_TAIL_COUNT = 5


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
    resample : str
    seed : int
    audited, changed : int
        Replicates that were solved again from fresh starts, and how many of them found a better optimum.
    degenerate : int
        Replicates with fewer different points than parameters.
    clusters : int
        How many groups there were to draw from; 0 where rows were drawn.
    """

    names: tuple[str, ...]
    values: Array
    objective: Array
    converged: BoolArray
    resample: str
    seed: int
    audited: int
    changed: int
    degenerate: int
    clusters: int = 0

    @property
    def good(self) -> Array:
        """The replicates that were fitted, (k, B')."""
        return self.values[:, self.converged]

    def enough(self, level: float) -> bool:
        """Tell whether enough replicates lie beyond both percentiles of a level."""
        return bool(self.good.shape[1] * (1 - level) >= 2 * MIN_TAIL_COUNT * (1 - 1e-9))  # rounding of 1 - level aside

    def stderr(self, name: str) -> float:
        """Return the standard deviation over replicates; inf with fewer than two."""
        values = self.good[self.names.index(name)]
        return float(np.std(values, ddof=1)) if values.size > 1 else float("inf")

    def interval(self, name: str, level: float) -> tuple[float, float]:
        """Return the percentile interval."""
        low, high = np.quantile(self.good[self.names.index(name)], [0.5 - level / 2, 0.5 + level / 2])
        return float(low), float(high)

    def dataset(self) -> xr.Dataset:
        """Return one variable a parameter over ``replicate``, with the objective and what became of each."""
        columns = {"objective": self.objective, "converged": self.converged}
        columns |= dict(zip(self.names, self.values, strict=True))
        attrs = {
            "resample": self.resample,
            "seed": self.seed,
            "audited": self.audited,
            "changed": self.changed,
            "degenerate": self.degenerate,
            "not_converged": int(np.sum(~self.converged)),
        }
        return xr.Dataset({name: ("replicate", column) for name, column in columns.items()}, attrs=attrs)

    def warnings(self, name: str) -> list[str]:
        """Return what a reader of any number from the replicates must know."""
        lines = []
        lost, total = int((~self.converged).sum()), self.converged.size
        if lost:
            lines.append(
                f"{name}: {lost} of {total} replicates could not be fitted; {self.degenerate} had too few points"
            )
        if self.changed:
            lines.append(f"{name}: {self.changed} of {self.audited} audited replicates had a better optimum elsewhere")
        return lines


#: Replicates in a block: drawn whole and then cut, so that fewer are a prefix of more.
REPLICATES_PER_BLOCK = 256


@dataclass(frozen=True)
class Resample:
    """Some replicates of a data set.

    Parameters
    ----------
    weights : ndarray
        (B, n), or (n,) where all have the weights of the data.
    y : ndarray, optional
        (B, n), observations in the link. Default: those of the data.
    """

    weights: Array
    y: Array | None = None


@dataclass(frozen=True, eq=False)
class Sample:
    """What is resampled: a problem at its optimum.

    Parameters
    ----------
    problem : Problem
    at : ndarray
        The optimum in the solver's coordinates.
    labels : ndarray of int, optional
        The group of each row, from 0.
    """

    problem: Problem
    at: Array
    labels: IntArray | None = None

    @functools.cached_property
    def rows(self) -> IntArray:
        """The rows that have weight."""
        return np.flatnonzero(self.problem.weights > 0)

    @functools.cached_property
    def groups(self) -> IntArray:
        """Which of the rows with weight stand at one point: an integer from 0 each."""
        return point_codes([values[self.rows] for values in self.problem.variables.values()])

    @functools.cached_property
    def fitted(self) -> Array:
        """The law in the link."""
        return np.asarray(self.problem.kernel.at(self.at[:, None]).f[0].copy())

    @functools.cached_property
    def residuals(self) -> Array:
        """Residuals of equal spread, made as wide as the noise that the fit has taken a share of."""
        problem, root = self.problem, np.sqrt(self.problem.weights[self.rows])
        wide = np.sqrt(problem.n / max(problem.n - problem.k, 1))
        return np.asarray((problem.y - self.fitted)[self.rows] * root * wide)

    def weighted(self, counts: Array) -> Resample:
        """Return replicates in which the rows with weight appear so often, (B, rows)."""
        weights = self.problem.weights
        if bool((weights == 1.0).all()):
            return Resample(counts)
        whole = np.zeros((len(counts), weights.size))
        whole[:, self.rows] = counts * weights[self.rows]
        return Resample(whole)

    def observed(self, residuals: Array) -> Resample:
        """Return replicates with other residuals, (B, rows), at the same points."""
        y = np.repeat(self.fitted[None], len(residuals), axis=0)
        y[:, self.rows] += residuals / np.sqrt(self.problem.weights[self.rows])
        return Resample(self.problem.weights, y)


def _row_counts(indices: IntArray, size: int) -> Array:
    """Return how often each of `size` things is in each row."""
    flat = indices + np.arange(len(indices))[:, None] * size
    return np.bincount(flat.ravel(), minlength=len(indices) * size).reshape(len(indices), size).astype(float)


def _resample_rows(points: int, generator: np.random.Generator, count: int) -> Array:
    return _row_counts(generator.integers(0, points, size=(count, points), dtype=np.int64), points)


def _case(sample: Sample, generator: np.random.Generator, count: int) -> Resample:
    return sample.weighted(_resample_rows(sample.rows.size, generator, count))


def _cluster(sample: Sample, generator: np.random.Generator, count: int) -> Resample:
    assert sample.labels is not None
    size = int(sample.labels.max()) + 1
    return sample.weighted(_resample_rows(size, generator, count)[:, sample.labels[sample.rows]])


def _residual(sample: Sample, generator: np.random.Generator, count: int) -> Resample:
    centred = sample.residuals - sample.residuals.mean()
    return sample.observed(centred[generator.integers(0, centred.size, size=(count, centred.size))])


def _wild(sample: Sample, generator: np.random.Generator, count: int) -> Resample:
    golden = (1 + np.sqrt(5)) / 2  # mean 0, variance 1, third moment 1
    kept = generator.random((count, sample.residuals.size)) < golden / np.sqrt(5)
    return sample.observed(sample.residuals * np.where(kept, 1 - golden, golden))


@dataclass(frozen=True)
class Scheme:
    """A way of resampling.

    Parameters
    ----------
    draw : callable
        ``draw(sample, generator, count)`` returns the next replicates of a block.
    groups : bool
        It needs a group for each row.
    residuals : bool
        It needs residuals, which counts do not have.
    """

    draw: Callable[[Sample, np.random.Generator, int], Resample]
    groups: bool = False
    residuals: bool = False


#: Replicates at most: more take hours and tell the percentiles no better.
MAX_RESAMPLES = 1_000_000

SCHEMES: Mapping[str, Scheme] = MappingProxyType(
    {
        "pairs": Scheme(_case),
        "residuals": Scheme(_residual, residuals=True),
        "wild": Scheme(_wild, residuals=True),
        "cluster": Scheme(_cluster, groups=True),
    }
)


def generator_of(resample: str, seed: int, block: int) -> np.random.Generator:
    """Return the stream of one block."""
    import hashlib

    key = int.from_bytes(hashlib.blake2b(f"bootstrap/{resample}".encode(), digest_size=8).digest(), "big")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(key, block))))


def draw_blocks(sample: Sample, resample: str, seed: int, blocks: range, size: int) -> Iterator[Resample]:
    """Yield some blocks of replicates, `size` of a block at a time, or all blocks together where that is no less.

    A block is one stream, so that a replicate depends on the seed and on its place alone. Pieces hold the memory where
    there are many points.
    """
    if size >= REPLICATES_PER_BLOCK:
        yield _concatenate_resamples(
            [
                SCHEMES[resample].draw(sample, generator_of(resample, seed, block), REPLICATES_PER_BLOCK)
                for block in blocks
            ]
        )
        return
    for block in blocks:
        generator = generator_of(resample, seed, block)
        for first in range(0, REPLICATES_PER_BLOCK, size):
            yield SCHEMES[resample].draw(sample, generator, min(size, REPLICATES_PER_BLOCK - first))


def _concatenate_resamples(parts: list[Resample]) -> Resample:
    if len(parts) == 1:
        return parts[0]
    if parts[0].y is None:
        return Resample(np.concatenate([p.weights for p in parts]))
    return Resample(parts[0].weights, np.concatenate([p.y for p in parts if p.y is not None]))


def resampled_row_counts(resample: str, seed: int, points: int, replicates: int) -> Array:
    """Return how often each row is drawn in each replicate, (replicates, points), for resampled rows."""
    blocks = [
        _resample_rows(points, generator_of(resample, seed, block), REPLICATES_PER_BLOCK)
        for block in range(-(-replicates // REPLICATES_PER_BLOCK))
    ]
    return np.concatenate(blocks)[:replicates]


def check_replicates(replicates: object, resample: object, groups: bool, objective: Objective, where: str) -> int:
    """Return the requested number of replicates.

    Parameters
    ----------
    replicates, kind : object
        As they were given.
    groups : bool
        There is a group for each row.
    objective : Objective
    where : str

    Raises
    ------
    FitError, UnknownNameError, UsageError
        For anything but an integer of at least 2; an unknown kind, or one that these data cannot have.
    """
    if not isinstance(resample, str) or resample not in SCHEMES:
        raise UnknownNameError("way of resampling", printable(resample, 40), SCHEMES, where=where)
    if not is_integer(replicates) or replicates < 2:
        got = printable(repr(replicates), 40)
        raise UsageError(f"{where}: bootstrap: expected a number of replicates of at least 2, got {got}")
    if replicates > MAX_RESAMPLES:
        raise UsageError(
            f"{where}: bootstrap: expected at most {MAX_RESAMPLES:,} replicates, got {printable(replicates, 40)}"
        )
    if SCHEMES[resample].groups and not groups:
        raise UsageError(f"{where}: resample='{resample}' needs groups=, one label a row")
    if SCHEMES[resample].residuals and objective.scale == "known":
        raise FitError(
            f"{where}: resample='{resample}' needs residuals, and counts have none; use 'pairs' or 'cluster'"
        )
    return replicates


#: Curves whose bootstraps are done together.
CURVES_PER_BATCH = 8
#: Blocks that are solved together, at most.
MAX_BLOCKS_PER_SOLVE = 8
#: How many numbers there are, at most, for each weight: the law, its derivatives and what is computed of them.
BOOTSTRAP_MEMORY_FACTOR = 60


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """The options of a bootstrap.

    Parameters
    ----------
    replicates : int
    resample : str
        One of `SCHEMES`.
    seed : int
    fresh : bool
        Other starts than the optimum are allowed, for the audit.
    """

    replicates: int
    resample: str = "pairs"
    seed: int = 0
    fresh: bool = True


@dataclass(frozen=True)
class _ReplicateBlock:
    """Some blocks of replicates, refitted: arrays (k, B) and (B,)."""

    q: Array
    value: Array
    settled: BoolArray
    poor: BoolArray
    audited: BoolArray
    changed: BoolArray


def bootstrap(
    problem: Problem,
    at: Array,
    resampling: Resampling,
    *,
    labels: IntArray | None = None,
    workers: Workers = None,
    progress: Progress = None,
    where: str = "",
) -> Replicates:
    """Refit a problem to resampled data.

    Parameters
    ----------
    problem : Problem
        Its options (Huber's threshold) stay as they are.
    at : ndarray
        Its optimum.
    resampling : Resampling
    labels : ndarray of int, optional
        The group of each row, for clusters.
    workers : int or concurrent.futures.Executor, optional
    progress : callable, optional
        ``progress(done, total)``.
    where : str
        For messages.
    """
    plan = _block_groups(problem.n, resampling.replicates)
    points = problem.weights.size
    check_memory(
        8 * BOOTSTRAP_MEMORY_FACTOR * points * min(_replicates_per_batch(points), REPLICATES_PER_BLOCK),
        f"{where}: bootstrap: {points:,} points take",
        error=FitError,
    )
    audit = problem.solver.audit
    few = problem.n < audit.min_warm_points
    reached = 0

    def done(i: int) -> None:
        nonlocal reached
        reached += len(plan[i]) * REPLICATES_PER_BLOCK
        if progress is not None:
            progress(min(reached, resampling.replicates), resampling.replicates)

    with budgets.work(lambda: f"{where}: bootstrap, {reached:,} of {resampling.replicates:,} replicates done"):
        # the first block tells whether the optimum of all data can be trusted as a start
        parts = [_refit_blocks(problem, at, resampling, labels, plan[0], few, audit.replicates)]
        head = parts[0]
        if not few and head.changed.sum() > audit.max_changed_share * max(head.audited.sum(), 1):
            few = True
            parts = [_refit_blocks(problem, at, resampling, labels, plan[0], few, 0)]
        done(0)
        alone = workers is None or workers == 1
        # a kernel keeps tables of its own, which threads must not share
        rest = [
            ((problem if alone else problem.with_changes()), at, resampling, labels, blocks, few, 0)
            for blocks in plan[1:]
        ]
        parts += share(_refit_blocks, rest, workers, where=where, done=lambda i: done(i + 1))
    whole = _concatenate_parts(parts)
    cut = _ReplicateBlock(
        *(getattr(whole, n)[..., : resampling.replicates] for n in _ReplicateBlock.__dataclass_fields__)
    )
    values = problem.natural(cut.q.T).T
    return Replicates(
        names=problem.free,
        values=np.where(cut.settled, values, np.nan),
        objective=np.where(cut.settled, cut.value, np.nan),
        converged=cut.settled,
        resample=resampling.resample,
        seed=resampling.seed,
        audited=int(cut.audited.sum()),
        changed=int(cut.changed.sum()),
        degenerate=int(cut.poor.sum()),
        clusters=0 if labels is None else int(labels.max()) + 1,
    )


def with_replicates(
    solutions: Solutions,
    resampling: Resampling,
    *,
    labels: IntArray | None = None,
    workers: Workers = None,
    progress: Progress = None,
) -> Solutions:
    """Return fits with replicates: standard errors and ``interval(method="bootstrap")`` then come from them.

    The replicates of one curve are shared among the workers; of many, the curves are.
    """
    good = np.flatnonzero(solutions.settled)
    found: list[Replicates | None] = [None] * solutions.settled.size
    if solutions.settled.size == 1 and good.size:
        ask: dict[str, Any] = {"labels": labels, "workers": workers, "progress": progress, "where": solutions.name}
        one = bootstrap(solutions.problem(), solutions.q[:, 0], resampling, **ask)
        if (better := _better_optimum(solutions, one)) is not None:
            solutions = better
            one = bootstrap(solutions.problem(), solutions.q[:, 0], resampling, **ask)
        return replace(solutions, assessed=solutions.known, replicates=(one,))
    chunks = [good[i : i + CURVES_PER_BATCH] for i in range(0, good.size, CURVES_PER_BATCH)]
    reached = 0

    def done(i: int) -> None:
        nonlocal reached
        reached += chunks[i].size * resampling.replicates
        if progress is not None:
            progress(reached, good.size * resampling.replicates)

    pieces = [(tuple(solutions.problem(int(b)) for b in rows), solutions.q[:, rows], resampling) for rows in chunks]
    some = share(_of_some, pieces, workers, where=solutions.name, done=done)
    for b, one in zip(good, (each for part in some for each in part), strict=True):
        found[b] = one
    return replace(solutions, assessed=solutions.known, replicates=tuple(found))


def _better_optimum(made: Solutions, replicates: Replicates) -> Solutions | None:
    """Return the fit at a better optimum of all data, where replicates that ended elsewhere lead to one."""
    if not replicates.changed:
        return None
    problem = made.problem()
    starts = problem.internal(replicates.good[:, : problem.solver.audit.replicates].T).T
    ends = newton.solve(problem.target(), starts)
    value = np.where(ends.settled, ends.value, np.inf)
    if problem.poles is not None:
        value[problem.poles.mask(problem.natural(ends.q.T).T)] = np.inf
    best = int(np.argmin(value))
    if not value[best] < float(made.value[0]) * (1 - OPTIMUM_RTOL) - problem.rounding():
        return None
    agree = np.count_nonzero(value <= value[best] * (1 + OPTIMUM_RTOL) + problem.rounding())
    moved = replace(
        made, q=ends.q[:, [best]], converged=np.array([agree > 1]), starts=np.array([[agree], [value.size]]), doubts={},
        remarks={}, assessed=None,
    )  # fmt: skip
    moved.keep(problem)
    return moved


def _of_some(problems: tuple[Problem, ...], at: Array, resampling: Resampling) -> list[Replicates]:
    return [bootstrap(problem, at[:, i], resampling) for i, problem in enumerate(problems)]


def run_bootstrap(
    solutions: Solutions | None,
    replicates: int,
    *,
    where: str,
    resample: str,
    seed: int,
    groups: Any,
    workers: Workers = None,
    progress: Progress = None,
) -> Solutions:
    """Return fits with a bootstrap of each; the function behind ``resample`` of `forecast.Fit` and `forecast.Fits`.

    Raises
    ------
    DataError, FitError, UsageError
    """
    from forecast.base.streams import check_seed
    from forecast.fit.inference.profile import check_data

    solutions = check_data(solutions, where, "bootstrap")
    known, law, many = solutions.curves.groups, solutions.law, solutions.settled.size > 1
    check_replicates(replicates, resample, groups is not None or known is not None, solutions.objective, where)
    check_scheme(resample, law._form.slots if isinstance(law._form, Grouped) else (), solutions.curves.sigma_x, where)
    check_seed(seed)
    check_workers(workers, where, law)
    if many and (groups is not None or resample == "cluster"):
        raise UsageError(f"{where}: by= does not take resample='cluster': fit one curve at a time")
    if groups is not None and not SCHEMES[resample].groups:
        raise UsageError(f"{where}: resample='{resample}' takes no groups=")
    if not many and solutions.known.flaw():
        raise UncertaintyError(where, "bootstrap", solutions.known.flaw())
    labels = known if SCHEMES[resample].groups else None
    if groups is not None:
        _, labels, names = labels_of(groups, solutions.curves.y.shape[1], where)
        if len(names) < 2:
            raise DataError(f"{where}: groups: expected at least 2 different labels, got one")
    resampling = Resampling(replicates=replicates, resample=resample, seed=seed)
    return with_replicates(solutions, resampling, labels=labels, workers=workers, progress=progress)


def _block_groups(n: int, replicates: int) -> list[range]:
    """Return which blocks are solved together: one, the next three, and then as many again up to a limit.

    The more there are in one solve the less each costs; a short bootstrap is not to wait for many.
    """
    most = int(np.clip(TABLE_ELEMENTS // (REPLICATES_PER_BLOCK * max(n, 1)), 1, MAX_BLOCKS_PER_SOLVE))
    found = [range(0, 1)]
    while found[-1].stop * REPLICATES_PER_BLOCK < replicates:
        first = found[-1].stop
        found.append(range(first, first + min(3 if first == 1 else first, most)))
    return found


def _replicates_per_batch(points: int) -> int:
    """Return how many replicates are drawn and solved together."""
    return max(TABLE_ELEMENTS // max(points, 1), 1)


def _concatenate_parts(parts: list[_ReplicateBlock]) -> _ReplicateBlock:
    return _ReplicateBlock(
        *(np.concatenate([getattr(p, n) for p in parts], axis=-1) for n in _ReplicateBlock.__dataclass_fields__)
    )


def _refit_blocks(
    problem: Problem, at: Array, resampling: Resampling, labels: IntArray | None, blocks: range, every: bool, audit: int
) -> _ReplicateBlock:
    """Draw some blocks and refit them; `audit` of the first replicates, or every one, from fresh starts too."""
    sample = Sample(problem, at, labels)
    warm = _WarmStarts(sample)
    grid = None
    if resampling.fresh and (every or audit):
        grid = Grid(problem, seed=resampling.seed, points=None if every else problem.solver.audit.grid_points)
    parts: list[_ReplicateBlock] = []
    reached = 0
    for drawn in draw_blocks(
        sample, resampling.resample, resampling.seed, blocks, _replicates_per_batch(problem.weights.size)
    ):
        parts.append(_solve(warm, drawn, grid, None if every else max(audit - reached, 0)))
        reached += parts[-1].value.size
        budgets.check_time("refitting", reached, len(blocks) * REPLICATES_PER_BLOCK, "replicates of a round")
        if blocks.start * REPLICATES_PER_BLOCK + reached >= resampling.replicates:
            break
    return _concatenate_parts(parts)


def _solve(starts: _WarmStarts, resample: Resample, grid: Grid | None, audit: int | None) -> _ReplicateBlock:
    """Refit some replicates; `audit` of the first, or every one where that is None, from a grid's starts too."""
    sample, problem = starts.sample, starts.problem
    options = problem.solver.audit
    target = _resampled_target(problem, resample)
    warm = starts.starts(target)
    count = warm.shape[1]
    audited = np.zeros(count, dtype=bool)
    fresh, ids = np.empty((problem.k, 0)), np.empty(0, dtype=np.int64)
    if grid is not None and grid.order.size:
        audited[:audit] = True
        if audited.any():
            fresh, ids = _fresh_starts(problem, grid, target, np.flatnonzero(audited))
    if ids.size:  # all in one queue: the few that take long then cost no rounds of their own
        both = target.take(np.append(np.arange(count), ids))
        steps = options.audit_steps if audit is not None else options.refit_steps
        ends = _solve_replicates(both, np.concatenate([warm, fresh], axis=1), steps)
        found, changed = _better_refits(ends, count, ids)
        if steps < options.refit_steps and not found.settled.all():
            _go_on(target, found, np.flatnonzero(~found.settled))
    else:
        found, changed = _solve_replicates(target, warm, options.refit_steps), np.zeros(count, dtype=bool)
    poor = _too_few_points_mask(sample, resample, count)
    found.settled[poor] = False
    return _ReplicateBlock(found.q, found.value, found.settled, poor, audited, changed)


def _resampled_target(problem: Problem, resample: Resample) -> Target:
    target = problem.target(resample.weights)
    return target if resample.y is None else replace(target, y=resample.y)


def _solve_replicates(target: Target, starts: Array, steps: int) -> NewtonResult:
    return newton.solve(target, starts, iterations=steps, tolerance=STEP_TOLERANCE, blind=UNCHECKED_STEP_TOLERANCE)


def _go_on(target: Target, found: NewtonResult, ids: IntArray) -> None:
    """Take more steps in some replicates from where they are."""
    ends = _solve_replicates(target.take(ids), found.q[:, ids], target.solver.audit.refit_steps)
    better = ends.value <= found.value[ids]
    chosen = ids[better]
    found.q[:, chosen], found.value[chosen] = ends.q[:, better], ends.value[better]
    found.settled[chosen] = ends.settled[better]


def _too_few_points_mask(sample: Sample, resample: Resample, count: int) -> BoolArray:
    """Tell which replicates have fewer different points than parameters."""
    rows, k = sample.rows, sample.problem.k
    if resample.weights.ndim == 1:
        return np.zeros(count, dtype=bool)
    group = sample.groups
    groups = int(group.max()) + 1
    if sample.labels is None and groups > 8 * k + 40:  # that few of that many do not happen
        return np.zeros(count, dtype=bool)
    order = np.argsort(group, kind="stable")
    begins = np.searchsorted(group[order], np.arange(groups))
    present = np.logical_or.reduceat(resample.weights[:, rows[order]] > 0, begins, axis=1)
    return np.asarray(present.sum(axis=1) < k)


class _WarmStarts:
    """Starts for replicates: the optimum of all data, and one step from it along the replicate's own gradient."""

    def __init__(self, sample: Sample) -> None:
        self.sample, self.problem, self.at = sample, sample.problem, sample.at
        problem, at = self.problem, self.at
        target = problem.target()
        state = problem.kernel.at(at[:, None])
        self.f = state.f.copy()
        _, first, second = problem.objective.losses(self.f, target.y, target.options)
        self.jacobian = problem.kernel.jacobian(state)[:, 0].copy()
        share = 1.0
        if problem.objective.robust:
            # the curvature of Huber's loss as a move of the size of the noise meets it, not at a point
            residuals, delta = (self.f - target.y)[0], float(target.options["delta"])
            width = max(0.5 * float(robust_scale(residuals, problem.k, problem.weights)), delta)
            both = [np.clip(residuals + s * width, -delta, delta) for s in (1.0, -1.0)]
            second, share = ((both[0] - both[1]) / (2 * width))[None], 0.7
        table = problem.kernel.contract(state, first * problem.weights, second * problem.weights)[1][:, :, 0]
        self.steps = np.zeros_like(table)
        diagonal = np.sqrt(np.abs(np.diag(table)))
        if np.isfinite(table).all() and np.isfinite(self.jacobian).all() and (diagonal > 0).all():
            scaled = table / np.outer(diagonal, diagonal)
            if np.linalg.eigvalsh(scaled)[0] > 1e-10:
                self.steps = share * np.linalg.inv(scaled) / np.outer(diagonal, diagonal)

    def starts(self, target: Target) -> Array:
        """Return the starts of replicates, (k, B)."""
        problem = self.problem
        with np.errstate(all="ignore"):
            _, first, _ = problem.objective.losses(self.f, target.y, target.options)
        if target.y.ndim == 1:
            gradient = (first * self.jacobian) @ target.weights.T
        else:
            gradient = self.jacobian @ (first * target.weights).T
        moves = -(self.steps @ np.nan_to_num(gradient, posinf=0.0, neginf=0.0))
        # what is positive moves by a factor, unless it stands at 0
        factor = problem.positive & ~problem.logs & (self.at > 0)
        moves[factor] /= self.at[factor, None]
        bold = problem.logs | factor
        if bold.any():
            longest = np.abs(moves[bold]).max(axis=0)
            moves *= np.minimum(1.0, 1.0 / np.maximum(longest, 1e-300))
        start = self.at[:, None] + moves
        start[factor] = self.at[factor, None] * np.exp(moves[factor])
        return np.asarray(np.clip(start, problem.lower[:, None], problem.upper[:, None]))


def _fresh_starts(problem: Problem, grid: Grid, target: Target, chosen: IntArray) -> tuple[Array, IntArray]:
    """Return the best few of the grid's starts for each of some replicates, and whose they are."""
    candidates = grid.starts[:, grid.order[:512]]
    losses = np.empty((chosen.size, candidates.shape[1]))
    step = _replicates_per_batch(problem.weights.size)
    for column in range(0, candidates.shape[1], step):
        budgets.check_time("the search for starts", column, candidates.shape[1], "starts")
        columns = slice(column, column + step)
        with np.errstate(all="ignore"):
            f = problem.kernel.at(candidates[:, columns]).f.copy()
        for first in range(0, chosen.size, 1024):
            losses[first : first + 1024, columns] = _candidate_losses(problem, target, f, chosen[first : first + 1024])
    places = np.argsort(losses, axis=1, kind="stable")[:, : problem.solver.audit.starts]
    return candidates[:, places.ravel()], np.repeat(chosen, places.shape[1])


def _better_refits(both: NewtonResult, count: int, ids: IntArray) -> tuple[NewtonResult, BoolArray]:
    """Return what `count` warm starts led to, or a fresh start of the same replicate where that is better."""
    found = both.take(slice(count))
    value, settled = both.value[count:], both.settled[count:]
    with np.errstate(invalid="ignore"):
        better = settled & ((value < found.value[ids] * (1 - OPTIMUM_RTOL)) | ~found.settled[ids])
    changed = np.zeros(count, dtype=bool)
    # from the worst to the best, so that the best is what stays
    for i in np.flatnonzero(better)[np.argsort(-value[better], kind="stable")]:
        where = ids[i]
        found.q[:, where], found.value[where] = both.q[:, count + i], value[i]
        found.settled[where] = changed[where] = True
    return found, changed


def _candidate_losses(problem: Problem, target: Target, f: Array, some: IntArray) -> Array:
    """Return what some replicates lose at candidates whose law is `f`, (some, candidates)."""
    with np.errstate(all="ignore"):
        if target.y.ndim == 1:
            losses = problem.objective.losses(f, target.y, target.options)[0]
            return np.asarray(target.weights[some] @ np.where(np.isfinite(losses), losses, 1e100).T)
        each = [problem.objective.losses(f, target.y[i], target.options)[0] @ target.weights for i in some]
    return np.nan_to_num(np.array(each), nan=1e300, posinf=1e300)
