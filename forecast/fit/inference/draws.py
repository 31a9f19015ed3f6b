"""Joint draws of a fit's parameters for its questions, and intervals of what follows from them."""

from __future__ import annotations

import numpy as np

from forecast.base.arrays import Array
from forecast.base.netcdf import quantiles
from forecast.base.number_checks import is_integer
from forecast.base.streams import DRAWS_PER_BLOCK, Streams, check_seed, student_t
from forecast.errors import UsageError, printable
from forecast.fit.fit import Fit

#: More draws than this would fill the memory before they sharpen an interval.
MAX_DRAWS = 1_000_000
#: With fewer replicates than this their tails say little.
MIN_TAIL_REPLICATES = 200


def check_draws(draws: object, where: str) -> int:
    """Return a number of draws that can be taken."""
    if not is_integer(draws) or not 100 <= draws <= MAX_DRAWS:
        raise UsageError(
            f"{where}: draws: expected an integer from 100 to {MAX_DRAWS:,}, got {printable(repr(draws), 40)}"
        )
    return draws


def parameter_draws(fit: Fit, draws: int, seed: int, node: str = "fit") -> dict[str, Array]:
    """Return joint draws of the parameters, (draws,) each; fewer draws are a prefix of more.

    Raises
    ------
    FitError
        If the fit has no joint uncertainty, saying why.
    """
    count, seed = check_draws(draws, fit.name), check_seed(seed)
    blocks = [joint_draws(fit, Streams(seed, node, block)) for block in range(-(-count // DRAWS_PER_BLOCK))]
    return {n: np.concatenate([b[n] for b in blocks])[:count] for n in blocks[0]}


def joint_draws(fit: Fit, streams: Streams) -> dict[str, Array]:
    """Return a block of joint draws: of the bootstrap's replicates where there are enough, else about the estimate."""
    repeated = fit.replicates
    if repeated is None or repeated.good.shape[1] < MIN_TAIL_REPLICATES:
        return fit.parameters_at(streams.uniforms("parameters", len(fit.values) + 1))
    (uniform,) = streams.uniforms("parameters", 1)
    picked = repeated.good[:, (uniform * repeated.good.shape[1]).astype(np.intp)]
    drawn = dict(zip(repeated.names, picked, strict=True))
    return {n: drawn[n] if n in drawn else np.full(streams.draws, value) for n, value in fit.values.items()}


def draws_at(fit: Fit, uniforms: Array) -> dict[str, Array]:
    """Return joint draws through uniforms, (parameter + 1, draw): about the estimate, or as published."""
    if fit.published and fit.published.covariance:
        return published_draws(fit, student_t(uniforms, np.inf))
    known = fit._known("draws")
    drawn = known.draw(np.concatenate([uniforms[: len(known.names)], uniforms[-1:]]))
    return {n: drawn[n] if n in drawn else np.full(uniforms.shape[1], v) for n, v in fit.values.items()}


def published_draws(fit: Fit, scores: Array) -> dict[str, Array]:
    """Return normal parameters of a published fit, joint where it states covariances, cut off at the law's bounds.

    Parameters
    ----------
    fit : Fit
    scores : ndarray
        Independent standard normal numbers, (parameters, draws).
    """
    from scipy.special import ndtr, ndtri

    assert fit.published is not None
    errors = fit.published.errors
    rows = dict(zip(fit.values, scores, strict=True))
    if (triangle := fit.published.correlated()) is not None and triangle:
        together = list(fit.published.covariance)
        own = [rows[name] for name in together]
        for name, weights in zip(together, triangle, strict=True):
            rows[name] = sum((w * score for w, score in zip(weights, own, strict=False)), np.zeros(scores.shape[1]))
    drawn = {}
    for name, value in fit.values.items():
        error = errors.get(name, 0.0)
        if not error:
            drawn[name] = np.full(scores.shape[1], value)
            continue
        # cut off by the inverse of the distribution function, never by repetition
        low, high = (float(ndtr((end - value) / error)) for end in fit.law.bounds.get(name, (-np.inf, np.inf)))
        inside = np.clip(low + ndtr(rows[name]) * (high - low), 2.0**-54, 1 - 2.0**-53)
        drawn[name] = value + error * ndtri(inside)
    return drawn


def interval(values: Array, level: float) -> tuple[float, float]:
    """Return the central interval of draws; infinite ones count, and a nan among them makes it nan."""
    low, high = quantiles(values, [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high)
