"""Joint draws of a fit's parameters, and posterior ones by Laplace's approximation, with priors given by quantiles.

The approximation is a normal in the solver's coordinates (the logarithm of a positive parameter) about the point of
greatest posterior density, with Student's tails where the scatter is estimated. Without priors it is what the data say
alone. How good it is, is measured: the draws are weighed by the exact density, and the effective share is reported.

Where the rows of a group depend on each other the likelihood of independent rows is the wrong one, and its curvature
says too much. The data then enter as a normal about the estimate with the cluster-robust covariance: the sandwich
posterior of Müller (2013, Econometrica 81(5), 1805-1849), which has the smaller risk of the two.

Of what follows from a fit's parameters the intervals come from its joint draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from forecast.base import budgets
from forecast.base.arrays import Array
from forecast.base.distributions import Distribution, distribution
from forecast.base.lazy import xr
from forecast.base.netcdf import quantiles
from forecast.base.number_checks import is_integer
from forecast.base.streams import DRAWS_PER_BLOCK, Streams, check_seed, student_t
from forecast.errors import FitError, UncertaintyError, UnknownNameError, UsageError, printable
from forecast.fit.fit import Fit
from forecast.fit.inference.covariance import Uncertainty
from forecast.fit.inference.profile import optimum, problem_of_fit
from forecast.fit.inference.profile_endpoints import Optima
from forecast.fit.problem.problem import Problem

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


#: An effective share of the draws below this is said in a warning.
MIN_ESS_SHARE = 0.3
#: Standard normal scores over which a prior is tabulated.
PRIOR_GRID_SCORES = np.linspace(-8.0, 8.0, 1601)


class _Prior:
    """Minus the log density of a prior in the solver's coordinate, and its derivatives."""

    def __init__(self, of: Distribution, log: bool, where: str) -> None:
        from scipy.special import ndtr

        values = of.ppf(np.clip(ndtr(PRIOR_GRID_SCORES), 1e-15, 1 - 1e-15))
        if log and not (values > 0).all():
            if values[-1] <= 0:
                raise FitError(f"{where}: the parameter is positive, and the prior has no mass there")
            values = np.where(values > 0, values, np.nan)
        u = np.log(values) if log else values
        keep = np.isfinite(u)
        u, z = u[keep], PRIOR_GRID_SCORES[keep]
        keep = np.concatenate([[True], np.diff(u) > 0])
        self.u, self.z = u[keep], z[keep]
        if self.u.size < 3:
            raise FitError(f"{where}: expected a prior with some width; a fixed parameter is law.with_(name=value)")

    def __call__(self, u: Array) -> Array:
        """Return minus the log density; beyond the table, as far as its last piece runs on."""
        first = (self.z[1] - self.z[0]) / (self.u[1] - self.u[0])
        last = (self.z[-1] - self.z[-2]) / (self.u[-1] - self.u[-2])
        middle = 0.5 * (self.u[1:] + self.u[:-1])
        steep = np.interp(u, middle, np.log(np.diff(self.z) / np.diff(self.u)))
        z = np.interp(u, self.u, self.z)
        z = z + np.minimum(u - self.u[0], 0.0) * first + np.maximum(u - self.u[-1], 0.0) * last
        return np.asarray(0.5 * z * z - steep)

    @property
    def width(self) -> float:
        """The step of differences: a hundredth of the middle of the prior."""
        return float(np.interp(0.5, self.z, self.u) - np.interp(-0.5, self.z, self.u)) / 30


#: Minus a log likelihood at a point (k,): value, gradient (k,) and curvature (k, k).
_Likelihood: TypeAlias = Callable[[Array], tuple[float, Array, Array]]


def _row_likelihood(optima: Optima, unit: float) -> _Likelihood:
    """Return the likelihood of independent rows."""

    def at(u: Array) -> tuple[float, Array, Array]:
        value, g, h = optima.target.evaluate(u[:, None])
        return float(value[0]) / unit, g[:, 0] / unit, h[:, :, 0] / unit

    return at


