"""The posterior of a form's numbers and its evidence by importance sampling, and joint draws of the state."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from forecast.base.arrays import Array
from forecast.errors import FitError
from forecast_capability.chain.likelihood import Chain, Form
from forecast_capability.chain.rows import Rows

__all__ = ["Posterior", "log_density", "sample", "state"]

#: Tries of a round of importance sampling, and most rounds.
N_ROUND, N_ROUNDS = 250, 80
#: Degrees of freedom of the Student t that is drawn from: its tails are heavier than those of the posterior.
FREEDOM = 6.0
#: A round is wider than what the rounds before it found: by this factor of the variance, and by a little everywhere.
WIDER, LEAST_VARIANCE = 1.15, 0.02
#: Weights above the largest but this share of them are cut before they say where the next round looks.
CUT = 1 / 60
#: Added to the diagonal, against rounding.
JITTER = 1e-9
#: Tries whose densities are found together: as many matrices lie in a processor's cache.
TRIES_TOGETHER = 16
#: Numbers that lie this many units of log density out in the prior are not tried.
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
    evidence : float
        The logarithm of the density of the rows, the numbers integrated out.
    effective : float
        Of how many independent tries the draws are worth.
    """

    form: Form
    numbers: dict[str, Array]
    beyond: Array
    evidence: float
    effective: float

    def __len__(self) -> int:
        return len(self.beyond)


def _completed(rows: Rows, beyond: Array) -> Array:
    """Return the values, where a censored row has what it would have said."""
    values = rows.value.copy()
    values[rows.at_least] += beyond
    return values


def _numbers(form: Form, theta: Array) -> dict[str, Array]:
    """Return the numbers at standard normal places, (..., number), of their priors."""
    return {
        each.name: each.median * np.exp(each.spread * theta[..., i]) for i, each in enumerate(form.numbers)
    }  # fmt: skip


def log_density(theta: Array, chain: Chain) -> Array:
    """Return the log of the density of the rows and of the numbers.

    Parameters
    ----------
    theta : ndarray
        (try, place): standard normal places of the numbers of the form in their priors, and after them the logarithms
        of by how much each censored row lies above its limit. Integrated over the latter, the likelihood has the
        probability that the row is at least its limit.

    Returns
    -------
    ndarray
        (try,)
    """
    found = np.full(len(theta), -np.inf)
    size = len(chain.form.numbers)
    near = (0.5 * (theta[:, :size] ** 2).sum(axis=1) <= FARTHEST) & (theta[:, size:] <= np.log(100.0)).all(axis=1)
    places = np.flatnonzero(near)
    for some in (places[i : i + TRIES_TOGETHER] for i in range(0, len(places), TRIES_TOGETHER)):
        try:
            found[some] = _log_density(theta[some], chain)
        except np.linalg.LinAlgError:  # one of them is none
            for one in some:
                with suppress(np.linalg.LinAlgError):
                    found[one] = _log_density(theta[[one]], chain)[0]
    return np.where(np.isfinite(found), found, -np.inf)


def _log_density(theta: Array, chain: Chain) -> Array:
    from scipy.linalg import solve_triangular

    size = len(chain.form.numbers)
    own, excess = theta[:, :size], theta[:, size:]
    with np.errstate(over="ignore", invalid="ignore"):  # far out in the prior
        mean, covariance = chain.moments(_numbers(chain.form, own))
    every = np.arange(mean.shape[1])
    covariance[:, every, every] += JITTER
    root = np.linalg.cholesky(covariance)
    values = np.broadcast_to(chain.rows.value, mean.shape).copy()
    values[:, chain.rows.at_least] += np.exp(excess)
    off = zip(root, values - mean, strict=True)
    left = np.array([solve_triangular(each, by, lower=True, check_finite=False) for each, by in off])
    fit = -0.5 * (left**2).sum(axis=1) - np.log(root[:, every, every]).sum(axis=1)
    prior = -0.5 * (own**2).sum(axis=1) - 0.5 * (mean.shape[1] + size) * np.log(2 * np.pi)
    return np.asarray(prior + fit + excess.sum(axis=1))  # the last from the logarithm of the excess


