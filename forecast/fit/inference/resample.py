"""What a bootstrap resamples: rows, residuals, the signs of residuals, or whole groups of rows.

Resampled rows are weights. Resampled residuals keep the design and change the observations; the wild bootstrap keeps
each residual at its point and changes its sign (Mammen's two points), so that scatter may differ from point to point;
clusters draw whole groups of rows (model families, seeds of one run), as rows of a group are not independent.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from forecast.base.arrays import Array, IntArray
from forecast.base.number_checks import is_integer
from forecast.errors import FitError, UnknownNameError, UsageError, printable
from forecast.fit.data.groups import point_codes

if TYPE_CHECKING:
    from forecast.fit.objectives.objective import Objective
    from forecast.fit.problem.problem import Problem


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