def _cluster_likelihood(fit: Fit, problem: Problem, optima: Optima, uncertainty: Uncertainty) -> _Likelihood:
    """Return that of a normal about the estimate with the cluster-robust covariance."""
    sure = uncertainty.known[:, 0] & (uncertainty.logs[:, 0] == problem.logs)
    if not sure.all():
        lacking = ", ".join(np.array(uncertainty.names)[~sure])
        raise FitError(
            f"{fit.name}: no posterior: with groups it takes the standard errors, and {lacking} "
            "has none (not identified, or on a bound)"
        )
    centre, table = optima.q[:, 0], np.linalg.inv(uncertainty.covariance[0]).astype(float)

    def at(u: Array) -> tuple[float, Array, Array]:
        g = table @ (u - centre)
        return float(0.5 * g @ (u - centre)), g, table

    return at


def posterior(fit: Fit, draws: int, seed: int, priors: Mapping[str, Any]) -> xr.Dataset:
    """Return joint draws of the parameters, one variable each over ``draw``; fewer draws are a prefix of more.

    Parameters
    ----------
    fit : Fit
    draws, seed : int
    priors : mapping of str to record
        As in `forecast.base.distributions`: ``{"alpha": {"p05": 0.2, "p95": 0.6}}``. Default: flat in the solver's
        coordinate.

    Returns
    -------
    xarray.Dataset
        Attributes: ``mode`` (the parameters of greatest density), ``effective_share`` (of the draws, when they are
        weighed by the exact density; 1 is a perfect approximation; None where the objective is no likelihood, or rows
        depend on each other in groups) and ``warnings``.

    Raises
    ------
    FitError
        If the data and priors leave a parameter undetermined, naming it.
    """
    count, seed = check_draws(draws, fit.name), check_seed(seed)
    problem = problem_of_fit(fit, "posterior")
    known = fit.uncertainty
    assert known is not None
    if known.flaw() and not known.absolute_sigma:
        raise UncertaintyError(fit.name, "posterior", known.flaw())
    placed_priors = {}
    for name, record in priors.items():
        if name not in problem.free:
            raise UnknownNameError("parameter", name, problem.free, where=f"{fit.name}: priors")
        prior = record if isinstance(record, Distribution) else distribution(record, where=f"{fit.name}: priors.{name}")
        i = problem.free.index(name)
        placed_priors[i] = _Prior(
            prior, bool(problem.positive[i] and fit.values[name] > 0), f"{fit.name}: priors.{name}"
        )
    problem = problem.about(np.array([fit.values[n] for n in problem.free]))
    optima = optimum(fit, problem)
    unit = _loss_scale(fit, problem, optima)
    data = _cluster_likelihood(fit, problem, optima, known) if known.clusters else _row_likelihood(optima, unit)
    mode, table = _mode(problem, optima.q[:, 0], data, placed_priors)
    size = np.sqrt(np.abs(np.diag(table)))
    size[size <= 0] = 1.0
    values, vectors = np.linalg.eigh(table / np.outer(size, size))
    if not values[0] > 1e-10:
        weak = np.abs(vectors[:, 0]) > 0.3
        names = ", ".join(n for n, w in zip(problem.free, weak, strict=True) if w)
        raise FitError(f"{fit.name}: no posterior: {names} not determined by these data; give priors= for them")
    root = vectors / np.sqrt(values) / size[:, None]
    normal = (known.absolute_sigma or problem.objective.scale == "known") and not known.clusters
    dof = 0 if normal else int(known.freedom[0])
    moves, length = _standard_draws(seed, count, problem.k, dof)
    u = np.clip(mode[:, None] + root @ moves, problem.lower[:, None], problem.upper[:, None])
    rough = problem.objective.scale == "sandwich" or known.clusters
    share = None if rough else _share(optima, u, unit, placed_priors, dof, length)
    notes = []
    if share is not None and share < MIN_ESS_SHARE:
        notes.append(
            f"{fit.name}: Laplace's approximation is poor: the draws are worth {share:.0%} of as many exact ones"
        )
    natural = problem.natural(u.T).T
    columns = {
        n: natural[problem.free.index(n)] if n in problem.free else np.full(count, v) for n, v in fit.values.items()
    }
    at = problem.named(problem.natural(mode))
    attrs = {"mode": at, "effective_share": share, "warnings": "\n".join(notes), "seed": seed}
    return xr.Dataset({n: ("draw", v) for n, v in columns.items()}, attrs=attrs)


