"""The capability index as scores known at a date give it: models released, and benchmarks published, before it.

An edition of the index puts models on one scale by all scores there are, those of later models and benchmarks among
them. Here a model's ability and a benchmark's difficulty and slope are estimated anew,

    score = logistic(slope·(ability − difficulty)),

by least squares with weak priors. The scale is that of the edition by one straight line: two numbers, a change of unit.
What can't be undone: a table has no date of a test, and a model of 2023 may have been tested in 2025.

References
----------
Epoch AI (2025), A rosetta stone for AI benchmarks, arXiv:2512.00193, for the model of scores; Rubin (1981), The
Bayesian bootstrap, Annals of Statistics 9(1), 130-134.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forecast.base.arrays import Array, BoolArray
from forecast.errors import EmptyDataError

Places = NDArray[np.intp]

__all__ = ["rescored"]

SCORES_TABLE, BENCHMARKS_TABLE = "datasets/benchmark-scores", "datasets/benchmark-difficulty"
#: Scatter of a score, and spreads of abilities, difficulties and log slopes before the data: those under which
#: all scores give the edition of 2026-08 again, to a quarter of a point in the median.
SCATTER, SPREADS = 0.08, (2.0, 2.5, 1.0)
#: Scores that a model, and models that a benchmark, has at least.
LEAST_SCORES, LEAST_MODELS = 4, 2
#: Models whose index the edition states, on which a change of unit rests at least.
LEAST_KNOWN = 5
#: Redraws of the weights of scores, for the errors, and the least error in points.
N_REDRAWS, LEAST_ERROR = 20, 0.3


def rescored(published: dict[str, float], as_of: float) -> dict[str, tuple[float, float]]:
    """Return the index of models by scores known at a date, and its standard error, on the scale of an edition.

    Parameters
    ----------
    published : mapping of str to float
        The index of models in the edition.
    as_of : float

    Returns
    -------
    mapping of str to (float, float)
        Empty where too few scores were known.
    """
    scores = _scores_before(as_of)
    if scores is None:
        return {}
    place = scores.fitted(np.ones(len(scores.score)))
    ability = place[: len(scores.models)]
    stated = np.array([published.get(model, np.nan) for model in scores.models])
    known = np.isfinite(stated)
    if known.sum() < LEAST_KNOWN:
        return {}
    slope, level = np.polyfit(ability[known], stated[known], 1)
    rng = np.random.default_rng(0)
    redrawn = [
        scores.fitted(rng.standard_exponential(len(scores.score)), place)[: len(scores.models)] - ability
        for _ in range(N_REDRAWS)
    ]
    # a shift of all abilities is one of the unit
    off = np.std([each - np.median(each) for each in redrawn], axis=0) * slope
    found = zip((level + slope * ability).tolist(), np.maximum(off, LEAST_ERROR).tolist(), strict=True)
    return dict(zip(scores.models, found, strict=True))


@dataclass(frozen=True, kw_only=True)
class _Scores:
    model: Places
    benchmark: Places
    score: Array
    models: tuple[str, ...]
    benchmarks: int

    def fitted(self, weight: Array, start: Array | None = None) -> Array:
        """Return abilities, difficulties and log slopes, one after the other."""
        from scipy.optimize import minimize
        from scipy.special import expit

        m, n = len(self.models), self.benchmarks
        prior = np.repeat(SPREADS, (m, n, n)) ** -2.0

        def loss(place: Array) -> tuple[float, Array]:
            ability, difficulty, log_slope = np.split(place, (m, m + n))
            slope = np.exp(log_slope)[self.benchmark]
            over = ability[self.model] - difficulty[self.benchmark]
            share = expit(slope * over)
            off = (share - self.score) / SCATTER
            moved = weight * off / SCATTER * share * (1 - share)
            gradient = np.concatenate([
                np.bincount(self.model, moved * slope, m),
                np.bincount(self.benchmark, -moved * slope, n),
                np.bincount(self.benchmark, moved * slope * over, n),
            ])  # fmt: skip
            return float(0.5 * weight @ off**2 + 0.5 * prior @ place**2), gradient + prior * place

        begin = np.zeros(m + 2 * n) if start is None else start
        return np.asarray(minimize(loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": 600}).x)


def _scores_before(as_of: float) -> _Scores | None:
    """Return the scores of models released, on benchmarks published, before a date."""
    from forecast.tables import series

    try:
        rows = series.rows_as_of(SCORES_TABLE, where={}, as_of=as_of, name="chain", date="release_date")
        before = series.rows_as_of(BENCHMARKS_TABLE, where={}, as_of=as_of, name="chain", date="published")
    except EmptyDataError:
        return None
    model = np.array([str(each) for each in rows.column("model")])
    benchmark = np.array([str(each) for each in rows.column("benchmark")])
    score = rows.numeric("score")
    published = np.array([str(each) for each in before.column("benchmark")])
    kept = np.isin(benchmark, published) & np.isfinite(score) & ~np.isin(model, ("", "None", "nan"))
    kept &= _counts(model, kept) >= LEAST_SCORES
    kept &= _counts(benchmark, kept) >= LEAST_MODELS
    if not kept.any():
        return None
    models, of_model = np.unique(model[kept], return_inverse=True)
    benchmarks, of_benchmark = np.unique(benchmark[kept], return_inverse=True)
    return _Scores(
        model=of_model, benchmark=of_benchmark, score=score[kept], models=tuple(models.tolist()),
        benchmarks=len(benchmarks),
    )  # fmt: skip


def _counts(names: NDArray[np.str_], kept: BoolArray) -> Array:
    """Return how many of the rows that are kept have the name of each row."""
    _, place = np.unique(names, return_inverse=True)
    return np.asarray(np.bincount(place, kept)[place])
