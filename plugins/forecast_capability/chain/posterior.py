"""The posterior of the chain's numbers by stretch moves, and joint draws of its state given them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forecast.errors import FitError
from forecast_capability.chain.likelihood import Chain, Form
from forecast_capability.chain.rows import Rows

Array = NDArray[np.float64]

__all__ = ["Posterior", "log_density", "sample", "state"]

#: Walkers of the ensemble; at least twice the numbers that are drawn.
WALKERS = 36
#: The first third of the steps is dropped.
DROPPED = 1 / 3
#: Added to the diagonal, against rounding.
JITTER = 1e-9
#: Worlds whose numbers lie this many units of log density out in the prior are none: the walkers come from within.
FARTHEST = 60.0


@dataclass(frozen=True, kw_only=True)
class Posterior:
    """Draws of the numbers, and of what censored rows would have said.

    Parameters
    ----------
    numbers : mapping of str to ndarray
        By the names of `form`, (draw,) each.
    beyond : ndarray
        (draw, censored row): by how much each lies above its limit.
    accepted : float
        The share of moves that were taken.
    """

    form: Form
    numbers: dict[str, Array]
    beyond: Array
    accepted: float

    def __len__(self) -> int:
        return len(self.beyond)

    def thinned(self, count: int, seed: int) -> Posterior:
        """Return as many of the draws, without a preference."""
        rng = np.random.default_rng(seed)
        kept = rng.choice(len(self), count, replace=count > len(self))
        numbers = {name: values[kept] for name, values in self.numbers.items()}
        return Posterior(form=self.form, numbers=numbers, beyond=self.beyond[kept], accepted=self.accepted)


def _completed(rows: Rows, beyond: Array) -> Array:
    """Return the values, where a censored row has what it would have said."""
    values = rows.value.copy()
    values[rows.at_least] += beyond
    return values


def log_density(theta: Array, chain: Chain) -> float:
    """Return the log of the posterior density, up to a constant.

    Parameters
    ----------
    theta : ndarray
        Logarithms of the numbers of the form, and after them of by how much each censored row lies above its limit.
        Integrated over the latter, the likelihood has the probability that the row is at least its limit.
    """
    from scipy.linalg import cho_factor, cho_solve

    form = chain.form
    own, excess = theta[: len(form.numbers)], theta[len(form.numbers) :]
    prior = -0.5 * sum(
        ((log - np.log(number.median)) / number.spread) ** 2 for log, number in zip(own, form.numbers, strict=True)
    )
    if prior < -FARTHEST or np.any(excess > np.log(100.0)):
        return -np.inf
    with np.errstate(over="ignore", invalid="ignore"):  # far out in the prior
        mean, covariance = chain.moments(dict(zip(form.names, np.exp(own), strict=True)))
    covariance[np.diag_indices_from(covariance)] += JITTER
    try:
        factor = cho_factor(covariance, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return -np.inf
    left = _completed(chain.rows, np.exp(excess)) - mean
    fit = -0.5 * float(left @ cho_solve(factor, left, check_finite=False)) - float(np.log(np.diag(factor[0])).sum())
    found = float(prior + fit + excess.sum())  # the last from the logarithm of the excess
    return found if np.isfinite(found) else -np.inf


def sample(chain: Chain, *, steps: int = 500, seed: int = 0) -> Posterior:
    """Draw the numbers by affine-invariant stretch moves of an ensemble, in halves.

    Parameters
    ----------
    chain : Chain
        Nothing is asked of it.
    steps : int
    seed : int

    References
    ----------
    Goodman & Weare (2010), Ensemble samplers with affine invariance, CAMCoS 5, 65-80; Tanner & Wong (1987) for what is
    censored.
    """
    rng, form = np.random.default_rng(seed), chain.form
    censored = int(chain.rows.at_least.sum())
    size = len(form.numbers) + censored
    centre = np.array([np.log(number.median) for number in form.numbers] + [0.0] * censored)
    spread = np.array([number.spread for number in form.numbers] + [1.0] * censored)
    at = centre + 0.3 * spread * rng.standard_normal((WALKERS, size))
    height = np.array([log_density(each, chain) for each in at])
    if not np.isfinite(height).any():
        raise FitError("chain: the likelihood is nowhere finite near the prior's centre")
    kept, taken = [], 0
    for step in range(steps):
        for half in (0, 1):
            mine, other = np.arange(half, WALKERS, 2), np.arange(1 - half, WALKERS, 2)
            stretch = (1 + rng.random(len(mine))) ** 2 / 2
            pivot = at[rng.choice(other, len(mine))]
            tried = pivot + stretch[:, None] * (at[mine] - pivot)
            there = np.array([log_density(each, chain) for each in tried])
            move = np.log(rng.random(len(mine))) < (size - 1) * np.log(stretch) + there - height[mine]
            at[mine[move]], height[mine[move]] = tried[move], there[move]
            taken += int(move.sum())
        if step >= steps * DROPPED:
            kept.append(at.copy())
    drawn = np.exp(np.concatenate(kept))
    numbers = {name: drawn[:, i] for i, name in enumerate(form.names)}
    return Posterior(
        form=form, numbers=numbers, beyond=drawn[:, len(form.numbers) :], accepted=taken / (steps * WALKERS)
    )


def state(chain: Chain, posterior: Posterior, *, seed: int = 0) -> Array:
    """Draw what is asked of the chain, given the rows and each draw of the numbers: (draw, asked)."""
    from scipy.linalg import cho_factor, cho_solve

    rng, n, drawn = np.random.default_rng(seed), len(chain.rows), []
    for i in range(len(posterior)):
        mean, covariance = chain.moments({name: float(values[i]) for name, values in posterior.numbers.items()})
        factor = cho_factor(covariance[:n, :n] + JITTER * np.eye(n), lower=True, check_finite=False)
        gain = cho_solve(factor, covariance[:n, n:], check_finite=False)
        centre = mean[n:] + gain.T @ (_completed(chain.rows, posterior.beyond[i]) - mean[:n])
        left = covariance[n:, n:] - covariance[n:, :n] @ gain
        values, vectors = np.linalg.eigh((left + left.T) / 2)
        # the symmetric root: eigenvectors have any sign, and a library on another processor gives another one
        drawn.append(centre + (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T @ rng.standard_normal(len(values)))
    return np.array(drawn)
