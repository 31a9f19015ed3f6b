"""The frontier: the line below which nearly all observations lie, from all of them and not from the records alone."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forecast.errors import FitError, UsageError
from forecast.models import Array, Description, FittedShape, Shape, condition_draws
from forecast.streams import student_t
from forecast_trends.evidence import log_series
from forecast_trends.points import LARGEST, growth_facts, said_growth

if TYPE_CHECKING:
    from forecast.streams import Streams


__all__ = ["FittedFrontier", "Frontier"]

#: Points that must lie above the line for it to be known.
FEWEST = 5


class Frontier(Shape):
    """The `tau` quantile of log value as a straight line in time (Koenker & Bassett 1978), by statsmodels.

    A running maximum depends on how many devices were built, and its points repeat one another. This line uses every
    device: a share `tau` of them lies below it at any date.

    Parameters
    ----------
    tau : float
    """

    def __init__(self, tau: float = 0.9) -> None:
        if not 0 < tau < 1:
            raise UsageError(f"tau: expected a number between 0 and 1, got {tau:g}")
        self.tau = float(tau)

    def fit(self, time: Array, value: Array, *, frontier: bool = False, seed: int = 0) -> FittedShape:
        """Fit the quantile line to all points."""
        if frontier:
            raise UsageError("the shape 'frontier' takes every observation: give the column itself, frontier = false")
        time, y = log_series(time, value, frontier=False)
        if len(y) * min(self.tau, 1 - self.tau) < FEWEST - 1e-9:
            least = int(np.ceil(FEWEST / min(self.tau, 1 - self.tau) - 1e-9))
            raise FitError(f"a frontier at {self.tau:g} needs at least {least} points, got {len(y)}")
        origin = float(time.mean())
        x = np.stack([np.ones_like(time), time - origin], axis=1)
        beta, covariance, trouble = _quantile_line(x, y, self.tau)
        return FittedFrontier(
            tau=self.tau, beta=beta, covariance=covariance, residuals=y - x @ beta, origin=origin, trouble=trouble
        )


def _quantile_line(x: Array, y: Array, tau: float) -> tuple[Array, Array, str]:
    """Return coefficients and covariance by statsmodels, and what it warned of."""
    from statsmodels.regression.quantile_regression import QuantReg

    with warnings.catch_warnings(record=True) as heard, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        found = QuantReg(y, x).fit(q=tau, vcov="robust", bandwidth="chamberlain", max_iter=5000)
    covariance = np.asarray(found.cov_params(), dtype=float)
    beta = np.asarray(found.params, dtype=float)
    if not (np.isfinite(beta).all() and np.isfinite(covariance).all()):
        raise FitError(f"the quantile regression at {tau:g} found no line with an uncertainty")
    return beta, covariance, "; ".join(sorted({str(w.message).splitlines()[0] for w in heard}))


@dataclass(frozen=True, kw_only=True)
class FittedFrontier(FittedShape):
    """A quantile line with its covariance.

    Parameters
    ----------
    tau : float
    beta, covariance : ndarray
        Of the level at `origin` and the growth.
    residuals : ndarray
        Of log value, most of them negative.
    origin : float
    trouble : str
        What the solver warned of.
    """

    tau: float
    beta: Array
    covariance: Array
    residuals: Array
    origin: float
    trouble: str

    @property
    def dof(self) -> float:
        """Points less parameters."""
        return float(max(1, self.residuals.size - 2))

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Draw level and growth, jointly."""
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        z = student_t(streams.uniforms("parameters", 3), self.dof)
        level, growth = self.beta[:, None] + root @ z
        return {"log_level": level, "growth": growth}

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw the line; with `observed`, one device about it, as the residuals scatter."""
        level = self.log_level(time, self.posterior(streams))
        if observed:
            level = level + streams("noise").choice(self.residuals, size=level.shape)
        return np.asarray(np.exp(np.clip(level, -LARGEST, LARGEST)))

    @property
    def settable(self) -> Mapping[str, str]:  # type: ignore[override]
        """Level and growth."""
        return {"log_level": "", "growth": "1/year"}

    def log_level(self, time: Array, parameters: Mapping[str, Array]) -> Array:
        """Return the lines of these parameters."""
        return np.asarray(
            parameters["log_level"] + parameters["growth"] * (np.asarray(time, dtype=float)[:, None] - self.origin)
        )

    def conditional(self, drawn: Mapping[str, Array], fixed: Mapping[str, Array]) -> Mapping[str, Array]:
        """Return level and growth, given one of them."""
        return condition_draws(drawn, fixed, tuple(self.settable), self.covariance)

    def central(self, time: Array) -> Array:
        """Return the fitted line."""
        level = self.beta[0] + self.beta[1] * (np.asarray(time, dtype=float) - self.origin)
        return np.asarray(np.exp(np.clip(level, -LARGEST, LARGEST)))

    def describe(self) -> Description:
        """Say growth with an interval."""
        from scipy.special import stdtrit

        growth, n = float(self.beta[1]), self.residuals.size
        half = float(stdtrit(self.dof, 0.95) * np.sqrt(self.covariance[1, 1]))
        facts = {"n": float(n), "share_below": float(np.mean(self.residuals <= 1e-9))}
        facts |= growth_facts(growth, growth - half, growth + half)
        return Description(
            summary=(
                f"the line with {self.tau:.0%} of all observations below it {said_growth(facts)} from {n} points"
                + (f"; {self.trouble}" if self.trouble else "")
            ),
            assumptions=(
                f"the {self.tau:.0%} quantile of log value is a straight line in time, at all dates alike",
                "observations are independent given the date",
            ),
            facts=facts,
        )