def _loss_scale(fit: Fit, problem: Problem, optima: Optima) -> float:
    """Return what the objective is divided by to be minus a log likelihood, at the optimum."""
    known = fit.uncertainty
    if problem.objective.scale == "known" or known is None:
        return 1.0
    if problem.objective.scale == "residual":
        return 2.0 * (1.0 if known.absolute_sigma else float(known.scale[0]) ** 2)
    spread = np.einsum("ii->i", optima.inverse[:, :, 0])
    with np.errstate(all="ignore"):
        ratio = np.diag(known.covariance[0]) / spread
    good = ratio[np.isfinite(ratio) & (ratio > 0)]
    return float(np.median(good)) if good.size else 1.0


def _prior_derivatives(u: Array, priors: Mapping[int, _Prior]) -> tuple[Array, Array]:
    """Return gradient and curvature of the priors, (k,) each, by differences."""
    g, h = np.zeros(u.size), np.zeros(u.size)
    for i, prior in priors.items():
        s = prior.width
        low, here, high = prior(np.array([u[i] - s, u[i], u[i] + s]))
        g[i], h[i] = (high - low) / (2 * s), max((high - 2 * here + low) / s**2, 0.0)
    return g, h


def _mode(problem: Problem, estimate: Array, data: _Likelihood, priors: Mapping[int, _Prior]) -> tuple[Array, Array]:
    """Return the point of greatest density and the curvature there, by damped Newton steps."""

    def density(u: Array) -> float:
        return data(u)[0] + sum(float(p(u[i : i + 1])[0]) for i, p in priors.items())

    u, table = estimate.copy(), data(estimate)[2]
    for i, prior in priors.items():
        if abs(table[i, i]) < 1e-6:  # the data know nothing of it: start where the prior is
            u[i] = float(np.interp(0.0, prior.z, prior.u))
    here, damping = density(u), 1e-3
    for _ in range(200 if priors else 0):
        _, g, h = data(u)
        more, curve = _prior_derivatives(u, priors)
        g, table = g + more, h + np.diag(curve)
        size = np.sqrt(np.maximum(np.abs(np.diag(table)), 1e-12))
        values, vectors = np.linalg.eigh(table / np.outer(size, size))
        step = -(vectors @ ((vectors.T @ (g / size)) / (np.abs(values) + damping + 1e-10))) / size
        tried = np.clip(u + step, problem.lower, problem.upper)
        there = density(tried)
        if there < here:
            done = here - there < 1e-12 * max(abs(here), 1.0)
            u, here, damping = tried, there, damping * 0.1
            if done:
                break
        elif damping > 1e8:
            break
        else:
            damping *= 10
    if priors:
        table = data(u)[2] + np.diag(_prior_derivatives(u, priors)[1])
    return u, table


def _standard_draws(seed: int, count: int, k: int, dof: int) -> tuple[Array, Array]:
    """Return standard draws (k, count), normal or Student's, and their squared lengths."""
    parts = []
    for block in range(-(-count // DRAWS_PER_BLOCK)):
        budgets.check_time("the posterior", block * DRAWS_PER_BLOCK, count, "draws")
        generator = Streams(seed, "posterior", block)("parameters")
        normals = generator.standard_normal((DRAWS_PER_BLOCK, k))
        if dof:
            normals /= np.sqrt(generator.chisquare(dof, DRAWS_PER_BLOCK) / dof)[:, None]
        parts.append(normals)
    found = np.concatenate(parts)[:count].T
    return found, np.sum(found * found, axis=0)


def _share(optima: Optima, u: Array, unit: float, priors: Mapping[int, _Prior], dof: int, length: Array) -> float:
    """Return the effective share of the draws, weighed by the exact density over that of the approximation."""
    k, block = u.shape[0], 4096
    value = np.concatenate([optima.target.value(u[:, i : i + block]) for i in range(0, u.shape[1], block)])
    least = float(optima.value[0])
    with np.errstate(all="ignore"):
        if dof:  # the scale integrated out
            exact = -0.5 * (dof + k) * np.log(value / least)
            drawn = -0.5 * (dof + k) * np.log1p(length / dof)
        else:
            exact, drawn = -(value - least) / unit, -0.5 * length
        for i, prior in priors.items():
            exact = exact - prior(u[i])
        weight = exact - drawn
        weight = np.exp(weight - np.nanmax(weight[np.isfinite(weight)], initial=-np.inf))
    weight = np.where(np.isfinite(weight), weight, 0.0)
    return float(weight.sum() ** 2 / max(float((weight**2).sum()), 1e-300) / weight.size)
