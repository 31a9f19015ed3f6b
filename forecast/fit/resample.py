"""Other bootstraps: residuals, wild, and clusters of rows.

Resampled residuals keep the design and change the observations; the wild bootstrap keeps each residual at its point
and changes its sign (Mammen's two points), so that scatter may differ from point to point; clusters draw whole groups
of rows (model families, seeds of one run), as rows of a group are not independent.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.errors import DataError, FitError, UnknownNameError, UsageError, printable
from forecast.fit import bootstrap as cases
from forecast.fit import newton
from forecast.fit.bootstrap import BLOCK, Replicates
from forecast.fit.profile import optimum, problem_of_fit

if TYPE_CHECKING:
    from forecast.fit.result import Fit
    from forecast.fit.solver import Problem

__all__ = ["KINDS", "resample"]

Array: TypeAlias = NDArray[np.float64]

KINDS = ("case", "residual", "wild", "cluster")
#: Fewer groups than this say little about how groups differ.
FEW = 10


def resample(fit: Fit, replicates: int, *, kind: str, seed: int, groups: Any) -> Fit:
    """Return a fit with replicates: its standard errors and ``interval(method="bootstrap")`` then come from them.

    Parameters
    ----------
    fit : Fit
    replicates : int
    kind : {"case", "residual", "wild", "cluster"}
    seed : int
        The same seed gives the same replicates; fewer are a prefix of more.
    groups : array
        One label a row, for ``kind="cluster"``.

    Raises
    ------
    DataError, FitError, UsageError
    """
    from forecast.streams import check_seed

    if kind not in KINDS:
        raise UnknownNameError("kind of bootstrap", printable(kind, 40), KINDS, where=fit.name)
    cases.check(replicates, "case", fit.name)
    check_seed(seed)
    if (groups is not None) != (kind == "cluster"):
        said = "needs groups=, one label a row" if kind == "cluster" else "takes no groups="
        raise UsageError(f"{fit.name}: kind='{kind}' {said}")
    problem = problem_of_fit(fit, "bootstrap")
    if fit.uncertainty is None or fit.uncertainty.flaw:
        raise FitError(f"{fit.name}: no bootstrap: {fit.uncertainty.flaw if fit.uncertainty else 'no data'}")
    at, notes = optimum(fit, problem).q[:, 0], list(fit.warnings)
    if kind == "case":
        found = cases.resample(problem, at, replicates, seed=seed)
    elif kind == "cluster":
        labels = _groups(fit, problem, groups)
        if labels.max() + 1 < FEW:
            few = f"{labels.max() + 1} groups are few: the bootstrap understates the uncertainty"
            notes.append(f"{fit.name}: {few}")
        found = _repeated(problem, at, replicates, seed, kind, labels)
    else:
        if problem.objective.scale == "known":
            raise FitError(f"{fit.name}: kind='{kind}' needs residuals, and counts have none; use 'case' or 'cluster'")
        found = _repeated(problem, at, replicates, seed, kind, None)
    lost = int((~found.converged).sum())
    if lost:
        notes.append(f"{fit.name}: {lost} of {found.converged.size} replicates could not be fitted")
    return replace(fit, replicates=found, warnings=tuple(notes))


def _groups(fit: Fit, problem: Problem, groups: Any) -> NDArray[np.int64]:
    labels = np.ravel(np.asarray(groups))
    if labels.size != problem.weights.size:
        raise DataError(f"{fit.name}: groups: expected {problem.weights.size} labels, one a row, got {labels.size}")
    kinds, place = np.unique(labels.astype(str), return_inverse=True)
    if kinds.size < 2:
        raise DataError(f"{fit.name}: groups: expected at least 2 different labels, got one")
    return np.asarray(place, dtype=np.int64).ravel()


def _generator(seed: int, kind: str, block: int) -> np.random.Generator:
    key = int.from_bytes(hashlib.blake2b(f"bootstrap/{kind}".encode(), digest_size=8).digest(), "big")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(key, block))))


def _repeated(
    problem: Problem, at: Array, replicates: int, seed: int, kind: str, labels: NDArray[np.int64] | None
) -> Replicates:
    """Refit block after block from the optimum."""
    rows = np.flatnonzero(problem.weights > 0)
    fitted = problem.kernel.at(at[:, None]).f[0].copy()
    root = np.sqrt(problem.weights[rows])
    # residuals of equal spread, made as wide as the noise that the fit has taken a share of
    residuals = (problem.linked - fitted)[rows] * root * np.sqrt(problem.n / max(problem.n - problem.k, 1))
    parts: list[tuple[Array, Array, NDArray[np.bool_]]] = []
    poor = 0
    for block in range(-(-replicates // BLOCK)):
        generator = _generator(seed, kind, block)
        count = min(BLOCK, replicates - block * BLOCK)
        target = problem.target()
        few = np.zeros(count, dtype=bool)
        if kind == "cluster" and labels is not None:
            size = int(labels.max()) + 1
            drawn = generator.integers(0, size, size=(BLOCK, size), dtype=np.int64)[:count]
            counts = np.zeros((count, size))
            np.add.at(counts, (np.arange(count)[:, None], drawn), 1.0)
            weights = counts[:, labels] * problem.weights
            few = (weights > 0).sum(axis=1) < problem.k
            target = problem.target(weights)
        else:
            y = np.repeat(fitted[None], count, axis=0)
            y[:, rows] += _scatter(generator, kind, residuals)[:count] / root
            target = replace(target, y=y)
        solved = newton.solve(
            target, np.repeat(at[:, None], count, axis=1), problem.lower, problem.upper, problem.logs, tolerance=1e-13
        )
        poor += int(few.sum())
        parts.append((solved.q, solved.value, solved.settled & ~few))
    settled = np.concatenate([p[2] for p in parts])
    values = problem.natural(np.concatenate([p[0] for p in parts], axis=1).T).T
    return Replicates(
        names=problem.free,
        values=np.where(settled, values, np.nan),
        objective=np.where(settled, np.concatenate([p[1] for p in parts]), np.nan),
        converged=settled,
        kind=kind,
        seed=seed,
        audited=0,
        changed=0,
        degenerate=poor,
    )


def _scatter(generator: np.random.Generator, kind: str, residuals: Array) -> Array:
    """Return a block of resampled residuals, (BLOCK, rows)."""
    shape = (BLOCK, residuals.size)
    if kind == "residual":
        centred = residuals - residuals.mean()
        return np.asarray(centred[generator.integers(0, residuals.size, size=shape)])
    golden = (1 + np.sqrt(5)) / 2  # mean 0, variance 1, third moment 1
    turn = np.where(generator.random(shape) < golden / np.sqrt(5), 1 - golden, golden)
    return np.asarray(residuals * turn)
