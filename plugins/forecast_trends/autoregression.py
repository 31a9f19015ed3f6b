"""Least squares with noise that follows itself, its autocorrelation uncertain.

Ordinary least squares counts every point as independent. Here the noise is an autoregression of first order, and its ρ
is neither tested nor plugged in: every ρ has a weight, by its likelihood with coefficients and variance integrated out,
on the reference prior 1/√(1 − ρ²). Nothing hangs on whether ρ is significant, and short series, which hardly tell it,
have the wider intervals for it.

References
----------
Harville, D. A. (1974), Bayesian inference for variance components using only error contrasts, Biometrika 61(2), 383-385
(the likelihood). Berger, J. O. & Yang, R.-Y. (1994), Noninformative priors and Bayesian testing for the AR(1) model,
Econometric Theory 10(3-4), 461-482 (the prior).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forecast.base.arrays import Array, BoolArray
from forecast.models import FittedShape
from forecast.streams import choice, student_t
from forecast_trends.points import LARGEST, quantile

if TYPE_CHECKING:
    from forecast.streams import Streams


__all__ = [
    "NEGLIGIBLE",
    "Mixture",
    "Regressions",
    "ScatteredShape",
    "autocorrelations",
    "going_on",
    "jointly",
    "regressions",
    "share_going_on",
]

#: Values of ρ that are weighed.
_COUNT = 48

#: The square of a residual, in logs, that is rounding.
ROUNDING_SQUARES = 1e-24

#: A component whose weight is a smaller share of the largest is left out.
NEGLIGIBLE = 1e-4


@functools.cache
def autocorrelations() -> Array:
    """Return the values of ρ, evenly spread in arcsin ρ: there the reference prior is flat."""
    return np.asarray(np.sin(np.pi * ((np.arange(_COUNT) + 0.5) / _COUNT - 0.5)))


@dataclass(frozen=True, kw_only=True)
class Regressions:
    """Several designs, each under several ρ.

    Parameters
    ----------
    rho : ndarray
    likelihood : ndarray
        Logarithm, coefficients and variance integrated out, with the prior on ρ: (design, ρ).
    scale : ndarray
        Standard deviation of one observation: (design, ρ).
    squares : ndarray
        Sum of the squared residuals of plain least squares: (design,).
    size : float
        Independent points, ρ being zero: points, or distinct records.
    dof : float
        Degrees of freedom of the scale, at least one.
    back, columns, alone : ndarray
        What the covariance of the coefficients is made of: what makes coefficients on orthonormal columns coefficients,
        those columns where noise follows itself, and their products where it does not.
    """

    rho: Array
    likelihood: Array
    scale: Array
    squares: Array
    size: float
    dof: float
    back: Array
    columns: Array
    alone: Array

    def shares(self) -> Array:
        """Return the weights of all designs and ρ, every design alike before the data are seen."""
        out = np.exp(self.likelihood - self.likelihood.max())
        return np.asarray(out / out.sum())

    def counted(self, weights: Array) -> tuple[float, float]:
        """Return how many independent points know a level as well, and ρ: their means over the weights.

        The variance of the mean of n points is σ²/n·((1 + ρ)/(1 − ρ) − 2ρ(1 − ρⁿ)/(n(1 − ρ)²)) (Bayley & Hammersley
        1946, JRSS Supplement 8(2), 184-197). Points that correlate negatively count once.
        """
        rho, n = self.rho, self.size
        inflation = (1 + rho) / (1 - rho) - 2 * rho * (1 - rho ** int(n)) / (n * (1 - rho) ** 2)
        share = weights.sum(axis=0)
        return float(share @ (n / np.maximum(inflation, 1.0))), float(share @ rho)

    def roots(self, designs: NDArray[np.intp], rhos: NDArray[np.intp]) -> Array:
        """Return roots of the covariance of plain least squares, the scale included, for pairs of a design and a ρ."""
        # the columns go backwards through the autoregression that makes such noise of white noise
        rho = self.rho[rhos]
        states = np.ascontiguousarray(np.moveaxis(self.columns[designs], 0, -1))  # (row, coefficient, pair)
        for i in range(len(states) - 2, -1, -1):
            states[i] += rho * states[i + 1]
        states[1:] *= np.sqrt(1 - rho**2)
        out, terms = self.alone[designs], np.empty((len(states) + 1, len(designs)))
        for i in range(out.shape[1]):
            for j in range(i + 1):
                terms[0] = out[:, i, j]
                np.multiply(states[::-1, i], states[::-1, j], out=terms[1:])
                out[:, i, j] = out[:, j, i] = terms.sum(axis=0)
        return np.asarray(self.scale[designs, rhos, None, None] * (self.back[designs] @ np.linalg.cholesky(out)))


def regressions(
    basis: Array,
    rest: Array,
    back: Array,
    *,
    rho: Array | None = None,
    records: BoolArray | None = None,
    alone: int = 0,
) -> Regressions:
    """Weigh every ρ for each of several designs.

    Parameters
    ----------
    basis : ndarray
        Orthonormal columns of the designs: (design, row, coefficient).
    rest : ndarray
        Residuals of plain least squares: (design, row).
    back : ndarray
        What makes coefficients on the columns of `basis` coefficients: (design, coefficient, coefficient).
    rho : ndarray, optional
        Some of `autocorrelations`. Default: all.
    records : ndarray, optional
        Rows of a running maximum that set a record. Those that repeat one share its vote: what follows itself are the
        means of the rows of each record, and within them rows scatter freely.
    alone : int
        So many rows at the end, such as those of a prior, are independent of all others.
    """
    rho = autocorrelations() if rho is None else rho
    rows, k = basis.shape[1] - alone, basis.shape[2]
    norm = np.linalg.norm(rest, axis=1)
    if (norm**2 <= ROUNDING_SQUARES * rows).all():  # rounding does not follow itself, and would be weighed as if it did
        rho = np.zeros(1)
    columns = np.concatenate([basis, (rest / np.where(norm > 0, norm, 1.0)[:, None])[..., None]], axis=2)
    free, columns = columns[:, rows:], columns[:, :rows]
    precision = covariance = np.swapaxes(free, 1, 2) @ free  # of what does not follow itself
    sums = columns
    if records is not None and not records.all():
        which = np.cumsum(records) - 1
        many = np.bincount(which).astype(float)
        sums = np.eye(len(many))[:, which] @ columns
        means = sums / many[:, None]
        within, each = columns - means[:, which], np.sqrt(many[which])[:, None]
        precision = precision + np.swapaxes(within / each, 1, 2) @ (within / each)
        covariance = covariance + np.swapaxes(within * each, 1, 2) @ (within * each)
        columns = means
    *pivots, left = _pivots(columns, rho, precision)
    n = columns.shape[1]
    # what is smaller than rounding of values of this size is rounding; a straight line has nothing left at all
    squares = np.maximum(left * norm[:, None] ** 2, ROUNDING_SQUARES * n)
    dof = max(n - k, 1) + alone
    likelihood = -0.5 * (n - 1) * np.log(1 - rho**2) - 0.5 * dof * np.log(squares)
    likelihood -= 0.5 * sum(np.log(pivot) for pivot in pivots)
    return Regressions(
        rho=rho,
        likelihood=likelihood,
        scale=np.sqrt(squares / dof),
        squares=norm**2,
        size=float(n),
        dof=float(dof),
        back=back,
        columns=sums[..., :k],
        alone=covariance[..., :k, :k],
    )


def _pivots(columns: Array, rho: Array, precision: Array) -> list[Array]:
    """Return the pivots of A'V⁻¹A + precision, V being the correlation of an autoregression: (design, ρ) each.

    Each is what a column has left once it is regressed on those before it. The factors L·D·L' of all designs and ρ are
    found entry by entry: numpy's way, one small matrix after another, takes four times as long.
    """
    turned = np.swapaxes(columns, 1, 2)
    plain = turned @ columns
    later = turned[..., 1:] @ columns[:, :-1]
    ends = np.einsum("dei,dej->dij", columns[:, [0, -1]], columns[:, [0, -1]])
    both, inner, size = later + np.swapaxes(later, 1, 2), plain - ends, plain.shape[-1]
    lower: dict[tuple[int, int], Array] = {}
    scaled: dict[tuple[int, int], Array] = {}
    for j in range(size):
        for i in range(j, size):
            product = plain[:, i, j, None] + rho**2 * inner[:, i, j, None] - rho * both[:, i, j, None]
            whole = product / (1 - rho**2) + precision[:, i, j, None]
            scaled[i, j] = whole - sum(scaled[i, m] * lower[j, m] for m in range(j))
        lower |= {(i, j): scaled[i, j] / scaled[j, j] for i in range(j + 1, size)}
    pivots = [scaled[j, j] for j in range(size)]
    if not all((pivot > 0).all() for pivot in pivots[:-1]):
        raise np.linalg.LinAlgError("the columns of a design depend on one another")
    return pivots


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """Coefficients with weights: no ρ is certain, and no design.

    Parameters
    ----------
    weights, design : ndarray
        Of each component, and the design it belongs to: (component,).
    rho, scale : ndarray
        Autocorrelation and standard deviation of the noise, (component,).
    centre, root : ndarray
        Coefficients of plain least squares, and a root of their covariance.
    dof : float
    """

    weights: Array
    design: NDArray[np.intp]
    rho: Array
    scale: Array
    centre: Array
    root: Array
    dof: float

    @classmethod
    def of(cls, found: Regressions, plain: Array, weights: Array) -> Mixture:
        """Take the components that matter, of weights (design, ρ) and coefficients (design, coefficient)."""
        design, rho = np.nonzero(weights > NEGLIGIBLE * weights.max())
        return cls(
            weights=weights[design, rho] / weights[design, rho].sum(),
            design=design,
            rho=found.rho[rho],
            scale=found.scale[design, rho],
            centre=plain[design],
            root=found.roots(design, rho),
            dof=found.dof,
        )

    def drawn(self, streams: Streams) -> tuple[Array, Array, NDArray[np.intp]]:
        """Draw coefficients, (coefficient, draw), the noise's standard deviation, and which component each is from."""
        uniforms = streams.uniforms("parameters", self.centre.shape[1] + 2)
        pick = choice(self.weights, uniforms[-1])
        z, wider = jointly(uniforms[:-1], self.dof)
        beta = self.centre[pick].T + np.einsum("dij,jd->id", self.root[pick], z)
        return beta, self.scale[pick] * wider, pick

    def quantile(self, q: float, along: Array) -> float:
        """Return a quantile of a combination of the coefficients."""
        widths = np.linalg.norm(along @ self.root, axis=1)
        return quantile(q, self.centre @ along, widths, self.dof, self.weights)

    def covariance(self, design: int) -> Array:
        """Return the covariance of the coefficients of a design, but for the factor of Student's t."""
        mine = self.design == design
        root = self.root[mine] * np.sqrt(self.weights[mine] / self.weights[mine].sum())[:, None, None]
        return np.asarray(np.einsum("cij,ckj->ik", root, root))


