"""Scores above chance, passes counted until they come, and whether a jump is only the metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from forecast.errors import DataError, UsageError

__all__ = ["Jump", "above_chance", "jump", "pass_rate", "unseen"]


def above_chance(
    score: Any, chance: float, *, top: float = 1.0, noise: float = 0.0, trials: int | None = None, what: str = "score"
) -> Any:
    """Return (score - chance)/(top - chance), not clipped: clipping at 0 changes what is fitted.

    Parameters
    ----------
    score : array of float
        Shares, 0 to 1; nan where none is known, and stays so.
    chance, top : float
        What a guess and what perfect answers score.
    noise : float
        How far below chance a score may fall by chance; with `trials` four binomial standard errors.
    trials : int, optional
        Questions of the test.
    what : str
        For messages.

    Raises
    ------
    DataError
        Where the floor lies above a score by more than the noise, or above the ceiling; both are named. Where a score
        is no share.
    UsageError
        For a floor or a number of questions that cannot be.

    Examples
    --------
    >>> above_chance([0.25, 0.625, 1.0], 0.25).tolist()
    [0.0, 0.5, 1.0]
    >>> above_chance([0.4, 0.1], 0.25, what="four choices")
    Traceback (most recent call last):
    ...
    forecast.errors.DataError: four choices: the chance floor 0.25 lies above the score 0.1 of row 2 by more than the \