def sample(chain: Chain, *, draws: int, worth: float, seed: int = 0) -> Posterior:
    """Draw the numbers, and integrate them out of the density of the rows.

    Tries are of Student t distributions, the first around the mode and each further one as wide as the tries before it
    say; all count, weighed against the mixture of the distributions that they were drawn from.

    Parameters
    ----------
    chain : Chain
        Nothing is asked of it.
    draws : int
    worth : float
        Of how many independent tries the draws are worth: rounds follow until then.
    seed : int

    References
    ----------
    Cornuet, Marin, Mira & Robert (2012), Adaptive multiple importance sampling, Scandinavian Journal of Statistics
    39(4), 798-812; Tanner & Wong (1987) for what is censored.
    """
    rng, form = np.random.default_rng(seed), chain.form
    looked = [_StudentT.of(*_around_mode(chain))]
    tried, height = np.empty((0, len(looked[0].mean))), np.empty(0)
    while True:
        new = looked[-1].drawn(N_ROUND, rng)
        tried = np.concatenate([tried, new])
        height = np.concatenate([height, log_density(new, chain)])
        log_weight = height - np.logaddexp.reduce([each.log_density(tried) for each in looked]) + np.log(len(looked))
        weight = np.exp(log_weight - log_weight.max())
        effective = float(weight.sum() ** 2 / (weight**2).sum())
        if effective >= worth or len(looked) == N_ROUNDS:
            break
        counted = np.minimum(weight, np.sort(weight)[-max(3, int(len(weight) * CUT))])
        counted = counted / counted.sum()
        mean = counted @ tried
        off = tried - mean
        spread = (off.T * counted) @ off * WIDER + LEAST_VARIANCE * np.eye(len(mean))
        looked.append(_StudentT.of(mean, spread))
    evidence = float(np.log(weight.mean()) + log_weight.max())
    places = (np.arange(draws) + rng.random()) / draws  # systematic: as many of each as its weight says
    kept = np.minimum(np.searchsorted(np.cumsum(weight / weight.sum()), places), len(weight) - 1)
    drawn = tried[rng.permutation(kept)]
    beyond = np.exp(drawn[:, len(form.numbers) :])
    return Posterior(
        form=form, numbers=_numbers(form, drawn), beyond=beyond, evidence=evidence, effective=effective
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _StudentT:
    """What tries are drawn from."""

    mean: Array
    root: Array

    @staticmethod
    def of(mean: Array, spread: Array) -> _StudentT:
        root = np.linalg.cholesky(spread + 1e-6 * np.eye(len(mean)))
        return _StudentT(mean=mean, root=np.asarray(root, dtype=np.float64))

    def drawn(self, count: int, rng: np.random.Generator) -> Array:
        normal = rng.standard_normal((count, len(self.mean)))
        return self.mean + normal @ self.root.T / np.sqrt(rng.chisquare(FREEDOM, count) / FREEDOM)[:, None]

    def log_density(self, tried: Array) -> Array:
        from scipy.linalg import solve_triangular
        from scipy.special import gammaln

        size = len(self.mean)
        normal = solve_triangular(self.root, (tried - self.mean).T, lower=True)
        level = gammaln((FREEDOM + size) / 2) - gammaln(FREEDOM / 2) - size / 2 * np.log(FREEDOM * np.pi)
        level = level - np.log(np.diag(self.root)).sum()
        return np.asarray(level - (FREEDOM + size) / 2 * np.log1p((normal**2).sum(axis=0) / FREEDOM))


def _around_mode(chain: Chain) -> tuple[Array, Array]:
    """Return the mode, and variances from the curvature along each axis there."""
    from scipy.optimize import minimize

    size = len(chain.form.numbers) + int(chain.rows.at_least.sum())

    def minus(theta: Array) -> Array:
        return np.minimum(-log_density(theta, chain), 1e6)

    def with_gradient(theta: Array) -> tuple[float, Array]:
        here, *ahead = minus(theta + np.vstack([np.zeros(size), 1e-3 * np.eye(size)]))
        return float(here), (np.array(ahead) - here) / 1e-3

    found = minimize(with_gradient, np.zeros(size), jac=True, method="L-BFGS-B", options={"maxiter": 40, "ftol": 1e-7})
    mode, least, step = found.x, found.fun, 0.15
    if least >= 1e6:
        raise FitError("chain: the likelihood is nowhere finite near the prior's centre")
    sides = minus(mode + step * np.eye(size)) + minus(mode - step * np.eye(size))
    curvature = (sides - 2 * least) / step**2
    return mode, np.diag(1.3 / np.maximum(curvature, 0.3))


def state(chain: Chain, posterior: Posterior, *, seed: int = 0) -> Array:
    """Draw what is asked of the chain, given the rows and each draw of the numbers: (draw, asked)."""
    from scipy.linalg import cho_factor, cho_solve

    rng, n = np.random.default_rng(seed), len(chain.rows)
    known: dict[bytes, tuple[Array, Array]] = {}
    drawn = []
    for i in range(len(posterior)):
        numbers = {name: float(values[i]) for name, values in posterior.numbers.items()}
        key = np.array([*numbers.values(), *posterior.beyond[i]]).tobytes()
        if key not in known:
            mean, covariance = chain.moments(numbers)
            factor = cho_factor(covariance[:n, :n] + JITTER * np.eye(n), lower=True, check_finite=False)
            gain = cho_solve(factor, covariance[:n, n:], check_finite=False)
            centre = mean[n:] + gain.T @ (_completed(chain.rows, posterior.beyond[i]) - mean[:n])
            left = covariance[n:, n:] - covariance[n:, :n] @ gain
            values, vectors = np.linalg.eigh((left + left.T) / 2)
            # the symmetric root: eigenvectors have any sign, and a library on another processor gives another one
            known[key] = centre, (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        centre, root = known[key]
        drawn.append(centre + root @ rng.standard_normal(len(centre)))
    return np.array(drawn)