def jointly(uniforms: Array, dof: float) -> tuple[Array, Array]:
    """Return a multivariate Student t, and what its draws are wider by than normal ones: noise shares its variance."""
    from scipy.special import ndtr

    one = np.full((1, uniforms.shape[1]), ndtr(1.0))
    drawn = student_t(np.concatenate([uniforms[:-1], one, uniforms[-1:]]), dof)
    return drawn[:-1], drawn[-1]


def going_on(ahead: Array, now: Array, rho: Array, scale: Array, rng: np.random.Generator) -> Array:
    """Draw the noise of observations, (date, draw): it goes on from that of the last point, and ever less of it.

    Parameters
    ----------
    ahead : ndarray
        Steps from the last point to each date. Less than one counts as one: how noise follows itself within a step was
        not seen. At dates before the last point the noise is fresh.
    now : ndarray
        Noise of the last point.
    rho, scale : ndarray
        Of each draw. Between whole steps of a negative ρ the sign turns smoothly.
    """
    known = share_going_on(ahead, rho)
    return np.asarray(known * now + np.sqrt(1 - known**2) * scale * rng.standard_normal(known.shape))


def share_going_on(ahead: Array, rho: Array) -> Array:
    """Return the share of the last point's noise that is left at each date, (date, draw), as `going_on` has it."""
    steps = np.maximum(ahead, 1.0)[:, None]
    known = np.abs(rho) ** steps * np.where(rho < 0, np.cos(np.pi * steps), 1.0)
    return np.asarray(np.where(ahead[:, None] > 0, known, 0.0))


@dataclass(frozen=True, kw_only=True)
class ScatteredShape(FittedShape):
    """A fitted shape about whose level observations scatter, the noise of each following that of the one before.

    Draws of its parameters hold the noise's ``scatter`` and ``autocorrelation``.

    Parameters
    ----------
    apart : float
        Mean years between points, or distinct records: the step in which noise follows itself.
    last : (float, float)
        The last date and log value, from which the noise of an observation goes on.
    """

    apart: float
    last: tuple[float, float]

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw the level; with `observed`, one observation's scatter around it, as it goes on from the last one."""
        drawn = self.posterior(streams)
        level = self.log_level(time, drawn)
        if observed:
            date, value = self.last
            now = value - self.log_level(np.array([date]), drawn)
            ahead = (np.asarray(time, dtype=float) - date) / self.apart
            level = level + going_on(ahead, now, drawn["autocorrelation"], drawn["scatter"], streams("noise"))
        return np.asarray(np.exp(np.clip(level, -LARGEST, LARGEST)))