noise 0: one of the two is wrong, or state trials= or noise=
    """
    values = np.atleast_1d(np.asarray(score, dtype=float))
    if not 0.0 <= chance <= 1.0:
        raise UsageError(f"{what}: chance: expected a share from 0 to 1, got {chance:g}")
    if trials is not None and not trials >= 1:
        raise UsageError(f"{what}: trials: expected at least one question, got {trials}")
    wrong = np.flatnonzero((values < 0.0) | (values > 1.0))
    if wrong.size:
        raise DataError(f"{what}: row {wrong[0] + 1}: expected a share from 0 to 1, got {values[wrong[0]]:g}")
    if not chance < top:
        raise DataError(f"{what}: the chance floor {chance:g} does not lie below the ceiling {top:g}")
    if trials is not None:
        noise = 4.0 * float(np.sqrt(chance * (1.0 - chance) / trials))
    low = np.flatnonzero(values < chance - noise)
    if low.size:
        raise DataError(
            f"{what}: the chance floor {chance:g} lies above the score {values[low[0]]:g} of row {low[0] + 1} by "
            f"more than the noise {noise:.3g}: one of the two is wrong, or state trials= or noise="
        )
    return ((values - chance) / (top - chance)).reshape(np.shape(score))


def pass_rate(passes: int, tries: int, level: float = 0.9) -> tuple[float, float, float]:
    """Return the chance of a pass after sampling until so many passes came, and its exact interval.

    Parameters
    ----------
    passes : int
        At which sampling stopped.
    tries : int
        How many samples that took.
    level : float

    Returns
    -------
    (float, float, float)
        Estimate and interval. The estimate is unbiased, (r - 1)/(K - 1), from two passes on; with one it is 1/K, which
        is biased upwards.

    Examples
    --------
    >>> rate, low, high = pass_rate(2, 101)
    >>> round(rate, 3), low < 0.01 < high
    (0.01, True)
    """
    from scipy.special import betaincinv

    if not 1 <= passes <= tries:
        raise UsageError(
            f"pass_rate: {passes} passes in {tries} tries: expected at least one pass and no more than tries"
        )
    _check_level("pass_rate", level)
    rate = (passes - 1) / (tries - 1) if passes > 1 else 1.0 / tries
    tail = (1.0 - level) / 2.0
    low = float(betaincinv(passes, tries - passes + 1, tail))
    high = 1.0 if passes == tries else float(betaincinv(passes, tries - passes, 1.0 - tail))
    return rate, low, high


def unseen(tries: int, level: float = 0.95) -> float:
    """Return the largest chance of a pass that no pass in so many tries leaves possible: the resolution of a test.

    Examples
    --------
    >>> round(unseen(100), 4), round(unseen(100_000), 7)
    (0.0295, 3e-05)
    """
    if tries < 1:
        raise UsageError(f"unseen: expected at least one try, got {tries}")
    _check_level("unseen", level)
    return float(1.0 - (1.0 - level) ** (1.0 / tries))


def _check_level(what: str, level: float) -> None:
    if not 0.0 < level < 1.0:
        raise UsageError(f"{what}: level: expected a probability between 0 and 1, got {level:g}")


@dataclass(frozen=True, kw_only=True)
class Jump:
    """Whether a jump of exact match needs more than its metric.

    Parameters
    ----------
    curvature : float
        Of log(-log p) in log10 of the size, p the chance of one token; 0 where it scales as a power.
    interval : tuple of float
        Of the curvature, 95 %.
    only_metric : bool
        The interval holds 0: a chance a token that grows as a power explains the exact matches.
    sentence : str
    """

    curvature: float
    interval: tuple[float, float]
    only_metric: bool
    sentence: str


def jump(params: Any, passes: Any, trials: Any, tokens: float) -> Jump:
    """Test whether exact match over many tokens jumps only because all of them must be right.

    Under ``emergence/exact-match`` log(-log p) is a line in the log of the size. A square is added and fitted with it,
    by the binomial likelihood of the counts; where the interval of the square holds 0 the metric explains the jump.

    Parameters
    ----------
    params : array of float
        Sizes; at least four.
    passes, trials : array of int
        Exact matches, and questions.
    tokens : float
        Of an answer.

    Raises
    ------
    DataError
        For fewer than four sizes, counts that cannot be, and where nothing or everything is answered at every size.

    Examples
    --------
    >>> import numpy as np
    >>> sizes = np.geomspace(1e8, 1e11, 8)
    >>> smooth = np.exp(-5*(1e7/sizes)**0.4)
    >>> jump(sizes, np.round(2000*smooth), np.full(8, 2000.0), 5).only_metric
    True
    """
    from forecast import Law

    sizes, right, attempts = (np.asarray(v, dtype=float) for v in (params, passes, trials))
    if not sizes.shape == right.shape == attempts.shape or sizes.ndim != 1:
        said = "as many sizes as passes and trials"
        raise UsageError(f"jump: expected {said}, got {sizes.shape}, {right.shape} and {attempts.shape}")
    if not (np.isfinite(sizes) & (sizes > 0)).all():
        raise DataError(f"jump: expected sizes above 0, got {sizes[~(np.isfinite(sizes) & (sizes > 0))][0]:g}")
    if not tokens > 0:
        raise UsageError(f"jump: tokens: expected an answer of more than 0 tokens, got {tokens:g}")
    if np.unique(sizes).size < 4:
        raise DataError(f"jump: expected four sizes or more, got {np.unique(sizes).size}")
    if (right > attempts).any():
        row = int(np.argmax(right > attempts))
        raise DataError(f"jump: row {row + 1}: {right[row]:g} passes in {attempts[row]:g} trials")
    if (right == 0).all() or (right == attempts).all():
        all_of = "no question is" if (right == 0).all() else "every question is"
        raise DataError(f"jump: {all_of} answered at any size: there is no jump to explain")
    x = np.log10(sizes)
    centre = x - x.mean()
    law = Law("exp(-n*exp(a + b*x + c*x**2))", variables=["x", "n"], name="")
    data = {"x": centre, "n": np.full(x.size, float(tokens)), "y": right, "trials": attempts}
    fit = law.fit(data, objective="binomial", options={"trials": "trials"}, y="y")
    low, high = fit.interval("c", 0.95)
    only = low <= 0.0 <= high
    says = "a power law of the chance a token explains the jump" if only else "the chance a token itself bends"
    return Jump(
        curvature=fit.values["c"],
        interval=(low, high),
        only_metric=only,
        sentence=f"{says}: curvature {fit.values['c']:.3g} [{low:.3g}, {high:.3g}] over {x.size} sizes",
    )
